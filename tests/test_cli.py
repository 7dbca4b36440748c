import subprocess
import sys
from importlib.metadata import entry_points

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
