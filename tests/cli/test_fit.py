"""``attenua fit`` and ``attenua transform``: what they write, what they say, and how they fail."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, choose_rank
from attenua._select.steps import Steps
from attenua.model_files import load_model
from attenua.paired import paired_gain
from tests.cli.shell import run
from tests.helpers import spiked_rows

METHODS = ("bcv", "parallel", "threshold")
NAMES = [f"x{number}" for number in range(8)]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def frame():
    """One weak direction in eight columns of equal noise: attenuation helps."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 1)) * np.ones(8) + rng.standard_normal((40, 8))
    frame = pd.DataFrame(rows, columns=NAMES)
    frame.to_csv("data.csv", index=False)
    return frame


def exactly(path):
    """Read a CSV file of numbers with all their digits."""
    head, *lines = Path(path).read_text().splitlines()
    return head.split(","), np.array([[float(cell) for cell in line.split(",")] for line in lines])


def words(text):
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("options", "estimator"),
    [
        ([], CorrectedPCACV(2, random_state=0)),
        (["--method", "attenuated"], AttenuatedPCACV(2, random_state=0)),
        (["--method", "pca", "--scale"], CorrectedPCA(2, scale=True)),
    ],
)
def test_fit_writes_components_scores_and_model(frame, options, estimator):
    result = run("fit", "data.csv", "-k", 2, *options)
    assert result.exit_code == 0, result.output
    model = clone(estimator).fit(frame.to_numpy())
    head, components = exactly("attenua-fit/components.csv")
    assert head == ["component", *NAMES]
    np.testing.assert_array_equal(components, np.column_stack([[1, 2], model.components_]))
    head, scores = exactly("attenua-fit/scores.csv")
    assert head == ["component_1", "component_2"]
    # A frame's columns lie one after another, a file's rows: products may differ in the last digit.
    np.testing.assert_allclose(scores, model.transform(frame.to_numpy()), rtol=1e-13, atol=1e-14)
    loaded = load_model("attenua-fit/model.npz")
    np.testing.assert_array_equal(loaded.transform(frame), scores)
    ratios = model.explained_variance_ratio_
    head, explained = exactly("attenua-fit/explained_variance.csv")
    assert head[1:] == ["explained_variance", "explained_variance_ratio", "cumulative_ratio"]
    expected = [[1, 2], model.explained_variance_, ratios, [ratios[0], ratios[0] + ratios[1]]]
    np.testing.assert_array_equal(explained, np.column_stack(expected))
    assert f"\nVariance explained: {ratios[0]:.1%}, {ratios[1]:.1%}\n" in result.stdout
    files = ["components.csv", "explained_variance.csv", "model.npz", "scores.csv"]
    assert sorted(os.listdir("attenua-fit")) == files


def test_fit_says_which_strength_how_much_and_how_sure(frame):
    result = run("fit", "data.csv", "-k", 1, "--method", "attenuated")
    model = AttenuatedPCACV(1).fit(frame.to_numpy())
    paired = paired_gain(model)
    assert model.alpha_ > 0
    said, share = words(result.output), model.explained_variance_ratio_.sum()
    assert f"data.csv: 1 component, {share:.1%} of the variance of 40 rows, 8 columns." in said
    assert said.startswith(f"{model.verdict_} data.csv: ")
    measured = f"{paired.gain:.2%} less held-out risk than PCA's, standard error {paired.standard_error:.2%}"
    assert f"All held-out rows together: attenuation {model.alpha_:g}, {measured}" in said
    assert f"To expect of new rows: {paired.crossed_gain:.2%}" in said
    assert paired.advice in said
    assert "attenua-fit/model.npz" in said


def test_json_is_one_object_on_standard_output(frame):
    result = run("fit", "data.csv", "-k", 1, "--method", "attenuated", "--alphas", "0,0.3,0.6", "--cv", 4,
                 "--repeats", 2, "--seed", 3, "--out", "folder/deep", "--json")  # fmt: skip
    record = json.loads(result.stdout)
    model = AttenuatedPCACV(1, alphas=[0, 0.3, 0.6], cv=4, n_repeats=2, random_state=3).fit(frame.to_numpy())
    assert record["alpha"] == model.alpha_
    assert record["gain"] == model.gain_
    assert record["alphas"] == [0, 0.3, 0.6]
    assert record["cv_risk"] == model.cv_risk_.tolist()
    assert record["n_splits"] == 8
    assert record["verdict"] == model.verdict_
    assert record["left_out_gain"] == paired_gain(model).crossed_gain
    assert record["left_out_gain_error"] == paired_gain(model).crossed_error
    assert record["files"] == [
        f"folder/deep/{name}"
        for name in ("components.csv", "explained_variance.csv", "scores.csv", "model.npz")
    ]
    assert record["settings"] == {"cv": 4, "repeats": 2, "seed": 3, "grouped": False}


def test_fit_says_the_verdict_the_steps_and_the_gain(frame):
    result = run("fit", "data.csv", "-k", 1, "--neighbours", "line")
    assert result.exit_code == 0, result.output
    model = CorrectedPCACV(1, neighbours="line", nested=True, random_state=0).fit(frame.to_numpy())
    assert any(model.corrections_.values())
    assert result.stdout.startswith(f"{model.verdict_}\ndata.csv: 1 component, ")
    assert " 40 rows, 8 columns.\n" in result.stdout
    assert repr(model.steps_) in result.stdout
    assert f"{model.gain_:.2%} less held-out risk than PCA's, standard error" in result.stdout
    assert f"To expect of new rows: {model.left_out_gain_:.2%} less held-out risk" in result.stdout


def test_a_column_of_another_unit_is_named_and_the_flag_that_scales_it(frame):
    frame["x3"] *= 1e6
    frame.to_csv("data.csv", index=False)
    result = run("fit", "data.csv", "-k", 1, "--no-nested")
    assert (
        "One column, x3, has over 99.9% of the variance: look for a wrong cell, consider --scale"
        in result.stdout
    )


def test_the_record_of_a_search(frame):
    result = run("fit", "data.csv", "-k", 1, "--neighbours", "2x4", "--corrections", "damping, smoothing",
                 "--cv", 4, "--repeats", 2, "--seed", 3, "--json")  # fmt: skip
    record = json.loads(result.stdout)
    model = CorrectedPCACV(
        1,
        corrections=["damping", "smoothing"],
        neighbours=(2, 4),
        nested=True,
        cv=4,
        n_repeats=2,
        random_state=3,
    ).fit(frame.to_numpy())
    assert record["estimator"] == "CorrectedPCACV"
    assert record["corrections"] == model.corrections_
    assert record["choices"] == model.choices_
    assert record["choice_weights"] == model.choice_weights_
    assert Steps.from_records(record["steps"]) == model.steps_
    assert (record["gain"], record["left_out_gain"]) == (model.gain_, model.left_out_gain_)
    assert record["left_out_gain_error"] == model.left_out_gain_error_
    assert record["verdict"] == model.verdict_
    assert record["settings"] == {"cv": 4, "repeats": 2, "seed": 3, "grouped": False}


def test_a_step_that_was_left_out_has_no_error_in_the_record(frame):
    record = json.loads(run("fit", "data.csv", "-k", 1, "--json").stdout)
    left_out = [step for step in record["steps"] if not step["strengths"]]
    assert [step["correction"] for step in left_out] == ["borrowing", "smoothing"]
    assert all(step["standard_error"] is None for step in left_out)


def test_a_reference_is_read_like_the_rows_by_the_names_of_their_columns(frame):
    """Its columns may be in another order, with others beside them; the model holds none of its rows."""
    frame[:15].assign(subject="a").to_csv("few.csv", index=False)
    frame[15:].iloc[:, ::-1].assign(site=7).to_csv("more.csv", index=False)
    result = run("fit", "few.csv", "-k", 1, "--drop", "subject", "--reference", "more.csv", "--json")
    assert result.exit_code == 0, result.output
    rows, others = frame[:15].to_numpy(), frame[15:].to_numpy()
    expected = CorrectedPCACV(1, reference=others, random_state=0).fit(rows)
    assert json.loads(result.stdout)["corrections"] == expected.corrections_
    assert expected.corrections_["borrowing"] > 0
    assert load_model("attenua-fit/model.npz").reference.shape == (8, 8)


def test_a_reference_without_names_has_the_columns_that_the_options_choose(frame):
    np.save("few.npy", frame[:15])
    np.save("more.npy", frame[15:])
    result = run("fit", "few.npy", "-k", 1, "--columns", "2:5", "--reference", "more.npy", "--json")
    assert result.exit_code == 0, result.output
    rows, others = frame.iloc[:15, 1:5].to_numpy(), frame.iloc[15:, 1:5].to_numpy()
    expected = CorrectedPCACV(1, reference=others, random_state=0).fit(rows)
    assert json.loads(result.stdout)["steps"][0]["risks"] == list(expected.steps_["borrowing"].risks)


def test_pca_says_what_it_explains(frame):
    result = run("fit", "data.csv", "-k", 2, "--method", "pca")
    model = PCA(2).fit(frame.to_numpy())
    assert "Ordinary PCA, as given" in result.output
    assert f"2 components, {model.explained_variance_ratio_.sum():.1%} of the variance" in result.output


def test_auto_takes_the_number_that_rank_recommends():
    """One huge component hides the others from parallel analysis."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 3)) * [30, 3, 3] @ rng.standard_normal((3, 12))
    frame = pd.DataFrame(rows + rng.standard_normal((40, 12)), columns=list("abcdefghijkl"))
    frame.assign(who="somebody").to_csv("data.csv", index=False)
    reading = ("--drop", "who")
    said = words(run("rank", "data.csv", *reading).stdout)
    chosen = {method: choose_rank(frame, method=method, random_state=0) for method in METHODS}
    best = chosen["bcv"]
    assert best.rank != chosen["parallel"].rank
    for method in METHODS:
        assert re.search(rf"{method} {chosen[method].rank} (predict|explain|bring)", said)
    assert f"Recommended, by bcv: {best} The methods disagree: bcv" in said
    assert said.endswith(f"Go on with: attenua fit data.csv -k {best.rank} --drop who")
    result = run("fit", "data.csv", "-k", "auto", *reading, "--method", "pca", "--json")
    assert json.loads(result.stdout)["n_components"] == best.rank
    assert f"Note: data.csv: {best} The methods disagree: bcv" in result.stderr


def test_the_number_of_components_is_that_of_the_scaled_columns():
    rng = np.random.default_rng(0)
    rows = 3 * rng.standard_normal((50, 3)) @ rng.standard_normal((3, 12)) + rng.standard_normal((50, 12))
    rows[:, 0] *= 1e4
    np.save("rows.npy", rows)
    scaled = choose_rank(rows / rows.std(axis=0), random_state=0)
    assert scaled.rank != choose_rank(rows, random_state=0).rank
    result = run("rank", "rows.npy", "--scale")
    assert result.stdout.endswith(f"Go on with: attenua fit rows.npy -k {scaled.rank} --scale\n")
    result = run("fit", "rows.npy", "-k", "auto", "--scale", "--method", "pca", "--json")
    assert json.loads(result.stdout)["n_components"] == scaled.rank


def test_no_component_and_missing_cells_with_auto(frame):
    np.save("noise.npy", np.random.default_rng(0).standard_normal((30, 6)))
    result = run("fit", "noise.npy", "-k", "auto")
    assert result.exit_code == 1
    assert "noise.npy: -k auto finds no component: held-out entries are predicted as well" in result.stderr
    assert json.loads(run("rank", "noise.npy", "--json").stdout)["n_components"] == 0
    frame.mask(frame > 1).to_csv("gaps.csv", index=False)
    assert "give --missing drop-rows or --missing mean, or fill them" in run("rank", "gaps.csv").stderr


@pytest.mark.parametrize(
    ("names", "neighbours"),
    [
        (["400.5 nm", "401 nm", "402 nm", "403 nm", "404 nm", "405 nm"], "line"),
        (["X2001", "X2000", "X1999", "X1998", "X1997", "X1996"], "line"),
        (["pixel_0_0", "pixel_0_1", "pixel_0_2", "pixel_1_0", "pixel_1_1", "pixel_1_2"], "2x3"),
        (["0", "1", "2", "3", "4", "5"], None),
        (["1007_s", "1053_s", "1117_s", "1211_s", "1255_t", "1294_s"], None),
        (["30", "10", "20", "50", "40", "60"], None),
    ],
)
def test_names_like_an_axis_or_pixels_suggest_neighbours(names, neighbours):
    pd.DataFrame(spiked_rows(20, 6), columns=names).to_csv("data.csv", index=False)
    fit = ("fit", "data.csv", "-k", 1, "--header", "--corrections")
    said, suggestion = (
        run(*fit, "damping").stdout,
        f"If neighbours vary together, give --neighbours {neighbours}.",
    )
    assert (suggestion in said) == ("give --neighbours" in said) == (neighbours is not None)
    if neighbours:
        assert run("rank", "data.csv", "--header").stdout.endswith(f"--header --neighbours {neighbours}\n")
        assert "give" not in run(*fit, "smoothing", "--neighbours", neighbours, "--force").stdout


def test_a_stack_of_images_has_its_grid_as_neighbours():
    stack = np.random.default_rng(0).standard_normal((20, 2, 3, 2)).cumsum(axis=1)
    np.save("stack.npy", stack)
    result = run("fit", "stack.npy", "-k", 1, "--corrections", "smoothing")
    assert result.exit_code == 0, result.output
    assert "the pixels of an image are neighbours, as by --neighbours 2x3x2" in result.stderr
    assert load_model("attenua-fit/model.npz").neighbours == [2, 3, 2]
    assert "neighbours" not in run("fit", "stack.npy", "-k", 1, "--method", "pca", "--force").stderr


def test_without_a_file_the_digits(tmp_path):
    result = run("fit", "--json")
    record = json.loads(result.stdout)
    assert (record["n_rows"], record["n_columns"], record["n_components"]) == (1797, 64, 5)
    assert list(pd.read_csv("attenua-fit/components.csv").columns)[1:3] == ["pixel_0_0", "pixel_0_1"]
    result = run("fit", "--columns", "a", "--force")
    assert result.exit_code == 1
    assert "--columns needs a file" in result.stderr


@pytest.mark.parametrize("ending", ["parquet", "npy"])
def test_every_format_gives_the_same_model(frame, ending):
    matrix = frame.to_numpy()
    frame.to_parquet("x.parquet")
    np.save("x.npy", matrix)
    result = run("fit", f"x.{ending}", "-k", 2)
    assert result.exit_code == 0, result.output
    expected = CorrectedPCACV(2).fit(matrix)
    np.testing.assert_array_equal(load_model("attenua-fit/model.npz").components_, expected.components_)
    header = list(pd.read_csv("attenua-fit/components.csv").columns)[1:]
    without = [f"column_{number}" for number in range(1, 9)]
    assert header == (without if ending == "npy" else NAMES)


def test_standard_input_columns_and_groups(frame):
    groups = np.repeat(np.arange(10), 4)
    frame["subject"] = [f"s{group}" for group in groups]
    text = frame.to_csv(index=False)
    result = run("fit", "-", "-k", 1, "--columns", "x0:x4", "-c", "x6", "--group-column", "subject", "--json",
                 stdin=text)  # fmt: skip
    assert result.exit_code == 0, result.output
    chosen = frame[["x0", "x1", "x2", "x3", "x4", "x6"]].to_numpy()
    expected = CorrectedPCACV(1).fit(chosen, groups=groups)
    record = json.loads(result.stdout)
    assert record["data"] == "standard input"
    assert record["settings"]["grouped"]
    np.testing.assert_allclose(record["steps"][0]["risks"], expected.steps_[0].risks, rtol=1e-12)


def test_a_part_of_the_variance_as_rank(frame):
    record = json.loads(run("fit", "data.csv", "-k", "0.6", "--json").stdout)
    assert record["n_components"] == AttenuatedPCACV(0.6).fit(frame.to_numpy()).n_components_


def test_nothing_is_written_where_one_file_exists(frame):
    os.mkdir("attenua-fit")
    Path("attenua-fit/model.npz").write_text("mine")
    result = run("fit", "data.csv", "-k", 2)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: attenua-fit/model.npz exists already")
    assert os.listdir("attenua-fit") == ["model.npz"]
    assert Path("attenua-fit/model.npz").read_text() == "mine"
    assert run("fit", "data.csv", "-k", 2, "--force").exit_code == 0
    assert load_model("attenua-fit/model.npz").n_components_ == 2


def test_nothing_is_written_where_writing_fails(frame, monkeypatch):
    real = os.fsync
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    result = run("fit", "data.csv", "-k", 2)
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert os.listdir() == ["data.csv"]


def test_an_output_folder_that_cannot_be_made(frame):
    Path("taken").touch()
    result = run("fit", "data.csv", "-k", 2, "--out", "taken/deep")
    assert result.exit_code == 1
    assert "taken/deep/components.csv cannot be written: taken is a file, not a folder" in result.stderr
    result = run("fit", "data.csv", "-k", 2, "--out", "taken")
    assert result.exit_code == 1
    assert "taken is a file; --out takes the name of a folder" in result.stderr


def test_data_problems_end_with_1_and_a_sentence(frame):
    frame.astype(object).map(str).mask(frame.index.to_series().eq(16), "low").to_csv("bad.csv", index=False)
    frame.drop(columns="x3").to_csv("other.csv", index=False)
    for arguments, sentence in (
        (["bad.csv"], "bad.csv: row 17 (line 18), column 'x0' holds 'low'"),
        (["none.csv"], "none.csv does not exist."),
        (["data.csv", "--columns", "y"], "data.csv has no column 'y'"),
        (["data.csv", "--group-column", "y"], "data.csv has no column 'y' for --group-column"),
        (["data.csv", "-k", "9"], "data.csv: --components 9 must be between 1 and"),
        (["data.csv", "--neighbours", "3x3"], "data.csv: --neighbours (3, 3) is a grid of 9 columns"),
        (["data.csv", "--corrections", "smoothing"], "smoothing, which needs --neighbours"),
        (["data.csv", "--reference", "none.csv"], "--reference: none.csv does not exist."),
        (["data.csv", "--reference", "bad.csv"], "--reference: bad.csv: row 17 (line 18), column 'x0' holds"),
        (["data.csv", "--reference", "other.csv"], "--reference: other.csv has no column 'x3', which the"),
        (["data.csv", "--reference", "data.csv"], "data.csv: 40 rows of X are in --reference too, the first"),
        (
            ["data.csv", "-k", "2", "--cv", "41"],
            "--cv 41 folds need at least as many rows; got 40 rows.",
        ),
    ):
        result = run("fit", *arguments)
        assert result.exit_code == 1, arguments
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1
        assert not os.path.exists("attenua-fit")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-k", "0"], "'0' is neither a number of components"),
        (["-k", "many"], "'many' is neither"),
        (["--method", "best"], "'best' is not one of 'corrected', 'attenuated', 'pca'"),
        (["--corrections", "damping,sorting"], "'sorting' is not a correction; choose from"),
        (["--neighbours", "28"], "'28' is neither 'line' nor the shape of a grid"),
        (["--neighbours", "0x8"], "'0x8' is neither 'line'"),
        (["--method", "pca", "--reference", "data.csv"], "belongs to --method corrected"),
        (["--alphas", "mask"], "belongs to --method attenuated, but this is --method corrected"),
        (["--method", "pca", "--cv", "3"], "belongs to --method corrected or attenuated"),
        (["--alphas", "0,2"], "'0,2' is neither 'direct' nor 'mask'"),
        (["--alphas", "strong"], "'strong' is neither"),
        (["--cv", "1"], "Invalid value for '--cv'"),
        (["--seed", 2**32], "Invalid value for '--seed'"),
        (["--image-shape", "8by8"], "'8by8' is not a shape"),
        (["--image-shape", "8x8"], "it shows rows in the report; add --report."),
    ],
)
def test_usage_problems_end_with_2(frame, arguments, sentence):
    result = run("fit", "data.csv", *arguments)
    assert result.exit_code == 2
    assert sentence in words(result.stderr)


def test_a_tie_is_a_note(tmp_path):
    np.save("tied.npy", np.vstack([np.eye(4), -np.eye(4)] * 5))
    result = run("fit", "tied.npy", "-k", 2)
    assert result.exit_code == 0
    assert "Note: The cut at --components 2 falls on a tie" in result.stderr
    assert "Choose another --components to avoid it" in result.stderr


def test_transform_gives_the_scores_of_the_fit(frame):
    run("fit", "data.csv", "-k", 2)
    # Other columns and another order make no difference: names decide.
    frame.assign(extra=1.0)[["extra", *NAMES[::-1]]].to_parquet("new.parquet")
    result = run("transform", "attenua-fit/model.npz", "new.parquet", "--out", "new.csv")
    assert result.exit_code == 0, result.output
    assert "scores of 40 rows on 2 components written to new.csv" in words(result.output)
    assert Path("new.csv").read_text() == Path("attenua-fit/scores.csv").read_text()
    result = run("transform", "attenua-fit/model.npz", "-", "--out", "-", stdin=frame.to_csv(index=False))
    assert result.stdout == Path("new.csv").read_text()
    result = run("transform", "attenua-fit/model.npz", "new.parquet", "--out", "new.npy", "--json")
    assert json.loads(result.stdout) == {
        "data": "new.parquet",
        "n_rows": 40,
        "n_components": 2,
        "notes": [],
        "files": ["new.npy"],
    }
    np.testing.assert_array_equal(np.load("new.npy"), exactly("new.csv")[1])


def test_columns_that_are_chosen_are_matched_by_name_too(frame):
    run("fit", "data.csv", "-k", 2)
    frame.assign(extra=1.0)[["extra", *NAMES[::-1]]].to_csv("new.csv", index=False)
    for chosen in ("2:", ",".join(NAMES[3:] + NAMES[:3])):
        run("transform", "attenua-fit/model.npz", "new.csv", "--columns", chosen, "--out", "s.csv", "--force")
        assert Path("s.csv").read_text() == Path("attenua-fit/scores.csv").read_text()
    # Columns with other names are taken in the order in which they are chosen.
    frame.rename(columns=str.upper).to_csv("new.csv", index=False)
    run("transform", "attenua-fit/model.npz", "new.csv", "--columns", "1:", "--out", "t.csv")
    assert Path("t.csv").read_text() == Path("attenua-fit/scores.csv").read_text()


def test_transform_of_one_row_and_of_columns_without_names(frame):
    run("fit", "data.csv", "-k", 2)
    np.save("row.npy", np.column_stack([[7.0], frame.to_numpy()[:1]]))
    result = run("transform", "attenua-fit/model.npz", "row.npy", "--columns", "2:9")
    assert result.exit_code == 0, result.output
    first = pd.read_csv("attenua-fit/scores.csv").iloc[0]
    np.testing.assert_allclose(pd.read_csv("scores.csv").iloc[0], first, rtol=1e-12)


def test_transform_fails_with_sentences(frame):
    run("fit", "data.csv", "-k", 2)
    model = "attenua-fit/model.npz"
    frame.drop(columns="x3").to_csv("less.csv", index=False)
    np.save("wide.npy", np.zeros((3, 9)))
    Path("there.csv").touch()
    for arguments, sentence in (
        ([model, "less.csv"], "less.csv has no column 'x3', which the model was fitted to"),
        ([model, "wide.npy"], "wide.npy has 9 columns of numbers, but the model was fitted to 8"),
        ([model, "none.csv"], "none.csv does not exist"),
        (["data.csv", "data.csv"], "data.csv is not a model file"),
        (["none.npz", "data.csv"], "none.npz cannot be read"),
        ([model, "data.csv", "--out", "there.csv"], "there.csv exists already"),
        (
            [model, "data.csv", "--out", "nowhere/scores.csv"],
            "nowhere/scores.csv cannot be written: the folder nowhere does not exist.",
        ),
    ):
        result = run("transform", *arguments)
        assert result.exit_code == 1, arguments
        assert result.stderr.startswith("Error: ")
        assert sentence in result.stderr
    assert Path("there.csv").read_text() == ""
    assert run("transform", model, "data.csv", "--out", "there.csv", "--force").exit_code == 0
    assert Path("there.csv").read_text() != ""
    assert run("transform", model, "data.csv", "--out", "x.xlsx").exit_code == 2
    assert run("transform", model, "data.csv", "--out", "-", "--json").exit_code == 2
    assert run("transform", model).exit_code == 2
