"""Each wrapper against something that cannot share its mistake, on simulated rows."""

import importlib.util

import numpy as np
import pytest
from scipy.integrate import simpson
from sklearn.decomposition import FactorAnalysis
from tests.helpers import each

from attenua_evidence.methods import Rows, fit_method
from attenua_evidence.rivals import RIVALS, fit_rival, leading, orthonormal
from attenua_evidence.rrcov import shared_process

from .sets import has_rrcov, spiked

_MODULES = {"scikit-fda": "skfda", "robustcov": "robustcov"}

# What the packages say about themselves while they are imported.
pytestmark = pytest.mark.filterwarnings("default")


def missing_for(name):
    """Return the package of a rival if it is not installed, else nothing."""
    package = RIVALS[name].what.split()[0]
    if package == "rrcov":
        return "" if has_rrcov() else package
    module = _MODULES.get(package)
    return package if module and importlib.util.find_spec(module) is None else ""


def needs(name):
    if package := missing_for(name):
        pytest.skip(f"no {package}")


def fitted(name, X, rank, order="line"):
    needs(name)
    outcome = fit_rival(name, X, rank, order)
    assert outcome.status == "fitted", outcome.note
    return outcome.fit.mean, outcome.fit.components


def distance(A, B):
    """Return the sine of the largest angle between the spans of the rows of two frames."""
    A, B = orthonormal(A), orthonormal(B)
    assert len(A) == len(B)
    return np.linalg.norm(A.T @ A - B.T @ B, 2)


@each("n, p, rank", [(24, 40, 11), (60, 8, 3)])
def test_fits_are_orthonormal_and_can_be_repeated(n, p, rank):
    """All rivals whose packages are here; the tests of single ones name the packages that are not."""
    X = spiked(n, p)
    before = X.copy()
    for name in RIVALS:
        if missing_for(name):
            continue
        outcome = fit_rival(name, X, rank, "line")
        if outcome.status == "unsuited":
            assert outcome.note == RIVALS[name].unsuited(n, p, "line") != "", name
            continue
        assert outcome.status == "fitted", (name, outcome.note)
        mean, components, _ = outcome.fit
        assert mean.shape == (p,), name
        assert 1 <= len(components) <= rank, name
        np.testing.assert_allclose(
            components @ components.T, np.eye(len(components)), atol=1e-12, err_msg=name
        )
        again = fit_rival(name, X, rank, "line").fit
        np.testing.assert_array_equal(again.components, components, name)
        np.testing.assert_array_equal(again.mean, mean, name)
        np.testing.assert_array_equal(X, before, name)


@each("name", ["Ledoit-Wolf", "OAS"])
def test_shrinkage_to_the_identity_has_the_eigenvectors_of_pca(name):
    X = spiked(24, 40)
    mean, components = fitted(name, X, 3)
    np.testing.assert_allclose(mean, X.mean(axis=0))
    assert distance(components, leading(np.cov(X.T), 3)) < 1e-9


def test_sparse_pca_spans_the_leading_block_or_nothing():
    # Sparse components span the leading block.
    random = np.random.default_rng(0)
    X = 0.1 * random.standard_normal((60, 10))
    X[:, :3] += 5 * random.standard_normal((60, 1))
    (row,) = fitted("mini-batch sparse PCA", X, 1)[1]
    assert np.abs(row[:3]).min() > 0.5
    assert not row[3:].any()
    # Sparse PCA of small numbers finds nothing and says so.
    outcome = fit_rival("mini-batch sparse PCA", 1e-4 * spiked(40, 10), 3)
    assert outcome.fit.components.shape == (0, 10)
    assert "0 of 3 components" in outcome.note


def test_correlation_factor_analysis_and_hetero():
    # Correlation PCA spans rescaled eigenvectors.
    X = spiked(60, 12) * np.arange(1, 13)
    frame = leading(np.corrcoef(X.T), 3) * X.std(axis=0)
    assert distance(fitted("correlation PCA", X, 3)[1], frame) < 1e-8
    # Factor analysis spans the loadings of scikit-learn's other solver.
    X = spiked(200, 12)
    model = FactorAnalysis(2, svd_method="lapack").fit(X)
    assert distance(fitted("factor analysis", X, 2)[1], model.components_) < 0.01
    # Hetero PCA repeats its definition.
    X = spiked(200, 12, rank=1)
    N = np.cov(X.T, bias=True)
    np.fill_diagonal(N, 0)
    for _ in range(200):
        values, vectors = np.linalg.eigh(N)
        top = np.abs(values).argmax()
        np.fill_diagonal(N, values[top] * vectors[:, top] ** 2)
    assert distance(fitted("HeteroPCA", X, 1)[1], vectors[:, [top]].T) < 1e-5
    # Truncated SVD is the SVD of rows as they are.
    X = spiked(60, 12)
    mean, components = fitted("truncated SVD", X, 3)
    assert not mean.any()
    assert distance(components, np.linalg.svd(X)[2][:3]) < 1e-4


def test_robust_methods_resist_what_turns_pca():
    X = spiked(120, 8, rank=1)
    clean = fit_method("PCA", Rows(X), 1).fit.components
    random = np.random.default_rng(1)
    X[:12] = 5 + 100 * random.standard_normal((12, 1)) * np.eye(8)[7]
    assert distance(fit_method("PCA", Rows(X), 1).fit.components, clean) > 0.8
    names = ["MCD", "ROBPCA", "spherical PCA", "robustcov", "spatial Kendall"]
    for name in names:
        assert missing_for(name) or distance(fitted(name, X, 1)[1], clean) < 0.2, name
    if missing := sorted({missing_for(name) for name in names} - {""}):
        pytest.skip(f"no {', '.join(missing)}")


def test_spatial_kendall_averages_the_directions_between_all_pairs():
    X = spiked(40, 12, heavy=True)
    pairs = (X[:, None] - X)[np.triu_indices(40, 1)]
    pairs /= np.linalg.norm(pairs, axis=1, keepdims=True)
    assert distance(fitted("spatial Kendall", X, 2)[1], leading(pairs.T @ pairs, 2)) < 1e-10


def test_functional_pca_weights_columns_by_simpsons_rule():
    X = spiked(30, 21)
    weights = simpson(np.eye(21), x=np.linspace(0, 1, 21))
    rows = np.linalg.svd((X - X.mean(axis=0)) * np.sqrt(weights))[2][:3] / np.sqrt(weights)
    mean, components = fitted("functional PCA", X, 3)
    np.testing.assert_allclose(mean, X.mean(axis=0))
    assert distance(components, rows) < 1e-9
    # What a package raises is reported.
    needs("functional PCA")
    outcome = fit_rival("functional PCA", spiked(5, 20), 6, "line")
    assert (outcome.status, outcome.fit) == ("failed", None)
    assert "sample size" in outcome.note


def test_penalised_components_are_smooth():
    X = spiked(30, 21)
    rough, smooth = (fitted(name, X, 1)[1] for name in ("functional PCA", "functional PCA, penalised"))
    assert np.abs(np.diff(smooth, 2)).max() < 0.1 * np.abs(np.diff(rough, 2)).max()


def test_smoothed_functional_pca_is_that_of_kernel_averages():
    X = spiked(30, 21)
    grid = np.linspace(0, 1, 21)
    mean, components = fitted("functional PCA, smoothed", X, 3)
    misses = []
    for width in np.linspace(1, 11, 22) / 20:
        kernel = np.exp(-0.5 * ((grid[:, None] - grid) / width) ** 2)
        rows = X @ (kernel / kernel.sum(axis=1, keepdims=True)).T
        misses.append(
            max(distance(components, fitted("functional PCA", rows, 3)[1]), abs(mean - rows.mean(0)).max())
        )
    assert min(misses) < 1e-6 < sorted(misses)[1]


def test_functional_pca_needs_a_line():
    for order in (None, (3, 4)):
        assert fit_rival("functional PCA", spiked(30, 12), 2, order).status == "unsuited"


@each("n, p", [(40, 12), (24, 60)])
def test_spherical_pca_is_pca_of_spatial_signs(n, p):
    # R stops its median at a step of 0.001 in the units of the data, so large units make it exact.
    X = 1e6 * spiked(n, p, heavy=True)
    median = np.median(X, axis=0)
    for _ in range(5000):
        weights = 1 / np.linalg.norm(X - median, axis=1)
        median = weights @ X / weights.sum()
    signs = (X - median) / np.linalg.norm(X - median, axis=1, keepdims=True)
    rows = np.linalg.svd(signs - signs.mean(axis=0), full_matrices=False)[2][: min(n - 1, p)]
    scores = signs @ rows.T
    spread = np.median(np.abs(scores - np.median(scores, axis=0)), axis=0)
    mean, components = fitted("spherical PCA", X, 2)
    np.testing.assert_allclose(mean, median, rtol=1e-6)
    assert distance(components, rows[np.argsort(-spread)[:2]]) < 1e-5


def test_robpca_turns_and_moves_with_the_rows():
    X = spiked(40, 12)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((12, 12)))[0]
    mean, components = fitted("ROBPCA", X, 3)
    turned_mean, turned = fitted("ROBPCA", X @ turn + 7, 3)
    assert distance(turned, components @ turn) < 1e-8
    np.testing.assert_allclose(turned_mean, mean @ turn + 7)
    # What R cannot fit is reported.
    needs("ROBPCA")
    outcome = fit_rival("ROBPCA", np.ones((40, 12)), 3)
    assert (outcome.status, outcome.fit) == ("failed", None)
    assert outcome.note.startswith("RFitError: ")


def test_no_rscript_is_an_error_and_no_result(monkeypatch):
    monkeypatch.setattr(shared_process(), "command", "no-such-program")
    shared_process().close()
    with pytest.raises(FileNotFoundError):
        fit_rival("ROBPCA", spiked(40, 12), 3)
