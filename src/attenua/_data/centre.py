r"""A robust centre of many rows, from some of them, and how far rows mostly are from it.

A single far row takes the mean with it. The spatial median, which minimises

.. math::

    \sum_i w_i\,|x_i - c| ,

stays where most rows are (Weiszfeld, 1937, found it by the steps used here).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._data.rows import HostRows
from attenua._data.sums import divided

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# The centre is that of so many rows: it moves by a thousandth of the total variance if they are others.
_SAMPLE_ROWS = 500
# Enough for a third of the rows to lie together, 1e8 times as far as the others. Each takes no rows.
_STEPS = 50
# The median squared distance counts as this part of the total variance at least. It is a rounding error where
# most rows are equal.
_LEAST_PART = 1e-8
_GOLDEN = (np.sqrt(5) - 1) / 2


class RowSample:
    """Which of some rows are taken: all of a few, or as many as a sample has, from all parts of their order.

    A row of weight 2 is taken as two rows would be.
    """

    def __init__(self, n_rows: int, weight: float):
        self._places: Array | None = None
        if max(n_rows, weight) > _SAMPLE_ROWS:
            # One place in each of equal parts, not the same one in all: rows may come in periods.
            parts = np.arange(_SAMPLE_ROWS)
            self._places = (parts + parts * _GOLDEN % 1) * (weight / _SAMPLE_ROWS)

    def taken(self, n_rows: int, weights: Array | None, before: float = 0.0) -> tuple[Indices, Array]:
        """Return the numbers of the rows that are taken, and how often, after rows of weight `before`."""
        if self._places is None:
            return np.arange(n_rows), np.ones(n_rows) if weights is None else weights
        places = self._places - before
        places = places[places >= 0]
        if weights is None:
            numbers = places.astype(np.intp)
        else:
            numbers = np.searchsorted(np.cumsum(weights), places, side="right")
        numbers, counts = np.unique(numbers[numbers < n_rows], return_counts=True)
        return numbers, counts.astype(float)


class Centre(NamedTuple):
    """The spatial median of rows, and the median squared distance from it, of divided rows."""

    place: Array
    square: float


def robust_centre(rows: Any, counts: Array, divisor: Any, total_variance: float) -> Centre:
    """Return the centre of rows, dense or sparse, that count so often, once they are divided.

    The total variance is that of divided rows.
    """
    host = HostRows(divided(rows, divisor))
    squares = host.in_rows().in_unit(1.0).squared_distances()
    shares, lengths = _spatial_median(squares, counts)
    square = max(_weighted_median(lengths, counts), _LEAST_PART * total_variance)
    return Centre(host.in_rows(factors=shares).in_unit(1.0).mean, square if square > 0 else 1.0)


def _spatial_median(squares: Array, weights: Array) -> tuple[Array, Array]:
    """Return the shares of rows in their spatial median, and squared distances from it.

    Squared distances between the rows are all that it takes, whatever their columns.
    """

    def from_mean(shares: Array) -> Array:
        lengths = squares @ shares
        return np.maximum(lengths - lengths @ shares / 2, np.finfo(float).tiny)

    shares = weights / weights.sum()
    for _ in range(_STEPS):
        shares = weights / np.sqrt(from_mean(shares))
        shares /= shares.sum()
    return shares, from_mean(shares)


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    ends = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(ends, ends[-1] / 2)]])
