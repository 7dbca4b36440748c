r"""Held-out and test risks on a grid of two strengths, computed once and judged by many rules of choice.

Choosing is cheap and eigenproblems are not. So each subsample's risks at every pair (tempering, alpha), for
every split and on the test rows, are stored; a rule that chooses a pair is then a few lines over arrays.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attenua._data.files import write_whole
from attenua._data.folds import Split
from attenua.studies.gain import excess_risk_removed
from attenua.studies.hindsight import TEMPERINGS, HeldMoments, moments_of, risks_on_test, subspaces

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """Risks of one subsample at every pair of strengths.

    Attributes
    ----------
    held : ndarray of shape (n_repeats, n_folds, n_temperings, n_alphas)
        Mean squared error of the held-out rows of every fold.
    weights : ndarray of shape (n_repeats, n_folds)
        Numbers of held-out rows.
    test : ndarray of shape (n_temperings, n_alphas)
        Mean squared error of a test row after refitting to all rows.
    reference : float
        Test error of the best affine subspace of the test rows.
    """

    held: Array
    weights: Array
    test: Array
    reference: float

    @property
    def gain(self) -> Array:
        """Percentage of PCA's test excess risk removed at every pair (eq. real-data-gain)."""
        return excess_risk_removed(self.test[0, 0], self.test, self.reference)

    def save(self, path: Path) -> None:
        """Write the arrays, whole or not at all."""
        file = io.BytesIO()
        np.savez(file, held=self.held, weights=self.weights, test=self.test, reference=self.reference)
        write_whole(path, file.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Surface":
        """Read what :meth:`save` wrote."""
        with np.load(path) as stored:
            return cls(stored["held"], stored["weights"], stored["test"], float(stored["reference"]))


def risk_surfaces(
    X: Array,
    ranks: Sequence[int],
    splits: Sequence[Split],
    n_folds: int,
    test: HeldMoments,
    temperings: Array = TEMPERINGS,
) -> list[Surface]:
    """Return the risks of one subsample at every pair of strengths, for several ranks.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows of the subsample.
    ranks : sequence of int
        Numbers of components. One eigenproblem serves them all, so more than one need columns few enough for
        LAPACK, whose eigenvectors are exact one by one.
    splits : sequence of (training rows, held-out rows)
        The folds of every repeat, one after the other.
    n_folds : int
        Folds of one repeat.
    test : HeldMoments
        Moments of the test rows.
    temperings : ndarray
        Temperings of the grid, 0 first.
    """
    last = np.asarray(ranks) - 1

    def of_rows(train: Array, held: Array) -> Array:
        mean, covariance = moments_of(train)
        rows = held - mean
        scores = rows @ subspaces(covariance, max(ranks), temperings)
        captured = np.cumsum(np.sum(scores**2, axis=-2), axis=-1)[..., last]
        return (np.sum(rows**2) - captured) / len(held)

    held = np.array([of_rows(X[train], X[rows]) for train, rows in splits])
    held = held.reshape(-1, n_folds, *held.shape[1:])
    weights = np.array([len(rows) for _, rows in splits]).reshape(-1, n_folds)
    on_test = risks_on_test(X, max(ranks), test, temperings)[..., last]
    return [
        Surface(held[..., i], weights, on_test[..., i], float(test.references[rank]))
        for i, rank in enumerate(ranks)
    ]
