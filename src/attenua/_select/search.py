r"""The search for strengths: one correction after another, each taken if held-out rows say so clearly.

From ordinary PCA on, a step compares the strengths of one correction at the strengths chosen so far: from 0
upwards, as long as the risk falls. It is taken if :math:`-\bar d > c\, \mathrm{se}`, with the mean
:math:`\bar d` over splits of the risk of the best of them less that of the present candidate, its standard
error (:func:`~attenua._select.comparison.gain_error`) and the guard :math:`c`. Corrections of variances move
the target only where variances differ for a reason: for them :math:`c` is multiplied by :math:`1 - \lambda`,
the part of the spread of the sample variances that noise does not explain.
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
    gain_error,
    held_out_ratio,
    held_out_risks,
    smallest_strength_at_minimum,
)
from attenua._select.rule import PCA, CorrectedRule
from attenua._select.steps import Step, Steps
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]

# Subspaces of the present candidate are kept, to begin others from, where splits are no more than this.
_KEPT_SPLITS = 20


@dataclass(frozen=True)
class SearchResult:
    """What a search found."""

    chosen: Strengths  # by all splits
    choices: tuple[Strengths, ...]  # without each split; `chosen` alone where splits are too few
    steps: Steps  # those that led to `chosen`
    candidates: list[Strengths]  # all that were compared, PCA first
    risk: Array  # of each candidate: mean over all held-out rows
    risk_folds: Array  # of each split and candidate: mean over its held-out rows
    gain: float  # part of PCA's held-out risk that `chosen` removes
    left_out_gain: float  # the same, but with each split judged by the choice made without it
    held_out_ratio: float  # mean over the splits of held-out rows per training row


class StepSearch:
    """The search for strengths. It takes the parameters of columns from a rule, not its strengths.

    A gain must exceed `guard` standard errors. `noise` is the part of the spread of the sample variances that
    sampling noise explains.
    """

    def __init__(
        self,
        splits: Splits,
        rule: CorrectedRule,
        rank: int,
        *,
        guard: float,
        noise: float,
        n_jobs: Any = None,
    ):
        self._rule, self._rank, self._n_jobs = rule, rank, n_jobs
        self._guard, self._noise = guard, noise
        self._unit = splits.total.unit
        self._total_variance = splits.total.total_variance
        self._splits = {PCA: splits.keep_pairs()}
        self._risks: dict[Strengths, Array] = {}
        self._subspaces: dict[Strengths, list[Subspace]] = {}
        self._held = np.ones(splits.n_splits)
        self._held_out_ratio = 0.0
        self._steps: list[Step] = []
        J = splits.n_splits
        # The first choice is made by all splits, the others without one each.
        self._judges = [np.ones(J, dtype=bool)]
        if J > 2:
            self._judges += list(~np.eye(J, dtype=bool))
        self._present = [PCA] * len(self._judges)
        self._compare(PCA, PCA)

    def take_steps(
        self, data: FitData, grids: Mapping[str, Sequence[float]], parameters: Mapping[str, Any], names: Any
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
            strengths = self._usable(name, grids[name], data, names)
            if correction.kind == "rows" and len(strengths) > 1:
                assert correction.apply is not None
                reweighted = correction.apply(data.reweighter, strengths[1:])
                self.step(name, strengths, dict(zip(strengths[1:], reweighted, strict=True)))
            elif len(strengths) > 1 or len(grids[name]) == 1:
                self.step(name, strengths)

    def _usable(self, name: str, strengths: Sequence[float], data: FitData, names: Any) -> Sequence[float]:
        """Return the strengths below the first that cannot be used on these rows, and note why."""
        for place, strength in enumerate(strengths[1:], start=1):
            limit = CORRECTIONS[name].limit(strength, data, names)
            if limit is None:
                continue
            if place == 1:
                self._leave_out(name, limit.why)
            if limit.warn:
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
        for number in range(len(self._judges)):
            step = self._judged(number, correction, compared[number])
            if number == 0:
                self._steps.append(step)
            if step.taken:
                self._present[number] = self._present[number].replace(**{correction: step.best})
        self._forget()

    def _forget(self) -> None:
        """Free what no later step needs."""
        for of_rows in set(self._splits) - {present.of_kind("rows") for present in self._present} - {PCA}:
            del self._splits[of_rows]
        for candidate in set(self._subspaces) - set(self._present):
            del self._subspaces[candidate]

    def total(self, choice: Strengths) -> Moments:
        """Return the moments of all rows, with the row weights of a choice."""
        return self._splits[choice.of_kind("rows")].total

    def result(self) -> SearchResult:
        """Return what was found."""
        candidates = list(self._risks)
        risk_folds = np.column_stack([self._risks[candidate] for candidate in candidates])
        risk = self._held @ risk_folds / self._held.sum()
        chosen, *choices = self._present
        left_out = chosen_risk = float(risk[candidates.index(chosen)])
        if choices:
            own = [self._risks[choice][split] for split, choice in enumerate(choices)]
            left_out = float(self._held @ own / self._held.sum())
        return SearchResult(
            chosen,
            tuple(choices) or (chosen,),
            Steps(self._steps),
            candidates,
            in_data_units(risk, self._unit),
            in_data_units(risk_folds, self._unit),
            1 - chosen_risk / risk[0] if risk[0] > 0 else 0.0,
            1 - left_out / risk[0] if risk[0] > 0 else 0.0,
            self._held_out_ratio,
        )

    def _compare(self, candidate: Strengths, present: Strengths) -> None:
        """Judge a candidate by all splits, if that is not done yet; the present one is not far from it."""
        if candidate in self._risks:
            return
        splits, rule = self._splits[candidate.of_kind("rows")], self._rule.with_strengths([candidate])
        near = self._subspaces.get(present)
        found = held_out_risks(
            splits,
            lambda number: rule if near is None else replace(rule, near=near[number]),
            self._rank,
            self._n_jobs,
            keep=len(self._held) <= _KEPT_SPLITS,
        )
        # Rows that were read again may be in another unit; units are powers of two.
        ratio = splits.total.unit / self._unit
        self._risks[candidate] = np.array([fold.risk[0] for fold in found]) * ratio * ratio
        if all(fold.subspaces for fold in found):
            self._subspaces[candidate] = [fold.subspaces[0] for fold in found]
        if candidate == PCA:
            self._held = np.array([fold.held for fold in found])
            self._held_out_ratio = held_out_ratio(found)

    def _risk_of(self, candidate: Strengths, judges: NDArray[np.bool_]) -> float:
        held = self._held[judges]
        return float(held @ self._risks[candidate][judges] / held.sum())

    def _risks_by(self, number: int, correction: str, strengths: Sequence[float]) -> Array:
        """Return the risks of strengths of a correction, by the judges of one of the choices."""
        present, judges = self._present[number], self._judges[number]
        candidates = (present.replace(**{correction: strength}) for strength in strengths)
        return np.array([self._risk_of(candidate, judges) for candidate in candidates])

    def _judged(self, number: int, correction: str, strengths: Sequence[float]) -> Step:
        """Return the step that the judges of one of the choices decide on."""
        present, judges = self._present[number], self._judges[number]
        risks = self._risks_by(number, correction, strengths)
        best = smallest_strength_at_minimum(risks, self._total_variance)
        candidate = present.replace(**{correction: strengths[best]})
        differences = (self._risks[candidate] - self._risks[present])[judges]
        J = len(differences)
        error = float(gain_error(differences, self._held_out_ratio)) if J > 1 else 0.0
        guard = self._guard * (1 - self._noise if CORRECTIONS[correction].of_variances else 1)
        fall, unit = risks[0] - risks[best], self._risk_of(PCA, judges) or 1.0
        taken = bool(best > 0 and fall > guard * error and fall > ROUNDING * self._total_variance)
        return Step(
            correction,
            tuple(strengths),
            tuple(float(risk) for risk in in_data_units(risks, self._unit)),
            strengths[best],
            float(fall / unit),
            error / unit if J > 1 else float("nan"),
            guard * error / unit,
            taken,
            _reason(best, taken, guard, J),
        )


def _reason(best: int, taken: bool, guard: float, n_splits: int) -> str:
    if best == 0:
        return "no strength compared reconstructs held-out rows better"
    if n_splits == 1 or not guard:
        return "least risk; one split has no standard error" if guard else "least risk"
    relation = "exceeds" if taken else "is within"
    return f"the gain {relation} {guard:.2g} standard error{'' if f'{guard:.2g}' == '1' else 's'}"


def variance_noise(variances: Array, n: float) -> float:
    r"""Return the part of the spread of sample variances that their sampling noise explains, at most 1.

    .. math::

        \lambda = \min\Bigl\{1,\ \frac{\sum_i 2 v_i^2 / (n - 1)}{\sum_i (v_i - v_{\mathrm{median}})^2}\Bigr\},

    the intensity with which Opgen-Rhein and Strimmer (2007) shrink variances toward their median, with the
    noise of Gaussian rows, :math:`\mathrm{Var}(v_i) = 2 \sigma_i^4 / (n - 1)`, instead of an estimate from
    fourth moments. Variances that differ by no more than noise give 1: correcting them fully loses
    nothing. Clearly unequal ones give little, and a strong correction would move the target.
    """
    spread = np.sum((variances - np.median(variances)) ** 2)
    noise = 2 * np.sum(variances**2) / (n - 1)
    return float(noise / spread) if noise < spread else 1.0
