"""The comparison: every figure of the table against fits by hand on the same rows and folds."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedKFold
from sklearn.preprocessing import StandardScaler
from tests.helpers import covariance, each, interleaved_splits, spiked_rows

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCACV
from attenua_paper.rivals import (
    AsymmetricAutoencoder,
    CorrelationPCA,
    HeteroPCA,
    MaskedTargetPCACV,
)
from attenua_paper.studies import METHODS, Method, compare

COLUMNS = [
    "method",
    "strength",
    "fallback",
    "converged",
    "cv_risk",
    "test_risk",
    "excess_removed",
    "seconds",
]
GROUPS = np.arange(9) // 3
FOLDS = interleaved_splits(60, 5)
BY_HAND = {
    "PCA": AttenuatedPCA(2, alpha=0.0),
    "mask-derived attenuation": AttenuatedPCACV(2, alphas="mask"),
    "direct attenuation": AttenuatedPCACV(2),
    "correlation PCA": CorrelationPCA(2),
    "HeteroPCA": HeteroPCA(2),
    "coordinate masked-target": MaskedTargetPCACV(2),
    "block masked-target": MaskedTargetPCACV(2, feature_groups=GROUPS),
}


@pytest.fixture(scope="module")
def data():
    X = spiked_rows(240, 9, rank=2, seed=3)
    return X[:60], X[60:]


@pytest.fixture(scope="module")
def table(data):
    X, X_test = data
    return compare(X, 2, X_test=X_test, feature_groups=GROUPS)


def error(model, X):
    return np.mean(np.sum((X - model.inverse_transform(model.transform(X))) ** 2, axis=1))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each("name", BY_HAND)
def test_every_figure_by_hand(data, table, name):
    X, X_test = data
    row = table.set_index("method").loc[name]
    model = BY_HAND[name].fit(X)
    risk, pca_risk = error(model, X_test), error(PCA(2).fit(X), X_test)
    best = np.sort(np.linalg.eigvalsh(covariance(X_test)))[:-2].sum()
    assert row.test_risk == pytest.approx(risk, rel=1e-9)
    expected = 100 * (pca_risk - risk) / (pca_risk - best)
    assert row.excess_removed == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert row.seconds > 0
    chooses = hasattr(model, "cv_risk_")
    strengths = [getattr(model, key) for key in ("alpha_", "mask_rate_") if hasattr(model, key)]
    np.testing.assert_equal(row.strength, strengths[0] if strengths else np.nan)
    assert row.fallback == (chooses and row.strength == 0)
    assert row.converged == getattr(model, "converged_", True)
    if chooses:
        held = model.cv_risk_.min()
    else:
        held = np.mean([error(BY_HAND[name].fit(X[train]), X[rows]) for train, rows in FOLDS])
    assert row.cv_risk == pytest.approx(held, rel=1e-9)


def test_the_table_is_tidy(table):
    assert list(table.columns) == COLUMNS
    assert list(table.method) == [method.name for method in METHODS] == list(BY_HAND)
    assert table.fallback.dtype == table.converged.dtype == bool
    for name in ("strength", "cv_risk", "test_risk", "excess_removed", "seconds"):
        assert table[name].dtype.kind == "f"
    assert table.excess_removed[0] == 0


def test_block_methods_need_groups(data):
    X, _ = data
    assert "block masked-target" not in set(compare(X, 2).method)
    with pytest.raises(ValueError, match="names 'block masked-target', which needs feature_groups"):
        compare(X, 2, methods=["block masked-target"])


def test_without_test_rows_the_folds_remain(data):
    X, _ = data
    table = compare(X, 2, methods=["direct attenuation", "PCA"])
    assert list(table.method) == ["direct attenuation", "PCA"]
    assert table[["test_risk", "excess_removed"]].isna().all(axis=None)
    model = AttenuatedPCACV(2).fit(X)
    np.testing.assert_allclose(table.cv_risk, [model.cv_risk_.min(), model.cv_risk_[0]], rtol=1e-10)


def test_your_own_methods(data):
    X, X_test = data
    mine = {
        "scikit-learn": PCA(n_components=7),
        "autoencoder": AsymmetricAutoencoder(mask_rate=0.3),
        "attenuation": AttenuatedPCACV(alphas=[0.5], cv=2),
    }
    table = compare(X, 2, methods=mine, X_test=X_test).set_index("method")
    assert table.excess_removed["scikit-learn"] == pytest.approx(0, abs=1e-8)
    risk = error(AsymmetricAutoencoder(2, mask_rate=0.3).fit(X), X_test)
    assert table.test_risk["autoencoder"] == pytest.approx(risk)
    # The common folds, not the two it came with.
    assert table.cv_risk["attenuation"] == pytest.approx(
        AttenuatedPCACV(2, alphas=[0.5]).fit(X).cv_risk_.min()
    )
    assert mine["scikit-learn"].n_components == 7
    # What all rows together choose, and not the base that all methods share.
    corrected = compare(X, 2, methods={"all": CorrectedPCACV(corrections=["attenuation"])})
    model = CorrectedPCACV(2, corrections=["attenuation"]).fit(X)
    assert corrected.cv_risk[0] == model.cv_risk_[0 if model.choices_ == model.candidates_[:1] else 1]
    one = Method("half", lambda s: AttenuatedPCA(s.n_components, alpha=0.5))
    by_method = compare(X, 2, methods=["PCA", one], X_test=X_test)
    assert by_method.test_risk[1] == pytest.approx(error(AttenuatedPCA(2, alpha=0.5).fit(X), X_test))


def test_where_the_answer_is_pca_the_risk_is_that_of_pca():
    X = StandardScaler().fit_transform(spiked_rows(40, 6))
    table = compare(X, 2, methods=["PCA", "direct attenuation"])
    assert table.fallback.tolist() == [False, True]
    assert table.cv_risk[1] == pytest.approx(table.cv_risk[0], rel=1e-9)


def test_a_search_by_another_measure_has_no_risk_on_the_folds(data):
    X, X_test = data
    search = GridSearchCV(AttenuatedPCA(2, alpha=0.5), {"alpha": [0, 0.5]})
    table = compare(X, 2, methods={"search": search}, X_test=X_test)
    assert np.isnan(table.cv_risk[0])
    assert table.test_risk[0] == pytest.approx(error(search.fit(X), X_test))


def test_row_groups_repeats_and_fractions(data):
    X, _ = data
    groups = np.arange(60) % 12
    table = compare(X, 0.7, methods=["direct attenuation"], groups=groups)
    rank = AttenuatedPCA(0.7, alpha=0.5).fit(X).n_components_
    by_hand = AttenuatedPCACV(rank, cv=GroupKFold(5)).fit(X, groups=groups)
    assert table.cv_risk[0] == pytest.approx(by_hand.cv_risk_.min())
    cv = RepeatedKFold(n_splits=5, n_repeats=3, random_state=1)
    repeated = compare(X, 2, methods=["direct attenuation"], cv=cv)
    expected = AttenuatedPCACV(2, cv=cv).fit(X).cv_risk_.min()
    assert repeated.cv_risk[0] == pytest.approx(expected)


def test_containers_and_convergence(data):
    X, X_test = data
    names = ["PCA", "direct attenuation", "coordinate masked-target"]
    expected = compare(X, 2, methods=names, X_test=X_test)
    for fit, test in ((pd.DataFrame(X), pd.DataFrame(X_test)), (sp.csr_array(X), sp.csr_array(X_test))):
        found = compare(fit, 2, methods=names, X_test=test)
        np.testing.assert_allclose(found.test_risk, expected.test_risk, rtol=1e-8)
        np.testing.assert_allclose(found.cv_risk, expected.cv_risk, rtol=1e-8)
    stopped = compare(X, 2, methods={"short": HeteroPCA(max_iter=1)})
    assert not stopped.converged[0]


@each(
    "options, message",
    [
        ({"methods": ["PCA", "magic"]}, "methods names 'magic', which is none of 'PCA', 'mask-derived"),
        ({"methods": "PCA"}, "methods must be a list of names or a mapping to estimators; got 'PCA'"),
        ({"X_test": np.ones((5, 4))}, "X_test has 4 columns, but X has 9"),
        ({"cv": 1}, "cv=1 must be at least 2 folds"),
    ],
)
def test_bad_arguments(data, options, message):
    with pytest.raises(ValueError, match=message):
        compare(data[0], 2, **options)
