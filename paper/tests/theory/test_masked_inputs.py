"""The loss that input masks average to, against enumeration of every mask."""

import itertools

import numpy as np
import pytest
from tests.helpers import each, in_turn

from attenua import alpha_from_mask_rate
from attenua_paper.theory import full_output_loss


def loss_over_all_masks(U, X, mask_rate, groups):
    """E over masks of the mean ||x - P W x||^2, one mask at a time."""
    P, q = U.T @ U, 1 - mask_rate
    total = 0.0
    for kept in itertools.product([0, 1], repeat=len(groups)):
        w = np.zeros(X.shape[1])
        for keep, group in zip(kept, groups, strict=True):
            w[group] = keep
        probability = q ** sum(kept) * mask_rate ** (len(kept) - sum(kept))
        total += probability * np.mean(np.sum((X - (X * w) @ P) ** 2, axis=1))
    return total


def random_frame(rng, d, p):
    return np.linalg.qr(rng.standard_normal((p, d)))[0].T


PARTITIONS = [None, [[0, 1], [2, 3, 4], [5]], [[5, 0], [4, 1], [3, 2]], [[0, 1, 2, 3, 4, 5]]]


@each("groups", PARTITIONS)
@each("mask_rate", [0.0, 0.3, 0.9])
def test_loss_equals_exhaustive_enumeration(groups, mask_rate):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 6)) * [1, 2, 3, 1, 2, 3]
    U = random_frame(rng, 2, 6)
    expected = loss_over_all_masks(U, X, mask_rate, groups or [[j] for j in range(6)])
    actual = full_output_loss(U, X.T @ X / 7, mask_rate, feature_groups=groups)
    assert actual == pytest.approx(expected, rel=1e-12)


@each("groups, mask_rate", in_turn(PARTITIONS[:3], [0.2, 0.7]))
def test_leading_subspace_beats_random_projectors(groups, mask_rate):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 6)) @ rng.standard_normal((6, 6))
    S = X.T @ X / 20
    labels = np.arange(6)
    for number, group in enumerate(groups or []):
        labels[group] = 10 + number
    T = S - alpha_from_mask_rate(mask_rate) * S * (labels[:, None] == labels)
    best = full_output_loss(np.linalg.eigh(T)[1][:, -2:].T, S, mask_rate, feature_groups=groups)
    others = [
        full_output_loss(random_frame(rng, 2, 6), S, mask_rate, feature_groups=groups) for _ in range(500)
    ]
    assert best < min(others)


def test_loss_names_what_is_wrong():
    S = np.eye(3)
    with pytest.raises(ValueError, match="components must have 3 columns"):
        full_output_loss(np.eye(2), S, 0.1)
    with pytest.raises(ValueError, match="components must have orthonormal rows"):
        full_output_loss(2 * np.eye(3), S, 0.1)
    with pytest.raises(ValueError, match="covariance must be a square matrix"):
        full_output_loss(np.eye(3), np.ones((3, 2)), 0.1)
    with pytest.raises(ValueError, match="mask_rate must be one number"):
        full_output_loss(np.eye(3), S, [0.1, 0.2])
    with pytest.raises(ValueError, match="components must be a matrix of real numbers; got complex numbers"):
        full_output_loss(1j * np.eye(3), S, 0.1)
