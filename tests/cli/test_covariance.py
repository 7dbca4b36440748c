"""``attenua covariance``: what it writes, what it says, and how it fails."""

import csv

import numpy as np
import pandas as pd
import pytest

from attenua import CorrectedCovariance, save_model
from attenua.cli.request import flags_in_words
from tests.cli.shell import run
from tests.helpers import spiked_rows

NAMES = ["a", "b, c", "<d>", "é", "5", "f"]
WHO = [f"subject {k // 2:02}" for k in range(40)]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def frame():
    frame = pd.DataFrame(spiked_rows(40, 6), columns=NAMES)
    frame.assign(who=WHO, name=[f"row {k}" for k in range(40)]).to_csv("data.csv", index=False)
    return frame


def written(path):
    """Return the numbers of a covariance, with all their digits, whose rows and columns have the names."""
    with open(path, newline="") as file:
        head, *rows = csv.reader(file)
    assert head[1:] == [row[0] for row in rows] == NAMES
    return [[float(cell) for cell in row[1:]] for row in rows]


def test_the_covariance_is_written_with_all_digits_and_explained(frame):
    result = run("covariance", "data.csv", "-o", "cov.csv", "--id-column", "name", "--group-column", "who",
                 "--neighbours", "line", "--cv", 4)  # fmt: skip
    assert result.exit_code == 0, result.output
    model = CorrectedCovariance(neighbours="line", cv=4, nested=True)
    model.fit(frame.to_numpy(), groups=WHO)
    np.testing.assert_array_equal(written("cov.csv"), model.covariance_)
    assert result.stdout.startswith(f"{model.verdict_}\ndata.csv: 40 rows, 6 columns.\n\n{model.steps_!r}\n")
    assert result.stdout.endswith("\nWritten: cov.csv\n")


def test_a_reference_is_read_and_borrowed_from(frame):
    frame.iloc[:20].to_csv("others.csv", index=False)
    frame.iloc[20:].to_csv("data.csv", index=False)
    result = run("covariance", "data.csv", "--reference", "others.csv", "--no-nested")
    X = frame.to_numpy()
    model = CorrectedCovariance(reference=X[:20]).fit(X[20:])
    assert model.corrections_["borrowing"] > 0
    assert result.stdout.startswith(flags_in_words(model.verdict_))
    np.testing.assert_array_equal(written("covariance.csv"), model.covariance_)


@pytest.mark.parametrize("out", ["cov.npy", "cov.xlsx", "-"])
def test_a_file_of_another_kind_is_refused(frame, tmp_path, out):
    result = run("covariance", "data.csv", "-o", out)
    assert result.exit_code == 2
    assert f"{out} must end in .csv or .npz." in result.stderr
    assert not (tmp_path / out).exists()


def test_nothing_is_written_where_it_fails(frame, tmp_path):
    (tmp_path / "cov.csv").write_text("mine")
    result = run("covariance", "data.csv", "-o", "cov.csv")
    assert (result.exit_code, (tmp_path / "cov.csv").read_text()) == (1, "mine")
    frame[:] = 1.0
    frame.to_csv("data.csv", index=False)
    result = run("covariance", "data.csv")
    assert "data.csv: X must hold rows that differ" in result.stderr
    assert not (tmp_path / "covariance.csv").exists()


def test_a_covariance_gives_no_scores(frame):
    save_model(CorrectedCovariance().fit(frame), "model.npz")
    result = run("transform", "model.npz", "data.csv")
    assert result.stderr == "Error: model.npz holds a CorrectedCovariance, which gives rows no scores.\n"
    assert result.exit_code == 1
