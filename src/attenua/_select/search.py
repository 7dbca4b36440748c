r"""The search for strengths: one correction after another, each at the strength that held-out rows prefer.

From ordinary PCA on (or from the shrinkage of Ledoit and Wolf, for a whole covariance), a step compares the
strengths of one correction at the strengths chosen so far: from the present one upwards or downwards, as long
as the risk over all held-out rows falls by a part that matters. A candidate whose first splits show clearly
that it does not is judged no further. At the end, the choice is compared with itself less each of its
corrections. All candidates that were judged by all rows are then put to the vote
(:mod:`~attenua._select.votes`).
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import ALL_CORRECTIONS, SEARCH_ORDER, Strengths
from attenua._data.checks import caller_level
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._data.splits import SplitPair, Splits
from attenua._select.comparison import (
    ROUNDING,
    FoldRisk,
    gain_error,
    held_out_ratio,
)
from attenua._select.judges import Judge
from attenua._select.progress import in_parts
from attenua._select.steps import Step, Steps
from attenua._select.votes import Voters

Array = NDArray[np.float64]

_PLAIN = Strengths()  # of rows that have no weights
# A candidate that gains too little even with this many standard errors added is judged no further.
_CLEAR = 2.0


@dataclass(frozen=True)
class SearchResult:
    """What a search compared."""

    steps: Steps
    candidates: list[Strengths]  # all that were compared, the judge's base first
    losses: Array  # of each voter and candidate: sum over its held-out rows
    risk: Array  # of each candidate: mean over all held-out rows
    risk_folds: Array  # of each split and candidate: mean over its held-out rows
    n_tied: int  # training sets in which the cut falls on a tie for the base


def nothing_compared(base: Strengths) -> SearchResult:
    """Return the result where no rows are held out: what was not measured is NaN."""
    unknown = np.full((1, 1), np.nan)
    return SearchResult(Steps([]), [base], np.zeros((0, 1)), unknown[0], unknown, 0)


class StepSearch:
    """The search for strengths. The splits must keep their held-out rows."""

    def __init__(self, splits: Splits, judge: Judge, voters: Voters):
        self._judge, self._voters = judge, voters
        self._splits = {_PLAIN: splits.keep_pairs()}
        self._folds: dict[Strengths, list[FoldRisk]] = {}
        self._losses: dict[Strengths, Array] = {}
        self._steps: list[Step] = []
        self._present = judge.base
        self._compare(judge.base, judge.base)

    def take_steps(
        self,
        data: FitData,
        grids: Mapping[str, Sequence[float]],
        names: Any = None,
        *,
        order: Sequence[str] = SEARCH_ORDER,
        warn: bool = True,
    ) -> None:
        """Take one step for each correction of `grids`, in an order, or note why it is left out.

        Warnings, if wanted, quote the `names` of columns.
        """
        names_in_order = [name for name in order if name in grids]
        for name in in_parts(names_in_order, len(names_in_order), str):
            correction = ALL_CORRECTIONS[name]
            if correction.needs and name not in self._judge.prepared:
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
            without = self._present.replace(**{name: ALL_CORRECTIONS[name].neutral})
            self._compare(without, self._present)

    def _usable(
        self, name: str, strengths: Sequence[float], data: FitData, names: Any, warn: bool
    ) -> Sequence[float]:
        """Return the strengths below the first that cannot be used on these rows, and note why."""
        for place, strength in enumerate(strengths[1:], start=1):
            limit = ALL_CORRECTIONS[name].limit(strength, data, names)
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
        """Compare strengths of a correction, at those chosen so far of the others, while the risk falls.

        They go down from the present strength, and up if that was no better. For a correction of rows,
        `reweighted` has the splits at each strength above 0.
        """
        before = self._present
        start = best = strengths.index(before[correction])
        risks = {start: self._risk_of(before)}
        for places in (range(start - 1, -1, -1), range(start + 1, len(strengths))):
            for place in in_parts(places, len(strengths), lambda place: f"strength {strengths[place]:g}"):
                if reweighted is not None:
                    weights = Strengths(**{correction: strengths[place]})
                    self._splits[weights] = reweighted[strengths[place]].keep_pairs()
                candidate = before.replace(**{correction: strengths[place]})
                rival = before.replace(**{correction: strengths[best]})
                risks[place] = self._compare(candidate, before, rival)
                if risks[place] >= risks[best] - self._least_gain:
                    break
                best = place
            if best != start:
                break
        compared = {strengths[place]: risks[place] for place in sorted(risks)}
        self._record(correction, compared, strengths[best])
        self._forget()

    @property
    def _least_gain(self) -> float:
        """By how much a risk must be lower to count as lower."""
        of_base = self._risk_of(self._judge.base)
        return max(self._judge.least_gain * of_base, ROUNDING * self._judge.rounding_scale)

    def _record(self, correction: str, risks: Mapping[float, float], best: float) -> None:
        """Take the best strength of a step, and note what it gains."""
        before, values = self._present, np.array(list(risks.values()))
        self._present = before.replace(**{correction: best})
        differences = self._risks(self._present) - self._risks(before)
        error = gain_error(differences, held_out_ratio(self._folds[self._judge.base]))
        self._steps.append(
            Step(
                correction,
                tuple(risks),
                tuple(float(risk) for risk in self._judge.reported(values)),
                best,
                self._gain(before, self._present),
                float(error) / self._whole,
                unit=self._judge.unit,
            )
        )

    def _gain(self, before: Strengths, after: Strengths) -> float:
        return (self._risk_of(before) - self._risk_of(after)) / self._whole

    @property
    def _whole(self) -> float:
        """What gains are parts of."""
        return 1.0 if self._judge.unit else self._risk_of(self._judge.base) or 1.0

    def _forget(self) -> None:
        """Free what no later step needs; the total of any row weights may still be needed."""
        for of_rows in set(self._splits) - {self._present.of_kind("rows"), _PLAIN}:
            self._splits[of_rows].forget_pairs()
        self._judge.forget_all_but(self._present)

    def total(self, choice: Strengths) -> Moments:
        """Return the moments of all rows, with the row weights of a choice."""
        return self._splits[choice.of_kind("rows")].total

    def pairs(self, choice: Strengths) -> Iterator[SplitPair]:
        """Yield both sides of every split, with the row weights of a choice."""
        return self._splits[choice.of_kind("rows")].pairs()

    def result(self) -> SearchResult:
        """Return what was found."""
        risk_folds = np.column_stack([[fold.reported[0] for fold in folds] for folds in self._folds.values()])
        held = [fold.held for fold in self._folds[self._judge.base]]
        risk = np.average(risk_folds, axis=0, weights=held)
        return SearchResult(
            Steps(self._steps),
            list(self._folds),
            np.column_stack(list(self._losses.values())),
            self._judge.reported(risk),
            self._judge.reported(risk_folds),
            sum(fold.is_tied for fold in self._folds[self._judge.base]),
        )

    def _compare(self, candidate: Strengths, present: Strengths, rival: Strengths | None = None) -> float:
        """Judge a candidate not far from the present one, if that is not done yet, and return its risk.

        If its first splits show that it is not better than a rival by a part that matters, the others are
        skipped. Then it is no candidate in the vote, and what it loses more on these splits stands for all.
        """
        if candidate not in self._folds:
            splits = self._splits[candidate.of_kind("rows")]
            goes_on = None if rival is None else partial(self._may_gain, rival=rival)
            found = self._judge.judge(splits, candidate, present, goes_on)
            if rival is not None and len(found) < splits.n_splits:
                more = sum(_sums(own).sum() - _sums(its).sum() for own, its in self._pairs(found, rival))
                return self._risk_of(rival) + float(more) / sum(fold.held for fold in found)
            self._folds[candidate] = found
            self._losses[candidate] = self._voters.added([_sums(fold) for fold in found])
        return self._risk_of(candidate)

    def _may_gain(self, found: list[FoldRisk], rival: Strengths) -> bool:
        """Whether a candidate may be better than a rival by a part that matters, by its first splits."""
        gains = [_sums(its) - _sums(own) for own, its in self._pairs(found, rival)]
        by_voter = self._voters.seen(gains)
        n = len(by_voter)
        least = self._least_gain * sum(fold.held for fold in found)
        return n < 2 or bool(by_voter.sum() + _CLEAR * sqrt(n) * by_voter.std(ddof=1) > least)

    def _pairs(self, found: list[FoldRisk], rival: Strengths) -> Iterable[tuple[FoldRisk, FoldRisk]]:
        """Return what a candidate loses on the first splits, and what a rival loses there."""
        return zip(found, self._folds[rival], strict=False)

    def _risks(self, candidate: Strengths) -> Array:
        """Return the risk of a candidate on every split."""
        return np.array([fold.risk[0] for fold in self._folds[candidate]])

    def _risk_of(self, candidate: Strengths) -> float:
        """Return the risk of a candidate over all held-out rows."""
        held = np.array([fold.held for fold in self._folds[candidate]])
        return float(held @ self._risks(candidate) / held.sum())


def _sums(fold: FoldRisk) -> Array:
    """Return what each line of the losses of a split adds to the sum over all held-out rows."""
    weights = fold.held / len(fold.losses) if fold.weights is None else fold.weights
    sums: Array = fold.losses[:, 0] * weights
    return sums
