r"""The search for strengths: one correction after another, each at the strength that held-out rows prefer.

From ordinary PCA on, a step compares the strengths of one correction at the strengths chosen so far: from 0
upwards, as long as the risk falls. The first search is judged by all held-out rows, a few others by the rows
that single votes draw (:mod:`~attenua._select.votes`). All candidates that any of them compared are then
judged by all votes.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, Strengths, parameter_is_missing
from attenua._data.checks import caller_level
from attenua._data.moments import Moments, in_data_units
from attenua._data.opening import FitData
from attenua._data.splits import Splits
from attenua._select.comparison import (
    ROUNDING,
    FoldRisk,
    gain_error,
    held_out_ratio,
    held_out_risks,
    smallest_strength_at_minimum,
)
from attenua._select.rule import PCA, CorrectedRule
from attenua._select.steps import Step, Steps
from attenua._select.votes import Voters
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]

# Subspaces of the present candidate are kept, to begin others from, where splits are no more than this.
_KEPT_SPLITS = 20
# Votes that search for candidates of their own; all votes choose among all candidates.
_EXPLORERS = 2


@dataclass(frozen=True)
class SearchResult:
    """What a search compared, and what all held-out rows together chose."""

    chosen: Strengths  # by all held-out rows
    steps: Steps  # those that led to `chosen`
    candidates: list[Strengths]  # all that were compared, PCA first
    losses: Array  # of each voter and candidate: sum over its held-out rows
    risk: Array  # of each candidate: mean over all held-out rows
    risk_folds: Array  # of each split and candidate: mean over its held-out rows
    held_out_ratio: float  # mean over the splits of held-out rows per training row

    @property
    def gain(self) -> float:
        """Part of PCA's held-out risk that `chosen` removes."""
        of_pca, of_chosen = self.risk[0], self.risk[self.candidates.index(self.chosen)]
        return float(1 - of_chosen / of_pca) if of_pca > 0 else 0.0


class StepSearch:
    """The search for strengths. It takes the parameters of columns from a rule, not its strengths.

    The splits must keep their held-out rows, unless the voters are splits.
    """

    def __init__(self, splits: Splits, rule: CorrectedRule, rank: int, voters: Voters, *, n_jobs: Any = None):
        self._rule, self._rank, self._n_jobs = rule, rank, n_jobs
        self._voters = voters
        self._unit = splits.total.unit
        self._total_variance = splits.total.total_variance
        self._splits = {PCA: splits.keep_pairs()}
        self._folds: dict[Strengths, list[FoldRisk]] = {}
        self._losses: dict[Strengths, Array] = {}
        self._subspaces: dict[Strengths, list[Subspace]] = {}
        self._steps: list[Step] = []
        self._compare(PCA, PCA)
        sizes = voters.added([self._weights(fold) for fold in self._folds[PCA]])
        # The first judge is all held-out rows. A judge has a factor for what each voter loses.
        judges = np.vstack([np.ones(len(sizes)), voters.ballots()[:_EXPLORERS]])
        self._judges = judges / (judges @ sizes)[:, None]
        self._present = [PCA] * len(judges)

    def take_steps(
        self,
        data: FitData,
        grids: Mapping[str, Sequence[float]],
        parameters: Mapping[str, Any],
        names: Any = None,
        *,
        warn: bool = True,
    ) -> None:
        """Take one step for each correction of `grids`, or note why it is left out.

        `parameters` are those of the estimator, of which some corrections need one; warnings quote the
        `names` of columns.
        """
        for name in (name for name in SEARCH_ORDER if name in grids):
            correction = CORRECTIONS[name]
            if parameter_is_missing(name, parameters):
                self._leave_out(name, f"{correction.parameter} is not given")
                continue
            strengths = self._usable(name, grids[name], data, names, warn)
            if correction.kind == "rows" and len(strengths) > 1:
                assert correction.apply is not None
                reweighted = correction.apply(data.reweighter, strengths[1:])
                self.step(name, strengths, dict(zip(strengths[1:], reweighted, strict=True)))
            elif len(strengths) > 1 or len(grids[name]) == 1:
                self.step(name, strengths)

    def _usable(
        self, name: str, strengths: Sequence[float], data: FitData, names: Any, warn: bool
    ) -> Sequence[float]:
        """Return the strengths below the first that cannot be used on these rows, and note why."""
        for place, strength in enumerate(strengths[1:], start=1):
            limit = CORRECTIONS[name].limit(strength, data, names)
            if limit is None:
                continue
            if place == 1:
                self._leave_out(name, limit.why)
            if limit.warn and warn:
                reach = "left out" if place == 1 else f"tried up to {strengths[place - 1]:g} only"
                warnings.warn(f"{name} is {reach}: {limit.why}.", stacklevel=caller_level())
            return strengths[:place]
        return strengths

    def _leave_out(self, correction: str, why: str) -> None:
        self._steps.append(Step(correction, why=f"left out: {why}"))

    def step(
        self,
        correction: str,
        strengths: Sequence[float],
        reweighted: Mapping[float, Splits] | None = None,
    ) -> None:
        """Compare increasing strengths of a correction, at the strengths chosen so far, while the risk falls.

        For a correction of rows, `reweighted` has the splits at each strength above 0.
        """
        compared = [[0.0] for _ in self._judges]
        active = list(range(len(self._judges)))
        for strength in strengths[1:]:
            if reweighted is not None:
                self._splits[Strengths(**{correction: strength})] = reweighted[strength].keep_pairs()
            for present in dict.fromkeys(self._present[number] for number in active):
                self._compare(present.replace(**{correction: strength}), present)
            for number in list(active):
                compared[number].append(strength)
                before, last = self._risks_by(number, correction, compared[number][-2:])
                if last > before + ROUNDING * self._total_variance:
                    active.remove(number)
            if not active:
                break
        self._steps.append(self._step_of_all(correction, compared[0]))
        for number, own in enumerate(compared):
            best = smallest_strength_at_minimum(self._risks_by(number, correction, own), self._total_variance)
            self._present[number] = self._present[number].replace(**{correction: own[best]})
        self._forget()

    def _forget(self) -> None:
        """Free what no later step needs; the total of any row weights may still be needed."""
        for of_rows in set(self._splits) - {present.of_kind("rows") for present in self._present} - {PCA}:
            self._splits[of_rows].forget_pairs()
        for candidate in set(self._subspaces) - set(self._present):
            del self._subspaces[candidate]

    def total(self, choice: Strengths) -> Moments:
        """Return the moments of all rows, with the row weights of a choice."""
        return self._splits[choice.of_kind("rows")].total

    def result(self) -> SearchResult:
        """Return what was found."""
        folds = list(self._folds.values())
        risk_folds = np.array([[fold.risk[0] for fold in some] for some in folds]).T
        held = np.array([fold.held for fold in folds[0]])
        return SearchResult(
            self._present[0],
            Steps(self._steps),
            list(self._folds),
            np.column_stack(list(self._losses.values())),
            in_data_units(held @ risk_folds / held.sum(), self._unit),
            in_data_units(risk_folds, self._unit),
            held_out_ratio(folds[0]),
        )

    def _compare(self, candidate: Strengths, present: Strengths) -> None:
        """Judge a candidate by all splits, if that is not done yet; the present one is not far from it."""
        if candidate in self._folds:
            return
        splits, rule = self._splits[candidate.of_kind("rows")], self._rule.with_strengths([candidate])
        near = self._subspaces.get(present)
        found = held_out_risks(
            splits,
            lambda number: rule if near is None else replace(rule, near=near[number]),
            self._rank,
            self._n_jobs,
            keep=splits.n_splits <= _KEPT_SPLITS,
            by_rows=not self._voters.are_splits,
        )
        if all(fold.subspaces for fold in found):
            self._subspaces[candidate] = [fold.subspaces[0] for fold in found]
        # Rows that were read again may be in another unit; units are powers of two.
        ratio = splits.total.unit / self._unit
        found = [fold._replace(losses=fold.losses * ratio * ratio, subspaces=()) for fold in found]
        self._folds[candidate] = found
        self._losses[candidate] = self._voters.added(
            [self._weights(fold) * fold.losses[:, 0] for fold in found]
        )

    def _weights(self, fold: FoldRisk) -> Array:
        """Return the weight of each line of the losses of a split."""
        return np.full(len(fold.losses), fold.held / len(fold.losses))

    def _risks_by(self, number: int, correction: str, strengths: Sequence[float]) -> Array:
        """Return the risks of strengths of a correction, by one of the judges."""
        candidates = (self._present[number].replace(**{correction: strength}) for strength in strengths)
        return np.array([self._judges[number] @ self._losses[candidate] for candidate in candidates])

    def _step_of_all(self, correction: str, strengths: Sequence[float]) -> Step:
        """Return what all held-out rows say about the strengths of a correction."""
        risks = self._risks_by(0, correction, strengths)
        best = smallest_strength_at_minimum(risks, self._total_variance)
        folds = [self._folds[self._present[0].replace(**{correction: strengths[k]})] for k in (0, best)]
        before, after = (np.array([fold.risk[0] for fold in some]) for some in folds)
        of_pca = float(self._judges[0] @ self._losses[PCA]) or 1.0
        return Step(
            correction,
            tuple(strengths),
            tuple(float(risk) for risk in in_data_units(risks, self._unit)),
            strengths[best],
            float(risks[0] - risks[best]) / of_pca,
            float(gain_error(after - before, held_out_ratio(self._folds[PCA]))) / of_pca,
        )
