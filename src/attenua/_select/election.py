r"""A whole choice: search, votes and the average of what they choose; and the same again without some rows.

What new rows gain cannot be read off the rows that chose: they are in the training sets of one another, so
even a row that is left out of the votes has helped to choose. So the whole choice is made again without each
of five blocks of rows, and judged by that block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import SEARCH_ORDER, Strengths
from attenua._data.folds import make_splits
from attenua._data.missing import PartialInMemory
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._data.reweighting import RowsInMemory
from attenua._data.splits import Splits
from attenua._select.comparison import row_losses
from attenua._select.judges import Judge, SubspaceJudge
from attenua._select.progress import in_parts
from attenua._select.rule import PCA, CorrectedRule, mean_subspace, pca_subspace
from attenua._select.search import SearchResult, StepSearch
from attenua._select.votes import Voters
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Fit = TypeVar("Fit")

# The choice is made again without each of so many blocks of rows at most; the other blocks are its folds.
_BLOCKS = 5


@dataclass(frozen=True)
class Election(Generic[Fit]):
    """What was compared, what the votes chose, and the average of it."""

    search: SearchResult
    choices: Mapping[Strengths, float]  # strengths and their weights, the largest weight first
    total: Moments
    fit: Fit  # the average of the choices
    base: Fit  # what gains are over: PCA, or the shrinkage of Ledoit and Wolf


class Expected(NamedTuple):
    """What is gained on new rows, with its standard error; NaN where not measured."""

    gain: float = nan
    standard_error: float = nan
    part: float = 0.8  # of the rows, with which it was measured


@dataclass(frozen=True)
class Chooser(ABC, Generic[Fit]):
    """Chooses strengths for some rows, and fits them.

    Attributes
    ----------
    grids : mapping of str to sequence of float
        Strengths to compare of each correction.
    prepared : mapping
        What the corrections made of the parameters of the estimator, by the name of the correction.
    n_jobs : int or None
        How many splits run in parallel.
    fewest_rows : int
        The choice is not made again with training sets of fewer rows.
    """

    grids: Mapping[str, Sequence[float]]
    prepared: Mapping[str, Any]
    n_jobs: Any = None
    fewest_rows: int = 2
    _order = SEARCH_ORDER

    @abstractmethod
    def _judge(self, data: FitData, splits: Splits) -> Judge:
        """Return the judge of the candidates."""

    def _grids(self, judge: Any) -> Mapping[str, Sequence[float]]:
        """Return the strengths to compare."""
        return self.grids

    @abstractmethod
    def _fits(self, judge: Any, search: StepSearch, choices: Mapping[Strengths, float]) -> tuple[Fit, Fit]:
        """Fit the choices to all rows; return their average, and the base."""

    @abstractmethod
    def _losses(self, rows: Any, election: Election[Fit], unit: float) -> Array:
        """Return what rows lose by the base and by the average of an election, in data of a unit."""

    @abstractmethod
    def _whole(self, of_base: Array, weight: float, part: float) -> float:
        """Return what the sum of gains is divided by.

        `of_base` is what rows lose by the base, `weight` theirs, and `part` that of the rows that chose.
        """

    def elect(self, data: FitData, names: Any = None, *, warn: bool = True) -> Election[Fit]:
        """Choose by the splits of the data, and fit the choices to all rows."""
        assert data.reweighter is not None
        rows = data.reweighter
        splits = rows.splits.keep_held_out_rows()
        voters = Voters.of_rows(splits.held_out_rows, rows.groups)
        judge = self._judge(data, splits)
        search = StepSearch(splits, judge, voters)
        search.take_steps(data, self._grids(judge), names, order=self._order, warn=warn)
        found = search.result()
        weights = voters.elect(found.losses, judge.least_gain)
        order = [place for place in np.argsort(-weights, kind="stable") if weights[place]]
        choices = {found.candidates[place]: float(weights[place]) for place in order}
        return Election(found, choices, splits.total, *self._fits(judge, search, choices))

    def expected_gain(self, data: FitData) -> Expected:
        r"""Return what new rows gain.

        The choice is made again without each of five blocks of rows (or fewer, if a splitter has fewer
        folds), the other blocks being its folds, and judged by the block. With :math:`d_i` what row i loses
        by the base less what it loses by the choice, the gain is

        .. math::

            \frac{n_{\mathrm{training}}}{n} \, \frac{\sum_i d_i}{\sum_i p_i}

        of PCA, where a row loses :math:`p_i`, since PCA's gains fall in proportion to the number of rows
        fitted; and :math:`\sum_i d_i / n` nats of a covariance, which is what so many fewer rows gain. A row
        counts with its weight. The standard error is that of the mean of
        :math:`d_i`, or of their sums over groups, times :math:`(1 + n_{\mathrm{training}}^{-1} n)^{1/2}` for
        the overlap of training sets (Nadeau and Bengio, 2003). NaN where the rows, or groups of rows, are too
        few.
        """
        assert data.reweighter is not None
        rows = data.reweighter
        block_of = _blocks_of(rows)
        sizes = np.bincount(block_of)
        if len(sizes) < 3 or rows.n_samples - np.sort(sizes)[-2:].sum() < self.fewest_rows:
            return Expected()
        losses = np.empty((rows.n_samples, 2))
        for block in in_parts(
            range(len(sizes)), len(sizes), lambda k: f"without block {k + 1} of {len(sizes)}"
        ):
            losses[block_of == block] = self._losses_of_block(rows, block_of, block)
        losses *= rows.rows.weights[:, None]
        part = 1 - 1 / len(sizes)
        whole, gains = self._whole(losses[:, 0], rows.weight, part), losses[:, 0] - losses[:, 1]
        if whole <= 0:
            return Expected(0.0, 0.0, part)
        # Rows of a group vary together, so the group counts as one.
        sums = gains if rows.groups is None else np.bincount(rows.groups, gains)
        error = sqrt((1 + 1 / part) * len(sums) * sums.var(ddof=1))
        return Expected(float(gains.sum() / whole), float(error / whole), part)

    def _losses_of_block(self, rows: RowsInMemory, block_of: Indices, block: int) -> Array:
        """Return what each row of a block loses by the base and by the choice of the other rows."""
        others, held_out = np.flatnonzero(block_of != block), np.flatnonzero(block_of == block)
        folds = block_of[others]
        splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]
        part = rows.some(others, splits)
        data = FitData(part.splits, len(others), part.splits.fewest_training_rows, float, reweighter=part)
        election = self.elect(data, warn=False)
        held = rows.held_out(held_out, others).as_in(election.total)
        return self._losses(held, election, rows.splits.total.unit)


@dataclass(frozen=True, kw_only=True)
class SubspaceChooser(Chooser[Subspace]):
    """Chooses strengths for PCA; `rank` is the number of components."""

    rank: int

    def _judge(self, data: FitData, splits: Splits) -> SubspaceJudge:
        rule = CorrectedRule([PCA], self.prepared)
        most = min(splits.n_features, data.fewest_training_rows) - 1
        if isinstance(data.reweighter, PartialInMemory):
            most = self.rank  # each further rank would cost a ridge solve of every row
        return SubspaceJudge(rule, self.rank, most, splits.total, n_jobs=self.n_jobs)

    def _fits(
        self, judge: SubspaceJudge, search: StepSearch, choices: Mapping[Strengths, float]
    ) -> tuple[Subspace, Subspace]:
        total = search.total(PCA)
        average, fitted = average_of_choices(choices, self.prepared, self.rank, search.total)
        return average, fitted[PCA] if PCA in fitted else pca_subspace(total, self.rank)

    def _losses(self, rows: Any, election: Election[Subspace], unit: float) -> Array:
        ratio = election.total.unit / unit  # a power of two, and mostly 1
        return row_losses(rows, [election.base, election.fit], election.total.mean) * ratio * ratio

    def _whole(self, of_base: Array, weight: float, part: float) -> float:
        return float(of_base.sum()) / part


def average_of_choices(
    choices: Mapping[Strengths, float],
    prepared: Mapping[str, Any],
    rank: int,
    total_of: Callable[[Strengths], Moments],
) -> tuple[Subspace, dict[Strengths, Subspace]]:
    """Fit choices to all rows; return the average of their subspaces by weight, and the subspace of each.

    `total_of` returns the moments of all rows with the row weights of a choice.
    """
    # Those that differ in attenuation only are solved together.
    fitted: dict[Strengths, Subspace] = {}
    for of_rows in dict.fromkeys(choice.of_kind("rows") for choice in choices):
        some = [choice for choice in choices if choice.of_kind("rows") == of_rows]
        found = dict(CorrectedRule(some, prepared).subspaces(total_of(of_rows), rank))
        fitted |= {choice: found[place] for place, choice in enumerate(some)}
    fitted = {choice: fitted[choice] for choice in choices}
    return mean_subspace(list(fitted.values()), list(choices.values()), total_of(PCA)), fitted


def _blocks_of(rows: RowsInMemory) -> Indices:
    """Return the block of each row; groups stay whole.

    Rows that a splitter holds out together, such as those of one stretch of time, are left out together.
    """
    n, splits = rows.n_samples, rows.splits
    held_out, block_of = splits.held_out_rows, np.zeros(n, dtype=np.intp)
    is_partition = len(held_out) >= 3 and np.array_equal(np.sort(np.concatenate(held_out)), np.arange(n))
    if rows.groups is not None or splits.are_interleaved or not is_partition:
        units = n if rows.groups is None else len(np.unique(rows.groups))
        blocks = make_splits(min(_BLOCKS, units), n, groups=rows.groups) if units > 1 else []
        held_out = [block for _, block in blocks]
    for number, some in enumerate(held_out):
        block_of[some] = number * min(_BLOCKS, len(held_out)) // len(held_out)
    return block_of
