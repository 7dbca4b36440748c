import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard, sqrtm
from tests.helpers import each

from attenua_paper.studies.published import SIMULATION_CLAIMS
from attenua_paper.studies.simulations import FULL, Settings, run_simulations
from attenua_paper.studies.simulations.claims import claim_table
from attenua_paper.studies.simulations.figures import (
    non_gaussian_figure,
    preserved_and_moving_figure,
    save_figure,
)
from attenua_paper.studies.simulations.mechanism_figure import (
    averaged_loss_matrix,
    masked_loss_matrix,
    overview_figure,
)
from attenua_paper.studies.simulations.monte_carlo import (
    REPLICATES_AT_ONCE,
    Experiment,
    simulate_risks,
    stream,
)
from attenua_paper.studies.simulations.panels import best_row, resampled_best, risk_curve
from attenua_paper.studies.simulations.paper_populations import (
    ANGLES,
    FINE_STRENGTHS,
    STRENGTHS,
    balanced_design,
    rotating_design,
    unequal_design,
)
from attenua_paper.theory import LAWS, Law, Population, draw_rows, moment_constants
from paper.tests.studies.small_shell import TINY

DESIGNS = {"balanced": balanced_design(), "unequal": unequal_design(), "rotating": rotating_design(3.0)}


@pytest.fixture(scope="module")
def tiny():
    return run_simulations(TINY, seed=3)


def test_balanced_design():
    population = balanced_design()
    np.testing.assert_allclose(population.eigenvalues, [9, 5, 3] + [1] * 13)
    np.testing.assert_allclose(np.abs(population.eigenvectors[:, :3]), 1 / 4)
    np.testing.assert_allclose(np.diag(population.covariance), 1 + 14 / 16)
    assert population.n_components == 3


@each("columns", [[1, 2, 3], [1, 2, 4], [7, 0, 12]])
def test_which_hadamard_columns_carry_the_spikes_does_not_matter(columns):
    """The paper does not name them."""
    spikes = hadamard(16)[:, columns] / 4
    other = Population(np.eye(16) + (spikes * [8, 4, 2]) @ spikes.T, 3)
    expected = balanced_design().sampling_coefficient(STRENGTHS[::7])
    np.testing.assert_allclose(other.sampling_coefficient(STRENGTHS[::7]), expected)


def test_unequal_design_preserves_its_target_without_balance():
    population = unequal_design()
    assert not population.is_balanced
    assert population.preserves_target(STRENGTHS).all()
    assert population.n_components == 2


@each("angle", [ANGLES[0], ANGLES[5], ANGLES[-1]])
def test_rotating_design_has_the_stated_coupling(angle):
    population = rotating_design(angle)
    np.testing.assert_allclose(population.eigenvalues, [5, 1])
    assert np.linalg.norm(population.leakage) == pytest.approx(np.sin(4 * np.deg2rad(angle)), abs=1e-14)


def test_grids_and_amounts_are_the_papers_or_what_is_left_out_is_said():
    # Grids and amounts are the papers.
    assert len(ANGLES) == 13
    assert len(FINE_STRENGTHS) == 42
    np.testing.assert_allclose(np.setdiff1d(FINE_STRENGTHS, [0.49]), np.linspace(0, 1, 41))
    assert set(STRENGTHS) < set(FINE_STRENGTHS)
    assert Settings(3_000, 5_000, (64, 256, 1024), 150_000) == FULL
    assert FULL.total == 2 * 3_000 + 13 * 3_000 + 9 * 5_000
    # Settings say what they leave out.
    assert FULL.left_out() == ""
    words = TINY.left_out()
    for part in ("40 samples", "3,000", "5,000", "no samples of 1024 rows", "2,000 rows instead of 150,000"):
        assert part in words


def loop_over_samples(experiment, seed):
    """The same streams, one sample and one strength at a time, from rows to projectors."""
    population, n = experiment.population, experiment.n
    sigma, d, p = population.covariance, population.n_components, population.n_features
    root = np.real(sqrtm(sigma))
    risks = []
    for batch, size in enumerate(experiment.batches):
        rng = np.random.default_rng(stream(seed, experiment.name, batch))
        for Z in LAWS[experiment.law].draw(rng, (size, n, p)):
            X = Z @ root
            S = X.T @ X / n
            risks.append([])
            for alpha in experiment.strengths:
                V = np.linalg.eigh(S - alpha * np.diag(np.diag(S)))[1][:, -d:]
                risks[-1].append(np.trace(sigma @ (population.projector - V @ V.T)))
    return np.array(risks)


@each("name, law", list(zip(DESIGNS, LAWS, strict=True)))
def test_batches_agree_with_a_loop_over_samples(name, law):
    # Small samples, so that some directions land far from the target and some 2 x 2 covariances flip.
    experiment = Experiment(name, DESIGNS[name], 5, np.array([0.0, 0.3, 1.0]), REPLICATES_AT_ONCE + 7, law)
    (risks,) = simulate_risks([experiment], seed=11)
    assert risks.shape == (REPLICATES_AT_ONCE + 7, 3)
    np.testing.assert_allclose(risks, loop_over_samples(experiment, 11), atol=1e-11)


def test_numbers_depend_on_the_seed_only():
    experiments = [Experiment(name, DESIGNS[name], 20, STRENGTHS, 250) for name in DESIGNS]
    alone = [simulate_risks([e], seed=1)[0] for e in experiments]
    for jobs in (1, 2, 5):
        seen = []
        together = simulate_risks(experiments, seed=1, jobs=jobs, advance=seen.append)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)
        assert sum(seen) == 750
    assert (simulate_risks(experiments, seed=2)[0] != alone[0]).any()
    # Batches are not copies of one another.
    assert not np.isin(alone[0][:REPLICATES_AT_ONCE, 0], alone[0][REPLICATES_AT_ONCE:, 0]).any()


def test_an_interruption_draws_no_further_batches(monkeypatch):
    drawn = []

    def counting(rng, size):
        drawn.append(size)
        return rng.standard_normal(size)

    def interrupt(replicates):
        raise KeyboardInterrupt

    monkeypatch.setitem(LAWS, "gaussian", Law(counting))
    experiment = Experiment("interrupted", unequal_design(), 50, STRENGTHS, 40 * REPLICATES_AT_ONCE)
    with pytest.raises(KeyboardInterrupt):
        simulate_risks([experiment], seed=0, jobs=2, advance=interrupt)
    assert len(drawn) < 20


@each("name, n", [("unequal", 2048), ("rotating", 1024)])
def test_simulation_agrees_with_the_theory(name, n):
    """At these sizes what the expansion leaves out is well below the Monte Carlo error."""
    population = DESIGNS[name]
    strengths = STRENGTHS[:-1:3]
    experiment = Experiment(name, population, n, strengths, 3_000)
    (risks,) = simulate_risks([experiment], seed=0, jobs=2)
    curve = risk_curve(experiment, risks, n * population.excess_risk(n, strengths))
    assert ((curve["scaled_risk"] - curve["theory"]).abs() < 4 * curve["standard_error"]).all()
    off = (curve["reduction"] - curve["theory_reduction"]).abs()
    assert (off <= 4 * curve["reduction_error"]).all()
    assert (curve["standard_error"] < 0.05 * curve["theory"]).all()


def test_complete_attenuation_of_two_coordinates_leaves_no_sampling_error():
    """Its direction is (1, 1) in every sample with a positive covariance: the risk is the population cost."""
    population = rotating_design(3.0)
    (risks,) = simulate_risks([Experiment("complete", population, 256, np.array([1.0]), 100)], seed=0)
    np.testing.assert_allclose(risks, population.bias(1.0), rtol=1e-12)


def test_skewed_rows_follow_their_moments_and_not_the_gaussian_curve():
    population = balanced_design()
    strengths = np.array([0.0, 0.5, 1.0])
    experiment = Experiment("skewed", population, 1024, strengths, 1_000, "exponential")
    (risks,) = simulate_risks([experiment], seed=0, jobs=2)
    rows = draw_rows(population.covariance, 50_000, law="exponential", random_state=0)
    pilot = moment_constants(population, rows)
    curve = risk_curve(experiment, risks, pilot.coefficient(strengths), pilot.coefficient_error(strengths))
    error = np.hypot(curve["standard_error"], curve["theory_error"])
    assert ((curve["scaled_risk"] - curve["theory"]).abs() < 4 * error).all()
    # What sets this law apart is mostly in the coordinatewise variances, which complete attenuation drops.
    gaussian = population.balanced_coefficient(strengths)
    assert ((curve["scaled_risk"] - gaussian).abs() > 8 * error)[:2].all()


def test_errors_of_a_curve_are_those_of_repeated_simulations():
    population = unequal_design()
    names = [f"repeat {i}" for i in range(200)]
    experiments = [Experiment(name, population, 64, np.array([0.0, 0.6]), 50) for name in names]
    theory = population.sampling_coefficient(np.array([0.0, 0.6]))
    curves = pd.concat(
        risk_curve(e, risks, theory, name=e.name)
        for e, risks in zip(experiments, simulate_risks(experiments, seed=5), strict=True)
    )
    at = curves[curves["strength"] == 0.6]
    # 200 repeats give a standard deviation to 5%.
    assert at["standard_error"].mean() == pytest.approx(at["scaled_risk"].std(), rel=0.2)
    assert at["reduction_error"].mean() == pytest.approx(at["reduction"].std(), rel=0.2)


def test_best_strengths_and_their_resamples():
    experiment = Experiment("best", unequal_design(), 10, np.array([0.0, 0.5, 1.0]), 400)
    random = np.random.default_rng(0)
    # Strengths 1/2 and 1 are equally good, 0 is worse by far more than the spread.
    risks = 1 + np.array([1.0, 0.0, 0.0]) + 0.1 * random.standard_normal((400, 3))
    curve = risk_curve(experiment, risks, np.array([3.0, 2.0, 1.0]), kind="made up")
    resampled = resampled_best(experiment, risks, seed=0)
    assert set(resampled) == {0.5, 1.0}
    row = best_row(curve, resampled, kind="made up")
    assert row["kind"] == "made up"
    assert row["strength"] == [0, 0.5, 1][risks.mean(axis=0).argmin()]
    assert row["strength_error"] == resampled.std() > 0.2
    assert row["theory_strength"] == 1.0
    assert row["theory_reduction"] == pytest.approx(100 * 2 / 3)
    assert row["reduction"] == pytest.approx(50, abs=1)


def test_claims_read_the_right_rows():
    preserved = pd.DataFrame(
        {
            "design": ["balanced", "unequal"],
            "theory_strength": [1.0, 0.9],
            "strength": [0.95, 0.85],
            "strength_error": [0.05, 0.04],
            "theory_reduction": [10.0, 20.0],
            "reduction": [11.0, 21.0],
            "reduction_error": [1.0, 2.0],
        }
    )
    moving = pd.DataFrame(
        {
            "theory_strength": [1.0, 0.6, 0.45, 0.1],
            "strength": [1.0, 0.5, 0.49, 0.15],
            "theory_reduction": [100.0, 60.0, 40.0, 5.0],
            "reduction": [99.0, 61.0, 41.0, 6.0],
            "reduction_error": [0.0, 1.0, 1.0, 1.0],
        }
    )
    audit = pd.DataFrame(
        {
            "n": [64, 1024, 1024],
            "scaled_risk": [9.0, 5.0, 4.0],
            "standard_error": [0.3, 0.3, 0.3],
            "theory": [1.0, 5.5, 2.0],
            "theory_error": [0.4, 0.4, 0.4],
        }
    )
    claims = claim_table(preserved, moving, np.array([0.1, 0.1, 0.4]), audit).set_index("claim")
    assert list(claims.index) == list(SIMULATION_CLAIMS)
    assert claims["ours"].tolist() == pytest.approx([11, 21, 0.85, 0.1, 99, 41, 2])
    assert claims["error"].tolist() == pytest.approx([1, 2, 0.04, np.sqrt(0.02), 0, 1, 0.5])
    assert claims.loc["unequal_reduction", "theory"] == 20


def test_a_whole_run_is_complete_and_the_same_for_any_number_of_jobs(tiny):
    seen = []
    other = run_simulations(TINY, seed=3, jobs=3, advance=seen.append)
    assert sum(seen) == TINY.total
    for name, frame in tiny.frames.items():
        pd.testing.assert_frame_equal(frame, other.frames[name], check_exact=True)
    assert len(tiny.preserved) == 2 * 22
    assert len(tiny.moving) == 13
    assert len(tiny.audit) == 3 * 2 * 22
    # Only a claim may have no number, where theory has none.
    for frame in (*tiny.frames.values(), tiny.claims.drop(columns="theory")):
        if frame is not tiny.claims:
            assert np.isfinite(frame.select_dtypes("number")).all(axis=None)


def test_predictions_of_a_run_are_the_theorys(tiny):
    balanced = tiny.preserved[tiny.preserved["design"] == "balanced"]
    np.testing.assert_allclose(balanced["theory"], balanced_design().balanced_coefficient(STRENGTHS))
    oracles = [rotating_design(angle).oracle(64, FINE_STRENGTHS) for angle in ANGLES]
    np.testing.assert_array_equal(tiny.moving["theory_strength"], oracles)
    # One prediction a law, whatever the sample size; and the pilots of the laws differ.
    predictions = tiny.audit.pivot_table(index="strength", columns=["law", "n"], values="theory")
    for law in LAWS:
        np.testing.assert_array_equal(predictions[law, 64], predictions[law, 256])
    assert predictions.iloc[0].nunique() == 3


def test_mean_over_all_masks_is_the_attenuated_matrix():
    """The left panel of figure 1 shows what it says: an average over masks, not the formula."""
    X = np.random.default_rng(0).standard_normal((9, 4))
    S = X.T @ X / 9
    for m in (0.2, 0.5):
        alpha = m / (1 + m)
        np.testing.assert_allclose(averaged_loss_matrix(S, m), S - alpha * np.diag(np.diag(S)), atol=1e-12)
    # One mask's matrix gives one mask's loss, up to the common factor.
    P = np.diag([1.0, 0, 0, 0])
    kept = np.array([1.0, 0, 1, 1])
    loss = np.mean(np.sum((X - (X * kept) @ P) ** 2, axis=1))
    M = masked_loss_matrix(S, kept, 0.5)
    assert np.trace(S) - 0.75 * np.sum(P * M) == pytest.approx(loss)


@pytest.mark.slow
def test_figures_show_the_simulated_numbers_and_are_repeatable(tiny):
    figure = preserved_and_moving_figure(tiny)
    balanced, unequal, strengths, reductions = figure.axes
    for ax, design in ((balanced, "balanced"), (unequal, "unequal")):
        curve = tiny.preserved[tiny.preserved["design"] == design]
        np.testing.assert_array_equal(ax.containers[0].lines[0].get_ydata(), curve["scaled_risk"])
        shown = {line.get_label(): line.get_ydata() for line in ax.lines}
        np.testing.assert_array_equal(shown[r"theory $\mathcal{K}(\alpha)$"], curve["theory"])
    np.testing.assert_array_equal(strengths.lines[1].get_ydata(), tiny.moving["strength"])
    np.testing.assert_array_equal(reductions.containers[0].lines[0].get_ydata(), tiny.moving["reduction"])
    largest = tiny.audit[tiny.audit["n"] == 256]
    for ax, law in zip(non_gaussian_figure(tiny).axes, LAWS, strict=True):
        risks = largest[largest["law"] == law]["scaled_risk"]
        np.testing.assert_array_equal(ax.containers[0].lines[0].get_ydata(), risks)
    assert save_figure(overview_figure()) == save_figure(overview_figure())
