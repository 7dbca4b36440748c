"""The two estimators: against scikit-learn's PCA, LAPACK, and every container a user may bring."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCACV
from tests.helpers import (
    assert_risks_close_enough,
    covariance,
    dealt_out_splits,
    exact_components,
    in_turn,
    interleaved_splits,
    pooled,
    risk_folds_by_hand,
    sine,
    spiked_rows,
)

SHAPES = {"tall": (200, 12), "square": (40, 40), "wide": (30, 80), "very wide": (25, 700)}


@pytest.mark.parametrize("estimator", [AttenuatedPCA(), AttenuatedPCACV()], ids=str)
def test_scikit_learn_checks(estimator, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize(
    ("shape", "n_components", "whiten"), in_turn(SHAPES, [1, 5, 0.7], [False, True], times=2)
)
def test_strength_zero_is_scikit_learns_pca(shape, n_components, whiten):
    X = spiked_rows(*SHAPES[shape])
    ours = AttenuatedPCA(n_components, alpha=0, whiten=whiten).fit(X)
    pca = PCA(n_components, svd_solver="full", whiten=whiten).fit(X)
    signs = np.sign(np.sum(ours.components_ * pca.components_, axis=1))
    close = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(ours.components_ * signs[:, None], pca.components_, **close)
    np.testing.assert_allclose(ours.transform(X) * signs, pca.transform(X), **close)
    scores = pca.transform(X)
    np.testing.assert_allclose(ours.inverse_transform(scores * signs), pca.inverse_transform(scores), **close)
    if not whiten:  # see test_gaussian_model
        np.testing.assert_allclose(ours.get_covariance(), pca.get_covariance(), **close)
        np.testing.assert_allclose(ours.get_precision(), pca.get_precision(), **close)
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(pca, name), rtol=1e-8)
    assert ours.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-8)
    assert ours.n_components_ == pca.n_components_


@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_strength_zero_keeps_as_many_components_as_pca(shape):
    X = spiked_rows(*SHAPES[shape])
    ours = AttenuatedPCA(alpha=0).fit(X)
    pca = PCA(svd_solver="full").fit(X)
    assert ours.n_components_ == pca.n_components_
    assert ours.noise_variance_ == pca.noise_variance_ == 0
    np.testing.assert_allclose(ours.explained_variance_, pca.explained_variance_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("shape", "alpha"), in_turn(SHAPES, [0, 0.2, 0.49, 0.8, 1]))
def test_strengths_against_lapack(shape, alpha):
    X = spiked_rows(*SHAPES[shape])
    model = AttenuatedPCA(3, alpha=alpha).fit(X)
    assert sine(model.components_, exact_components(covariance(X), alpha, 3)) <= 1e-7


@pytest.mark.parametrize(("shape", "kind"), in_turn([*SHAPES, "iterated"], ["flat", "spiked"]))
def test_the_shortfall_bounds_what_the_subspace_explains_too_little(shape, kind):
    n, p = (SHAPES | {"iterated": (300, 220)})[shape]
    X = spiked_rows(n, p) if kind == "spiked" else np.random.default_rng(0).standard_normal((n, p))
    S, total = covariance(X), X.var(axis=0).sum()
    for alpha in (0, 0.5, 1):
        model = AttenuatedPCA(4, alpha=alpha).fit(X)
        T = S - alpha * np.diag(np.diag(S))
        missed = np.linalg.eigvalsh(T)[-4:].sum() - np.trace(model.components_ @ T @ model.components_.T)
        assert -1e-13 * total <= missed <= model.shortfall_ * total + 1e-13 * total
        assert model.shortfall_ <= 1e-8
        assert p > 128 or model.shortfall_ == 0


def test_inside_the_subspace_scores_are_uncorrelated_and_ordered():
    X = spiked_rows(150, 10)
    model = AttenuatedPCA(4, alpha=0.8).fit(X)
    C = np.cov(model.transform(X).T)
    np.testing.assert_allclose(C, np.diag(model.explained_variance_), atol=1e-9 * C.max())
    assert (np.diff(model.explained_variance_) <= 0).all()
    assert (model.components_.max(axis=1) >= -model.components_.min(axis=1)).all()
    white = AttenuatedPCA(4, alpha=0.8, whiten=True).fit(X).transform(X)
    np.testing.assert_allclose(np.cov(white.T), np.eye(4), atol=1e-9)


def test_block_attenuation_against_lapack():
    X = spiked_rows(100, 12)
    labels = np.arange(12) // 3
    lists = [list(range(i, i + 3)) for i in range(0, 12, 3)]
    exact = exact_components(covariance(X), 0.6, 3, labels)
    for groups in (labels, lists, [f"group {i}" for i in labels]):
        assert sine(AttenuatedPCA(3, alpha=0.6, feature_groups=groups).fit(X).components_, exact) < 1e-6
    alone = AttenuatedPCA(3, alpha=0.6, feature_groups=np.arange(12)).fit(X)
    assert sine(alone.components_, AttenuatedPCA(3, alpha=0.6).fit(X).components_) < 1e-12


# --- Cross-validation -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "cv"),
    [
        ("tall", [(np.arange(5, 20), np.arange(5)), (np.arange(3, 12), np.arange(15, 25))]),
        ("square", KFold(3, shuffle=True, random_state=0)),
        ("wide", 5),
        ("very wide", KFold(5)),
    ],
)
def test_cv_risk_against_fits_from_scratch(shape, cv):
    X = spiked_rows(*SHAPES[shape])
    alphas = [0, 0.3, 0.7, 1]
    splits = interleaved_splits(len(X), 5) if cv == 5 else cv
    splits = list(splits.split(X)) if hasattr(splits, "split") else splits
    model = AttenuatedPCACV(3, alphas=alphas, cv=cv).fit(X)
    folds = risk_folds_by_hand(X, splits, alphas, 3)
    expected = pooled(folds, splits)
    assert model.cv_risk_folds_.shape == (len(splits), 4)
    np.testing.assert_allclose(model.cv_risk_, pooled(model.cv_risk_folds_, splits), rtol=1e-12)
    if shape == "very wide":  # subspaces of folds are iterated
        held_to_training = np.mean([len(held) / len(training) for training, held in splits])
        chosen = alphas.index(model.alpha_)
        assert_risks_close_enough(model.cv_risk_folds_, folds, held_to_training, chosen)
        assert model.gain_ == 1 - model.cv_risk_.min() / model.cv_risk_[0]
    else:
        np.testing.assert_allclose(model.cv_risk_folds_, folds, rtol=1e-8)
        assert model.alpha_ == alphas[int(np.argmin(expected))]
        assert model.gain_ == pytest.approx(1 - expected.min() / expected[0], abs=1e-7)
    refit = AttenuatedPCA(3, alpha=model.alpha_).fit(X)
    np.testing.assert_allclose(model.components_, refit.components_, atol=1e-9)


def test_a_number_of_folds_deals_rows_out_in_turn():
    X = spiked_rows(60, 6)
    number, splitter = AttenuatedPCACV(2).fit(X), AttenuatedPCACV(2, cv=KFold(5)).fit(X)
    by_hand = AttenuatedPCACV(2, cv=interleaved_splits(60, 5)).fit(X)
    np.testing.assert_allclose(number.cv_risk_folds_, by_hand.cv_risk_folds_, rtol=1e-9)
    assert not np.allclose(number.cv_risk_, splitter.cv_risk_, rtol=1e-6)


def test_cv_with_feature_groups_and_jobs():
    X = spiked_rows(80, 12)
    labels = np.arange(12) // 2
    model = AttenuatedPCACV(2, feature_groups=labels, n_jobs=2).fit(X)
    expected = risk_folds_by_hand(X, interleaved_splits(80, 5), model.alphas_, 2, labels)
    np.testing.assert_allclose(model.cv_risk_folds_, expected, rtol=1e-9)


def test_grids_of_strengths():
    X = spiked_rows(60, 6)
    direct = AttenuatedPCACV(2).fit(X).alphas_
    mask = AttenuatedPCACV(2, alphas="mask").fit(X).alphas_
    np.testing.assert_allclose(direct, sorted([*np.arange(21) / 20, 0.49]))
    np.testing.assert_array_equal(mask, direct[direct <= 0.49])
    np.testing.assert_array_equal(AttenuatedPCACV(2, alphas=[0.7, 0.2, 0.7]).fit(X).alphas_, [0, 0.2, 0.7])


def test_ties_go_to_the_smallest_strength():
    X = spiked_rows(60, 4)
    everything = AttenuatedPCACV(4).fit(X)  # all strengths reconstruct every row exactly
    assert everything.alpha_ == 0
    assert everything.gain_ == 0


def test_row_groups_are_kept_whole():
    X = spiked_rows(60, 6)
    groups = np.repeat(np.arange(10), 6)[np.random.default_rng(0).permutation(60)]
    splits = dealt_out_splits(groups, 5)
    model = AttenuatedPCACV(2, alphas=[0, 0.5, 1]).fit(X, groups=groups)
    expected = pooled(risk_folds_by_hand(X, splits, model.alphas_, 2), splits)
    np.testing.assert_allclose(model.cv_risk_, expected, rtol=1e-9)
    splits = list(GroupKFold(5).split(X, groups=groups))
    expected = pooled(risk_folds_by_hand(X, splits, model.alphas_, 2), splits)
    by_splitter = AttenuatedPCACV(2, alphas=[0, 0.5, 1], cv=GroupKFold(5)).fit(X, groups=groups)
    np.testing.assert_allclose(by_splitter.cv_risk_, expected, rtol=1e-9)
    splits = list(KFold(5).split(X))
    with pytest.raises(ValueError, match="rows of one group on both sides"):
        AttenuatedPCACV(2, cv=splits).fit(X, groups=groups)


def test_row_groups_by_metadata_routing():
    X = spiked_rows(60, 6)
    groups = np.repeat(np.arange(10), 6)[np.random.default_rng(0).permutation(60)]
    direct = AttenuatedPCACV(2).fit(StandardScaler().fit_transform(X), groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), AttenuatedPCACV(2).set_fit_request(groups=True))
        pipeline.fit(X, groups=groups)
    np.testing.assert_allclose(pipeline[-1].cv_risk_, direct.cv_risk_)


def test_weights_by_metadata_routing():
    X, w = spiked_rows(60, 6), np.random.default_rng(0).integers(1, 4, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(AttenuatedPCA(2, alpha=0.5).set_fit_request(sample_weight=True))
        pipeline.fit(X, sample_weight=w)
    expected = AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=w)
    np.testing.assert_allclose(pipeline[-1].components_, expected.components_)


# --- Containers -------------------------------------------------------------------------------------------

SPARSE = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize(
    ("form", "shape", "estimator"),
    in_turn(
        [*SPARSE, *(f"{form} array" for form in SPARSE)],
        [(80, 20), (60, 600), (80, 20)],
        [AttenuatedPCA(3, alpha=0.5), AttenuatedPCACV(3)],
    ),
)
@pytest.mark.filterwarnings("ignore:Constructing a DIA")
def test_sparse_input_gives_what_dense_input_gives(estimator, shape, form):
    matrix = sp.random(*shape, density=0.3, random_state=0)
    X = sp.coo_array(matrix).asformat(form.split()[0]) if "array" in form else matrix.asformat(form)
    dense, sparse = clone(estimator).fit(matrix.toarray()), clone(estimator).fit(X)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-6)
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(sparse.transform(X), dense.transform(matrix.toarray()), atol=1e-5)
    assert sparse.score(X) == pytest.approx(dense.score(matrix.toarray()), rel=1e-8)


@pytest.mark.parametrize(
    ("estimator", "shape"),
    [(AttenuatedPCA(3, alpha=0.5), "very wide"), (AttenuatedPCACV(3), "tall")],
)
def test_dense_containers_agree(estimator, shape, tmp_path):
    X = np.round(spiked_rows(*SHAPES[shape]), 2)
    expected = clone(estimator).fit(X)
    read_only = X.copy()
    read_only.setflags(write=False)
    mapped = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    names = [f"x{i}" for i in range(X.shape[1])]
    padded = np.zeros((2 * len(X), X.shape[1] + 3))
    padded[::2, 3:] = X
    for other in (
        np.asfortranarray(X),
        padded[::2, 3:],
        read_only,
        mapped,
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        X.tolist(),
    ):
        model = clone(estimator).fit(other)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-7)
        np.testing.assert_allclose(model.transform(other), expected.transform(X), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16])
def test_other_numbers_are_computed_in_double_precision(dtype):
    X = np.maximum(spiked_rows(50, 6) * 3, 0).astype(dtype)
    model = AttenuatedPCACV(2).fit(X)
    assert model.components_.dtype == np.float64
    np.testing.assert_allclose(
        model.components_, AttenuatedPCACV(2).fit(X.astype(float)).components_, atol=1e-12
    )


@pytest.mark.parametrize(("shape", "as_container"), [("very wide", np.asarray), ("tall", sp.csr_matrix)])
def test_float32_in_float32_out(shape, as_container):
    X = spiked_rows(*SHAPES[shape]).astype(np.float32)
    model = AttenuatedPCACV(3).fit(as_container(X))
    double = AttenuatedPCACV(3).fit(X.astype(float))
    fitted = (model.components_, model.mean_, model.explained_variance_, model.noise_variance_)
    for value in (*fitted, model.transform(as_container(X)), model.singular_values_):
        assert value.dtype == np.float32
    assert model.alpha_ == double.alpha_
    assert sine(model.components_.astype(float), double.components_) < 1e-5
    assert model.inverse_transform(model.transform(as_container(X))).dtype == np.float32


def test_the_data_are_left_alone():
    for shape in SHAPES.values():
        X = spiked_rows(*shape)
        before = X.copy()
        AttenuatedPCACV(2, whiten=True).fit(X).transform(X)
        np.testing.assert_array_equal(X, before)


# --- In the company of scikit-learn -----------------------------------------------------------------------


def test_pipeline_and_grid_search_over_alpha():
    X = spiked_rows(100, 8)
    search = GridSearchCV(
        AttenuatedPCA(2, alpha=0.5),
        {"alpha": [0, 0.25, 0.5, 0.75, 1]},
        scoring=lambda model, rows: -model.reconstruction_error(rows).mean(),
        cv=5,
    ).fit(X)
    direct = AttenuatedPCACV(2, alphas=[0, 0.25, 0.5, 0.75, 1], cv=KFold(5)).fit(X)
    np.testing.assert_allclose(-search.cv_results_["mean_test_score"], direct.cv_risk_, rtol=1e-9)
    assert search.best_params_["alpha"] == direct.alpha_
    scores = make_pipeline(StandardScaler(), AttenuatedPCACV(2)).fit_transform(X)
    assert scores.shape == (100, 2)


@pytest.mark.parametrize("estimator", [AttenuatedPCA(2, alpha=0.3), AttenuatedPCACV(2, cv=4)])
def test_clone_pickle_names_and_frames(estimator):
    X = pd.DataFrame(spiked_rows(50, 4), columns=list("abcd"))
    model = clone(estimator).fit(X)
    assert clone(model).get_params() == estimator.get_params()
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.transform(X), model.transform(X))
    prefix = type(estimator).__name__.lower()
    assert list(model.get_feature_names_out()) == [f"{prefix}0", f"{prefix}1"]
    assert list(model.feature_names_in_) == list("abcd")
    for container, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        scores = clone(estimator).set_output(transform=container).fit_transform(X)
        assert isinstance(scores, frame)
        assert list(scores.columns) == [f"{prefix}0", f"{prefix}1"]


def test_reconstruction_error_is_the_squared_distance_to_the_reconstruction():
    X = spiked_rows(100, 8)
    for whiten in (False, True):
        model = AttenuatedPCA(3, whiten=whiten).fit(X[:60])
        back = model.inverse_transform(model.transform(X[60:]))
        expected = np.sum((X[60:] - back) ** 2, axis=1)
        np.testing.assert_allclose(model.reconstruction_error(X[60:]), expected, rtol=1e-10)
        np.testing.assert_allclose(model.reconstruction_error(sp.csr_array(X[60:])), expected, rtol=1e-8)


# --- Bad input and edges ----------------------------------------------------------------------------------


BAD_PARAMETERS = [
    (AttenuatedPCA(2, alpha=-0.1), "alpha must be a number from 0 to 1; got -0.1"),
    (AttenuatedPCA(2, alpha=1.1), "alpha must be a number from 0 to 1"),
    (AttenuatedPCA(2, alpha=np.nan), "alpha must be a number from 0 to 1; got nan"),
    (AttenuatedPCA(2, alpha="0.5"), "alpha must be a number from 0 to 1"),
    (AttenuatedPCA(0, alpha=0.5), "n_components=0 must be between 1 and 5"),
    (
        AttenuatedPCA(6, alpha=0.5),
        r"n_components=6 must be between 1 and 5, the smaller of the number of rows",
    ),
    (AttenuatedPCA(1.5, alpha=0.5), "n_components must be None, an integer from 1 to 5, or a fraction"),
    (AttenuatedPCA("mle"), "n_components must be None, an integer"),
    (AttenuatedPCA(True), "n_components must be None, an integer"),
    (AttenuatedPCA(2, feature_groups=[[0, 1], [2]]), "feature_groups must cover every column"),
    (AttenuatedPCA(2, feature_groups=[]), "feature_groups is empty"),
    (AttenuatedPCACV(2, alphas="direkt"), "alphas must be 'direct', 'mask' or an array"),
    (AttenuatedPCACV(2, alphas=[0.5, 2]), "alphas must lie from 0 to 1; got 2"),
    (AttenuatedPCACV(2, alphas=[np.nan]), "alphas must lie from 0 to 1; got nan"),
    (AttenuatedPCACV(2, alphas=[]), "alphas must be one-dimensional, with at least one"),
    (AttenuatedPCACV(2, alphas=["a"]), "alphas must be 'direct', 'mask' or an array of numbers"),
    (AttenuatedPCACV(2, cv=1), "cv=1 must be at least 2 folds"),
    (AttenuatedPCACV(2, cv=30), "cv=30 folds need at least as many rows; got n_samples=20"),
]


def test_bad_parameters():
    for estimator, message in BAD_PARAMETERS:
        with pytest.raises(ValueError, match=message):
            estimator.fit(spiked_rows(20, 5))


@pytest.mark.parametrize("value", ["False", None, 2, np.nan])
def test_switches_are_true_or_false(value):
    X = spiked_rows(20, 5)
    for estimator in (AttenuatedPCA(2), CorrectedPCACV(2), CorrectedCovariance()):
        for name in {"scale", "whiten", "nested", "assume_centered"} & estimator.get_params().keys():
            model = clone(estimator).set_params(**{name: value})
            with pytest.raises(ValueError, match=f"{name} must be True or False; got {value!r}"):
                model.fit(X)
            model.set_params(**{name: np.True_}).fit(X)


def test_too_many_components_for_a_training_fold():
    with pytest.raises(ValueError, match="9 components, but the smallest training set of cv has only 8"):
        AttenuatedPCACV(9, cv=5).fit(spiked_rows(10, 30))
    # Eight centred rows span seven directions.
    assert AttenuatedPCACV(cv=5).fit(spiked_rows(10, 30)).n_components_ == 7


@pytest.mark.parametrize("estimator", [AttenuatedPCA(1, alpha=0.5), AttenuatedPCACV(1)])
def test_bad_data(estimator):
    X = spiked_rows(20, 5)
    frame = pd.DataFrame(X.copy(), columns=list("abcde"))
    frame.loc[3, "c"] = np.nan
    infinite = X.copy()
    infinite[4, 1] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 1"):
        estimator.fit(infinite)
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        estimator.fit(X[:1])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        estimator.fit(X[:0])
    with pytest.raises(ValueError, match="Complex data not supported"):
        estimator.fit(X + 1j)
    with pytest.raises(ValueError, match="could not convert string to float"):
        estimator.fit(np.array([["a", "b"], ["c", "d"]], dtype=object))
    fitted = estimator.fit(X)
    with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5"):
        fitted.transform(X[:, :4])
    with pytest.raises(ValueError, match=r"X has 3 columns, but .* has 1 components"):
        fitted.inverse_transform(np.ones((2, 3)))
    named = estimator.fit(frame.fillna(0.0))
    with pytest.raises(ValueError, match="feature names should match"):
        named.transform(frame.fillna(0.0).rename(columns={"a": "z"}))


BAD_WEIGHTS = [
    (np.ones(19), "sample_weight has 19 entries, but X has 20 rows"),
    (-np.ones(20), "sample_weight must be finite and nonnegative"),
    (np.full(20, np.nan), "sample_weight must be finite and nonnegative"),
    (np.zeros(20), "sample_weight must not be zero for every row"),
    (np.full(20, 0.04), "sample_weight must sum to more than 1"),
    (["a"] * 20, "sample_weight must be an array of numbers"),
]


def test_bad_weights():
    for weights, message in BAD_WEIGHTS:
        with pytest.raises(ValueError, match=message):
            AttenuatedPCA(2, alpha=0.5).fit(spiked_rows(20, 5), sample_weight=weights)


@pytest.mark.parametrize(("shape", "alpha"), [("tall", 0), ("very wide", 0.5), ("tall", 1)])
def test_constant_and_duplicate_columns_are_no_error(shape, alpha):
    X = spiked_rows(*SHAPES[shape])
    X[:, 2] = 7.0
    X[:, 4] = X[:, 3]
    model = AttenuatedPCA(2, alpha=alpha).fit(X)
    assert np.abs(model.components_[:, 2]).max() < 1e-9
    np.testing.assert_allclose(model.components_[:, 4], model.components_[:, 3], atol=1e-9)
    assert np.isfinite(AttenuatedPCACV(2).fit(X).cv_risk_).all()


def test_constant_data():
    with pytest.warns(UserWarning, match="falls on a tie"):
        model = AttenuatedPCACV(2).fit(np.ones((20, 5)))
    assert model.alpha_ == 0
    np.testing.assert_array_equal(model.explained_variance_ratio_, 0)
    np.testing.assert_array_equal(model.inverse_transform(model.transform(np.ones((3, 5)))), 1)


@pytest.mark.parametrize("p", [6, 700])
def test_a_tie_at_the_cut_warns_once_and_is_deterministic(p):
    # Rows plus and minus each axis: S is a multiple of the identity on four axes, zero on the rest.
    X = np.zeros((8, p))
    X[np.arange(8), np.repeat(np.arange(4), 2)] = np.tile([1.0, -1.0], 4)
    found = []
    for order in (np.arange(8), np.random.default_rng(0).permutation(8)):
        with pytest.warns(UserWarning, match="The cut at n_components=2 falls on a tie") as record:
            found.append(AttenuatedPCA(2, alpha=0.5).fit(X[order]).components_)
        assert len(record) == 1
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def test_a_fold_of_empty_sparse_rows():
    X = sp.random(50, 700, density=0.1, random_state=0).tolil()
    X[:10] = 0
    assert np.isfinite(AttenuatedPCACV(2).fit(X.tocsr()).cv_risk_).all()


def test_constant_data_of_many_columns():
    with pytest.warns(UserWarning, match="falls on a tie"):
        model = AttenuatedPCA(2, alpha=0.5).fit(np.ones((10, 6000)))
    np.testing.assert_array_equal(model.explained_variance_, 0)


def test_weights_below_one_do_not_reduce_the_number_of_components():
    X = spiked_rows(60, 6)
    assert AttenuatedPCA().fit(X, sample_weight=np.full(60, 0.1)).n_components_ == 6


def test_weights_allow_as_many_components_as_repeated_rows():
    X = np.random.default_rng(0).standard_normal((30, 600))
    twice, weights = np.repeat(X, 2, axis=0), np.full(30, 2.0)
    weighted = AttenuatedPCA(40, alpha=0.5).fit(X, sample_weight=weights)
    W = weighted.components_
    np.testing.assert_allclose(W @ W.T, np.eye(40), atol=1e-9)
    repeated = AttenuatedPCA(40, alpha=0.5).fit(twice)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, atol=1e-5)

    with pytest.warns(UserWarning, match="falls on a tie"):
        plain = AttenuatedPCA(40, alpha=0).fit(X, sample_weight=weights).components_
    np.testing.assert_allclose(plain @ plain.T, np.eye(40), atol=1e-9)
    assert sine(PCA(29).fit(twice).components_, plain[:29]) <= 1e-9

    everything = AttenuatedPCA().fit(X, sample_weight=weights)
    assert everything.components_.shape == AttenuatedPCA().fit(twice).components_.shape == (60, 600)


def test_the_gain_to_expect_never_lets_a_fold_choose_for_itself():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 1)) + rng.standard_normal((40, 8))
    model = AttenuatedPCACV(1, cv=4).fit(X)
    risks = model.cv_risk_folds_
    gains = []
    for split, row in enumerate(risks):
        chosen = np.argmin(np.delete(risks, split, axis=0).sum(axis=0))
        gains.append((row[0] - row[chosen]) / risks[:, 0].mean())
    # Three quarters of the rows are in a training set.
    assert model.alpha_ > 0
    assert model.left_out_gain_ == pytest.approx(0.75 * np.mean(gains))
    assert model.left_out_gain_error_ == pytest.approx(0.75 * np.std(gains, ddof=1) * np.sqrt(1 / 4 + 1 / 3))


def test_there_is_no_gain_to_expect_of_pca_and_none_to_measure_with_one_split():
    strong = np.random.default_rng(0).standard_normal((500, 3)) * [9, 3, 1]
    model = AttenuatedPCACV(1).fit(strong)
    assert (model.alpha_, model.left_out_gain_, model.left_out_gain_error_) == (0, 0, 0)
    single = AttenuatedPCACV(1, cv=[(np.arange(20), np.arange(20, 40))]).fit(spiked_rows(40, 8, seed=1))
    assert single.alpha_ > 0
    assert np.isnan([single.left_out_gain_, single.left_out_gain_error_]).all()
