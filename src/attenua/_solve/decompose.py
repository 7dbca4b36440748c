"""The one place where a whole matrix is decomposed: by LAPACK, or by the library of a device."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from attenua._data.blas import blas_limit
from attenua._data.namespace import array_namespace, to_host
from attenua._solve.subspace import Subspace, cut, rounding

Array = NDArray[np.float64]

# Between these sizes more threads than one are slower, and much slower where cores are shared. Smaller ones
# have one thread anyway.
_ONE_THREAD = (64, 512)


def leading_of_matrix(T: Any, rank: int, scale: float) -> Subspace:
    """Return the leading subspace of a symmetric matrix, known up to rounding at a scale.

    The basis is on the host, whichever device the matrix is on.
    """
    xp, size = array_namespace(T), T.shape[0]
    if xp is not np:
        values, vectors = xp.linalg.eigh(T)
        return cut(to_host(values)[::-1], to_host(vectors)[:, ::-1], rank, scale)
    if 4 * (rank + 1) < size:
        values, vectors = scipy.linalg.eigh(T, subset_by_index=[size - rank - 1, size - 1], driver="evr")
        if values[1] - values[0] > rounding(size, max(scale, np.abs(values).max())):
            return cut(values[::-1], vectors[:, ::-1], rank, scale)
    # A tie needs the whole tied eigenspace, to choose from it in a way that rounding cannot change.
    return cut(*small_eigh(T), rank, scale)


def small_eigh(matrices: Array) -> tuple[Array, Array]:
    """Return eigenvalues, decreasing, and eigenvectors of a stack of small matrices on the host."""
    small, large = _ONE_THREAD
    with blas_limit(1) if small < matrices.shape[-1] <= large else nullcontext():
        values, vectors = np.linalg.eigh(matrices)  # not scipy's, which lets no other thread run
    return values[..., ::-1], vectors[..., ::-1]
