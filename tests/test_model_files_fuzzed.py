"""A fixed number of the files that ``fuzz/model_files.py`` makes without end."""

import pytest

from model_files import example, outcome, valid_files


@pytest.fixture
def tried(tmp_path):
    """A function that tries some examples of a seed and counts what came of each kind of change."""
    path = tmp_path / "model.npz"
    outcome(valid_files()[0], path)  # what is imported late is not counted as memory of a file

    def try_examples(seed, count):
        seen = {"loaded": set(), "refused": set()}
        for number in range(count):
            kind, content = example(seed, number)
            try:
                seen[outcome(content, path)].add(kind)
            except Exception as error:
                pytest.fail(f"example({seed}, {number}), {kind}: {type(error).__name__}: {error}")
        return seen

    return try_examples


def test_valid_files_load(tmp_path):
    assert [outcome(content, tmp_path / "model.npz") for content in valid_files()] == ["loaded"] * 9


def test_a_file_loads_to_a_model_that_works_or_is_refused(tried):
    seen = tried(1, 150)
    # Else the generator would have lost its point.
    assert {"settings", "value"} <= seen["loaded"]
    assert len(seen["refused"]) == 13


def test_an_example_is_the_same_every_time():
    assert example(3, 5) == example(3, 5)
    assert example(3, 5) != example(3, 6)
