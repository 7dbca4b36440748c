r"""The search for strengths: one correction after another, each at the strength that held-out rows prefer.

From ordinary PCA on, a step compares the strengths of one correction at the strengths chosen so far: from 0
upwards, as long as the risk over all held-out rows falls. At the end, the choice is compared with itself less
each of its corrections. All these candidates are then put to the vote (:mod:`~attenua._select.votes`).
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, Strengths
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
        self._present = PCA
        self._compare(PCA, PCA)

    def take_steps(
        self,
        data: FitData,
        grids: Mapping[str, Sequence[float]],
        names: Any = None,
        *,
        warn: bool = True,
    ) -> None:
        """Take one step for each correction of `grids`, or note why it is left out.

        Warnings, if wanted, quote the `names` of columns.
        """
        for name in (name for name in SEARCH_ORDER if name in grids):
            correction = CORRECTIONS[name]
            if correction.needs and name not in self._rule.prepared:
                self._leave_out(name, f"{correction.parameter} is not given")
                continue
            strengths = self._usable(name, grids[name], data, names, warn)
            if correction.kind == "rows" and len(strengths) > 1:
                assert correction.apply is not None
                reweighted = correction.apply(data.reweighter, strengths[1:])
                self.step(name, strengths, dict(zip(strengths[1:], reweighted, strict=True)))
            elif len(strengths) > 1 or len(grids[name]) == 1:
                self.step(name, strengths)
        for name, _ in self._present.nonzero():
            self._compare(self._present.replace(**{name: 0.0}), self._present)

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
        present, risks = self._present, [self._risk_of(self._present)]
        for strength in strengths[1:]:
            if reweighted is not None:
                self._splits[Strengths(**{correction: strength})] = reweighted[strength].keep_pairs()
            candidate = present.replace(**{correction: strength})
            self._compare(candidate, present)
            risks.append(self._risk_of(candidate))
            if risks[-1] > risks[-2] + ROUNDING * self._total_variance:
                break
        best = smallest_strength_at_minimum(np.array(risks), self._total_variance)
        self._present = present.replace(**{correction: strengths[best]})
        differences = self._risks(self._present) - self._risks(present)
        of_pca = self._risk_of(PCA) or 1.0
        self._steps.append(
            Step(
                correction,
                tuple(strengths[: len(risks)]),
                tuple(float(risk) for risk in in_data_units(np.array(risks), self._unit)),
                strengths[best],
                (risks[0] - risks[best]) / of_pca,
                float(gain_error(differences, held_out_ratio(self._folds[PCA]))) / of_pca,
            )
        )
        self._forget()

    def _forget(self) -> None:
        """Free what no later step needs; the total of any row weights may still be needed."""
        for of_rows in set(self._splits) - {self._present.of_kind("rows"), PCA}:
            self._splits[of_rows].forget_pairs()
        for candidate in set(self._subspaces) - {self._present}:
            del self._subspaces[candidate]

    def total(self, choice: Strengths) -> Moments:
        """Return the moments of all rows, with the row weights of a choice."""
        return self._splits[choice.of_kind("rows")].total

    def result(self) -> SearchResult:
        """Return what was found."""
        risk_folds = np.column_stack([self._risks(candidate) for candidate in self._folds])
        risk = np.array([self._risk_of(candidate) for candidate in self._folds])
        return SearchResult(
            self._present,
            Steps(self._steps),
            list(self._folds),
            np.column_stack(list(self._losses.values())),
            in_data_units(risk, self._unit),
            in_data_units(risk_folds, self._unit),
            held_out_ratio(self._folds[PCA]),
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
        self._losses[candidate] = self._voters.added([_sums(fold) for fold in found])

    def _risks(self, candidate: Strengths) -> Array:
        """Return the risk of a candidate on every split."""
        return np.array([fold.risk[0] for fold in self._folds[candidate]])

    def _risk_of(self, candidate: Strengths) -> float:
        """Return the risk of a candidate over all held-out rows."""
        held = np.array([fold.held for fold in self._folds[candidate]])
        return float(held @ self._risks(candidate) / held.sum())


def _sums(fold: FoldRisk) -> Array:
    """Return what each line of the losses of a split adds to the sum over all held-out rows."""
    return fold.losses[:, 0] * (fold.held / len(fold.losses))
