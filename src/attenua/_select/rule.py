"""Rules: moments in, one subspace for every candidate out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]


class Rule(Protocol):
    """Moments in, one subspace for every candidate out.

    A candidate is an entry of ``strengths``. The first is ordinary PCA.
    """

    @property
    def strengths(self) -> Array:
        """The candidates."""

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterable[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order.

        ``exact=False`` asks only for what is needed to compare candidates by rows that were held out.
        """

    def with_strengths(self, strengths: Array) -> "Rule":
        """Return the same rule with other candidates."""


@dataclass(frozen=True)
class AttenuationRule:
    r"""The leading subspaces of :math:`T_\alpha = S - \alpha \mathcal D(S)`.

    Parameters
    ----------
    strengths : ndarray of shape (n_candidates,)
        The strengths :math:`\alpha`.
    labels : ndarray of shape (n_features,), optional
        Group of every column; attenuates within-group blocks instead of the diagonal.
    """

    strengths: Array
    labels: NDArray[np.intp] | None = None

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        family = MatrixFamily(moments, self.strengths, self.labels)
        yield from enumerate(leading_subspaces(family, rank, exact=exact))

    def with_strengths(self, strengths: Array) -> "AttenuationRule":
        """Return the same rule with other candidates."""
        return AttenuationRule(strengths, self.labels)


def pca_subspace(moments: Moments, rank: int) -> Subspace:
    """Return the subspace of ordinary PCA."""
    ((_, subspace),) = AttenuationRule(np.zeros(1)).subspaces(moments, rank)
    return subspace
