"""The paper-to-code map: everything it names exists, and nothing of the paper is left out."""

import ast
import importlib
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import pytest
import typer

from attenua.cli import app

ROOT = Path(__file__).parents[1]
MAP = tomllib.loads((ROOT / "docs" / "paper_map.toml").read_text(encoding="utf-8"))
ENTRIES = MAP["entry"]


def every(key):
    return sorted({name for entry in ENTRIES for name in entry.get(key, [])})


def resolve(dotted):
    """Import a dotted name; fields of a dataclass count, although a class does not have them."""
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for name in parts[split:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[name] if name in fields else getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


@cache
def functions_of(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("dotted", every("code"))
def test_code_exists(dotted):
    assert resolve(dotted) is not None


@pytest.mark.parametrize("node", every("tests"))
def test_test_exists(node):
    path, name = node.split("::")
    assert name.startswith("test_")
    assert name in functions_of(ROOT / path)


@pytest.mark.parametrize("command", every("commands"))
def test_command_exists(command):
    program, name, *options = shlex.split(command)
    if program == "make":
        assert re.search(rf"^{re.escape(name)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    assert program == "attenua"
    found = typer.main.get_command(app).commands[name]
    assert set(options) <= {option for parameter in found.params for option in parameter.opts}


def test_every_label_is_mapped_once_or_is_a_step_of_a_proof():
    mapped = [label for entry in ENTRIES for label in entry["labels"]]
    assert len(mapped) == len(set(mapped))
    assert len(MAP["labels"]) == len(set(MAP["labels"]))
    assert set(mapped).isdisjoint(MAP["proof_steps"])
    assert set(mapped) | set(MAP["proof_steps"]) == set(MAP["labels"])


def test_only_equations_are_steps_of_a_proof():
    assert all(label.startswith("eq:") for label in MAP["proof_steps"])


def test_an_entry_without_code_says_that_it_is_missing():
    for entry in ENTRIES:
        assert entry["says"]
        complete = entry.get("code") and entry.get("tests")
        assert complete or entry.get("missing"), entry["labels"]


def test_tables_and_figures_have_a_command():
    for entry in ENTRIES:
        if entry["labels"][0].split(":")[0] in ("tab", "fig"):
            assert entry.get("commands"), entry["labels"]


def test_the_page_shows_every_section():
    page = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")
    shown = re.findall(r"```\{paper-map\} (\S+)", page)
    assert {entry["section"] for entry in ENTRIES} | {"missing", "proof-steps"} == set(shown)


def test_names_that_do_not_exist_are_noticed():
    with pytest.raises(AttributeError):
        resolve("attenua.theory.Population.no_such_thing")
    with pytest.raises(ModuleNotFoundError):
        resolve("no_such_package.thing")
