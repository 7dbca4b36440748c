"""Means, intervals and correlations against numbers of other sources."""

import numpy as np
import pytest
from scipy import stats

from attenua_evidence.averages import Mean, decimals, mean_of, pearson, spearman


def test_means_and_their_intervals():
    # Students interval.
    # Quantile 0.975 of t with two degrees of freedom, from a printed table.
    mean = mean_of([1.0, 2.0, 6.0])
    half = 4.303 * np.sqrt(7) / np.sqrt(3)
    np.testing.assert_allclose(mean[:3], [3, 3 - half, 3 + half], rtol=2e-4)
    assert mean.count == 3
    # Few values.
    assert str(mean_of([])) == "–"
    assert str(mean_of([2.5])) == "2.50"
    assert str(mean_of([1, 1])) == "1.00 [1.00, 1.00]"
    # Sign of an interval.
    for low, high, sign in [(1, 2, 1), (-1, 2, 0), (-2, -1, -1), (np.nan, np.nan, 0)]:
        assert Mean(0.0, low, high, 9).sign == sign


def test_correlations_and_when_they_say_nothing():
    # Correlations.
    x, y = np.random.default_rng(0).standard_normal((2, 30))
    found, expected = pearson(x, x + y), stats.pearsonr(x, x + y)
    np.testing.assert_allclose(found[:3], [expected.statistic, *expected.confidence_interval(0.95)])
    rho = stats.spearmanr(x, x + y).statistic
    z, half = np.arctanh(rho), 1.959964 * np.sqrt((1 + rho**2 / 2) / 27)
    np.testing.assert_allclose(spearman(x, x + y)[:3], [rho, np.tanh(z - half), np.tanh(z + half)], rtol=1e-6)
    # Correlations that say nothing.
    assert np.isnan(pearson([1, 1, 1], [1, 2, 3]).value)
    assert np.isnan(pearson([], []).value)
    perfect = spearman([1, 2, 3, 4, 5], [2, 4, 5, 8, 16])
    assert perfect.value == pytest.approx(1)
    assert np.isnan(perfect.low)


def test_decimals():
    # A zero has no sign.
    assert decimals(-0.001) == "0.00"
    assert decimals(-0.06, 1) == "-0.1"
    # Large numbers have fewer decimals.
    texts = [decimals(value) for value in (7.304, 9.996, -72.24, 99.96, -12627.9)]
    assert texts == ["7.30", "10.0", "-72.2", "100", "-12628"]
