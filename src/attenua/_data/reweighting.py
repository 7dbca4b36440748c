"""Rows in memory, and their splits with weights on pairs of training rows.

A pair of rows is weighed by their distance; the caller chooses the weights. Rows that are held out are never
weighed.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments
from attenua._data.row_moments import RowMoments
from attenua._data.splits import SplitMoments, SplitPair, SplitRows, Splits

Array = NDArray[np.float64]
# Squared distances of pairs, as parts of twice the total variance, to weights.
Weighing = Callable[[Array], Array]

# Up to this many columns the covariance of weighted pairs is formed. To multiply by the rows instead costs
# less for the few products that a comparison takes.
_FEW_COLUMNS = 128


class PairWeightedSplits(Splits):
    r"""Splits in which pairs of training rows have weights.

    The covariance of training rows is :math:`\sum_{i<j} w_{ij} (x_i - x_j)(x_i - x_j)^\top / n^2`, which is
    :math:`Z^\top L Z / n^2` with the centred rows Z and the Laplacian L of the weights.

    Parameters
    ----------
    plain : SplitMoments
        The splits of the rows without weights.
    rows : HostRows or DeviceRows
        The rows.
    squares : ndarray of shape (n_samples, n_samples)
        Squared distances of all pairs of rows, in the unit of the total.
    weigh : callable
        Squared distances, as parts of twice the total variance, to weights.
    """

    def __init__(self, plain: SplitMoments, rows: Any, squares: Array, weigh: Weighing):
        self._plain = plain
        self.n_splits, self.n_features, self.weight = plain.n_splits, plain.n_features, plain.weight
        self.on_device, self.forms_covariance = plain.on_device, plain.forms_covariance
        self.pair_entries = plain.pair_entries
        self._rows, self._training_rows = rows, plain.training_rows
        self._squares, self._weigh = squares, weigh
        if not self.forms_covariance:
            self.pair_entries = rows.n_samples**2  # of the matrix that mixes the rows

    @cached_property
    def _weights(self) -> Array:
        return self._weighed(self._squares)

    def _weighed(self, squares: Array) -> Array:
        return self._weigh(squares / _positive(2 * self._plain.total.total_variance))

    @cached_property
    def _weighted_squares(self) -> Array:
        return self._weights * self._squares

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        return self._weighted_moments(None, self._plain.total)

    def _read(self) -> Iterator[SplitPair]:
        for pair in self._plain.pairs():
            rows = self._training_rows(pair.number)
            yield pair._replace(training=self._weighted_moments(rows, pair.training))

    def _weighted_moments(self, rows: NDArray[np.intp] | None, plain: Moments) -> Moments:
        # Plain moments that keep their rows may hold inner products already.
        kept = plain if isinstance(plain, RowMoments) else self._rows.in_rows(rows).as_in(plain)
        counts = kept.row_weights
        shares = counts / counts.sum()
        if plain.scale is None:
            weights, weighted_squares = self._weights, self._weighted_squares
        else:  # distances depend on the scale, which every training set has of its own
            squares = kept.squared_distances()
            weights = self._weighed(squares)
            weighted_squares = weights * squares
        if self.n_features <= _FEW_COLUMNS:
            L = laplacian(weights * shares[:, None] * shares)
            return kept.summed(L, plain.varies)
        trace = float(shares @ weighted_squares @ shares) / 2
        mixing = partial(self._mixing, weights, shares)
        return kept.mixed(mixing, trace, self._multiplier(weights, shares))

    def _multiplier(self, weights: Array, shares: Array) -> Callable[[Any], Any]:
        """Return a function that multiplies by the Laplacian of the weights of rows that have shares.

        Training sets share the weights, unless columns are scaled, so no matrix is formed for each of them.
        """
        column = shares[:, None]
        degrees = column * (weights @ column)
        return lambda V: degrees * V - column * (weights @ (column * V))

    def _mixing(self, weights: Array, shares: Array) -> Array:
        """Return a root of the Laplacian of the weights of pairs of rows that have shares."""
        used = np.flatnonzero(shares)
        some = shares[used]
        L = laplacian(weights[np.ix_(used, used)] * some[:, None] * some)
        mixing = np.zeros((len(used), len(shares)))
        mixing[:, used] = laplacian_root(L, some)
        return mixing


def laplacian(weights: Array) -> Array:
    """Return the Laplacian of symmetric weights, 0 on the diagonal: their sums there, less the weights."""
    return np.diag(weights.sum(axis=1)) - weights


def laplacian_root(L: Array, shares: Array) -> Array:
    r"""Return M with :math:`M^\top M = L` on vectors whose mean by shares is 0, for a Laplacian L."""
    try:
        # The added matrix is 0 on such vectors, and makes L positive definite if all rows are connected.
        return np.linalg.cholesky(L + L.trace() * np.outer(shares, shares)).T
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(L)
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


class RowsInMemory:
    """Rows in memory, with their splits.

    Attributes
    ----------
    rows : HostRows or PartialRows
        The rows.
    splits : SplitMoments
        Their splits.
    groups : ndarray or None
        Number of the group of each row, where the user gave groups.
    n_given : float
        How many rows the user gave, of which these may be a part.
    """

    def __init__(self, rows: Any, splits: SplitMoments, groups: Any = None, n_given: float = 0):
        self.n_samples, self.weight = rows.n_samples, rows.weight
        self.n_given = n_given or max(rows.n_samples, rows.weight)  # a row of weight 2 counts as two
        self.rows: Any = rows
        self.splits: Any = splits
        self.groups = None if groups is None else _numbered(groups)

    def with_splits(self, splits: Splits) -> Self:
        """Return the same rows with other splits."""
        same = copy(self)
        same.splits = splits
        return same

    def some(self, rows: NDArray[np.intp], splits: Sequence[SplitRows]) -> "RowsInMemory":
        """Return some of the rows, with splits of their own."""
        chosen = self.rows.some(rows)
        groups = None if self.groups is None else self.groups[rows]
        moments = SplitMoments(chosen, splits).scaled(as_in=self.splits)
        return RowsInMemory(chosen, moments, groups, self.n_given)

    def held_out(self, rows: NDArray[np.intp], training: NDArray[np.intp]) -> Any:
        """Return some rows, to be judged by a fit to others."""
        return self.rows.in_rows(rows)

    def with_pair_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        """Return, for each weighing, the splits with weights on pairs of rows, which are few.

        A pair is weighed by its squared distance, as a part of twice the total variance.
        """
        squares = self.rows.in_rows().as_in(self.splits.total).squared_distances()
        return [PairWeightedSplits(self.splits, self.rows, squares, weigh) for weigh in weighings]


def _numbered(labels: Any) -> NDArray[np.intp]:
    """Return labels as 0, 1, ... in the order in which they first come; text and numbers may be mixed."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in np.asarray(labels).tolist()])


def _positive(value: float) -> float:
    return value if value > 0 else 1.0
