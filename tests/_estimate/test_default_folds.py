"""How many folds: ``cv=None`` means 5, as in scikit-learn, and fewer groups are as many folds."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCACV, learning_curve
from tests.helpers import spiked_rows

ROWS = spiked_rows(40, 4)
CONTAINERS = {
    "rows": ROWS,
    "batches": [ROWS[:25], ROWS[25:]],
    "dask": da.from_array(ROWS, chunks=(15, 4)),
}


@pytest.mark.parametrize(
    ("estimator", "container"),
    [(CorrectedPCACV, "rows"), *((AttenuatedPCACV, container) for container in CONTAINERS)],
)
def test_none_gives_the_fit_with_five_folds(estimator, container):
    none, five = (estimator(2, cv=cv).fit(CONTAINERS[container]) for cv in (None, 5))
    np.testing.assert_array_equal(none.cv_risk_folds_, five.cv_risk_folds_)


@pytest.mark.parametrize(
    "model", [CorrectedPCACV(2), AttenuatedPCACV(2), CorrectedCovariance()], ids=lambda m: type(m).__name__
)
def test_each_of_fewer_groups_is_a_fold(model):
    sites = np.arange(len(ROWS)) % 3
    found = clone(model).fit(ROWS, groups=sites)
    splits = [(np.flatnonzero(sites != site), np.flatnonzero(sites == site)) for site in range(3)]
    expected = clone(model).set_params(cv=splits).fit(ROWS, groups=sites)
    np.testing.assert_array_equal(found.cv_risk_folds_, expected.cv_risk_folds_)


def test_functions_of_rows_take_few_groups():
    sites = np.arange(len(ROWS)) % 4
    model = CorrectedPCACV(2).fit(ROWS, groups=sites)
    assert np.isfinite(model.control_limits(ROWS, groups=sites).q_rows).all()
    assert learning_curve(ROWS, 1, groups=np.arange(40) % 5, random_state=0).losses.shape[0] == 5
