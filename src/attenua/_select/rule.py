"""Rules: moments in, one subspace for every candidate out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._correct.attenuation import corrected_families
from attenua._data.moments import Moments
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]


class Rule(Protocol):
    """Moments in, one subspace for every candidate out.

    A candidate is an entry of ``strengths``: a number, or a row of them (such as alpha and tempering). The
    first is ordinary PCA.
    """

    strengths: Array

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterable[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order.

        ``exact=False`` asks only for what is needed to compare candidates by rows that were held out.
        """

    def with_strengths(self, strengths: Array) -> "Rule":
        """Return the same rule with other candidates."""


@dataclass(frozen=True)
class AttenuationRule:
    r"""The leading subspaces of :math:`T(\alpha, \gamma) = G \{S - \alpha \mathcal D(S)\} G`.

    :math:`G = \mathrm{diag}(s_1^{-\gamma}, \dots, s_p^{-\gamma})`, with the standard deviations
    :math:`s_i = S_{ii}^{1/2}`. A column that does not vary gets the factor 0.

    Parameters
    ----------
    strengths : ndarray of shape (n_candidates, 2)
        Pairs of an attenuation alpha and a tempering gamma.
    labels : ndarray of shape (n_features,), optional
        Group of every column; attenuates within-group blocks instead of the diagonal.
    """

    strengths: Array
    labels: NDArray[np.intp] | None = None

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        for places, family in corrected_families(moments, self.strengths, self.labels):
            subspaces = leading_subspaces(family, rank, exact=exact)
            yield from zip(places.tolist(), subspaces, strict=True)

    def with_strengths(self, strengths: Array) -> "AttenuationRule":
        """Return the same rule with other candidates."""
        return AttenuationRule(strengths, self.labels)


def pca_subspace(moments: Moments, rank: int) -> Subspace:
    """Return the subspace of ordinary PCA."""
    ((_, subspace),) = AttenuationRule(np.zeros((1, 2))).subspaces(moments, rank)
    return subspace
