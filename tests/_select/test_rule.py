"""What is done with subspaces: whether two are one, and averages by their definition."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.rows import HostRows
from attenua._select.rule import mean_subspace, same_subspace
from attenua._solve.subspace import Subspace
from tests.helpers import covariance, leading, sine, spiked_rows


def random_subspaces(count, size=12, rank=3, closeness=0.5):
    rng = np.random.default_rng(0)
    common = rng.standard_normal((size, rank))
    bases = [np.linalg.qr(common + closeness * rng.standard_normal((size, rank)))[0] for _ in range(count)]
    return bases, [
        Subspace(U, None, np.arange(rank, 0, -1.0), 1.0, False, k / 100) for k, U in enumerate(bases)
    ]


ROWS = spiked_rows(40, 12)
MOMENTS = HostRows(ROWS).moments()


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.75, 0.25), (0.1, 0.2, 0.7), (0.2,) * 5])
def test_it_is_the_leading_subspace_of_the_mean_of_roots(weights):
    """The root of a compression by its eigenvalues, in the unit of the moments."""
    bases, subspaces = random_subspaces(len(weights))
    S, mean = covariance(ROWS) / MOMENTS.unit**2, 0.0
    for weight, U in zip(weights, bases, strict=True):
        values, vectors = np.linalg.eigh(U @ U.T @ S @ U @ U.T)
        mean = mean + weight * (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    found = mean_subspace(subspaces, weights, MOMENTS)
    values = np.linalg.eigvalsh(mean)[::-1]
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(3), atol=1e-12)
    # Eigenvalues of 0 have roots of the size of the root of their rounding errors.
    assert sine(found.basis.T, leading(mean, 3)) <= 1e-6
    np.testing.assert_allclose(found.values, values[:3], rtol=1e-6)
    assert found.gap == pytest.approx(values[2] - values[3], rel=1e-5)
    assert found.shortfall == (len(weights) - 1) / 100


def test_directions_without_variance_count_by_their_weights():
    rows = np.zeros((10, 4))
    rows[:, 0] = np.arange(10)
    axes, moments = np.eye(4), HostRows(rows).moments()
    two = [Subspace(axes[:, columns], None, np.ones(2), 1.0, False) for columns in ([0, 1], [0, 2])]
    assert sine(mean_subspace(two, [0.6, 0.4], moments).basis.T, axes[:2]) <= 1e-9


def test_bases_within_a_shared_frame():
    bases, subspaces = random_subspaces(3)
    frame = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))[0]
    within = [s._replace(frame=frame, coordinates=frame.T @ U) for s, U in zip(subspaces, bases, strict=True)]
    found, expected = (mean_subspace(some, [0.25, 0.25, 0.5], MOMENTS) for some in (within, subspaces))
    assert sine(found.basis.T, expected.basis.T) <= 1e-12


def test_a_single_subspace_is_its_own_average():
    _, (only,) = random_subspaces(1)
    assert mean_subspace([only], [1.0], MOMENTS) is only


def test_equal_subspaces_average_to_themselves():
    (U,), (one,) = random_subspaces(1)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    found = mean_subspace([one, one._replace(frame=U @ rotation)], [0.4, 0.6], MOMENTS)
    assert sine(found.basis.T, U.T) <= 1e-9


def test_weight_and_deviation_decide_between_two_far_subspaces():
    """Two columns of standard deviation 2 outweigh two of 1 from a third of the weight on."""
    rows = np.vstack([np.diag([2.0, 2.0, 1.0, 1.0]), -np.diag([2.0, 2.0, 1.0, 1.0])])
    axes, moments = np.eye(4), HostRows(rows).moments()
    two = [Subspace(axes[:, columns], None, np.ones(2), 1.0, False) for columns in ([0, 1], [2, 3])]
    for weight, kept in ((0.35, axes[:2]), (0.3, axes[2:])):
        assert sine(mean_subspace(two, [weight, 1 - weight], moments).basis.T, kept) <= 1e-9


def test_ties_are_told_where_all_are_tied():
    _, (one, two) = random_subspaces(2)
    assert mean_subspace([one._replace(tied=True), two._replace(tied=True)], [0.5, 0.5], MOMENTS).tied
    assert not mean_subspace([one._replace(tied=True), two], [0.5, 0.5], MOMENTS).tied


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
    assert model.verdict_.startswith("The fit is ordinary PCA: some corrections ")
    assert "on all rows they give PCA's subspace" in model.verdict_
    assert sine(model.components_, PCA(2).fit(X).components_) < 1e-6


def test_the_verdict_names_the_strength():
    X = spiked_rows(40, 8)
    model = AttenuatedPCACV(3).fit(X)
    assert model.alpha_ > 0
    assert model.verdict_.startswith("Expect ")
    assert f"it has attenuation {model.alpha_:g}." in model.verdict_
    refit = AttenuatedPCA(3, alpha=model.alpha_).fit(X)
    np.testing.assert_allclose(model.components_, refit.components_, atol=1e-9)
    whole = AttenuatedPCACV(8).fit(X)
    assert whole.verdict_.startswith("The fit is ordinary PCA: no correction ")
