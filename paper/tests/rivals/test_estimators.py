"""Every rival as a scikit-learn estimator: its checks, all containers, weights and bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator
from tests.helpers import each, sine, spiked_rows

from attenua_paper.rivals import (
    AsymmetricAutoencoder,
    CorrelationPCA,
    HeteroPCA,
    MaskedTargetPCA,
    MaskedTargetPCACV,
    TiedAutoencoder,
)

SUBSPACES = [
    CorrelationPCA(2),
    HeteroPCA(2),
    MaskedTargetPCA(2),
    MaskedTargetPCA(2, mask_rate=0.8, feature_groups=np.arange(12) // 3),
    MaskedTargetPCACV(2, cv=3),
]
MAPS = [AsymmetricAutoencoder(2), TiedAutoencoder(2)]
ALL = [*SUBSPACES, *MAPS]
# These have a fit of their own; the others share that of the library's estimators, which passes all checks.
CHECKED = [AsymmetricAutoencoder()]


def some_rows(n):
    """Rows of two factors in twelve columns, on which every iteration settles."""
    return spiked_rows(n, 12, rank=2, seed=3)


def name_of(estimator):
    groups = getattr(estimator, "feature_groups", None)
    return type(estimator).__name__ + ("" if groups is None else " of blocks")


@pytest.mark.slow
@pytest.mark.parametrize("estimator", CHECKED, ids=name_of)
def test_scikit_learn_checks(estimator, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check_estimator(estimator, on_skip=None)


every_rival = each("estimator", ALL)


# The checks fit noise at full rank, where an iteration may hit its cap and says so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_rival
def test_constructor_and_repeated_fits_follow_scikit_learn(estimator):
    estimator = type(estimator)()
    for check in (
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_set_params,
        estimator_checks.check_estimators_overwrite_params,
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_fit_idempotent,
    ):
        check(type(estimator).__name__, clone(estimator))


def all_but(kind):
    return [estimator for estimator in ALL if not isinstance(estimator, kind)]


def rows_seen(model, X):
    """What the model makes of rows, whatever basis it uses inside."""
    return model.inverse_transform(model.transform(X))


@every_rival
def test_containers_agree(estimator):
    estimator = clone(estimator)
    X = np.round(some_rows(60), 2)
    expected = rows_seen(estimator.fit(X), X)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    for other in (np.asfortranarray(X), X.tolist(), frame, sp.csr_matrix(X), sp.coo_array(X)):
        model = clone(estimator).fit(other)
        np.testing.assert_allclose(rows_seen(model, other), expected, atol=1e-5)
        errors = model.reconstruction_error(other)
        np.testing.assert_allclose(errors, estimator.reconstruction_error(X), rtol=1e-6)


@every_rival
def test_float32_in_float32_out(estimator):
    X = some_rows(60).astype(np.float32)
    model, double = clone(estimator).fit(X), clone(estimator).fit(X.astype(float))
    assert model.components_.dtype == model.mean_.dtype == model.transform(X).dtype == np.float32
    assert sine(model.components_.astype(float), double.components_) < 1e-5


@pytest.mark.slow
@every_rival
def test_wide_rows(estimator):
    estimator = clone(estimator)
    # Above 512 columns the covariance is not at hand, and sparse rows stay sparse.
    if getattr(estimator, "feature_groups", None) is not None:
        estimator.set_params(feature_groups=np.arange(520) // 52)
    X = spiked_rows(40, 520, rank=2)
    X[np.abs(X) < 1] = 0
    dense, sparse = clone(estimator).fit(X), clone(estimator).fit(sp.csr_array(X))
    np.testing.assert_allclose(rows_seen(sparse, X), rows_seen(dense, X), atol=1e-4)


@every_rival
def test_names_clone_pickle_and_pipeline(estimator):
    X = pd.DataFrame(some_rows(60), columns=list("abcdefghijkl"))
    model = clone(estimator).fit(X)
    prefix = type(estimator).__name__.lower()
    assert list(model.get_feature_names_out()) == [f"{prefix}0", f"{prefix}1"]
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.transform(X), model.transform(X))
    assert make_pipeline(StandardScaler(), clone(estimator)).fit_transform(X).shape == (60, 2)


@each("estimator", all_but(MaskedTargetPCACV))  # it takes no weights
def test_a_weight_of_two_is_a_row_twice(estimator):
    X = some_rows(60)
    w = np.random.default_rng(0).integers(1, 4, 60)
    weighted = clone(estimator).fit(X, sample_weight=w)
    repeated = clone(estimator).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(rows_seen(weighted, X), rows_seen(repeated, X), atol=1e-5)


@every_rival
def test_units_do_not_matter(estimator):
    X = some_rows(60)
    expected = rows_seen(clone(estimator).fit(X), X)
    for unit in (1e-120, 1e120):
        model = clone(estimator).fit(X * unit)
        np.testing.assert_allclose(rows_seen(model, X * unit) / unit, expected, rtol=1e-4, atol=1e-4)


@every_rival
def test_constant_column(estimator):
    estimator = clone(estimator)
    X = some_rows(60)
    X[:, 5] = 3.0
    model = clone(estimator).fit(X)
    assert np.abs(model.components_[:, 5]).max() < 1e-9
    np.testing.assert_allclose(rows_seen(model, X)[:, 5], 3.0)
    others = np.delete(np.arange(12), 5)
    if getattr(estimator, "feature_groups", None) is not None:
        estimator.set_params(feature_groups=(np.arange(12) // 3)[others])
    without = clone(estimator).fit(X[:, others])
    np.testing.assert_allclose(rows_seen(model, X)[:, others], rows_seen(without, X[:, others]), atol=1e-5)


@pytest.mark.filterwarnings("ignore:The cut at n_components=2 falls on a tie")
@every_rival
def test_constant_data_are_reconstructed(estimator):
    estimator = clone(estimator)
    for p in (12, 600):
        if getattr(estimator, "feature_groups", None) is not None:
            estimator.set_params(feature_groups=np.arange(p) // 3)
        model = estimator.fit(np.ones((20, p)))
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
        np.testing.assert_array_equal(rows_seen(model, np.ones((3, p))), 1)


@every_rival
def test_the_whole_space(estimator):
    estimator = clone(estimator)
    X = some_rows(60)
    model = estimator.set_params(n_components=12).fit(X)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(12), atol=1e-10)
    if name_of(estimator) not in {name_of(m) for m in MAPS}:
        np.testing.assert_allclose(rows_seen(model, X), X, atol=1e-8)


@each(
    "estimator, message",
    [
        (CorrelationPCA(6), "n_components=6 must be between 1 and 5"),
        (HeteroPCA(2, max_iter=0), "max_iter must be an integer of at least 1; got 0"),
        (HeteroPCA(2, tol=0), "tol must be a positive number; got 0"),
        (MaskedTargetPCA(2, mask_rate=1.0), "mask_rate must be at least 0 and below 1; got 1.0"),
        (MaskedTargetPCA(2, mask_rate=np.nan), "mask_rate must be at least 0 and below 1; got nan"),
        (MaskedTargetPCA(2, mask_rate="half"), "mask_rate must be a number from 0 to below 1; got 'half'"),
        (MaskedTargetPCA(2, max_iter=1.5), "max_iter must be an integer of at least 1"),
        (MaskedTargetPCA(2, tol=-1), "tol must be a positive number"),
        (MaskedTargetPCA(2, feature_groups=[[0, 1]]), "feature_groups must cover every column"),
        (MaskedTargetPCACV(2, mask_rates=[0.5, 1]), "mask_rates must be at least 0 and below 1; got 1"),
        (MaskedTargetPCACV(2, mask_rates=[]), "mask_rates must be one-dimensional, with at least one rate"),
        (MaskedTargetPCACV(2, mask_rates=["a"]), "mask_rates must be an array of numbers"),
        (MaskedTargetPCACV(2, cv=1), "cv=1 must be at least 2 folds"),
        (AsymmetricAutoencoder(2, mask_rate=0), "mask_rate must be above 0"),
        (TiedAutoencoder(2, mask_rate=1), "mask_rate must be at least 0 and below 1"),
        (TiedAutoencoder(2, n_random_starts=-1), "n_random_starts must be an integer of at least 0"),
        (TiedAutoencoder(2, tol=0), "tol must be a positive number"),
    ],
)
def test_bad_parameters(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(spiked_rows(20, 5))


@each("estimator", MAPS)
def test_predict_makes_no_sparse_rows_dense_behind_your_back(estimator):
    X = spiked_rows(20, 5)
    model = clone(estimator).fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="predict does not take sparse X"):
        model.predict(sp.csr_array(X))
    np.testing.assert_allclose(rows_seen(model, sp.csr_array(X)), model.predict(X), atol=1e-12)


@every_rival
def test_bad_data(estimator):
    estimator = clone(estimator).set_params(n_components=1)
    X = spiked_rows(20, 12)
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN in column 2"):
        estimator.fit(bad)
    fitted = estimator.fit(X)
    with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 12"):
        fitted.transform(X[:, :4])
    with pytest.raises(ValueError, match=r"X has 3 columns, but .* has 1 components"):
        fitted.inverse_transform(np.ones((2, 3)))


@each("estimator", [MaskedTargetPCA(2), AsymmetricAutoencoder(2), TiedAutoencoder(2)])
def test_too_many_columns_for_a_covariance(estimator):
    X = sp.random(30, 5001, density=0.01, random_state=0, format="csr")
    with pytest.raises(ValueError, match="formed for up to 5000 columns; X has 5001"):
        estimator.fit(X)


@each(
    "estimator",
    [
        HeteroPCA(2, max_iter=2),
        MaskedTargetPCA(2, max_iter=2),
        TiedAutoencoder(2, max_iter=2),
    ],
)
def test_an_iteration_that_is_cut_short_says_so(estimator):
    X = some_rows(60)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 iterations"):
        model = clone(estimator).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2
    settled = clone(estimator).set_params(max_iter=800).fit(X)
    assert settled.converged_
    assert 2 < settled.n_iter_ < 800


@each("model", [CorrelationPCA(2), AsymmetricAutoencoder(2)])
def test_a_fit_that_fails_changes_nothing(model):
    X = some_rows(30)
    with_missing = X.copy()
    with_missing[3, 2] = np.nan
    for bad in (with_missing, X[:, :1]):  # one column has no two components
        model = clone(model).fit(X)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"NaN|n_components"):
            model.fit(bad)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)


def test_five_folds_are_the_default():
    none, five = (MaskedTargetPCACV(2, cv=cv).fit(some_rows(40)) for cv in (None, 5))
    np.testing.assert_array_equal(none.cv_risk_folds_, five.cv_risk_folds_)


def test_a_column_of_times_is_named():
    times = pd.DataFrame(some_rows(30)).assign(seen=pd.date_range("2020", periods=30))
    times.columns = times.columns.astype(str)
    with pytest.raises(ValueError, match="'seen'"):
        CorrelationPCA(2).fit(times)


def test_arrays_of_other_libraries_are_refused(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    xp = pytest.importorskip("array_api_strict")
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(TypeError, match="as one array; X is a"),
    ):
        CorrelationPCA(2).fit(xp.asarray(some_rows(30)))
