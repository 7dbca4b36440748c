"""Geometry, population cost, strengths and refusals of `Population`."""

import warnings
from functools import partial

import numpy as np
import pytest

from attenua.theory import (
    CorrectionMap,
    FourthMoments,
    Gaussian,
    Population,
    Strengths,
    StudentT,
    default_strengths,
    flat_spike_ratio,
    sampling_coefficient,
)
from attenua.theory.cutoff import cut
from tests.theory.definitions import corrected, risk
from tests.theory.designs import (
    UNEQUAL,
    balanced,
    leading_projector,
    moving,
    moving_family,
    preserving,
    sample_covariances,
)


def crossing(at):
    """Rank one: coordinate three, s - s alpha, leads until the pair's 5 - 3 alpha overtakes it at `at`."""
    return np.array([[3.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, (5 - 3 * at) / (1 - at)]])


def best(population, n, strengths=None):
    """The attenuation of least risk on the whole range, or among some strengths."""
    corrections = ["attenuation"] if strengths is None else {"attenuation": strengths}
    return population.oracle(n, corrections).attenuation


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
    moved = population.moved_projector(attenuation=[[0.2], [0.7]])
    assert moved.shape == (2, 1, 5, 5)
    np.testing.assert_allclose(moved[1, 0], leading_projector(S - 0.7 * D, d), atol=1e-12)


def test_block_gap_over_many_directions():
    """The block gap bounds every pair of Rayleigh quotients, and some pair comes close to it."""
    S, d, alpha = moving(1), 2, 0.4
    population, rng = Population(S, d), np.random.default_rng(0)
    T, P = S - alpha * np.diag(np.diag(S)), population.projector
    inside, outside = (rng.standard_normal((2, 20_000, 5))[i] @ M for i, M in enumerate((P, np.eye(5) - P)))
    quotients = [np.einsum("ri,ij,rj->r", v, T, v) / np.sum(v * v, axis=1) for v in (inside, outside)]
    smallest = quotients[0].min() - quotients[1].max()
    assert population.block_gap(attenuation=alpha) <= smallest + 1e-12
    assert population.block_gap(attenuation=alpha) == pytest.approx(smallest, abs=0.01)


def test_block_gap_of_the_unequal_design():
    population = Population(UNEQUAL, 2)
    alphas = np.linspace(0, 1, 201)
    assert population.block_gap(attenuation=alphas).min() == pytest.approx(7 / 2 - 3 / np.sqrt(2), abs=1e-12)
    assert np.all(population.preserves_target(attenuation=alphas))
    assert not population.is_balanced


@pytest.mark.parametrize("degrees", [0, 5, 22.5])
def test_leakage_of_the_moving_family(degrees):
    phi = np.deg2rad(degrees)
    population = Population(moving_family(phi), 1)
    assert np.linalg.norm(population.leakage) == pytest.approx(np.sin(4 * phi), abs=1e-14)
    assert population.preserves_target(attenuation=0.5) == (degrees == 0)


def test_preservation_is_what_the_projectors_say():
    for S, preserved in ((balanced(0), True), (preserving(1), True), (moving(2), False)):
        population = Population(S, 2)
        assert population.preserves_target(attenuation=0.5) == preserved
        assert np.allclose(population.moved_projector(attenuation=0.5), population.projector) == preserved
        assert population.preserves_target(attenuation=0.0)
    swapped = Population(crossing(0.5), 1)
    assert list(swapped.preserves_target(attenuation=[0.49, 0.51])) == [True, False]
    # A loose tolerance makes a small leak count as none; the strict one does not.
    nearly = Population(moving_family(1e-6), 1)
    assert nearly.preserves_target(attenuation=0.5, tol=1e-3)
    assert not nearly.preserves_target(attenuation=0.5)


def test_bias_three_ways():
    S, d = moving(0), 2
    population = Population(S, d)
    alphas = np.array([[0.9, 0.0], [0.05, 0.5]])
    D = np.diag(np.diag(S))
    by_traces = [
        [np.sum(S * (leading_projector(S, d) - leading_projector(S - a * D, d))) for a in row]
        for row in alphas
    ]
    np.testing.assert_allclose(population.bias(attenuation=alphas), by_traces, atol=1e-12)
    np.testing.assert_allclose(population.bias_along_path(alphas), by_traces, atol=1e-9)
    bounds = population.bias_bound(alphas)
    assert (bounds >= population.bias(attenuation=alphas) - 1e-25).all()
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
    ratios = population.bias(attenuation=steps) / steps**2
    assert population.local_bias_constant == pytest.approx(2 * ratios[0] - ratios[1], rel=1e-4)


def test_tiny_biases_keep_their_digits():
    population = Population(moving(4), 2)
    assert population.bias(attenuation=1e-7) == pytest.approx(
        1e-14 * population.local_bias_constant, rel=1e-5
    )


def test_answers_have_the_shape_of_alpha():
    population = Population(balanced(0), 2)
    for answer in (
        population.bias_bound,
        population.bias_along_path,
        population.balanced_coefficient,
        lambda alpha: population.preserved_coefficient(attenuation=alpha),
    ):
        assert isinstance(answer(0.3), float)
        values = answer([[0.0, 0.3, 0.6]])
        assert values.shape == (1, 3)
        assert values[0, 1] == pytest.approx(answer(0.3), abs=1e-12)
        assert answer(np.array([])).shape == (0,)
    assert isinstance(population.preserves_target(attenuation=0.3), bool)


def test_oracle_on_the_range_and_on_a_grid():
    for degrees in (3.0, 20.0):
        population = Population(moving_family(np.deg2rad(degrees)), 1)
        fine = np.linspace(0, 1, 1001)
        risks = population.excess_risk(64, attenuation=fine)
        assert best(population, 64) == pytest.approx(fine[np.argmin(risks)], abs=1e-3)
        grid = default_strengths()
        on_grid = population.excess_risk(64, attenuation=grid)
        assert best(population, 64, grid) == grid[np.argmin(on_grid)]
        assert best(population, 64, default_strengths("mask")) == grid[:11][np.argmin(on_grid[:11])]


def test_oracle_of_balanced_marginals_is_the_asymptotic_one():
    population = Population(balanced(3, spectrum=(9, 2, 1.5, 1, 0.5)), 1)
    assert best(population, 100) == pytest.approx(population.asymptotic_oracle(), abs=1e-5)
    masks = np.linspace(0, 0.5, 201)
    assert best(population, 100, masks) == pytest.approx(population.asymptotic_oracle("mask"), abs=2e-3)


def test_oracle_leaves_out_row_tempering_where_the_law_has_no_moments_of_it():
    population, law = Population(moving(0), 2), FourthMoments(np.zeros((5,) * 4))
    names = ["attenuation", "tempering", "damping"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert population.oracle(50, law=law) == population.oracle(50, names, law=law)


def test_oracle_goes_on_where_the_risk_of_pca_is_infinite():
    """One sweep is not enough: row tempering was chosen before the others were."""
    population, law = Population(np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0]) + 1, 1), StudentT(3)
    best = population.oracle(50, ["row_tempering", "tempering"], law=law)
    least = population.excess_risk(50, law=law, **best)
    nearby = best.row_tempering + np.linspace(-0.05, 0.05, 21)
    risks = population.excess_risk(50, law=law, row_tempering=nearby, tempering=best.tempering)
    assert least <= risks.min() * (1 + 1e-6)
    assert np.isnan(population.benefit(50, law=law, attenuation=[0.5])).all()


def test_local_oracle_is_the_limit_of_the_oracle():
    population = Population(moving_family(np.deg2rad(10)), 1)
    errors = [abs(best(population, n) / population.local_oracle(n) - 1) for n in (10**2, 10**3, 10**4)]
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
    saving = population.sampling_coefficient(attenuation=0.0) - population.sampling_coefficient(
        attenuation=alpha
    )
    condition = sizes * population.bias(attenuation=alpha) < saving
    assert condition.any()
    assert not condition.all()
    assert [population.is_beneficial(int(n), attenuation=alpha) for n in sizes] == list(condition)
    assert population.benefit(20, attenuation=alpha) == pytest.approx(
        saving / 20 - population.bias(attenuation=alpha), rel=1e-9
    )
    assert not population.is_beneficial(20)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_changes_units_only(scale):
    S = moving(0)
    one, other = Population(S, 2), Population(S * scale, 2)
    alphas = np.array([0.0, 0.3, 0.9])
    for name in ("block_gap", "cutoff_gap", "population_leakage"):
        found, expected = (getattr(each, name)(attenuation=alphas, tempering=0.6) for each in (other, one))
        np.testing.assert_allclose(found / scale**0.4, expected, rtol=1e-9, atol=1e-14, err_msg=name)
    np.testing.assert_allclose(other.bias_bound(alphas) / scale, one.bias_bound(alphas), rtol=1e-9)
    assert best(other, 50) == pytest.approx(best(one, 50), abs=1e-6)
    assert other.preserves_target(attenuation=0.3) == one.preserves_target(attenuation=0.3)
    for name in ("gap", "local_saving", "local_bias_constant"):
        assert getattr(other, name) / scale == pytest.approx(getattr(one, name), rel=1e-9)
    assert other.constants.V / scale == pytest.approx(one.constants.V, rel=1e-9)
    np.testing.assert_allclose(other.pairs.h / scale**2, one.pairs.h, rtol=1e-9)


def test_a_closing_gap_is_named():
    at = 0.3
    population = Population(crossing(at), 1)
    assert population.closing_strength() == pytest.approx(at, abs=1e-9)
    assert population.closing_strength(at - 0.01) is None
    named = rf"corrected with attenuation = {at:g}, has no gap at rank 1".replace(".", r"\.")
    for call in (lambda: population.bias_along_path(1.0), lambda: population.bias_bound([0.1, 1.0])):
        with pytest.raises(ValueError, match="closes at alpha") as caught:
            call()
        assert float(str(caught.value).split("alpha = ")[1].split(",")[0]) == pytest.approx(at, abs=1e-9)
    for function in (population.bias, population.sampling_coefficient, population.moved_projector):
        with pytest.raises(ValueError, match=named):
            function(attenuation=[0.0, at])
    # Next to it the expansion has a pole, which a search runs into; a warning says so.
    with pytest.warns(UserWarning, match=f"negative at attenuation = {at:.2g}"):
        population.oracle(50, ["attenuation"])
    # Away from it, on either side, everything that needs no path is defined.
    assert np.isfinite(population.excess_risk(50, attenuation=[at - 0.1, at + 0.1])).all()
    assert population.bias(attenuation=at + 0.1) > 0


def test_an_avoided_crossing_is_not_a_closing():
    S = crossing(0.5)
    S[0, 2] = S[2, 0] = 1e-4
    population = Population(S, 1)
    assert population.closing_strength() is None
    assert population.bias_along_path(0.9) == pytest.approx(population.bias(attenuation=0.9), rel=1e-6)


def test_a_negative_predicted_risk_is_not_passed_over_in_silence():
    S = crossing(0.5)
    S[0, 2] = S[2, 0] = 0.05
    population = Population(S, 1)
    assert population.excess_risk(5, attenuation=np.linspace(0, 1, 201)).min() < 0
    with pytest.warns(UserWarning, match="negative at attenuation"):
        population.oracle(5, ["attenuation"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Population(moving(0), 2).oracle(50, ["attenuation"])


def test_damping_of_correlations_below_their_errors_is_not_recommended_in_silence():
    S = np.eye(6)
    S[:3, :3] += 1
    population = Population(S, 1)
    assert population.share_of_small_correlations(100) == pytest.approx(12 / 15)
    with pytest.warns(UserWarning, match=r"80% of the correlations are smaller than 0\.1, their error at n"):
        assert population.oracle(100, ["damping"]).damping > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert population.oracle(100, ["attenuation"]).damping == 0


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
        (
            np.diag([3, 2, 2, 2, 1]),
            2,
            "n_components = 2: eigenvalues 2 to 4 tie at 2. Choose a rank outside 2 to 3",
        ),
        (np.zeros((3, 3)), 1, "eigenvalues 1 to 3 tie at 0"),
        (np.diag([2, 1]), 2, "n_components must be at least 1 and below the number of features, 2"),
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
        with pytest.raises(ValueError, match="attenuation must be a number from 0 to 1"):
            population.bias(attenuation=alpha)
    for n in (0, -3, np.nan, np.inf, "ten", None, True):
        with pytest.raises(ValueError, match="n must be a sample size"):
            population.excess_risk(n, attenuation=0.1)
    with pytest.raises(ValueError, match="path must be"):
        population.asymptotic_oracle(path="both")
    with pytest.raises(ValueError, match="corrections names 'magic'"):
        population.oracle(10, ["magic"])
    with pytest.raises(TypeError, match="'magic' is not a correction; the corrections are row_tempering"):
        population.bias(magic=0.1)
    with pytest.raises(ValueError, match="smoothing needs neighbours"):
        population.bias(smoothing=1.0)
    with pytest.raises(ValueError, match="law must be one of"):
        population.excess_risk(10, law="cauchy")
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        population.bias_bound(1.5)
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


@pytest.mark.parametrize("S", [balanced(0), moving(8)], ids=["balanced", "moving"])
def test_local_saving_is_minus_the_derivative_at_zero(S):
    d = 2

    def coefficient(alpha):
        # A negative strength does not correct anything, but the formula holds for it.
        noise = Gaussian().noise(S)
        correction = CorrectionMap(Strengths(attenuation=alpha)).at(S, noise)
        return sampling_coefficient(correction, noise, cut(correction.target, d), S)

    h = 2e-3
    slopes = [(coefficient(step) - coefficient(-step)) / (2 * step) for step in (h, 2 * h)]
    derivative = (4 * slopes[0] - slopes[1]) / 3
    assert Population(S, d).local_saving == pytest.approx(-derivative, rel=1e-7)


def test_geometry_of_a_pair():
    S, d = moving(1), 2
    population = Population(S, d)
    P = population.projector
    N, U = np.eye(5) - P, population.eigenvectors
    for alpha, tempering in ((0.0, 0.0), (0.4, 0.0), (0.3, 0.6)):
        T = corrected(S, attenuation=alpha, tempering=tempering)
        values = np.linalg.eigvalsh(T)
        inside, outside = (np.linalg.eigvalsh(V.T @ T @ V) for V in (U[:, :d], U[:, d:]))
        leak = population.population_leakage(attenuation=alpha, tempering=tempering)
        np.testing.assert_allclose(leak, N @ T @ P, atol=1e-12)
        assert population.block_gap(attenuation=alpha, tempering=tempering) == pytest.approx(
            inside[0] - outside[-1]
        )
        assert population.cutoff_gap(attenuation=alpha, tempering=tempering) == pytest.approx(
            values[-d] - values[-d - 1]
        )
        moved = population.moved_projector(attenuation=alpha, tempering=tempering)
        np.testing.assert_allclose(moved, leading_projector(T, d), atol=1e-12)
        cost = np.sum(S * (P - leading_projector(T, d)))
        assert population.bias(attenuation=alpha, tempering=tempering) == pytest.approx(cost, abs=1e-12)


def test_preservation_with_tempering():
    alphas, temperings = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 0.5, 1.0])
    kept = Population(UNEQUAL, 2)
    assert not kept.is_balanced
    assert np.all(kept.preserves_target(attenuation=alphas, tempering=temperings))
    coefficients = kept.preserved_coefficient(attenuation=alphas, tempering=temperings)
    np.testing.assert_array_equal(
        coefficients, kept.sampling_coefficient(attenuation=alphas, tempering=temperings)
    )
    moved = Population(moving(8), 2)
    assert moved.preserves_target(attenuation=alphas, tempering=temperings).sum() == 1
    with pytest.raises(ValueError, match=r"it moves at tempering = 0\.5"):
        moved.preserved_coefficient(attenuation=0.0, tempering=[0.0, 0.5])


def test_strengths_and_temperings_broadcast():
    population = Population(moving(8), 2)
    alphas, temperings = np.array([0.0, 0.4, 0.9]), np.array([0.0, 0.5])
    for name, arguments in (
        ("block_gap", ()),
        ("cutoff_gap", ()),
        ("bias", ()),
        ("sampling_coefficient", ()),
        ("excess_risk", (30,)),
        ("benefit", (30,)),
    ):
        answer = partial(getattr(population, name), *arguments)
        surface = answer(attenuation=alphas[:, None], tempering=temperings)
        assert surface.shape == (3, 2)
        assert isinstance(answer(attenuation=0.4, tempering=0.5), float)
        assert surface[1, 1] == pytest.approx(answer(attenuation=0.4, tempering=0.5), rel=1e-12)
        np.testing.assert_array_equal(answer(attenuation=0.4, tempering=temperings), surface[1])
        np.testing.assert_array_equal(surface[:, 0], answer(attenuation=alphas))
        assert answer(attenuation=[]).shape == (0,)
    assert population.moved_projector(attenuation=alphas[:, None], tempering=temperings).shape == (3, 2, 5, 5)
    assert population.is_beneficial(30, attenuation=0.1, tempering=temperings).dtype == bool
    with pytest.raises(ValueError, match=r"broadcast, such as .* got attenuation \(3,\), tempering \(2,\)"):
        population.bias(attenuation=alphas, tempering=temperings)
    with pytest.raises(ValueError, match="tempering must be a number from 0 to 1"):
        population.bias(attenuation=0.1, tempering=1.5)


def test_oracle_of_both_strengths():
    population, n = Population(moving(8), 2), 15
    alphas, temperings = default_strengths(), np.arange(11) / 10
    risks = population.excess_risk(n, attenuation=alphas[:, None], tempering=temperings)
    row, column = np.unravel_index(np.argmin(risks), risks.shape)
    on_grid = population.oracle(n, {"tempering": temperings, "attenuation": alphas})
    assert (on_grid.attenuation, on_grid.tempering) == (alphas[row], temperings[column])
    # On the ranges strengths are polished, and the risk no larger than on the grid.
    anywhere = population.oracle(n, ["attenuation", "tempering"])
    assert population.excess_risk(n, **anywhere) <= risks.min() + 1e-12


@pytest.mark.slow
def test_oracle_pair_beats_the_oracle_strength_in_simulation():
    """Where tempering helps by the theory it helps in samples: equal signals, unequal noise."""
    S, n = 1 + np.diag(np.exp(np.linspace(-0.4, 0.4, 8))), 30
    population, temperings = Population(S, 1), np.arange(11) / 10
    both = population.oracle(n, {"tempering": temperings, "attenuation": temperings})
    pair, alone = (both.attenuation, both.tempering), population.oracle(n, ["attenuation"]).attenuation
    assert both.tempering > 0.5
    samples = sample_covariances(S, n, 20_000, np.random.default_rng(0))
    risks = [risk(S, samples, 1, attenuation=a, tempering=t) for a, t in (pair, (alone, 0.0))]
    difference = risks[1] - risks[0]
    assert difference.mean() > 8 * difference.std() / np.sqrt(len(difference))


def test_a_closing_gap_is_named_with_its_tempering():
    """Tempered, coordinate three has sqrt(10) (1 - alpha) and the pair sqrt(3) (1 - alpha) + 2/sqrt(3)."""
    S = np.array([[3.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 10.0]])
    population = Population(S, 1)
    at = 1 - 2 / np.sqrt(3) / (np.sqrt(10) - np.sqrt(3))
    with pytest.raises(ValueError, match=r"tempering = 0\.5, attenuation = .*, has no gap at rank 1"):
        population.bias(attenuation=at, tempering=0.5)


def test_special_forms_refuse_what_they_do_not_cover():
    population = Population(moving(2), 2)
    with pytest.raises(ValueError, match=r"moves at attenuation = 0\.3"):
        population.preserved_coefficient(attenuation=[0.0, 0.3])
    with pytest.raises(ValueError, match="balanced marginals"):
        population.balanced_coefficient(0.1)
