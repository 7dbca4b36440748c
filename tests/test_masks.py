"""Mask rates and the strengths they amount to."""

from itertools import product

import numpy as np
import pytest

from attenua import AttenuatedPCA, alpha_from_mask_rate, mask_rate_from_alpha


def test_maps_are_inverse_and_keep_shape():
    rates = np.linspace(0, 0.999, 50).reshape(5, 10)
    strengths = alpha_from_mask_rate(rates)
    assert strengths.shape == rates.shape
    assert strengths.max() < 0.5
    np.testing.assert_allclose(mask_rate_from_alpha(strengths), rates, rtol=1e-12)
    assert isinstance(alpha_from_mask_rate(0.5), float)


@pytest.mark.parametrize("bad", [-0.1, 1.0, np.nan, [0.2, 1.5]])
def test_mask_rate_out_of_range(bad):
    with pytest.raises(ValueError, match="mask_rate must be at least 0 and below 1"):
        alpha_from_mask_rate(bad)


@pytest.mark.parametrize("bad", [-0.1, 0.5, np.inf])
def test_alpha_beyond_what_masks_reach(bad):
    with pytest.raises(ValueError, match=r"alpha must be at least 0 and below 0\.5"):
        mask_rate_from_alpha(bad)


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mask_rate", [0.2, 0.6])
def test_attenuation_by_the_mask_rate_undoes_cells_filled_with_zeros(mask_rate, strength):
    # All masks of centred rows, weighted by their probabilities: docs/guide/missing.md has the equation.
    X = np.random.default_rng(0).standard_normal((12, 5)) @ np.diag([1, 2, 1, 3, 1])
    X -= X.mean(axis=0)
    masks = np.array(list(product((0, 1), repeat=5)))
    filled = np.vstack([mask * X for mask in masks])
    chances = np.prod(np.where(masks == 1, 1 - mask_rate, mask_rate), axis=1)
    whole = AttenuatedPCA(2, alpha=strength).fit(X).components_
    compound = 1 - (1 - mask_rate) * (1 - strength)
    found = AttenuatedPCA(2, alpha=compound).fit(filled, sample_weight=np.repeat(chances, len(X))).components_
    np.testing.assert_allclose(found.T @ found, whole.T @ whole, atol=1e-8)
