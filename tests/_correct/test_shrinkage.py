"""The closed forms of shrinkage against scikit-learn's."""

import numpy as np
import pytest
from sklearn.covariance import OAS, ledoit_wolf_shrinkage

from attenua import CorrectedPCACV
from attenua._correct.shrinkage import ledoit_wolf, oracle_approximating, shrinkage_of, strength_of
from attenua._data.opening import open_for_cv
from tests.helpers import spiked_rows


@pytest.mark.parametrize("shape", [(30, 5), (9, 40), (6, 700), (50, 1)], ids=str)
@pytest.mark.parametrize("kind", ["spiked", "noise", "one row far away"])
def test_closed_forms(shape, kind):
    X = spiked_rows(*shape) if kind == "spiked" else np.random.default_rng(0).standard_normal(shape)
    X[0] *= 30 if kind == "one row far away" else 1
    moments = open_for_cv(CorrectedPCACV(cv=3), X).moments.total
    fourth_powers = np.sum(np.sum(((X - X.mean(axis=0)) / moments.unit) ** 2, axis=1) ** 2)
    assert ledoit_wolf(moments, fourth_powers) == pytest.approx(ledoit_wolf_shrinkage(X), rel=1e-9)
    if shape[1] > 1:
        assert oracle_approximating(moments) == pytest.approx(OAS().fit(X).shrinkage_, rel=1e-9)


def test_strengths_are_multiples_of_the_odds():
    assert shrinkage_of(1.0, 0.3) == pytest.approx(0.3)
    assert shrinkage_of(2.0, 0.5) == pytest.approx(2 / 3)
    assert strength_of(shrinkage_of(0.37, 0.2), 0.2) == pytest.approx(0.37)
    # Where one of them shrinks nothing or everything, no multiple leads from one to the other.
    assert [shrinkage_of(4.0, 0.0), shrinkage_of(4.0, 1.0), strength_of(1.0, 0.5), strength_of(0.5, 0.0)] == [
        0.0,
        1.0,
        1.0,
        1.0,
    ]
