"""A small run: what it stores, that it goes on where it was, and what it refuses."""

import json

import numpy as np
import pytest

import attenua_evidence.outcome
import attenua_evidence.run
from attenua_evidence import __main__ as shell
from attenua_evidence import needs
from attenua_evidence.cell import Cell, lines_of, risk_around
from attenua_evidence.methods import CORE
from attenua_evidence.run import run
from attenua_evidence.store import COLUMNS, OtherSettings, Store, read_results

from .sets import Entry, Table, spiked

ENTRIES = [
    Entry("plain", Table(spiked(70, 12), None, np.arange(70) % 2)),
    Entry("curves", Table(spiked(64, 10, seed=1)), order="line"),
    Entry("pixels", Table(spiked(48, 12, seed=2), np.arange(48) // 3), order=(3, 4)),
    Entry("mixed", Table(spiked(40, 8, seed=3) * np.arange(1, 9)), unit="mixed"),
]


@pytest.fixture
def no_clock(monkeypatch):
    """Let every fit take no time, so that files can be compared byte by byte."""
    monkeypatch.setattr(attenua_evidence.outcome, "perf_counter", lambda: 0.0)


def small(folder, entries=ENTRIES, **options):
    run(entries, folder, folder / "store", **{"draws": 1, "jobs": 1, "methods": "core"} | options)
    return folder / "store"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the lines of a run that no test changes."""
    return read_results(small(tmp_path_factory.mktemp("small")))


def contents(store):
    return {file.name: file.read_bytes() for file in store.glob("*.csv")}


def test_what_is_stored_of_every_cell(results):
    # Every cell is stored.
    assert tuple(results.columns) == COLUMNS
    assert set(results["order"]) == {"", "line", "3x4"}
    assert results.groupby(["data", "rows", "rank"]).size().unique() == [len(CORE)]
    assert set(results.loc[results["data"] == "plain", "rows"]) == {16, 32}
    assert set(results["status"]) == {"fitted"}
    labelled = results["data"] == "plain"
    assert results.loc[labelled, ["centroid", "logistic"]].notna().all(axis=None)
    assert results.loc[~labelled, ["centroid", "logistic"]].isna().all(axis=None)
    # PCA is what all are compared with.
    pca = results[results["method"] == "PCA"]
    assert (pca[["gain", "added"]] == 0).all(axis=None)
    np.testing.assert_array_equal(pca["risk"], pca["pca_risk"])
    excess = results["pca_risk"] - results["reference"]
    assert (excess > 0).all()
    np.testing.assert_allclose(
        results["gain"], 100 * (results["pca_risk"] - results["risk"]) / excess, atol=1e-6
    )
    np.testing.assert_allclose(results["added"], 100 * (results["risk"] / results["pca_risk"] - 1), atol=1e-6)
    # Recommended is the default where columns have no order.
    default, recommended = (
        results[(results["method"] == name) & (results["order"] == "")].drop(columns="method")
        for name in ("default", "recommended")
    )
    assert default.reset_index(drop=True).equals(recommended.reset_index(drop=True))


def test_an_interrupted_or_damaged_run_goes_on_and_gives_the_same_bytes(tmp_path, no_clock):
    # An interrupted run goes on and gives the same bytes.
    store = small(tmp_path, ENTRIES[2:])
    before = contents(store)
    gone, kept = sorted(store.glob("*.csv"))
    gone.unlink()
    kept_at = kept.stat().st_mtime_ns
    small(tmp_path, ENTRIES[2:])
    assert contents(store) == before
    assert kept.stat().st_mtime_ns == kept_at
    # A damaged cell is computed again.
    file = store / sorted(before)[0]
    whole = before[file.name]
    for damaged in (without_a_method(whole), whole[:-5], b"\xff\xfe", b""):
        file.write_bytes(damaged)
        small(tmp_path, ENTRIES[2:])
        assert contents(store) == before


def without_a_method(content):
    return b"".join(line for line in content.splitlines(keepends=True) if b",default," not in line)


def test_settings_of_a_store(tmp_path):
    # The settings add up the seconds of all runs.
    store = Store(tmp_path, {"seed": 1})
    store.note_run(2.0, 1)
    Store(tmp_path, {"seed": 1}).note_run(3.0, 2)
    found = json.loads((tmp_path / "settings.json").read_text())
    assert (found["seed"], found["seconds"], found["processes"]) == (1, 5.0, 2)
    # Damaged settings are named.
    (tmp_path / "settings.json").write_text('{"seed": 1')
    with pytest.raises(OtherSettings, match=r"settings\.json is damaged"):
        Store(tmp_path, {"seed": 1})


@pytest.mark.slow
def test_a_cell_does_not_depend_on_others(tmp_path, no_clock):
    together = contents(small(tmp_path, ENTRIES[1:3]))
    (tmp_path / "alone").mkdir()
    alone = contents(small(tmp_path / "alone", [ENTRIES[2]], draws=2))
    assert alone["pixels-16-0.csv"] == together["pixels-16-0.csv"] != alone["pixels-16-1.csv"]


@pytest.mark.slow
def test_processes_give_the_same_results(tmp_path):
    one = read_results(small(tmp_path, ENTRIES[2:])).drop(columns="seconds")
    (tmp_path / "two").mkdir()
    two = read_results(small(tmp_path / "two", ENTRIES[2:], jobs=2)).drop(columns="seconds")
    assert one.equals(two)


def test_other_and_unknown_settings_are_refused(tmp_path, monkeypatch):
    # Other settings are refused.
    store = small(tmp_path, ENTRIES[3:])
    before = contents(store)
    monkeypatch.setattr(attenua_evidence.run, "SEED", 1)
    with pytest.raises(OtherSettings, match=r"other settings \(seed, see its settings.json\)"):
        small(tmp_path, ENTRIES[3:])
    monkeypatch.undo()
    monkeypatch.setitem(attenua_evidence.run.CHOICES, "core", CORE[:3])
    with pytest.raises(OtherSettings, match="methods"):
        small(tmp_path, ENTRIES[3:])
    assert contents(store) == before
    # Files of unknown settings are refused.
    monkeypatch.undo()
    (store / "settings.json").unlink()
    with pytest.raises(OtherSettings, match=r"no settings\.json"):
        small(tmp_path, ENTRIES[3:])


def test_groups_that_allow_no_draw_leave_a_file_without_lines(tmp_path, capsys):
    halves = Entry("halves", Table(spiked(40, 8), np.arange(40) // 20))
    store = small(tmp_path, [halves, ENTRIES[3]])
    assert (store / "halves-16-0.csv").read_text() == ",".join(COLUMNS) + "\n"
    assert "halves: groups too large to fit 16 rows" in capsys.readouterr().out
    assert set(read_results(store)["data"]) == {"mixed"}


def test_missing_packages_are_found_before_anything_is_computed(monkeypatch, tmp_path):
    # What cannot be imported or called is missing.
    assert needs._version_of("numpy", "numpy") == np.__version__
    assert needs._version_of("numpy", "no_such_module") == ""
    monkeypatch.setenv("PATH", "")
    assert needs.version_in_r("rrcov") == ""
    # Missing packages are one error before anything is computed.
    monkeypatch.setattr("attenua_evidence.needs._version_of", lambda package, module: "")
    monkeypatch.setattr("attenua_evidence.needs.version_in_r", lambda package: "")
    with pytest.raises(needs.MissingPackages) as raised:
        small(tmp_path, methods="all")
    for words in ("scikit-fda", "pip install", "robustcov", "rrcov", "apt-get install"):
        assert words in str(raised.value)
    assert not (tmp_path / "store").exists()


def test_risks_and_gains_of_a_cell():
    # Risk is the mean squared distance from the subspace.
    X = np.array([[3.0, 4, 0], [1, 0, 2]])
    centre, components = np.array([1.0, 0, 0]), np.array([[0.0, 0, 1]])
    assert risk_around(centre, components, X) == ((2**2 + 4**2) + 0) / 2
    assert risk_around(centre, np.empty((0, 3)), X) == (20 + 4) / 2
    # There is no gain where PCA leaves nothing.
    X = spiked(64, 3) @ np.eye(3, 12)
    cell = Cell("develop", "name", "table", "one", None, 16, 0)
    lines = [line for line in lines_of(cell, Table(X), CORE) if line["rank"] == 5]
    assert len(lines) == len(CORE)
    assert not any("gain" in line or "added" in line for line in lines)
    assert all(line["risk"] < 1e-20 for line in lines)
    # Own risk is around the centre of the method.
    X = spiked(64, 10)
    cell = Cell("develop", "name", "table", "one", None, 16, 0)
    pca, svd = lines_of(cell, Table(X), ["PCA", "truncated SVD"])[:2]
    assert pca["own_risk"] == pca["risk"]
    assert svd["own_risk"] != svd["risk"]


def test_the_shell_says_what_is_wrong_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shell, "ENTRIES", ENTRIES[3:])
    command = ["run", str(tmp_path), str(tmp_path / "store"), "--parts", "develop", "--methods", "core"]
    assert shell.main([*command, "--draws", "0"]) == 1
    assert capsys.readouterr().err == "draws must be at least 1; got 0.\n"
    assert shell.main([*command, "--draws", "1", "--jobs", "1"]) == 0
    assert len(read_results(tmp_path / "store"))
