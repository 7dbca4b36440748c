r"""Attenuation: the diagonal of S, or its blocks within groups of columns, times :math:`1 - \alpha`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attenua._correct.family import MatrixFamily
from attenua._correct.tempering import tempered
from attenua._data.moments import Moments

Array = NDArray[np.float64]


def corrected_families(
    moments: Moments, strengths: Array, labels: NDArray[np.intp] | None
) -> Iterator[tuple[NDArray[np.intp], MatrixFamily]]:
    r"""Yield families of :math:`T(\alpha, \gamma) = G \{S - \alpha \mathcal D(S)\} G`, one a tempering.

    Parameters
    ----------
    moments : Moments
        Those of which S is the covariance.
    strengths : ndarray of shape (n_candidates, 2)
        Pairs of an attenuation and a tempering.
    labels : ndarray of shape (n_features,), optional
        Group of every column, where blocks are attenuated.

    Yields
    ------
    places : ndarray of int
        Positions among the strengths.
    family : MatrixFamily
        With one member for each place.
    """
    alphas, temperings = strengths.T
    for tempering in np.unique(temperings):
        places = np.flatnonzero(temperings == tempering)
        yield places, MatrixFamily(tempered(moments, float(tempering)), alphas[places], labels)


def pairs(alphas: Array, temperings: Array) -> Array:
    """Return all pairs of an alpha and a tempering as rows: one tempering after another, with every alpha."""
    return np.column_stack([np.tile(alphas, len(temperings)), np.repeat(temperings, len(alphas))])
