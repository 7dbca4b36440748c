"""What all commands share: interruptions, progress, output, messages in terms of options, and extras."""

import io
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from attenua import AttenuatedPCA, CorrectedCovariance, __main__, __version__, save_model
from attenua.cli.request import in_options
from tests.cli.shell import run
from tests.helpers import spiked_rows

ATTENUA = shutil.which("attenua", path=os.path.dirname(sys.executable))


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_version():
    assert run("--version").stdout == f"attenua {__version__}\n"


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("command", "inside"),
    [("fit", "attenua.cli.fit.fit_rows"), ("fit", "attenua._files.os.rename")],
)
def test_ctrl_c_is_one_line_and_leaves_no_file(tmp_path, monkeypatch, command, inside):
    monkeypatch.setattr(inside, interrupt)
    result = run(command)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_ctrl_c_while_libraries_are_loaded(monkeypatch, capsys):
    module = types.ModuleType("attenua.cli")
    module.__getattr__ = interrupt
    monkeypatch.setitem(sys.modules, "attenua.cli", module)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.parametrize("terminal", ["1", "0"])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)  # what rich takes for a terminal
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    np.savetxt("rows.csv", spiked_rows(30, 4), delimiter=",", header="a,b,c,d", comments="")
    result = run("fit", "rows.csv", "-k", 2, "--json", "--report")
    assert result.exit_code == 0, result.output
    for what in ("Fitting", "Making the report ..."):
        assert (what in result.stderr) == (terminal == "1")
        assert what not in result.stdout


def test_a_name_that_is_not_text_is_printed_with_escapes(monkeypatch):
    """A byte of a file name that is not UTF-8 is half of a surrogate pair to Python."""
    np.save("rows.npy", spiked_rows(20, 4))
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="utf-8", errors="strict"))
    command = ["attenua", "fit", "rows.npy", "-k", "1", "--method", "pca", "--out", "caf\udce9"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 0
    assert rb"caf\udce9" in printed.getvalue()


def test_controls_in_names_and_models_do_not_reach_the_terminal():
    np.savetxt("x\a.csv", spiked_rows(20, 4), delimiter=",")
    assert "\nx\\x07.csv: 2 components" in run("fit", "x\a.csv", "-k", "2", "--method", "pca").stdout
    assert run("fit", "y\a.csv", "-o", "y").stderr == "Error: y\\x07.csv does not exist.\n"
    model = CorrectedCovariance(cv=3).fit(spiked_rows(20, 4))
    model.verdict_ = "\x1b]0;title\a"
    save_model(model, "model.npz")
    assert run("impute", "x\a.csv", "--model", "model.npz", "-o", "y.csv").stdout.startswith(
        r"\x1b]0;title\x07"
    )


def test_printed_scores_are_those_of_a_file(tmp_path):
    """Also with row names that contain control characters or signs that a terminal cannot show."""
    save_model(AttenuatedPCA(1).fit(np.random.default_rng(0).standard_normal((9, 2))), tmp_path / "m.npz")
    Path("rows.csv").write_bytes("id,a,b\n\x1b[31mred,1,2\né\u2603,3,4\n".encode())
    arguments = ("transform", "m.npz", "rows.csv", "--id-column", "id", "--out")
    run(*arguments, "scores.csv")
    assert run(*arguments, "-").stdout_bytes == Path("scores.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_standard_output_is_one_sentence():
    result = subprocess.run(
        ["bash", "-c", f"{ATTENUA} fit --help > /dev/full"], capture_output=True, text=True
    )
    assert result.returncode == 1
    assert result.stderr == "Error: standard output cannot be written: No space left on device.\n"


@pytest.mark.slow
def test_closed_standard_input_and_output():
    np.save("rows.npy", spiked_rows(20, 4))
    command = f"{ATTENUA} fit rows.npy -k 2 --method pca >&- && {ATTENUA} fit - --force <&-"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert result.stderr == "Error: standard input is empty.\n"
    assert Path("attenua-fit/scores.csv").exists()


@pytest.mark.slow
def test_a_reader_that_stops_early_causes_no_traceback():
    np.save("long.npy", np.random.default_rng(0).standard_normal((20_000, 6)))
    run("fit", "long.npy", "-k", 5, "--method", "pca")
    command = f"{ATTENUA} transform attenua-fit/model.npz long.npy --out - | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert result.stdout == "component_1,component_2,component_3,component_4,component_5\n"
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_shell_completes_options():
    typed = {"_ATTENUA_COMPLETE": "complete_bash", "COMP_WORDS": "attenua fit --gr", "COMP_CWORD": "2"}
    answer = subprocess.run([ATTENUA], env=os.environ | typed, capture_output=True, text=True)
    assert "--group-column" in answer.stdout.split()


@pytest.mark.parametrize("command", ["fit", "transform", "rank", "covariance", "impute", "report", "demo"])
def test_help_fits_80_columns_and_says_no_type_of_flags(monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    said = run(command, "--help").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert "bool" not in said.lower()
    panels = re.findall("─ ([A-Z][^─]*?) ─", said)
    assert panels[:2] == ["Arguments", "Options"] or command == "demo"


def test_the_options_that_matter_come_first(monkeypatch):
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    said = run("fit", "--help").stdout
    first = said.partition("─ Options ─")[2].partition("╰")[0]
    options = re.findall(r"^│ (--[a-z-]+)", first, re.MULTILINE)
    assert options == [
        "--components",
        "--drop",
        "--id-column",
        "--neighbours",
        "--scale",
        "--out",
        "--report",
        "--help",
    ]


@pytest.mark.parametrize(
    ("message", "in_shell"),
    [
        ("n_components=9 must be between 1 and 3.", "--components 9 must be between 1 and 3."),
        ("cv=5 folds need rows; got n_samples=3.", "--cv 5 folds need rows; got 3 rows."),
        ("corrections names x; the corrections are y.", "--corrections names x; the corrections are y."),
        ("column 'cv' and 'neighbours' are constant.", "column 'cv' and 'neighbours' are constant."),
        ("--cv is not for this.", "--cv is not for this."),
    ],
)
def test_arguments_in_messages_become_options(message, in_shell):
    assert in_options(message) == in_shell


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "--corrections", "smoothing"), "--corrections names smoothing, which needs --neighbours:"),
        (("report", "--method", "pca", "--image-shape", "3x3"), "--image-shape 3 x 3 does not fit"),
    ],
)
def test_refusals_of_the_built_in_digits(arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: the built-in digits: {sentence}")


ONLY_CLI = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "pooch", "anndata", "dask", "polars", "torch"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
from attenua.__main__ import main
main()
"""


def run_with_the_extra_cli_alone(*command):
    result = subprocess.run([sys.executable, "-c", ONLY_CLI, *command], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_extra_cli_is_enough_for_a_fit_with_a_report():
    np.savetxt("rows.csv", spiked_rows(30, 4), delimiter=",", header="a,b,c,d", comments="")
    run_with_the_extra_cli_alone("fit", "rows.csv", "-k", "2", "--report")
    assert Path("attenua-fit/report.html").exists()


@pytest.mark.slow
def test_the_extra_cli_is_enough_for_the_demo():
    """Its table also fits a narrow terminal, and the picture is named."""
    said = run_with_the_extra_cli_alone("demo", "--subsamples", "2", "--out", "demo.png")
    names = [line.split()[0] for line in said.splitlines() if line.count("±") == 3]
    assert names == ["Diabetes", "Wine", "Cancer", "Digits", "Photos"]
    assert "Clearly less error than PCA: " in said
    assert "demo.png" in said
    assert Path("demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_without_typer_the_command_says_how_to_install_it():
    code = "import sys; sys.modules['typer'] = None; from attenua.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("The attenua command needs typer: pip install 'attenua[cli]', or ")
    assert result.stderr.count("\n") == 1
