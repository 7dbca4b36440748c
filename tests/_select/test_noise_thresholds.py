"""Thresholds agree with R's parallel analysis and with Gavish and Donoho's paper."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.datasets import load_breast_cancer

from attenua._select.rank import (
    hard_threshold,
    marchenko_pastur_median,
    shuffled_thresholds,
    spectrum,
)

# From R's psych 2.2.9: set.seed(1); p <- fa.parallel(x, fa = "pc", n.iter = 2000, sim = FALSE, quant = .95),
# with x the rows below: p$pc.values, and apply(p$values, 2, quantile, .95). It draws with replacement.
PSYCH_VALUES = [13.1509393189, 5.9763929811, 2.6732138409, 2.1778273287, 2.0638815078, 0.9354741509]
PSYCH_QUANTILES = [2.127926, 1.933138, 1.801432, 1.702286, 1.613707, 1.532066, 1.458234, 1.388994]


@pytest.fixture(scope="module")
def rows():
    X = np.log1p(load_breast_cancer().data[::4])
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def test_eigenvalues_are_those_of_psych(rows):
    np.testing.assert_allclose(30 * spectrum(rows)[:6], PSYCH_VALUES, rtol=1e-9)


def test_quantiles_are_those_of_psych_up_to_chance(rows):
    found = 30 * shuffled_thresholds(rows, 500, np.random.default_rng(0))[:8]
    # The 95% quantile of 500 draws has a standard error of about 0.4% here.
    np.testing.assert_allclose(found, PSYCH_QUANTILES, rtol=0.015)


@pytest.mark.parametrize("shape", [(9, 30), (30, 9)])
def test_the_smaller_gram_matrix_has_the_same_spectrum(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    X -= X.mean(axis=0)
    values = np.linalg.svd(X, compute_uv=False) ** 2
    np.testing.assert_allclose(spectrum(X), values / values.sum(), atol=1e-14)


def test_shuffling_keeps_the_variance_of_each_column():
    # Equal columns are as correlated as can be; shuffled they are not, and no column changes its variance.
    X = np.outer(np.arange(200) - 99.5, [1.0, 1.0, 1.0, 10.0])
    first = shuffled_thresholds(X, 10, np.random.default_rng(0))[0]
    assert 100 / 103 <= first < 0.98
    assert spectrum(X)[0] == pytest.approx(1)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0])
def test_half_of_the_marchenko_pastur_law_is_below_its_median(ratio):
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    below, _ = quad(
        lambda t: np.sqrt((high - t) * (t - low)) / (2 * np.pi * ratio * t),
        low,
        marchenko_pastur_median(ratio),
    )
    assert below == pytest.approx(0.5, abs=1e-6)


def times_the_median(X):
    """The threshold on singular values over the median of those that centring leaves."""
    values = np.sqrt(spectrum(X))[: min(len(X) - 1, X.shape[1])]
    return np.sqrt(hard_threshold(X)) / np.median(values)


def centred(n, p):
    X = np.random.default_rng(0).standard_normal((n, p))
    return X - X.mean(axis=0)


def test_square_noise_has_the_published_factor():
    assert times_the_median(centred(21, 20)) == pytest.approx(2.858, abs=5e-4)  # Gavish and Donoho's abstract


@pytest.mark.parametrize(("n", "p"), [(41, 4), (41, 20), (11, 20), (11, 40)])
def test_other_shapes_have_the_published_approximation(n, p):
    ratio = min(n - 1, p) / max(n - 1, p)
    published = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43  # their Eq. 5, good to 0.02
    assert times_the_median(centred(n, p)) == pytest.approx(published, abs=0.02)
