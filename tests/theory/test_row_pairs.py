"""Row tempering of pairs of rows: its moments and its risk, against samples and finer integrals."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from attenua.theory import (
    ContaminatedNormal,
    Gaussian,
    Population,
    StudentT,
    draw_rows,
    laws,
)
from attenua.theory import (
    noise as noise_module,
)
from tests.theory.designs import moving

LAWS = [Gaussian(), StudentT(5.0)]


def by_pairs(X, kappa):
    """Mean over pairs of (x - x')(x - x')' / |x - x'|^(2 kappa), up to a factor."""
    squared = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    weights = squared**-kappa
    return X.T @ (np.diag(weights.sum(axis=1)) - weights) @ X


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_moments_of_the_projection(law):
    """h_1 of some thousand rows, each with a mean over others: its moments with their standard errors."""
    eigenvalues, kappa = np.array([4.0, 2.0, 1.0]), 0.6
    noise = law.noise(np.diag(eigenvalues), kappa, row_pairs=True)
    rng = np.random.RandomState(0)
    rows, others = (draw_rows(np.diag(eigenvalues), 4_000, law=law, random_state=rng) for _ in range(2))
    h = np.empty((len(rows), 3, 3))
    for row, x in enumerate(rows):
        z = x - others
        h[row] = (z * (np.sum(z**2, axis=1) ** -kappa)[:, None]).T @ z / len(z)
    scale = 7 / np.trace(h.mean(axis=0))
    errors = 2 * (h * scale - noise.covariance)
    np.testing.assert_allclose(np.diag(h.mean(axis=0)) * scale, np.diag(noise.covariance), rtol=0.03)
    moments = noise.entry_moments()
    for found, values in (
        (moments.entry_with_entry[0, 1], errors[:, 0, 1] ** 2),
        (moments.entry_with_entry[0, 2], errors[:, 0, 2] ** 2),
        (moments.entry_with_entry[1, 1], errors[:, 1, 1] ** 2),
        (moments.variance_with_variance[0, 1], errors[:, 0, 0] * errors[:, 1, 1]),
    ):
        assert abs(values.mean() - found) < 4 * values.std() / np.sqrt(len(values))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "strengths"),
    [
        (Gaussian(), {"row_tempering": 1.0}),
        (ContaminatedNormal(0.1, 3.0), {"row_tempering": 0.5, "tempering": 0.5}),
        (StudentT(5.0), {"row_tempering": 0.5, "tempering": 0.5}),
    ],
    ids=str,
)
def test_risk_of_pairs_against_monte_carlo(law, strengths):
    S, d, n, repeats = moving(8), 2, 300, 250
    population = Population(S, d, row_pairs=True)
    rng, best = np.random.RandomState(1), population.eigenvalues[:d].sum()
    risks = []
    for _ in range(repeats):
        T = by_pairs(draw_rows(S, n, law=law, random_state=rng), strengths["row_tempering"])
        scales = np.diag(T) ** (-strengths.get("tempering", 0.0) / 2)
        V = np.linalg.eigh(T * np.outer(scales, scales))[1][:, -d:]
        risks.append(best - np.sum(V * (S @ V)))
    error = np.std(risks) / np.sqrt(repeats)
    assert abs(np.mean(risks) - population.excess_risk(n, law=law, **strengths)) < 4 * error
    assert error < 0.08 * np.mean(risks)


@pytest.mark.parametrize(
    ("law", "kappa"),
    [
        (Gaussian(), 0.1),
        (StudentT(5.0), 0.5),
        (StudentT(3.0), 1.0),
        (StudentT(200.0), 1.0),
    ],
)
def test_three_digits(monkeypatch, law, kappa):
    population = Population(moving(8), 2, row_pairs=True)
    found = population.sampling_coefficient(law=law, row_tempering=kappa)
    monkeypatch.setattr(noise_module, "_PAIR_SPACING", 0.1)
    monkeypatch.setattr(noise_module, "_PAIR_NEGLIGIBLE", 1e-6)
    monkeypatch.setattr(laws, "_MIXING_SPACING", 0.6)
    monkeypatch.setattr(laws, "_MIXING_LEFT_OUT", 1e-6)
    finer = population.sampling_coefficient(law=law, row_tempering=kappa)
    assert found == pytest.approx(finer, rel=2e-3)


def test_light_tails_lead_to_the_gaussian_law():
    """From heavy to light tails, past the degrees of freedom that a sample may suggest."""
    population = Population(moving(8), 2, row_pairs=True)
    found = [
        population.sampling_coefficient(law=StudentT(df), row_tempering=0.5) for df in (5, 20, 200, 1e6, 1e12)
    ]
    gaussian = population.sampling_coefficient(row_tempering=0.5)
    assert np.all(np.diff(found[:3]) < 0)
    np.testing.assert_allclose(found[3:], gaussian, rtol=2e-3)


@pytest.mark.parametrize("df", [3.0, 200.0])
def test_lengths_of_t_rows_have_their_moments(df):
    """E tau^(2s) / (E tau^s)^2 by the nodes, against gamma functions."""
    law = StudentT(df)
    lengths, weights = law.mixing(0.5)
    assert weights.sum() == pytest.approx(1)
    factor = weights @ lengths / (weights @ lengths**0.5) ** 2
    assert factor == pytest.approx(law.tail_factor(0.5), rel=2e-3)


def test_pairs_lose_less_than_rows_where_rows_are_gaussian():
    S = moving(8)
    rows, pairs = (Population(S, 2, row_pairs=some) for some in (False, True))
    pca = rows.sampling_coefficient()
    assert pairs.sampling_coefficient() == pca
    for kappa in (0.25, 0.5, 1.0):
        single, paired = (each.sampling_coefficient(row_tempering=kappa) for each in (rows, pairs))
        assert pca < paired < single
    heavy = [pairs.sampling_coefficient(law=StudentT(5), row_tempering=kappa) for kappa in (0.0, 0.5, 1.0)]
    assert heavy[0] > heavy[1] > heavy[2]


def test_pairs_need_an_elliptical_law():
    population = Population(moving(8), 2, row_pairs=True)
    with pytest.raises(ValueError, match="pairs of rows need an elliptical law"):
        population.bias(law=np.ones((3, 5)), row_tempering=0.5)
    assert population.sampling_coefficient(law=StudentT(3.0), row_tempering=0.1) == np.inf
