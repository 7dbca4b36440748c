"""The plug-in report: the same theory at the sample covariance, and a band that covers."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.blas import blas_threads
from attenua.theory import (
    Gaussian,
    Population,
    cutoff,
    default_strengths,
    draw_rows,
    plug_in_report,
    plug_in_report_for,
)
from tests.theory.definitions import risk
from tests.theory.designs import balanced, moving

ALPHAS = np.array([0.0, 0.3, 0.7])


def test_report_is_the_theory_at_the_sample_covariance():
    X = draw_rows(moving(0), 60, random_state=0) + 5
    report = plug_in_report(X, 2, n_bootstrap=0)
    population = Population(np.cov(X, rowvar=False), 2)
    assert report.n == 59
    np.testing.assert_array_equal(report.alphas, default_strengths())
    np.testing.assert_allclose(report.risk, population.excess_risk(59, attenuation=report.alphas), rtol=1e-12)
    assert report.oracle() == report.alphas[np.argmin(report.risk)]
    masks = report.alphas <= 0.5
    assert report.oracle("mask") == report.alphas[masks][np.argmin(report.risk[masks])]
    with pytest.raises(ValueError, match="no bootstrap"):
        _ = report.band


@pytest.mark.slow
def test_bootstrap_simulates_the_plug_in_population():
    """Its exact risks, redone here with other draws, and close to the 1/n formula; a seed repeats it."""
    X = draw_rows(moving(0), 400, random_state=1)
    options = {"alphas": ALPHAS, "n_bootstrap": 300, "random_state": 0}
    report, again = plug_in_report(X, 2, **options), plug_in_report(X, 2, **options)
    np.testing.assert_array_equal(report.bootstrap.curves, again.bootstrap.curves)
    S, rng = report.population.covariance, np.random.default_rng(5)
    Z = rng.multivariate_normal(np.zeros(5), S, size=(2_000, 399))
    Z -= Z.mean(axis=1, keepdims=True)
    samples = np.swapaxes(Z, 1, 2) @ Z
    risks = np.stack([risk(S, samples, 2, attenuation=a) for a in ALPHAS], axis=1)
    mean, error = np.mean(risks, axis=0), np.std(risks, axis=0) / np.sqrt(len(risks))
    combined = np.hypot(error, report.bootstrap.simulated_error)
    assert (np.abs(report.bootstrap.simulated_risk - mean) < 4 * combined).all()
    np.testing.assert_allclose(report.bootstrap.simulated_risk, report.risk, rtol=0.15)


@pytest.mark.slow
def test_band_covers_the_true_curve():
    """Nominally 90%; the bare bootstrap quantiles fail where the plug-in bias is not small."""
    S = balanced(0)
    truth = Population(S, 2).excess_risk(99, attenuation=ALPHAS)
    covered, by_quantiles = [], []
    for seed in range(40):
        X = draw_rows(S, 100, random_state=seed)
        report = plug_in_report(X, 2, alphas=ALPHAS, n_bootstrap=40, random_state=seed)
        bare = np.quantile(report.bootstrap.curves, [0.05, 0.95], axis=0)
        for (low, high), found in ((report.band, covered), (bare, by_quantiles)):
            found.append((low <= truth) & (truth <= high))
    assert np.mean(covered) > 0.8 > np.mean(by_quantiles)


@pytest.mark.slow
def test_plug_in_bias_does_not_vanish_against_the_saving():
    """The honest statement, checked: under balance n times the plug-in bias stays; the true one is 0."""
    S = balanced(0)
    assert Population(S, 2).bias(attenuation=0.7) < 1e-20
    scaled = []
    for n in (100, 1_600):
        samples = (draw_rows(S, n, random_state=seed) for seed in range(60))
        reports = [plug_in_report(X, 2, alphas=[0.7], n_bootstrap=0) for X in samples]
        scaled.append(np.mean([n * r.bias[0] for r in reports]))
    assert scaled[1] > scaled[0] / 3
    saving = Population(S, 2).sampling_coefficient(attenuation=0.0) - Population(S, 2).sampling_coefficient(
        attenuation=0.7
    )
    assert scaled[1] > saving / 4


def test_report_says_what_it_is_worth():
    X = draw_rows(moving(0), 60, random_state=0)
    plain = plug_in_report(X, 2, n_bootstrap=0)
    assert "understate attenuation" in plain.trust
    text = str(plug_in_report(X, 2, alphas=ALPHAS, n_bootstrap=20, random_state=0))
    for part in ("5 features, rank 2, n = 59", "vs PCA", "smallest risk at alpha", "four samples of five"):
        assert part in text


def test_from_a_fitted_estimator():
    X = draw_rows(moving(0), 60, random_state=0) + 5
    pca = PCA(2).fit(X)
    report = plug_in_report_for(pca, X, n_bootstrap=0)
    np.testing.assert_array_equal(report.risk, plug_in_report(X, 2, n_bootstrap=0).risk)
    assert report.fitted_alpha is None
    fitted = SimpleNamespace(n_components_=2, mean_=X.mean(axis=0), alpha_=0.35)
    assert "fitted with alpha = 0.35" in str(plug_in_report_for(fitted, X, n_bootstrap=0))
    with pytest.raises(ValueError, match="X must be the rows the estimator was fitted on"):
        plug_in_report_for(pca, X + 1)
    with pytest.raises(ValueError, match="must be fitted and have n_components_"):
        plug_in_report_for(PCA(2), X)


def test_a_failing_expansion_opens_the_band():
    X = draw_rows(moving(3), 9, random_state=2)
    report = plug_in_report(X, 2, alphas=[0.0, 0.8], n_bootstrap=60, random_state=0)
    assert report.bootstrap.curves[:, 1].min() < 0
    low, high = report.band
    assert (low >= 0).all()
    assert not np.isnan(high).any()
    assert (high >= report.risk).all()


def test_scale_and_refusals():
    X = draw_rows(moving(0), 40, random_state=0)
    one, other = (plug_in_report(X * c, 2, alphas=ALPHAS, n_bootstrap=5, random_state=0) for c in (1, 1e50))
    np.testing.assert_allclose(other.band[1] / 1e100, one.band[1], rtol=1e-6)
    np.testing.assert_allclose(other.bootstrap.risks / 1e100, one.bootstrap.risks, rtol=1e-6)
    with pytest.raises(ValueError, match="more than n_components \\+ 1 = 3 rows"):
        plug_in_report(X[:3], 2)
    with pytest.raises(ValueError, match="level must lie"):
        plug_in_report(X, 2, level=90)
    with pytest.raises(ValueError, match="n_bootstrap must be 0 or at least 2"):
        plug_in_report(X, 2, n_bootstrap=1)
    with pytest.raises(ValueError, match="X must be finite"):
        plug_in_report(np.where(X > 2, np.nan, X), 2)
    with pytest.raises(ValueError, match="X must hold rows"):
        plug_in_report(X[0], 2)


def test_report_for_our_own_estimators():
    X = np.random.default_rng(0).standard_normal((60, 5)) @ np.diag([3, 2, 1, 1, 1])
    for estimator in (AttenuatedPCA(2, alpha=0.25), AttenuatedPCACV(2)):
        report = plug_in_report_for(estimator.fit(X), X, n_bootstrap=0)
        assert report.fitted_alpha == getattr(estimator, "alpha_", 0.25)
        assert report.n == 59
        assert report.population.projector.shape == (5, 5)


# --- threads: sharing small matrices makes a busy machine many times slower ---------------------------------


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("this BLAS has one thread only")
        yield
        assert blas_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("worth_threads", "expected"), [(512, 1), (4, 2)])
def test_risks_of_small_matrices_take_one_thread(monkeypatch, worth_threads, expected):
    monkeypatch.setattr(cutoff, "_WORTH_THREADS", worth_threads)
    seen, of_gaussian = [], Gaussian.noise

    def watched(self, *arguments):
        seen.append(blas_threads())
        return of_gaussian(self, *arguments)

    monkeypatch.setattr(Gaussian, "noise", watched)
    Population(np.eye(4) + np.ones((4, 4)), n_components=1).excess_risk(50, attenuation=[0.0, 0.5])
    assert seen == [expected]  # the noise is kept for the second strength


@pytest.mark.usefixtures("two_threads")
def test_a_plug_in_report_takes_one_thread_from_beginning_to_end(monkeypatch):
    seen = []
    decompose = Population.__init__

    def watched(self, *arguments):
        seen.append(blas_threads())
        decompose(self, *arguments)

    monkeypatch.setattr(Population, "__init__", watched)
    plug_in_report(np.random.default_rng(0).standard_normal((30, 4)), 1, n_bootstrap=3, random_state=0)
    assert seen == [1] * 4
