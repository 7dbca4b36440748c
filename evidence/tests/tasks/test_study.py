"""A small run of all tasks: its lines, that it goes on where it was, and the clock that stops it."""

import json

import numpy as np
import pytest

import attenua_evidence.tasks.study as study
from attenua_evidence import __main__ as shell
from attenua_evidence.collection.table import Table
from attenua_evidence.store import OtherSettings
from attenua_evidence.tasks import filling, new_rows, outliers, transfer
from attenua_evidence.tasks.results import TASKS, by_draw, read_lines
from attenua_evidence.tasks.study import COLUMNS, cells_of, run

from ..sets import Entry, spiked

FEW = {
    "subspaces": {"PCA": "", "default": "", "recommended": ""},
    "regression": {},
    "filling": {"PCA": "", filling.OURS: "", "column means + PCA": ""},
}
ENTRIES = [
    Entry("plain", Table(spiked(70, 12), None, np.arange(70) % 2)),
    Entry("curves", Table(spiked(40, 11, seed=1)), order="line", part="choose"),
    Entry("grouped", Table(spiked(120, 9, seed=2), np.arange(120) // 40), unit="mixed"),
]


@pytest.fixture(scope="module", autouse=True)
def few_methods():
    """Compare a few methods, whatever is installed."""
    settings = study.settings_of() | {"methods": FEW, "missing": ["rrcov"], "versions": {}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "settings_of", lambda methods: settings)
        yield


def small(folder, **options):
    left = run(ENTRIES, folder, folder / "store", **{"draws": 1, "jobs": 1} | options)
    return left, folder / "store"


def without_times(store):
    return {file.name: read_lines(store).drop(columns="seconds").to_csv() for file in store.glob("*.csv")}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    left, folder = small(tmp_path_factory.mktemp("tasks"))
    assert left == 0
    return folder


def test_what_is_stored_of_every_cell(store):
    lines = read_lines(store)
    assert tuple(lines.columns) == COLUMNS
    assert sorted(file.name for file in store.glob("*.csv")) == [
        *("curves-16-0.csv", "grouped-16-0.csv", "grouped-32-0.csv", "plain-16-0.csv", "plain-32-0.csv"),
    ]
    assert set(lines["status"]) <= {"fitted", "unsuited"}
    # What each line is compared with.
    pca = lines["method"].eq("PCA") | lines["method"].eq(outliers.BASE)
    assert (lines.loc[pca, "value"] == lines.loc[pca, "pca_value"]).all()
    # Which data have which tasks; few rows of a group are fitted once.
    assert set(lines.loc[lines["task"] == new_rows.LOGISTIC, "data"]) == {"plain"}
    assert set(lines.loc[lines["task"] == outliers.OUTLIERS, "data"]) == {"plain"}
    few = lines[lines["task"] == transfer.TRANSFER]
    assert set(few["data"]) == {"plain", "grouped"}
    assert set(few["rows"]) == {16}
    # Recommended is the default without an order.
    rebuilt = lines[(lines["task"] == new_rows.REBUILD) & (lines["order"] == "")]
    values = rebuilt.pivot(index=["data", "rows", "rank"], columns="method", values="value")
    assert (values["default"] == values["recommended"]).all()
    assert len(by_draw(lines, TASKS[new_rows.REBUILD], "recommended")) == 5


def test_an_interrupted_run_goes_on(store, tmp_path, monkeypatch):
    made = []
    compute = study._compute

    def counted(folder, cell, table, methods):
        made.append(cell.data)
        if len(made) == 3:
            raise KeyboardInterrupt
        return compute(folder, cell, table, methods)

    monkeypatch.setattr(study, "_compute", counted)
    with pytest.raises(KeyboardInterrupt):
        small(tmp_path)
    half = tmp_path / "store"
    kept = {file.name: file.read_bytes() for file in half.glob("*.csv")}
    assert len(kept) == 2
    # A file that ends within a line is computed again.
    cut = half / next(iter(kept))
    cut.write_bytes(cut.read_bytes()[:-5])
    made[:] = [""] * 3
    assert small(tmp_path)[0] == 0
    assert len(made) == 3 + 4
    assert without_times(half) == without_times(store)
    assert json.loads((half / "settings.json").read_text())["missing"] == ["rrcov"]


def test_the_clock_stops_a_run_between_cells(tmp_path):
    left, folder = small(tmp_path, minutes=0)
    assert left == 5
    assert not list(folder.glob("*.csv"))


def test_a_store_of_other_settings_is_refused(store, monkeypatch):
    monkeypatch.setattr(study, "settings_of", lambda methods: {"methods": {}})
    with pytest.raises(OtherSettings, match="other settings"):
        run(ENTRIES, store.parent, store, draws=1, jobs=1)


def test_first_draws_of_all_sets_come_first():
    cells = cells_of(ENTRIES[0], 2)
    assert [(cell.rows, cell.draw) for cell in cells] == [(16, 0), (16, 1), (32, 0), (32, 1)]
    with pytest.raises(ValueError, match="at least 1"):
        run(ENTRIES, None, None, draws=0)


def test_the_shell_says_what_is_left(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shell, "ENTRIES", ENTRIES)
    words = [
        "tasks",
        str(tmp_path),
        str(tmp_path / "store"),
        "--parts",
        "choose",
        "--draws",
        "1",
        "--jobs",
        "1",
    ]
    assert shell.main([*words, "--minutes", "0"]) == 0
    assert "Cells left: 1" in capsys.readouterr().out
    assert shell.main(words) == 0
    assert "Cells left" not in capsys.readouterr().out
    assert [file.name for file in (tmp_path / "store").glob("*.csv")] == ["curves-16-0.csv"]
