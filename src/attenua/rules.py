"""The rule of diagonal attenuation: moments in, one subspace per strength out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.affine import AffineFamily, Subspace
from attenua.masks import within_groups
from attenua.moments import Moments, RowMoments
from attenua.spectrum import SINE, leading_subspaces

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AttenuationRule:
    r"""Moments in, one subspace per strength out: the leading ones of :math:`S - \alpha \mathcal D(S)`.

    Parameters
    ----------
    strengths : ndarray
        Values of alpha.
    labels : ndarray of shape (n_features,), optional
        Group of every column; attenuates within-group blocks in the place of the diagonal.
    sine : float
        Largest sine of the angle to the exact subspace, where it is found by iteration.
    """

    strengths: Array
    labels: NDArray[np.intp] | None = None
    sine: float = SINE

    def subspaces(self, moments: Moments, rank: int) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        return leading_subspaces(self._family(moments), self.strengths, rank, self.sine)

    def at(self, strengths: Array, sine: float = SINE) -> "AttenuationRule":
        """Return the same rule at other strengths or another accuracy."""
        return replace(self, strengths=strengths, sine=sine)

    def _family(self, moments: Moments) -> AffineFamily:
        variances, labels = moments.variances, self.labels

        def matrices() -> tuple[Array, Array]:
            S = moments.covariance
            return S, variances if labels is None else within_groups(S, labels)

        def scale_rows(V: Array) -> Array:
            return variances[:, None] * V

        return AffineFamily(
            moments.n_features,
            moments.apply,
            scale_rows if labels is None else moments.within(labels),
            variances,
            matrices,
            at_hand=moments.forms_covariance,
            scale=float(variances.max()),
            part_range=(float(variances.min()), float(variances.max())) if labels is None else (0.0, np.inf),
            fall=self._fall(moments),
            **_through_inner_products(moments, labels is None),
        )

    def _fall(self, moments: Moments) -> float:
        """Return a bound of the eigenvalues of D, where its matrix is at hand."""
        if self.labels is None:
            return float(moments.variances.max())
        if not moments.forms_covariance:
            return np.inf
        return float(np.abs(within_groups(moments.covariance, self.labels)).sum(axis=1).max())


def _through_inner_products(moments: Moments, is_diagonal: bool) -> dict[str, Any]:
    """Return what the inner products of few rows say about the family."""
    if not isinstance(moments, RowMoments) or not moments.has_few_rows:
        return {}
    known = {"start": moments.leading, "spectrum": moments.spectrum}
    return known | {"count_above": moments.count_above} if is_diagonal else known
