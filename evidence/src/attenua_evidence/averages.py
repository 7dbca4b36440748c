"""Means, medians and correlations over data sets, with 95% intervals."""

from collections.abc import Sequence
from math import atanh, nan, sqrt, tanh
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95


class Mean(NamedTuple):
    """An average with its 95% interval; where there is none, its ends are nan."""

    value: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{decimals(self.value)}{self.interval}"

    @property
    def interval(self) -> str:
        """The interval as tables show it, or nothing."""
        return "" if np.isnan(self.low) else f" [{decimals(self.low)}, {decimals(self.high)}]"

    @property
    def sign(self) -> int:
        """1 where the interval lies above zero, -1 where below, 0 where it holds zero or is missing."""
        return int(self.low > 0) - int(self.high < 0)


def decimals(value: float, digits: int | None = None) -> str:
    """Return a number with so many decimals, a zero without a sign, and a dash for none.

    By default it has two decimals below 10, one below 100 and none beyond: no more digits are sure.
    """
    if np.isnan(value):
        return "–"
    if digits is None:
        digits = int(abs(value) < 99.95) + int(abs(value) < 9.995)
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def mean_of(values: Sequence[float] | Any) -> Mean:
    """Return the mean of data sets (or of cells) with Student's interval, which needs two of them."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n == 0:
        return Mean(nan, nan, nan, 0)
    mean = float(values.mean())
    if n == 1:
        return Mean(mean, nan, nan, 1)
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * values.std(ddof=1) / sqrt(n))
    return Mean(mean, mean - half, mean + half, n)


def pearson(x: Sequence[float] | Any, y: Sequence[float] | Any) -> Mean:
    """Return Pearson's correlation with Fisher's interval."""
    return _correlation(x, y, 1.0)


def spearman(x: Sequence[float] | Any, y: Sequence[float] | Any) -> Mean:
    """Return Spearman's correlation with the interval of Bonett and Wright (2000)."""
    x, y = stats.rankdata(x), stats.rankdata(y)
    r = _correlation(x, y, 1.0).value
    return _correlation(x, y, 1 + r**2 / 2)


def _correlation(x: Any, y: Any, variance: float) -> Mean:
    """Return a correlation with its interval, atanh(r) having this variance over n - 3."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n = len(x)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Mean(nan, nan, nan, n)
    r = float(np.corrcoef(x, y)[0, 1])
    # A perfect correlation, up to rounding, has no interval.
    if n < 4 or abs(r) > 1 - 1e-12:
        return Mean(r, nan, nan, n)
    half = stats.norm.ppf((1 + LEVEL) / 2) * sqrt(variance / (n - 3))
    return Mean(r, tanh(atanh(r) - half), tanh(atanh(r) + half), n)
