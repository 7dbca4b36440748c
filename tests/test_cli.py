import json
import subprocess
import sys
from importlib.metadata import entry_points

import pandas as pd
import pytest
from typer.testing import CliRunner

from attenua import __version__
from attenua.cli import app


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert __version__ in result.output


@pytest.mark.slow
def test_quick_simulation_writes_tables_and_figures_and_says_what_it_left_out(tmp_path):
    out = tmp_path / "new" / "folder"
    result = run("simulate", "--quick", "--out", str(out), "--jobs", "2", "--seed", "4")
    assert result.exit_code == 0, result.output
    assert "300 samples per population instead of 3,000" in result.output
    assert "paper" in result.output
    names = {path.name for path in out.iterdir()}
    tables = ("simulation-claims", "preserved-targets", "moving-targets", "non-gaussian")
    figures = ("figure-1-overview", "figure-2-targets", "figure-4-non-gaussian")
    assert {f"{table}.{ending}" for table in tables for ending in ("txt", "md", "tex", "csv")} < names
    assert {f"{figure}.{ending}" for figure in figures for ending in ("png", "pdf")} < names
    assert all(name in result.output for name in names)
    for figure in figures:
        assert (out / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / f"{figure}.pdf").read_bytes().startswith(b"%PDF")
    claims = pd.read_csv(out / "simulation-claims.csv")
    assert (claims["paper"] > 0).all()
    assert json.loads((out / "simulation-settings.json").read_text())["seed"] == 4


WITHOUT_TYPER = "import sys; sys.modules['typer'] = None; sys.argv = ['attenua', 'demo']\n"
NEEDED = "The attenua command needs typer: pip install 'attenua[cli]', or pip install -e '.[cli]' in a clone."


def run_without_typer(code):
    return subprocess.run([sys.executable, "-c", WITHOUT_TYPER + code], capture_output=True, text=True)


@pytest.mark.slow
def test_without_typer_the_import_fails_as_any_import_does():
    result = run_without_typer("try:\n import attenua.cli\nexcept ImportError as error:\n print(error)")
    assert (result.returncode, result.stdout, result.stderr) == (0, NEEDED + "\n", "")


@pytest.mark.slow
def test_without_typer_the_command_says_so_in_one_sentence():
    (command,) = entry_points(group="console_scripts", name="attenua")
    result = run_without_typer(f"from {command.module} import {command.attr}; sys.exit({command.attr}())")
    assert (result.returncode, result.stdout, result.stderr) == (1, "", NEEDED + "\n")
