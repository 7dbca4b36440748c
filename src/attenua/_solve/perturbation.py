r"""The leading subspace of a matrix that is close to one whose eigenvectors are known."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MOST_STEPS = 12


def nearby_subspace(values: Array, change: Array, rank: int, tolerance: float) -> Array | None:
    r"""Return an orthonormal basis of the leading subspace of :math:`\mathrm{diag}(\lambda) + E`, or None.

    The subspace is the span of :math:`(I, X^\top)^\top`, where X solves the Riccati equation

    .. math::

        X \Lambda_1 - \Lambda_2 X = E_{21} + E_{22} X - X E_{11} - X E_{12} X,

    with the leading and the other eigenvalues in :math:`\Lambda_1` and :math:`\Lambda_2`. Its left side is
    solved again and again for the right side of the last X. That converges where E is small against the
    gap; several times as fast as an eigendecomposition. None is returned where it does not.

    Parameters
    ----------
    values : ndarray of shape (size,)
        Eigenvalues, decreasing.
    change : ndarray of shape (size, size)
        The symmetric matrix E, in the basis of the eigenvectors.
    rank : int
        Dimension of the subspace.
    tolerance : float
        Largest part by which the last step may change X.
    """
    distances = values[:rank] - values[rank:, None]
    if distances[0, -1] <= 0:
        return None
    upper, lower, coupling = change[:rank, :rank], change[rank:, rank:], change[rank:, :rank]
    X = coupling / distances
    before = np.inf
    for _ in range(_MOST_STEPS):
        following = (coupling + lower @ X - X @ (upper + coupling.T @ X)) / distances
        step = float(np.linalg.norm(following - X))
        X = following
        if step <= tolerance * float(np.linalg.norm(X)):
            # Orthonormal columns with the same span.
            triangle = np.linalg.cholesky(np.eye(rank) + X.T @ X)
            return np.linalg.solve(triangle, np.hstack([np.eye(rank), X.T])).T
        if step > before / 2:
            return None
        before = step
    return None
