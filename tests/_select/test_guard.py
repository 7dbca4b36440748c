"""The guarded choice, by hand and in the estimator."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from attenua import AttenuatedPCACV
from attenua._data.folds import make_splits
from attenua._select.guard import GUARD, guarded, variance_noise, within_noise


def folds_with(ratio, seed=0, n_splits=10, overlap=0.25):
    """Return risks of PCA and one candidate whose gain is so many standard errors."""
    noise = np.random.default_rng(seed).standard_normal(n_splits)
    noise -= noise.mean()
    error = np.sqrt((1 / n_splits + overlap) * noise.var(ddof=1))
    return np.column_stack([np.full(n_splits, 5.0), 5 + noise - ratio * error])


@pytest.mark.parametrize(("ratio", "chosen"), [(1.05 * GUARD, 1), (0.95 * GUARD, 0), (3.0, 1), (0.0, 0)])
def test_a_gain_must_exceed_a_quarter_of_its_error(ratio, chosen):
    assert guarded(1, folds_with(ratio), 0.25) == chosen


def test_pca_and_a_single_split_stay_as_they_are():
    assert guarded(0, folds_with(3.0), 0.25) == 0
    assert guarded(1, folds_with(0.01)[:1], 0.25) == 1


@pytest.mark.parametrize("tempering", [0, "auto"])
@pytest.mark.parametrize("n", [40, 60])
def test_the_estimator_takes_the_least_risk_or_pca_as_the_formula_says(n, tempering):
    X = load_digits().data[:n, 18:23]
    settings = {"tempering": tempering, "n_repeats": 3, "random_state": 0}
    least = AttenuatedPCACV(2, **settings).fit(X)
    careful = AttenuatedPCACV(2, selection="guarded", **settings).fit(X)
    np.testing.assert_array_equal(careful.cv_risk_, least.cv_risk_)
    folds = least.cv_risk_folds_.reshape(15, -1)
    best = int(np.argmin(least.cv_risk_))
    differences = folds[:, best] - folds[:, 0]
    held = np.mean([len(rows) for _, rows in make_splits(5, n)])
    error = np.sqrt((1 / 15 + held / (n - held)) * differences.var(ddof=1))
    if -differences.mean() > error / 4:
        assert (careful.alpha_, careful.tempering_) == (least.alpha_, least.tempering_)
    else:
        assert (careful.alpha_, careful.tempering_, careful.gain_) == (0, 0, 0)


def test_both_outcomes_occur_in_the_test_above():
    outcomes = set()
    for n in (40, 60):
        X = load_digits().data[:n, 18:23]
        outcomes.add(AttenuatedPCACV(2, selection="guarded", n_repeats=3, random_state=0).fit(X).alpha_ > 0)
    assert outcomes == {True, False}


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


def test_bounded_candidates_keep_pca_and_the_grid_of_both():
    strengths = np.array([[a, t] for t in (0, 0.25, 0.5) for a in (0, 0.1, 0.4, 1)])
    v = np.array([1.0, 2.0, 4.0])
    bound = variance_noise(v, 15)
    assert 0.5 < bound < 0.7
    kept = strengths[within_noise(strengths, v, 15)]
    np.testing.assert_array_equal(kept, [[a, t] for t in (0, 0.25, 0.5) for a in (0, 0.1, 0.4)])
    assert within_noise(strengths, v * [1, 1, 1e6], 1e9).sum() == 1


@pytest.mark.parametrize("tempering", [0, "auto", [0.1, 0.3]])
def test_bounded_strengths_stay_below_the_noise(tempering):
    X = load_digits().data[:60, 18:23]
    bound = variance_noise(X.var(axis=0), 60)
    assert 0.05 < bound < 1
    model = AttenuatedPCACV(2, tempering=tempering, selection="bounded", n_repeats=2, random_state=0).fit(X)
    assert model.alphas_.max() <= bound
    assert model.temperings_.max() <= bound
    assert (model.alphas_[0], model.temperings_[0]) == (0, 0)
    whole = AttenuatedPCACV(2, tempering=tempering, n_repeats=2, random_state=0).fit(X)
    both = np.isin(whole.alphas_, model.alphas_)
    if tempering != "auto":
        kept = whole.cv_risk_[np.isin(whole.temperings_, model.temperings_)] if tempering else whole.cv_risk_
        np.testing.assert_allclose(model.cv_risk_, np.squeeze(kept[..., both]))


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="selection must be 'minimum', 'guarded' or 'bounded'; got 'best'"):
        AttenuatedPCACV(2, selection="best").fit(load_digits().data[:40])
