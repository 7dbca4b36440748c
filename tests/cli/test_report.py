"""``attenua report`` and ``attenua fit --report``."""

import json
import os
import re
import shlex
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.model_files import save_model
from tests.cli.shell import run
from tests.helpers import spiked_rows


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def frame():
    frame = pd.DataFrame(spiked_rows(40, 6), columns=["<b>0", "x1", "x2", "x3", "x4", "x5"])
    frame["subject"] = np.repeat([f"s{i}" for i in range(10)], 4)
    frame.to_csv("my data.csv", index=False)
    return frame


def code_of(path):
    return unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", Path(path).read_text(), re.DOTALL)[1])


def test_the_page_is_written_and_its_code_makes_it_again(frame, tmp_path, monkeypatch):
    result = run("report", "my data.csv", "-k", 2, "--group-column", "subject", "--method", "attenuated",
                 "--alphas", "0,0.25,0.5", "--cv", 4, "--repeats", 2, "--seed", 7)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Written: report.html" in result.output
    page = Path("report.html").read_text()
    assert "Attenuated PCA of my data.csv" in page
    assert "<b>0" not in page
    shell, python = code_of("report.html").split("# or, in Python:\n")
    again = run(*shlex.split(shell)[1:], "--out", "again.html")
    assert again.exit_code == 0, again.output
    assert Path("again.html").read_text() == page
    os.remove("report.html")
    names = {}
    exec(python, names)
    expected = AttenuatedPCACV(2, alphas=[0, 0.25, 0.5], cv=4, n_repeats=2, random_state=7)
    expected.fit(frame.drop(columns="subject").to_numpy(), groups=frame["subject"])
    assert names["model"].alpha_ == expected.alpha_
    assert expected.verdict_ in unescape(page)
    assert Path("report.html").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], CorrectedPCACV(2, nested=True, random_state=0)),
        (
            [
                "--corrections",
                "damping,smoothing",
                "--neighbours",
                "2x3",
                "--cv",
                4,
                "--no-nested",
            ],
            CorrectedPCACV(
                2,
                corrections=["damping", "smoothing"],
                neighbours=(2, 3),
                cv=4,
                random_state=0,
            ),
        ),
        (["--method", "pca", "--scale"], CorrectedPCA(2, scale=True)),
    ],
)
def test_the_code_of_a_corrected_page_makes_it_again(frame, options, expected):
    result = run("report", "my data.csv", "-k", 2, "--group-column", "subject", *options)
    assert result.exit_code == 0, result.output
    page = Path("report.html").read_text()
    assert "Corrected PCA of my data.csv" in page
    shell, python = code_of("report.html").split("# or, in Python:\n")
    assert run(*shlex.split(shell)[1:], "--out", "again.html").exit_code == 0
    assert Path("again.html").read_text() == page
    os.remove("report.html")
    names = {}
    exec(python, names)
    assert names["model"].get_params() == expected.get_params() | {"n_components": 2}
    assert Path("report.html").exists()


def test_the_code_of_a_page_with_a_reference_makes_it_again(frame):
    frame[:20].to_csv("few.csv", index=False)
    frame[20:].to_csv("more.csv", index=False)
    options = ["-k", 2, "--group-column", "subject", "--reference", "more.csv"]
    assert run("report", "few.csv", *options).exit_code == 0
    page = Path("report.html").read_text()
    shell, python = code_of("report.html").split("# or, in Python:\n")
    assert run(*shlex.split(shell)[1:], "--out", "again.html").exit_code == 0
    assert Path("again.html").read_text() == page
    os.remove("report.html")
    names = {}
    exec(python, names)
    np.testing.assert_array_equal(names["model"].reference, frame[20:].drop(columns="subject"))


def test_fit_writes_the_same_page(frame):
    options = ["my data.csv", "-k", 2, "--columns", "x1:x5"]
    assert run("fit", *options, "--report").exit_code == 0
    assert run("report", *options).exit_code == 0
    assert Path("attenua-fit/report.html").read_text() == Path("report.html").read_text()


def test_a_stored_model_has_the_same_findings(frame):
    run("fit", "my data.csv", "-k", 2, "--columns", "x1:x5")
    result = run("report", "my data.csv", "--model", "attenua-fit/model.npz", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["files"] == ["report.html"]
    expected = CorrectedPCACV(2).fit(frame[["x1", "x2", "x3", "x4", "x5"]])
    assert record["corrections"] == expected.corrections_
    shell = code_of("report.html")
    assert run(*shlex.split(shell)[1:], "--out", "again.html").exit_code == 0
    assert Path("again.html").read_text() == Path("report.html").read_text()
    save_model(AttenuatedPCA(2, alpha=0.4).fit(frame[["x1", "x2"]].to_numpy()), "given.npz")
    result = run("report", "my data.csv", "--columns", "x1,x2", "--model", "given.npz", "--force")
    assert result.exit_code == 0, result.output
    assert "The strengths were given: attenuation 0.4." in Path("report.html").read_text()
    assert "Attenuation 0.4, as given" in result.output


@pytest.mark.slow
def test_the_digits_are_shown_as_pictures():
    result = run("report", "-k", 2)
    assert result.exit_code == 0, result.output
    assert "data:image/png" in Path("report.html").read_text()


def test_images_by_their_shape_and_from_standard_input(frame):
    text = frame.drop(columns="subject").to_csv(index=False)
    result = run("report", "-", "-k", 2, "--image-shape", "2x3", stdin=text)
    assert result.exit_code == 0, result.output
    page = Path("report.html").read_text()
    assert "data:image/png" in page
    assert "attenua report - -k 2" in code_of("report.html")


def test_problems_are_sentences(frame):
    run("fit", "my data.csv", "-k", 2, "--columns", "x1:x5")
    frame.iloc[:30].to_csv("less.csv", index=False)
    Path("there.html").touch()
    for arguments, sentence in (
        (["my data.csv", "-k", "2"], "column 'subject' holds 's0'"),
        (["none.csv"], "none.csv does not exist"),
        (["my data.csv", "--out", "there.html"], "there.html exists already"),
        (
            ["my data.csv", "-c", "x1:x5", "-k", "2", "--out", "none/report.html"],
            "the folder none does not exist",
        ),
        (
            ["my data.csv", "-c", "x1:x5", "-k", "2", "--image-shape", "2x2"],
            "--image-shape 2 x 2 does not fit",
        ),
        (["my data.csv", "--model", "none.npz"], "none.npz cannot be read"),
        (["my data.csv", "--model", "attenua-fit/model.npz", "-k", "3"], "-k has no effect with --model"),
        (["less.csv", "--model", "attenua-fit/model.npz"], "less.csv: X must be the rows"),
    ):
        result = run("report", *arguments)
        assert result.exit_code == 1, arguments
        assert result.stderr.startswith("Error: ")
        assert sentence in result.stderr
    assert not Path("report.html").exists()
    assert Path("there.html").read_text() == ""


def test_nothing_is_written_where_the_page_cannot_be_made(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("fit", "my data.csv", "-k", 2, "--columns", "x1:x5", "--report")
    assert result.exit_code == 1
    assert "pip install 'attenua[report]'" in result.stderr
    assert not Path("attenua-fit").exists()
