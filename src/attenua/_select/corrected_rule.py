r"""The rule of all corrections: the corrected matrix at some strengths, and its leading subspace."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.corrections import Strengths
from attenua._correct.damping import damped
from attenua._correct.smoothing import smoothed
from attenua._correct.tempering import tempered
from attenua._data.moments import Moments
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CorrectedRule:
    r"""The leading subspaces of :math:`K_h \{t_i t_j r_{ij} |r_{ij}|^b - a\,\mathcal D(\cdot)\} K_h`.

    :math:`t_i = s_i^{1-g}`, with the standard deviations :math:`s_i` and the correlations :math:`r_{ij}` of
    the covariance. Row tempering is not seen here: it is in the moments.

    Parameters
    ----------
    strengths : ndarray of shape (n_candidates, 5)
        One row of :class:`Strengths` for every candidate.
    labels : ndarray of shape (n_features,), optional
        Group of every column; attenuates within-group blocks instead of the diagonal.
    smoother : Smoother, optional
        Which columns are neighbours.
    near : Subspace, optional
        That of a candidate which the others are compared with, where one is known.
    """

    strengths: Array
    labels: NDArray[np.intp] | None = None
    smoother: Any = None
    near: Subspace | None = None

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        for place, row in enumerate(self.strengths.tolist()):
            strengths = Strengths(*row)
            corrected = damped(tempered(moments, strengths.tempering), strengths.damping)
            corrected = smoothed(corrected, strengths.smoothing, self.smoother)
            family = MatrixFamily(corrected, np.array([strengths.attenuation]), self.labels)
            (subspace,) = leading_subspaces(family, rank, exact=exact, near=self.near)
            yield place, subspace

    def with_strengths(self, strengths: ArrayLike) -> "CorrectedRule":
        """Return the same rule with other candidates."""
        return replace(self, strengths=np.asarray(strengths, dtype=float))
