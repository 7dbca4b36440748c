"""The sampling coefficient K: against definitions, moment tensors, second differences and Monte Carlo."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from attenua.theory import (
    ContaminatedNormal,
    CorrectionMap,
    FourthMoments,
    Gaussian,
    Population,
    RowNoise,
    SmoothCorrection,
    Strengths,
    StudentT,
    default_strengths,
    draw_rows,
    risk,
    sampling_coefficient,
)
from attenua.theory.cutoff import Cutoff, cut
from attenua.theory.laws import as_law
from attenua.theory.noise import RowTerms
from tests.theory.definitions import (
    coefficient,
    contaminated_powers,
    corrected,
    gaussian_fourth,
    line,
    moments_of_rows,
    noise_tensor,
    rows_with_covariance,
    shortened_moments,
    student_powers,
)
from tests.theory.designs import (
    UNEQUAL,
    balanced,
    gaussian_cubature,
    leading_projector,
    moving,
    preserving,
    random_orthogonal,
    sample_covariances,
    sampling_coefficient_by_definition,
    simulated_coefficient,
    simulated_excess_risk,
    solve_sylvester_on_tangent,
)

DESIGNS = {"balanced": (balanced(0), 2), "preserving": (preserving(1), 2), "moving": (moving(8), 2)}
STRENGTHS = {"attenuation": 0.4, "tempering": 0.6, "damping": 0.5, "smoothing": 0.6, "borrowing": 0.3}
ALONE_AND_ALL = [{}, *({name: strength} for name, strength in STRENGTHS.items()), STRENGTHS]
THREE = np.array([[4.0, 1.5, 0.6], [1.5, 2.0, 0.9], [0.6, 0.9, 1.5]])
# With strong, unequal correlations, whose sample values shrink unequally.
DRIFTING = np.array([[4.0, 1.8, 1.6], [1.8, 1.0, 0.6], [1.6, 0.6, 1.0]])


def groups_of(p, grouped=True):
    return np.array([0, 0, 1, 1, 1])[:p] if grouped else None


def other(p):
    """A covariance to borrow from."""
    return moving(3, p, np.linspace(50, 10, p))


def population_of(S, d, grouped=False):
    p = len(S)
    return Population(S, d, neighbours="line", reference=other(p), feature_groups=groups_of(p, grouped))


def by_differences(S, d, centre, fourth, grouped=False, **strengths):
    how = {"groups": groups_of(len(S), grouped), "weights": line(len(S)), "other": other(len(S))}
    return coefficient(S, centre, fourth, d, **how, **strengths)


# --- the formula --------------------------------------------------------------------------------------------


def coefficient_from_tensor(correction, noise, covariance, d):
    """The coefficient of any correction, from the full p^4 tensor of E[Xi_ij Xi_kl] and explicit loops."""
    p, Q, G = len(covariance), correction.response, np.diag(correction.scales)
    A = np.ones((p, p)) if correction.factors is None else correction.factors
    K = np.eye(p) if correction.kernel is None else correction.kernel(np.eye(p))
    linear = np.zeros((p, p, p, p))
    for a, b in np.ndindex(p, p):
        E = np.zeros((p, p))
        E[a, b] = 1
        E = G @ E @ G
        e = np.diag(np.diag(E))
        linear[:, :, a, b] = K @ (A * E + e @ Q + Q.T @ e) @ K
    values, V = np.linalg.eigh(correction.target)
    values, V = values[::-1], V[:, ::-1]
    M = np.einsum("ijab,abcd,klcd->ijkl", linear, noise_tensor(noise), linear, optimize=True)
    M = np.einsum("ijkl,ia,jb,kc,ld->abcd", M, V, V, V, V, optimize=True)
    B, drift = V.T @ covariance @ V, V.T @ correction.drift @ V
    kept, left, total = range(d), range(d, p), 0.0
    gap = values[None, :] - values[:, None]
    for k, j in itertools.product(left, kept):
        total += sum(M[k, j, k, i] * B[i, j] / gap[k, j] / gap[k, i] for i in kept)
        total -= sum(M[k, j, m, j] * B[k, m] / gap[k, j] / gap[m, j] for m in left)
        second = sum(M[k, m, m, j] / gap[m, j] for m in left) - sum(M[k, i, i, j] / gap[k, i] for i in kept)
        total -= 2 * B[k, j] * (second + drift[k, j]) / gap[k, j]
    return total


def some_noise(rng, p):
    """Noise with every kind of part, of no particular law."""
    first, second, third, fourth = (M @ M.T + np.eye(p) for M in rng.standard_normal((4, p, p)))
    rows = RowTerms(rng.standard_normal((7, p)), 0.3, third)
    return RowNoise(first, crossed=((0.7, second), (1.2, third)), matrices=((-0.4, fourth),), rows=rows)


@pytest.mark.parametrize("factors", [False, True])
@pytest.mark.parametrize(("p", "d"), [(2, 1), (5, 4), (5, 3)])
def test_general_correction_against_the_fourth_moment_tensor(p, d, factors):
    rng = np.random.default_rng(p + d)
    A, G, drift, kernel, entrywise = rng.standard_normal((5, p, p))
    S, K = A @ A.T + np.eye(p), kernel @ kernel.T
    correction = SmoothCorrection(
        target=S + (G + G.T) / 10,
        scales=rng.uniform(0.5, 2, p),
        response=rng.standard_normal((p, p)),
        factors=entrywise + entrywise.T if factors else None,
        drift=drift + drift.T,
        kernel=K.__matmul__,
    )
    noise = some_noise(rng, p)
    expected = coefficient_from_tensor(correction, noise, S, d)
    found = sampling_coefficient(correction, noise, cut(correction.target, d), S)
    assert found == pytest.approx(expected, rel=1e-9)


def test_rows_and_directions_are_worked_through_in_parts(monkeypatch):
    S, noise = moving(0), some_noise(np.random.default_rng(0), 5)
    correction = CorrectionMap(Strengths(damping=0.4, tempering=0.3)).at(S, noise)
    whole = sampling_coefficient(correction, noise, cut(correction.target, 3), S)
    monkeypatch.setattr(risk, "VALUES_AT_ONCE", 7)
    parts = sampling_coefficient(correction, noise, cut(correction.target, 3), S)
    assert parts == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("design", DESIGNS)
def test_coefficient_of_attenuation_is_its_definition(design):
    S, d = DESIGNS[design]
    alphas = [0.0, 0.35, 1.0]
    expected = [sampling_coefficient_by_definition(S, d, alpha) for alpha in alphas]
    found = Population(S, d).sampling_coefficient(attenuation=alphas)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_preserved_target_gives_the_operator_form():
    S, d, alpha = preserving(3, pairs=2), 2, 0.5
    P = leading_projector(S, d)
    N, T = np.eye(4) - P, S - alpha * np.diag(np.diag(S))
    expected = 0.0
    for x, weight in zip(*gaussian_cubature(S), strict=True):
        E = np.outer(x, x) - S
        X = solve_sylvester_on_tangent(P, T, E - alpha * np.diag(np.diag(E)))
        expected += weight * np.sum(X * (X @ P @ S @ P - N @ S @ N @ X))
    population = Population(S, d)
    assert not population.is_balanced
    assert population.preserved_coefficient(attenuation=alpha) == pytest.approx(expected, rel=1e-9)


def test_the_basis_inside_a_repeated_eigenvalue_does_not_matter():
    rng = np.random.default_rng(5)
    S = moving(6, spectrum=(6, 6, 1, 1, 1))
    # A response, a fluctuation and a risk of their own, so that nothing else is degenerate.
    correction = SmoothCorrection(S, np.ones(5), rng.standard_normal((5, 5)))
    noise, at, B = Gaussian().noise(moving(7)), cut(S, 2), moving(9)
    turned = Cutoff(
        at.retained_values,
        at.omitted_values,
        at.retained @ random_orthogonal(rng, 2),
        at.omitted @ random_orthogonal(rng, 3),
    )
    found, expected = (sampling_coefficient(correction, noise, each, B) for each in (turned, at))
    assert found == pytest.approx(expected, rel=1e-10)
    split = Population(moving(6, spectrum=(6 + 1e-7, 6, 1 + 1e-7, 1, 1 - 1e-7)), 2)
    np.testing.assert_allclose(
        *(each.excess_risk(50, attenuation=[0.0, 0.6]) for each in (Population(S, 2), split)), rtol=1e-5
    )


@pytest.mark.parametrize(("law", "row_tempering"), [("gaussian", 0.5), ("exponential", 0.0), ("rows", 0.5)])
def test_factors_of_one_change_nothing(law, row_tempering):
    """The forms with factors of the entries, and those without, are the same where all factors are 1."""
    S, d = moving(8), 2
    law = as_law(draw_rows(S, 50, random_state=0) if law == "rows" else law)
    noise = law.noise(S, row_tempering)
    correction = CorrectionMap(Strengths(tempering=0.6, attenuation=0.3)).at(noise.covariance, noise)
    assert correction.factors is None
    at = cut(correction.target, d)
    plain, weighted = (
        sampling_coefficient(replace(correction, factors=factors), noise, at, S)
        for factors in (None, np.ones_like(S))
    )
    assert weighted == pytest.approx(plain, rel=1e-11)


# --- K by second derivatives of the exact risk --------------------------------------------------------------


COMBINATIONS = [
    {name: STRENGTHS[name] for name in names}
    for size in range(1, 6)
    for names in itertools.combinations(STRENGTHS, size)
]


@pytest.mark.parametrize("grouped", [False, True], ids=["columns", "groups"])
def test_coefficient_is_half_the_mean_second_derivative_of_the_risk(grouped):
    """Every combination of the corrections of a matrix."""
    S, d = DESIGNS["moving"]
    population, fourth = population_of(S, d, grouped), gaussian_fourth(S)
    ends = [{"attenuation": 0.8, "tempering": 1.0}, {"attenuation": 1.0, "tempering": 0.7}]
    for strengths in [*COMBINATIONS, *ends]:
        if "attenuation" in strengths or not grouped:
            expected = by_differences(S, d, S, fourth, grouped, **strengths)
            assert population.sampling_coefficient(**strengths) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("design", ["balanced", "preserving"])
def test_the_same_where_the_target_stays(design):
    S, d = DESIGNS[design]
    for strengths in ALONE_AND_ALL:
        expected = by_differences(S, d, S, gaussian_fourth(S), **strengths)
        assert population_of(S, d).sampling_coefficient(**strengths) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("law", "mean_power", "kappa"),
    [
        ("gaussian", lambda power: 1.0, 1.0),
        (StudentT(5), student_powers(5), 0.5),
        (ContaminatedNormal(0.1, 4.0), contaminated_powers(0.1, 4.0), 0.5),
    ],
    ids=["gaussian", "t", "contaminated"],
)
def test_row_tempering_followed_by_other_corrections(law, mean_power, kappa):
    """Moments of the shortened rows in polar coordinates; with three columns these are exact."""
    moments = shortened_moments(THREE, kappa, mean_power)
    for strengths in ALONE_AND_ALL:
        expected = by_differences(THREE, 1, *moments, **strengths)
        found = population_of(THREE, 1).sampling_coefficient(row_tempering=kappa, law=law, **strengths)
        assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(("kappa", "grouped"), [(0.0, False), (0.6, False), (0.6, True)])
def test_law_of_rows(kappa, grouped):
    """Skewed rows, with row tempering too: their law is not elliptical, and moves the target by itself."""
    S, d = DESIGNS["moving"]
    X = rows_with_covariance(np.random.default_rng(5), 200, S)
    population = population_of(S, d, grouped)
    for strengths in ALONE_AND_ALL:
        expected = by_differences(S, d, *moments_of_rows(X, kappa), grouped, **strengths)
        found = population.sampling_coefficient(row_tempering=kappa, law=X, **strengths)
        assert found == pytest.approx(expected, rel=2e-6)
    assert (population.bias(row_tempering=kappa, law=X) > 1e-6) == (kappa > 0)


@pytest.mark.parametrize("law", ["exponential", StudentT(7), ContaminatedNormal(0.2, 3.0)], ids=str)
def test_other_laws(law):
    S, d = DESIGNS["moving"]
    values, V = np.linalg.eigh(S)
    R = (V * np.sqrt(values)) @ V.T
    fourth = gaussian_fourth(S)
    if law == "exponential":
        fourth = fourth + 6 * np.einsum("la,lb,lc,ld->abcd", R, R, R, R)
    else:
        fourth *= (student_powers(7) if isinstance(law, StudentT) else contaminated_powers(0.2, 3.0))(2)
    population = population_of(S, d)
    for strengths in ({}, STRENGTHS):
        expected = by_differences(S, d, S, fourth, **strengths)
        for same in (law, FourthMoments(fourth)):
            found = population.sampling_coefficient(law=same, **strengths)
            assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("design", DESIGNS)
def test_cost_of_the_moved_target(design):
    S, d = DESIGNS[design]
    P, population = leading_projector(S, d), population_of(S, d)
    for strengths in COMBINATIONS:
        T = corrected(S, weights=line(len(S)), other=other(len(S)), **strengths)
        moved = leading_projector(T, d)
        np.testing.assert_allclose(population.moved_projector(**strengths), moved, atol=1e-11)
        assert population.bias(**strengths) == pytest.approx(np.sum(S * (P - moved)), abs=1e-12)
        assert population.preserves_target(**strengths) == (np.linalg.norm(P - moved) < 1e-9)


# --- Monte Carlo --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("S", "d", "how"),
    [
        (moving(8), 2, {"attenuation": 0.6, "tempering": 0.4}),
        (balanced(0), 2, {"damping": 0.5}),
        (moving(8), 2, {"borrowing": 0.6, "other": other(5)}),
        (moving(8), 2, STRENGTHS | {"groups": groups_of(5), "weights": line(5), "other": other(5)}),
    ],
    ids=["two", "damping", "borrowing", "all"],
)
def test_coefficient_against_monte_carlo(S, d, how):
    samples = sample_covariances(S, 20_000, 20_000, np.random.default_rng(1))
    mean, error = simulated_coefficient(S, samples, 20_000, d, **how)
    strengths = {name: how[name] for name in STRENGTHS if name in how}
    K = population_of(S, d, "groups" in how).sampling_coefficient(**strengths)
    assert abs(mean - K) < 4 * error
    assert error < 0.05 * K


@pytest.mark.slow
def test_coefficient_of_row_tempering_against_monte_carlo():
    """Rows of a t law with 3 degrees of freedom: without row tempering there would be no coefficient."""
    kappa, n, repeats, rng = 0.75, 800, 6_000, np.random.default_rng(2)
    root, samples = np.linalg.cholesky(THREE), np.empty((repeats, 3, 3))
    for block in np.split(samples, 20):
        X = rng.standard_normal((len(block), n, 3)) @ root.T / np.sqrt(rng.chisquare(3, (len(block), n, 1)))
        X *= np.linalg.norm(X, axis=2, keepdims=True) ** -kappa
        block[:] = np.swapaxes(X, 1, 2) @ X / n
    # The scale of the rows is free, and the mean of their products is known in polar coordinates.
    centre = shortened_moments(THREE, kappa, student_powers(3))[0]
    samples *= np.trace(centre) / np.trace(samples.mean(axis=0))
    mean, error = simulated_coefficient(THREE, samples, n, 1, centre, tempering=0.5)
    K = Population(THREE, 1).sampling_coefficient(law=StudentT(3), row_tempering=kappa, tempering=0.5)
    assert abs(mean - K) < 4 * error
    assert error < 0.05 * K


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"tempering": 1.0}, {"damping": 0.5, "tempering": 0.5}], ids=str)
def test_monte_carlo_would_notice_a_missing_drift_or_response(how):
    S, d, n = DRIFTING, 1, 20_000
    mean, error = simulated_coefficient(
        S, sample_covariances(S, n, 40_000, np.random.default_rng(2)), n, d, **how
    )
    noise = Gaussian().noise(S)
    correction = CorrectionMap(Strengths(**how)).at(S, noise)

    def off(**changes):
        changed = replace(correction, **changes)
        return abs(mean - sampling_coefficient(changed, noise, cut(correction.target, d), S)) / error

    assert off() < 4
    assert off(drift=None) > 8
    assert off(response=np.diag(np.diag(correction.response))) > 8


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_expected_risk_against_monte_carlo(design, alpha):
    """Within 4 standard errors plus c n^(-3/2), with c fixed at the smallest n; the sum shrinks."""
    S, d = DESIGNS[design]
    sizes = np.array([40, 160, 640])
    simulated = [simulated_excess_risk(S, d, n, 20_000, seed=n, attenuation=alpha) for n in sizes]
    means, errors = np.transpose(simulated)
    risks = np.array([Population(S, d).excess_risk(n, attenuation=alpha) for n in sizes])
    off = np.abs(means - risks)
    allowed = 4 * errors + off[0] * (sizes[0] / sizes) ** 1.5
    assert (off <= allowed).all()
    # The allowance is small against the risk itself where the theory is meant to hold, and shrinks.
    assert (np.diff(allowed / risks) < 0).all()
    assert allowed[-1] < 0.1 * risks[-1]


@pytest.mark.slow
def test_monte_carlo_would_notice_a_missing_displacement_term():
    (S, d), alpha, n = DESIGNS["moving"], 0.8, 320
    mean, error = simulated_excess_risk(S, d, n, 60_000, seed=n, attenuation=alpha)
    population = Population(S, d)
    without = population.bias(attenuation=alpha) + sampling_coefficient_by_definition(S, d, alpha, False) / n
    assert abs(mean - without) > 8 * error
    assert abs(mean - population.excess_risk(n, attenuation=alpha)) < 4 * error


@pytest.mark.slow
def test_risk_at_moderate_sample_sizes():
    """The remainder of the expansion times n is O(n^(-1/2)): four times the rows, at most half of it."""
    (S, d), how = DESIGNS["moving"], {"attenuation": 0.3, "tempering": 0.5}
    K, found = Population(S, d).sampling_coefficient(**how), []
    for n in (50, 200, 800):
        samples = sample_covariances(S, n, 80_000, np.random.default_rng(n))
        found.append(simulated_coefficient(S, samples, n, d, **how))
    means, errors = np.transpose(found)
    remainders = np.abs(means - K)
    assert remainders[0] > 20 * errors[0]
    assert (remainders[1:] < remainders[:-1] / 2 + 4 * errors[1:]).all()


def test_best_strength_of_the_unequal_design():
    """The paper reports a best simulated strength of 0.90 and a reduction of 63.4% at n = 256."""
    population = Population(UNEQUAL, 2)
    assert population.oracle(256, {"attenuation": default_strengths()}).attenuation == pytest.approx(0.9)
    pca, best = population.sampling_coefficient(attenuation=[0.0, 0.9])
    assert 1 - best / pca == pytest.approx(0.634, abs=0.01)


# --- forms of the same --------------------------------------------------------------------------------------


def test_adjacency_and_line_are_the_same_neighbours_and_single_columns_are_groups():
    S, d = DESIGNS["moving"]
    one, two = (
        population_of(S, d),
        Population(S, d, neighbours=line(5), reference=other(5), feature_groups=range(5)),
    )
    for strengths in ({"smoothing": 0.8}, {"attenuation": 0.5}, STRENGTHS):
        found, expected = (each.excess_risk(30, **strengths) for each in (one, two))
        assert found == pytest.approx(expected, rel=1e-10)


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
    strengths = dict(STRENGTHS)
    if law not in ("t10", "moments"):
        strengths["row_tempering"] = 0.5
    for some in ({}, *({name: strength} for name, strength in strengths.items()), strengths):
        one, other = (
            population.excess_risk(n, law=its_law, **some)
            for population, its_law in zip(populations, laws, strict=True)
        )
        assert other / scale == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_column_without_variance_changes_nothing(pairs):
    S = moving(8)
    wide = np.insert(np.insert(S, 2, 0, axis=0), 2, 0, axis=1)
    one, other = (Population(some, 2, row_pairs=pairs) for some in (S, wide))
    all_of_them = {"row_tempering": 1.0, "tempering": 1.0, "damping": 0.5, "attenuation": 0.5}
    for strengths in (*({name: 0.5} for name in all_of_them), all_of_them):
        found, expected = (each.excess_risk(30, **strengths) for each in (other, one))
        assert found == pytest.approx(expected, rel=1e-9)
    assert one.share_of_small_correlations(30) == other.share_of_small_correlations(30)
