"""Averages, sentences and tables of a store that is written by hand."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from attenua_evidence import __main__ as shell
from attenua_evidence.tasks import filling, forecasts, new_rows, outliers
from attenua_evidence.tasks.forecast_tables import LOOK_UP, forecast_table, forecast_words, judged, pairs
from attenua_evidence.tasks.report import methods_table, parts_table, slug, task_words
from attenua_evidence.tasks.results import (
    TASKS,
    ahead,
    best_rival,
    by_draw,
    cell_frame,
    cell_gains,
    compared,
    read_lines,
    summary,
)
from attenua_evidence.tasks.study import COLUMNS

REBUILD, TELL = TASKS[new_rows.REBUILD], TASKS[outliers.OUTLIERS]
# Errors of PCA, ours and two rivals in two draws; the best subspace has the error 2.
ERRORS = {
    ("alpha", "final"): {"PCA": (10, 6), "recommended": (8, 6), "one": (9, 5), "few": (None, 3)},
    ("beta", "final"): {"PCA": (10, 10), "recommended": (10.4, 10), "one": (30, 10), "few": (None, None)},
    ("gamma", "develop"): {"PCA": (10, 10), "recommended": (5, 5), "one": (10, 10), "few": (None, None)},
}
# Areas under the curve; no rival there.
AREAS = {"PCA, Q": 0.8, outliers.SHRUNK: 0.85, "recommended, Q": 0.78}
FORECASTS = {"alpha": (10.0, 5.0), "beta": (0.0, 0.0), "gamma": (40.0, 40.0)}


def lines_of_set(data, part):
    head = {"part": part, "data": data, "kind": "table", "order": "", "rows": 16, "columns": 9, "rank": 5}
    head |= {"seconds": 0.5, "status": "fitted", "note": ""}
    for method, values in ERRORS[data, part].items():
        for draw, value in enumerate(values):
            line = head | {
                "draw": draw,
                "task": REBUILD.name,
                "method": method,
                "value": value,
                "reference": 2.0,
            }
            yield line | ({"status": "failed"} if value is None else {})
    for draw, value in enumerate(FORECASTS[data]):
        yield head | {"draw": draw, "task": forecasts.FORECAST, "method": forecasts.PILOT, "value": value}
    for method, value in AREAS.items():
        yield head | {"draw": 0, "task": TELL.name, "method": method, "value": value}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    for data, part in ERRORS:
        frame = pd.DataFrame(lines_of_set(data, part), columns=COLUMNS)
        frame.to_csv(folder / f"{data}-16-0.csv", index=False)
    # Groups too large for a draw leave a heading.
    pd.DataFrame(columns=COLUMNS).to_csv(folder / "delta-16-0.csv", index=False)
    settings = {"methods": {"subspaces": {"PCA": "ordinary"}}, "missing": ["rrcov"]}
    (folder / "settings.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def lines(store):
    return read_lines(store)


@pytest.fixture(scope="module")
def final(lines):
    return lines[lines["part"] == "final"]


def test_gains_of_cells_pool_their_draws(lines):
    cells = cell_gains(by_draw(lines, REBUILD, "recommended"), REBUILD).droplevel(["rows", "rank"])
    # alpha: 2 of 16 are removed, and 2 of the 12 above the best subspace.
    np.testing.assert_allclose(cells["gain"], [12.5, -2, 50])
    np.testing.assert_allclose(cells["excess"], [100 * 2 / 12, -100 * 0.4 / 16, 100 * 10 / 16])
    # A rival counts in the draws that it fitted.
    few = cell_gains(by_draw(lines, REBUILD, "few"), REBUILD)
    np.testing.assert_allclose(few[["gain", "excess"]], [[50, 75]])
    areas = cell_gains(by_draw(lines, TELL, "recommended, Q"), TELL)
    np.testing.assert_allclose(areas["gain"], -2)
    assert areas["excess"].isna().all()


def test_summaries(final):
    of = summary(final, REBUILD, "recommended")
    assert (of.gain.value, of.median, of.better, of.losing, of.cells) == (5.25, 5.25, 50, 50, 2)
    # Student's interval of two data sets.
    assert of.gain.high - of.gain.value == pytest.approx(12.706 * 7.25, rel=1e-4)
    few = summary(final, REBUILD, "few")
    assert (few.failed, few.gain.count, few.same.value, few.same_median) == (3, 1, 0, 0)
    assert few.gain.high != few.gain.high  # one data set has no interval


def test_the_best_rival_and_those_ahead(lines, final):
    methods = compared(final, REBUILD)
    assert list(methods) == ["PCA", "recommended", "one", "few"]
    # Of final sets "few" fits half: it gains 50.
    assert best_rival(methods, REBUILD) == "few"
    assert ahead(methods, REBUILD) == ["few"]
    assert best_rival(compared(lines, REBUILD), REBUILD) == "one"
    assert best_rival(compared(lines, TELL), TELL) is None


def test_sentences(lines, final):
    words = task_words(lines, REBUILD, compared(lines, REBUILD))
    assert words.startswith(
        "Rebuild new rows: on 3 data sets, `recommended` removes 20.2% [-46.5, 86.8] of the whole error of "
        "PCA (25.6% of its excess); it is better on 67% of them, and 33% of the settings lose more than 1%."
    )
    # On alpha both gain 12.5.
    assert (
        "one has the best median data set: 0.00 on the 3 that it was fitted to, where ours has 12.5" in words
    )
    assert "and is better on 2." in words
    assert words.endswith("On the same settings a mean or median above ours have: few (1).")
    words = task_words(final, TELL, compared(final, TELL))
    assert "comes to 5.00 [5.00, 5.00] points of the area under the ROC curve more than PCA, Q" in words
    assert "With `recommended, Q` it is -2.00 [-2.00, -2.00]." in words


def test_tables(lines, final):
    rows = {row[0]: row[1:] for row in methods_table(REBUILD, compared(final, REBUILD)).rows}
    assert list(rows) == ["PCA", "**recommended**", "few", "one"]
    assert rows["one"][1:5] == ("-43.8 [-758, 671]", "-43.8", "50%", "50% of 2")
    assert rows["few"][-1] == "3"
    frame = cell_frame(lines)
    parts = parts_table(frame)
    assert parts.heading[4:] == ("final", "develop", "all")
    assert [row[:2] for row in parts.rows] == [
        (REBUILD.name, "recommended"),
        (TELL.name, outliers.SHRUNK),
        (TELL.name, "recommended, Q"),
    ]
    assert parts.rows[0][4:] == ("5.25 [-86.9, 97.4] (2)", "50.0 (1)", "20.2 [-46.5, 86.8] (3)")
    assert len(frame) == 3 * 3 + 1 + 3 * 3
    assert (
        frame.set_index(["data", "task", "method"]).loc[("gamma", REBUILD.name, "recommended"), "gain"] == 50
    )


def test_forecasts(lines, final):
    found = pairs(lines, forecasts.PILOT)
    np.testing.assert_allclose(found["expected"], [10, 5, 0, 0, 40, 40])
    np.testing.assert_allclose(found["observed"], [20, 0, -4, 0, 50, 50], atol=1e-12)
    of = judged(found)
    # Means over data sets of what the draws have.
    assert of.expected == pytest.approx((7.5 + 0 + 40) / 3)
    assert of.observed == pytest.approx((10 - 2 + 50) / 3)
    assert of.error == pytest.approx((7.5 + 2 + 10) / 3)
    assert (of.losing, of.losing_if_more) == (50, 0)
    assert of.slope == pytest.approx(np.polyfit(found["expected"], found["observed"], 1)[0])
    assert "whole error" in forecast_table({forecasts.PILOT: of}).rows[0]
    assert "flatters" in forecast_words({LOOK_UP: of}, lines)
    assert "flatters" not in forecast_words({LOOK_UP: of}, final)
    assert "flatters" not in forecast_words({forecasts.PILOT: of}, lines)
    assert forecast_words({}, final) == "No gain was forecast.\n"


def test_the_report_writes_all_files(store, tmp_path):
    assert shell.main(["tasks-report", str(store), "--docs", str(tmp_path)]) == 0
    names = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.*")}
    assert names == {
        *("evidence/tasks-cells.csv", "evidence/tasks-methods.csv"),
        *("images/evidence-tasks.png", "images/evidence-tasks-narrow.png"),
        *(
            f"guide/_tasks{name}.md"
            for name in ("", "_forecasts", "_what", "_rebuild_new_rows", "_tell_outliers")
        ),
    }
    assert "Methods of rrcov were not compared" in (tmp_path / "guide" / "_tasks_what.md").read_text()
    # The final part is there, so sentences speak of it.
    assert "Rebuild new rows: on 2 data sets" in (tmp_path / "guide/_tasks_rebuild_new_rows.md").read_text()
    assert shell.main(["tasks-report", str(tmp_path), "--docs", str(tmp_path)]) == 1


def test_a_report_of_other_parts_keeps_what_is_published(store, tmp_path):
    whole, twice, parts = tmp_path / "whole", tmp_path / "twice", {"final": [], "develop": []}
    assert shell.main(["tasks-report", str(store), "--docs", str(whole)]) == 0
    for (data, part), _ in ERRORS.items():
        parts[part].append(data)
    for part, names in parts.items():
        own = tmp_path / part
        own.mkdir()
        for file in ["settings.json", *(f"{name}-16-0.csv" for name in names)]:
            shutil.copy(store / file, own)
        assert shell.main(["tasks-report", str(own), "--docs", str(twice)]) == 0
    for file in whole.rglob("*.md"):
        assert (twice / file.relative_to(whole)).read_text() == file.read_text()
    for file in whole.rglob("*.csv"):
        found = [pd.read_csv(folder / file.relative_to(whole)) for folder in (twice, whole)]
        pd.testing.assert_frame_equal(*found)


def test_names_of_files():
    assert slug(filling.FILL) == "fill_hidden_cells"
    assert len({slug(name) for name in TASKS}) == len(TASKS)
