"""What the theory expects of each correction: against the population, and against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from attenua._correct.registry import CORRECTIONS
from attenua.theory import LATENT_LAWS, Gaussian, Population, Rows, Strengths, StudentT, draw_rows, when
from attenua.theory.expectations import WORTH
from attenua.theory.samples import blended_covariance, fitted_risks, simulated_gain, tail_law
from tests.theory.designs import balanced, moving

N = 40
MOVING = moving(1)
UNEQUAL_NOISE = 1 + np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0])
NAMES = ["attenuation", "tempering", "damping", "row_tempering", "smoothing", "together"]


@pytest.fixture(scope="module")
def population():
    return Population(MOVING, 2, neighbours="line", row_pairs=True)


@pytest.fixture(scope="module")
def found():
    return when(MOVING, 2, N, law=StudentT(8), neighbours="line", n_simulations=50, random_state=0)


@pytest.fixture(scope="module")
def sample():
    spikes = np.linspace(1, 2, 30)[:, None] * np.ones((30, 1))
    return draw_rows(spikes @ spikes.T + 4 * np.eye(30), 20, random_state=1)


def test_every_correction_is_there_in_order(found):
    assert [e.correction for e in found] == NAMES
    assert len(found) == len(found.table) == 6
    assert found["damping"] is found[2]
    assert "damping" in found
    assert "magic" not in found
    without_neighbours = when(MOVING, 2, N, n_simulations=0)
    assert [e.correction for e in without_neighbours] == [name for name in NAMES if name != "smoothing"]
    with pytest.raises(KeyError, match="'tempring' is not one of attenuation"):
        found["tempring"]


def test_parts_are_those_of_the_population(found, population):
    law = StudentT(8)
    pca = population.excess_risk(N, law=law)
    for e in found:
        strengths = e.strengths
        np.testing.assert_allclose(e.bias, population.bias(law=law, **strengths), atol=1e-12)
        np.testing.assert_allclose(e.sampling * N, population.sampling_coefficient(law=law, **strengths))
        np.testing.assert_allclose(
            e.gain, 1 - population.excess_risk(N, law=law, **strengths) / pca, atol=1e-12
        )


@pytest.mark.filterwarnings("ignore:.* of the correlations are smaller")
@pytest.mark.parametrize("name", ["attenuation", "damping", "smoothing", "borrowing"])
def test_the_best_strength_is_the_oracle_to_the_accuracy_of_the_grid(name):
    given = {"neighbours": "line", "reference": MOVING + np.eye(5)}
    population = Population(MOVING, 2, **given)
    e = when(MOVING, 2, N, **given, corrections=[name], n_simulations=0)[name]
    oracle = population.oracle(N, [name])
    least = population.excess_risk(N, **oracle)
    assert least <= (e.bias + e.sampling) * (1 + 1e-9)
    assert e.bias + e.sampling <= least * 1.005


@pytest.mark.filterwarnings("ignore:.* of the correlations are smaller")
def test_together_is_no_worse_than_any_alone_and_no_better_than_all_combinations():
    names = ["attenuation", "tempering", "damping"]
    grids = {name: CORRECTIONS[name].strengths for name in names}
    found = when(MOVING, 2, N, corrections=grids, n_simulations=0)
    assert found["together"].gain >= max(found[name].gain for name in names)
    population = Population(MOVING, 2)
    least = population.excess_risk(N, **population.oracle(N, grids))
    assert found["together"].bias + found["together"].sampling >= least * (1 - 1e-9)


def test_worth_until_is_where_the_gain_falls_to_one_percent():
    found = when(UNEQUAL_NOISE, 1, 30, neighbours="line", n_simulations=0)
    for name in ("attenuation", "tempering", "smoothing", "together"):
        e = found[name]
        assert 30 < e.worth_until < np.inf
        crossing = brentq(lambda log_n, e=e: e.gain_at(np.exp(log_n)) - WORTH, 0, np.log(e.worth_until) + 5)
        np.testing.assert_allclose(np.exp(crossing), e.worth_until, rtol=1e-6)


def test_worth_until_where_the_target_is_preserved_and_where_nothing_helps():
    found = when(balanced(2), 2, N, n_simulations=0)
    assert Population(balanced(2), 2).preserves_target(attenuation=0.5)
    assert found["attenuation"].worth_until == np.inf
    assert "worth it at every n" in str(found["attenuation"])
    # Rows of a Gaussian keep the target under row tempering, which only loses efficiency.
    assert found["row_tempering"].worth_until == 0
    assert found["row_tempering"].strengths == Strengths()
    assert found["row_tempering"].gain == 0
    assert "no strength helps" in str(found["row_tempering"])


def test_gains_at_other_sizes_are_those_of_another_call(found):
    for size in (20, 500):
        names = ["attenuation", "damping"]
        other = when(MOVING, 2, size, law=StudentT(8), corrections=names, n_simulations=0)
        for name in names:
            np.testing.assert_allclose(found[name].gain_at(size), other[name].gain, atol=1e-12)
    assert np.all(np.diff(found["together"].gain_at(np.geomspace(5, 5000, 50))) <= 1e-12)


@pytest.mark.slow
def test_simulated_gains_by_brute_force(found, population):
    random, risks = np.random.RandomState(5), []
    for _ in range(400):
        rows = StudentT(8).draw(random, N, np.linalg.cholesky(MOVING).T)
        risks.append(fitted_risks(population, rows / np.sqrt(population.unit), [e.strengths for e in found]))
        scaled = rows.T @ rows / N
        vectors = np.linalg.eigh(scaled)[1][:, -2:]
        pca = np.trace(MOVING @ population.projector) - np.trace(vectors.T @ MOVING @ vectors)
        risks[-1] = np.append(pca, risks[-1])
    risks = np.array(risks)
    for e, corrected in zip(found, risks.T[1:], strict=True):
        gain, error = simulated_gain(risks[:, 0], corrected)
        assert abs(gain - e.simulated_gain) <= 4 * np.hypot(error, e.simulated_error) + 1e-12


def test_pairs_up_to_a_thousand_rows_of_an_elliptical_law():
    assert when(MOVING, 2, 1_000, corrections=["row_tempering"], n_simulations=0).population._row_pairs
    assert not when(MOVING, 2, 1_001, corrections=["row_tempering"], n_simulations=0).population._row_pairs
    rows = draw_rows(MOVING, 500, random_state=0)
    found = when(MOVING, 2, 100, law=rows, corrections=["row_tempering"], n_simulations=0)
    assert not found.population._row_pairs


def test_advance_is_called_after_every_strength_and_sample():
    calls = []
    when(MOVING, 2, N, corrections={"tempering": [0.5]}, n_simulations=7, advance=lambda: calls.append(1))
    assert len(calls) == 2 + 7


def test_a_failing_expansion_is_noticed_and_the_simulation_chooses():
    # Many correlations far below their errors: the expansion of damping does not hold.
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((25, 1))
    noise = rng.standard_normal((25, 400))
    covariance = 0.3 * factor @ factor.T + noise @ noise.T / 400
    found = when(covariance, 1, 30, corrections=["damping"], n_simulations=100, random_state=0)
    damping = found["damping"]
    assert not damping.is_sound
    assert damping.strengths.damping in CORRECTIONS["damping"].strengths
    assert "The expansion does not hold for damping" in found.trust
    assert "of the correlations are smaller than their errors" in found.trust
    unchecked = when(covariance, 1, 30, corrections=["damping"], n_simulations=0)
    assert "no simulation has checked" in unchecked.trust


def test_damping_of_uncorrelated_columns():
    # Errors of correlations of 0 are damped to a smaller order than 1/n, which the expansion calls 0.
    found = when(
        np.diag([5.0, 3.0, 1.0, 1.0]), 2, 25, corrections=["damping"], n_simulations=50, random_state=0
    )
    damping = found["damping"]
    assert damping.worth_until == np.inf
    assert damping.gain == 1
    assert not damping.is_sound
    assert damping.strengths.damping == max(CORRECTIONS["damping"].strengths)
    assert 0.5 < damping.simulated_gain < 1


def test_a_constant_column_of_a_sample_has_no_variance(sample):
    """The mean of many 0.1 is not 0.1, and tempering would make a variance of the difference."""
    X = sample[:, :6].copy()
    X[:, 2] = 0.1
    strengths = {name: [0.5] for name in ("attenuation", "tempering", "damping", "row_tempering")}
    options = {"corrections": strengths, "n_simulations": 5, "random_state": 0}
    with_zero, with_tenth = (when(some, 1, **options) for some in (np.where(X == 0.1, 0.0, X), X))
    assert with_tenth.table == with_zero.table
    assert with_tenth.population.covariance[2, 2] == 0
    assert all(np.isfinite(e.gain) for e in with_tenth)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**-900, 2.0**900])
def test_the_unit_of_a_covariance_does_not_matter(scale):
    options = {"n_simulations": 20, "random_state": 0}
    small, plain = (when(some * MOVING, 2, N, **options) for some in (scale, 1.0))
    assert str(small) == str(plain)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_the_unit_of_a_sample_does_not_matter(sample, scale):
    options = {"corrections": ["attenuation", "tempering"], "n_simulations": 10, "random_state": 0}
    assert str(when(sample * scale, 1, **options)) == str(when(sample, 1, **options))


def test_samples_too_large_to_draw_are_not_simulated():
    found = when(UNEQUAL_NOISE, 1, 1e12, corrections=["attenuation"])
    assert found.n_simulations == 0
    assert "no simulation has checked" in found.trust


def test_words_where_the_expansion_predicts_risks_below_zero(found):
    """Strengths with a negative risk are passed over at n, though they may be worth it at a larger n."""
    zero, some = Strengths(), Strengths(attenuation=0.5)
    parts = {"candidates": (zero, some), "biases": np.array([0, 0.01]), "coefficients": np.array([1.0, -2])}
    none = replace(found["attenuation"], strengths=zero, bias=0.0, n=N, sampling=1 / N, pca=1 / N, **parts)
    assert none.worth_until > N
    assert "only up to" not in str(none)
    assert "the expansion fails" in str(none)


@pytest.mark.parametrize("law", ["t10", np.vstack([np.eye(5), -np.eye(5)])])
def test_laws_are_named_without_addresses(law):
    text = str(when(MOVING, 2, N, law=law, corrections=["attenuation"], n_simulations=0))
    assert " at 0x" not in text


def test_a_sample_stands_for_a_population(sample):
    found = when(sample, 1, corrections=["attenuation", "tempering"], n_simulations=30, random_state=0)
    rows = sample - sample.mean(axis=0)
    assert found.is_sample
    assert found.n == 19
    assert found.law == tail_law(rows)
    np.testing.assert_allclose(found.population.covariance, blended_covariance(rows.T @ rows / 19, 1, 19))
    assert all(len(e.plug_in_gains) == 20 for e in found)
    assert "With 30 columns and n = 19 most of the sample covariance is noise" in found.trust
    assert "four times out of five" in found.trust
    assert when(sample, 1, law="gaussian", corrections=["tempering"], n_simulations=0).law == Gaussian()


def test_laws_that_cannot_be_drawn_or_tempered(sample):
    rows = sample - sample.mean(axis=0)
    by_rows = when(rows.T @ rows / 20, 1, 20, law=Rows(rows), corrections=["row_tempering"])
    assert by_rows.n_simulations == 0
    assert np.isnan(by_rows["row_tempering"].simulated_gain)
    names = [e.correction for e in when(MOVING, 2, N, law=LATENT_LAWS["t10"], n_simulations=0)]
    assert names == ["attenuation", "tempering", "damping", "together"]


def test_the_same_seed_gives_the_same_answer(sample):
    first, again, other = (
        when(sample, 1, corrections=["attenuation"], n_simulations=10, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert first.table == again.table
    assert first.table != other.table
    assert first["attenuation"].gain == other["attenuation"].gain


def test_words(found):
    text, page = str(found), found._repr_html_()
    assert text.startswith("5 features, rank 2, n = 40, StudentT(degrees_of_freedom=8)")
    assert "of PCA's excess risk" in text
    assert found.trust in text
    assert "row tempering" in page
    assert {"correction", "gain", "worth_until", "simulated_error"} <= set(found.table[0])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((MOVING, 2), {}, "give n if it is a covariance"),
        ((MOVING, 2, 0), {}, "n must be a sample size"),
        ((MOVING, 5, 10), {}, "n_components must be at least 1 and below"),
        ((np.ones((3, 5)), 2), {}, "more than n_components"),
        ((np.arange(12.0), 1), {}, "X must hold rows"),
        ((MOVING, 2, 10), {"law": "sample"}, "needs a sample"),
        ((MOVING, 2, 10), {"law": StudentT(4)}, "falls more slowly than 1/n"),
        ((MOVING, 2, 10), {"n_simulations": 1}, "0 or at least 2"),
        ((MOVING, 2, 10), {"corrections": []}, "at least one correction"),
        ((MOVING, 2, 10), {"corrections": ["smoothing"]}, "smoothing needs neighbours"),
        ((MOVING, 2, 10), {"corrections": "all"}, "corrections must be"),
        ((np.full((15, 5), 0.1), 1), {}, "rows that differ"),
        ((np.diag([2.0, 1, 0, 0]), 2, 30), {}, "PCA makes no error here"),
    ],
)
def test_what_cannot_be_answered_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        when(*arguments, **options)


@pytest.mark.parametrize(("until", "told"), [(2, False), (20, True)])
def test_words_say_nothing_of_a_handful_of_rows(found, until, told):
    limit = found["attenuation"].pca * N
    nothing = replace(
        found["attenuation"],
        strengths=Strengths(),
        candidates=(Strengths(attenuation=0.5),),
        biases=np.array([0.5 * limit / until]),
        coefficients=np.array([(1 - WORTH - 0.5) * limit]),
    )
    assert nothing.worth_until == pytest.approx(until)
    assert ("only up to about 20 rows" in str(nothing)) == told
    assert str(nothing).startswith("attenuation: no strength helps here")
