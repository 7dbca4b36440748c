"""The commands do what the library does, say what was assumed, and write all files or none."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attenua import (
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    choose_rank,
    load_model,
    save_model,
)
from attenua.cli.app import app
from tests.cli.shell import run

FILES = {
    *("components.csv", "explained_variance.csv", "scores.csv"),
    *("model.safetensors", "report.html", "result.json"),
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rows():
    """Forty rows of five columns in rows.csv, with names of the rows, sites and another unit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((40, 5))
    frame = pd.DataFrame(
        X, columns=list("abcde"), index=pd.Index([f"P{17 * i}" for i in range(40)], name="who")
    )
    frame.assign(site=np.tile(list("uvwxy"), 8)).to_csv("rows.csv")
    return frame


def fitted(model, rows, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, **more)


SITES = np.tile(list("uvwxy"), 8)


@pytest.mark.parametrize(
    ("options", "model", "groups"),
    [
        ([], CorrectedPCACV(2, nested=True), None),
        (
            ["--quick", "--scale", "--neighbours", "line"],
            CorrectedPCACV(2, scale=True, neighbours="line"),
            None,
        ),
        (["--quick", "--group-column", "site"], CorrectedPCACV(2), SITES),
        (["--method", "attenuated", "--group-column", "site"], AttenuatedPCACV(2), SITES),
        (["--method", "pca", "--scale"], CorrectedPCA(2, scale=True), None),
    ],
)
def test_fit_writes_what_the_library_gives(rows, options, model, groups):
    said = run("fit", "rows.csv", "-k", 2, *options)
    assert said.exit_code == 0, said.output
    fitted(model, rows, **({} if groups is None else {"groups": groups}))
    assert {path.name for path in Path("attenua-fit").iterdir()} == FILES
    components = pd.read_csv("attenua-fit/components.csv", index_col="component")
    np.testing.assert_allclose(components[list("abcde")], model.components_, rtol=1e-12)
    scores = pd.read_csv("attenua-fit/scores.csv", index_col="who")
    np.testing.assert_allclose(scores, model.transform(rows), atol=1e-12)
    assert list(scores.index) == list(rows.index)
    variances = pd.read_csv("attenua-fit/explained_variance.csv")
    np.testing.assert_allclose(variances["explained_variance"], model.explained_variance_)
    np.testing.assert_allclose(variances["cumulative_ratio"], np.cumsum(model.explained_variance_ratio_))
    np.testing.assert_array_equal(load_model("attenua-fit/model.safetensors").components_, model.components_)
    result = json.loads(Path("attenua-fit/result.json").read_text())
    assert (result["n_rows"], result["n_columns"], result["n_components"]) == (40, 5, 2)
    if groups is None and not options:
        assert result["left_out_gain"] == pytest.approx(model.left_out_gain_)
    if hasattr(model, "verdict_"):
        assert result["verdict"] == model.verdict_


def test_every_assumption_is_printed_and_stands_in_the_result_and_the_page(rows):
    said = run("fit", "rows.csv", "-k", 2, "--quick")
    notes = json.loads(Path("attenua-fit/result.json").read_text())["notes"]
    assert ["row names" in note for note in notes] == [True, False]
    assert "site" in notes[1]
    assert said.stderr == "".join(f"Note: rows.csv: {note}\n" for note in notes)
    page = Path("attenua-fit/report.html").read_text()
    assert page.count("site") > 0
    assert "row names" in page


def test_a_second_fit_has_a_folder_of_its_own(rows):
    for folder in ("attenua-fit", "attenua-fit-2"):
        assert folder in run("fit", "rows.csv", "-k", 1, "--method", "pca").stdout
        assert (Path(folder) / "report.html").exists()


def test_a_folder_that_is_named_is_replaced_only_by_force(rows):
    fit = ("fit", "rows.csv", "--method", "pca", "-k", 2, "--out", "mine")
    run(*fit)
    Path("mine/notes.txt").write_text("mine")
    Path("mine/scores.csv").write_text("old")
    refused = run(*fit)
    assert (refused.exit_code, "--force" in refused.stderr) == (1, True)
    assert Path("mine/scores.csv").read_text() == "old"
    assert run(*fit, "--force").exit_code == 0
    assert Path("mine/scores.csv").read_text() != "old"
    assert Path("mine/notes.txt").read_text() == "mine"


def test_a_fit_that_fails_while_it_writes_leaves_nothing(rows, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    said = run("fit", "rows.csv", "-k", 2, "--method", "pca")
    assert (said.exit_code, "No space left" in said.stderr) == (1, True)
    assert [path.name for path in Path().iterdir()] == ["rows.csv"]


def test_a_reference_is_read_by_the_names_of_its_columns(rows):
    other = pd.DataFrame(np.random.default_rng(1).standard_normal((60, 5)), columns=list("ebdca"))
    other.assign(town="x").to_csv("other.csv", index=False)
    run("fit", "rows.csv", "-k", 2, "--quick", "--reference", "other.csv", "--drop", "a")
    model = CorrectedPCACV(2, reference=other[list("bcde")].to_numpy())
    fitted(model, rows[list("bcde")])
    found = load_model("attenua-fit/model.safetensors").components_
    np.testing.assert_allclose(found, model.components_, atol=1e-12)


def test_auto_takes_the_number_of_the_scaled_columns(rows):
    X = ((rows - rows.mean()) / rows.std(ddof=0)).to_numpy()
    number = choose_rank(X, random_state=0).rank
    assert f"bcv        {number} " in run("rank", "rows.csv", "--scale").stdout
    run("fit", "rows.csv", "-k", "auto", "--scale", "--method", "pca")
    assert load_model("attenua-fit/model.safetensors").n_components_ == number


def test_a_stack_of_images_has_its_grid_as_neighbours():
    np.save("images.npy", np.random.default_rng(0).standard_normal((20, 3, 4)))
    run("fit", "images.npy", "-k", 2, "--quick")
    assert load_model("attenua-fit/model.safetensors").neighbours == [3, 4]


def test_a_column_called_like_an_axis_suggests_neighbours():
    X = np.random.default_rng(0).standard_normal((20, 6))
    pd.DataFrame(X, columns=[f"{850 + 2 * i} nm" for i in range(6)]).to_csv("x.csv", index=False)
    assert "--neighbours line" in run("fit", "x.csv", "-k", 2, "--quick").stdout
    assert "--neighbours" not in run("fit", "x.csv", "-k", 2, "--quick", "--neighbours", "line").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["fit", "none.csv"], 1, "none.csv: it does not exist"),
        (["fit", "rows.csv", "-k", "9"], 1, "-k 9 must be between 1 and 5"),
        (["fit", "rows.csv", "-k", "0"], 2, "-k"),
        (["fit", "rows.csv", "--neighbours", "3by4"], 2, "28x28"),
        (["fit", "rows.csv", "-k", "2", "--neighbours", "3x4"], 1, "--neighbours"),
        (["fit", "rows.csv", "--method", "pca", "--quick"], 2, "--quick"),
        (["fit", "rows.csv", "--method", "attenuated", "--scale"], 2, "--scale"),
        (["fit", "rows.csv", "--columns", "a:z"], 1, "'a:z'"),
        (["fit", "rows.csv", "--drop", "a:e"], 1, "no column of numbers"),
        (["fit", "rows.csv", "--reference", "none.csv"], 1, "none.csv"),
        (["fit", "rows.csv", "--out", "rows.csv"], 1, "--out takes the name of a folder"),
        (["transform", "none.safetensors", "rows.csv"], 1, "none.safetensors"),
        (["transform", "rows.csv", "rows.csv"], 1, "rows.csv"),
        (["impute", "rows.csv", "-o", "x.doc"], 2, "--out"),
        (["impute", "rows.csv", "-o", "no/x.csv"], 1, "no folder"),
        (["impute", "rows.csv", "-o", "rows.csv"], 1, "--force"),
        (["impute", "rows.csv", "-o", "x.csv", "--std", "y.txt"], 2, "--std"),
        (["impute", "rows.csv", "-o", "x.csv", "--std", "x.csv"], 2, "--std"),
        (["fit", "rows.csv", "--sep", ",,"], 2, "--sep"),
        (["impute", "rows.csv", "-o", "x.csv", "--model", "m.safetensors", "--scale"], 2, "--scale"),
        (["covariance", "rows.csv", "-o", "x.npz"], 2, ".csv"),
        (["demo", "--out", "x.pdf"], 2, ".png"),
    ],
)
def test_a_wrong_call_names_the_option_and_writes_nothing(rows, arguments, code, sentence):
    said = run(*arguments)
    assert (said.exit_code, said.stdout) == (code, "")
    assert sentence in said.stderr
    assert [path.name for path in Path().iterdir()] == ["rows.csv"]


def test_transform_matches_columns_by_name_and_prints_to_a_pipe(rows):
    save_model(fitted(CorrectedPCA(2), rows), "model.safetensors")
    rows[list("edcba")].assign(town="x").to_csv("new.csv")
    assert run("transform", "model.safetensors", "new.csv").exit_code == 0
    scores = pd.read_csv("scores.csv", index_col="who")
    np.testing.assert_allclose(scores, load_model("model.safetensors").transform(rows), atol=1e-12)
    printed = run("transform", "model.safetensors", "-", "-o", "-", stdin=Path("new.csv").read_bytes())
    assert printed.stdout == Path("scores.csv").read_text()
    said = run("transform", "model.safetensors", "new.csv", "-o", "x.csv", "--drop", "a,e").stderr
    assert "fitted to 5" in said


def test_a_model_of_a_covariance_gives_no_scores(rows):
    save_model(fitted(CorrectedCovariance(), rows), "model.safetensors")
    assert "gives rows no scores" in run("transform", "model.safetensors", "rows.csv").stderr


@pytest.fixture
def holes(rows):
    """The rows with fifteen cells missing, and two decimals, in holes.csv."""
    rng = np.random.default_rng(1)
    frame = rows.round(2)
    for row, column in zip(rng.choice(40, 15, replace=False), rng.integers(0, 5, 15), strict=True):
        frame.iat[row, column] = np.nan
    frame.to_csv("holes.csv")
    return frame


def test_auto_takes_rows_with_missing_cells(holes):
    number = choose_rank(holes, scale=True, random_state=0).rank
    assert f"bcv        {number} " in run("rank", "holes.csv", "--scale").stdout
    run("fit", "holes.csv", "-k", "auto", "--scale", "--method", "pca")
    assert load_model("attenua-fit/model.safetensors").n_components_ == number


def test_impute_fills_the_cells_that_miss_and_says_how_sure(holes):
    outputs = ["-o", "filled.csv", "--std", "std.csv", "--save-model", "m.safetensors"]
    said = run("impute", "holes.csv", *outputs, "--quick")
    assert said.exit_code == 0, said.output
    filled, deviations = fitted(CorrectedCovariance(), holes).impute(holes, return_std=True)
    found = pd.read_csv("filled.csv", index_col="who")
    np.testing.assert_allclose(found, np.where(holes.isna(), filled.round(2), holes), atol=1e-12)
    cells = pd.read_csv("std.csv")
    missing = np.isnan(holes.to_numpy())
    assert list(cells["who"]) == [holes.index[row] for row in np.nonzero(missing)[0]]
    np.testing.assert_allclose(cells["filled"], np.asarray(filled)[missing])
    np.testing.assert_allclose(cells["standard_deviation"], np.asarray(deviations)[missing])
    untouched = [line for line in Path("holes.csv").read_text().splitlines() if ",," not in line + ","]
    assert {*untouched} < {*Path("filled.csv").read_text().splitlines()}


def test_a_model_that_was_kept_fills_other_rows(holes):
    run("impute", "holes.csv", "-o", "x.csv", "--save-model", "m.safetensors", "--quick")
    holes.iloc[:3, ::-1].to_csv("few.csv")
    assert run("impute", "few.csv", "-o", "few.xlsx", "--model", "m.safetensors").exit_code == 0
    expected = load_model("m.safetensors").impute(holes.iloc[:3]).round(2).iloc[:, ::-1]
    np.testing.assert_allclose(pd.read_excel("few.xlsx", index_col=0), expected, atol=1e-12)


def test_few_rows_are_filled_and_too_few_to_hold_out_are_refused_for_a_fit(holes):
    holes.iloc[:4].to_csv("few.csv")
    assert run("impute", "few.csv", "-o", "filled.csv", "--quick").exit_code == 0
    said = run("fit", "few.csv", "-k", 1)
    assert (said.exit_code, "needs at least 5" in said.stderr) == (1, True)


def test_columns_without_names_are_taken_in_the_order_of_the_model_with_a_note(rows):
    save_model(fitted(CorrectedPCA(2), rows), "model.safetensors")
    rows.to_csv("nameless.csv", header=False, index=False)
    said = run("transform", "model.safetensors", "nameless.csv")
    assert (
        said.stderr
        == "Note: nameless.csv: it has no names, so its columns are taken in the order of the model.\n"
    )
    np.testing.assert_allclose(
        pd.read_csv("scores.csv"), load_model("model.safetensors").transform(rows), atol=1e-12
    )


def test_covariance_is_that_of_the_library(rows):
    assert run("covariance", "rows.csv", "--quick", "--scale").exit_code == 0
    found = pd.read_csv("covariance.csv", index_col="column")
    assert list(found.columns) == list(found.index) == list("abcde")
    np.testing.assert_allclose(found, fitted(CorrectedCovariance(scale=True), rows).covariance_)


def test_the_options_are_those_of_the_design():
    reading = {"columns", "drop", "id_column", "header", "sep", "decimal", "encoding", "na", "sheet"}
    search = {"group_column", "neighbours", "scale", "reference", "quick"}
    output = {"file", "out", "force"}
    expected = {
        "fit": reading | search | output | {"k", "method", "colour_by"},
        "transform": reading | output | {"model"},
        "impute": reading | search | output | {"std", "model", "keep"},
        "covariance": reading | search | output,
        "rank": reading | {"file", "scale"},
        "demo": {"out", "rows", "subsamples"},
    }
    found = {name: {each.name for each in command.params} for name, command in app.commands.items()}
    assert found == expected
