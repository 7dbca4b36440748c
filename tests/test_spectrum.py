"""Every solver against dense LAPACK on S - alpha*D."""

import dataclasses

import numpy as np
import pytest

from attenua import shared_basis, spectrum
from attenua.affine import AffineFamily
from attenua.moments import Rows
from attenua.path import AttenuationRule
from attenua.spectrum import leading_subspaces
from tests.helpers import covariance, exact_components, sine, spiked_rows

STRENGTHS = np.linspace(0, 1, 7)


def family_of(S):
    D = np.diag(S).copy()
    part = D[:, None].__mul__
    return AffineFamily(len(S), S.__matmul__, part, D, lambda: (S, D), at_hand=False, scale=D.max())


def worst_sine(S, found, rank):
    return max(sine(sub.basis.T, exact_components(S, STRENGTHS[i], rank)) for i, sub in found.items())


@pytest.mark.parametrize("size", [9, 64, 65, 200])
@pytest.mark.parametrize("rank", [1, 5, 8])
def test_direct_solver(size, rank):
    S = covariance(spiked_rows(2 * size, size, rank=min(rank, 6)))
    found = dict(leading_subspaces(family_of(S), STRENGTHS, rank))
    assert {sub.solver for sub in found.values()} == {"lapack"}
    assert worst_sine(S, found, rank) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("at_hand", [False, True])
@pytest.mark.parametrize(("n", "p", "rank"), [(50, 700, 3), (300, 700, 6), (900, 500, 4), (40, 1500, 10)])
def test_shared_basis(n, p, rank, at_hand):
    S = covariance(spiked_rows(n, p, rank=4))
    family = dataclasses.replace(family_of(S), at_hand=at_hand)
    found = dict(leading_subspaces(family, STRENGTHS, rank))
    assert set(found) == set(range(len(STRENGTHS)))
    if rank <= 4:  # a cut inside the noise may be left to LAPACK
        assert {sub.solver for sub in found.values()} == {"shared-basis"}
    assert worst_sine(S, found, rank) < 1e-6
    for i, sub in found.items():
        values = np.linalg.eigvalsh(S - STRENGTHS[i] * np.diag(np.diag(S)))[::-1]
        np.testing.assert_allclose(sub.values, values[:rank], rtol=1e-9)
        # The gap is only a measure of how well the cut is determined; the next eigenvalue is not iterated on.
        assert sub.gap == pytest.approx(values[rank - 1] - values[rank], rel=0.2)


def test_shared_basis_finds_what_appears_only_at_strong_attenuation():
    # Strong independent columns lead at alpha = 0; a weak correlated block leads at alpha = 1.
    p, rank = 500, 3
    S = np.diag(np.full(p, 1.0))
    S[np.arange(rank), np.arange(rank)] = [50.0, 40.0, 30.0]
    S[400:, 400:] += 0.1
    found = dict(leading_subspaces(family_of(S), [0.0, 1.0], 1))
    assert sine(found[0].basis.T, exact_components(S, 0.0, 1)) < 1e-6
    assert sine(found[1].basis.T, exact_components(S, 1.0, 1)) < 1e-6


def test_flat_spectrum_falls_back_to_lapack_and_says_so():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((400, 400)))[0]
    S = (Q * (1 + 1e-7 * np.arange(400))) @ Q.T
    found = dict(leading_subspaces(family_of((S + S.T) / 2), [0.0], 3))
    assert found[0].solver == "lapack"
    assert sine(found[0].basis.T, Q[:, -3:].T) < 1e-6


def test_arpack_is_the_last_resort(monkeypatch):
    monkeypatch.setattr(spectrum, "_DENSE_LIMIT", 100)
    monkeypatch.setattr(shared_basis, "_PATIENCE", 0)  # gives the shared basis no time at all
    S = covariance(spiked_rows(60, 600, rank=4))
    found = dict(leading_subspaces(family_of(S), STRENGTHS[:2], 4))
    assert {sub.solver for sub in found.values()} == {"arpack"}
    assert worst_sine(S, found, 4) < 1e-6


@pytest.mark.parametrize("ratio", [1e3, 1e6])
@pytest.mark.parametrize("p", [5, 400])
def test_one_large_variance_is_no_tie(ratio, p):
    values = np.append(ratio**2, np.geomspace(9, 1, p - 1))
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((p - 1, p - 1)))[0]
    S = np.zeros((p, p))
    S[0, 0], S[1:, 1:] = values[0], (Q * values[1:]) @ Q.T
    ((_, sub),) = leading_subspaces(family_of((S + S.T) / 2), [0.0], 2)
    assert not sub.tied
    truth = np.zeros((2, p))
    truth[0, 0], truth[1, 1:] = 1, Q[:, 0]
    assert sine(sub.basis.T, truth) < 1e-6


def test_a_matrix_of_rounding_errors_is_a_tie():
    # Uncorrelated columns at alpha = 1: nothing but rounding is left.
    S = np.diag([4.0, 3.0, 2.0, 1.0])
    noise = 1e-16 * np.random.default_rng(0).standard_normal((4, 4))
    ((_, sub),) = leading_subspaces(family_of(S + noise + noise.T), [1.0], 2)
    assert sub.tied


@pytest.mark.parametrize("rank", [2, 600])
def test_nothing_varies_or_nothing_is_cut(monkeypatch, rank):
    monkeypatch.setattr(spectrum, "_DENSE_LIMIT", 100)
    ((_, sub),) = leading_subspaces(family_of(np.zeros((600, 600))), [0.5], rank)
    assert sub.tied == (rank == 2)
    np.testing.assert_array_equal(sub.basis, np.eye(600, rank))


@pytest.mark.slow
def test_high_rank_needs_little_more_memory_than_the_answer():
    S = covariance(spiked_rows(120, 1500, rank=6))
    found = dict(shared_basis.SharedBasis(family_of(S), 100, spectrum.SINE).solve([0.5]))
    assert sine(found[0].basis.T, exact_components(S, 0.5, 100)) < 1e-6


def test_a_full_basis_is_shrunk_and_goes_on(monkeypatch):
    monkeypatch.setattr(shared_basis, "_BASIS_BYTES", 0)
    S = covariance(spiked_rows(50, 800, rank=4))
    found = dict(leading_subspaces(family_of(S), STRENGTHS, 4))
    assert worst_sine(S, found, 4) < 1e-6


@pytest.mark.parametrize("n", [30, 900])
@pytest.mark.parametrize("width", [3, 290])
def test_feature_groups(n, width):
    X = spiked_rows(n, 600, rank=4)
    labels = np.random.default_rng(0).permutation(np.arange(600) // width)
    S = covariance(X)
    rule = AttenuationRule(STRENGTHS, labels)
    for i, sub in rule.subspaces(Rows(X).moments(), 3):
        assert sine(sub.basis.T, exact_components(S, STRENGTHS[i], 3, labels)) < 1e-6


def test_tie_at_the_cut_is_reported_and_canonical():
    S = np.diag([3.0, 2.0, 2.0, 2.0, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        noise = rng.standard_normal((5, 5)) * 1e-15
        ((_, sub),) = leading_subspaces(family_of(S + noise + noise.T), [0.0], 2)
        assert sub.tied
        # Among the tied axes the first is taken, whatever the rounding.
        assert sine(sub.basis.T, np.eye(5)[:2]) < 1e-8


def test_whole_space_has_no_cut():
    ((_, sub),) = leading_subspaces(family_of(np.eye(4)), [0.5], 4)
    assert not sub.tied
    assert sub.gap == np.inf
