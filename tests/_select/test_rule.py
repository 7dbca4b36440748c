"""What is done with subspaces: whether two are one, and averages against the mean of their projectors."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._estimate.words import percent_of
from attenua._select.rule import mean_subspace, same_subspace
from attenua._solve.subspace import Subspace
from tests.helpers import leading, sine, spiked_rows


def random_subspaces(count, size=12, rank=3, closeness=0.5):
    rng = np.random.default_rng(0)
    common = rng.standard_normal((size, rank))
    bases = [np.linalg.qr(common + closeness * rng.standard_normal((size, rank)))[0] for _ in range(count)]
    return bases, [
        Subspace(U, None, np.arange(rank, 0, -1.0), 1.0, False, k / 100) for k, U in enumerate(bases)
    ]


@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (1, 2, 4), (1, 1, 1, 1, 1)])
def test_it_is_the_leading_subspace_of_the_mean_projector(counts):
    bases, subspaces = random_subspaces(len(counts))
    P = sum(count * U @ U.T for count, U in zip(counts, bases, strict=True)) / sum(counts)
    found = mean_subspace(subspaces, counts)
    values = np.linalg.eigvalsh(P)[::-1]
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(3), atol=1e-12)
    assert sine(found.basis.T, leading(P, 3)) <= 1e-12
    np.testing.assert_allclose(found.values, values[:3], rtol=1e-12)
    assert found.gap == pytest.approx(values[2] - values[3], abs=1e-12)
    assert found.shortfall == (len(counts) - 1) / 100


def test_bases_within_a_shared_frame():
    bases, subspaces = random_subspaces(3)
    frame = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))[0]
    within = [s._replace(frame=frame, coordinates=frame.T @ U) for s, U in zip(subspaces, bases, strict=True)]
    found, expected = mean_subspace(within, [1, 1, 2]), mean_subspace(subspaces, [1, 1, 2])
    assert sine(found.basis.T, expected.basis.T) <= 1e-12


def test_a_single_subspace_is_its_own_average():
    _, (only,) = random_subspaces(1)
    assert mean_subspace([only], [5]) is only


def test_equal_subspaces_average_to_themselves():
    (U,), (one,) = random_subspaces(1)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    found = mean_subspace([one, one._replace(frame=U @ rotation)], [2, 3])
    assert sine(found.basis.T, U.T) <= 1e-12
    np.testing.assert_allclose(found.values, 1.0, rtol=1e-12)
    assert found.gap == pytest.approx(1.0)


def test_the_more_frequent_of_two_far_subspaces_wins():
    axes = np.eye(4)
    two = [Subspace(axes[:, columns], None, np.ones(2), 1.0, False) for columns in ([0, 1], [2, 3])]
    found = mean_subspace(two, [3, 2])
    assert sine(found.basis.T, axes[:2]) <= 1e-12
    assert found.gap == pytest.approx(0.2)


def test_ties_are_told_where_all_are_tied():
    _, (one, two) = random_subspaces(2)
    assert mean_subspace([one._replace(tied=True), two._replace(tied=True)], [1, 1]).tied
    assert not mean_subspace([one._replace(tied=True), two], [1, 1]).tied


@pytest.mark.parametrize(("angle", "same"), [(0, True), (1e-9, True), (5e-7, True), (2e-6, False)])
def test_angles_are_told_apart(angle, same):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((50, 4)))[0]
    turned = np.column_stack([Q[:, 0], np.cos(angle) * Q[:, 1] + np.sin(angle) * Q[:, 3], Q[:, 2]])
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert same_subspace(Q[:, :3], turned @ rotation) == same


def test_arrays_of_another_library():
    torch = pytest.importorskip("torch")
    axes = torch.eye(4, dtype=torch.float64)
    assert same_subspace(axes[:, :2], axes[:, [1, 0]])
    assert not same_subspace(axes[:, :2], axes[:, 1:3])


@pytest.mark.parametrize("shape", [(60, 8), (40, 200), (30, 600)])
def test_standardised_columns_leave_nothing_to_attenuate(shape):
    X = StandardScaler().fit_transform(spiked_rows(*shape))
    model = AttenuatedPCACV(2).fit(X)
    assert model.cv_risk_.min() < model.cv_risk_[0]
    assert (model.alpha_, model.gain_) == (0, 0)
    assert model.verdict_.startswith("PCA: some strengths ")
    assert "on all rows they give PCA's subspace" in model.verdict_
    assert sine(model.components_, PCA(2).fit(X).components_) < 1e-6


def test_the_verdict_names_the_strength_and_the_gain():
    X = spiked_rows(40, 8)
    model = AttenuatedPCACV(3).fit(X)
    assert model.alpha_ > 0
    expected = f"Attenuation {model.alpha_:g} removes {percent_of(model.gain_)} of PCA's held-out risk."
    assert model.verdict_ == expected
    refit = AttenuatedPCA(3, alpha=model.alpha_).fit(X)
    np.testing.assert_allclose(model.components_, refit.components_, atol=1e-9)
    whole = AttenuatedPCACV(8).fit(X)
    assert whole.verdict_ == "PCA: no correction reconstructs held-out rows better."
