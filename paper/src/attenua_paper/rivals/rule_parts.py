"""What the rivals share: the covariance as a matrix, the subspace that a frame spans, and iterations."""

import numbers
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from attenua._data.moments import Moments
from attenua._estimate.transformer import SubspaceTransformer
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]

# A p-by-p matrix of doubles of this size takes 200 MB.
MAX_FORMED = 5_000


class OneCandidate:
    """A rule with nothing to choose: its one strength is 0."""

    strengths = np.zeros(1)

    def with_strengths(self, strengths: Any) -> Self:
        """Return this rule, which has no other strengths."""
        return self


def formed_covariance(moments: Moments, method: str) -> Array:
    """Return S as a matrix, for a method that works on its entries.

    Raises
    ------
    ValueError
        If S is not at hand and has more than ``MAX_FORMED`` columns.
    """
    if not moments.forms_covariance and moments.n_features > MAX_FORMED:
        raise ValueError(
            f"{method} needs the covariance matrix of all columns, which is formed for up to {MAX_FORMED} "
            f"columns; X has {moments.n_features}."
        )
    return moments.covariance


def subspace_of_frame(frame: Array, *, gap: float = np.nan, tied: bool = False) -> Subspace:
    """Return the span of the columns of a frame as a subspace.

    Columns that depend on the others, as in data without variance, are replaced by some direction
    orthogonal to the rest; the subspace is then called tied.
    """
    basis, triangle = np.linalg.qr(frame)
    diagonal = np.abs(np.diag(triangle))
    dependent = diagonal.min(initial=np.inf) <= 1e-12 * diagonal.max(initial=0.0)
    # No eigenvalues order components that explain the same variance (often none), so fixed weights of the
    # coordinates do: the order then depends on the subspace alone, and not on how it was computed.
    weights = np.linspace(1.0, 2.0, len(frame))[:, None]
    values, vectors = np.linalg.eigh(basis.T @ (weights * basis))
    is_tied = tied or bool(dependent)
    return Subspace(basis @ vectors[:, ::-1], None, values[::-1], gap, is_tied)


class Convergence(NamedTuple):
    """How an iteration ended.

    Attributes
    ----------
    n_iter : int
        Iterations done.
    converged : bool
        Whether its own criterion was met, rather than the cap on iterations.
    start : str or None
        The start that won, where there were several.
    """

    n_iter: int
    converged: bool
    start: str | None = None


class IteratedSubspace(Subspace):
    """A subspace that an iteration found, and how the iteration ended."""

    convergence: Convergence


def iterated(subspace: Subspace, convergence: Convergence) -> IteratedSubspace:
    """Return a subspace with how the iteration that found it ended."""
    found = IteratedSubspace(*subspace)
    found.convergence = convergence
    return found


class StoresConvergence(SubspaceTransformer):
    """Estimators whose subspaces are found by an iteration that may fail."""

    def _store(self, moments: Moments, subspace: Subspace, n_samples: int, dtype: type) -> None:
        super()._store(moments, subspace, n_samples, dtype)
        assert isinstance(subspace, IteratedSubspace)
        store_convergence(self, subspace.convergence)


def store_convergence(estimator: Any, convergence: Convergence) -> None:
    """Set the fitted attributes that say how an iteration ended; warn where it did not converge."""
    estimator.n_iter_ = convergence.n_iter
    estimator.converged_ = convergence.converged
    if convergence.start is not None:
        estimator.start_ = convergence.start
    if not convergence.converged:
        warnings.warn(
            f"{type(estimator).__name__} did not converge in {convergence.n_iter} iterations; the last "
            "iterate was kept.",
            ConvergenceWarning,
            stacklevel=2,
        )


def checked_positive(value: Any, name: str) -> float:
    """Return a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)
