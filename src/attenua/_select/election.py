r"""A whole choice: search, votes and the average of what they choose; and the same again without some rows.

What new rows gain cannot be read off the rows that chose: they are in the training sets of one another, so
even a row that is left out of the votes has helped to choose. So the whole choice is made again without each
of five blocks of rows, and judged by that block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import Strengths
from attenua._data.folds import make_splits
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._data.reweighting import RowsInMemory
from attenua._data.splits import Splits
from attenua._select.comparison import row_losses
from attenua._select.rule import PCA, CorrectedRule, mean_subspace, pca_subspace
from attenua._select.search import SearchResult, StepSearch
from attenua._select.votes import Voters
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# The choice is made again without each of so many blocks of rows; the other blocks are its folds.
_BLOCKS = 5


@dataclass(frozen=True)
class Election:
    """What was compared, what the votes chose, and the subspace that averages it."""

    search: SearchResult
    voters: Voters
    choices: Mapping[Strengths, float]  # strengths and their weights, the largest weight first
    total: Moments
    subspace: Subspace
    pca: Subspace


class Expected(NamedTuple):
    """Part of PCA's risk that is removed on new rows, with its standard error; NaN where not measured."""

    gain: float = nan
    standard_error: float = nan


@dataclass(frozen=True)
class Chooser:
    """Chooses strengths for some rows, and fits them.

    Attributes
    ----------
    rank : int
        Number of components.
    grids : mapping of str to sequence of float
        Strengths to compare of each correction.
    prepared : mapping
        What the corrections made of the parameters of the estimator, by the name of the correction.
    pca_share : float
        Share of the votes that PCA has in any case.
    n_jobs : int or None
        How many splits run in parallel.
    """

    rank: int
    grids: Mapping[str, Sequence[float]]
    prepared: Mapping[str, Any]
    pca_share: float
    n_jobs: Any = None

    def elect(self, data: FitData, names: Any = None, *, warn: bool = True) -> Election:
        """Choose by the splits of the data, and fit the choices to all rows."""
        splits, voters = _electorate(data)
        rule = CorrectedRule([PCA], self.prepared)
        search = StepSearch(splits, rule, self.rank, voters, n_jobs=self.n_jobs)
        search.take_steps(data, self.grids, names, warn=warn)
        found = search.result()
        weights = voters.elect(found.losses, self.pca_share)
        order = [place for place in np.argsort(-weights, kind="stable") if weights[place]]
        choices = {found.candidates[place]: float(weights[place]) for place in order}
        fitted = {
            choice: dict(rule.with_strengths([choice]).subspaces(search.total(choice), self.rank))[0]
            for choice in choices
        }
        subspace = mean_subspace(list(fitted.values()), list(choices.values()), splits.total)
        pca = fitted[PCA] if PCA in fitted else pca_subspace(splits.total, self.rank)
        return Election(found, voters, choices, splits.total, subspace, pca)

    def expected_gain(self, data: FitData) -> Expected:
        r"""Return the part of PCA's risk that new rows are spared.

        Five times the choice is made without a block of rows, the other blocks being its folds, and judged by
        the block. With :math:`d_i` what row i loses by PCA less what it loses by the choice, and
        :math:`l_i` what it loses by PCA, the gain is

        .. math::

            \frac{n_{\mathrm{training}}}{n} \, \frac{\sum_i d_i}{\sum_i l_i},

        since gains fall in proportion to the number of rows fitted. Its standard error is that of the mean of
        :math:`d_i`, or of their sums over groups, times
        :math:`(1 + n_{\mathrm{training}}^{-1} n)^{1/2}` for the overlap of training sets (Nadeau and Bengio,
        2003). NaN where the rows, or groups of rows, are too few.
        """
        assert data.reweighter is not None
        rows = data.reweighter.in_memory()
        block_of = _blocks_of(rows)
        sizes = np.bincount(block_of)
        if len(sizes) < 3 or rows.n_samples - np.sort(sizes)[-2:].sum() < max(self.rank, 2):
            return Expected()
        losses = np.empty((rows.n_samples, 2))
        for block in range(len(sizes)):
            losses[block_of == block] = self._losses(rows, block_of, block)
        of_pca, gains = losses[:, 0].sum(), losses[:, 0] - losses[:, 1]
        if of_pca <= 0:
            return Expected(0.0, 0.0)
        part = 1 - 1 / len(sizes)
        # Rows of a group vary together, so the group counts as one.
        sums = gains if rows.groups is None else np.bincount(rows.groups, gains)
        error = sqrt((1 + 1 / part) * len(sums) * sums.var(ddof=1))
        return Expected(float(part * gains.sum() / of_pca), float(part * error / of_pca))

    def _losses(self, rows: RowsInMemory, block_of: Indices, block: int) -> Array:
        """Return what each row of a block loses by PCA and by the choice of the other rows."""
        others, held_out = np.flatnonzero(block_of != block), np.flatnonzero(block_of == block)
        folds = block_of[others]
        splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]
        part = rows.some(others, splits)
        data = FitData(part.splits, len(others), part.splits.fewest_training_rows, float, reweighter=part)
        election = self.elect(data, warn=False)
        held = rows.rows.in_rows(held_out).in_unit(election.total.unit)
        ratio = election.total.unit / rows.splits.total.unit  # a power of two, and mostly 1
        return row_losses(held, [election.pca, election.subspace], election.total.mean) * ratio * ratio


def _electorate(data: FitData) -> tuple[Splits, Voters]:
    """Return the splits of the rows, and who votes: rows where they are few and at hand, or whole splits."""
    rows = data.reweighter
    if rows is None or not (rows.has_few_rows and rows.is_at_hand):
        return data.moments, Voters.of_splits(data.moments.n_splits)
    few = rows.in_memory()
    return few.splits.keep_held_out_rows(), Voters.of_rows(few.splits.held_out_rows, few.groups)


def _blocks_of(rows: RowsInMemory) -> Indices:
    """Return the block of each row; groups stay whole."""
    units = np.arange(rows.n_samples) if rows.groups is None else rows.groups
    n_blocks = min(_BLOCKS, len(np.unique(units)))
    block_of = np.zeros(rows.n_samples, dtype=np.intp)
    if n_blocks > 1:
        for block, (_, held_out) in enumerate(make_splits(n_blocks, rows.n_samples, groups=rows.groups)):
            block_of[held_out] = block
    return block_of
