"""A run says what it left out: one line for each reason, and how to get what is missing."""

import sys
from pathlib import Path
from subprocess import run

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def lines(tmp_path):
    """A function that runs one file of tests with our settings and returns the lines on what was left out."""

    def left_out(text, *options, other=""):
        (tmp_path / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", encoding="utf-8")
        (tmp_path / "test_some.py").write_text(text, encoding="utf-8")
        if other:
            (tmp_path / "test_other.py").write_text(other, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        said = run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        _, found, rest = said.partition("left out")
        return [line.strip() for line in rest.splitlines()[1:-1]] if found else []

    return left_out


WORDINGS = """
import pytest
def test_one(): pytest.importorskip("torch_that_is_not_here", reason="torch is not installed")
def test_two(): pytest.skip("could not import 'torch': No module named 'torch'")
def test_package(): pytest.importorskip("zzz.part")
def test_three(): pytest.skip("a reason of its own,\\n in two lines")
@pytest.mark.slow
def test_four(): raise AssertionError
"""
WHOLE_FILE = """
import pytest
pytest.importorskip("anndata_that_is_not_here")
def test_five(): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "two"])
def test_each_reason_has_one_line_that_says_how_to_get_it(lines, options):
    said = lines(WORDINGS, "--fast", *options, other=WHOLE_FILE)
    assert sorted(said) == sorted(
        [
            "2 tests  no torch: pip install torch",
            "1 test  a reason of its own, in two lines",
            "1 test  no zzz: pip install zzz",
            "1 test  slow: make test runs them",
            "1 whole file  no anndata: make test-h5ad has it",
        ]
    )


@pytest.mark.slow
def test_a_run_that_leaves_nothing_out_says_nothing(lines):
    assert lines("def test_one(): pass") == []


@pytest.mark.slow
def test_folders_that_are_slow_as_a_whole_are_named(lines, tmp_path):
    folder = tmp_path / "tests" / "backends"
    folder.mkdir(parents=True)
    (folder / "test_long.py").write_text("def test_long(): raise AssertionError", encoding="utf-8")
    assert lines("def test_one(): pass", "--fast") == ["1 folder  slow: make test runs them (tests/backends)"]
