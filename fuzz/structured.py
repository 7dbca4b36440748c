"""Matrices of a special structure, where an iteration from random columns may overlook a leading direction.

    python fuzz/structured.py --seed 0 --minutes 10

Columns are orthogonal, or nearly so, or in blocks, or tied; a few small ones have factors in common, which
S hides and S - aD shows. What each subspace explains is compared with LAPACK's, and with `shortfall_`.
"""

import rounds  # isort: skip  # before numpy, which reads the settings

import sys
from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

from attenua import AttenuatedPCA, attenuation_path
from attenua._solve.tuning import SHORTFALL
from checks import at_most

# What rounding errors explain, as a part of the total variance.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Problem:
    """Rows, and what is asked of them; all strengths from 0 to 1 if none is given."""

    seed: int
    rows: np.ndarray
    kind: str
    rank: int
    alpha: float | None

    def __str__(self):
        n, p = self.rows.shape
        return f"seed {self.seed}: {self.kind}, {n} x {p}, {self.rank} components, strength {self.alpha}"


def orthogonal(n, p, random):
    """Return orthogonal columns without a mean, with signs and in an order of their own."""
    columns = hadamard(n)[:, 1 + random.permutation(n - 1)[:p]]
    return columns[random.permutation(n)] * random.choice([-1.0, 1.0], p)


def with_factors(X, n_small, scale, random):
    """Replace the first columns by combinations of three of them."""
    X[:, :n_small] = X[:, :3] @ random.standard_normal((3, n_small)) * scale
    return X


def draw(seed):
    """Return the problem of a seed."""
    random = np.random.default_rng(seed)
    kind = str(random.choice(list(KINDS)))
    p = int(random.integers(150, 1501))
    n = 1024 if p < 1000 else 2048
    X = KINDS[kind](n, p, random)
    X = X[:, random.permutation(p)]
    rank, alpha = int(random.integers(1, 6)), random.choice([1.0, 0.99, 0.9, 0.5, -1.0])
    return Problem(seed, X, kind, rank, None if alpha < 0 else float(alpha))


def hidden_factors(n, p, random):
    """Return large orthogonal columns, and small ones that have factors in common."""
    X = with_factors(orthogonal(n, p, random), p // 8, 3e-3, random)
    return X * np.linspace(1e3, 2e3, p)


def ties(n, p, random):
    """Return the same, with pairs of columns that are correlated by a millionth or so."""
    X = hidden_factors(n, p, random)
    first = p - 2 * int(random.integers(20, 50))
    X[:, first::2] += 10.0 ** random.uniform(-8, -4) * X[:, first + 1 :: 2][:, : X[:, first::2].shape[1]]
    return X


def near_zero_correlations(n, p, random):
    """Return orthogonal columns, with correlations of any power of ten below a tenth."""
    X = orthogonal(n, p, random) * 10.0 ** random.uniform(-2, 2, p)
    return X + 10.0 ** random.uniform(-8, -1) * X[:, random.permutation(p)]


def blocks(n, p, random):
    """Return blocks of columns that are equal but for noise."""
    of_block = orthogonal(n, p, random)[:, np.arange(p) // random.integers(2, 12)]
    return of_block * random.uniform(1, 2, p) + 1e-3 * random.standard_normal((n, p))


def equal_variances(n, p, random):
    """Return columns of one variance, of which a few share a factor: S is a multiple of I but for it."""
    X = with_factors(orthogonal(n, p, random), p // 10, 0.3, random)
    return X / X.std(axis=0)


KINDS = {
    kind.__name__: kind for kind in (hidden_factors, ties, near_zero_correlations, blocks, equal_variances)
}


def check(problem):
    """Compare what is explained with LAPACK; return words to count."""
    X, rank = problem.rows, problem.rank
    centred = X - X.mean(axis=0)
    S = centred.T @ centred / (len(X) - 1)
    variances = np.diag(np.diag(S))
    if problem.alpha is None:
        path = attenuation_path(X, rank)
        fits = [(path.alphas[k], path.components[k], SHORTFALL) for k in range(0, len(path.alphas), 7)]
    else:
        model = AttenuatedPCA(rank, alpha=problem.alpha).fit(X)
        fits = [(problem.alpha, model.components_, model.shortfall_)]
    for alpha, components, shortfall in fits:
        T = S - alpha * variances
        best = np.linalg.eigvalsh(T)[-rank:].sum()
        missed = (best - np.trace(components @ T @ components.T)) / np.trace(S)
        at_most(missed, min(shortfall, SHORTFALL) + ROUNDING, f"the variance missed at strength {alpha}")
    return [problem.kind]


if __name__ == "__main__":
    words = "Look for leading directions that are overlooked, in matrices of a special structure."
    sys.exit(rounds.go("structured", words, draw, check))
