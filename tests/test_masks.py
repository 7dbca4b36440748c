"""Mask rates and the strengths they amount to."""

import numpy as np
import pytest

from attenua import alpha_from_mask_rate, mask_rate_from_alpha


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
