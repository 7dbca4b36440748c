"""``cv=None`` means 5 folds, as in scikit-learn: in every container."""

import dask.array as da
import numpy as np
import pytest

from attenua import AttenuatedPCACV, CorrectedPCACV
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
