"""Proven upper bounds of the first eigenvalue below the cut, for every strength of a family.

A Ritz value is never above its eigenvalue, so it bounds the last wanted eigenvalue from below. That no
eigenvalue was overlooked above the cut takes a proof from the other side: the inertia of one shifted matrix,
by a Cholesky factorisation that succeeds. One proof serves many strengths, since by Weyl's inequality the
eigenvalues of ``S - alpha*D`` fall at least as fast as the smallest eigenvalue of D asks when alpha grows,
and rise at most as fast as the largest allows when it shrinks.
"""

import numpy as np
from numpy.typing import NDArray

from attenua.affine import AffineFamily, rounding

Array = NDArray[np.float64]


class CutBound:
    r"""Upper bounds of :math:`\lambda_{d+1}(S - \alpha D)`.

    Parameters
    ----------
    family : AffineFamily
        The matrices.
    rank : int
        The cut d.
    """

    def __init__(self, family: AffineFamily, rank: int):
        self.family = family
        self.rank = rank
        self._proven: list[tuple[float, float]] = []
        if family.next_value is not None:
            self._proven.append((0.0, family.next_value(rank)))

    @property
    def can_prove(self) -> bool:
        """Whether there is a way to prove a bound at any strength."""
        return self.family.at_hand or self.family.count_above is not None

    def at(self, alpha: float) -> float:
        """Return the best bound at a strength that follows from what is proven; infinite if nothing does."""
        slowest, fastest = self.family.part_range
        bounds = [
            bound - (alpha - known) * (slowest if alpha >= known else fastest) if alpha != known else bound
            for known, bound in self._proven
        ]
        return min(bounds, default=np.inf)

    def prove(self, alpha: float, bound: float, basis: Array, values: Array) -> bool:
        r"""Try to prove that at most d eigenvalues at a strength are above a bound.

        With the Ritz values :math:`\theta` and vectors :math:`U` of the d leading ones,

        .. math::

            M = b I - (S - \alpha D) + U\,\mathrm{diag}(2\theta - 2b)\,U^\top \succ 0

        proves it, since a matrix of rank d has removed every eigenvalue above b. A Cholesky factorisation
        that succeeds proves :math:`M \succ 0` up to :math:`(p + 1)\,\epsilon \operatorname{tr} M`.
        """
        if self.family.count_above is not None:
            if bound <= 0 or self.family.count_above(alpha, bound) > self.rank:
                return False
            self._proven.append(
                (alpha, bound + rounding(self.family.size, max(self.family.scale, values[0])))
            )
            return True
        (M,) = self.family.stack([alpha])
        np.negative(M, out=M)
        M[np.diag_indices_from(M)] += bound
        M += (basis * (2 * (values - bound))) @ basis.T
        slack = 4 * (len(M) + 1) * np.finfo(float).eps * float(np.abs(np.diag(M)).sum())
        try:
            np.linalg.cholesky(M)  # not scipy's, which lets no other thread run
        except np.linalg.LinAlgError:
            return False
        self._proven.append((alpha, bound + slack))
        return True
