"""The masked-target loss, its gradient and its minimisers, each against the definition."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.model_selection import KFold
from tests.helpers import covariance, each, exact_components, interleaved_splits, sine, spiked_rows

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.moments import ScatterMoments
from attenua._data.rows import HostRows
from attenua_paper.rivals import (
    MaskedTargetPCA,
    MaskedTargetPCACV,
    masked_target_gradient,
    masked_target_loss,
)
from attenua_paper.rivals.masked_loss import MaskedTargetLosses

GROUPS = {"coordinates": None, "blocks": [0, 0, 0, 1, 1, 1], "uneven blocks": [1, 0, 1, 2, 1, 0]}


def frame(p, d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0].T


def loss_over_all_masks(X, U, mask_rate, groups):
    """Every mask, with its probability, on every row."""
    labels = np.arange(X.shape[1]) if groups is None else np.asarray(groups)
    names = np.unique(labels)
    P = U.T @ U
    total = 0.0
    for kept in itertools.product([0, 1], repeat=len(names)):
        w = np.array(kept)[np.searchsorted(names, labels)]
        probability = np.prod([1 - mask_rate if k else mask_rate for k in kept])
        error = (1 - w) * (X - (X * w) @ P)
        total += probability * np.mean(np.sum(error**2, axis=1))
    return total


@each("groups", GROUPS)
def test_value_against_exhaustive_masks(groups):
    X = spiked_rows(15, 6)
    X -= X.mean(axis=0)
    for mask_rate, rank in ((0.0, 3), (0.25, 1), (0.25, 6), (0.9, 3)):
        U = frame(6, rank)
        expected = loss_over_all_masks(X, U, mask_rate, GROUPS[groups])
        found = masked_target_loss(U, covariance(X), mask_rate, feature_groups=GROUPS[groups])
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@each("groups, mask_rate", [("coordinates", 0.9), ("blocks", 0.25), ("uneven blocks", 0.9)])
def test_gradient_against_finite_differences(groups, mask_rate):
    S, options = covariance(spiked_rows(15, 6)), {"feature_groups": GROUPS[groups]}
    U, h = frame(6, 2), 1e-5

    def along(i, j):
        step = np.zeros_like(U)
        step[i, j] = h
        up, down = (masked_target_loss(V, S, mask_rate, **options) for V in (U + step, U - step))
        return (up - down) / (2 * h)

    # The gradient is that of a polynomial in U, which is defined for frames that are not orthonormal too.
    numeric = np.array([[along(i, j) for j in range(6)] for i in range(2)])
    found = masked_target_gradient(U, S, mask_rate, **options)
    np.testing.assert_allclose(found, numeric, atol=1e-7 * np.abs(numeric).max())


def test_gradient_is_the_papers_matrix():
    S, U, q = covariance(spiked_rows(15, 6)), frame(6, 2), 0.4
    P = U.T @ U
    Gamma = np.empty((6, 6))
    for a, b in itertools.product(range(6), repeat=2):
        if a == b:
            others = sum(S[a, c] * P[a, c] for c in range(6) if c != a)
            Gamma[a, a] = (1 - 2 * P[a, a]) * S[a, a] - 2 * q * others
        else:
            Gamma[a, b] = (-2 + q * (1 - P[a, a] - P[b, b])) * S[a, b]
    found = masked_target_gradient(U, S, 1 - q)
    np.testing.assert_allclose(found, 2 * q * (1 - q) * U @ Gamma, rtol=1e-12, atol=1e-12)


def test_masks_of_one_column_and_columns_in_any_order():
    # Coordinate masks are blocks of one.
    S, U = covariance(spiked_rows(30, 8)), frame(8, 3)
    alone = np.random.default_rng(0).permutation(8)
    for function in (masked_target_loss, masked_target_gradient):
        np.testing.assert_allclose(
            function(U, S, 0.6, feature_groups=alone), function(U, S, 0.6), rtol=1e-12, atol=1e-12
        )
    X = spiked_rows(30, 8)
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
def test_many_problems_at_once_are_each_alone(groups):
    S, rates = covariance(spiked_rows(50, 40)), np.array([0.1, 0.5, 0.9])
    frames = np.stack([frame(40, 4, seed).T for seed in range(3)])
    losses = MaskedTargetLosses(S, rates, groups)
    values, gradients = losses.value_and_gradient(losses.to_inner(frames), np.arange(3))
    for k, m in enumerate(rates):
        scaled = m * np.trace(S) + m * (1 - m) * values[k]
        assert scaled == pytest.approx(masked_target_loss(frames[k].T, S, m, feature_groups=groups))
        expected = masked_target_gradient(frames[k].T, S, m, feature_groups=groups)
        np.testing.assert_allclose(m * (1 - m) * losses.to_outer(gradients)[k].T, expected, atol=1e-10)
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
    gradient = masked_target_gradient(U, S, mask_rate, **options)
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


@each(
    "components, S, rate, message",
    [
        (np.eye(3)[:1], np.ones((3, 2)), 0.5, "covariance must be a square matrix"),
        (np.eye(4)[:1], np.eye(3), 0.5, "components must have 3 columns"),
        (np.eye(3)[:1], np.eye(3), 1.0, "mask_rate must be at least 0 and below 1"),
    ],
)
def test_losses_that_are_refused(components, S, rate, message):
    with pytest.raises(ValueError, match=message):
        masked_target_loss(components, S, rate)


def test_the_rule_reads_moments_only():
    # The training rows are added up from several sets; the answer is that of all of them.
    X = spiked_rows(40, 8)
    rows = HostRows(X)
    train = ScatterMoments.sum([rows.moments(slice(start, start + 10)) for start in (10, 20, 30)])
    rule = MaskedTargetPCA(2)._rule(8)
    ((_, subspace),) = rule.subspaces(train, 2)
    assert sine(subspace.basis.T, MaskedTargetPCA(2).fit(X[10:]).components_) < 1e-6
