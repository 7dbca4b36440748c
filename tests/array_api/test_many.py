"""Many data sets at once against one fit each."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from attenua import AttenuatedPCACV
from attenua.array_api.many import cross_validate_many
from tests.helpers import sine, spiked_rows


def sets(count, n, p, rank=2):
    return np.stack([spiked_rows(n, p, rank, seed=seed) for seed in range(count)])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(40, 9), (30, 120), (200, 90)])
@pytest.mark.parametrize("tempering", [0, [0, 0.5, 1]])
def test_each_set_is_what_one_fit_gives(lib, n, p, tempering):
    X = sets(4, n, p)
    many = cross_validate_many(lib.array(X), 2, tempering=tempering)
    assert all(lib.holds(field) for field in many)
    alpha, gamma, risk, basis, mean = (lib.numpy(field) for field in many)
    for i, rows in enumerate(X):
        one = AttenuatedPCACV(2, tempering=tempering).fit(rows)
        assert (alpha[i], gamma[i]) == (one.alpha_, one.tempering_)
        np.testing.assert_allclose(risk[i].reshape(one.cv_risk_.shape), one.cv_risk_, rtol=1e-8)
        np.testing.assert_allclose(mean[i], one.mean_, rtol=1e-10)
        assert sine(basis[i].T, one.components_) < 1e-7


def test_folds_of_every_set():
    X = sets(5, 30, 8)
    random = np.random.default_rng(0)
    folds = np.empty((5, 30), dtype=int)
    splits = []
    for i in range(5):
        groups = random.integers(0, 10, 30)
        splits.append(list(GroupKFold(4).split(X[i], groups=groups)))
        for number, (_, held) in enumerate(splits[i]):
            folds[i, held] = number
    many = cross_validate_many(X, 2, folds=folds)
    for i in range(5):
        assert many.alpha[i] == AttenuatedPCACV(2, cv=splits[i]).fit(X[i]).alpha_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": np.zeros((4, 5))}, "three dimensions"),
        ({"X": np.zeros((2, 9, 4), dtype=np.float32)}, "must be float64"),
        ({"n_components": 9}, "n_components=9 is more than"),
        ({"n_components": 0}, "n_components must be an integer"),
        ({"folds": 1}, "folds must be an integer of at least 2"),
        ({"folds": np.zeros(9, dtype=int)}, "at least two folds"),
        ({"folds": np.zeros(4, dtype=int)}, "integers of shape"),
        ({"folds": np.array([0, 0, 0, 0, 0, 0, 0, 0, 2])}, "each with a row"),
    ],
)
def test_bad_input(options, message):
    arguments = {"X": np.random.default_rng(0).standard_normal((2, 9, 4)), "n_components": 2} | options
    with pytest.raises(ValueError, match=message):
        cross_validate_many(**arguments)
