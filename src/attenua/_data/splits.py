"""Moments of both sides of every split, from as few readings of the rows as possible.

A training set is added up from the sets that are not held out. It is never "all rows less those held out": to
subtract would leave the rounding errors of a held-out outlier behind.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments, ScatterMoments, common_unit

Split = tuple[NDArray[np.intp], NDArray[np.intp]]

# Folds of rows in memory beyond this many are not all held at once.
_MOST_PARTS = 20


class SplitPair(NamedTuple):
    """Moments of the training and the held-out rows of one split."""

    number: int
    training: Moments
    held_out: Moments


class FoldMoments:
    """Moments of folds that hold every row once.

    Parameters
    ----------
    folds : sequence of Moments
        Moments of the rows of every fold; a single one holds nothing out.
    """

    def __init__(self, folds: Sequence[Any]):
        self._folds = list(folds) if len(folds) == 1 else [fold.shared() for fold in folds]
        self.n_splits = len(folds)
        self.n_features = self._folds[0].n_features
        self.weight = sum(fold.weight for fold in folds)
        self.on_device = self._folds[0].xp is not np
        self.forms_covariance = self._folds[0].forms_covariance
        self.pair_entries = self.n_features**2 if self.forms_covariance else 0

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        return ScatterMoments.sum(self._folds) if self.n_splits > 1 else self._folds[0]

    def pairs(self) -> Iterator[SplitPair]:
        """Yield the moments of both sides of every split, all in one unit."""
        unit = common_unit(self._folds)
        for number, training in _all_but_each(self.n_splits, self._sum):
            yield SplitPair(number, training.in_unit(unit), self._folds[number].in_unit(unit))

    def _sum(self, start: int, stop: int) -> ScatterMoments:
        return ScatterMoments.sum(self._folds[start:stop])


class SplitMoments:
    """Moments of both sides of any splits of rows in memory.

    Where consecutive splits hold out every row once and train on the others, each row is read once for all
    of them. Elsewhere, a training set is read by itself.

    Parameters
    ----------
    rows : HostRows or DeviceRows
        The data.
    splits : sequence of (training rows, held-out rows)
        The splits.
    """

    def __init__(self, rows: Any, splits: Sequence[Split]):
        self._rows = rows
        self._splits = splits
        self.n_splits = len(splits)
        self.n_features = rows.n_features
        self.weight = float(rows.n_samples)
        self.on_device = rows.xp is not np
        self.forms_covariance = rows.forms_scatter
        self.pair_entries = self.n_features**2 if self.forms_covariance else 0
        self._partitions = self._find_partitions() if rows.forms_scatter else []
        self._few_parts: tuple[range, FoldMoments] | None = None
        self._kept: list[SplitPair] | None = None

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        if self._partitions and len(self._partitions[0]) <= _MOST_PARTS:
            return self._folds_of(self._partitions[0]).total
        return self._rows.moments()

    def pairs(self) -> Iterator[SplitPair]:
        """Return an iterator of the moments of both sides of every split, all in one unit."""
        if self.forms_covariance or self.n_splits > _MOST_PARTS:
            return self._in_one_unit()
        if self._kept is None:
            # A few moments of rows that are kept are small beside the rows, and know more every time.
            self._kept = list(self._in_one_unit())
        return iter(self._kept)

    def _in_one_unit(self) -> Iterator[SplitPair]:
        unit = self.total.unit
        for pair in self._read():
            yield SplitPair(pair.number, pair.training.in_unit(unit), pair.held_out.in_unit(unit))

    def _read(self) -> Iterator[SplitPair]:
        for partition in self._partitions:
            if len(partition) <= _MOST_PARTS:
                for number, training, held_out in self._folds_of(partition).pairs():
                    yield SplitPair(partition[number], training, held_out)
            else:
                yield from self._of_many_parts(partition)
        if not self._partitions:
            for number, (training, held_out) in enumerate(self._splits):
                yield SplitPair(number, self._rows.moments(training), self._rows.moments(held_out))

    def _folds_of(self, partition: range) -> FoldMoments:
        """Return the moments of the held-out sets of a partition; those of one partition are kept."""
        if self._few_parts is None or self._few_parts[0] != partition:
            folds = FoldMoments([self._rows.moments(self._splits[number][1]) for number in partition])
            self._few_parts = (partition, folds)
        return self._few_parts[1]

    def _of_many_parts(self, partition: range) -> Iterator[SplitPair]:
        """Yield the pairs of a partition whose parts are too many to hold a matrix of each."""

        def of_parts(start: int, stop: int) -> Moments:
            parts = [self._splits[number][1] for number in partition[start:stop]]
            return self._rows.moments(np.sort(np.concatenate(parts)))

        for position, training in _all_but_each(len(partition), of_parts):
            number = partition[position]
            yield SplitPair(number, training, self._rows.kept(self._splits[number][1]))

    def _find_partitions(self) -> list[range]:
        """Return the runs of splits whose held-out sets are all rows, once each, and training the rest.

        If any split is not of this kind there are none: every training set is then read by itself.
        """
        n = self._rows.n_samples
        partitions, start = [], 0
        held_so_far = np.zeros(n, dtype=np.intp)
        for number, (training, held_out) in enumerate(self._splits):
            held = np.bincount(held_out, minlength=n)
            if (held + np.bincount(training, minlength=n) != 1).any():
                return []
            held_so_far += held
            if held_so_far.max() > 1:
                return []
            if held_so_far.min() == 1:
                partitions.append(range(start, number + 1))
                start, held_so_far = number + 1, np.zeros(n, dtype=np.intp)
        return partitions if start == len(self._splits) else []


def _all_but_each(
    count: int, moments_of: Callable[[int, int], ScatterMoments]
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
            yield from below(*own, [ScatterMoments.sum([*outside, moments_of(*other)])])

    return below(0, count, [])
