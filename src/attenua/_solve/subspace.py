"""The answer of a solver: a subspace, its accuracy, and how ties are broken; and whole decompositions.

Whole matrices are decomposed here only, by LAPACK or by the library of a device.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from attenua._data.blas import blas_limit
from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve import tuning

Array = NDArray[np.float64]


class Subspace(NamedTuple):
    """The leading subspace of one matrix, or the subspace that a rival of it chose.

    Attributes
    ----------
    frame : array of shape (size, width)
        Orthonormal columns. Subspaces of several candidates may share one frame.
    coordinates : ndarray of shape (width, rank) or None
        Orthonormal columns: the basis within the frame, in decreasing order of eigenvalue. None if the frame
        is the basis itself.
    values : ndarray of shape (rank,)
        The leading eigenvalues; of a subspace that no eigenvalues define, what orders components that
        explain the same variance.
    gap : float
        Distance from the last of them to the next eigenvalue; infinite if the rank is the size, NaN for a
        subspace that no eigenvalues define.
    tied : bool
        Whether the gap is zero to rounding, so that the subspace is one choice among many.
    shortfall : float
        Bound of what the best subspace explains more than this one, as a part of the total variance.
    """

    frame: Any
    coordinates: Array | None
    values: Array
    gap: float
    tied: bool
    shortfall: float = 0.0

    @property
    def basis(self) -> Any:
        """Orthonormal columns that span the subspace, of shape (size, rank)."""
        if self.coordinates is None:
            return self.frame
        return self.frame @ asarray_like(self.frame, self.coordinates)

    def compact(self) -> "Subspace":
        """Return the same subspace without a wide frame that others share.

        A frame with a few vectors beyond the rank is kept: a search begins other subspaces from it.
        """
        size, width = self.frame.shape
        if self.coordinates is None or width <= tuning.tracked(len(self.values), size):
            return self
        return self._replace(frame=self.basis, coordinates=None)


def rounding(size: int, scale: float) -> float:
    """Return the distance below which two eigenvalues cannot be told apart in double precision."""
    return 8 * np.finfo(float).eps * np.sqrt(max(size, 16)) * scale


def leading_part(values: Array, vectors: Array, rank: int, scale: float) -> Subspace:
    """Return the leading part of an eigendecomposition on the host.

    Eigenvalues decrease; if the cut falls on a tie, all tied ones are needed. Rounding errors are relative to
    `scale`, if that is more than the largest eigenvalue.
    """
    if rank == len(values):
        return Subspace(vectors, None, values, np.inf, False)
    gap = float(values[rank - 1] - values[rank])
    indistinct = rounding(len(vectors), max(scale, np.abs(values).max()))
    tied = gap <= indistinct
    if tied:
        vectors = _canonical_in_tie(values, vectors, rank, indistinct)
    return Subspace(vectors[:, :rank], None, values[:rank], gap, tied)


def _canonical_in_tie(values: Array, vectors: Array, rank: int, indistinct: float) -> Array:
    """Rotate a tied eigenspace so that its first vectors do not depend on rounding.

    The projections of the coordinate axes that lie closest to the eigenspace come first.
    """
    tied = np.flatnonzero(np.abs(values - values[rank - 1]) <= indistinct)
    E = vectors[:, tied].copy()
    chosen: list[Array] = []
    for _ in range(rank - tied[0]):
        lengths = np.round(np.sum(E**2, axis=1), 6)  # the rounding lets equal lengths tie exactly
        axis = E[np.argmax(lengths)]
        axis = axis / np.linalg.norm(axis)
        chosen.append(E @ axis)
        E = E - np.outer(E @ axis, axis)
    return np.column_stack([vectors[:, : tied[0]], *chosen])


def leading_of_matrix(T: Any, rank: int, scale: float) -> Subspace:
    """Return the leading subspace of a symmetric matrix, whose rounding errors are relative to a scale.

    The basis is on the host, whichever device the matrix is on.
    """
    xp, size = array_namespace(T), T.shape[0]
    if xp is not np:
        values, vectors = xp.linalg.eigh(T)
        return leading_part(to_host(values)[::-1], to_host(vectors)[:, ::-1], rank, scale)
    if 4 * (rank + 1) < size:
        values, vectors = _largest_pairs(T, rank + 1)
        if len(values) and values[1] - values[0] > rounding(size, max(scale, np.abs(values).max())):
            return leading_part(values[::-1], vectors[:, ::-1], rank, scale)
    # A tie needs the whole tied eigenspace, to choose from it in a way that rounding cannot change.
    return leading_part(*small_eigh(T), rank, scale)


def _largest_pairs(T: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues, increasing, with their vectors.

    Where many others are equal, LAPACK may fail or find none, without a word: then none are returned.
    """
    try:
        return scipy.linalg.eigh(T, subset_by_index=[len(T) - count, len(T) - 1], driver="evr")
    except np.linalg.LinAlgError:
        return np.empty(0), np.empty((len(T), 0))


def small_eigh(matrices: Array) -> tuple[Array, Array]:
    """Return eigenvalues, decreasing, and eigenvectors of a stack of small matrices on the host."""
    small, large = tuning.ONE_THREAD_SIZES
    with blas_limit(1) if small < matrices.shape[-1] <= large else nullcontext():
        values, vectors = np.linalg.eigh(matrices)  # not scipy's, which lets no other thread run
    return values[..., ::-1], vectors[..., ::-1]
