"""What several test files share: data with a known shape, and comparisons of subspaces."""

import numpy as np


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


def run_check(estimator, check, monkeypatch):
    """Run one of scikit-learn's checks, with dispatch to other array libraries possible."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def correlated_rows(n, p, seed=0):
    """Return rows of four common factors and noise that grows from column to column."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) + rng.standard_normal(
        (n, p)
    ) * np.arange(1, p + 1)
