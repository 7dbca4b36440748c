"""Kinds of rows to be fitted, each drawn by ``kind(rng, n, p, rank)``; sparse ones also take a density."""

import numpy as np
import scipy.fft
import scipy.sparse as sp


def noise(rng, n, p, rank):
    """Draw rows without any direction that stands out."""
    return rng.standard_normal((n, p))


def spiked(rng, n, p, rank):
    """Draw rows with `rank` spikes clearly above noise whose variances differ by a factor of two."""
    X = rng.standard_normal((n, p))
    X *= np.sqrt(rng.uniform(2 / 3, 4 / 3, p))
    loadings = np.linalg.qr(rng.standard_normal((p, rank)))[0]
    X += (rng.standard_normal((n, rank)) * np.sqrt(edge(n, p) * np.geomspace(30, 3, rank))) @ loadings.T
    return X


def bulk(rng, n, p, rank):
    """Draw spiked rows with so few spikes that the cut falls inside the bulk."""
    return spiked(rng, n, p, rank // 3)


def heavy(rng, n, p, rank):
    """Draw spiked rows of a multivariate t law with three degrees of freedom."""
    return spiked(rng, n, p, rank) * np.sqrt(3 / rng.chisquare(3, (n, 1)))


def smooth(rng, n, p, rank):
    """Draw curves that vary along smooth directions, with noise of about the same size."""
    times = np.linspace(0, 1, p)
    waves = np.cos(np.pi * np.outer(np.arange(1, rank + 1), times)) * np.geomspace(3, 1, rank)[:, None]
    return rng.standard_normal((n, rank)) @ waves + rng.standard_normal((n, p))


def power(rng, n, p, rank):
    """Draw rows whose population eigenvalues are 1, 1/2, 1/3, ..."""
    return rotated(rng, rng.standard_normal((n, p)) / np.sqrt(np.arange(1, p + 1)))


def clustered(rng, n, p, rank):
    """Draw rows with twenty equal population eigenvalues around the cut."""
    return rotated(rng, rng.standard_normal((n, p)) * np.sqrt(around_the_cut(np.ones(p), rank, n)))


def ties(rng, n, p, rank):
    """Draw rows with twenty sample eigenvalues within 1e-5 of each other around the cut."""
    count = min(n - 1, p)
    G = rng.standard_normal((n, count))
    scores = np.linalg.qr(G - G.mean(axis=0))[0]
    X = np.zeros((n, p))
    values = around_the_cut(np.linspace(2, 0.1, count) * edge(n, p) / 2, rank, n, 1e-5)
    X[:, :count] = scores * np.sqrt(n * values)
    return rotated(rng, X)


def counts(rng, n, p, rank, density):
    """Draw Poisson counts: each row mixes two of eight topics, and columns are unequally common."""
    n_draws = rng.poisson(density * n * p)
    rows = rng.integers(0, n, n_draws)
    topics_of_row = rng.integers(0, 8, (n, 2))
    topics = topics_of_row[rows, (rng.random(n_draws) < 0.2).astype(int)]
    common = np.arange(1, p + 1) ** -0.5
    columns = np.empty(n_draws, dtype=int)
    for topic in range(8):
        here = np.flatnonzero(topics == topic)
        rates = rng.permutation(common) * rng.exponential(1, p) ** 2
        columns[here] = rng.choice(p, len(here), p=rates / rates.sum())
    return counts_at(rows, columns, (n, p))


def scattered(rng, n, p, rank, density):
    """Draw sparse rows with entries at random places and nothing behind them."""
    n_draws = int(density * n * p)
    X = counts_at(rng.integers(0, n, n_draws), rng.integers(0, p, n_draws), (n, p))
    X.data = rng.exponential(1, X.nnz)
    return X


def edge(n, p):
    """Return the largest sample variance of a direction of unit noise."""
    return (1 + np.sqrt(p / n)) ** 2


def rotated(rng, X):
    """Rotate rows by random signs, a cosine transform and signs: no axis stays near a column."""
    X *= rng.choice([-1.0, 1.0], X.shape[1])
    X = scipy.fft.dct(X, norm="ortho", axis=1, overwrite_x=True)
    X *= rng.choice([-1.0, 1.0], X.shape[1])
    return X


def around_the_cut(values, rank, n, spread=0.0):
    """Make twenty values around the cut equal, up to a relative spread, and those above them larger."""
    start, size = max(rank - 10, 0), 4 * edge(n, len(values))
    values[:start] = 2 * size
    inside = values[start : start + 20]
    inside[:] = size * (1 + spread * np.linspace(1, 0, len(inside)))
    return values


def counts_at(rows, columns, shape):
    """Return a sparse matrix that counts how often each place is named."""
    return sp.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()


DENSE = {kind.__name__: kind for kind in (noise, power, clustered, spiked, bulk, ties)}
SPARSE = {kind.__name__: kind for kind in (counts, scattered)}
