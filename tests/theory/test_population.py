"""Geometry, population cost, strengths and refusals of `Population`."""

import warnings

import numpy as np
import pytest
from designs import UNEQUAL, balanced, leading_projector, moving, moving_family, preserving

from attenua.theory import Population, default_strengths, flat_spike_ratio


def crossing(at):
    """Rank one: coordinate three, s - s alpha, leads until the pair's 5 - 3 alpha overtakes it at `at`."""
    return np.array([[3.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, (5 - 3 * at) / (1 - at)]])


def test_geometry():
    S, d = moving(0), 2
    population = Population(S, d)
    P, D = leading_projector(S, d), np.diag(np.diag(S))
    np.testing.assert_allclose(population.projector, P, atol=1e-12)
    np.testing.assert_allclose(population.leakage, (np.eye(5) - P) @ D @ P, atol=1e-12)
    assert population.gap == pytest.approx(3.5)
    np.testing.assert_allclose(population.eigenvalues, (7, 5, 1.5, 1, 0.5))
    U = population.eigenvectors
    np.testing.assert_allclose(S @ U, U * population.eigenvalues, atol=1e-12)
    moved = population.moved_projector([[0.2], [0.7]])
    assert moved.shape == (2, 1, 5, 5)
    np.testing.assert_allclose(moved[1, 0], leading_projector(S - 0.7 * D, d), atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_block_gap_over_many_directions(alpha):
    """The block gap bounds every pair of Rayleigh quotients, and some pair comes close to it."""
    S, d = moving(1), 2
    population, rng = Population(S, d), np.random.default_rng(0)
    T, P = S - alpha * np.diag(np.diag(S)), population.projector
    inside, outside = (rng.standard_normal((2, 20_000, 5))[i] @ M for i, M in enumerate((P, np.eye(5) - P)))
    quotients = [np.einsum("ri,ij,rj->r", v, T, v) / np.sum(v * v, axis=1) for v in (inside, outside)]
    smallest = quotients[0].min() - quotients[1].max()
    assert population.block_gap(alpha) <= smallest + 1e-12
    assert population.block_gap(alpha) == pytest.approx(smallest, abs=0.01)


def test_block_gap_of_the_unequal_design():
    population = Population(UNEQUAL, 2)
    alphas = np.linspace(0, 1, 201)
    assert population.block_gap(alphas).min() == pytest.approx(7 / 2 - 3 / np.sqrt(2), abs=1e-12)
    assert np.all(population.preserves_target(alphas))
    assert not population.is_balanced


@pytest.mark.parametrize("degrees", [0, 1, 5, 12.5, 22.5])
def test_leakage_of_the_moving_family(degrees):
    phi = np.deg2rad(degrees)
    population = Population(moving_family(phi), 1)
    assert np.linalg.norm(population.leakage) == pytest.approx(np.sin(4 * phi), abs=1e-14)
    assert population.preserves_target(0.5) == (degrees == 0)


def test_preservation_is_what_the_projectors_say():
    for S, preserved in ((balanced(0), True), (preserving(1), True), (moving(2), False)):
        population = Population(S, 2)
        assert population.preserves_target(0.5) == preserved
        assert np.allclose(population.moved_projector(0.5), population.projector) == preserved
        assert population.preserves_target(0.0)
    swapped = Population(crossing(0.5), 1)
    assert list(swapped.preserves_target([0.49, 0.51])) == [True, False]
    # A loose tolerance makes a small leak count as none; the strict one does not.
    nearly = Population(moving_family(1e-6), 1)
    assert nearly.preserves_target(0.5, tol=1e-3)
    assert not nearly.preserves_target(0.5)


@pytest.mark.parametrize("seed", range(3))
def test_bias_three_ways(seed):
    S, d = moving(seed), 2
    population = Population(S, d)
    alphas = np.array([[0.9, 0.0], [0.05, 0.5]])
    D = np.diag(np.diag(S))
    by_traces = [
        [np.sum(S * (leading_projector(S, d) - leading_projector(S - a * D, d))) for a in row]
        for row in alphas
    ]
    np.testing.assert_allclose(population.bias(alphas), by_traces, atol=1e-12)
    np.testing.assert_allclose(population.bias(alphas, method="path"), by_traces, atol=1e-9)
    bounds = population.bias_bound(alphas)
    assert (bounds >= population.bias(alphas) - 1e-25).all()
    # For a small strength only the gap separates the bound from alpha^2 C_D.
    assert population.bias_bound(1e-3) <= 1e-6 * np.sum(population.leakage**2) / population.gap * 1.02


def test_bias_bound_is_the_extremes_over_the_path():
    S, d = moving(3), 2
    population = Population(S, d)
    D, gaps, leaks = np.diag(np.diag(S)), [], []
    for t in np.linspace(0, 0.8, 2001):
        values = np.linalg.eigvalsh(S - t * D)
        P = leading_projector(S - t * D, d)
        gaps.append(values[-d] - values[-d - 1])
        leaks.append(np.sum(((np.eye(5) - P) @ D @ P) ** 2))
    assert population.bias_bound(0.8) == pytest.approx(0.64 / min(gaps) * max(leaks), rel=1e-6)


def test_local_bias_constant_is_half_the_second_derivative():
    population = Population(moving(4), 2)
    steps = np.array([1e-3, 2e-3])
    ratios = population.bias(steps) / steps**2
    assert population.local_bias_constant == pytest.approx(2 * ratios[0] - ratios[1], rel=1e-4)


def test_tiny_biases_keep_their_digits():
    population = Population(moving(4), 2)
    assert population.bias(1e-7) == pytest.approx(1e-14 * population.local_bias_constant, rel=1e-5)


def test_answers_have_the_shape_of_alpha():
    population = Population(balanced(0), 2)
    for answer in (
        population.block_gap,
        population.cutoff_gap,
        population.bias,
        population.bias_bound,
        population.sampling_coefficient,
        population.balanced_coefficient,
        population.preserved_coefficient,
        lambda alpha: population.excess_risk(alpha, 10),
        lambda alpha: population.benefit(alpha, 10),
        lambda alpha: population.bias(alpha, method="path"),
    ):
        assert isinstance(answer(0.3), float)
        values = answer([[0.0, 0.3, 0.6]])
        assert values.shape == (1, 3)
        assert values[0, 1] == pytest.approx(answer(0.3), abs=1e-12)
        assert answer(np.array([])).shape == (0,)
    assert isinstance(population.preserves_target(0.3), bool)
    assert population.is_beneficial([0.3], 10).dtype == bool


def test_two_oracles_minimise_the_quadratic():
    fine = np.linspace(0, 1, 20_001)
    ratios = []
    for seed in range(6):
        population = Population(balanced(seed, spectrum=(7, 5, 3, 1, 0.5)), 1 if seed % 2 else 3)
        curve = population.balanced_coefficient(fine)
        assert population.asymptotic_oracle() == pytest.approx(fine[np.argmin(curve)], abs=1e-4)
        mask = fine <= 0.5
        assert population.asymptotic_oracle("mask") == pytest.approx(
            fine[mask][np.argmin(curve[mask])], abs=1e-4
        )
        ratios.append(population.constants.C / population.constants.V)
    # The cases differ: some minima lie inside the direct path, some beyond it.
    assert min(ratios) < 0.5 < 1 < max(ratios)


@pytest.mark.slow
def test_oracle_on_the_range_and_on_a_grid():
    for degrees in (0.0, 3.0, 7.0, 20.0):
        population = Population(moving_family(np.deg2rad(degrees)), 1)
        fine = np.linspace(0, 1, 2001)
        risks = population.excess_risk(fine, 64)
        assert population.oracle(64) == pytest.approx(fine[np.argmin(risks)], abs=1e-3)
        mask = fine <= 0.5
        assert population.oracle(64, "mask") == pytest.approx(fine[mask][np.argmin(risks[mask])], abs=1e-3)
        grid = default_strengths()
        on_grid = population.excess_risk(grid, 64)
        assert population.oracle(64, strengths=grid) == grid[np.argmin(on_grid)]
        assert population.oracle(64, "mask", strengths=grid) == grid[:12][np.argmin(on_grid[:12])]


def test_oracle_of_balanced_marginals_is_the_asymptotic_one():
    population = Population(balanced(3, spectrum=(9, 2, 1.5, 1, 0.5)), 1)
    for path in ("direct", "mask"):
        assert population.oracle(100, path) == pytest.approx(population.asymptotic_oracle(path), abs=1e-5)


def test_local_oracle_is_the_limit_of_the_oracle():
    population = Population(moving_family(np.deg2rad(10)), 1)
    errors = [abs(population.oracle(n) / population.local_oracle(n) - 1) for n in (10**2, 10**3, 10**4)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3


def test_local_oracle_needs_a_moving_target_and_a_saving():
    with pytest.raises(ValueError, match="C_D = 0"):
        Population(balanced(0), 2).local_oracle(100)
    losing = next(p for p in (Population(moving(s), 2) for s in range(20)) if p.local_saving < 0)
    with pytest.raises(ValueError, match="R_move > 0"):
        losing.local_oracle(100)


def test_benefit_condition():
    population = Population(moving_family(np.deg2rad(5)), 1)
    alpha, sizes = 0.3, np.array([20, 100, 500, 2500])
    saving = population.sampling_coefficient(0.0) - population.sampling_coefficient(alpha)
    condition = sizes * population.bias(alpha) < saving
    assert condition.any()
    assert not condition.all()
    assert [population.is_beneficial(alpha, int(n)) for n in sizes] == list(condition)
    assert population.benefit(alpha, 20) == pytest.approx(saving / 20 - population.bias(alpha), rel=1e-9)
    assert not population.is_beneficial(0.0, 20)


@pytest.mark.parametrize(("p", "noise", "spike"), [(2, 1.0, 3.0), (16, 2.0, 0.5), (7, 0.1, 9.0)])
def test_flat_spike(p, noise, spike):
    population = Population(noise * np.eye(p) + spike / p, 1)
    ratio = population.constants.C / population.constants.V
    assert ratio == pytest.approx(flat_spike_ratio(p, noise, spike), rel=1e-12)
    assert ratio >= 1
    assert population.asymptotic_oracle() == 1
    np.testing.assert_allclose(population.pairs.s, 1 / p)
    np.testing.assert_allclose(population.pairs.h, 2 / p * (noise**2 + 2 * noise * spike / p))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_changes_units_only(scale):
    S = moving(0)
    one, other = Population(S, 2), Population(S * scale, 2)
    alphas = np.array([0.0, 0.3, 0.9])
    for name in ("block_gap", "cutoff_gap", "bias", "bias_bound", "sampling_coefficient"):
        np.testing.assert_allclose(
            getattr(other, name)(alphas) / scale,
            getattr(one, name)(alphas),
            rtol=1e-9,
            atol=1e-20,
            err_msg=name,
        )
    assert other.oracle(50) == pytest.approx(one.oracle(50), abs=1e-6)
    assert other.preserves_target(0.3) == one.preserves_target(0.3)
    for name in ("gap", "local_saving", "local_bias_constant"):
        assert getattr(other, name) / scale == pytest.approx(getattr(one, name), rel=1e-9)
    assert other.constants.V / scale == pytest.approx(one.constants.V, rel=1e-9)
    np.testing.assert_allclose(other.pairs.h / scale**2, one.pairs.h, rtol=1e-9)


@pytest.mark.parametrize("at", [0.3, 0.5, 0.85])
def test_a_closing_gap_is_named(at):
    population = Population(crossing(at), 1)
    assert population.closing_strength() == pytest.approx(at, abs=1e-9)
    assert population.closing_strength(at - 0.01) is None
    named = rf"closes at alpha = {at:g}".replace(".", r"\.")
    for call in (
        lambda: population.bias(1.0, method="path"),
        lambda: population.bias_bound([0.1, 1.0]),
        lambda: population.oracle(50),
    ):
        with pytest.raises(ValueError, match="closes at alpha") as caught:
            call()
        assert float(str(caught.value).split("alpha = ")[1].split(",")[0]) == pytest.approx(at, abs=1e-9)
    for function in (population.bias, population.sampling_coefficient, population.moved_projector):
        with pytest.raises(ValueError, match=named):
            function([0.0, at])
    # Away from it, on either side, everything that needs no path is defined.
    assert np.isfinite(population.excess_risk([at - 0.1, at + 0.1], 50)).all()
    assert population.bias(at + 0.1) > 0


def test_an_avoided_crossing_is_not_a_closing():
    S = crossing(0.5)
    S[0, 2] = S[2, 0] = 1e-4
    population = Population(S, 1)
    assert population.closing_strength() is None
    assert population.bias(0.9, method="path") == pytest.approx(population.bias(0.9), rel=1e-6)


def test_a_negative_predicted_risk_is_not_passed_over_in_silence():
    S = crossing(0.5)
    S[0, 2] = S[2, 0] = 0.05
    population = Population(S, 1)
    assert population.excess_risk(np.linspace(0, 1, 201), 5).min() < 0
    with pytest.warns(UserWarning, match="negative at alpha"):
        population.oracle(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Population(moving(0), 2).oracle(50)


@pytest.mark.parametrize(
    ("covariance", "rank", "message"),
    [
        ([[1, 2, 3]], 1, r"covariance must be a square matrix; got shape \(1, 3\)"),
        ([["a", "b"], ["c", "d"]], 1, "covariance must be a square matrix of real numbers"),
        (
            [[1, 0.5], [0.4, 1]],
            1,
            r"covariance must be symmetric; entry \(0, 1\) is 0.5 and entry \(1, 0\) is 0.4",
        ),
        ([[1, np.nan], [np.nan, 1]], 1, r"covariance must be finite; entry \(0, 1\) is nan"),
        ([[1, 2], [2, 1]], 1, "covariance must have no negative eigenvalue; its smallest is -1"),
        (-np.eye(3), 1, "covariance must have no negative eigenvalue"),
        (
            np.diag([3, 2, 2, 2, 1]),
            2,
            "n_components = 2: eigenvalues 2 to 4 tie at 2. Choose a rank outside 2 to 3",
        ),
        (np.zeros((3, 3)), 1, "eigenvalues 1 to 3 tie at 0"),
        (np.diag([2, 1]), 2, "n_components must be at least 1 and below the number of features, 2"),
        (np.diag([2, 1]), 0, "n_components must be at least 1"),
        (np.diag([2, 1]), 1.0, "n_components must be an integer"),
        (np.diag([2, 1]), True, "n_components must be an integer"),
    ],
)
def test_bad_populations_are_refused(covariance, rank, message):
    with pytest.raises(ValueError, match=message):
        Population(covariance, rank)


def test_bad_arguments_are_refused():
    population = Population(np.diag([2.0, 1.0]) + 0.1, 1)
    for alpha in (-0.1, 1.1, np.nan, [0.5, 2]):
        with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
            population.bias(alpha)
    for n in (0, -3, np.nan, np.inf, "ten", None, True):
        with pytest.raises(ValueError, match="n must be a sample size"):
            population.excess_risk(0.1, n)
    with pytest.raises(ValueError, match="path must be"):
        population.oracle(10, path="both")
    with pytest.raises(ValueError, match="method must be"):
        population.bias(0.1, method="guess")
    with pytest.raises(ValueError, match=r"at most 0\.5"):
        population.oracle(10, "mask", strengths=[0.7, 0.9])
    with pytest.raises(ValueError, match="balanced marginals"):
        population.asymptotic_oracle()
    with pytest.raises(ValueError, match="noise must be positive"):
        flat_spike_ratio(4, 0.0, 1.0)


def test_rounding_in_the_input_is_forgiven():
    S = moving(0).astype(np.float32).astype(float)
    S[0, 1] += 1e-9
    assert Population(S, 2).gap == pytest.approx(3.5, rel=1e-5)
    singular = np.outer([1.0, 2, 3], [1, 2, 3])
    assert Population(singular, 1).eigenvalues[0] == pytest.approx(14)
