"""The page in the repository is what the command writes."""

from collection.entries import ENTRIES
from collection.page import PAGE, line, page


def test_the_page_is_what_the_command_writes():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m collection.page in benchmarks"


def test_every_data_set_has_one_line_of_eight_cells():
    lines = page().splitlines()
    for entry in ENTRIES:
        assert lines.count(line(entry)) == 1
        assert line(entry).count("|") == 9
