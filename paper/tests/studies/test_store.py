"""The file of results: what it keeps, what it refuses, and who may add to it."""

import dataclasses
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.studies.budget import RESULTS_FILE, run_study
from attenua_paper.studies.store import ResultStore, SettingsMismatch, StoreError, read_results
from paper.tests.studies.small_shell import SMALL

KEY = ("har", 64, 0, 0)
GOOD = {"method": "a", "test_risk": 1.0, "gain": 0.0, "fallback": 0, "seconds": 0.1}
OTHER = GOOD | {"method": "b"}


@pytest.fixture
def path(tmp_path):
    """A file with one subsample."""
    path = tmp_path / RESULTS_FILE
    with closing(ResultStore(path, {"seed": 1})) as store:
        store.add(KEY, [GOOD, OTHER])
    return path


def test_other_and_unknown_settings_are_refused_not_mixed(tmp_path, path):
    store = ResultStore(tmp_path / "small.sqlite", SMALL.stored())
    store.close()
    other = dataclasses.replace(SMALL, seed=1)
    with pytest.raises(SettingsMismatch, match="seed was 2026 and is now 1"):
        ResultStore(tmp_path / "small.sqlite", other.stored())
    change(path, "DELETE FROM settings")
    with pytest.raises(StoreError, match="does not hold the settings"):
        ResultStore(path, {"seed": 2})


def test_a_subsample_is_stored_whole_or_not_at_all_and_may_be_replaced(tmp_path):
    path = tmp_path / RESULTS_FILE
    with closing(ResultStore(path, {"seed": 1})) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.add(KEY, [GOOD, OTHER | {"test_risk": None}])
        assert store.stored() == {}
        store.add(KEY, [GOOD, OTHER])
        assert store.stored() == {KEY: {"a", "b"}}
        store.add(KEY, [OTHER | {"gain": 5.0}])
        assert store.stored() == {KEY: {"b"}}
    assert read_results(path)[0]["gain"].tolist() == [5.0]


def change(path, statement):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def random_bytes(path):
    path.write_bytes(bytes(range(256)) * 40)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-5000])


def zeros_inside(path):
    content = path.read_bytes()
    path.write_bytes(content[:8192] + bytes(4096) + content[12288:])


def other_database(path):
    path.unlink()
    change(path, "CREATE TABLE mine (a INTEGER)")


DAMAGES = {
    random_bytes: "is not a file of results",
    cut_short: "is damaged",
    zeros_inside: "is damaged",
    other_database: "not a file of results of this version",
    lambda path: change(path, "ALTER TABLE results DROP COLUMN capped"): "its table results differs",
    lambda path: change(path, "DROP TABLE settings"): "its table settings differs",
}


def test_a_file_that_cannot_be_used_is_named_and_left_as_it_is(path):
    whole = path.read_bytes()
    uses = (lambda: ResultStore(path, {"seed": 1}), lambda: read_results(path))
    for damage, reason in DAMAGES.items():
        path.write_bytes(whole)
        damage(path)
        before = path.read_bytes()
        for use in uses:
            with pytest.raises(StoreError, match=reason) as refused:
                use()
            assert str(refused.value).startswith(f"{path} ")
        assert path.read_bytes() == before, reason


def test_a_file_without_a_newer_correction_is_read_and_added_to(path):
    """Its fits have strength 0 of that correction; methods without corrections have none."""
    with closing(ResultStore(path, {"seed": 1})) as store:
        store.add(("har", 64, 0, 1), [GOOD, OTHER | {"damping": 0.5, "smoothing": 0.8}])
    change(path, "ALTER TABLE results DROP COLUMN smoothing")
    plain, corrected = read_results(path)[0].tail(2).to_dict("records")
    assert (corrected["damping"], corrected["smoothing"]) == (0.5, 0.0)
    assert np.isnan(plain["smoothing"])
    with closing(ResultStore(path, {"seed": 1})) as store:
        store.add(("har", 64, 0, 2), [OTHER | {"damping": 0.1, "smoothing": 2.0}])
    frame, _ = read_results(path)
    assert frame["smoothing"].dropna().tolist() == [0.0, 2.0]


def test_places_that_cannot_hold_a_file_are_named(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / RESULTS_FILE).mkdir()
    for place in (tmp_path / "file" / RESULTS_FILE, tmp_path / "file" / "deep" / RESULTS_FILE):
        with pytest.raises(StoreError, match="cannot be made or written") as refused:
            ResultStore(place, {})
        assert str(place) in str(refused.value)
    with pytest.raises(StoreError, match="cannot be opened or made"):
        ResultStore(tmp_path / RESULTS_FILE, {"seed": 1})


def test_a_full_disk_keeps_what_is_stored(path):
    with closing(ResultStore(path, {"seed": 1})) as store:
        # SQLite says the same of a file at its largest size as of a full disk.
        ((pages,),) = store._connection.execute("PRAGMA page_count")
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="the disk is full"):
            store.add(("har", 64, 0, 1), [GOOD | {"method": f"method {i}"} for i in range(1000)])
    with closing(ResultStore(path, {"seed": 1})) as store:
        assert store.stored() == {KEY: {"a", "b"}}


@each("reads_first", [False, True])
def test_what_a_kill_left_half_written_is_undone(path, tmp_path, reads_first):
    """The file and its journal, copied in the middle of a transaction, are what a kill leaves."""
    left, whole = tmp_path / f"left-{reads_first}.sqlite", path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
        connection.execute("DELETE FROM results")
        connection.executemany("INSERT INTO settings VALUES (?, ?)", [(f"{i}", "x" * 999) for i in range(99)])
        shutil.copy(path, left)
        shutil.copy(f"{path}-journal", f"{left}-journal")
    assert left.read_bytes() != whole
    if reads_first:
        assert len(read_results(left)[0]) == 2
    with closing(ResultStore(left, {"seed": 1})) as store:
        assert store.stored() == {KEY: {"a", "b"}}
    assert left.read_bytes() == whole


HOLD = """
import sys, time
from pathlib import Path
from attenua_paper.studies.store import ResultStore
store = ResultStore(Path(sys.argv[1]), {"seed": 1})
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_one_process_at_a_time_and_a_killed_one_lets_go(path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=rf"is in use: process {holder.pid} adds to it"):
            ResultStore(path, {"seed": 1})
        assert len(read_results(path)[0]) == 2  # reading is free
        holder.kill()
    with closing(ResultStore(path, {"seed": 1})) as store:
        assert store.stored() == {KEY: {"a", "b"}}


def test_a_lock_of_another_program_is_a_sentence(path, monkeypatch):
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
        with pytest.raises(StoreError, match="is locked by another program"):
            ResultStore(path, {"seed": 1})


@pytest.mark.filterwarnings("ignore:.*values.*:UserWarning")
@pytest.mark.slow
def test_a_subsample_that_lacks_a_method_is_computed_again(stand_in, tmp_path):
    settings = dataclasses.replace(SMALL, n_subsamples=1)
    path = run_study(settings, tmp_path, data_home=stand_in, n_jobs=1)
    whole = read_results(path)[0].drop(columns="seconds")
    change(path, "DELETE FROM results WHERE method = 'HeteroPCA' AND budget = 64 AND version = 1")
    change(path, "DELETE FROM results WHERE method != 'HeteroPCA' AND budget = 32 AND version = 0")
    assert len(read_results(path)[0]) < len(whole)
    told = []
    run_study(settings, tmp_path, data_home=stand_in, n_jobs=1, begin=lambda *counts: told.append(counts))
    assert told == [(2, 4)]
    assert read_results(path)[0].drop(columns="seconds").equals(whole)
