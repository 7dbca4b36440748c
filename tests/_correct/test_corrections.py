"""What users may ask for: names and strengths of corrections."""

import numpy as np
import pytest

from attenua._correct.corrections import (
    CORRECTIONS,
    GRIDS,
    SEARCH_ORDER,
    checked_corrections,
    checked_strength_of,
)

PARTS = ("row_tempering", "tempering", "attenuation")


def test_the_names_and_the_order_of_the_search():
    assert sorted(SEARCH_ORDER) == sorted(CORRECTIONS)
    assert SEARCH_ORDER == ("smoothing", "row_tempering", "tempering", "attenuation", "damping")
    assert CORRECTIONS == ("row_tempering", "tempering", "attenuation", "damping", "smoothing")
    assert tuple(GRIDS) == CORRECTIONS
    assert all(grid[0] == 0 and list(grid) == sorted(set(grid)) for grid in GRIDS.values())


@pytest.mark.parametrize("name", CORRECTIONS)
def test_strengths(name):
    for value in (0, 0.25, 1, np.float32(0.5), np.int64(1)):
        found = checked_strength_of(name, value)
        assert type(found) is float
        assert found == value
    expected = "a number from 0 to 1" if name in PARTS else "a finite number of at least 0"
    bad = [-0.1, np.nan, np.inf, -np.inf, True, None, "0.5", [0.5]]
    for value in [*bad, 1.1] if name in PARTS else bad:
        with pytest.raises(ValueError, match=f"^{name} must be {expected}; got"):
            checked_strength_of(name, value)
    if name not in PARTS:
        assert checked_strength_of(name, 7) == 7


def test_the_argument_is_named():
    with pytest.raises(ValueError, match=r"^corrections\['damping'\] must be a finite number .* got -1\.$"):
        checked_strength_of("damping", -1, "corrections['damping']")


def test_auto_is_everything():
    assert checked_corrections("auto") == GRIDS
    assert checked_corrections("auto") is not GRIDS


@pytest.mark.parametrize("form", [list, tuple, set, np.array])
def test_names_in_any_order(form):
    found = checked_corrections(form(["damping", "row_tempering"]))
    assert list(found.items()) == [(name, GRIDS[name]) for name in ("row_tempering", "damping")]


def test_own_strengths_are_sorted_without_repeats_and_with_zero():
    found = checked_corrections({"damping": [2, 0.5, 0.5], "tempering": np.array([1.0]), "attenuation": []})
    assert list(found.items()) == [
        ("tempering", (0.0, 1.0)),
        ("attenuation", (0.0,)),
        ("damping", (0.0, 0.5, 2.0)),
    ]
    assert all(type(strength) is float for grid in found.values() for strength in grid)


def test_nothing():
    assert checked_corrections([]) == checked_corrections({}) == {}


@pytest.mark.parametrize("corrections", ["all", "damping", None, 5, True])
def test_what_is_no_list_of_corrections(corrections):
    with pytest.raises(
        ValueError, match=r"^corrections must be 'auto', a list of names, or a dict of names and"
    ):
        checked_corrections(corrections)


@pytest.mark.parametrize("corrections", [["damping", "Damping"], {"Damping": [1]}, [["damping"]], [None]])
def test_unknown_names(corrections):
    with pytest.raises(
        ValueError, match=r"^corrections names .*; the corrections are row_tempering, tempering"
    ):
        checked_corrections(corrections)


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
        checked_corrections({"tempering": strengths})


def test_an_iterator_of_names_is_refused():
    """It could be read once, and is read at every fit."""
    with pytest.raises(ValueError, match="corrections must be 'auto', a list of names"):
        checked_corrections(name for name in ("damping",))
