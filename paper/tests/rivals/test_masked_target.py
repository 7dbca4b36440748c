"""The masked-target loss, its gradient and its minimisers, each against the definition."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.model_selection import KFold
from tests.helpers import covariance, each, exact_components, interleaved_splits, sine, spiked_rows

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.moments import ScatterMoments
from attenua._data.rows import HostRows
from attenua_paper.rivals import MaskedTargetPCA, MaskedTargetPCACV
from attenua_paper.rivals.masked_loss import MaskedTargetLosses
from attenua_paper.theory import masked_target_loss, normalised_target_gradient, normalised_target_loss


def frame(p, d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0].T


def test_masks_of_one_column_and_columns_in_any_order():
    # Coordinate masks are blocks of one.
    X, alone = spiked_rows(30, 8), np.random.default_rng(0).permutation(8)
    models = [MaskedTargetPCA(3, mask_rate=0.6, feature_groups=groups).fit(X) for groups in (None, alone)]
    assert sine(models[0].components_, models[1].components_) < 1e-6
    # Columns may come in any order.
    X = spiked_rows(40, 12)
    labels = np.repeat([0, 1, 2], [2, 4, 6])
    order = np.random.default_rng(0).permutation(12)
    straight = MaskedTargetPCA(3, feature_groups=labels).fit(X)
    shuffled = MaskedTargetPCA(3, feature_groups=labels[order]).fit(X[:, order])
    assert sine(straight.components_[:, order], shuffled.components_) < 1e-6


@each("groups", [None, np.arange(40) // 5, np.repeat([0, 1, 2], [5, 15, 20])])
def test_losses_of_many_frames_at_once_are_the_papers(groups):
    S, rates = covariance(spiked_rows(50, 40)), np.array([0.1, 0.5, 0.9])
    frames = np.stack([frame(40, 4, seed).T for seed in range(3)])
    losses = MaskedTargetLosses(S, rates, groups)
    values, gradients = losses.value_and_gradient(losses.to_inner(frames), np.arange(3))
    for k, m in enumerate(rates):
        U = frames[k]
        assert values[k] == pytest.approx(normalised_target_loss(U @ U.T, S, m, feature_groups=groups))
        expected = 2 * normalised_target_gradient(U @ U.T, S, m, feature_groups=groups) @ U
        np.testing.assert_allclose(losses.to_outer(gradients)[k], expected, atol=1e-9)
    np.testing.assert_allclose(losses.to_outer(losses.to_inner(frames)), frames, atol=1e-14)


@each("groups", [None, np.arange(10) // 2])
def test_mask_rate_zero_is_pca(groups):
    X = spiked_rows(40, 10)
    model = MaskedTargetPCA(3, mask_rate=0, feature_groups=groups).fit(X)
    np.testing.assert_allclose(model.components_, AttenuatedPCA(3, alpha=0).fit(X).components_, atol=1e-12)
    assert model.converged_


# --- The closed form with two columns ---------------------------------------------------------------------


def rows_with_covariance(S):
    """Two rows for every eigenvector: mean zero and exactly this covariance."""
    values, vectors = np.linalg.eigh(S)
    root = np.sqrt(len(S) * values)[:, None] * vectors.T
    return np.concatenate([root, -root])


@each("mask_rate, ratio", [(0.25, 1.5), (0.9, 2.9), (0.5, 3.1), (0.9, 50.0)])
def test_two_columns_on_both_sides_of_the_threshold(mask_rate, ratio):
    # Both starts are the PCA direction, which is stationary always but a minimum only from ratio 3 on.
    first, second = np.array([1, 1]) / np.sqrt(2), np.array([1, -1]) / np.sqrt(2)
    S = ratio * np.outer(first, first) + np.outer(second, second)
    model = MaskedTargetPCA(1, mask_rate=mask_rate).fit(rows_with_covariance(S))
    t = model.components_[0, 0] * model.components_[0, 1]
    assert t == pytest.approx(min((ratio - 1) / (ratio + 1), 0.5), abs=1e-6)


# --- Minimisation -----------------------------------------------------------------------------------------


def slow_minimum(S, rank, mask_rate, groups, start):
    """Minimise over all matrices, made orthonormal inside, with a general-purpose solver."""
    p = len(S)

    def loss(v):
        U = np.linalg.qr(v.reshape(p, rank))[0].T
        return masked_target_loss(U, S, mask_rate, feature_groups=groups)

    found = minimize(loss, start.T.ravel(), method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    return found.fun


@pytest.mark.slow
@each("groups, mask_rate", [(None, 0.25), ([0, 0, 1, 1, 2, 2], 0.75)])
def test_minimum_against_a_general_solver_from_the_same_starts(groups, mask_rate):
    X = spiked_rows(20, 6, seed=5)
    S = covariance(X)
    model = MaskedTargetPCA(2, mask_rate=mask_rate, feature_groups=groups).fit(X)
    alpha = mask_rate / (1 + mask_rate)
    starts = {"pca": exact_components(S, 0, 2), "attenuation": exact_components(S, alpha, 2, groups)}
    slow = {name: slow_minimum(S, 2, mask_rate, groups, U) for name, U in starts.items()}
    found = masked_target_loss(model.components_, S, mask_rate, feature_groups=groups)
    assert found == pytest.approx(min(slow.values()), rel=1e-8)


@each("groups", [None, np.arange(20) // 4])
@each("mask_rate", [0.25, 0.9])
def test_the_fit_is_stationary_and_no_worse_than_its_starts(groups, mask_rate):
    X = spiked_rows(40, 20)
    S, options = covariance(X), {"feature_groups": groups}
    model = MaskedTargetPCA(3, mask_rate=mask_rate, **options).fit(X)
    assert model.converged_
    assert model.start_ in {"pca", "attenuation"}
    U = model.components_
    gradient = U @ normalised_target_gradient(U.T @ U, S, mask_rate, **options)
    tangent = gradient - (gradient @ U.T) @ U
    assert np.linalg.norm(tangent) <= 1.1e-7 * np.linalg.norm(gradient)
    for alpha in (0, mask_rate / (1 + mask_rate)):
        start = exact_components(S, alpha, 3, groups)
        found = masked_target_loss(U, S, mask_rate, **options)
        assert found <= masked_target_loss(start, S, mask_rate, **options) * (1 + 1e-12)


@each("seed", [222, 259, 382])
def test_the_better_start_wins(seed):
    # Covariances on which the two starts end in different minima.
    X = np.random.default_rng(seed).standard_normal((8, 6)) * [3, 1, 1, 1, 1, 1]
    S = covariance(X)
    pca = slow_minimum(S, 2, 0.9, None, exact_components(S, 0, 2))
    attenuation = slow_minimum(S, 2, 0.9, None, exact_components(S, 0.9 / 1.9, 2))
    assert attenuation < pca * (1 - 1e-3)
    model = MaskedTargetPCA(2, mask_rate=0.9).fit(X)
    assert model.start_ == "attenuation"
    assert masked_target_loss(model.components_, S, 0.9) == pytest.approx(attenuation, rel=1e-8)


# --- Cross-validation -------------------------------------------------------------------------------------


@each("groups", [None, np.arange(8) // 2])
def test_cv_risk_against_fits_from_scratch(groups):
    X = spiked_rows(40, 8)
    model = MaskedTargetPCACV(2, feature_groups=groups).fit(X)
    np.testing.assert_array_equal(model.mask_rates_, [0, 0.25, 0.5, 0.75, 0.9])
    risk = np.zeros(5)
    for train, held in interleaved_splits(40, 5):
        for i, m in enumerate(model.mask_rates_):
            fold = MaskedTargetPCA(2, mask_rate=m, feature_groups=groups).fit(X[train])
            risk[i] += fold.reconstruction_error(X[held]).sum() / len(X)
    np.testing.assert_allclose(model.cv_risk_, risk, rtol=1e-6)
    assert model.mask_rate_ == model.mask_rates_[np.argmin(risk)]
    refit = MaskedTargetPCA(2, mask_rate=model.mask_rate_, feature_groups=groups).fit(X)
    assert sine(model.components_, refit.components_) < 1e-6
    assert (model.start_, model.converged_) == (refit.start_, refit.converged_)
    assert model.gain_ == pytest.approx(1 - risk.min() / risk[0])


def test_pca_is_the_same_candidate_as_for_attenuation():
    X = spiked_rows(40, 8)
    ours, attenuated = MaskedTargetPCACV(2, mask_rates=[0.5]).fit(X), AttenuatedPCACV(2).fit(X)
    np.testing.assert_array_equal(ours.mask_rates_, [0, 0.5])
    assert ours.cv_risk_[0] == pytest.approx(attenuated.cv_risk_[0], rel=1e-12)


def test_row_groups_are_kept_whole():
    X = spiked_rows(40, 6)
    groups = np.arange(40) % 8
    by_number = MaskedTargetPCACV(2, cv=4).fit(X, groups=groups)
    assert by_number.cv_risk_folds_.shape == (4, 5)
    with pytest.raises(ValueError, match="rows of one group on both sides"):
        MaskedTargetPCACV(2, cv=list(KFold(4).split(X))).fit(X, groups=groups)


def test_the_rule_reads_moments_only():
    # The training rows are added up from several sets; the answer is that of all of them.
    X = spiked_rows(40, 8)
    rows = HostRows(X)
    train = ScatterMoments.sum([rows.moments(slice(start, start + 10)) for start in (10, 20, 30)])
    rule = MaskedTargetPCA(2)._rule(8)
    ((_, subspace),) = rule.subspaces(train, 2)
    assert sine(subspace.basis.T, MaskedTargetPCA(2).fit(X[10:]).components_) < 1e-6
