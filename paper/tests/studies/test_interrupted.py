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
import pandas as pd
import pytest

from attenua_paper.studies.budget import RESULTS_FILE, run_study
from attenua_paper.studies.store import KEY, read_results
from attenua_paper.studies.study_output import STUDY_FILE, write_study
from paper.tests.studies.small_shell import SMALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="SIGKILL and groups of processes are not of Windows"),
]
SMALL_SHELL = str(Path(__file__).with_name("small_shell.py"))
# Whatever hangs must fail; what is only slow need not. Seconds.
LONGEST_WAIT = 300


@pytest.fixture
def start(tmp_path_factory):
    """Start a command in a group of its own; what a test leaves running is killed."""
    started = []

    def begin(*arguments):
        command = [sys.executable, SMALL_SHELL, *map(str, arguments)]
        # A file and no pipe: workers that outlive a killed run would keep a pipe open.
        said = tmp_path_factory.mktemp("said") / "stderr"
        with open(said, "w") as stderr:
            process = subprocess.Popen(
                command,
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
    return process.wait(timeout=LONGEST_WAIT), process.said.read_text()


@pytest.fixture
def study(start, stand_in):
    def begin(out, jobs=1):
        return start("study", "--quick", "--data-home", stand_in, "--jobs", jobs, "--out", out)

    return begin


def finished(folder):
    """The settings, the pictures, and all of the summary that does not tell how long something took."""
    study = pd.read_csv(folder / STUDY_FILE)
    files = [path for path in folder.iterdir() if path.suffix in (".json", ".png", ".pdf")]
    summary = study[study["measure"] != "seconds"].to_csv()
    return {path.name: path.read_bytes() for path in files} | {STUDY_FILE: summary}


def stored_with_times(folder):
    return read_results(folder / RESULTS_FILE)[0].set_index([*KEY, "method"])


def count_stored(folder):
    try:
        # Not read-only: reading after a kill undoes what was half written.
        with closing(sqlite3.connect(f"file:{folder / RESULTS_FILE}?mode=rw", uri=True)) as connection:
            keys = "SELECT DISTINCT data, budget, version, subsample FROM results"
            return len(connection.execute(keys).fetchall())
    except sqlite3.OperationalError:  # not there yet
        return 0


def wait_until(is_so, process):
    """Wait for something that a process does before it ends."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not is_so():
        assert process.poll() is None, process.said.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_stored(process, folder, number):
    wait_until(lambda: count_stored(folder) >= number, process)


def kill(process, how=os.kill):
    how(process.pid, signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL


@pytest.fixture(scope="module")
def whole(stand_in, tmp_path_factory):
    """The folder of a study that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_study(SMALL, folder, data_home=stand_in, n_jobs=1)
    write_study(folder)
    return folder


def test_a_study_killed_at_random_moments_ends_with_the_same_tables(study, tmp_path, whole):
    random = np.random.default_rng(0)
    for how in (os.kill, os.killpg):  # without its workers, and with them; a run costs seconds to begin
        process = study(tmp_path, jobs=2)
        wait_for_stored(process, tmp_path, count_stored(tmp_path) + 1)
        time.sleep(random.uniform(0, 0.05))
        kill(process, how)
    assert 2 <= count_stored(tmp_path) < len(SMALL.subsamples())
    stored = stored_with_times(tmp_path)
    assert finish(study(tmp_path)) == (0, "")
    # Nothing twice: no two fits take the same time.
    pd.testing.assert_frame_equal(stored, stored_with_times(tmp_path).loc[stored.index], check_exact=True)
    assert finished(tmp_path) == finished(whole)


def assert_stored_is_part_of(whole, folder):
    """What is stored in a folder is sound, not nothing, and the same as in an undisturbed study."""
    found, expected = (stored_with_times(place).drop(columns="seconds") for place in (folder, whole))
    assert 0 < len(found) < len(expected)
    pd.testing.assert_frame_equal(found, expected.loc[found.index], check_exact=True)


def test_a_killed_worker_is_a_sentence(study, tmp_path, whole):
    psutil = pytest.importorskip("psutil", reason="psutil finds the workers")
    process = study(tmp_path, jobs=2)
    wait_for_stored(process, tmp_path, 1)
    children = psutil.Process(process.pid).children()
    worker = next(child for child in children if "popen_loky" in " ".join(child.cmdline()))
    worker.kill()
    code, said = finish(process)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("Error: a process of the study was killed")
    assert_stored_is_part_of(whole, tmp_path)


def test_an_interrupted_study_says_how_to_go_on(study, tmp_path, whole):
    process = study(tmp_path, jobs=2)
    wait_for_stored(process, tmp_path, 4)  # by now both workers have begun
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: to all processes
    code, said = finish(process)
    assert (code, said) == (
        130,
        f"Interrupted; the same command goes on from what is stored in {tmp_path}.\n",
    )
    assert_stored_is_part_of(whole, tmp_path)


def test_the_second_of_two_studies_says_who_holds_the_results(study, tmp_path, whole):
    first = study(tmp_path)
    wait_for_stored(first, tmp_path, 1)
    first.send_signal(signal.SIGSTOP)  # or it may end before the second begins
    code, said = finish(study(tmp_path))
    assert (code, said.count("\n")) == (1, 1)
    assert f"is in use: process {first.pid} adds to it" in said
    kill(first)
    assert_stored_is_part_of(whole, tmp_path)
