"""The risk of all corrections: K against second derivatives of the exact risk, and against Monte Carlo."""

import itertools
from dataclasses import replace

import monte_carlo
import numpy as np
import pytest
from definitions import (
    coefficient,
    contaminated_powers,
    corrected,
    gaussian_fourth,
    line,
    moments_of_rows,
    rows_with_covariance,
    shortened_moments,
    student_powers,
)
from designs import balanced, leading_projector, moving, preserving

from attenua._correct.registry import CORRECTIONS, Strengths
from attenua.theory import (
    ContaminatedNormal,
    CorrectionMap,
    FourthMoments,
    Population,
    StudentT,
    draw_rows,
    sampling_coefficient,
)
from attenua.theory.cutoff import cut
from attenua.theory.laws import as_law

DESIGNS = {"balanced": (balanced(4), 2), "preserving": (preserving(1), 2), "moving": (moving(8), 2)}
STRENGTHS = {"attenuation": 0.4, "tempering": 0.6, "damping": 0.5, "smoothing": 0.6}
# Each correction of the matrix alone, and every combination of them.
COMBINATIONS = [
    {name: STRENGTHS[name] for name in names}
    for size in range(1, 5)
    for names in itertools.combinations(STRENGTHS, size)
]
# The same with groups of columns, where these matter.
CASES = [(strengths, False) for strengths in COMBINATIONS]
CASES += [(strengths, True) for strengths in COMBINATIONS if "attenuation" in strengths]


def groups_of(p):
    return np.array([0, 0, 1, 1, 1])[:p]


def population_of(S, d, grouped=False):
    return Population(S, d, neighbours="line", feature_groups=groups_of(len(S)) if grouped else None)


def by_differences(S, d, centre, fourth, grouped=False, **strengths):
    strengths = {name: value for name, value in strengths.items() if name != "row_tempering"}
    groups = groups_of(len(S)) if grouped else None
    return coefficient(S, centre, fourth, d, groups=groups, weights=line(len(S)), **strengths)


# --- K by second derivatives of the exact risk --------------------------------------------------------------


@pytest.mark.parametrize(("strengths", "grouped"), CASES, ids=str)
@pytest.mark.parametrize("design", DESIGNS)
def test_coefficient_is_half_the_mean_second_derivative_of_the_risk(design, strengths, grouped):
    S, d = DESIGNS[design]
    expected = by_differences(S, d, S, gaussian_fourth(S), grouped, **strengths)
    found = population_of(S, d, grouped).sampling_coefficient(**strengths)
    assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("kappa", [0.5, 1.0])
@pytest.mark.parametrize(
    "strengths", [{}, *({name: STRENGTHS[name]} for name in STRENGTHS), STRENGTHS], ids="+".join
)
@pytest.mark.parametrize(
    ("law", "mean_power"),
    [
        ("gaussian", lambda power: 1.0),
        (StudentT(5), student_powers(5)),
        (ContaminatedNormal(0.1, 4.0), contaminated_powers(0.1, 4.0)),
    ],
    ids=["gaussian", "t", "contaminated"],
)
def test_row_tempering_followed_by_other_corrections(law, mean_power, strengths, kappa):
    """Moments of the shortened rows in polar coordinates; with three columns these are exact."""
    S, d = np.array([[4.0, 1.5, 0.6], [1.5, 2.0, 0.9], [0.6, 0.9, 1.5]]), 1
    expected = by_differences(S, d, *shortened_moments(S, kappa, mean_power), **strengths)
    found = population_of(S, d).sampling_coefficient(row_tempering=kappa, law=law, **strengths)
    assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("grouped", [False, True], ids=["columns", "groups"])
@pytest.mark.parametrize("kappa", [0.0, 0.6])
@pytest.mark.parametrize(
    "strengths", [{}, *({name: STRENGTHS[name]} for name in STRENGTHS), STRENGTHS], ids="+".join
)
def test_law_of_rows(strengths, kappa, grouped):
    """Skewed rows, with row tempering too: their law is not elliptical, and moves the target by itself."""
    S, d = DESIGNS["moving"]
    X = rows_with_covariance(np.random.default_rng(5), 200, S)
    expected = by_differences(S, d, *moments_of_rows(X, kappa), grouped, **strengths)
    population = population_of(S, d, grouped)
    found = population.sampling_coefficient(row_tempering=kappa, law=X, **strengths)
    assert found == pytest.approx(expected, rel=2e-6)
    assert (population.bias(row_tempering=kappa, law=X) > 1e-6) == (kappa > 0)


@pytest.mark.parametrize("law", ["t10", "exponential", StudentT(7), ContaminatedNormal(0.2, 3.0)], ids=str)
@pytest.mark.parametrize("strengths", [{}, STRENGTHS], ids="+".join)
def test_other_laws(law, strengths):
    S, d = DESIGNS["moving"]
    if isinstance(law, str):
        values, V = np.linalg.eigh(S)
        R = (V * np.sqrt(values)) @ V.T
        kurtosis = {"t10": 1.0, "exponential": 6.0}[law]
        fourth = gaussian_fourth(S) + kurtosis * np.einsum("la,lb,lc,ld->abcd", R, R, R, R)
    else:
        mean_power = student_powers(7) if isinstance(law, StudentT) else contaminated_powers(0.2, 3.0)
        fourth = mean_power(2) * gaussian_fourth(S)
    population = population_of(S, d)
    expected = by_differences(S, d, S, fourth, **strengths)
    assert population.sampling_coefficient(law=law, **strengths) == pytest.approx(expected, rel=2e-6)
    moments = FourthMoments(fourth)
    assert population.sampling_coefficient(law=moments, **strengths) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("strengths", COMBINATIONS, ids=lambda strengths: "+".join(strengths))
def test_cost_of_the_moved_target(design, strengths):
    S, d = DESIGNS[design]
    T = corrected(S, weights=line(len(S)), **strengths)
    P, moved = leading_projector(S, d), leading_projector(T, d)
    population = population_of(S, d)
    np.testing.assert_allclose(population.moved_projector(**strengths), moved, atol=1e-11)
    assert population.bias(**strengths) == pytest.approx(np.sum(S * (P - moved)), abs=1e-12)
    assert population.preserves_target(**strengths) == (np.linalg.norm(P - moved) < 1e-9)


def test_adjacency_and_line_are_the_same_neighbours():
    S, d = DESIGNS["moving"]
    one, other = (Population(S, d, neighbours=neighbours) for neighbours in ("line", line(5)))
    for strengths in ({"smoothing": 0.8}, STRENGTHS):
        found, expected = (each.sampling_coefficient(**strengths) for each in (one, other))
        assert found == pytest.approx(expected, rel=1e-10)


# --- Monte Carlo --------------------------------------------------------------------------------------------


MONTE_CARLO = [
    monte_carlo.Setting("unequal noise", damping=0.5),
    monte_carlo.Setting("curves", smoothing=0.8),
    monte_carlo.Setting("curves", attenuation=0.5, tempering=0.5, damping=0.25, smoothing=0.5, groups=True),
    monte_carlo.Setting("unequal signal", "t, 3 df", row_tempering=0.75, tempering=0.5),
    monte_carlo.Setting("preserving", "contaminated", row_tempering=0.5, attenuation=0.5),
]


@pytest.mark.slow
@pytest.mark.parametrize("setting", MONTE_CARLO, ids=lambda setting: f"{setting.design}, {setting.words}")
def test_coefficient_against_monte_carlo(setting):
    of_rows = setting.needs_rows
    mean, error = monte_carlo.simulate(setting, *((3200, 1500) if of_rows else (12_800, 12_000)))
    _, K, _ = monte_carlo.expected(setting)
    assert abs(mean - K) < 4 * error
    assert error < (0.05 if of_rows else 0.02) * K


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        monte_carlo.Setting("unequal signal", tempering=1.0),
        monte_carlo.Setting("balanced", damping=0.5),
        monte_carlo.Setting("unequal signal", damping=0.5, tempering=0.5),
    ],
    ids=lambda setting: f"{setting.design}, {setting.words}",
)
def test_monte_carlo_would_notice_a_missing_drift(setting):
    mean, error = monte_carlo.simulate(setting, 12_800, 20_000)
    _, K, without_drift = monte_carlo.expected(setting)
    assert abs(mean - K) < 4 * error
    assert abs(mean - without_drift) > 8 * error


# --- forms of the same --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "row_tempering"),
    [
        ("gaussian", 0.0),
        ("gaussian", 0.5),
        ("exponential", 0.0),
        (StudentT(6), 0.5),
        ("rows", 0.0),
        ("rows", 0.5),
    ],
    ids=str,
)
def test_factors_of_one_change_nothing(law, row_tempering):
    """The forms with factors of the entries, and those without, are the same where all factors are 1."""
    S, d = moving(8), 2
    law = as_law(draw_rows(S, 50, random_state=0) if law == "rows" else law)
    noise = law.noise(S, row_tempering)
    strengths = Strengths(tempering=0.6, attenuation=0.3)
    correction = CorrectionMap(strengths).at(noise.covariance, noise)
    assert correction.factors is None
    at = cut(correction.target, d)
    plain, weighted = (
        sampling_coefficient(replace(correction, factors=factors), noise, at, S)
        for factors in (None, np.ones_like(S))
    )
    assert weighted == pytest.approx(plain, rel=1e-11)


def test_groups_of_single_columns_are_columns():
    S, d = moving(8), 2
    alone, grouped = Population(S, d), Population(S, d, feature_groups=range(5))
    for strengths in ({"attenuation": 0.5}, {"attenuation": 0.5, "tempering": 0.5, "damping": 0.5}):
        found, expected = (each.excess_risk(30, **strengths) for each in (grouped, alone))
        assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("law", ["gaussian", "t10", StudentT(6), "rows", "moments"], ids=str)
def test_scale_changes_units_only(scale, law):
    S, d, n = moving(8), 2, 40
    populations = population_of(S, d, grouped=True), population_of(S * scale, d, grouped=True)
    laws = law, law
    if law == "rows":
        X = draw_rows(S, 60, random_state=0)
        laws = X, X * np.sqrt(scale)
    elif law == "moments":
        fourth = 1.2 * gaussian_fourth(S)
        laws = FourthMoments(fourth), FourthMoments(fourth * scale * scale)
    can_shorten = law not in ("t10", "moments")
    names = [name for name in CORRECTIONS if can_shorten or name != "row_tempering"]
    strengths = {"row_tempering": 0.5, **STRENGTHS}
    for chosen in (*([name] for name in names), names, []):
        some = {name: strengths[name] for name in chosen}
        one, other = (
            population.excess_risk(n, law=its_law, **some)
            for population, its_law in zip(populations, laws, strict=True)
        )
        assert other / scale == pytest.approx(one, rel=1e-9)


def test_a_column_without_variance_stays_out():
    S, wide = moving(8), np.zeros((6, 6))
    wide[:5, :5] = S
    for name in ("attenuation", "tempering", "damping", "row_tempering"):
        strengths = {name: 0.5}
        found, expected = (Population(each, 2).excess_risk(40, **strengths) for each in (wide, S))
        assert found == pytest.approx(expected, rel=1e-9)
