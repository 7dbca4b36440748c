"""What AttenuatedPCACV expects of new rows: against the formula, and on noise."""

import numpy as np
import pytest
from scipy import stats

from attenua import AttenuatedPCACV
from tests.helpers import spiked_rows


def test_the_gain_to_expect_never_lets_a_fold_choose_for_itself():
    model = AttenuatedPCACV(1, cv=12).fit(_noisy(48, 8, seed=1))
    assert model.alpha_ > 0
    gains = []
    for split, row in enumerate(model.cv_risk_folds_):
        chosen = np.argmin(np.delete(model.cv_risk_folds_, split, axis=0).sum(axis=0))
        gains.append((row[0] - row[chosen]) / model.cv_risk_folds_[:, 0].mean())
    # Eleven twelfths of the rows are in a training set.
    assert model.left_out_gain_ == pytest.approx(11 / 12 * np.mean(gains))
    error = np.sqrt(1 / 12 + 1 / 11) * np.std(gains, ddof=1)
    assert model.left_out_gain_error_ == pytest.approx(11 / 12 * error)
    assert model.left_out_gain_ < model.gain_


def test_pca_chosen_and_one_split():
    strong = np.random.default_rng(0).standard_normal((500, 3)) @ np.diag([9, 3, 1.0])
    model = AttenuatedPCACV(1).fit(strong)
    assert (model.alpha_, model.left_out_gain_, model.left_out_gain_error_) == (0, 0, 0)
    single = AttenuatedPCACV(2, cv=[(np.arange(20), np.arange(20, 40))]).fit(spiked_rows(40, 5))
    assert single.alpha_ > 0
    assert np.isnan([single.left_out_gain_, single.left_out_gain_error_]).all()


def test_a_gain_is_claimed_beyond_students_quantile():
    said = set()
    for seed in range(20):
        model = AttenuatedPCACV(1).fit(_noisy(40, 30, seed))
        is_clear = model.left_out_gain_ > stats.t(4).ppf(0.975) * model.left_out_gain_error_
        assert ("less error than PCA's" in model.verdict_ and "about" not in model.verdict_) == is_clear
        said.add(is_clear)
    assert said == {True, False}


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
