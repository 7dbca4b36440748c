"""The standard error of a gain under any splitter, and the part of the spread of variances that is noise."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from attenua import AttenuatedPCACV, CorrectedPCACV, paired_gain
from attenua._data.folds import make_splits
from attenua._select.comparison import gain_error
from attenua._select.search import variance_noise
from tests.helpers import spiked_rows

SPLITTERS = {
    "folds": (5, 5, 1 / 4),
    "KFold": (KFold(4), 4, 1 / 3),
    "RepeatedKFold": (RepeatedKFold(n_splits=5, n_repeats=4, random_state=0), 20, 1 / 4),
    "ShuffleSplit": (ShuffleSplit(20, test_size=0.25, random_state=0), 20, 1 / 3),
}


@pytest.mark.parametrize("case", SPLITTERS)
def test_one_standard_error_under_any_splitter(case):
    """The formula by hand, in the steps, the notebook and paired_gain alike."""
    cv, n_splits, ratio = SPLITTERS[case]
    X = spiked_rows(60, 8)
    one = AttenuatedPCACV(2, alphas=[0.6], cv=cv).fit(X)
    differences = one.cv_risk_folds_[:, 1] - one.cv_risk_folds_[:, 0]
    spread = np.sqrt(np.sum((differences - differences.mean()) ** 2) / (n_splits - 1))
    error = np.sqrt(1 / n_splits + ratio) * spread / one.cv_risk_folds_[:, 0].mean()
    assert paired_gain(one, 0.6).standard_error == pytest.approx(error)
    several = CorrectedPCACV(2, corrections={"attenuation": [0.6]}, cv=cv, guard=0).fit(X)
    step = several.steps_["attenuation"]
    if step.best:
        assert step.standard_error == pytest.approx(error)
    if any(several.corrections_.values()):
        assert several._gain_errors()[0] == pytest.approx(error)


def test_the_same_splits_have_the_same_error_however_they_are_given():
    X = spiked_rows(40, 6)
    repeated = AttenuatedPCACV(2, n_repeats=4, random_state=0).fit(X)
    splits = make_splits(5, 40, n_repeats=4, random_state=0)
    listed = AttenuatedPCACV(2, cv=splits).fit(X)
    np.testing.assert_allclose(listed.cv_risk_folds_, repeated.cv_risk_folds_, rtol=1e-12)
    errors = [paired_gain(model, 1.0).standard_error for model in (repeated, listed)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-12)


def test_one_split_has_no_standard_error():
    assert np.isnan(gain_error(np.ones(1), 0.25))
    assert np.isnan(gain_error(np.ones((1, 3)), 0.25)).all()


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
