"""The page in the repository is what the command writes, and other pages count the sets rightly."""

import pytest

from collection.entries import ENTRIES
from collection.page import PAGE, line, page


def test_the_page_is_what_the_command_writes():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m collection.page in benchmarks"


def test_every_data_set_has_one_line_of_seven_cells():
    lines = page().splitlines()
    for entry in ENTRIES:
        assert lines.count(line(entry)) == 1
        assert line(entry).count("|") == 8


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_other_pages_count_the_data_sets_rightly(page):
    text = " ".join((PAGE.parents[2] / page).read_text(encoding="utf-8").split())
    assert f"on {len(ENTRIES)} real data sets" in text
    n_final = sum(entry.part == "final" for entry in ENTRIES)
    assert f"{n_final} of them" in text
