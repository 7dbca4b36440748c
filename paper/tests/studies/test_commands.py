"""``attenua-paper study`` and ``simulate``: a failure is one sentence, and loses nothing that was done."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from tests.helpers import each

from attenua_paper.studies import budget, simulations
from attenua_paper.studies.budget import RESULTS_FILE
from attenua_paper.studies.simulations.simulate import FILES
from attenua_paper.studies.simulations.simulation_tables import simulation_tables
from attenua_paper.studies.simulations.written_files import read_simulations
from attenua_paper.studies.store import StoreError, read_results
from paper.tests.studies.small_shell import SMALL, TINY, run


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(budget, "QUICK", SMALL)
    monkeypatch.setattr(simulations, "QUICK", TINY)


@pytest.fixture(scope="module")
def tiny():
    return simulations.run_simulations(TINY, seed=0, jobs=1)


@pytest.fixture
def simulated(tiny, monkeypatch):
    """A simulation that is done, with empty pictures."""
    pictures = {"png": b"", "pdf": b""}
    monkeypatch.setattr(simulations, "run_simulations", lambda *_, **__: tiny)
    monkeypatch.setattr(
        "attenua_paper.studies.simulations.written_files.save_figure", lambda figure: pictures
    )


def sentence(result):
    """The one line that a failed command says."""
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


@each("command, jobs", [("study", "0"), ("study", "many"), ("simulate", "-2"), ("simulate", "1000000")])
def test_a_number_of_jobs_that_makes_no_sense(tmp_path, command, jobs):
    result = run(command, "--quick", "--jobs", jobs, "--out", tmp_path / "out")
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert f"Invalid value for '--jobs': {jobs} is neither -1, one per core, nor a number from 1 to" in said
    assert not (tmp_path / "out").exists()


def test_the_functions_name_the_number_of_jobs_too(tmp_path):
    with pytest.raises(ValueError, match="jobs must be at least 1; got 0"):
        simulations.run_simulations(TINY, jobs=0)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        budget.run_study(SMALL, tmp_path / "out", n_jobs=0)
    assert not (tmp_path / "out").exists()


@each("command", ["study", "simulate"])
def test_a_file_where_a_folder_should_be(tmp_path, command):
    (tmp_path / "taken").write_text("mine")
    said = sentence(run(command, "--quick", "--out", tmp_path / "taken"))
    assert said == f"Error: {tmp_path / 'taken'} is a file; --out takes the name of a folder."
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="Windows has other limits and other words")
@each("command", ["study", "simulate"])
def test_a_name_that_is_too_long(tmp_path, command):
    out = tmp_path / f"{'x' * 300}.html"
    assert (
        sentence(run(command, "--quick", "--out", out))
        == f"Error: {out} cannot be written: File name too long."
    )


def test_a_simulation_below_a_file(tmp_path):
    (tmp_path / "taken").touch()
    said = sentence(run("simulate", "--quick", "--out", tmp_path / "taken" / "deep"))
    assert said.startswith(f"Error: {tmp_path / 'taken' / 'deep'} cannot be written: ")


@pytest.mark.filterwarnings("ignore:.*values.*:UserWarning")
def test_a_damaged_store(stand_in, tmp_path):
    (tmp_path / RESULTS_FILE).write_bytes(bytes(range(256)) * 40)
    said = sentence(run("study", "--quick", "--data-home", stand_in, "--out", tmp_path))
    assert said.startswith(f"Error: {tmp_path / RESULTS_FILE} is not a file of results")


@pytest.mark.filterwarnings("ignore:.*values.*:UserWarning")
def test_a_study_that_stops_keeps_what_it_has(stand_in, tmp_path, monkeypatch):
    real, calls = budget.ResultStore.add, []

    def full(self, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise StoreError("the disk is full.")
        real(self, *arguments)

    monkeypatch.setattr(budget.ResultStore, "add", full)
    arguments = ("--quick", "--jobs", 1, "--data-home", stand_in, "--out", tmp_path)
    assert sentence(run("study", *arguments)) == "Error: the disk is full."
    results, _ = read_results(tmp_path / RESULTS_FILE)
    assert len(results.drop_duplicates(["budget", "version", "subsample"])) == 2


@pytest.mark.slow
def test_quick_simulation_writes_tables_and_figures_and_says_what_it_left_out(tmp_path):
    out = tmp_path / "new" / "folder"
    result = run("simulate", "--quick", "--out", out, "--jobs", 2, "--seed", 4)
    assert result.exit_code == 0, result.output
    assert "40 samples per population instead of 3,000" in result.output
    assert "paper" in result.output
    names = {path.name for path in out.iterdir()}
    figures = ("figure-1-overview", "figure-2-targets", "figure-4-non-gaussian")
    pictures = {f"{figure}.{ending}" for figure in figures for ending in ("png", "pdf")}
    assert names == {*FILES.values(), *pictures, "simulation-settings.json", "simulation-tables.md"}
    assert all(name in result.output for name in names)
    for figure in figures:
        assert (out / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / f"{figure}.pdf").read_bytes().startswith(b"%PDF")
    read = read_simulations(out)
    assert (read.seed, read.settings) == (4, TINY)
    again = simulations.run_simulations(TINY, seed=4)
    for name, frame in again.frames.items():
        pd.testing.assert_frame_equal(read.frames[name], frame, rtol=1e-5, check_dtype=False)
    assert simulation_tables(read)["moving-targets"] == simulation_tables(again)["moving-targets"]


@pytest.mark.usefixtures("simulated")
def test_a_full_disk_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    real, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 5:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    said = sentence(run("simulate", "--quick", "--jobs", 1, "--out", tmp_path))
    assert said.startswith(f"Error: {tmp_path}{os.sep}")
    assert said.endswith("cannot be written: No space left on device.")
    whole = os.listdir(tmp_path)
    assert len(whole) == 4
    assert not any(name.startswith(".") for name in whole)


@each("command", ["study", "simulate"])
def test_seeds_that_no_generator_takes(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = run(command, "--seed", 2**32)
    assert result.exit_code == 2
    assert "'--seed'" in result.stderr
    assert not list(tmp_path.iterdir())


@each(
    "command, inside",
    [
        ("simulate", "attenua_paper.studies.simulations.run_simulations"),
        ("data", "attenua_paper.datasets.status"),
    ],
)
def test_a_command_that_is_interrupted(tmp_path, monkeypatch, command, inside):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inside, interrupt)
    result = run(command)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\nInterrupted.\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_command_is_also_a_module():
    command = [sys.executable, "-m", "attenua_paper", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Usage: attenua-paper" in said


@pytest.mark.usefixtures("simulated")
def test_files_are_there_before_a_word_is_printed(tmp_path, monkeypatch):
    def closed(*_, **__):
        raise SystemExit(1)  # what a pipe that is closed comes to

    monkeypatch.setattr("attenua_paper.cli.print_plain", closed)
    assert run("simulate", "--quick", "--jobs", 1, "--out", tmp_path).exit_code == 1
    assert (tmp_path / "simulation-settings.json").exists()
