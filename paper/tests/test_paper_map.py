"""The paper-to-code map: everything it names exists, and nothing of the paper is left out."""

import ast
import importlib
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

from tests.helpers import each

from attenua.cli.app import app
from attenua_paper.cli import app as paper_app

ROOT = Path(__file__).parents[2]
MAP = tomllib.loads((ROOT / "paper" / "paper_map.toml").read_text(encoding="utf-8"))
ENTRIES = MAP["entry"]
APPS = {"attenua": app, "attenua-paper": paper_app}


def missing(key, exists):
    """What the entries name under a key that does not exist."""
    return sorted({name for entry in ENTRIES for name in entry.get(key, []) if not exists(name)})


def is_code(dotted):
    """Whether a dotted name can be imported; fields of a dataclass count, although a class has none."""
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for name in parts[split:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[name] if name in fields else getattr(found, name, None)
        return found is not None
    return False


@cache
def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def is_test(node):
    path, name = node.split("::")
    return name.startswith("test_") and name in functions_of(ROOT / path)


def is_command(command):
    program, name, *options = shlex.split(command)
    if program == "make":
        return re.search(rf"^{re.escape(name)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    found = APPS[program].commands[name]
    return set(options) <= {option for parameter in found.params for option in parameter.opts}


@each("key, exists", [("code", is_code), ("tests", is_test), ("commands", is_command)])
def test_what_the_map_names_exists(key, exists):
    assert missing(key, exists) == []


def test_names_that_do_not_exist_are_noticed():
    assert not is_code("attenua_paper.theory.Population.no_such_thing")
    assert not is_code("no_such_package.thing")
    assert not is_test("paper/tests/test_paper_map.py::test_of_nothing")


def test_every_label_is_mapped_once_and_every_entry_is_complete():
    # Every label is mapped once or is a step of a proof.
    mapped = [label for entry in ENTRIES for label in entry["labels"]]
    assert sorted(mapped + MAP["proof_steps"]) == sorted(MAP["labels"])
    assert len(MAP["labels"]) == len(set(MAP["labels"]))
    assert all(label.startswith("eq:") for label in MAP["proof_steps"])
    # Every entry is complete.
    for entry in ENTRIES:
        assert entry["says"]
        assert (entry.get("code") and entry.get("tests")) or entry.get("missing"), entry["labels"]
        is_shown = entry["labels"][0].split(":")[0] in ("tab", "fig")
        assert entry.get("commands") or not is_shown, entry["labels"]


def test_the_page_shows_every_section():
    page = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")
    shown = re.findall(r"```\{paper-map\} (\S+)", page)
    assert {entry["section"] for entry in ENTRIES} | {"missing", "proof-steps"} == set(shown)
