"""CorrectedPCA at given strengths, and both estimators as members of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._estimate.words import percent_of
from tests.helpers import in_turn, leading, sine
from tests.literal import (
    GRIDS,
    SEARCH_ORDER,
    At,
    corrected_matrix,
    covariance_of_pairs,
    line,
    smooth_rows,
)

X = smooth_rows(45, 10, seed=3)
WIDE = smooth_rows(24, 530, seed=2)
OTHERS, WIDE_OTHERS = smooth_rows(30, 10, seed=4), smooth_rows(40, 530, seed=4)
STRENGTHS = {
    "PCA": {},
    "row tempering": {"row_tempering": 0.5},
    "spatial signs": {"row_tempering": 1.0},
    "tempering": {"tempering": 0.5},
    "attenuation": {"attenuation": 0.6},
    "damping": {"damping": 0.25},
    "pooling": {"pooling": 1.0},
    "damping and pooling": {"damping": 0.5, "pooling": 0.5},
    "smoothing": {"smoothing": 1.2},
    "borrowing": {"borrowing": 0.6},
    "all": {
        "borrowing": 0.3,
        "row_tempering": 0.75,
        "tempering": 0.5,
        "attenuation": 0.6,
        "damping": 0.5,
        "smoothing": 0.8,
        "pooling": 0.5,
    },
}


def exact(rows, given, rank=2):
    """Components by the dense formula."""
    strengths = At(**given)
    S = covariance_of_pairs(rows, strengths["row_tempering"])
    return leading(corrected_matrix(S, strengths, line(rows.shape[1]), reference=OTHERS), rank)


def frame(rows):
    return pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])


CONTAINERS = {
    "array": lambda rows: rows,
    "Fortran order": np.asfortranarray,
    "sparse": sp.csr_array,
    "pandas": frame,
    "Arrow table": lambda rows: pa.Table.from_pandas(frame(rows)),
}


@pytest.mark.parametrize(("case", "container"), in_turn(STRENGTHS, CONTAINERS, times=2))
def test_the_dense_formula_in_any_container(case, container):
    model = CorrectedPCA(2, neighbours="line", reference=OTHERS, **STRENGTHS[case])
    model.fit(CONTAINERS[container](X))
    assert sine(model.components_, exact(X, STRENGTHS[case])) <= 1e-9
    # The rows themselves are not changed.
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    scores = (X - X.mean(axis=0)) @ model.components_.T
    np.testing.assert_allclose(model.explained_variance_, scores.var(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize(("case", "container"), in_turn(STRENGTHS, ["array", "sparse"]))
def test_many_columns(case, container):
    model = CorrectedPCA(2, neighbours="line", reference=WIDE_OTHERS, **STRENGTHS[case])
    model.fit(CONTAINERS[container](WIDE))
    strengths = At(**STRENGTHS[case])
    S = covariance_of_pairs(WIDE, strengths["row_tempering"])
    T = corrected_matrix(S, strengths, line(WIDE.shape[1]), reference=WIDE_OTHERS)
    values = np.linalg.eigvalsh(T)[::-1]
    missed = values[:2].sum() - np.trace(model.components_ @ T @ model.components_.T)
    assert missed <= (model.shortfall_ + 1e-12) * np.trace(S)
    assert model.shortfall_ <= 1e-8


# --- weights ------------------------------------------------------------------------------------------------

WEIGHTS = np.arange(45) % 4


@pytest.mark.parametrize(
    ("case", "container"), in_turn(["row tempering", "spatial signs", "all"], ["array", "sparse"], times=2)
)
def test_weights_are_frequencies(case, container):
    """A row of weight 2 is two rows, one of weight 0 is none."""
    model = CorrectedPCA(2, neighbours="line", reference=OTHERS, **STRENGTHS[case])
    rows = CONTAINERS[container](X)
    weighted = clone(model).fit(rows, sample_weight=WEIGHTS)
    repeated = np.repeat(X, WEIGHTS, axis=0)
    assert sine(weighted.components_, exact(repeated, STRENGTHS[case])) <= 1e-9
    assert sine(weighted.components_, clone(model).fit(X).components_) > 1e-3
    np.testing.assert_allclose(weighted.mean_, repeated.mean(axis=0), rtol=1e-12)


def test_weights_of_many_columns():
    model = CorrectedPCA(2, row_tempering=0.75, tempering=0.5, attenuation=0.6)
    weights = np.arange(24) % 3
    weighted = clone(model).fit(WIDE, sample_weight=weights).components_
    repeated = clone(model).fit(np.repeat(WIDE, weights, axis=0)).components_
    assert sine(weighted, repeated) <= 1e-6


# --- what is refused ----------------------------------------------------------------------------------------


BAD_PARAMETERS = [
    (CorrectedPCA(attenuation=1.5), r"attenuation must be a number from 0 to 1; got 1\.5"),
    (CorrectedPCA(attenuation=None), "attenuation must be a number from 0 to 1; got None"),
    (CorrectedPCA(tempering=-0.1), "tempering must be a number from 0 to 1"),
    (CorrectedPCA(row_tempering="1"), "row_tempering must be a number from 0 to 1; got '1'"),
    (CorrectedPCA(row_tempering=True), "row_tempering must be a number from 0 to 1; got True"),
    (CorrectedPCA(damping=np.inf), "damping must be a finite number of at least 0; got inf"),
    (CorrectedPCA(damping=np.nan), "damping must be a finite number of at least 0; got nan"),
    (CorrectedPCA(smoothing=-1), "smoothing must be a finite number of at least 0; got -1"),
    (CorrectedPCA(smoothing=1), "smoothing needs neighbours"),
    (CorrectedPCA(neighbours="circle"), "neighbours must be None, 'line'"),
    (CorrectedPCA(neighbours=(3, 3)), "neighbours=.* is a grid of 9 columns, but the data have 10"),
    (CorrectedPCACV(corrections="all"), "corrections must be 'auto', a list of names, or a dict"),
    (CorrectedPCACV(corrections=3), "corrections must be 'auto', a list of names, or a dict"),
    (
        CorrectedPCACV(corrections=["shrinkage"]),
        "corrections names 'shrinkage'; the corrections are row_",
    ),
    (CorrectedPCACV(corrections={"tempering": 0.5}), r"corrections\['tempering'\] must be a sequence"),
    (CorrectedPCACV(corrections={"tempering": [2]}), r"corrections\['tempering'\] must be a number from"),
    (CorrectedPCACV(corrections=["smoothing"]), "corrections names smoothing, which needs neighbours"),
    (CorrectedPCACV(corrections={"smoothing": [1]}), "corrections names smoothing, which needs"),
    (CorrectedPCACV(cv=1), "cv=1 must be at least 2 folds"),
    (CorrectedPCACV(40), "n_components=40"),
]


def test_bad_parameters():
    for model, message in BAD_PARAMETERS:
        with pytest.raises(ValueError, match=message):
            model.fit(X)
        with pytest.raises(NotFittedError):
            model.transform(X)


@pytest.mark.parametrize("name", ["damping", "pooling"])
def test_corrections_with_a_largest_number_of_columns(name):
    many = np.random.default_rng(0).standard_normal((5, 4001))
    with pytest.raises(ValueError, match=rf"{name}=0\.5 cannot be used: .* up to 4,000 columns; X has 4,001"):
        CorrectedPCA(2, **{name: 0.5}).fit(many)
    model = CorrectedPCACV(1, corrections=[name], cv=2).fit(many)
    (step,) = model.steps_
    assert (step.strengths, step.weight) == ((), 0)
    assert step.why.startswith("left out: it needs every correlation")
    assert model.verdict_.startswith("The fit is ordinary PCA: no correction ")


def test_corrections_are_left_out_without_their_parameter():
    borrowing, smoothing, *others = CorrectedPCACV(2).fit(X).steps_
    assert (borrowing.correction, borrowing.why) == ("borrowing", "left out: reference is not given")
    assert (smoothing.correction, smoothing.why) == ("smoothing", "left out: neighbours is not given")
    assert [step.correction for step in others] == list(SEARCH_ORDER[2:])
    for step in others:
        assert len(step.strengths) > 1
        assert step.strengths == GRIDS[step.correction][: len(step.strengths)]


# --- scikit-learn -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [CorrectedPCA(), CorrectedPCACV()], ids=str)
def test_scikit_learn_checks(estimator, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check_estimator(estimator, on_skip=None)


MODELS = [
    CorrectedPCA(2, row_tempering=0.5, damping=0.25, smoothing=0.5, neighbours="line"),
    CorrectedPCACV(2, neighbours=(2, 5)),
    CorrectedPCACV(2, corrections={"tempering": [0.5]}, neighbours=sp.csr_array(line(10))),
]


@pytest.mark.parametrize("model", MODELS, ids=["given", "chosen", "some"])
def test_clone_pickle_names_and_frames(model):
    model = clone(model).fit(frame(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(frame(X)), model.transform(frame(X)))
    assert vars(copy).keys() == vars(model).keys()
    assert not hasattr(clone(model), "components_")
    prefix = type(model).__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{prefix}0", f"{prefix}1"]
    assert model.feature_names_in_.tolist() == [f"x{i}" for i in range(10)]
    out = model.set_output(transform="pandas").transform(frame(X))
    assert list(out.columns) == [f"{prefix}0", f"{prefix}1"]
    np.testing.assert_array_equal(clone(model).fit(frame(X)).components_, model.components_)


def test_parameters_that_are_set_count():
    model = CorrectedPCA(2, attenuation=0.5).fit(X)
    again = model.set_params(attenuation=0, damping=0.25).fit(X)
    np.testing.assert_array_equal(again.components_, CorrectedPCA(2, damping=0.25).fit(X).components_)
    chosen = CorrectedPCACV(2, neighbours="line").fit(X)
    assert any(any(choice.values()) for choice in chosen.choices_)
    (choice,) = chosen.set_params(corrections=[]).fit(X).choices_
    assert not any(choice.values())


def test_pipeline_and_grid_search():
    pipeline = make_pipeline(StandardScaler(with_std=False), CorrectedPCACV(2, corrections=["tempering"]))
    grid = {"correctedpcacv__n_components": [1, 3], "correctedpcacv__corrections": [[], ["tempering"]]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X)
    assert search.best_params_["correctedpcacv__n_components"] == 3
    assert search.transform(X).shape == (45, 3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    search = GridSearchCV(CorrectedPCA(2), {"damping": [0, 0.5]}, cv=KFold(3)).fit(X)
    best = search.best_params_["damping"]
    scores = [
        np.mean(cross_validate(CorrectedPCA(2, damping=b), X, cv=KFold(3))["test_score"]) for b in (0, 0.5)
    ]
    assert best == (0, 0.5)[int(np.argmax(scores))]


def test_row_groups_and_weights_by_metadata_routing():
    groups = np.arange(45) // 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = CorrectedPCACV(2, cv=GroupKFold(4)).set_fit_request(groups=True)
        routed = make_pipeline(StandardScaler(), model).fit(X, groups=groups)[-1]
        weighted = CorrectedPCA(2, row_tempering=1.0).set_fit_request(sample_weight=True)
        weighted = make_pipeline(weighted).fit(X, sample_weight=WEIGHTS)[-1]
    scaled = StandardScaler().fit_transform(X)
    direct = CorrectedPCACV(2, cv=GroupKFold(4)).fit(scaled, groups=groups)
    np.testing.assert_array_equal(routed.cv_risk_folds_, direct.cv_risk_folds_)
    expected = CorrectedPCA(2, row_tempering=1.0).fit(X, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(weighted.components_, expected.components_)


def test_the_verdict_says_what_came_out():
    given = {"corrections": {"row_tempering": [1]}, "cv": 2}
    one = CorrectedPCACV(2, **given).fit(X)
    pairs = zip(one.choices_, one.choice_weights_, strict=True)
    weights = {choice["row_tempering"]: weight for choice, weight in pairs}
    assert weights[0] > 0.5
    fit = (
        f"The fit is as safe as PCA: it averages PCA ({weights[0]:.0%}) and row tempering 1 "
        f"({weights[1]:.0%})."
    )
    assert one.verdict_ == f"{fit} What new rows gain was not measured; nested=True measures it."
    measured = CorrectedPCACV(2, nested=True, **given).fit(X)
    gain, error = measured.left_out_gain_, measured.left_out_gain_error_
    assert 0 < gain < 2 * error
    noise = f"{percent_of(gain)} less, standard error {percent_of(error)}"
    assert measured.verdict_ == f"Expect about PCA's error on new rows ({noise}). {fit}"
    few = CorrectedPCACV(2, nested=True, **given).fit(X, groups=np.arange(45) % 2)
    assert few.verdict_ == (
        "Too little was held out to say what to expect of new rows. The fit has row tempering 1."
    )
    nothing = CorrectedPCACV(2, corrections=[]).fit(X)
    assert nothing.verdict_.startswith("The fit is ordinary PCA: no correction ")


def test_a_notebook_shows_the_steps():
    assert "<table>" in CorrectedPCACV(2).fit(X).steps_._repr_html_()
    assert "CorrectedPCACV" in CorrectedPCACV(2).fit(X)._repr_html_()


def test_threads_and_repetition_change_nothing():
    alone = CorrectedPCACV(2, neighbours="line", n_jobs=1).fit(X)
    for other in (CorrectedPCACV(2, neighbours="line", n_jobs=2).fit(X), clone(alone).fit(X)):
        for name in ("components_", "cv_risk_folds_", "candidates_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(alone, name))
        assert other.steps_ == alone.steps_
