"""What must hold of corrections for any data: symmetries, PCA at strength 0, and data at the edge."""

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from tests.helpers import in_turn, interleaved_splits, leading, sine, spiked_rows
from tests.literal import GRIDS, LEAST_GAIN, OWN_GRIDS, SEARCH_ORDER, covariance_of_pairs, line, smooth_rows

# Strong smoothing leaves few columns with fewer directions than are asked for.
WEAK = OWN_GRIDS | {"smoothing": (0.0, 0.5, 1.0)}
ALL = {
    "row_tempering": 0.5,
    "tempering": 0.5,
    "attenuation": 0.6,
    "damping": 0.25,
    "smoothing": 0.7,
    "pooling": 0.5,
}
few_examples = settings(max_examples=settings().max_examples // 4)  # each is many fits


@st.composite
def rows(draw):
    n, p = draw(st.integers(12, 30)), draw(st.integers(4, 8))
    return smooth_rows(n, p, seed=draw(st.integers(0, 2**32 - 1)))


def chosen(X, **options):
    given = {"corrections": WEAK, "neighbours": "line", "cv": 3} | options
    return CorrectedPCACV(2, **given).fit(X)


def same_choice(one, two, scale=1.0, order=slice(None)):
    """Check that two fits found the same, up to a factor of the rows and an order of the columns."""
    same_search(one, two, scale)
    assert two.choices_ == one.choices_
    assert two.choice_weights_ == one.choice_weights_
    assert sine(two.components_, one.components_[:, order]) < 1e-6


def same_search(one, two, scale=1.0):
    """Check that two searches found the same; votes may draw other rows."""
    assert [step.best for step in two.steps_] == [step.best for step in one.steps_]
    assert two.candidates_ == one.candidates_
    np.testing.assert_allclose(two.cv_risk_folds_ / scale / scale, one.cv_risk_folds_, rtol=1e-7)
    assert [step.why for step in two.steps_] == [step.why for step in one.steps_]


@given(
    rows(),
    st.one_of(st.integers(-400, 400).map(lambda k: 2.0**k), st.floats(-140, 140).map(lambda x: 10.0**x)),
)
@few_examples
def test_a_common_scale(X, scale):
    same_choice(chosen(X), chosen(X * scale), scale)


@given(rows(), st.floats(-1e3, 1e3))
@few_examples
def test_a_shift(X, shift):
    offset = shift * np.arange(1, X.shape[1] + 1)
    plain, shifted = chosen(X), chosen(X + offset)
    same_choice(plain, shifted)
    np.testing.assert_allclose(shifted.mean_, plain.mean_ + offset, rtol=1e-9, atol=1e-9)


@given(rows(), st.randoms(use_true_random=False))
@few_examples
def test_rows_in_another_order_with_their_splits(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    place = np.argsort(order)
    splits = list(KFold(3).split(X))
    moved = [(place[training], place[held]) for training, held in splits]
    same_search(chosen(X, cv=splits), chosen(X[order], cv=moved))


@given(rows(), st.randoms(use_true_random=False))
@few_examples
def test_columns_in_another_order_with_their_neighbours(X, random):
    order = list(range(X.shape[1]))
    random.shuffle(order)
    adjacency = line(len(order))[np.ix_(order, order)]
    same_choice(chosen(X), chosen(X[:, order], neighbours=sp.csr_array(adjacency)), order=order)


@given(rows(), st.lists(st.sampled_from(list(WEAK)), unique=True, min_size=1))
@few_examples
def test_the_order_of_names_does_not_matter(X, names):
    grids = {name: WEAK[name] for name in names}
    one, two = chosen(X, corrections=grids), chosen(X, corrections=dict(reversed(grids.items())))
    assert two.steps_ == one.steps_
    assert two.choices_ == one.choices_
    np.testing.assert_array_equal(two.components_, one.components_)
    assert [step.correction for step in one.steps_] == [name for name in SEARCH_ORDER if name in names]


@given(rows())
@few_examples
def test_every_step_goes_on_as_long_as_it_gains(X):
    model = chosen(X)
    for step in model.steps_:
        gains = -np.diff(step.risks) > LEAST_GAIN * model.steps_[0].risks[0]
        assert step.best == step.strengths[int(np.argmin([*gains, False]))]


# --- strength 0 is PCA, to the last digit ------------------------------------------------------------------

SHAPES = {"few columns": (45, 10), "iterated": (60, 140), "few rows": (30, 140), "kept": (24, 530)}
FORMS = {"array": lambda X: X, "sparse": sp.csr_array}


def same_bits(one, two):
    for name in AttenuatedPCA._fitted:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize(("form", "shape"), in_turn(FORMS, SHAPES))
def test_no_strength_is_pca(shape, form):
    X = FORMS[form](smooth_rows(*SHAPES[shape]))
    same_bits(CorrectedPCA(3).fit(X), AttenuatedPCA(3, alpha=0).fit(X))
    same_bits(CorrectedPCA(3, neighbours="line").fit(X), CorrectedPCA(3).fit(X))
    weights = np.arange(SHAPES[shape][0]) % 3
    same_bits(
        CorrectedPCA(3, whiten=True).fit(X, sample_weight=weights),
        AttenuatedPCA(3, alpha=0, whiten=True).fit(X, sample_weight=weights),
    )


@pytest.mark.parametrize(("form", "shape"), in_turn(FORMS, SHAPES))
def test_a_choice_of_pca_is_pca(shape, form):
    X = FORMS[form](smooth_rows(*SHAPES[shape]))
    pca = AttenuatedPCACV(3, alphas=[0], cv=3).fit(X)
    for corrections in ([], {}, {"attenuation": [0]}):
        model = CorrectedPCACV(3, cv=3, corrections=corrections).fit(X)
        same_bits(model, pca)
        assert model.choices_ == [dict.fromkeys(GRIDS, 0.0)]
        assert model.verdict_.startswith("The fit is ordinary PCA: no correction ")
        assert model.left_out_gain_ == 0
    if shape == "kept":
        same_bits(model, AttenuatedPCA(3, alpha=0).fit(X))


def test_no_corrections_are_no_steps():
    model = CorrectedPCACV(2, corrections=[]).fit(smooth_rows(30, 5))
    assert len(model.steps_) == 0
    assert model.candidates_ == [dict.fromkeys(GRIDS, 0.0)]
    assert model.cv_risk_folds_.shape == (5, 1)
    assert (model.choices_, model.choice_weights_) == (model.candidates_, [1.0])


@pytest.mark.parametrize(
    ("correction", "shape"),
    [
        ("attenuation", (60, 8)),
        ("attenuation", (40, 200)),
        ("tempering", (40, 200)),
        ("tempering", (30, 600)),
    ],
)
def test_standardised_columns_leave_nothing_to_correct(shape, correction):
    """Every training set has its own variances, and gains by correcting them; all rows together do not."""
    X = StandardScaler().fit_transform(spiked_rows(*shape))
    model = CorrectedPCACV(2, corrections=[correction]).fit(X)
    (step,) = model.steps_
    assert step.best > 0
    assert model.choices_ == [dict.fromkeys(GRIDS, 0.0)]
    assert model.left_out_gain_ == 0
    assert "but on all rows they give PCA's subspace" in model.verdict_
    same_bits(model, AttenuatedPCACV(2, alphas=[0]).fit(X))


# --- at the edge --------------------------------------------------------------------------------------------

FOUR = ["row_tempering", "tempering", "attenuation", "damping"]


@pytest.mark.parametrize("p", [4, 140])
def test_as_many_components_as_columns_leave_no_choice(p):
    X = smooth_rows(300, p, seed=1)
    model = CorrectedPCACV(p, neighbours="line", reference=smooth_rows(20, p, seed=2), cv=3).fit(X)
    assert model.choices_ == [dict.fromkeys(GRIDS, 0.0)]
    assert model.left_out_gain_ == 0
    np.testing.assert_array_equal(model.cv_risk_, 0)
    assert all((step.gain, step.standard_error, step.weight) == (0, 0, 0) for step in model.steps_)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1)
    everything = CorrectedPCA(p, neighbours="line", **ALL).fit(X)
    np.testing.assert_allclose(everything.inverse_transform(everything.transform(X)), X, atol=1e-9)


@pytest.mark.parametrize(
    ("n_components", "shape", "rank"), [(None, (30, 6), 6), (None, (12, 20), 7), (0.6, (30, 6), None)]
)
def test_other_numbers_of_components(n_components, shape, rank):
    X = smooth_rows(*shape)
    model = CorrectedPCACV(n_components, corrections=FOUR, cv=3).fit(X)
    rank = AttenuatedPCA(n_components, alpha=0).fit(X).n_components_ if rank is None else rank
    assert model.n_components_ == rank
    given = CorrectedPCA(n_components, attenuation=0.5, row_tempering=0.5).fit(X)
    assert given.n_components_ == AttenuatedPCA(n_components, alpha=0).fit(X).n_components_


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [0.0, 1e6 / 3])
def test_a_constant_column_changes_nothing(form, value):
    X = smooth_rows(30, 8, seed=2)
    options = {"corrections": FOUR, "cv": 3}
    plain = CorrectedPCACV(2, **options).fit(FORMS[form](X))
    model = CorrectedPCACV(2, **options).fit(FORMS[form](np.insert(X, 3, value, axis=1)))
    assert model.choices_ == plain.choices_
    close = 1e-9 if value == 0 or form == "array" else 1e-4  # sparse rows keep sums of squares
    np.testing.assert_allclose(model.cv_risk_, plain.cv_risk_, rtol=close)
    assert np.abs(model.components_[:, 3]).max() <= close
    assert sine(np.delete(model.components_, 3, axis=1), plain.components_) <= 10 * close


def test_every_row_twice_is_as_every_row_once():
    X = smooth_rows(24, 6, seed=5)
    splits = interleaved_splits(24, 3)
    twice = [tuple(np.concatenate([part, part + 24]) for part in split) for split in splits]
    options = {"corrections": WEAK, "neighbours": "line"}
    same_search(
        CorrectedPCACV(2, cv=splits, **options).fit(X),
        CorrectedPCACV(2, cv=twice, **options).fit(np.vstack([X, X])),
    )


@pytest.mark.filterwarnings("ignore:The cut at")
@pytest.mark.parametrize(
    ("shape", "form"),
    [
        *(((30, 5), form) for form in FORMS),
        *(pytest.param((30, 200), form, marks=pytest.mark.slow) for form in FORMS),
        ((24, 530), "array"),
    ],
)
def test_rows_that_are_all_equal(shape, form):
    X = FORMS[form](np.full(shape, 0.1))
    model = CorrectedPCACV(2, neighbours="line", cv=3).fit(X)
    assert model.choices_ == [dict.fromkeys(GRIDS, 0.0)]
    assert model.left_out_gain_ == 0
    np.testing.assert_allclose(model.mean_, 0.1)
    # Sparse rows are counted from zero: rounding errors are those of the squares of their entries.
    rounding = 4 * np.finfo(float).eps * 0.1**2 * shape[1]
    np.testing.assert_allclose(model.explained_variance_, 0, atol=rounding)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    CorrectedPCA(2, neighbours="line", **ALL).fit(X)


@pytest.mark.parametrize(("form", "shape", "scale"), in_turn(FORMS, [(30, 6), (24, 530)], [1e150, 1e-150]))
def test_huge_and_tiny_numbers(scale, shape, form):
    X = smooth_rows(*shape, seed=2)
    options = {"corrections": {name: [0.5] for name in FOUR}, "cv": 3}
    plain = CorrectedPCACV(2, **options).fit(FORMS[form](X))
    model = CorrectedPCACV(2, **options).fit(FORMS[form](X * scale))
    assert model.choices_ == plain.choices_
    # Above 128 columns, subspaces of folds are only as accurate as comparing them needs.
    close = 1e-6 if shape[1] <= 128 else 1e-4
    np.testing.assert_allclose(model.cv_risk_ / scale / scale, plain.cv_risk_, rtol=close)
    one, two = (CorrectedPCA(2, neighbours="line", **ALL).fit(FORMS[form](X * size)) for size in (1, scale))
    assert sine(one.components_, two.components_) < 1e-6


@pytest.mark.parametrize("distance", [10.0, 1e3, 1e5])
def test_pairs_within_clusters_stay_close(distance):
    X = smooth_rows(40, 6, seed=3)
    X[::2] += distance * np.eye(6)[0]
    for strength in (0.5, 1.0):
        model = CorrectedPCA(2, row_tempering=strength).fit(X)
        assert sine(model.components_, leading(covariance_of_pairs(X, strength), 2)) < 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_rounding_errors_of_a_constant_column_are_not_blown_up(form):
    X = np.insert(smooth_rows(30, 8, seed=2), 3, 1e6 / 3, axis=1)
    for strengths in ({"tempering": 1.0}, {"tempering": 0.5, "damping": 0.5}):
        W = CorrectedPCA(6, row_tempering=0.5, **strengths).fit(FORMS[form](X)).components_
        np.testing.assert_allclose(W[:, 3], 0, atol=1e-9)
