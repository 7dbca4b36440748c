"""The options of reading, on the command line: what they do to files, notes, records and the page's code."""

import json
import os
import re
import shlex
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attenua import CorrectedPCA, CorrectedPCACV
from tests.cli.shell import run
from tests.helpers import spiked_rows

PCA = ["-k", 2, "--method", "pca"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def frame():
    frame = pd.DataFrame(spiked_rows(20, 5), columns=list("abcde"))
    frame.insert(0, "who", [f"s{number}" for number in range(20)])
    frame["site"] = np.repeat(["u", "v"], 10)
    frame.to_csv("data.csv", index=False)
    return frame


def test_names_of_rows_are_the_first_column_of_scores(frame):
    options = ["--id-column", "who", "--drop", "site"]
    assert run("fit", "data.csv", *PCA, *options).exit_code == 0
    scores = pd.read_csv("attenua-fit/scores.csv")
    assert list(scores) == ["who", "component_1", "component_2"]
    assert list(scores["who"]) == list(frame["who"])
    result = run("transform", "attenua-fit/model.npz", "data.csv", "--id-column", "who", "--out", "again.csv")
    assert result.exit_code == 0, result.output
    assert Path("again.csv").read_text() == Path("attenua-fit/scores.csv").read_text()
    frame.set_index("who").to_parquet("data.parquet")
    run("transform", "attenua-fit/model.npz", "data.parquet", "--out", "third.csv")
    assert Path("third.csv").read_text() == Path("again.csv").read_text()


def test_what_is_assumed_is_a_note_and_in_the_record(frame):
    frame.drop(columns=["who", "site"]).to_csv("indexed.csv")
    result = run("fit", "indexed.csv", *PCA, "--json")
    sentence = "the first column has no name and counts the rows, so it is dropped (--columns keeps it)."
    assert result.stderr == f"Note: indexed.csv: {sentence}\n"
    record = json.loads(result.stdout)
    assert record["notes"] == [sentence]
    assert record["n_columns"] == 5


def test_a_header_of_numbers_by_guess_and_by_option(frame):
    numbers = frame[list("abcde")].set_axis(range(400, 405), axis=1)
    numbers.to_csv("spectra.csv", index=False)
    result = run("fit", "spectra.csv", *PCA)
    assert result.stderr == (
        "Note: spectra.csv: the first row looks like a header of numbers: 400, 401, 402, ...; --no-header "
        "reads it as data.\n"
    )
    # One row is enough to score, because the names are stored in the model.
    numbers[:1].to_csv("one.csv", index=False)
    assert run("transform", "attenua-fit/model.npz", "one.csv").exit_code == 0
    assert len(pd.read_csv("scores.csv")) == 1
    record = json.loads(run("fit", "spectra.csv", *PCA, "--no-header", "--json", "--force").stdout)
    assert (record["n_rows"], record["notes"]) == (21, [])


def test_missing_cells_of_new_rows_are_filled_with_the_means_of_the_model(frame):
    numbers = frame[list("abcde")]
    numbers.to_csv("numbers.csv", index=False)
    run("fit", "numbers.csv", *PCA)
    gaps = numbers.copy()
    gaps.iloc[3, 1] = np.nan
    gaps.to_csv("gaps.csv", index=False)
    result = run("transform", "attenua-fit/model.npz", "gaps.csv", "--missing", "fail")
    assert result.exit_code == 1
    assert (
        "1 cell is missing, in 1 of 20 rows and 1 of 5 columns; the first is row 4 (line 5)" in result.stderr
    )
    result = run("transform", "attenua-fit/model.npz", "gaps.csv", "--missing", "mean")
    assert "1 missing cell, in 1 of 20 rows, filled with the means of the model." in result.stderr
    model = CorrectedPCA(2).fit(numbers.to_numpy())
    expected = model.transform(gaps.fillna(numbers.mean()).to_numpy())
    np.testing.assert_allclose(pd.read_csv("scores.csv"), expected, rtol=1e-9, atol=1e-12)
    record = json.loads(run("fit", "gaps.csv", *PCA, "--missing", "drop-rows", "--force", "--json").stdout)
    assert record["n_rows"] == 19
    assert record["notes"] == ["1 of 20 rows dropped because of 1 missing cell."]


GAPS = "3 cells are missing, in 2 of 20 rows and 2 of 5 columns."


@pytest.fixture
def gaps(frame):
    """Numbers with three missing cells."""
    numbers = frame[list("abcde")].copy()
    numbers.iloc[3, [1, 2]] = np.nan
    numbers.iloc[7, 2] = np.nan
    return numbers


def test_missing_cells_are_kept_counted_and_fitted(gaps):
    gaps.to_csv("gaps.csv", index=False)
    result = run("fit", "gaps.csv", "-k", 2, "--no-nested", "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"Note: gaps.csv: {GAPS}\n"
    assert json.loads(result.stdout)["notes"] == [GAPS]
    model = CorrectedPCACV(2, random_state=0).fit(gaps.to_numpy())
    scores = pd.read_csv("attenua-fit/scores.csv")
    np.testing.assert_allclose(scores, model.transform(gaps.to_numpy()), rtol=1e-9, atol=1e-12)
    result = run("transform", "attenua-fit/model.npz", "gaps.csv", "--out", "again.csv")
    assert result.stderr == f"Note: gaps.csv: {GAPS}\n"
    assert Path("again.csv").read_text() == Path("attenua-fit/scores.csv").read_text()
    assert run("covariance", "gaps.csv", "--no-nested").stderr == f"Note: gaps.csv: {GAPS}\n"


def test_codes_are_named_and_read_as_missing_by_an_option(gaps):
    gaps.fillna(-999).to_csv("coded.csv", index=False)
    gaps.to_csv("gaps.csv", index=False)
    result = run("fit", "coded.csv", *PCA, "--out", "coded")
    assert result.stderr.endswith("if it stands for missing, give --na -999.\n")
    result = run("fit", "coded.csv", *PCA, "--na", "-999", "--na", "-1e5", "--out", "read")
    assert result.stderr == f"Note: coded.csv: {GAPS}\n"
    run("fit", "gaps.csv", *PCA, "--out", "gaps")
    scores = [Path(folder, "scores.csv").read_text() for folder in ("coded", "read", "gaps")]
    assert scores[0] != scores[1] == scores[2]
    run("transform", "gaps/model.npz", "coded.csv", "--na", "-999")
    assert Path("scores.csv").read_text() == scores[2]


def test_the_page_shows_missing_cells_and_its_code_has_the_codes(gaps):
    gaps.fillna(-999).to_csv("coded.csv", index=False)
    result = run("report", "coded.csv", *PCA, "--na", "-999")
    assert result.stderr == f"Note: coded.csv: {GAPS}\n"
    page = Path("report.html").read_text()
    assert "3 of 100 cells are missing, 3%: in 2 of 20 rows and 2 of 5 columns." in page
    code = unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)[1])
    shell, python = code.split("# or, in Python:\n")
    assert "--na -999 " in shell
    run(*shlex.split(shell)[1:], "--out", "again.html")
    assert Path("again.html").read_text() == page
    os.remove("report.html")
    exec(python, {})
    assert "3 of 100 cells are missing" in Path("report.html").read_text()
    run("fit", "coded.csv", *PCA, "--na", "-999")
    result = run("report", "coded.csv", "--model", "attenua-fit/model.npz", "--na", "-999", "--force")
    assert (result.exit_code, "3 of 100 cells" in Path("report.html").read_text()) == (0, True)


def test_a_row_without_any_cell_is_noted_once(gaps):
    gaps.iloc[5] = np.nan
    gaps.to_csv("gaps.csv", index=False)
    commands = ["fit", "gaps.csv", *PCA], ["transform", "attenua-fit/model.npz", "gaps.csv"]
    for command in commands:
        result = run(*command)
        assert result.stderr.count("Note: 1 row of X has no values at all") == 1, result.stderr
        assert result.stderr.count("\n") == 2


def test_a_reference_with_missing_cells_is_refused_in_terms_of_options(gaps, frame):
    gaps.to_csv("gaps.csv", index=False)
    result = run("fit", "data.csv", "--columns", "a:e", "--reference", "gaps.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: --reference: gaps.csv: 3 cells are missing")
    assert "fill them first with attenua impute" in result.stderr


def test_the_code_of_the_page_has_the_options(frame):
    frame.loc[2, "a"] = np.nan
    frame.to_csv("data.csv", index=False, sep=";", decimal=",")
    options = ["--drop", "site", "--id-column", "who", "--header", "--decimal", ",", "--missing", "mean"]
    result = run("report", "data.csv", *PCA, *options)
    assert result.exit_code == 0, result.output
    page = Path("report.html").read_text()
    code = unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)[1])
    shell, python = code.split("# or, in Python:\n")
    assert set(options) <= set(shlex.split(shell))
    assert run(*shlex.split(shell)[1:], "--out", "again.html").exit_code == 0
    assert Path("again.html").read_text() == page
    names = {}
    os.remove("report.html")
    exec(python, names)
    assert names["table"].names == list("abcde")
    assert Path("report.html").exists()


def test_the_page_is_given_colours_and_names_of_rows(frame, monkeypatch):
    given = []

    def fake(model, X, **options):
        given.append(options)
        return SimpleNamespace(html="page")

    monkeypatch.setattr("attenua.report.report", fake)
    options = [*PCA, "--id-column", "who", "--colour-by", "site"]
    assert run("report", "data.csv", *options).exit_code == 0
    assert run("fit", "data.csv", *options, "--report").exit_code == 0
    for options in given:
        assert list(options["row_names"]) == list(frame["who"])
        assert list(options["colour_by"]) == list(frame["site"])
        assert "--colour-by site" in options["code"]
        assert options["colour_name"] == "site"
        assert "row_names=table.ids, colour_by=table.colours, colour_name='site'" in options["code"]
    assert len(given) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["fit", "data.csv", "--missing", "zero"],
            "'zero' is not one of 'keep', 'fail', 'drop-rows', 'mean'",
        ),
        (["fit", "data.csv", "--decimal", ";"], "';' is not one of '.', ','"),
        (["report", "data.csv", "--out", "r.pdf"], "r.pdf must end in .html"),
        (["report", "data.csv", "--out", "/dev/full"], "/dev/full must end in .html"),
        (["transform", "model.npz", "data.csv", "--out", "/dev/full"], "/dev/full must end in .csv or .npy"),
    ],
)
def test_options_that_are_not_understood(frame, arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


def test_places_that_cannot_be_written_are_said_before_the_work(frame, monkeypatch):
    os.mkdir("closed")
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK or Path(path) != Path("closed"))
    Path("taken").touch()
    # Reading the missing file first would give another error.
    for arguments, sentence in (
        (["fit", "none.csv", "--out", "closed"], "there is no permission to write in closed."),
        (["fit", "none.csv", "--out", "/dev/full"], "/dev/full is a file; --out takes the name of a folder."),
        (
            ["report", "none.csv", "--out", "no/r.html"],
            "no/r.html cannot be written: the folder no does not exist.",
        ),
        (["report", "none.csv", "--out", "closed/r.html"], "there is no permission to write in closed."),
        (["report", "none.csv", "--out", "taken/r.html"], "taken is a file, not a folder."),
        (["transform", "none.npz", "none.csv", "--out", "no/s.csv"], "the folder no does not exist."),
        (
            ["transform", "none.npz", "none.csv", "--out", "closed/s.csv"],
            "there is no permission to write in",
        ),
    ):
        result = run(*arguments)
        assert result.exit_code == 1, arguments
        assert result.stderr.startswith("Error: ")
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["fit"], ["fit", "--json"], ["report"]])
def test_numbers_too_large_for_variances_are_told_by_the_names_of_columns(frame, command):
    frame.loc[3, "b"] = 1e300
    frame.to_csv("large.csv", index=False)
    np.save("large.npy", frame[list("abcde")].to_numpy())
    for arguments, column in ((["large.csv", "--drop", "who,site"], "'b'"), (["large.npy"], "'column_2'")):
        result = run(*command, *arguments, *PCA)
        assert result.exit_code == 1
        assert result.stderr.startswith(
            f"Error: {arguments[0]} holds numbers too large for variances in float64"
        )
        assert f" in column {column}. Look for wrong values" in result.stderr
        assert result.stderr.count("\n") == 1


def test_rows_too_large_for_scores_are_counted_from_1(frame):
    run("fit", "data.csv", *PCA, "--drop", "who,site")
    first = pd.read_csv("attenua-fit/components.csv", index_col=0).iloc[0]
    frame.loc[3, list("abcde")] = 1.7e308 * np.sign(first)
    frame.to_csv("large.csv", index=False)
    result = run("transform", "attenua-fit/model.npz", "large.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: large.csv holds numbers in row 4 that are too large")
    assert not Path("scores.csv").exists()


def test_options_of_texts_are_refused_by_their_own_names(frame):
    np.save("data.npy", frame[list("abcde")].to_numpy())
    for option in ("--header", "--no-header"):
        result = run("fit", "data.npy", option)
        assert result.exit_code == 1
        assert result.stderr == f"Error: data.npy: {option} needs a CSV or Excel file.\n"


def test_one_row_is_not_said_to_be_rows(frame):
    run("fit", "data.csv", *PCA, "--drop", "who,site")
    frame.head(1).to_csv("one.csv", index=False)
    result = run("transform", "attenua-fit/model.npz", "one.csv")
    assert result.stdout == "one.csv: scores of 1 row on 2 components written to scores.csv\n"
    assert "one.csv has 1 row; at least 2 are needed." in run("report", "one.csv", "--columns", "a:e").stderr


def test_colours_need_a_report(frame):
    result = run("fit", "data.csv", *PCA, "--drop", "who", "--colour-by", "site")
    assert result.exit_code == 2
    assert "it colours the rows in the report; add --report." in result.stderr
    assert not Path("attenua-fit").exists()
    assert run("fit", "data.csv", *PCA, "--drop", "who", "--colour-by", "site", "--report").exit_code == 0


def test_options_of_reading_reach_the_page_s_code(frame):
    frame.to_csv("data.csv", index=False, encoding="cp1252")
    result = run("report", "data.csv", *PCA, "--numeric-only", "--encoding", "latin-1")
    assert result.exit_code == 0, result.output
    note = "2 columns hold something else than numbers and are left out: 'who', 'site'."
    assert result.stderr == f"Note: data.csv: {note}\n"
    page = unescape(Path("report.html").read_text())
    assert "attenua report data.csv --numeric-only --encoding latin-1 -k 2" in page
    assert "read_table('data.csv', numeric_only=True, encoding='latin-1')" in page
