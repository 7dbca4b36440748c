"""The fixed-budget study in small: protocol, summaries, tables, figure and command."""

import dataclasses
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from tests.helpers import each

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCACV
from attenua._correct.registry import CORRECTIONS
from attenua._data.folds import make_splits
from attenua_paper.studies import budget
from attenua_paper.studies.budget import (
    RESULTS_FILE,
    StudySettings,
    draw_subsample,
    evaluate,
    repeated_splits,
    run_study,
)
from attenua_paper.studies.compare import chosen_together
from attenua_paper.studies.gain import best_affine_risk, excess_risk_removed
from attenua_paper.studies.published import CELLS, GAINS
from attenua_paper.studies.real_data import study_data
from attenua_paper.studies.store import read_results
from attenua_paper.studies.study_methods import (
    BEST_STRENGTH,
    CORRECTED,
    FAMILIES,
    STUDY_METHODS,
)
from attenua_paper.studies.study_output import STUDY_FILE, STUDY_SETTINGS
from attenua_paper.studies.study_summary import TAKEN, summary_table
from attenua_paper.studies.tables import Table, hindsight_table, main_table
from paper.tests.studies.small_shell import FEW, SMALL, run

# Stand-ins have the published layout but other values, and the loader says so.
pytestmark = pytest.mark.filterwarnings("ignore:.*values.*:UserWarning")

RESULTS = Path(__file__).parents[2] / "results"
SMALLEST = dataclasses.replace(SMALL, n_subsamples=1, methods=STUDY_METHODS)


def results_of(folder):
    return read_results(folder / RESULTS_FILE)[0].drop(columns="seconds")


def test_a_subsample_follows_the_protocol(stand_in):
    key = ("phoneme", 64, 0, 1)
    settings = StudySettings(n_versions={"phoneme": 1}, methods=("direct attenuation",))
    _, (record,) = evaluate(key, settings, stand_in)
    data = study_data("phoneme", 0, settings.seed, stand_in)
    assert (data.rank, data.X_train.shape[1], data.column_groups.max() + 1) == (8, 256, 16)
    rows = np.random.default_rng([settings.seed, *b"phoneme", 64, 0, 1]).choice(200, 64, replace=False)
    X, speakers = data.X_train[rows], data.row_groups[rows]
    model = AttenuatedPCACV(8).fit(X, groups=speakers)
    pca = AttenuatedPCACV(8, alphas=[0]).fit(X)
    reference = best_affine_risk(data.X_test, data.rank)
    errors = (fit.reconstruction_error(data.X_test).mean() for fit in (pca, model))
    gain = excess_risk_removed(*errors, reference)
    assert record["gain"] == pytest.approx(gain, abs=1e-6)
    assert record["strength"] == model.alpha_
    for train, held in make_splits(5, 64, groups=speakers):
        assert not set(speakers[train]) & set(speakers[held])


def test_folds_without_groups_are_consecutive_parts_of_the_subsample(stand_in, monkeypatch):
    seen = []
    make = budget.estimators_of
    monkeypatch.setattr(budget, "estimators_of", lambda *a: (seen.append(a[1]), make(*a))[1])
    settings = StudySettings(n_versions={"optdigits": 1}, methods=("direct attenuation",))
    evaluate(("optdigits", 50, 0, 1), settings, stand_in)
    (subsample,) = seen
    folds, repeated = subsample.folds.splits, subsample.repeated.splits
    for (_, held), (_, expected) in zip(folds, KFold(5).split(np.empty(50)), strict=True):
        np.testing.assert_array_equal(held, expected)
    assert len(repeated) == 20
    for start in range(0, 20, 5):
        held = np.concatenate([held for _, held in repeated[start : start + 5]])
        assert sorted(held) == list(range(50))
    np.testing.assert_array_equal(repeated[4][1], folds[4][1])
    assert not np.array_equal(repeated[9][1], folds[4][1])


@pytest.mark.slow
@each("method", [name for name in CORRECTED if "hindsight" not in name])
def test_all_corrections_are_those_of_the_estimator(stand_in, method):
    key = ("har", 40, 0, 1)
    settings = StudySettings(n_versions={"har": 1}, methods=(method,))
    _, (record,) = evaluate(key, settings, stand_in)
    data, X, subjects = draw_subsample(key, settings.seed, stand_in)
    repeats = 4 if "repeated" in method else 1
    model = CorrectedPCACV(
        16,
        neighbours="line" if "neighbours" in method else None,
        cv=repeated_splits(5, 40, subjects, repeats),
    ).fit(X)
    assert record["test_risk"] == pytest.approx(model.reconstruction_error(data.X_test).mean(), rel=1e-9)
    assert {name: record[name] for name in CORRECTIONS} == chosen_together(model)


def test_methods_with_neighbours_need_an_order_of_the_columns(stand_in):
    _, records = evaluate(("optdigits", 32, 0, 0), SMALL, stand_in)
    assert {record["method"] for record in records} == {name for name in FEW if "neighbours" not in name}
    assert all(CORRECTIONS.keys() <= record.keys() for record in records if record["method"] in CORRECTED)
    assert study_data("phoneme", 0, 1, stand_in).neighbours == "line"
    assert study_data("har", 0, 1, stand_in).neighbours == "line"


def test_data_sets_as_the_paper_sets_them(stand_in):
    har = study_data("har", 0, 1, stand_in)
    assert (har.rank, har.X_train.shape[1], har.column_groups.max() + 1) == (16, 128, 16)
    first, second = (study_data("optdigits", version, 1, stand_in) for version in (0, 1))
    assert (first.rank, first.X_train.shape[1], first.row_groups) == (2, 9, None)
    np.testing.assert_array_equal(first.column_groups, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert not np.array_equal(first.X_train, second.X_train)


@pytest.fixture(scope="module")
def finished(stand_in, tmp_path_factory):
    """The folder of a small study that two processes ran."""
    folder = tmp_path_factory.mktemp("finished")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*values.*")
        run_study(SMALLEST, folder, data_home=stand_in, n_jobs=2)
    return folder


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_jobs(stand_in, finished, tmp_path):
    run_study(SMALLEST, tmp_path, data_home=stand_in, n_jobs=1)
    pd.testing.assert_frame_equal(results_of(tmp_path), results_of(finished))


def made_up_results():
    rng = np.random.default_rng(0)
    rows = [
        {
            "data": data,
            "budget": n,
            "version": version,
            "subsample": subsample,
            "method": method,
            "test_risk": 1.0,
            "gain": version + rng.standard_normal(),
            "strength": 0.6 if subsample else 0.0,
            "fallback": subsample == 0,
            **dict.fromkeys(CORRECTIONS, 0.5 if subsample == 3 else 0.0),
            "capped": 1.0 if method == "HeteroPCA" and subsample == 1 else np.nan,
            "seconds": 0.1,
        }
        for data, n in CELLS
        for version in range(3 if data == "optdigits" else 1)
        for subsample in range(4)
        for method in ("direct attenuation", "HeteroPCA")
    ]
    return pd.DataFrame(rows)


def made_up_summary(results):
    settings = {"seed": 7, "methods": ["direct attenuation", "HeteroPCA", BEST_STRENGTH, "not there"]}
    study = summary_table(results, settings)
    return study, study.set_index(["measure", "method", "data", "budget"]).sort_index()


def test_errors_cluster_over_patch_versions():
    results = made_up_results()
    study, by_name = made_up_summary(results)
    cell = results[(results.data == "optdigits") & (results.budget == 64)]
    gains = cell.pivot_table("gain", "version", "method", aggfunc="mean")
    direct, hetero = gains["direct attenuation"], gains["HeteroPCA"]
    row = by_name.loc["gain", "direct attenuation", "optdigits", 64]
    assert row.value == pytest.approx(direct.mean())
    assert row.error == pytest.approx(direct.std(ddof=1) / np.sqrt(3))
    assert row.n == 12
    assert by_name.loc["gain", "direct attenuation", "har", 128].n == 4
    # Both methods have the same rows: the lead has the error of the differences.
    lead = by_name.loc["lead", "direct attenuation", "optdigits", 64]
    assert lead.value == pytest.approx((direct - hetero).mean())
    assert lead.error == pytest.approx((direct - hetero).std(ddof=1) / np.sqrt(3))
    assert list(dict.fromkeys(zip(study["data"], study["budget"], strict=True))) == list(CELLS)
    assert set(study["seed"]) == {7}


def test_strengths_caps_corrections_and_seconds():
    _, by_name = made_up_summary(made_up_results())
    for measure, expected in {
        "strength": 0.45,
        "fallback_percent": 25,
        "above_half_percent": 75,
        "damping": 0.125,
        f"damping{TAKEN}": 25,
        "seconds": 0.1,
    }.items():
        np.testing.assert_allclose(by_name.loc[measure, "direct attenuation"]["value"], expected)
    # A fit that fell back is not counted.
    assert by_name.loc["capped", "HeteroPCA"]["value"].sum() == 10
    assert "direct attenuation" not in by_name.loc["capped"].index.get_level_values("method")
    assert by_name.loc["damping", "direct attenuation", "har", 64].error == pytest.approx(0.25 / 2)


def test_no_choice_beats_hindsight(stand_in):
    methods = ("mask-derived attenuation", "direct attenuation", BEST_STRENGTH)
    settings = StudySettings(n_versions={"optdigits": 1}, methods=methods)
    _, records = evaluate(("optdigits", 64, 0, 5), settings, stand_in)
    gains = {record["method"]: record["gain"] for record in records}
    assert list(gains) == list(methods)
    assert gains["mask-derived attenuation"] <= gains[BEST_STRENGTH] + 1e-9
    assert gains["direct attenuation"] <= gains[BEST_STRENGTH] + 1e-9
    assert gains[BEST_STRENGTH] >= 0
    refit = records[-1]
    data = study_data("optdigits", 0, settings.seed, stand_in)
    _, X, _ = draw_subsample(("optdigits", 64, 0, 5), settings.seed, stand_in)
    model = AttenuatedPCA(data.rank, alpha=refit["strength"]).fit(X)
    assert refit["test_risk"] == pytest.approx(model.reconstruction_error(data.X_test).mean())


def test_main_and_hindsight_tables():
    # Stars are for methods only.
    results = made_up_results()
    results = results.assign(method=results.method.replace({"HeteroPCA": BEST_STRENGTH}), gain=1.0)
    results.loc[results.method == BEST_STRENGTH, "gain"] = 9.0
    rows = {row[0]: row[1:] for row in main_table(made_up_summary(results)[0]).rows}
    assert all(cell.endswith("*") for cell in rows["direct attenuation"])
    assert not any(cell.endswith("*") for cell in rows[f"{BEST_STRENGTH} †"])
    # A method that does not apply to a cell has a dash there.
    results = made_up_results()
    is_left_out = (results["method"] == "HeteroPCA") & (results["data"] == "optdigits")
    table = main_table(made_up_summary(results[~is_left_out])[0])
    (row,) = (row for row in table.rows if row[0] == "HeteroPCA")
    assert row[1:3] == ("-", "-")
    assert "-" not in row[3:]
    # Hindsight table has a line for every complete family.
    methods = [method for family in FAMILIES.values() for method in family]
    gains = {"data": "har", "budget": 64, "method": methods, "measure": "gain", "value": np.arange(9.0)}
    gains = pd.DataFrame(gains | {"error": 0.0, "n": 1})
    table = hindsight_table(gains)
    assert table.rows[1] == ("HAR N=64", "all corrections", "3.00", "4.00", "5.00")
    assert len(hindsight_table(gains[gains["method"] != methods[8]]).rows) == 2


def test_table_formats():
    table = Table("Title", ("Method", "gain"), [("one%", "-1.00"), ("two", "2.00*")])
    assert table.to_text().splitlines()[2:] == [
        "Method   gain",
        "-------------",
        "one%    -1.00",
        "two     2.00*",
    ]
    assert table.to_markdown().splitlines()[2:4] == ["| Method | gain |", "| --- | ---: |"]
    assert "| one% | -1.00 |" in table.to_markdown()


@pytest.mark.slow
def test_command_writes_everything(stand_in, finished, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "QUICK", SMALLEST)
    out = shutil.copytree(finished, tmp_path / "out")
    arguments = ("study", "--quick", "--jobs", 1, "--data-home", stand_in, "--out", out)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "Quick run, not the paper's" in result.output
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.name != f"{RESULTS_FILE}.lock"}
    pictures = {"figure-3-comparison.png", "figure-3-comparison.pdf"}
    assert files.keys() == {RESULTS_FILE, STUDY_FILE, STUDY_SETTINGS, "study-tables.md", *pictures}
    assert all(files.values())
    assert json.loads(files[STUDY_SETTINGS])["seed"] == SMALLEST.seed
    assert "Gains with 95% intervals" in result.output
    # The committed file has the same form, and what is in both has the same measures.
    study, committed = pd.read_csv(out / STUDY_FILE), pd.read_csv(RESULTS / STUDY_FILE)
    assert list(study.columns) == list(committed.columns)
    assert set(study["method"]) == {name for name in SMALLEST.methods if "neighbours" not in name}
    for method in GAINS:
        measures = (set(frame[frame["method"] == method]["measure"]) for frame in (study, committed))
        assert len(set(map(frozenset, measures))) == 1
    again = run(*arguments, "--seed", 5)
    assert again.exit_code == 1
    assert "made with other settings" in again.stderr


@pytest.mark.slow
def test_only_the_papers_methods_on_some_of_the_data(stand_in, tmp_path, monkeypatch):
    settings = dataclasses.replace(
        SMALLEST, n_versions={"optdigits": 1, "har": 1}, budgets=(32,), n_subsamples=2
    )
    monkeypatch.setattr(budget, "QUICK", settings)
    some = ("--paper-only", "--data", "har", "--seed", 3)
    result = run("study", "--quick", "--jobs", 1, "--data-home", stand_in, "--out", tmp_path, *some)
    assert result.exit_code == 0, result.output
    study = pd.read_csv(tmp_path / STUDY_FILE)
    assert (set(study["seed"]), set(study["data"]), set(study["method"])) == ({3}, {"har"}, set(GAINS))


def test_data_command_says_what_is_missing(stand_in, tmp_path):
    result = run("data", "--data-home", tmp_path)
    assert result.exit_code == 0
    assert result.output.count("not here") == 3
    result = run("data", "--data-home", stand_in)
    assert result.output.count("NOT the published values") == 3


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(12), 4)])
def test_fewer_repeats_are_a_part_of_more_and_the_first_are_the_plain_folds(groups):
    plain = make_splits(KFold(4) if groups is None else 4, 48, groups=groups)
    two, three = (repeated_splits(4, 48, groups, n) for n in (2, 3))
    assert (len(two), len(three)) == (8, 12)
    for first, second in zip(plain + two[4:], three, strict=False):
        np.testing.assert_array_equal(first[1], second[1])
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(three[:4], three[4:8], strict=True))
    for train, held in three:
        assert groups is None or not set(groups[train]) & set(groups[held])
