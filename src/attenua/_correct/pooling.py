r"""Pooling: :math:`K_h C K_h` instead of the correlations C, with a kernel of columns that correlate most.

Columns i and j are joined by an edge of the weight :math:`C_{ij}` if j is among the columns that i correlates
most with, whatever the sign, or i among those of j. With the Laplacian L of this graph, whose degrees add up
:math:`|C_{ij}|`, :math:`K_h = \exp(-\tfrac{h^2}{2} L)`. It is symmetric with eigenvalues from 0 to 1, and
averages each column with its neighbours; those of negative correlation are turned around first.
"""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._correct.columns import GraphSmoother
from attenua._correct.correction import Correction
from attenua._correct.correlations import column_limit, lower_bound
from attenua._correct.smoothing import SmoothedMoments
from attenua._correct.tempering import powers
from attenua._data.moments import Moments, ScaledMoments
from attenua._data.sums import row_blocks

# Each column is joined to this many.
NEIGHBOURS = 3
# Correlations that agree to so many decimals are tied, and those that are 0 join nothing: otherwise rounding
# errors, which differ between containers, would choose the neighbours. Fewer decimals in single precision.
_DECIMALS = {np.dtype(np.float64): 8, np.dtype(np.float32): 5}


def pooled(moments: Moments, strength: float, prepared: None = None) -> Moments:
    r"""Return the moments whose covariance is :math:`t_i t_j (K_h C K_h)_{ij}`."""
    return moments if strength == 0 else PooledMoments(moments, strength)


def neighbour_graph(F: Any, inverse: Any) -> sp.coo_array:
    """Return the largest correlations of every column, as a symmetric adjacency matrix.

    Parameters
    ----------
    F : array of shape (n_features, n_features)
        A covariance.
    inverse : array of shape (n_features,)
        Inverses of the standard deviations; 0 for columns that do not vary.
    """
    p = len(F)
    edges: list[NDArray[np.intp]] = []
    for block in row_blocks(p, p):
        numbers = np.arange(block.start, block.stop)
        sizes = F[block] * inverse
        sizes *= inverse[block, None]
        np.abs(sizes, out=sizes)
        np.round(sizes, _DECIMALS[F.dtype], out=sizes)
        sizes[numbers - block.start, numbers] = 0.0
        for _ in range(NEIGHBOURS):
            largest = sizes.argmax(axis=1)  # the first of those that are tied
            places = numbers - block.start, largest
            edges.append(np.stack([numbers, largest])[:, sizes[places] > 0])
            sizes[places] = 0.0
    i, j = np.concatenate(edges, axis=1)
    i, j = np.divmod(np.unique(np.minimum(i, j) * p + np.maximum(i, j)), p)  # both ends may pick an edge
    both_ways = np.concatenate([i, j]), np.concatenate([j, i])
    return sp.coo_array((np.tile(F[i, j] * inverse[i] * inverse[j], 2), both_ways), shape=(p, p))


class PooledMoments(ScaledMoments):
    r"""Moments whose covariance is :math:`t_i t_j (K C K)_{ij}`, with the correlations C of others.

    These are the moments of columns of unit variance, smoothed over the graph of C, and scaled back.
    """

    def __init__(self, base: Moments, strength: float):
        inverse = powers(base.variances, -0.5, base.varies)
        smoother = GraphSmoother(neighbour_graph(base.covariance, inverse))
        correlated = SmoothedMoments(base.scaled(inverse), smoother, strength)
        super().__init__(correlated, powers(base.variances, 0.5, base.varies))
        self._unpooled = base

    @property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self._unpooled.mean

    @property
    def varies(self) -> Any:
        """Whether each column varies by more than rounding."""
        return self._unpooled.varies

    @property
    def rough_variances(self) -> Any:
        """Numbers of the size of the variances: those before pooling, which lowers them by a small factor."""
        return self._unpooled.rough_variances

    @cached_property
    def floor(self) -> float:
        """A lower bound of the eigenvalues, at most 0; it holds with high probability."""
        return 0.0 if self._unpooled.floor == 0 else min(lower_bound(self), 0.0)


POOLING = Correction(
    name="pooling",
    kind="moments",
    strengths=(0.0, 0.5, 1.0, 2.0),
    largest=np.inf,
    apply=pooled,
    limit=column_limit,
    weakens="differences between columns that correlate most",
    how="At strength h the correlations are averaged over a graph that joins each column to the "
    f"{NEIGHBOURS} that it correlates most with.",
    price="It trusts that columns come in families. It merges what only looked alike.",
    colour="#6d8b3c",
)
