"""What is solved and what comes out: a family of symmetric matrices, and the leading subspace of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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


class Subspace(NamedTuple):
    """The leading subspace of one matrix, or the subspace that a rival of it chose.

    Attributes
    ----------
    basis : ndarray of shape (size, rank)
        Orthonormal columns, in decreasing order of eigenvalue.
    values : ndarray of shape (rank,)
        The leading eigenvalues; of a subspace that no eigenvalues define, what orders components that
        explain the same variance.
    gap : float
        Distance from the last of them to the next eigenvalue; infinite if the rank is the size, NaN for a
        subspace that no eigenvalues define.
    tied : bool
        Whether the gap is zero to rounding, so that the subspace is one choice among many.
    solver : str
        ``"lapack"``, ``"shared-basis"`` or ``"arpack"``, or what else found it.
    convergence : Convergence or None
        How the iteration ended, where there was one that may fail.
    sine : float
        Bound of the sine of the largest angle to the exact subspace, beyond rounding.
    certified : bool
        Whether that bound rests on a proven bound of the next eigenvalue, not on an estimate of it.
    """

    basis: Array
    values: Array
    gap: float
    tied: bool
    solver: str
    convergence: Convergence | None = None
    sine: float = 0.0
    certified: bool = True


@dataclass(frozen=True)
class AffineFamily:
    r"""The symmetric matrices :math:`S - \alpha D`, known by products.

    Parameters
    ----------
    size : int
        Number of rows and columns.
    base, part : callable
        Multiply a tall matrix by S and by D.
    part_diagonal : ndarray of shape (size,)
        Nonnegative; the iteration is preconditioned by it.
    matrices : callable
        Return S and D as matrices (D as a vector if it is diagonal). May be costly.
    at_hand : bool
        Whether `matrices` costs nothing.
    scale : float
        Largest entry of S: what rounding errors are relative to, whatever the strength.
    part_range : (float, float)
        Bounds of the eigenvalues of D; infinite where unknown.
    fall : float
        The eigenvalues at a strength are at least ``-alpha * fall``, if S has no negative ones.
    start : callable, optional
        Return a few columns whose span is close to the leading eigenvectors of S.
    next_value : callable, optional
        Return a proven upper bound of the first eigenvalue of S after a rank.
    count_above : callable, optional
        Return how many eigenvalues at a strength are above a positive value, found by exact inertia.
    """

    size: int
    base: Callable[[Array], Array]
    part: Callable[[Array], Array]
    part_diagonal: Array
    matrices: Callable[[], tuple[Array, Array]]
    at_hand: bool
    scale: float
    part_range: tuple[float, float] = (-np.inf, np.inf)
    fall: float = 0.0
    start: Callable[[int], Array] | None = None
    next_value: Callable[[int], float] | None = None
    count_above: Callable[[float, float], int] | None = None

    def stack(self, strengths: Sequence[float]) -> Iterator[Array]:
        """Yield the matrix at every strength."""
        S, D = self.matrices()
        for alpha in strengths:
            if D.ndim == 2:
                yield S - alpha * D
            else:
                T = S.copy()
                T[np.diag_indices_from(T)] -= alpha * D
                yield T


def rounding(size: int, scale: float) -> float:
    """Return the distance below which two eigenvalues cannot be told apart in double precision."""
    return 8 * np.finfo(float).eps * np.sqrt(max(size, 16)) * scale
