"""The Gaussian model of a subspace, against scikit-learn's PCA and against densities of scipy."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from tests.helpers import in_turn, spiked_rows

SHAPES = {"tall": (200, 12), "wide": (30, 80)}
CORRECTED = [
    AttenuatedPCA(3, alpha=0.7),
    AttenuatedPCACV(3, whiten=True),
    CorrectedPCA(3, tempering=0.5, damping=0.5, row_tempering=0.5),
    CorrectedPCACV(3),
]
each_corrected = pytest.mark.parametrize("model", CORRECTED, ids=lambda model: type(model).__name__)


def with_holes(X, share=0.3, seed=1):
    """Rows of which a part of the cells is missing, and all of the first row."""
    X = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    X[0] = np.nan
    return X


def model_by_hand(model, X):
    """The covariance of the model, from the scores of its rows and what they leave."""
    U = model.components_
    variances = np.diag(np.cov((X - X.mean(axis=0)) @ U.T, rowvar=False, ddof=1))
    n_left = min(X.shape) - len(U)
    noise = (np.var(X, axis=0, ddof=1).sum() - variances.sum()) / n_left
    return U.T @ np.diag(np.maximum(variances, noise)) @ U + noise * (np.eye(X.shape[1]) - U.T @ U)


@pytest.mark.parametrize(
    ("shape", "rank", "estimator"), in_turn(SHAPES, [1, 5, 11], [AttenuatedPCA, CorrectedPCA], times=2)
)
def test_without_strengths_it_is_scikit_learns(shape, rank, estimator):
    X, new = spiked_rows(*SHAPES[shape]), spiked_rows(40, SHAPES[shape][1], seed=2)
    ours, theirs = estimator(rank).fit(X), PCA(rank, svd_solver="full").fit(X)
    expected = theirs.score_samples(new)
    np.testing.assert_allclose(ours.score_samples(new), expected, rtol=1e-8)
    np.testing.assert_allclose(ours.score_samples(sp.csr_array(new)), expected, rtol=1e-8)
    assert ours.score(new) == pytest.approx(theirs.score(new), rel=1e-9)


def test_all_components_of_enough_rows_are_scikit_learns_too():
    X = spiked_rows(50, 6)
    np.testing.assert_allclose(
        AttenuatedPCA().fit(X).score_samples(X), PCA().fit(X).score_samples(X), rtol=1e-9
    )


@each_corrected
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_as_likely_as_scipy_says(model, shape):
    X, new = spiked_rows(*SHAPES[shape]), spiked_rows(40, SHAPES[shape][1], seed=2)
    model.fit(X)
    Sigma = model_by_hand(model, X)
    law = multivariate_normal(X.mean(axis=0), Sigma)
    np.testing.assert_allclose(model.score_samples(new), law.logpdf(new), rtol=1e-8)
    assert model.score(new) == pytest.approx(law.logpdf(new).mean(), rel=1e-9)
    np.testing.assert_allclose(model.get_covariance(), Sigma, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.get_precision() @ Sigma, np.eye(len(Sigma)), atol=1e-8)


@each_corrected
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_seen_cells_have_their_marginal_density(model, container):
    X, new = spiked_rows(60, 8), with_holes(spiked_rows(30, 8, seed=2))
    model.fit(X)
    Sigma = model_by_hand(model, X)
    with pytest.warns(UserWarning, match="1 row of X has no values at all"):
        found = model.score_samples(container(new))
    assert found[0] == 0  # of no cells
    for row, score in zip(new[1:], found[1:], strict=True):
        seen = ~np.isnan(row)
        law = multivariate_normal(X.mean(axis=0)[seen], Sigma[np.ix_(seen, seen)])
        assert score == pytest.approx(law.logpdf(row[seen]), rel=1e-8)


def test_seen_cells_under_all_components():
    X, new = spiked_rows(60, 5), with_holes(spiked_rows(30, 5, seed=2))[1:]
    found = AttenuatedPCA(5).fit(X).score_samples(new)
    for row, score in zip(new, found, strict=True):
        seen = ~np.isnan(row)
        law = multivariate_normal(X.mean(axis=0)[seen], np.cov(X[:, seen], rowvar=False))
        assert score == pytest.approx(law.logpdf(row[seen]), rel=1e-8)


def test_whitening_changes_scores_and_not_the_model():
    """scikit-learn's ``get_covariance`` of a whitened PCA is the covariance of no rows."""
    X = spiked_rows(100, 6)
    plain, white = (AttenuatedPCA(whiten=whiten).fit(X) for whiten in (False, True))
    np.testing.assert_allclose(white.get_covariance(), np.cov(X, rowvar=False), rtol=1e-9)
    np.testing.assert_array_equal(white.get_precision(), plain.get_precision())
    np.testing.assert_array_equal(white.score_samples(X), plain.score_samples(X))
    theirs = PCA(whiten=True).fit(X).get_covariance()
    assert np.linalg.norm(theirs - np.cov(X, rowvar=False)) > 10 * np.linalg.norm(np.cov(X, rowvar=False))


SINGULAR = {
    "as many components as rows": (AttenuatedPCA(), spiked_rows(10, 30)),
    "all that varies": (AttenuatedPCA(2), spiked_rows(40, 2) @ spiked_rows(2, 5)),
    "a constant column": (CorrectedPCA(5), spiked_rows(40, 5) * [1, 1, 1, 1, 0]),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_without_noise_only_rows_of_the_subspace_are_likely(case):
    model, X = SINGULAR[case]
    model.fit(X)
    off = X + np.linalg.norm(X) * np.linalg.svd(X - X.mean(axis=0))[2][-1]
    assert np.isfinite(model.score_samples(X)).all()
    assert (model.score_samples(off) < model.score_samples(X) - 1e9).all()
    assert np.isfinite(model.get_precision()).all()


def test_the_rank_of_rows_without_noise_is_found():
    X = spiked_rows(60, 3) @ spiked_rows(3, 8)
    search = GridSearchCV(AttenuatedPCA(), {"n_components": [1, 2, 3]}).fit(X)
    assert search.best_params_ == {"n_components": 3}


@pytest.mark.parametrize("estimator", [AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV])
def test_a_grid_search_finds_the_true_rank(estimator):
    random = np.random.default_rng(0)
    directions = np.linalg.qr(random.standard_normal((12, 3)))[0]
    X = random.standard_normal((120, 3)) * [4, 3.5, 3] @ directions.T + random.standard_normal((120, 12))
    search = GridSearchCV(estimator(), {"n_components": [1, 2, 3, 4, 7, 11]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}
    by_error = search.set_params(scoring=lambda model, rows: -model.reconstruction_error(rows).mean())
    assert by_error.fit(X).best_params_ == {"n_components": 11}


@pytest.mark.parametrize("method", ["score_samples", "reconstruction_error"])
def test_dask_collections_give_lazy_results(method):
    X = spiked_rows(61, 5)
    model = AttenuatedPCA(2, alpha=0.5).fit(X)
    found = getattr(model, method)(da.from_array(X, chunks=(17, 3)))
    assert isinstance(found, da.Array)
    assert found.shape == (61,)
    np.testing.assert_allclose(found.compute(), getattr(model, method)(X), rtol=1e-12)
