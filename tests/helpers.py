"""What several test files share: data with a known shape, and comparisons of subspaces."""

import numpy as np
import pytest
import scipy


def spiked_rows(n, p, rank=3, seed=0):
    """Rows with a few strong directions and unequal noise, so that attenuation moves the subspace."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, rank)) * np.linspace(4, 2, rank)
    noise = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p)
    return factors @ rng.standard_normal((rank, p)) + noise + rng.uniform(-5, 5, p)


def covariance(X):
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


def within(S, labels):
    """The part of S that attenuation weakens."""
    labels = np.arange(len(S)) if labels is None else np.asarray(labels)
    return S * (labels[:, None] == labels)


def exact_components(S, alpha, rank, labels=None):
    """Leading eigenvectors by dense LAPACK, as rows."""
    return np.linalg.eigh(S - alpha * within(S, labels))[1][:, ::-1][:, :rank].T


def sine(A, B):
    """Sine of the largest principal angle between the row spaces of two orthonormal frames."""
    return np.linalg.norm(A - (A @ B.T) @ B, 2)


# scikit-learn's dispatch to other array libraries refuses an older scipy.
DISPATCHES = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 14)


def run_check(estimator, check, monkeypatch):
    """Run one of scikit-learn's checks; those of other arrays only where it can dispatch to them."""
    if DISPATCHES:
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    elif check.func.__name__.startswith("check_array_api"):
        pytest.skip("scikit-learn dispatches with scipy 1.14 or newer only")
    check(estimator)


def correlated_rows(n, p, seed=0):
    """Return rows of four common factors and noise that grows from column to column."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) + rng.standard_normal(
        (n, p)
    ) * np.arange(1, p + 1)
