r"""The heat kernel of a small graph as a matrix, however much its weights differ.

An eigendecomposition of the Laplacian is accurate relative to its largest eigenvalue only: beside a weight of
1e16, one of 1 is lost in rounding errors. Here nothing is subtracted, so that every weight counts to its last
digits. A series of positive terms gives the kernel at a time so short that it is near the identity, and
squaring doubles the time. Each square is divided by its row sums, which are 1, since errors would double too.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The series begins with this time, times a bound of the eigenvalues, and leaves out nothing with these terms.
_SHORT, _TERMS = 1 / 8, 12
# A kernel, or the walk that it is made of: entries between equal copies of nodes, and between unequal ones.
_Halves = tuple[Array, Array]


def heat_kernel(ends: sp.coo_array, degrees: Array, bound: float, time: float) -> Array:
    r"""Return :math:`\exp(-t L)` for the Laplacian of a graph whose weights may be negative.

    With the weights and their signs, each node is doubled: an edge of negative weight joins a node and the
    double of the other. That graph has no negative weights, and its kernel has four blocks, P and N twice.
    The kernel of the first graph is P - N.

    Parameters
    ----------
    ends : coo_array of shape (p, p)
        Symmetric weights of the edges, 0 on the diagonal.
    degrees : ndarray of shape (p,)
        Sums of their sizes.
    bound : float
        A bound of the eigenvalues of L, above 0.
    time : float
        The time t.
    """
    doublings = max(int(np.ceil(np.log2(time * bound / _SHORT))), 0)
    short = time * bound / 2.0**doublings
    walk = (ends / bound).toarray()
    P, N = np.maximum(walk, 0.0), np.maximum(-walk, 0.0)
    P[np.diag_indices_from(P)] = 1 - degrees / bound
    kernel = _series(P, N, short)
    for _ in range(doublings):
        kernel = _with_unit_sums(_product(kernel, kernel))
    P, N = kernel
    K: Array = P - N
    return (K + K.T) / 2


def _series(P: Array, N: Array, short: float) -> _Halves:
    r"""Return :math:`e^{-s} \sum_k s^k M^k / k!` with the walk :math:`M = I - L / \rho`, by Horner's rule."""
    one, walk = np.eye(len(P)), (P, N)
    kernel: _Halves = (one, np.zeros_like(P))
    for k in range(_TERMS, 0, -1):
        P, N = _product(walk, kernel)
        kernel = one + short / k * P, short / k * N
    return _with_unit_sums(kernel)


def _product(first: _Halves, second: _Halves) -> _Halves:
    (P, N), (Q, M) = first, second
    return P @ Q + N @ M, P @ M + N @ Q


def _with_unit_sums(kernel: _Halves) -> _Halves:
    P, N = kernel
    sums = (P.sum(axis=1) + N.sum(axis=1))[:, None]
    return P / sums, N / sums
