"""The rule of attenuation and tempering: moments in, one subspace per candidate out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.affine import AffineFamily, Subspace, rounding
from attenua.masks import within_groups
from attenua.moments import Moments
from attenua.spectrum import SINE, leading_subspaces

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AttenuationRule:
    r"""Moments in, one subspace per candidate out: the leading ones of :math:`T(\alpha, \gamma)`.

    .. math::

        T(\alpha, \gamma) = G \{S - \alpha \mathcal D(S)\} G, \qquad
        G = \mathrm{diag}(s_1^{-\gamma}, \dots, s_p^{-\gamma}),

    with the standard deviations :math:`s_i = S_{ii}^{1/2}`. A column that does not vary gets the factor 0.

    Parameters
    ----------
    strengths : ndarray of shape (n_candidates,) or (n_candidates, 2)
        Values of alpha; or pairs of alpha and gamma, the tempering.
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
        with_tempering = self.strengths.ndim == 2
        alphas, temperings = self.strengths.T if with_tempering else pairs(self.strengths, np.zeros(1)).T
        for tempering in np.unique(temperings):
            places = np.flatnonzero(temperings == tempering)
            family = self._family(tempered(moments, tempering))
            if tempering == 1 and self.labels is None and moments.varies.all():
                # Every variance is 1, so attenuation moves all eigenvalues alike and no subspace.
                ((_, subspace),) = leading_subspaces(family, [0.0], rank, self.sine)
                yield from ((int(i), subspace._replace(values=subspace.values - alphas[i])) for i in places)
                continue
            for i, subspace in leading_subspaces(family, alphas[places], rank, self.sine):
                yield int(places[i]), subspace

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

        largest = self._largest_part(moments)
        return AffineFamily(
            moments.n_features,
            moments.apply,
            scale_rows if labels is None else moments.within(labels),
            variances,
            matrices,
            at_hand=moments.forms_covariance,
            scale=float(variances.max()),
            part_range=(float(variances.min()) if labels is None else 0.0, largest),
            fall=largest,
            **_through_inner_products(moments, labels is None),
        )

    def _largest_part(self, moments: Moments) -> float:
        """Return a bound of the eigenvalues of D, where its matrix is at hand."""
        if self.labels is None:
            return float(moments.variances.max())
        if not moments.forms_covariance:
            return np.inf
        return float(np.abs(within_groups(moments.covariance, self.labels)).sum(axis=1).max())


def _through_inner_products(moments: Moments, is_diagonal: bool) -> dict[str, Any]:
    """Return what the inner products of few rows say about the family."""
    if not moments.has_few_rows:
        return {}

    def next_value(rank: int) -> float:
        values = moments.spectrum()
        bound = values[rank] if rank < len(values) else 0.0
        return float(bound) + rounding(moments.n_features, max(moments.variances.max(), values[0]))

    known = {"start": moments.leading, "next_value": next_value}
    return known | {"count_above": moments.count_above} if is_diagonal else known


def pairs(alphas: Array, temperings: Array) -> Array:
    """Return all pairs of an alpha and a tempering as rows: one tempering after another, with every alpha."""
    return np.column_stack([np.tile(alphas, len(temperings)), np.repeat(temperings, len(alphas))])


def tempered(moments: Moments, tempering: float) -> Moments:
    r"""Return the moments of the columns divided by :math:`s_i^\gamma`; one that does not vary becomes 0."""
    if tempering == 0:
        return moments
    deviations = np.sqrt(moments.variances)
    factors = np.power(deviations, -tempering, out=np.zeros_like(deviations), where=moments.varies)
    return moments.scaled(factors)
