"""How sure a gain is: against direct formulas, and against repeated draws of the whole experiment."""

import numpy as np
import pytest
from scipy import stats

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua.paired import paired_gain
from tests.helpers import spiked_rows


@pytest.fixture
def model():
    return AttenuatedPCACV(1, cv=12).fit(_noisy(48, 8, seed=1))


def test_the_error_is_that_of_the_corrected_paired_test(model):
    sure = paired_gain(model)
    folds, best = model.cv_risk_folds_, list(model.alphas_).index(model.alpha_)
    assert best > 0
    relative = (folds[:, best] - folds[:, 0]) / folds[:, 0].mean()
    expected = np.std(relative, ddof=1) * np.sqrt(1 / 12 + 1 / 11)
    assert sure.standard_error == pytest.approx(expected)
    assert sure.gain == model.gain_
    assert sure.n_splits == 12
    assert sure.n_better == (relative < 0).sum()
    assert sure.n_worse == (relative > 0).sum()
    half = stats.t(11).ppf(0.975) * expected
    assert sure.interval == pytest.approx((model.gain_ - half, model.gain_ + half))
    np.testing.assert_allclose(-sure.differences.mean(axis=0)[best], sure.gain)


def test_the_crossed_gain_never_lets_a_fold_choose_for_itself(model):
    sure = paired_gain(model)
    gains = []
    for split, row in enumerate(model.cv_risk_folds_):
        others = [other for other in range(12) if other != split]
        chosen = np.argmin(model.cv_risk_folds_[others].sum(axis=0))
        gains.append((row[0] - row[chosen]) / model.cv_risk_folds_[:, 0].mean())
    # Eleven twelfths of the rows are in a training set.
    assert sure.crossed_gain == pytest.approx(11 / 12 * np.mean(gains))
    assert sure.crossed_error == pytest.approx(11 / 12 * np.std(gains, ddof=1) * np.sqrt(1 / 12 + 1 / 11))
    assert sure.crossed_gain <= sure.gain + 1e-12


def test_pca_chosen_and_one_split():
    rng = np.random.default_rng(0)
    strong = rng.standard_normal((500, 3)) @ np.diag([9, 3, 1.0])
    model = AttenuatedPCACV(1).fit(strong)
    assert model.alpha_ == 0
    sure = paired_gain(model)
    assert sure.verdict == "pca"
    assert "Ordinary PCA" in sure.advice
    rows = spiked_rows(40, 5)
    single = AttenuatedPCACV(2, cv=[(np.arange(20), np.arange(20, 40))]).fit(rows)
    sure = paired_gain(single)
    assert np.isnan(sure.standard_error)
    assert np.isnan(sure.interval).all()
    assert sure.verdict in ("pca", "unclear")


def test_the_verdict_follows_what_to_expect():
    clear = []
    for seed in range(20):
        sure = paired_gain(AttenuatedPCACV(1).fit(_noisy(40, 30, seed)))
        clear.append(sure.crossed_gain > stats.t(4).ppf(0.975) * sure.crossed_error)
        assert sure.verdict == ("clear" if clear[-1] else "unclear")
    assert any(clear)
    assert not all(clear)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"cv": 20}])
def test_noise_is_rarely_called_a_gain(options):
    """Without any structure there is nothing to gain, whatever the folds are."""
    rng = np.random.default_rng(0)
    fits = [AttenuatedPCACV(2, **options).fit(rng.standard_normal((40, 10))) for _ in range(100)]
    assert sum("less risk than PCA's" in fit.verdict_ for fit in fits) < 5


def _noisy(n, p, seed):
    """One weak direction with equal noise in many columns: attenuation helps on most samples."""
    rng = np.random.default_rng(seed)
    return 1.0 * rng.standard_normal((n, 1)) * np.ones(p) + rng.standard_normal((n, p))


def test_other_estimators_are_refused():
    model = CorrectedPCACV(2).fit(np.random.default_rng(0).standard_normal((30, 5)))
    with pytest.raises(TypeError, match="takes an AttenuatedPCACV; got CorrectedPCACV"):
        paired_gain(model)


def test_a_strength_that_was_not_compared_is_named():
    model = AttenuatedPCACV(2, alphas=[0, 0.25, 0.5, 0.75, 1]).fit(spiked_rows(60, 8))
    with pytest.raises(ValueError, match=r"alpha=0.123 was not compared.*\[0.0, 0.25, 0.5, 0.75, 1.0\]"):
        paired_gain(model, alpha=0.123)
