"""What all maps of a matrix share: nothing happens at 0, derivatives, composition, other libraries."""

from functools import partial

import numpy as np
import pytest

from attenua._correct import attenuation, borrowing, damping, smoothing, tempering
from attenua._correct.attenuation import attenuated_matrix
from attenua._correct.borrowing import borrowed_matrix
from attenua._correct.columns import column_smoother
from attenua._correct.damping import damped_matrix
from attenua._correct.reference import as_reference
from attenua._correct.smoothing import smoothed_matrix
from attenua._correct.tempering import tempered_matrix
from tests.helpers import covariance, uneven_rows

P = 12
T = covariance(uneven_rows(40, P))
LABELS = np.arange(P) // 5
GRID = {"smoother": column_smoother((3, 4), P)}
OTHERS = {"reference": as_reference(uneven_rows(30, P, seed=1), P)}
# Each map with its derivative and a few strengths.
MAPS = {
    "borrowing": (
        partial(borrowed_matrix, **OTHERS),
        partial(borrowing.differential, **OTHERS),
        (0.3, 1.0),
    ),
    "tempering": (tempered_matrix, tempering.differential, (0.3, 1.0)),
    "damping": (damped_matrix, damping.differential, (0.1, 0.25, 0.5, 1.0, 1.7, 2.0)),
    "attenuation": (attenuated_matrix, attenuation.differential, (0.49, 1.0)),
    "attenuation of groups": (
        partial(attenuated_matrix, labels=LABELS),
        partial(attenuation.differential, labels=LABELS),
        (0.49, 1.0),
    ),
    "smoothing": (
        partial(smoothed_matrix, **GRID),
        partial(smoothing.differential, **GRID),
        (0.4, 2.0),
    ),
}
CASES = [(name, strength) for name, (_, _, strengths) in MAPS.items() for strength in strengths]


def direction(seed=1):
    E = np.random.default_rng(seed).standard_normal((P, P))
    return (E + E.T) * np.sqrt(np.outer(np.diag(T), np.diag(T)))


@pytest.mark.parametrize("name", MAPS)
def test_strength_0_changes_nothing(name):
    function, differential, _ = MAPS[name]
    E = direction()
    assert function(T, 0.0) is T
    assert differential(T, 0.0, E) is E


@pytest.mark.parametrize(("name", "strength"), CASES)
def test_derivatives_are_central_differences(name, strength):
    function, differential, _ = MAPS[name]
    E, step = direction(), 1e-6
    expected = (function(T + step * E, strength) - function(T - step * E, strength)) / (2 * step)
    found = differential(T, strength, E)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-14 * np.abs(found).max())


def test_arguments_are_not_written_to():
    for name, strength in CASES:
        function, differential, _ = MAPS[name]
        matrix, E = T.copy(), direction()
        function(matrix, strength)
        differential(matrix, strength, E)
        np.testing.assert_array_equal(matrix, T)
        np.testing.assert_array_equal(E, direction())


@pytest.mark.parametrize(("name", "strength"), CASES)
def test_a_column_without_variance_is_finite_and_stays_out(name, strength):
    function, differential, _ = MAPS[name]
    matrix, E = T.copy(), direction()
    matrix[4, :] = matrix[:, 4] = E[4, :] = E[:, 4] = 0
    F, dF = function(matrix, strength), differential(matrix, strength, E)
    assert np.isfinite(F).all()
    assert np.isfinite(dF).all()
    if name not in ("smoothing", "borrowing"):  # which give it what its neighbours or the reference have
        for result in (F, dF):
            np.testing.assert_array_equal(result[4], 0)
            np.testing.assert_array_equal(result[:, 4], 0)


def test_the_chain_rule_holds_for_all_maps_in_a_row():
    strengths = {"borrowing": 0.3, "tempering": 0.4, "damping": 0.5, "attenuation": 0.3, "smoothing": 0.8}

    def composed(matrix):
        for name, strength in strengths.items():
            matrix = MAPS[name][0](matrix, strength)
        return matrix

    at, along, step = T, direction(), 1e-6
    expected = (composed(T + step * along) - composed(T - step * along)) / (2 * step)
    for name, strength in strengths.items():
        function, differential, _ = MAPS[name]
        at, along = function(at, strength), differential(at, strength, along)
    np.testing.assert_allclose(along, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "strength"), CASES[::2])
def test_every_array_library(name, strength, backend):
    function, differential, _ = MAPS[name]
    E = direction()
    F = function(backend.array(T), strength)
    dF = differential(backend.array(T), strength, backend.array(E))
    assert backend.holds(F)
    assert backend.holds(dF)
    np.testing.assert_allclose(backend.numpy(F), function(T, strength), rtol=1e-12)
    np.testing.assert_allclose(backend.numpy(dF), differential(T, strength, E), rtol=1e-10)
