"""Which coordinates' variances tilt the subspace: an exact division of the leakage among them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Leakage:
    r"""The coupling :math:`L = P^\perp \mathcal D P` that attenuation adds, and who causes it.

    Attributes
    ----------
    size : float
        Frobenius norm of :math:`L`, in the unit of the variances.
    shares : ndarray of shape (n_features,)
        What each coordinate contributes to :math:`\|L\|_F^2`; they add up to 1. A negative share works
        against the others. Zeros where there is no leakage.
    inside : ndarray of shape (n_features,)
        :math:`P_{ii}`, the part of each coordinate axis that lies in the subspace.
    """

    size: float
    shares: Array
    inside: Array


def leakage(moments: Moments, basis: Array, labels: NDArray[np.intp] | None = None) -> Leakage:
    r"""Divide the leakage of a subspace among the coordinates.

    Attenuation subtracts :math:`\alpha \mathcal D`, the variances (or the within-group blocks) of
    :math:`S`. To first order it turns the subspace by :math:`L = P^\perp \mathcal D P` over the eigengaps.
    Since :math:`P^\perp P = 0`, equal variances do nothing: only their differences from their mean
    :math:`\bar d` count. With :math:`\operatorname{tr} L = 0`,

    .. math:: \|L\|_F^2 = \operatorname{tr}(\mathcal D L)
              = \sum_i \sum_j (\mathcal D - \bar d I)_{ij} L_{ji},

    and the inner sum is the share of coordinate :math:`i`; without groups it is
    :math:`(D_i - \bar d)(D_i P_{ii} - (P D P)_{ii})`.

    Parameters
    ----------
    moments : Moments
        Of the data.
    basis : ndarray of shape (n_features, rank)
        Orthonormal columns that span the subspace of PCA.
    labels : ndarray of shape (n_features,), optional
        Groups of columns.
    """
    U, variances = basis, moments.variances
    # Centred first, which keeps the digits of small differences between large variances.
    centre = variances.mean()
    within: Callable[[Array], Array]
    within = (lambda V: variances[:, None] * V) if labels is None else moments.within(labels)
    DU = within(U) - centre * U
    LU = DU - U @ (U.T @ DU)  # L = LU @ U.T
    parts = np.einsum("ik,ik->i", U, within(LU) - centre * LU)
    total = float(np.sum(LU**2))
    negligible = total <= 1e-20 * float(np.sum(DU**2)) or total == 0
    return Leakage(
        size=0.0 if negligible else float(np.sqrt(total)) * moments.unit**2,
        shares=np.zeros_like(variances) if negligible else parts / total,
        inside=np.einsum("ij,ij->i", U, U),
    )
