"""The list of data sets: what was fixed before any result was seen."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import collection
from collection.entries import ENTRIES, wanted
from collection.entry import KINDS, PARTS
from collection.packages import PACKAGES

each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def test_parts_are_large_enough():
    assert Counter(entry.part for entry in ENTRIES) == {"develop": 24, "choose": 24, "final": 42}


def test_names_are_unique():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


def test_no_reader_is_used_twice():
    assert len({entry.reader for entry in ENTRIES}) == len(ENTRIES)


def test_the_list_has_all_kinds_and_the_final_part_too():
    assert {entry.kind for entry in ENTRIES} == set(KINDS)
    assert {entry.kind for entry in ENTRIES if entry.part == "final"} == set(KINDS)


@each
def test_every_field_has_an_allowed_value(entry):
    assert re.fullmatch(r"[a-z0-9_]+", entry.name)
    assert entry.kind in KINDS
    assert entry.unit in ("one", "mixed")
    assert entry.part in PARTS
    n_rows, n_columns = entry.shape
    assert n_rows >= 60
    assert n_columns >= 6
    if entry.order not in (None, "line"):
        assert np.prod(entry.order) == n_columns
    if entry.unit == "mixed":  # a draw may leave out columns there, which would break an order
        assert entry.order is None
    for field in (entry.about, entry.package, entry.version, entry.licence):
        assert field.strip() == field != ""


@each
def test_text_fits_into_a_table(entry):
    if entry.unit == "mixed":  # a draw may leave out columns there, which would break an order
        assert entry.order is None
    for field in (entry.about, entry.grouping, entry.labelling, entry.licence, entry.note):
        assert "|" not in field
        assert "\n" not in field
    assert entry.note == "" or entry.note.endswith(".")


def test_first_two_parts_are_halves_of_a_permutation():
    part = {entry.name: entry.part for entry in ENTRIES if entry.part != "final"}
    names = np.array(sorted(part))
    develop = names[np.random.RandomState(0).permutation(len(names))[: len(names) // 2]]
    assert {name for name in names if part[name] == "develop"} == set(develop)


def test_packages_are_pinned_and_all_are_used():
    assert {entry.package for entry in ENTRIES} == set(PACKAGES)
    for package in wanted(PARTS):
        assert package.registry in ("pypi", "npm", "debian")
        assert package.version in package.file
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
    assert len(wanted(PARTS)) == len(PACKAGES) - 1  # scikit-learn is installed
    assert len({package.sha256 for package in wanted(PARTS)}) == len(wanted(PARTS))


def test_reading_what_was_not_fetched_says_what_to_do(tmp_path):
    entry = next(entry for entry in ENTRIES if entry.source.file)
    with pytest.raises(FileNotFoundError, match=r"python -m collection "):
        entry.read(tmp_path)


@pytest.mark.slow
def test_the_list_needs_neither_rdata_nor_pillow():
    code = "import sys; sys.modules['rdata'] = sys.modules['PIL'] = None; import collection.entries"
    place = Path(collection.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], cwd=place, check=True)
