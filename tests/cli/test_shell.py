"""The command as a process: what it loads, what it prints, and how it ends."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attenua import CorrectedCovariance, __version__, save_model
from attenua.cli.app import app
from tests.cli.shell import run

ATTENUA = shutil.which("attenua", path=os.path.dirname(sys.executable))


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rows():
    X = np.random.default_rng(0).standard_normal((20, 4))
    np.savetxt("rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    return X


def shell(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True)


def test_version():
    assert run("--version").stdout == f"attenua {__version__}\n"


def test_help_loads_no_library_of_numbers():
    """It would take a second longer."""
    code = "import sys; from attenua.__main__ import main; sys.argv = ['attenua', 'fit', '--help']\n"
    code += "try: main()\nfinally: print({'numpy', 'sklearn', 'pandas'} & set(sys.modules), file=sys.stderr)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (0, "set()\n")


@pytest.mark.parametrize("command", app.commands)
def test_help_fits_80_columns(command):
    assert max(map(len, run(command, "--help").stdout.splitlines())) <= 80


@pytest.mark.parametrize("inside", ["attenua.cli.app.load", "attenua.cli.app.fit_rows", "json.dumps"])
def test_ctrl_c_is_one_line_and_leaves_no_file(rows, monkeypatch, inside):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(inside, interrupt)
    said = run("fit", "rows.csv", "-k", "2", "--method", "pca")
    assert (said.exit_code, said.stdout, said.stderr) == (130, "", "\nInterrupted.\n")
    assert [path.name for path in Path().iterdir()] == ["rows.csv"]


def test_controls_in_names_and_models_do_not_reach_the_terminal(rows):
    np.savetxt("x\a.csv", rows, delimiter=",")
    assert "\nx\\x07.csv: 20 rows" in run("fit", "x\a.csv", "-k", "2", "--method", "pca").stdout
    assert run("fit", "y\a.csv").stderr == "Error: y\\x07.csv: it does not exist.\n"
    model = CorrectedCovariance(cv=3).fit(rows)
    model.verdict_ = "\x1b]0;title\a"
    save_model(model, "model.safetensors")
    assert run("impute", "x\a.csv", "--model", "model.safetensors", "-o", "y.csv").stdout.startswith(
        r"\x1b]0;title\x07"
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_standard_output_is_one_sentence():
    said = shell(f"{ATTENUA} fit --help > /dev/full")
    assert (said.returncode, said.stderr) == (
        1,
        "Error: standard output cannot be written: No space left on device.\n",
    )


@pytest.mark.slow
def test_closed_standard_input_and_output(rows):
    said = shell(f"{ATTENUA} fit rows.csv -k 2 --method pca >&- && {ATTENUA} fit - <&-")
    assert said.stderr == "Error: standard input: it is empty.\n"
    assert Path("attenua-fit/scores.csv").exists()


@pytest.mark.slow
def test_a_reader_that_stops_early_causes_no_traceback():
    np.save("long.npy", np.random.default_rng(0).standard_normal((20_000, 6)))
    run("fit", "long.npy", "-k", 5, "--method", "pca")
    said = shell(f"{ATTENUA} transform attenua-fit/model.safetensors long.npy --out - | head -n 1")
    assert said.stdout == "component_1,component_2,component_3,component_4,component_5\n"
    assert "Traceback" not in said.stderr


@pytest.mark.slow
def test_a_fit_that_is_killed_leaves_the_old_files_whole(rows):
    fit = [
        sys.executable,
        "-m",
        "attenua",
        "fit",
        "rows.csv",
        "-k",
        "2",
        "--method",
        "pca",
        "-o",
        "x",
        "--force",
    ]
    subprocess.run(fit, capture_output=True, check=True)
    before = {path.name: path.read_bytes() for path in Path("x").iterdir()}
    code = "import os, sys; from attenua.cli import app\n"
    code += f"app.json.dumps = lambda *_, **__: os.kill(os.getpid(), 9); sys.argv = {fit[2:]}; app.app()"
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert killed.returncode == -9
    assert {path.name: path.read_bytes() for path in Path("x").iterdir()} == before


@pytest.mark.slow
def test_without_click_the_command_says_how_to_install_it():
    code = "import sys; sys.modules['click'] = None; from attenua.__main__ import main; main()"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (1, "", 1)
    assert "pip install 'attenua[cli]'" in said.stderr
