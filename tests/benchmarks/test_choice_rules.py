"""Rules of choice on surfaces whose right answer is known."""

import numpy as np
import pytest

from attenua._select.guard import variance_noise
from attenua.studies.hindsight import ALPHAS, TEMPERINGS
from research.choice_rules import (
    RULES,
    Case,
    bounded,
    coarse_to_fine,
    guarded,
    minimum,
    nearest_to_pca,
    one_strength,
    plug_in,
    strongest,
    variance_intensity,
)
from research.surfaces import Surface

GRID = TEMPERINGS[:, None], ALPHAS


def case_with(risk, noise=0.0, n_repeats=3, n_folds=5, seed=0):
    """Return a case whose risks are a surface plus, in every split, noise that grows with both strengths."""
    rng = np.random.default_rng(seed)
    tilt = rng.standard_normal((n_repeats, n_folds, 1, 1))
    held = 10 + risk + noise * tilt * (GRID[0] + GRID[1])
    X = rng.standard_normal((40, 6)) @ np.diag([3, 2, 1, 1, 1, 1])
    return Case(Surface(held, np.full((n_repeats, n_folds), 8), risk, -1.0), TEMPERINGS, X, 2)


def bowl(tempering, alpha):
    return (GRID[0] - tempering) ** 2 + (GRID[1] - alpha) ** 2


def pair_at(choice):
    return TEMPERINGS[choice[0]], ALPHAS[choice[1]]


@pytest.mark.parametrize("name", RULES)
def test_every_rule_names_a_pair_of_the_grid(name):
    rule = RULES[name]
    row, column = rule.choose(case_with(bowl(0.5, 0.4), 0.1), 2)
    assert 0 <= row < len(TEMPERINGS)
    assert 0 <= column < len(ALPHAS)


# Bounds depend on the rows, whose variances are unequal here.
@pytest.mark.parametrize("name", [n for n in RULES if RULES[n].n_temperings > 1 and "bounded" not in n])
def test_without_noise_all_that_compare_find_the_bottom(name):
    chosen = pair_at(RULES[name].choose(case_with(bowl(0.5, 0.4)), 3))
    assert np.abs(np.subtract(chosen, (0.5, 0.4))).max() <= 0.05


# Rules that take the strongest pair lean away from PCA by design.
@pytest.mark.parametrize("name", [n for n in RULES if RULES[n].validates and not n.startswith("strongest")])
def test_where_pca_is_best_and_all_agree_it_is_kept(name):
    assert RULES[name].choose(case_with(GRID[0] + GRID[1]), 3) == (0, 0)


def test_the_paired_error_is_that_of_nadeau_and_bengio():
    case = case_with(bowl(0.5, 0.4), 0.3)
    difference, error = case.paired(2, (0, 0))
    splits = case.surface.held[:2, :, 4, 8].ravel() - case.surface.held[:2, :, 0, 0].ravel()
    assert difference[4, 8] == pytest.approx(splits.mean())
    assert error[4, 8] == pytest.approx(np.sqrt((1 / 10 + 1 / 4) * splits.var(ddof=1)))


def test_a_guard_returns_to_pca_only_where_the_gain_is_small_against_its_error():
    case = case_with(0.2 * bowl(0.5, 0.4), 0.5)
    best = minimum(case, 3)
    difference, error = case.paired(3, (0, 0))
    ratio = -difference[best] / error[best]
    assert ratio > 0
    assert guarded(0.9 * ratio)(case, 3) == best
    assert guarded(1.1 * ratio)(case, 3) == (0, 0)


def test_leaning_rules_stay_within_the_error():
    case = case_with(bowl(0.5, 0.4), 0.4)
    best = minimum(case, 3)
    difference, error = case.paired(3, best)
    weak, strong = nearest_to_pca(case, 3), strongest(1.0)(case, 3)
    for pair in (weak, strong):
        assert difference[pair] <= error[pair] or pair == best
    assert case.sizes[weak] <= case.sizes[best] <= case.sizes[strong]


def test_bounds_hold_and_a_wide_one_does_nothing():
    case = case_with(bowl(0.5, 0.4))
    bound = variance_noise(case.X.var(axis=0), len(case.X))
    assert bound < 0.3
    assert max(pair_at(bounded(1.0)(case, 3))) <= bound
    assert bounded(100.0)(case, 3) == minimum(case, 3)


def test_coarse_to_fine_reaches_the_eighths():
    assert pair_at(coarse_to_fine(case_with(bowl(0.625, 0.4)), 1)) == (0.625, 0.4)


def test_one_strength_does_not_temper():
    assert one_strength(case_with(bowl(0.5, 0.4)), 1)[0] == 0


def test_the_intensity_is_one_for_equal_variances_and_small_for_clearly_unequal_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    assert variance_intensity(X) > 0.8
    assert variance_intensity(X * np.linspace(0.5, 8, 30)) < 0.2
    assert variance_intensity(np.repeat(X[:, :1], 3, axis=1)) == 1


def test_plug_in_takes_the_least_of_the_theory():
    case = case_with(bowl(0.5, 0.4))
    row, column = plug_in(case, 1)
    assert 0 <= row < len(TEMPERINGS)
    assert 0 <= column < len(ALPHAS)


def test_costs_count_the_subspaces_of_all_splits_and_the_refit():
    assert RULES["least risk"].eigenproblems(5, 4) == 9 * 22 * 5 * 4 + 1
    assert RULES["analytic tempering and alpha"].eigenproblems(5, 4) == 1
