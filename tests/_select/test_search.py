"""The search, step by step, with splits whose risks are made up."""

import numpy as np
import pytest

from attenua import CorrectedPCACV
from attenua._correct.registry import CORRECTIONS, Strengths
from attenua._data.opening import open_for_cv
from attenua._select.comparison import FoldRisk
from attenua._select.rule import PCA
from attenua._select.search import StepSearch
from attenua._select.votes import Voters
from tests.helpers import spiked_rows

X = spiked_rows(40, 5)


class MadeUp:
    """A search among candidates whose risks on every split are known; each split holds one voter out."""

    base, prepared, rounding_scale, least_gain, unit = PCA, {}, 10.0, 1e-4, ""

    def __init__(self, risk_of, *, n_splits=4, held=None):
        self.data = data = open_for_cv(CorrectedPCACV(cv=n_splits), X)
        self.held = np.full(n_splits, 10.0) if held is None else np.asarray(held, dtype=float)
        self.risk_of, self.asked = risk_of, []
        voters = Voters.of_rows(np.arange(n_splits)[:, None], None)
        self.search = StepSearch(data.moments, self, voters)

    def judge(self, splits, candidate, present, goes_on):
        self.asked.append(candidate)
        found = [
            FoldRisk(j, np.array([[risk]]), self.held[j], 30.0)
            for j, risk in enumerate(self.risk_of(candidate))
        ]
        return found if goes_on is None or goes_on(found[:2]) else found[:2]

    def forget_all_but(self, present):
        pass

    def reported(self, risks):
        return risks

    def result(self, *corrections):
        for correction in corrections:
            self.search.step(correction, CORRECTIONS[correction].strengths)
        return self.search.result()


def constant(n_splits=4, **falls):
    """Risks of 10 less what each correction takes off, the same on every split, times a strength of 1."""

    def risk_of(candidate):
        return np.full(n_splits, 10.0 - sum(falls.get(name, 0.0) * s for name, s in candidate.items()))

    return risk_of


def taken(result):
    """What the steps take."""
    return {step.correction: step.best for step in result.steps if step.best}


def test_nothing_is_better_than_pca():
    result = MadeUp(constant()).result("tempering", "damping")
    assert [(step.best, step.gain) for step in result.steps] == [(0, 0), (0, 0)]


def test_steps_build_on_each_other():
    made = MadeUp(constant(tempering=1.0, attenuation=2.0))
    result = made.result("tempering", "attenuation", "damping")
    assert taken(result) == {"tempering": 1.0, "attenuation": 1.0}
    assert [step.gain for step in result.steps] == pytest.approx([0.1, 0.2, 0.0])
    assert [step.risks[0] for step in result.steps] == pytest.approx([10, 9, 7])
    # No candidate is judged twice, and those of a step have the strengths of the steps before.
    assert len(made.asked) == len(set(made.asked)) == 1 + 3 + 4 + 1
    # All but the last, whose first splits showed that it gains nothing, are put to the vote.
    assert result.candidates == made.asked[:-1]
    assert result.candidates[0] == PCA


def test_the_standard_error_of_a_step():
    """Four splits whose differences are 1 plus and minus one half."""
    differences = 1.0 + 0.5 * np.array([1.0, -1.0, 1.0, -1.0])
    result = MadeUp(lambda c: 10.0 - differences * (c.damping == 0.1)).result("damping")
    (step,) = result.steps
    assert step.standard_error == pytest.approx(np.sqrt((1 / 4 + 10 / 30) * 1 / 3) / 10)
    assert (step.best, step.gain) == (0.1, pytest.approx(0.1))


def test_the_choice_is_compared_without_each_of_its_corrections():
    made = MadeUp(constant(tempering=1.0, damping=2.0))
    grids = {"tempering": (0.0, 1.0), "damping": (0.0, 1.0)}
    made.search.take_steps(made.data, grids)
    candidates = made.search.result().candidates
    assert candidates[-1] == Strengths(damping=1.0)
    assert set(candidates) == {Strengths(tempering=t, damping=d) for t in (0, 1.0) for d in (0, 1.0)}


def test_risks_are_pooled_over_held_out_rows():
    def risk_of(candidate):
        return np.array([10.0, 20.0, 30.0]) - np.array([3.0, -1.0, -1.0]) * (candidate.damping == 0.1)

    held = [10.0, 1.0, 1.0]
    result = MadeUp(risk_of, n_splits=3, held=held).result("damping")
    assert taken(result) == {"damping": 0.1}
    np.testing.assert_allclose(result.risk[0], (100 + 20 + 30) / 12)
    assert result.steps[0].gain == pytest.approx((30 - 2) / 150)
    np.testing.assert_allclose(result.risk_folds[:, 0], [10, 20, 30])


def test_ties_and_rounding_go_to_the_smaller_strength():
    def risk_of(candidate):
        return np.full(4, 10.0 - (candidate.damping > 0) - 1e-13 * candidate.damping)

    assert taken(MadeUp(risk_of).result("damping")) == {"damping": 0.1}
    nothing = MadeUp(lambda c: np.full(4, 10.0 - 1e-13 * c.damping)).result("damping")
    assert taken(nothing) == {}


@pytest.mark.parametrize(("gain", "chosen"), [(0.9e-4, 0.0), (1.1e-4, 0.1)])
def test_a_step_must_gain_what_matters(gain, chosen):
    """The risk of PCA is 10, and the least gain that matters 1e-4 of it. Nothing after the first is tried."""
    made = MadeUp(lambda c: np.full(4, 10.0 * (1 - gain * (c.damping > 0))))
    assert made.result("damping").steps[0].best == chosen
    assert len(made.asked) == 2 + (chosen > 0)


@pytest.mark.parametrize(("losses", "is_dropped"), [((0.5, 1.0), True), ((0.1, 1.0), False)])
def test_a_candidate_that_is_clearly_worse_is_judged_by_its_first_splits_only(losses, is_dropped):
    """The mean loss on two splits is 3 or 1.2 standard errors from nothing; two are clear."""
    made = MadeUp(lambda c: 10.0 + np.array([*losses, 0.0, 0.0]) * (c.damping > 0))
    result = made.result("damping")
    assert (len(result.candidates), taken(result)) == (2 - is_dropped, {})
    # What it loses on these splits stands for all.
    assert result.steps[0].risks == pytest.approx((10.0, 10.0 + sum(losses) / (2 if is_dropped else 4)))


def test_no_risk_at_all():
    result = MadeUp(lambda candidate: np.zeros(4)).result("tempering", "attenuation", "damping")
    assert taken(result) == {}
    assert all(np.isfinite((step.gain, step.standard_error)).all() for step in result.steps)


def test_what_is_left_out_is_noted():
    made = MadeUp(constant())
    made.search.take_steps(made.data, {"smoothing": (0.0, 1.0)})
    (step,) = made.result().steps
    assert (step.correction, step.strengths) == ("smoothing", ())
    assert step.why == "left out: neighbours is not given"


def test_strengths_are_compared_up_to_the_first_that_is_worse():
    def risk_of(candidate):
        place = CORRECTIONS["damping"].strengths.index(candidate.damping)
        return np.array([[10, 9, 8, 9, 0], [10, 9, 9, 9, 9], [10, 9, 9, 9, 9], [10, 9, 8, 9, 6]])[:, place]

    (step,) = MadeUp(risk_of).result("damping").steps
    # The sums of risks are 40, 36, 34, 36: the search stops before 24.
    assert (step.strengths, step.best) == ((0.0, 0.1, 0.25, 0.5), 0.25)


def test_rows_are_read_no_more_than_needed():
    risks = {0.0: 10.0, 0.25: 9.0, 0.5: 9.5, 1.0: 7.0}
    made = MadeUp(lambda candidate: np.full(4, risks[candidate.row_tempering]))
    readings = []

    class Noted(dict):
        def __getitem__(self, strength):
            readings.append(strength)
            return open_for_cv(CorrectedPCACV(cv=4), X).moments

    made.search.step("row_tempering", tuple(risks), Noted())
    (step,) = made.search.result().steps
    assert step.strengths == (0.0, 0.25, 0.5)
    assert readings == [0.25, 0.5]
    assert step.best == 0.25
    # Later steps go on from it.
    made.search.step("damping", (0.0, 0.5))
    assert made.asked[-1] == Strengths(row_tempering=0.25, damping=0.5)
