"""The corrections as one smooth map: value and derivatives against definitions, differences and cubature.

What the map does not cover is refused.
"""

import numpy as np
import pytest

from attenua._correct.columns import column_smoother
from attenua._correct.reference import as_reference
from attenua.theory import CorrectionMap, Population, RowNoise, Strengths, corrected_map, when
from attenua.theory.laws import Gaussian
from attenua.theory.samples import fitted_risks
from tests.theory.definitions import SECOND, STEPS, corrected, kernel, line
from tests.theory.designs import gaussian_cubature, moving

GROUPS = np.array([0, 1, 1, 0, 2])
GRAPH = line(5)
GRAPH[0, 3] = GRAPH[3, 0] = 0.5
OTHER = moving(3)
ALL = {"attenuation": 0.4, "tempering": 0.6, "damping": 0.5, "smoothing": 0.8}
# Each map alone, some pairs, and all together; attenuation of columns and of groups.
COMBINATIONS = [
    (dict.fromkeys(ALL, 0.0) | {name: ALL[name] for name in names}, groups)
    for names in (
        *((name,) for name in ALL),
        ("tempering", "damping"),
        ("attenuation", "damping"),
        ("damping", "smoothing"),
        tuple(ALL),
    )
    for groups in ((None, GROUPS) if "attenuation" in names else (None,))
]
every_combination = pytest.mark.parametrize(
    ("strengths", "groups"), COMBINATIONS, ids=lambda value: None if isinstance(value, dict) else "groups"
)


def correction_map(strengths, groups=None, neighbours=GRAPH):
    p = 5 if neighbours is None else len(neighbours)
    return CorrectionMap(Strengths(**strengths), groups, column_smoother(neighbours, p))


def symmetric(seed, p=5):
    G = np.random.default_rng(seed).standard_normal((p, p))
    return G + G.T


@every_combination
def test_value_by_definition(strengths, groups):
    S = moving(8)
    expected = corrected(S, groups=groups, weights=GRAPH, **strengths)
    found = correction_map(strengths, groups).value(S)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(found, found.T, atol=1e-14)


@every_combination
def test_linear_part_and_differential_by_differences(strengths, groups):
    S, E, h = moving(8), symmetric(0), 1e-3
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    stack = corrected(S + h * STEPS[:, None, None] * E, groups=groups, weights=GRAPH, **strengths)
    expected = np.tensordot(weights, stack, 1) / h
    of_map = correction_map(strengths, groups)
    correction = of_map.at(S, Gaussian().noise(S))
    np.testing.assert_allclose(correction.target, of_map.value(S), atol=1e-14)
    np.testing.assert_allclose(of_map.differential(S, E), expected, atol=1e-9)
    np.testing.assert_allclose(correction.linear_part(E), expected, atol=1e-9)


@every_combination
def test_drift_is_the_mean_second_derivative(strengths, groups):
    S = moving(8)
    points, masses = gaussian_cubature(S)
    E = points[:, :, None] * points[:, None, :] - S
    h = 0.01 / np.linalg.norm(E, axis=(1, 2))[:, None, None]
    expected = np.zeros_like(S)
    for step, weight in zip(STEPS, SECOND, strict=True):
        at = corrected(S + step * h * E, groups=groups, weights=GRAPH, **strengths)
        expected += np.tensordot(masses, weight * at / h**2 / 2, 1)
    of_map = correction_map(strengths, groups)
    drift = of_map.at(S, Gaussian().noise(S)).drift
    assert of_map.is_linear == (strengths["tempering"] == strengths["damping"] == 0)
    if of_map.is_linear:
        assert drift is None
        np.testing.assert_allclose(expected, 0, atol=1e-8)
    else:
        np.testing.assert_allclose(drift, expected, atol=1e-7)
        assert np.abs(drift).max() > 0.05


def test_drift_of_a_single_matrix_is_the_second_derivative_along_it():
    """With errors M or -M, each with probability 1/2, nothing is averaged away."""
    S, M, h = moving(8), symmetric(1), 1e-3
    noise = RowNoise(S, matrices=((1.0, M),))
    for strengths, groups in COMBINATIONS:
        how = {"groups": groups, "weights": GRAPH, **strengths}
        expected = np.tensordot(SECOND, corrected(S + h * STEPS[:, None, None] * M, **how), 1) / h**2 / 2
        drift = correction_map(strengths, groups).at(S, noise).drift
        np.testing.assert_allclose(np.zeros((5, 5)) if drift is None else drift, expected, atol=1e-7)


@pytest.mark.parametrize("damping", [0.25, 2.0])
def test_zero_covariances(damping):
    """A covariance of 0 stays 0, does not answer to its error, and has no drift."""
    S = np.zeros((5, 5))
    S[:3, :3], S[3:, 3:] = moving(8)[:3, :3], moving(8)[3:, 3:]
    of_map = correction_map({"damping": damping, "tempering": 0.5}, neighbours=None)
    correction = of_map.at(S, Gaussian().noise(S))
    E = symmetric(0)
    for matrix in (
        correction.target,
        correction.drift,
        correction.linear_part(E),
        of_map.differential(S, E),
    ):
        assert np.isfinite(matrix).all()
        assert (matrix[:3, 3:] == 0).all()
    # The other blocks are those of smaller matrices.
    small = CorrectionMap(of_map.strengths).at(S[:3, :3], Gaussian().noise(S[:3, :3]))
    np.testing.assert_allclose(correction.drift[:3, :3], small.drift, atol=1e-14)
    np.testing.assert_allclose(correction.linear_part(E)[:3, :3], small.linear_part(E[:3, :3]), atol=1e-13)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_columns_without_variance(groups):
    """Such a column is 0 in every matrix, and the others do not notice it."""
    S, E, strengths = moving(8), symmetric(0), ALL | {"smoothing": 0.0}
    wide, wide_E = np.zeros((2, 6, 6))
    wide[:5, :5], wide_E[:5, :5] = S, E
    labels = None if groups is None else np.append(groups, 0)
    small = CorrectionMap(Strengths(**strengths), groups).at(S, Gaussian().noise(S))
    large = CorrectionMap(Strengths(**strengths), labels).at(wide, Gaussian().noise(wide))
    found = large.target, large.linear_part(wide_E), large.drift
    expected = small.target, small.linear_part(E), small.drift
    for matrix, inner in zip(found, expected, strict=True):
        assert (matrix[5] == 0).all()
        assert (matrix[:, 5] == 0).all()
        np.testing.assert_allclose(matrix[:5, :5], inner, atol=1e-13)


def test_smoothing_is_a_congruence():
    S, K = moving(8), kernel(GRAPH, 0.8)
    plain, smooth = (
        correction_map({"damping": 0.5, "smoothing": h}).at(S, Gaussian().noise(S)) for h in (0.0, 0.8)
    )
    E = symmetric(0)
    np.testing.assert_allclose(smooth.smooth(E), K @ E, atol=1e-13)
    np.testing.assert_allclose(smooth.target, K @ plain.target @ K, atol=1e-13)
    np.testing.assert_allclose(smooth.linear_part(E), K @ plain.linear_part(E) @ K, atol=1e-13)
    np.testing.assert_allclose(smooth.drift, K @ plain.drift @ K, atol=1e-13)


def test_entries_have_factors_where_they_answer_to_themselves_alone_in_part():
    S = moving(8)
    for strengths, groups in COMBINATIONS:
        factors = correction_map(strengths, groups).at(S, Gaussian().noise(S)).factors
        needed = strengths["damping"] > 0 or groups is not None
        assert (factors is not None) == needed


def test_no_correction_is_the_identity():
    S, E = moving(8), symmetric(0)
    of_map = CorrectionMap(Strengths())
    correction = of_map.at(S, Gaussian().noise(S))
    assert of_map.is_linear
    np.testing.assert_array_equal(of_map.value(S), S)
    np.testing.assert_array_equal(of_map.differential(S, E), E)
    np.testing.assert_array_equal(correction.linear_part(E), E)


def test_what_the_theory_does_not_cover_is_refused(monkeypatch):
    """A registered correction without formulas must not be ignored: PCA's number would come back."""
    monkeypatch.setattr(corrected_map, "COVERED", corrected_map.COVERED - {"damping"})
    population = Population(moving(8), 2)
    refused = pytest.raises(ValueError, match="the theory does not cover damping; set it to 0")
    for function in (population.bias, population.sampling_coefficient, population.block_gap):
        with refused:
            function(damping=[0.0, 0.5], attenuation=0.3)
    for corrections in (["damping"], ["attenuation", "damping"], {"damping": [0.5]}):
        with refused:
            population.oracle(30, corrections)
        with refused:
            when(moving(8), 2, 30, corrections=corrections, n_simulations=0)
    with refused:
        fitted_risks(population, np.eye(5), [Strengths(damping=0.5)])
    assert population.bias(damping=0.0, attenuation=0.3) == population.bias(attenuation=0.3)
    # All corrections that it does cover.
    names = [e.correction for e in when(moving(8), 2, 30, n_simulations=0)]
    assert names == ["attenuation", "tempering", "row_tempering", "together"]


@pytest.mark.parametrize("strengths", [{"borrowing": 0.3}, ALL | {"borrowing": 0.7}])
def test_borrowing_comes_first(strengths):
    S, E, h = moving(8), symmetric(0), 1e-3
    reference = as_reference(7 * OTHER, 5)
    of_map = CorrectionMap(Strengths(**strengths), GROUPS, column_smoother(GRAPH, 5), reference)
    how = {"groups": GROUPS, "weights": GRAPH, "other": OTHER, **strengths}
    np.testing.assert_allclose(of_map.value(S), corrected(S, **how), atol=1e-13)
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    expected = np.tensordot(weights, corrected(S + h * STEPS[:, None, None] * E, **how), 1) / h
    np.testing.assert_allclose(of_map.differential(S, E), expected, atol=1e-9)
    with pytest.raises(ValueError, match="borrowing is in S and its noise"):
        of_map.at(S, Gaussian().noise(S))


def test_borrowing_without_a_reference_is_refused():
    for ask in (
        lambda: CorrectionMap(Strengths(borrowing=1.0)),
        lambda: Population(moving(8), 2).excess_risk(50, borrowing=0.5),
        lambda: when(moving(8), 2, 30, corrections=["borrowing"], n_simulations=0),
    ):
        with pytest.raises(ValueError, match="borrowing needs a reference"):
            ask()


def test_smoothing_without_neighbours_is_refused():
    with pytest.raises(ValueError, match="smoothing needs neighbours"):
        CorrectionMap(Strengths(smoothing=1.0))
