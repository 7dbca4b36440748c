"""The guarded choice, by hand and in the estimator."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from attenua import AttenuatedPCACV
from attenua.choice import GUARD, guarded
from attenua.folds import make_splits


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


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="selection must be 'minimum' or 'guarded'; got 'best'"):
        AttenuatedPCACV(2, selection="best").fit(load_digits().data[:40])
