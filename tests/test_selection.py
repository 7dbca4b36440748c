import numpy as np
import pytest

from attenua import AttenuatedPCACV, attenuation_path, spectrum
from attenua.comparison import SplitMoments, smallest_strength_at_minimum
from attenua.moments import Rows
from attenua.selection import fallback_certificate, select_on_validation
from tests.helpers import covariance, spiked_rows


class CountingRows(Rows):
    """Rows that note how many of them were read."""

    def _scatter_moments(self, rows):
        self.read = getattr(self, "read", 0) + (self.n_samples if rows is None else len(rows))
        return super()._scatter_moments(rows)


def folds(n, k):
    return [(np.setdiff1d(np.arange(n), held), held) for held in np.array_split(np.arange(n), k)]


def test_cross_validation_and_refit_read_every_row_once():
    rows = CountingRows(spiked_rows(100, 6))
    moments = SplitMoments(rows, folds(100, 5))
    for number in range(5):
        moments.pair(number)
    assert moments.total.weight == 100
    assert rows.read == 100


def test_splits_that_are_no_partition_are_right_too():
    X = spiked_rows(60, 6)
    splits = [(np.arange(10, 50), np.arange(10)), (np.arange(30), np.arange(40, 60))]
    moments = SplitMoments(Rows(X), splits)
    for number, (train, held) in enumerate(splits):
        fitted, left = moments.pair(number)
        np.testing.assert_allclose(fitted.covariance, covariance(X[train]), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(left.covariance, covariance(X[held]), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(moments.total.covariance, covariance(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n_folds", [5, 40])
def test_an_outlier_that_is_held_out_does_not_reach_the_training_rows(n_folds):
    X = spiked_rows(120, 6)
    X[0] += 1e6
    splits = folds(120, n_folds)
    moments = SplitMoments(Rows(X), splits)
    for number in (0, 1, n_folds - 1):
        train, held = moments.pair(number)
        expected = covariance(X[splits[number][0]])
        exact = n_folds == 5  # many folds are taken by subtraction, which an outlier costs some digits
        np.testing.assert_allclose(train.covariance, expected, rtol=1e-9 if exact else 1e-3)
        assert held.weight == len(splits[number][1])


def test_folds_of_different_sizes_are_judged_in_one_unit():
    X = spiked_rows(60, 6)
    expected = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X)
    tiny = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X * 1e-150)
    np.testing.assert_allclose(tiny.cv_risk_, expected.cv_risk_ * 1e-300, rtol=1e-9)
    X[:20] = 0  # a fold without a size of its own
    expected = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X)
    tiny = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X * 2.0**-540)
    np.testing.assert_allclose(np.abs(tiny.components_), np.abs(expected.components_), rtol=1e-9)
    X[45] *= 1e100  # one that no other fold is like
    moments = SplitMoments(Rows(X), folds(60, 3))
    for number in range(3):
        train, held = moments.pair(number)
        assert train.unit == held.unit == moments.total.unit


def test_repetitions_are_partitions_of_their_own():
    rows = CountingRows(spiked_rows(60, 6))
    rng = np.random.default_rng(0)
    held = [part for _ in range(3) for part in np.array_split(rng.permutation(60), 4)]
    moments = SplitMoments(rows, [(np.setdiff1d(np.arange(60), part), part) for part in held])
    assert moments.total.weight == 60
    for number in range(12):
        moments.pair(number)
    assert rows.read == 180


def test_rounding_does_not_choose_a_strength():
    assert smallest_strength_at_minimum(np.array([1.0, 1.0 - 1e-14, 1.0 - 2e-14]), 1.0) == 0
    assert smallest_strength_at_minimum(np.array([1.0, 0.9, 0.9]), 1.0) == 1


def test_validation_risk_of_centred_rows():
    X, V = spiked_rows(50, 8), spiked_rows(70, 8, seed=1)
    path = attenuation_path(X, 2)
    chosen = select_on_validation(path, V)
    S = np.cov(V.T)
    expected = [np.trace(S) - np.trace(U @ S @ U.T) for U in path.components]
    np.testing.assert_allclose(chosen.risk, expected, rtol=1e-10)
    assert chosen.alpha == path.alphas[int(np.argmin(expected))]
    # Nothing is refitted: the subspace is the path's own.
    np.testing.assert_array_equal(chosen.components, path.components[int(np.argmin(expected))])


def test_certificate_is_the_papers_formula():
    S = np.diag([3.0, 1.0, 0.5])
    certificate = fallback_certificate(200, 22, eta=0.1, covariance=S)
    t = np.log(2 * 22 / 0.1)
    epsilon = 2 * np.sqrt(10.25) * np.sqrt(t / 200) + 2 * 3 * t / 200
    assert certificate.epsilon == pytest.approx(epsilon)
    assert certificate.excess == pytest.approx(2 * epsilon)
    by_norms = fallback_certificate(200, 22, eta=0.1, norms=(np.sqrt(10.25), 3.0))
    assert by_norms.epsilon == pytest.approx(epsilon)
    assert "With probability at least 0.9" in str(certificate)


def test_certificate_holds_over_many_validation_sets():
    # The uniform error of the validation risks exceeds epsilon with probability at most eta.
    rng = np.random.default_rng(0)
    S = np.diag([4.0, 2.0, 1.0, 0.5])
    path = attenuation_path(rng.standard_normal((30, 4)) * np.sqrt(np.diag(S)), 2)
    clean = np.array([np.trace(S) - np.trace(U @ S @ U.T) for U in path.components])
    failures, trials = 0, 400
    for _ in range(trials):
        V = 10 + rng.standard_normal((40, 4)) * np.sqrt(np.diag(S))
        chosen = select_on_validation(path, V)
        epsilon = chosen.certificate(0.2, covariance=S).epsilon
        failures += np.abs(chosen.risk - clean).max() > epsilon
    assert failures / trials <= 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0, "norms": (1, 1)}, "eta must be strictly between 0 and 1"),
        ({"eta": 1.0, "norms": (1, 1)}, "eta must be strictly between 0 and 1"),
        ({}, "either covariance or norms"),
        ({"covariance": np.eye(2), "norms": (1, 1)}, "either covariance or norms"),
        ({"norms": (1, 2)}, "the second no larger than the first"),
        ({"norms": 5}, "norms must be"),
        ({"covariance": -np.eye(2)}, "must not have negative eigenvalues"),
        ({"covariance": np.array([[1, 2], [0, 1]])}, "finite symmetric matrix"),
    ],
)
def test_certificates_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fallback_certificate(10, 3, **options)


def test_validation_rows_with_other_columns():
    with pytest.raises(ValueError, match="X has 5 columns, but the path was fitted to 8"):
        select_on_validation(attenuation_path(spiked_rows(20, 8), 2), spiked_rows(20, 5))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(300, 260), (60, 400)])
def test_iteration_chooses_what_lapack_chooses(shape, monkeypatch):
    # Flat, spiked and nearly crossing spectra; the folds are iterated, or forced to LAPACK.
    disagreements = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal(shape) * rng.uniform(0.5, 2, shape[1])
        spikes = [0.0, 1.0, 1.001, 3.0][: seed % 5]
        for size in spikes:
            X += size * np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
        options = {"n_components": 1 + seed % 4, "alphas": [0, 0.25, 0.5, 0.75, 1], "cv": 3}
        fast = AttenuatedPCACV(**options).fit(X)
        with monkeypatch.context() as patch:
            patch.setattr(spectrum, "_DIRECT_SIZE", 10_000)
            exact = AttenuatedPCACV(**options).fit(X)
        disagreements += fast.alpha_ != exact.alpha_
        np.testing.assert_allclose(fast.cv_risk_, exact.cv_risk_, rtol=1e-7)
    assert disagreements == 0
