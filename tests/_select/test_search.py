"""The search, step by step, with splits whose risks are made up."""

import numpy as np
import pytest

from attenua import CorrectedPCACV
from attenua._correct.registry import CORRECTIONS, Strengths
from attenua._data.opening import open_for_cv
from attenua._select import search as search_module
from attenua._select.comparison import FoldRisk
from attenua._select.rule import CorrectedRule
from attenua._select.search import PCA, StepSearch, variance_noise
from tests.helpers import spiked_rows

X = spiked_rows(40, 5)


class MadeUp:
    """A search among candidates whose risks on every split are known."""

    def __init__(self, monkeypatch, risk_of, *, n_splits=4, guard=1.0, noise=0.0, held=None):
        self.data = data = open_for_cv(CorrectedPCACV(cv=n_splits), X)
        # In the unit of the moments.
        unit = data.moments.total.unit
        held = np.full(n_splits, 10.0) if held is None else np.asarray(held, dtype=float)

        def risks(splits, rule_of, *others, **options):
            candidates = list(rule_of(0).strengths)
            self.asked += candidates
            values = np.array([risk_of(candidate) for candidate in candidates]) / unit**2
            return [FoldRisk(j, values[:, j], held[j], 30.0) for j in range(n_splits)]

        self.asked = []
        monkeypatch.setattr(search_module, "held_out_risks", risks)
        rule = CorrectedRule([PCA])
        self.search = StepSearch(data.moments, rule, 2, guard=guard, noise=noise)

    def result(self, *corrections):
        for correction in corrections:
            self.search.step(correction, CORRECTIONS[correction].strengths)
        return self.search.result()


def constant(n_splits=4, **falls):
    """Risks of 10 less what each correction takes off, the same on every split, times a strength of 1."""

    def risk_of(candidate):
        return np.full(n_splits, 10.0 - sum(falls.get(name, 0.0) * s for name, s in candidate.items()))

    return risk_of


def test_nothing_is_better_than_pca(monkeypatch):
    result = MadeUp(monkeypatch, constant()).result("tempering", "damping")
    assert result.chosen == PCA
    assert result.choices == (PCA,) * 4
    assert (result.gain, result.left_out_gain) == (0, 0)
    assert [step.why for step in result.steps] == [
        "no strength compared reconstructs held-out rows better"
    ] * 2
    assert not any(step.taken for step in result.steps)


def test_steps_build_on_each_other(monkeypatch):
    made = MadeUp(monkeypatch, constant(tempering=1.0, attenuation=2.0))
    result = made.result("tempering", "attenuation", "damping")
    assert result.chosen == Strengths(tempering=1.0, attenuation=1.0)
    assert result.gain == pytest.approx(0.3)
    assert [step.gain for step in result.steps] == pytest.approx([0.1, 0.2, 0.0])
    assert [step.risks[0] for step in result.steps] == pytest.approx([10, 9, 7])
    # No candidate is judged twice, and those of a step have the strengths of the steps before.
    assert len(made.asked) == len(set(made.asked)) == 1 + 3 + 4 + 4
    assert result.candidates == made.asked
    assert result.candidates[0] == PCA


def noisy(fall, spread, n_splits=4):
    """Damping of any strength takes off a fall that differs between splits."""
    differences = fall + spread * np.resize([1.0, -1.0], n_splits)
    return lambda candidate: 10.0 - differences * (candidate.damping > 0) - candidate.damping * 1e-6


@pytest.mark.parametrize("guard", [0.0, 0.5, 1.0, 3.0])
def test_the_guard(monkeypatch, guard):
    """The standard error of four splits whose differences are 1 plus and minus one half."""
    error = np.sqrt((1 / 4 + 10 / 30) * 1 / 3)
    result = MadeUp(monkeypatch, noisy(1.0, 0.5), guard=guard).result("damping")
    (step,) = result.steps
    assert step.standard_error == pytest.approx(error / 10)
    assert step.needed == pytest.approx(guard * error / 10)
    assert step.gain == pytest.approx(0.1, abs=1e-6)
    assert step.taken == (guard * error < 1.0)
    assert (
        step.why
        == {
            0.0: "least risk",
            0.5: "the gain exceeds 0.5 standard errors",
            1.0: "the gain exceeds 1 standard error",
            3.0: "the gain is within 3 standard errors",
        }[guard]
    )


@pytest.mark.parametrize("correction", ["tempering", "attenuation", "damping"])
def test_corrections_of_variances_are_guarded_less_where_variances_are_noise(monkeypatch, correction):
    def risk_of(candidate):
        differences = np.array([2.0, -1.0, 2.0, -1.0])
        return 10.0 - differences * (getattr(candidate, correction) == 1.0)

    for noise in (0.0, 0.75, 1.0):
        (step,) = MadeUp(monkeypatch, risk_of, noise=noise).result(correction).steps
        part = 1.0 if correction == "damping" else 1 - noise
        assert step.needed == pytest.approx(part * step.standard_error)
        assert step.taken == (part * np.sqrt((1 / 4 + 1 / 3) * 3) < 0.5)


def test_every_split_is_left_out_once(monkeypatch):
    """One split alone speaks for damping: without it, nobody does."""

    def risk_of(candidate):
        return 10.0 - np.array([8.0, -1.0, -1.0, -1.0]) * (candidate.damping == 0.5)

    result = MadeUp(monkeypatch, risk_of, guard=0.0).result("damping")
    damped = Strengths(damping=0.5)
    assert result.chosen == damped
    assert result.choices == (PCA, damped, damped, damped)
    assert result.gain == pytest.approx(5 / 40)
    # The first split is judged by PCA, the others by what harms them.
    assert result.left_out_gain == pytest.approx(-3 / 40)


def test_candidates_of_all_choices_are_compared(monkeypatch):
    def risk_of(candidate):
        by_tempering = np.array([8.0, -1.0, -1.0, -1.0]) * (candidate.tempering == 0.5)
        return 10.0 - by_tempering - candidate.damping

    result = MadeUp(monkeypatch, risk_of, guard=0.0).result("tempering", "damping")
    assert result.choices[0] == Strengths(damping=1.0)
    assert result.choices[1] == Strengths(tempering=0.5, damping=1.0)
    found = set(result.candidates)
    assert {
        Strengths(tempering=t, damping=b) for t in (0, 0.5) for b in CORRECTIONS["damping"].strengths
    } <= found


@pytest.mark.parametrize("n_splits", [2, 3])
def test_two_splits_are_too_few_to_leave_one_out(monkeypatch, n_splits):
    result = MadeUp(monkeypatch, constant(n_splits, damping=1.0), n_splits=n_splits).result("damping")
    assert result.choices == (Strengths(damping=1.0),) * (1 if n_splits == 2 else 3)
    assert result.left_out_gain == result.gain == pytest.approx(0.1)


def test_risks_are_pooled_over_held_out_rows(monkeypatch):
    def risk_of(candidate):
        return np.array([10.0, 20.0, 30.0]) - np.array([3.0, -1.0, -1.0]) * (candidate.damping == 1.0)

    held = [10.0, 1.0, 1.0]
    result = MadeUp(monkeypatch, risk_of, n_splits=3, guard=0.0, held=held).result("damping")
    assert result.chosen.damping == 1.0
    np.testing.assert_allclose(result.risk[0], (100 + 20 + 30) / 12)
    assert result.gain == pytest.approx((30 - 2) / 150)
    np.testing.assert_allclose(result.risk_folds[:, 0], [10, 20, 30])


def test_ties_and_rounding_go_to_the_smaller_strength(monkeypatch):
    def risk_of(candidate):
        return np.full(4, 10.0 - (candidate.damping > 0.1) - 1e-13 * candidate.damping)

    result = MadeUp(monkeypatch, risk_of, guard=0.0).result("damping")
    assert result.chosen.damping == 0.25
    nothing = MadeUp(monkeypatch, lambda c: np.full(4, 10.0 - 1e-13 * c.damping), guard=0.0).result("damping")
    assert nothing.chosen == PCA


def test_no_risk_at_all(monkeypatch):
    result = MadeUp(monkeypatch, lambda candidate: np.zeros(4)).result("tempering", "attenuation", "damping")
    assert (result.chosen, result.gain, result.left_out_gain) == (PCA, 0.0, 0.0)
    assert all(np.isfinite((step.gain, step.standard_error, step.needed)).all() for step in result.steps)


def test_what_is_left_out_is_noted(monkeypatch):
    made = MadeUp(monkeypatch, constant())
    made.search.take_steps(made.data, {"smoothing": (0.0, 1.0)}, {"neighbours": None}, None)
    (step,) = made.result().steps
    assert (step.correction, step.strengths, step.taken) == ("smoothing", (), False)
    assert step.why == "left out: neighbours is not given"


def test_strengths_are_compared_up_to_the_first_that_is_worse(monkeypatch):
    """Each choice stops where its own judges see the risk rise."""

    def risk_of(candidate):
        place = CORRECTIONS["damping"].strengths.index(candidate.damping)
        return np.array([[10, 9, 8, 9, 0], [10, 9, 9, 9, 9], [10, 9, 9, 9, 9], [10, 9, 8, 7, 6]])[:, place]

    made = MadeUp(monkeypatch, risk_of, guard=0.0)
    (step,) = made.result("damping").steps
    assert step.strengths == CORRECTIONS["damping"].strengths
    assert step.best == 1.0
    # Without the last split the sums of risks are 30, 27, 26, 27: the search stops before 18.
    assert [choice.damping for choice in made.search.result().choices] == [1.0, 1.0, 1.0, 0.25]


def test_rows_are_read_no_more_than_needed(monkeypatch):
    risks = {0.0: 10.0, 0.25: 9.0, 0.5: 9.5, 1.0: 7.0}
    made = MadeUp(monkeypatch, lambda candidate: np.full(4, risks[candidate.row_tempering]))
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


def test_noise_explains_the_spread_of_equal_variances_and_not_of_clearly_unequal_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 100, 50))
    equal = [variance_noise(rows.var(axis=0), 100) for rows in X]
    # The expected ratio is close to 1: noise over its own realisation.
    assert np.mean(equal) > 0.9
    assert variance_noise(X[0].var(axis=0) * np.linspace(1, 9, 50) ** 2, 100) < 0.1
    assert variance_noise(np.ones(4), 10) == 1
    v = np.array([1.0, 2.0, 4.0])
    assert variance_noise(v, 101) == pytest.approx(2 * 21 / 100 / 5)
    assert variance_noise(7 * v, 101) == pytest.approx(variance_noise(v, 101))
