"""The part of the spread of variances that is noise."""

import numpy as np
import pytest

from attenua._select.variance_noise import variance_noise


def test_noise_explains_the_spread_of_equal_variances_and_not_of_clearly_unequal_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 100, 50))
    equal = [variance_noise(rows.var(axis=0), 100) for rows in X]
    # The expected ratio is close to 1: noise over its own realisation.
    assert np.mean(equal) > 0.9
    assert variance_noise(X[0].var(axis=0) * np.linspace(1, 9, 50) ** 2, 100) < 0.1
    assert variance_noise(np.ones(4), 10) == 1
    v = np.array([1.0, 2.0, 4.0])
    assert variance_noise(v, 101) == pytest.approx(2 * 21 / 100 / 5)
    assert variance_noise(7 * v, 101) == pytest.approx(variance_noise(v, 101))
