"""Rows that are read again with weights: on the rows, or on pairs of them.

The first reading gives the means of all training sets. Then a row is weighed by its distance from a robust
centre of all rows; or, if rows are few, every pair of rows by their distance. The caller chooses the weights.
Rows that are held out are never weighed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.centre import Centre, RowSample, robust_centre
from attenua._data.moments import Moments
from attenua._data.namespace import asarray_like, to_host
from attenua._data.row_moments import RowMoments
from attenua._data.rows import HostRows
from attenua._data.splits import SplitMoments, SplitPair, SplitRows, Splits
from attenua._data.streams import RowStream
from attenua._data.sums import squared_lengths

Array = NDArray[np.float64]
# Squared distances, of rows from their centre as parts of the median, or of pairs as parts of twice the total
# variance, to weights.
Weighing = Callable[[Array], Array]

# All pairs of more rows than this are too many.
MOST_PAIRED_ROWS = 1_000
# Up to this many columns the covariance of weighted pairs is formed. To multiply by the rows instead costs
# less for the few products that a comparison takes.
_FEW_COLUMNS = 128


class WeightedSplits(Splits):
    """Splits of some rows whose training sides have weights; the held-out sides are those of plain splits."""

    def __init__(self, plain: Splits):
        self._plain = plain
        self.n_splits, self.n_features, self.weight = plain.n_splits, plain.n_features, plain.weight
        self.on_device, self.forms_covariance = plain.on_device, plain.forms_covariance
        self.pair_entries = plain.pair_entries


class RowWeightedSplits(WeightedSplits):
    """Splits in which single training rows have weights. Covariances are about their weighted means.

    The mean of the moments stays the plain one, about which rows are projected and reconstructed.

    Parameters
    ----------
    plain, weighted : Splits
        The same splits of the rows without and with weights.
    """

    def __init__(self, plain: Splits, weighted: Splits):
        super().__init__(plain)
        self._weighted = weighted

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        return _with_mean_of(self._plain.total, self._weighted.total)

    def _read(self) -> Iterator[SplitPair]:
        for pair, weighted in zip(self._plain.pairs(), self._weighted.pairs(), strict=True):
            yield pair._replace(training=_with_mean_of(pair.training, weighted.training))


def _with_mean_of(plain: Moments, weighted: Moments) -> Moments:
    return weighted.as_in(plain).with_mean(plain.mean, plain.unit, plain.varies)


class PairWeightedSplits(WeightedSplits):
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
        super().__init__(plain)
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
        counts = to_host(kept.row_weights)
        shares = counts / counts.sum()
        if plain.scale is None:
            weights, weighted_squares = self._weights, self._weighted_squares
        else:  # distances depend on the scale, which every training set has of its own
            squares = kept.squared_distances()
            weights = self._weighed(squares)
            weighted_squares = weights * squares
        if self.n_features <= _FEW_COLUMNS:
            L = laplacian(weights * shares[:, None] * shares)
            return kept.summed(asarray_like(kept.mean, L), plain.varies)
        trace = float(shares @ weighted_squares @ shares) / 2
        mixing = partial(self._mixing, weights, shares, kept.mean)
        return kept.mixed(mixing, trace, self._multiplier(weights, shares, kept.mean))

    def _multiplier(self, weights: Array, shares: Array, like: Any) -> Callable[[Any], Any]:
        """Return a function that multiplies by the Laplacian of the weights of rows that have shares.

        Training sets share the weights, unless columns are scaled, so no matrix is formed for each of them.
        """
        weights = asarray_like(like, weights)
        column = asarray_like(like, shares[:, None])
        degrees = column * (weights @ column)
        return lambda V: degrees * V - column * (weights @ (column * V))

    def _mixing(self, weights: Array, shares: Array, like: Any) -> Any:
        """Return a root of the Laplacian of the weights of pairs of rows that have shares."""
        used = np.flatnonzero(shares)
        some = shares[used]
        L = laplacian(weights[np.ix_(used, used)] * some[:, None] * some)
        mixing = np.zeros((len(used), len(shares)))
        mixing[:, used] = laplacian_root(L, some)
        return asarray_like(like, mixing)


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


class Reweighting(ABC):
    """Rows that can be read again: their number, the sum of their weights, and their splits without more."""

    n_samples: int
    weight: float
    splits: Any

    def with_splits(self, splits: Splits) -> Self:
        """Return the same rows with other splits."""
        same = copy(self)
        same.splits = splits
        return same

    @property
    def has_few_rows(self) -> bool:
        """Whether all pairs of rows may have weights; a row of weight 2 counts as two."""
        return max(self.n_samples, self.weight) <= MOST_PAIRED_ROWS

    @abstractmethod
    def with_row_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        """Return, for each weighing, the splits with weights on the rows.

        A row is weighed by its squared distance from the centre of all rows, as a part of their median. One
        centre, and not one for each training set, lets the sums of folds add up. It is robust, so that no
        row that is held out can change the weights of the others by much.
        """

    @property
    def is_at_hand(self) -> bool:
        """Whether the rows are in memory, or few enough to be gathered there."""
        return self.has_few_rows

    @abstractmethod
    def in_memory(self) -> "RowsInMemory":
        """Return the rows in memory with their splits, where they are few."""

    def with_pair_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        """Return, for each weighing, the splits with weights on pairs of rows, which are few.

        A pair is weighed by its squared distance, as a part of twice the total variance.
        """
        few = self.in_memory()
        squares = few.rows.in_rows().as_in(few.splits.total).squared_distances()
        return [PairWeightedSplits(few.splits, few.rows, squares, weigh) for weigh in weighings]


class RowsInMemory(Reweighting):
    """Rows in memory or on a device, with their splits; weighted splits read them when first used.

    Attributes
    ----------
    rows : HostRows or DeviceRows
        The rows.
    splits : SplitMoments
        Their splits, without weights.
    groups : ndarray or None
        Number of the group of each row, where the user gave groups.
    """

    def __init__(self, rows: Any, splits: SplitMoments, groups: Any = None):
        self.n_samples, self.weight = rows.n_samples, rows.weight
        self.rows, self.splits = rows, splits
        self.groups = None if groups is None else _numbered(groups)

    @property
    def is_at_hand(self) -> bool:
        """Rows in memory are."""
        return True

    def in_memory(self) -> "RowsInMemory":
        """Return the same."""
        return self

    def some(self, rows: NDArray[np.intp], splits: Sequence[SplitRows]) -> "RowsInMemory":
        """Return some of the rows, with splits of their own."""
        chosen = self.rows.some(rows)
        groups = None if self.groups is None else self.groups[rows]
        return RowsInMemory(chosen, SplitMoments(chosen, splits).scaled(as_in=self.splits), groups)

    def held_out(self, rows: NDArray[np.intp], training: NDArray[np.intp]) -> Any:
        """Return some rows, to be judged by a fit to others."""
        return self.rows.in_rows(rows)

    def with_row_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        """Return, for each weighing, the splits with weights on the rows."""
        plain, total = self.splits, self.splits.total
        rows, counts = self.rows.sampled(RowSample(self.n_samples, self.weight).taken)
        centre = robust_centre(rows, counts, total.divisor, total.total_variance)
        lengths = self.rows.squared_lengths(centre.place, total.divisor) / centre.square
        return [RowWeightedSplits(plain, plain.reweighted(weigh(lengths))) for weigh in weighings]


@dataclass(frozen=True)
class RowFactors:
    """Factors of the weights of rows, by their distance from a centre; it can be sent to a worker.

    The rows are divided by the divisor; the centre is that of divided rows.
    """

    weigh: Weighing
    centre: Centre
    divisor: Any

    def __call__(self, rows: Any) -> Array:
        """Return the factors of some rows."""
        return self.weigh(squared_lengths(rows, self.centre.place, self.divisor) / self.centre.square)


class Gathered(NamedTuple):
    """Rows of a stream, with what belongs to them."""

    rows: Any
    groups: Any
    sample_weight: Any


def joined(parts: Sequence[Gathered]) -> Gathered:
    """Return the rows of batches or partitions as one array, or one sparse matrix where any is sparse."""
    rows, groups, weights = zip(*parts, strict=True)
    is_sparse = any(sp.issparse(batch) for batch in rows)
    stacked = sp.vstack(rows, format="csr") if is_sparse else np.vstack(rows)
    # Numbers and texts in one array would all become texts, and so other labels.
    labels = [label for some in groups if some is not None for label in np.asarray(some).tolist()]
    return Gathered(
        stacked,
        None if groups[0] is None else np.array(labels, dtype=object),
        None if weights[0] is None else np.concatenate(weights),
    )


def _numbered(labels: Any) -> NDArray[np.intp]:
    """Return labels as 0, 1, ... in the order in which they first come; text and numbers may be mixed."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in np.asarray(labels).tolist()])


def thinned(part: Gathered, sample: RowSample, before: float) -> tuple[Gathered, float]:
    """Return the rows that a sample takes, with how often as their weight; and the weight of all so far."""
    rows, _, weights = part
    numbers, counts = sample.taken(rows.shape[0], weights, before)
    weight = rows.shape[0] if weights is None else float(weights.sum())
    return Gathered(rows[numbers], None, counts), before + weight


def factored(sample_weight: Array | None, rows: Any, factors: Callable[[Any], Array] | None) -> Array | None:
    """Return the weights of rows times factors; None if there are neither."""
    if factors is None:
        return sample_weight
    return factors(rows) if sample_weight is None else sample_weight * factors(rows)


class RowsOfStream(Reweighting):
    """Rows in batches or partitions that can be read again.

    `first` and `plain` are their sums and splits of the first reading. `read` reads the rows again, once for
    several factors, and returns a stream for each; `gather` returns all rows, or those of a sample with how
    often each is taken as their weight, in parts.
    """

    def __init__(
        self,
        first: RowStream,
        plain: Splits,
        read: Callable[[Sequence[RowFactors]], Sequence[RowStream]],
        gather: Callable[[RowSample | None], Sequence[Gathered]],
    ):
        self.n_samples, self.weight = first.n_rows, plain.weight
        self.splits = plain
        self._first, self._read, self._gather = first, read, gather

    def with_row_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        """Return, for each weighing, the splits with weights on the rows: all from the same two readings."""
        total = self.splits.total
        sample = self._joined(RowSample(self.n_samples, self.weight))
        centre = robust_centre(sample.rows, sample.sample_weight, total.divisor, total.total_variance)
        factors = [RowFactors(weigh, centre, total.divisor) for weigh in weighings]
        streams = self._read(factors)
        self._check(streams[0].n_rows)
        return [RowWeightedSplits(self.splits, stream.moments()) for stream in streams]

    def in_memory(self) -> RowsInMemory:
        """Gather the rows, which are few, with the splits of the first reading."""
        return self._gathered

    @cached_property
    def _gathered(self) -> RowsInMemory:
        rows, groups, sample_weight = self._joined()
        if groups is not None and sample_weight is not None:
            groups = groups[sample_weight > 0]
        host = HostRows(rows, sample_weight)
        self._check(host.n_samples)
        splits = SplitMoments(host, self._first.splits(host.n_samples, groups))
        return RowsInMemory(host, splits.scaled(as_in=self.splits), groups)

    def _joined(self, sample: RowSample | None = None) -> Gathered:
        parts = self._gather(sample)
        if not parts:
            self._check(0)
        return joined(parts)

    def _check(self, n_rows: int) -> None:
        if n_rows != self.n_samples:
            raise ValueError(f"X gave {self.n_samples} rows when it was first read and {n_rows} after that.")


def _positive(value: float) -> float:
    return value if value > 0 else 1.0
