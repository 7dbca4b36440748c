"""Moments of both sides of every split, from as few readings of the rows as possible.

A training set is added up from the sets that are not held out. It is never "all rows less those held out": to
subtract would leave the rounding errors of a held-out outlier behind.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from attenua._data.blas import free_threads, in_order
from attenua._data.moments import Moments, ScatterMoments, common_unit

Indices = NDArray[np.intp]
# Training rows and held-out rows. Folds, which together hold out every row once, have None for the first.
SplitRows = tuple[Indices | None, Indices | slice]

# Folds of rows in memory beyond this many are not all held at once.
_MOST_PARTS = 20
# Up to so many folds, each training set is added up by itself: sums that several share take new memory, which
# costs more than to add to the same memory again.
_FEW_FOLDS = 6
# The folds of a fit with more multiplications than this are summed up in parallel.
_PARALLEL_WORK = 1e8
# Moments of all splits that take no more than this are kept for the next pass over them.
_KEPT_BYTES = 256 * 2**20


class SplitPair(NamedTuple):
    """Moments of the training and the held-out rows of one split; of rows with missing cells, PartlySeen."""

    number: int
    training: Moments
    held_out: Any


class Splits(ABC):
    """Moments of both sides of every split.

    Attributes
    ----------
    n_splits, n_features : int
        Number of splits, and of columns.
    weight : float
        Sum of the weights of all rows.
    on_device, forms_covariance : bool
        Whether the rows are on a device, and whether their moments hold p-by-p matrices.
    pair_entries : int
        Numbers that the moments of one split hold, beyond rows that all splits share.
    keeps_pairs : bool
        Whether the moments of the splits are kept for the next pass.
    is_scaled : bool
        Whether columns are divided by the standard deviations of the training rows of each split, and of all
        rows in the total.
    """

    n_splits: int
    n_features: int
    weight: float
    on_device: bool
    forms_covariance: bool
    pair_entries: int
    keeps_pairs = False
    is_scaled = False
    _kept: list[SplitPair]
    _unread: Iterator[SplitPair] | None = None

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        total = self._plain_total
        return total.divided(total.deviations) if self.is_scaled else total

    @property
    def _plain_total(self) -> Moments:
        """Moments of all rows as they are."""
        raise NotImplementedError

    def scaled(self, as_in: "Splits | None" = None) -> Self:
        """Return the same splits with scaled columns; if others are given, only where theirs are."""
        if as_in is not None and not as_in.is_scaled:
            return self
        same = copy(self)
        vars(same).pop("total", None)
        same.is_scaled = True
        return same

    @abstractmethod
    def _read(self) -> Iterable[SplitPair]:
        """Yield the moments of both sides of every split, all in one unit."""

    def keep_pairs(self) -> Self:
        """Keep the moments of the splits from now on if they are small: for more than one pass."""
        self.keeps_pairs = 8 * self.n_splits * self.pair_entries <= _KEPT_BYTES
        return self

    def forget_pairs(self) -> None:
        """Free what ``keep_pairs`` kept."""
        self.keeps_pairs, self._kept, self._unread = False, [], None

    def pairs(self) -> Iterator[SplitPair]:
        """Yield the moments of both sides of every split, all in one unit; each is read when it is needed."""
        if not self.keeps_pairs:
            yield from self._read_in_scale()
            return
        if self._unread is None:
            self._kept, self._unread = [], iter(self._read_in_scale())
        for place in range(self.n_splits):
            if place == len(self._kept):
                self._kept.append(next(self._unread))
            yield self._kept[place]

    def _read_in_scale(self) -> Iterator[SplitPair]:
        for pair in self._read():
            if self.is_scaled:
                scale = pair.training.deviations
                pair = pair._replace(
                    training=pair.training.divided(scale), held_out=pair.held_out.divided(scale)
                )
            yield pair


class FoldMoments(Splits):
    """Moments of folds that hold every row once.

    Parameters
    ----------
    folds : sequence of Moments
        Moments of the rows of every fold; a single one holds nothing out.
    """

    def __init__(self, folds: Sequence[Any]):
        self._folds = list(folds) if len(folds) == 1 else [fold.shared() for fold in folds]
        self.n_splits = len(folds) if len(folds) > 1 else 0
        self.n_features = self._folds[0].n_features
        self.weight = sum(fold.weight for fold in folds)
        self.on_device = self._folds[0].xp is not np
        self.forms_covariance = self._folds[0].forms_covariance
        self.pair_entries = self.n_features**2

    @cached_property
    def _plain_total(self) -> Moments:
        return ScatterMoments.sum(self._folds) if self.n_splits else self._folds[0]

    def _read(self) -> Iterator[SplitPair]:
        unit = common_unit(self._folds)
        folds = self._folds
        for number, training in self._trainings():
            yield SplitPair(number, training.in_unit(unit), folds[number].in_unit(unit))

    def _trainings(self) -> Iterator[tuple[int, ScatterMoments]]:
        """Yield the moments of all folds but each."""
        folds = self._folds
        if len(folds) > _FEW_FOLDS:
            return _all_but_each(len(folds), lambda i, j: ScatterMoments.sum(folds[i:j]))
        return ((i, ScatterMoments.sum([*folds[:i], *folds[i + 1 :]])) for i in range(len(folds)))


class SplitMoments(Splits):
    """Moments of both sides of any splits of rows in memory; nothing is read before it is needed.

    Where consecutive splits hold out every row once and train on the others, each row is read once for all
    of them. Elsewhere, a training set is read by itself.

    Parameters
    ----------
    rows : HostRows or DeviceRows
        The data.
    splits : sequence of SplitRows
        The splits; empty if no rows are held out.
    """

    def __init__(self, rows: Any, splits: Sequence[SplitRows]):
        self._rows, self._splits = rows, splits
        self._keeps_rows = False
        self.n_splits = len(splits)
        self.n_features = rows.n_features
        self.weight = rows.weight
        self.on_device = rows.xp is not np
        self.forms_covariance = rows.forms_scatter
        self.pair_entries = self.n_features**2
        if not self.forms_covariance:
            # The products of rows of a few splits are kept whatever they take, since they are expensive.
            self.pair_entries = 0 if self.n_splits <= _MOST_PARTS else rows.n_samples**2

    def scaled(self, as_in: Splits | None = None) -> Self:
        """Return the same splits with scaled columns; each then has rows of its own."""
        same = super().scaled(as_in)
        if same.is_scaled and not self.forms_covariance:
            same.pair_entries = self._rows.n_samples * (self._rows.n_samples + self.n_features)
        return same

    @cached_property
    def held_out_rows(self) -> list[Indices]:
        """Numbers of the held-out rows of every split, increasing."""
        return [np.unique(np.arange(self._rows.n_samples)[held_out]) for _, held_out in self._splits]

    @property
    def are_interleaved(self) -> bool:
        """Whether row i is held out in fold i % cv, as a number of folds asks for."""
        return all(training is None for training, _ in self._splits)

    def keep_held_out_rows(self) -> Self:
        """Keep the held-out rows as rows from now on, so that each can be judged: where rows are few."""
        self._keeps_rows = True
        return self

    def training_rows(self, number: int) -> Indices:
        """Return the numbers of the training rows of a split."""
        training, held_out = self._splits[number]
        return np.delete(np.arange(self._rows.n_samples), held_out) if training is None else training

    def fourth_powers(self, number: int | None, moments: Moments, centre: Any) -> float:
        """Return the weighted sum of fourth powers of the distances from a centre.

        Of the training rows of a split, or of all rows, whose moments are given.
        """
        chosen = None if number is None else self.training_rows(number)
        powers: float = self._rows.in_rows(chosen).as_in(moments).fourth_powers(centre)
        return powers

    @property
    def fewest_training_rows(self) -> int:
        """Rows of the smallest training set, or all if none are held out; a row of weight 2 counts as two."""
        counts = np.maximum(self._rows.weights, 1)
        n = int(counts.sum())
        sizes = (
            n - int(counts[held_out].sum()) if training is None else int(counts[training].sum())
            for training, held_out in self._splits
        )
        return min(sizes, default=n)

    @cached_property
    def _plain_total(self) -> Moments:
        if self._partitions and len(self._partitions[0]) <= _MOST_PARTS:
            return self._first_folds.total
        total: Moments = self._moments()
        return total

    def _moments(self, rows: Any = None) -> Any:
        return self._rows.moments(rows)

    def _read(self) -> Iterator[SplitPair]:
        unit = self._plain_total.unit
        for number, training, held_out in self._read_in_any_unit():
            if self._keeps_rows:
                held_out = self._rows.in_rows(self.held_out_rows[number])
            yield SplitPair(number, training.in_unit(unit), held_out.in_unit(unit))

    def _read_in_any_unit(self) -> Iterator[tuple[int, Any, Any]]:
        for place, partition in enumerate(self._partitions):
            if len(partition) <= _MOST_PARTS:
                folds = self._first_folds if place == 0 else self._folds(partition)
                for pair in folds.pairs():
                    yield partition[pair.number], pair.training, pair.held_out
            else:
                yield from self._many_parts(partition)
        if not self._partitions:
            for number, (_, held_out) in enumerate(self._splits):
                yield number, self._moments(self.training_rows(number)), self._moments(held_out)

    @cached_property
    def _first_folds(self) -> FoldMoments:
        """Moments of the held-out sets of the first partition: for the total and for its splits."""
        return self._folds(self._partitions[0])

    def _folds(self, partition: range) -> FoldMoments:
        work = self._rows.n_samples * self.n_features**2
        workers = free_threads() if work > _PARALLEL_WORK and not self.on_device else 1
        held_out = (self._splits[number][1] for number in partition)
        return FoldMoments(list(in_order(self._moments, held_out, workers)))

    def _many_parts(self, partition: range) -> Iterator[tuple[int, Any, Any]]:
        """Yield the pairs of a partition whose parts are too many to hold a matrix of each."""
        parts = [np.arange(self._rows.n_samples)[self._splits[number][1]] for number in partition]

        def union(start: int, stop: int) -> ScatterMoments:
            moments: ScatterMoments = self._moments(np.sort(np.concatenate(parts[start:stop])))
            return moments

        for place, training in _all_but_each(len(parts), union):
            yield partition[place], training, self._rows.kept(parts[place])

    @cached_property
    def _partitions(self) -> list[range]:
        """The runs of splits whose held-out sets are all rows, once each, and training the rest.

        If any split is not of this kind there are none: every training set is then read by itself.
        """
        if not self.forms_covariance:
            return []
        if self._splits and all(training is None for training, _ in self._splits):
            return [range(self.n_splits)]
        n = self._rows.n_samples
        partitions, start = [], 0
        held_so_far = np.zeros(n, dtype=np.intp)
        for number, (training, held_out) in enumerate(self._splits):
            held, trained = (np.bincount(np.arange(n)[rows], minlength=n) for rows in (held_out, training))
            if (held + trained != 1).any():
                return []
            held_so_far += held
            if held_so_far.max() > 1:
                return []
            if held_so_far.min() == 1:
                partitions.append(range(start, number + 1))
                start, held_so_far = number + 1, np.zeros(n, dtype=np.intp)
        return partitions if start == len(self._splits) else []


def _all_but_each(
    count: int, union: Callable[[int, int], ScatterMoments]
) -> Iterator[tuple[int, ScatterMoments]]:
    """Yield, for every one of some parts, the moments of all others, without subtracting.

    All but one half's parts are the other half and all but one of this half's: a tree, in which every part
    is added about log2(count) times and one path of sums is held.
    """

    def below(start: int, stop: int, outside: list[ScatterMoments]) -> Iterator[tuple[int, ScatterMoments]]:
        if stop - start == 1:
            yield start, ScatterMoments.sum(outside)
            return
        middle = (start + stop) // 2
        for own, other in (((start, middle), (middle, stop)), ((middle, stop), (start, middle))):
            yield from below(*own, [ScatterMoments.sum([*outside, union(*other)])])

    return below(0, count, [])
