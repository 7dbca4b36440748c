"""What users may ask for: names and strengths of corrections."""

import pickle

import numpy as np
import pytest
from scipy.linalg import expm

from attenua import CorrectedPCA
from attenua._correct.registry import (
    CORRECTIONS,
    SEARCH_ORDER,
    Strengths,
    checked_grids,
    checked_strength,
)
from tests.helpers import covariance, leading, sine, spiked_rows

PARTS = [name for name, correction in CORRECTIONS.items() if correction.largest == 1]


def test_the_names_and_the_order_of_the_search():
    assert sorted(SEARCH_ORDER) == sorted(CORRECTIONS)
    searched = ["borrowing", "smoothing", "row_tempering", "tempering", "attenuation", "damping", "pooling"]
    applied = ["row_tempering", "borrowing", "tempering", "damping", "pooling", "smoothing", "attenuation"]
    assert [name for name in SEARCH_ORDER if name in searched] == searched
    assert [name for name in CORRECTIONS if name in applied] == applied
    for name, correction in CORRECTIONS.items():
        assert correction.name == name
        grid = correction.strengths
        assert grid[0] == 0
        assert list(grid) == sorted(set(grid))


def test_strengths_by_name():
    some = Strengths(damping=0.5, tempering=0)
    assert some == Strengths(damping=0.5)
    assert hash(some) == hash(Strengths(damping=0.5))
    assert some != Strengths()
    assert dict(some) == dict.fromkeys(CORRECTIONS, 0.0) | {"damping": 0.5}
    assert (some["damping"], some.damping, some.smoothing) == (0.5, 0.5, 0.0)
    both = some.replace(row_tempering=1)
    assert both.nonzero() == [("row_tempering", 1.0), ("damping", 0.5)]
    assert both.of_kind("rows") == Strengths(row_tempering=1)
    assert pickle.loads(pickle.dumps(both)) == both
    assert (bool(both), bool(Strengths())) == (True, False)
    with pytest.raises(TypeError, match="'dumping' is not a correction; the corrections are row_tempering"):
        Strengths(dumping=1)
    with pytest.raises(KeyError):
        some["dumping"]
    with pytest.raises(AttributeError):
        some.dumping  # noqa: B018


@pytest.mark.parametrize("name", CORRECTIONS)
def test_strengths(name):
    for value in (0, 0.25, 1, np.float32(0.5), np.int64(1)):
        found = checked_strength(name, value)
        assert type(found) is float
        assert found == value
    expected = "a number from 0 to 1" if name in PARTS else "a finite number of at least 0"
    bad = [-0.1, np.nan, np.inf, -np.inf, True, None, "0.5", [0.5]]
    for value in [*bad, 1.1] if name in PARTS else bad:
        with pytest.raises(ValueError, match=f"^{name} must be {expected}; got"):
            checked_strength(name, value)
    if name not in PARTS:
        assert checked_strength(name, 7) == 7


def test_the_argument_is_named():
    with pytest.raises(ValueError, match=r"^corrections\['damping'\] must be a finite number .* got -1\.$"):
        checked_strength("damping", -1, "corrections['damping']")


def test_auto_is_everything():
    assert checked_grids("auto") == {name: c.strengths for name, c in CORRECTIONS.items()}


@pytest.mark.parametrize("form", [list, tuple, set, np.array])
def test_names_in_any_order(form):
    found = checked_grids(form(["damping", "row_tempering"]))
    assert list(found.items()) == [
        (name, CORRECTIONS[name].strengths) for name in ("row_tempering", "damping")
    ]


def test_own_strengths_are_sorted_without_repeats_and_with_zero():
    found = checked_grids({"damping": [2, 0.5, 0.5], "tempering": np.array([1.0]), "attenuation": []})
    assert list(found.items()) == [
        ("tempering", (0.0, 1.0)),
        ("damping", (0.0, 0.5, 2.0)),
        ("attenuation", (0.0,)),
    ]
    assert all(type(strength) is float for grid in found.values() for strength in grid)


def test_nothing():
    assert checked_grids([]) == checked_grids({}) == {}


@pytest.mark.parametrize("corrections", ["all", "damping", None, 5, True])
def test_what_is_no_list_of_corrections(corrections):
    with pytest.raises(
        ValueError, match=r"^corrections must be 'auto', a list of names, or a dict of names and"
    ):
        checked_grids(corrections)


@pytest.mark.parametrize("corrections", [["damping", "Damping"], {"Damping": [1]}, [["damping"]], [None]])
def test_unknown_names(corrections):
    with pytest.raises(
        ValueError, match=r"^corrections names .*; the corrections are row_tempering, borrowing"
    ):
        checked_grids(corrections)


@pytest.mark.parametrize(
    ("strengths", "message"),
    [
        (0.5, "must be a sequence of strengths; got 0.5"),
        ("0.5", "must be a sequence of strengths; got '0.5'"),
        (None, "must be a sequence of strengths; got None"),
        ([0.5, 2], "must be a number from 0 to 1; got 2"),
        ([[0.5]], r"must be a number from 0 to 1; got \[0.5\]"),
        (["a"], "must be a number from 0 to 1; got 'a'"),
    ],
)
def test_bad_strengths_of_a_correction(strengths, message):
    with pytest.raises(ValueError, match=rf"^corrections\['tempering'\] {message}"):
        checked_grids({"tempering": strengths})


def test_an_iterator_of_names_is_refused():
    """It could be read once, and is read at every fit."""
    with pytest.raises(ValueError, match="corrections must be 'auto', a list of names"):
        checked_grids(name for name in ("damping",))


def test_a_fit_applies_the_corrections_in_the_order_of_the_registry():
    """Borrowing, tempering, damping, smoothing and attenuation by their entries, one after another."""
    X, other = spiked_rows(40, 8), spiked_rows(30, 8, seed=1)
    strengths = {"borrowing": 0.3, "tempering": 0.4, "damping": 0.3, "smoothing": 0.9, "attenuation": 0.6}
    S, R = covariance(X), covariance(other)
    T = 0.7 * S + 0.3 * np.trace(S) / np.trace(R) * R
    s = np.sqrt(np.diag(T))
    correlations = T / np.outer(s, s)
    T = correlations * np.abs(correlations) ** 0.3 * np.outer(s, s) ** 0.6
    laplacian = 2.0 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1)
    laplacian[0, 0] = laplacian[-1, -1] = 1.0
    K = expm(-(0.9**2) / 2 * laplacian)
    T = K @ T @ K
    T = T - 0.6 * np.diag(np.diag(T))
    model = CorrectedPCA(3, neighbours="line", reference=other, **strengths).fit(X)
    assert sine(model.components_, leading(T, 3)) < 1e-9
