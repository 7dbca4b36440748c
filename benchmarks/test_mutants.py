"""Mutants are of the whole library, and those of an earlier table are found again."""

import pytest

pytest.importorskip("coverage")
import mutants


def all_of(path, source):
    path.write_text(source)
    return [mutant for mutant, _ in mutants.mutants_of(str(path))]


def test_rooms_doors_readers_and_report_have_mutants():
    paths = "\n".join(mutants.files_of_places())
    for path in (
        "_data/folds",
        "_solve/leading",
        "corrected",
        "model_files",
        "cli/layout",
        "report/page",
    ):
        assert f"src/attenua/{path}.py" in paths
    assert "theory" not in paths


def test_earlier_mutants_are_found_by_their_text(tmp_path):
    old = all_of(tmp_path / "old.py", "def f(a):\n    return a + 1\n\ndef g(a):\n    return a + 1\n")
    rows = [{"file": "old.py", "function": m.function, "text": m.text, "change": m.change} for m in old]
    # The first function has another name now, the second is above it, and both are in another file.
    new = all_of(
        tmp_path / "new.py", "import os\n\ndef g(a):\n    return a + 1\n\n\ndef h(a):\n    return a + 1\n"
    )
    found = mutants.found_again(new, rows)
    assert [m.function for m in found] == ["g"] * 4 + ["h"] * 4
    assert [m.change for m in found] == 2 * [m.change for m in old[:4]]
    assert mutants.found_again(all_of(tmp_path / "gone.py", "def f(a):\n    return a - 1\n"), rows) == []


def test_a_mutant_replaces_the_code_of_its_function(tmp_path):
    path = tmp_path / "module.py"
    found = all_of(path, "def twice(a):\n    return a * 2\n")
    module = {}
    exec(compile(path.read_text(), str(path), "exec"), module)
    (mutant,) = (m for m in found if m.change == "a * 2 -> a / 2")
    mutants.become(mutant)
    assert module["twice"](6) == 3
