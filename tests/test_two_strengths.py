"""Both strengths in the estimators, against a dense construction of T from its entries and LAPACK."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from attenua import AttenuatedPCA, AttenuatedPCACV, attenuation_path
from attenua._correct.attenuation import pairs
from attenua._correct.tempering import tempered
from attenua._data.rows import HostRows
from attenua._data.splits import SplitMoments
from attenua._select.comparison import Comparison
from attenua._select.rule import AttenuationRule
from tests.helpers import (
    assert_risks_close_enough,
    covariance,
    entries_of_t,
    interleaved_splits,
    leading,
    pooled,
    run_check,
    sine,
    spiked_rows,
    uneven_rows,
)

PAIRS = [(0, 0), (0, 0.3), (0.4, 0.5), (1, 0.25), (0.49, 1), (0, 1), (1, 1)]


@parametrize_with_checks(
    [
        AttenuatedPCA(tempering=0.5),
        AttenuatedPCA(2, alpha=1.0, tempering=1.0),
        AttenuatedPCACV(alphas=[0, 0.5, 1], tempering=[0.5, 1]),
        AttenuatedPCACV(alphas=[0, 0.5], tempering="auto"),
    ]
)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


def sparse_rows(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = spiked_rows(n, p, seed=seed) * (rng.random((n, p)) < 0.2) * rng.uniform(0.2, 5.0, p)
    return sp.csr_array(X)


DATA = {
    "tall": uneven_rows(120, 14),
    "tall, iterated": uneven_rows(260, 230),
    "wide": uneven_rows(30, 560),
    "wide, without a Gram matrix": uneven_rows(150, 520),
    "sparse, few columns": sparse_rows(90, 40),
    "sparse, many columns": sparse_rows(60, 540),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("grouped", [False, True])
def test_every_pair_against_the_entries_of_t(data, grouped):
    X = DATA[data]
    dense = X.toarray() if sp.issparse(X) else X
    labels = np.arange(X.shape[1]) // 3 if grouped else None
    S = covariance(dense)
    for alpha, gamma in PAIRS if X.shape[1] < 100 else PAIRS[2:5]:
        T = entries_of_t(S, alpha, gamma, labels)
        model = AttenuatedPCA(3, alpha=alpha, tempering=gamma, feature_groups=labels).fit(X)
        assert sine(model.components_, leading(T, 3)) <= 1e-6
        # Inside the subspace the scores are those of the data, not of the tempered data.
        C = model.components_ @ S @ model.components_.T * len(dense) / (len(dense) - 1)
        np.testing.assert_allclose(C, np.diag(model.explained_variance_), atol=1e-9 * C.max())


def test_weights_count_rows():
    X, w = DATA["tall"], np.random.default_rng(0).integers(0, 4, 120)
    for data in (X, sp.csr_array(X)):
        model = AttenuatedPCA(3, alpha=0.4, tempering=0.6).fit(data, sample_weight=w)
        T = entries_of_t(covariance(np.repeat(X, w, axis=0)), 0.4, 0.6)
        assert sine(model.components_, leading(T, 3)) <= 1e-7


def test_float32_rows():
    X = DATA["tall"].astype(np.float32)
    model = AttenuatedPCACV(3, alphas=[0, 0.5], tempering=[0, 0.5]).fit(X)
    assert model.components_.dtype == np.float32
    exact = AttenuatedPCACV(3, alphas=[0, 0.5], tempering=[0, 0.5]).fit(X.astype(float))
    np.testing.assert_allclose(model.cv_risk_, exact.cv_risk_, rtol=1e-6)
    assert sine(model.components_, exact.components_) < 1e-5


@pytest.mark.parametrize("n_components", [2, 0.8])
def test_no_tempering_is_what_it_was(n_components):
    X = DATA["tall"]
    plain, given = (AttenuatedPCACV(n_components, **options).fit(X) for options in ({}, {"tempering": [0]}))
    assert given.cv_risk_.shape == plain.cv_risk_.shape == (22,)
    np.testing.assert_array_equal(given.cv_risk_folds_, plain.cv_risk_folds_)
    np.testing.assert_array_equal(given.components_, plain.components_)
    assert plain.tempering_ == 0
    assert plain.temperings_.tolist() == [0]


def test_the_surface_holds_the_path_unchanged():
    X = DATA["tall"]
    curve = AttenuatedPCACV(3).fit(X)
    surface = AttenuatedPCACV(3, tempering=[0.5, 1, 0.5]).fit(X)
    assert surface.temperings_.tolist() == [0, 0.5, 1]
    assert surface.cv_risk_.shape == (3, 22)
    assert surface.cv_risk_folds_.shape == (5, 3, 22)
    np.testing.assert_allclose(surface.cv_risk_[0], curve.cv_risk_, rtol=1e-12)
    one = AttenuatedPCACV(3, tempering=0.5).fit(X)
    assert one.temperings_.tolist() == [0, 0.5]


# --- Cross-validation -------------------------------------------------------------------------------------


def surface_by_hand(X, splits, alphas, gammas, rank, labels=None):
    """Held-out error of every split; every fold has its own covariance, standard deviations and mean."""
    risks = np.empty((len(splits), len(gammas), len(alphas)))
    for number, (train, held) in enumerate(splits):
        S, centred = covariance(X[train]), X[held] - X[train].mean(axis=0)
        for g, gamma in enumerate(gammas):
            for a, alpha in enumerate(alphas):
                U = leading(entries_of_t(S, alpha, gamma, labels), rank)
                risks[number, g, a] = np.mean(np.sum((centred - centred @ U.T @ U) ** 2, axis=1))
    return risks


@pytest.mark.parametrize("data", ["tall", "wide", "sparse, few columns"])
@pytest.mark.parametrize("grouped", [False, True])
def test_surface_against_fits_from_scratch(data, grouped):
    X = DATA[data]
    labels = np.arange(X.shape[1]) // 2 if grouped else None
    dense = X.toarray() if sp.issparse(X) else X
    alphas, gammas = ([0, 0.6, 1], [0, 0.5, 1]) if data != "wide" else ([0, 0.6], [0, 0.5])
    model = AttenuatedPCACV(2, alphas=alphas, tempering=gammas, cv=3, feature_groups=labels).fit(X)
    splits = interleaved_splits(len(dense), 3)
    folds = surface_by_hand(dense, splits, alphas, gammas, 2, labels)
    if data == "wide":  # subspaces of folds are iterated
        assert_risks_close_enough(model.cv_risk_folds_, folds)
        expected = model.cv_risk_
    else:
        np.testing.assert_allclose(model.cv_risk_folds_, folds, rtol=1e-8)
        expected = pooled(folds, splits)
        np.testing.assert_allclose(model.cv_risk_, expected, rtol=1e-8)
    g, a = np.unravel_index(np.argmin(expected), expected.shape)
    assert (model.tempering_, model.alpha_) == (gammas[g], alphas[a])
    assert model.gain_ == pytest.approx(1 - expected.min() / expected[0, 0], abs=1e-7)
    refit = AttenuatedPCA(2, alpha=model.alpha_, tempering=model.tempering_, feature_groups=labels).fit(X)
    np.testing.assert_allclose(model.components_, refit.components_, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_auto_searches_the_neighbours_of_the_best(seed):
    X = uneven_rows(40, 12, seed=seed)
    alphas = [0, 0.3, 0.7]
    model = AttenuatedPCACV(2, alphas=alphas, tempering="auto").fit(X)
    coarse = AttenuatedPCACV(2, alphas=alphas, tempering=[0, 0.25, 0.5, 0.75, 1]).fit(X)
    near = [coarse.tempering_ + step for step in (-0.125, 0.125)]
    searched = sorted([0, 0.25, 0.5, 0.75, 1] + [t for t in near if 0 <= t <= 1])
    assert model.temperings_.tolist() == searched
    all_of_them = AttenuatedPCACV(2, alphas=alphas, tempering=searched).fit(X)
    np.testing.assert_allclose(model.cv_risk_folds_, all_of_them.cv_risk_folds_, rtol=1e-12)
    assert (model.tempering_, model.alpha_) == (all_of_them.tempering_, all_of_them.alpha_)
    assert model.gain_ >= coarse.gain_


def test_auto_refines_at_the_edges():
    rng = np.random.default_rng(0)
    isotropic = rng.standard_normal((400, 6)) * [6, 5, 1, 1, 1, 1]  # the sizes are the signal: no tempering
    low = AttenuatedPCACV(2, tempering="auto").fit(isotropic)
    assert low.tempering_ == 0
    assert low.temperings_.tolist() == [0, 0.125, 0.25, 0.5, 0.75, 1]


def test_ties_go_to_the_smallest_tempering_then_the_smallest_strength():
    X = uneven_rows(60, 4)
    everything = AttenuatedPCACV(4, tempering="auto").fit(X)  # every pair reconstructs every row exactly
    assert (everything.alpha_, everything.tempering_, everything.gain_) == (0, 0, 0)


def test_the_best_of_tied_temperings_is_the_smallest():
    # Columns of equal variance in every fold: tempering scales T as a whole and changes no subspace.
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((32, 6)))[0]
    block = np.vstack([Q, -Q]) @ np.linalg.cholesky(0.5 * np.eye(6) + 0.5).T
    block /= block.std(axis=0)
    X = np.vstack([block, block[rng.permutation(64)]])
    model = AttenuatedPCACV(1, alphas=[0, 0.5, 1], tempering=[0.3, 0.9], cv=KFold(2)).fit(X)
    for row in model.cv_risk_[1:]:
        np.testing.assert_allclose(row, model.cv_risk_[0], rtol=1e-12)
    assert model.tempering_ == 0


@pytest.mark.parametrize("data", ["tall", "tall, iterated", "wide"])
def test_at_full_tempering_attenuation_ties_with_none(data):
    X = DATA[data]
    model = AttenuatedPCACV(3, alphas=[0, 0.3, 1], tempering=[0.5, 1], cv=3).fit(X)
    assert (np.ptp(model.cv_risk_folds_[:, -1], axis=1) <= 1e-14 * model.cv_risk_[0, 0]).all()
    rule = AttenuationRule(np.array([[0.3, 1.0], [1.0, 1.0]]))
    for i, found in rule.subspaces(HostRows(X).moments(), 3):
        T = entries_of_t(covariance(X), rule.strengths[i, 0], 1.0)
        np.testing.assert_allclose(found.values, np.linalg.eigvalsh(T)[::-1][:3], rtol=1e-8)
        assert sine(found.basis.T, leading(T, 3)) < 1e-6
    grouped = AttenuatedPCACV(
        3, alphas=[0, 0.3, 1], tempering=[0.5, 1], cv=3, feature_groups=np.arange(X.shape[1]) // 2
    )
    assert np.ptp(grouped.fit(X).cv_risk_[-1]) > 0


@pytest.mark.parametrize("cv", [5, 30])
def test_columns_that_do_not_vary_get_no_loading(cv):
    X = uneven_rows(60, 8)
    X[:, 2] = 0.1  # not a binary fraction: its variance is rounding
    X[:, 5] = 0.0
    X[[1, 2], 5] = 3.3, 0.7  # varies, but not in every training set
    for alpha, gamma in [(0, 0.3), (0.4, 0.5), (0.49, 1), (0, 1)]:
        model = AttenuatedPCA(3, alpha=alpha, tempering=gamma).fit(X)
        assert np.abs(model.components_[:, 2]).max() < 1e-9
    varying = np.delete(X, 2, axis=1)
    options = {"alphas": [0, 0.5], "tempering": [0.5, 1], "cv": cv}
    with_it, without = (AttenuatedPCACV(3, **options).fit(data) for data in (X, varying))
    np.testing.assert_allclose(with_it.cv_risk_, without.cv_risk_, rtol=1e-9)
    splits = interleaved_splits(60, cv)
    for number, fitted, _ in SplitMoments(HostRows(X), splits).pairs():
        assert fitted.varies.tolist() == (np.ptp(X[splits[number][0]], axis=0) > 0).tolist()
        assert not tempered(fitted, 1.0).variances[~fitted.varies].any()


@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_array])
def test_constant_columns_of_wide_rows(as_rows):
    X = uneven_rows(20, 600)
    X[:, 7] = 0.1
    model = AttenuatedPCA(3, alpha=0.5, tempering=1.0).fit(as_rows(X))
    S = covariance(X)
    S[7] = S[:, 7] = 0
    assert sine(model.components_, leading(entries_of_t(S, 0.5, 1.0), 3)) < 1e-6


def test_data_without_variance():
    model = AttenuatedPCACV(2, tempering="auto", n_repeats=1)
    with pytest.warns(UserWarning, match="falls on a tie"):
        model.fit(np.full((20, 5), 0.1))
    assert (model.alpha_, model.tempering_, model.gain_) == (0, 0, 0)


def test_sizes_of_numbers_do_not_matter():
    X = uneven_rows(60, 6)
    expected = AttenuatedPCACV(2, tempering="auto").fit(X)
    for scale in (2.0**-500, 2.0**500):
        model = AttenuatedPCACV(2, tempering="auto").fit(X * scale)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
        assert (model.alpha_, model.tempering_) == (expected.alpha_, expected.tempering_)
    gap = attenuation_path(X * 2.0**200, 2, tempering=0.5).gap
    np.testing.assert_allclose(gap, attenuation_path(X, 2, tempering=0.5).gap * 2.0**200, rtol=1e-9)


def test_a_grid_search_finds_the_same_surface():
    X = DATA["tall"]
    grid = {"tempering": [0, 0.5, 1], "alpha": [0, 0.5]}
    search = GridSearchCV(AttenuatedPCA(2), grid, cv=KFold(5)).fit(X)
    scores = {
        (p["tempering"], p["alpha"]): -s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    model = AttenuatedPCACV(2, alphas=[0, 0.5], tempering=[0, 0.5, 1], cv=KFold(5)).fit(X)
    for g, gamma in enumerate(model.temperings_):
        for a, alpha in enumerate(model.alphas_):
            assert model.cv_risk_[g, a] == pytest.approx(scores[gamma, alpha], rel=1e-9)


def test_a_rule_of_pairs_can_be_cross_validated_as_it_is():
    X = DATA["tall"]
    rule = AttenuationRule(pairs(np.array([0, 0.5]), np.array([0, 1.0])))
    result = Comparison(SplitMoments(HostRows(X), interleaved_splits(len(X), 5)), rule, 2).of_all()
    model = AttenuatedPCACV(2, alphas=[0, 0.5], tempering=[0, 1]).fit(X)
    np.testing.assert_allclose(result.risk.reshape(2, 2), model.cv_risk_, rtol=1e-12)
    np.testing.assert_array_equal(result.strengths, [[0, 0], [0.5, 0], [0, 1], [0.5, 1]])


# --- Streams ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tempering", ["auto", [0.3, 1]])
def test_streams_and_dask_give_the_fit_in_memory(tempering):
    X = uneven_rows(203, 6)
    options = {"alphas": [0, 0.4, 1], "tempering": tempering}
    expected = AttenuatedPCACV(2, **options).fit(X)
    stream = AttenuatedPCACV(2, **options)
    for start in range(0, 203, 31):
        stream.partial_fit(X[start : start + 31])
    fits = [
        stream,
        AttenuatedPCACV(2, **options).fit(X[i : i + 50] for i in range(0, 203, 50)),
        AttenuatedPCACV(2, **options).fit(da.from_array(X, chunks=(60, 6))),
    ]
    for model in fits:
        np.testing.assert_allclose(model.cv_risk_folds_, expected.cv_risk_folds_, rtol=1e-9)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
        assert (model.tempering_, model.alpha_) == (expected.tempering_, expected.alpha_)
        assert model.temperings_.tolist() == expected.temperings_.tolist()
    fixed = AttenuatedPCA(2, alpha=0.4, tempering=0.3).fit(da.from_array(X, chunks=(60, 6)))
    again = AttenuatedPCA(2, alpha=0.4, tempering=0.3).fit(X)
    np.testing.assert_allclose(fixed.components_, again.components_, atol=1e-9)


# --- What is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AttenuatedPCA(2, tempering=1.5), "tempering must be a number from 0 to 1; got 1.5"),
        (AttenuatedPCA(2, tempering="auto"), "tempering must be a number from 0 to 1; got 'auto'"),
        (AttenuatedPCA(2, tempering=[0.5]), "tempering must be a number from 0 to 1"),
        (AttenuatedPCA(2, tempering=None), "tempering must be a number from 0 to 1; got None"),
        (AttenuatedPCACV(2, tempering=-0.1), "tempering must lie from 0 to 1; got -0.1"),
        (AttenuatedPCACV(2, tempering=np.nan), "tempering must lie from 0 to 1; got nan"),
        (AttenuatedPCACV(2, tempering="fine"), "tempering must be 'auto', a number or an array of numbers"),
        (AttenuatedPCACV(2, tempering=[]), "tempering must be one-dimensional, with at least one number"),
        (AttenuatedPCACV(2, tempering=[[0.5]]), "tempering must be one-dimensional"),
        (AttenuatedPCACV(2, tempering=True), "tempering must be one-dimensional"),
    ],
)
def test_temperings_that_are_refused(model, message):
    X = spiked_rows(30, 5)
    for fit in (model.fit, model.partial_fit, lambda X: model.fit([X])):
        with pytest.raises(ValueError, match=message):
            fit(X)
