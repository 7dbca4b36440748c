"""Runs that are killed, stopped or crowded: nothing is lost, and the tables end the same to the byte."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from attenua.studies.budget import RESULTS_FILE, run_study
from attenua.studies.simulations import run_simulations
from attenua.studies.simulations.output import write_simulations
from attenua.studies.study_output import summarise, write_study
from tests.studies.small_shell import SMALL, TINY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="SIGKILL and groups of processes are not of Windows"),
]
ROOT = Path(__file__).parents[2]
N_KILLS = 3


@pytest.fixture
def start(tmp_path_factory):
    """Start a command in a group of its own; what a test leaves running is killed."""
    started = []

    def begin(*arguments):
        command = [sys.executable, "-m", "tests.studies.small_shell", *map(str, arguments)]
        # A file and no pipe: workers that outlive a killed run would keep a pipe open.
        said = tmp_path_factory.mktemp("said") / "stderr"
        with open(said, "w") as stderr:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONWARNINGS": "ignore"},
                start_new_session=True,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        process.said = said
        started.append(process)
        return process

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def finish(process):
    """Return the exit code and what was said on standard error; one that hangs is a failure."""
    return process.wait(timeout=120), process.said.read_text()


@pytest.fixture
def study(start, stand_in):
    def begin(out, jobs=1):
        quick = ("study", "--quick", "--without-masked-target")
        return start(*quick, "--data-home", stand_in, "--jobs", jobs, "--out", out)

    return begin


def tables(folder):
    """All finished files that do not tell how long something took."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if not path.name.startswith((RESULTS_FILE, "seconds")) and path.suffix != ".part"
    }


def count_stored(folder):
    try:
        with closing(sqlite3.connect(f"file:{folder / RESULTS_FILE}?mode=ro", uri=True)) as connection:
            keys = "SELECT DISTINCT data, budget, version, subsample FROM results"
            return len(connection.execute(keys).fetchall())
    except sqlite3.OperationalError:  # not there yet
        return 0


def wait_for_stored(process, folder, number):
    while process.poll() is None and count_stored(folder) < number:
        time.sleep(0.01)
    assert process.poll() is None, process.said.read_text()


@pytest.fixture(scope="module")
def whole(stand_in, tmp_path_factory):
    """The folder of a study that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    settings = SMALL.without_masked_target()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_study(settings, folder, data_home=stand_in, n_jobs=1)
    write_study(summarise(folder), folder)
    return folder


def kill_at_random(begin, wait, kill):
    """Kill a run at random moments, begin it again each time, and let the last one end."""
    random = np.random.default_rng(0)
    for _ in range(N_KILLS):
        process = begin()
        wait(process, random)
        kill(process.pid, signal.SIGKILL)
        assert finish(process)[0] == -signal.SIGKILL
    assert finish(begin()) == (0, "")


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_a_study_killed_at_random_moments_ends_with_the_same_tables(study, tmp_path, whole, kill):
    def wait(process, random):
        wait_for_stored(process, tmp_path, count_stored(tmp_path) + random.integers(3))
        time.sleep(random.uniform(0, 0.2))

    kill_at_random(lambda: study(tmp_path, jobs=2), wait, kill)
    assert tables(tmp_path) == tables(whole)


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_simulations_killed_at_random_moments_end_with_the_same_tables(start, tmp_path, kill):
    def wait(process, random):
        while not (tmp_path / "killed").exists():  # made before the work
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.5))

    kill_at_random(lambda: start("simulate", "--quick", "--out", tmp_path / "killed"), wait, kill)
    write_simulations(run_simulations(TINY), tmp_path / "whole")
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")


def test_a_killed_study_goes_on_from_what_is_stored(study, tmp_path, whole):
    process = study(tmp_path)
    wait_for_stored(process, tmp_path, 2)
    process.kill()
    finish(process)
    stored = count_stored(tmp_path)
    assert 2 <= stored < len(SMALL.subsamples())
    assert finish(study(tmp_path)) == (0, "")
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE)) as connection:
        runs = [n for (n,) in connection.execute("SELECT subsamples FROM runs ORDER BY rowid")]
    assert runs == [stored, len(SMALL.subsamples()) - stored]
    assert tables(tmp_path) == tables(whole)


def test_a_killed_worker_is_a_sentence_and_the_study_goes_on(study, tmp_path, whole):
    psutil = pytest.importorskip("psutil", reason="psutil finds the workers")
    process = study(tmp_path, jobs=2)
    wait_for_stored(process, tmp_path, 1)
    children = psutil.Process(process.pid).children()
    worker = next(child for child in children if "popen_loky" in " ".join(child.cmdline()))
    worker.kill()
    code, said = finish(process)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("Error: a process of the study was killed")
    assert count_stored(tmp_path) >= 1
    assert finish(study(tmp_path)) == (0, "")
    assert tables(tmp_path) == tables(whole)


def test_an_interrupted_study_says_how_to_go_on(study, tmp_path, whole):
    process = study(tmp_path, jobs=2)
    wait_for_stored(process, tmp_path, 1)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: to all processes
    code, said = finish(process)
    assert (code, said) == (
        130,
        f"Interrupted; the same command goes on from what is stored in {tmp_path}.\n",
    )
    assert finish(study(tmp_path)) == (0, "")
    assert tables(tmp_path) == tables(whole)


def test_the_second_of_two_studies_says_who_holds_the_results(study, tmp_path, whole):
    first = study(tmp_path)
    wait_for_stored(first, tmp_path, 1)
    code, said = finish(study(tmp_path))
    assert (code, said.count("\n")) == (1, 1)
    assert f"is in use: process {first.pid} adds to it" in said
    assert finish(first) == (0, "")
    assert tables(tmp_path) == tables(whole)
