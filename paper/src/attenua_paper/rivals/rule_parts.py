"""What the rules of the rivals share: the covariance as a matrix, and the subspace that a frame spans."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments
from attenua._solve.subspace import Convergence, Subspace

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


def subspace_of_frame(
    frame: Array,
    *,
    gap: float = np.nan,
    tied: bool = False,
    convergence: Convergence | None = None,
) -> Subspace:
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
    return Subspace(basis @ vectors[:, ::-1], None, values[::-1], gap, is_tied, convergence=convergence)
