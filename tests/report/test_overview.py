"""Scores, colours, explained variance and loadings on the page, against the fit and direct computation."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.report import overview, report
from attenua.report.overview import colour_of
from tests.helpers import spiked_rows

X = spiked_rows(40, 6)


def data_of(page):
    return json.loads(page.html.split('id="report-data">')[1].split("</script>")[0])


@pytest.mark.parametrize(
    "model",
    [
        AttenuatedPCA(3, alpha=0.5),
        AttenuatedPCACV(3),
        CorrectedPCA(3, tempering=0.5),
        CorrectedPCA(3),
        CorrectedPCACV(3, whiten=True),
    ],
)
def test_scores_loadings_and_variance_are_those_of_the_fit(model):
    page = report(model.fit(X), X)
    data = data_of(page)
    scores, loadings = data["tables"]["scores"], data["tables"]["loadings"]
    np.testing.assert_allclose(np.transpose(scores["values"]), model.transform(X), rtol=1e-7)
    np.testing.assert_allclose(np.transpose(loadings["values"]), model.loadings_, rtol=1e-7)
    np.testing.assert_allclose(np.transpose(scores["arrows"]["values"]), model.loadings_, rtol=1e-4)
    each, together = data["charts"]["variance"]
    np.testing.assert_allclose(each["series"][-1]["y"], 100 * model.explained_variance_ratio_, rtol=1e-4)
    pca = 100 * PCA(3).fit(X).explained_variance_ratio_
    np.testing.assert_allclose(each["series"][0]["y"], pca, rtol=1e-4)
    np.testing.assert_allclose(together["series"][0]["y"], np.cumsum(each["series"][0]["y"]), rtol=1e-4)
    # One meaning of the word: the bars show what the file and the arrows hold, in the signs of the scores.
    if isinstance(model, CorrectedPCA):
        curve = -1 if model.tempering else 0
        bars = [
            dict(zip(v["rows"], v["series"][curve]["x"], strict=True)) for v in data["charts"]["loadings"]
        ]
        np.testing.assert_allclose([bar["column 1"] for bar in bars], model.loadings_[0], rtol=1e-4)


def test_names_and_labels_reach_the_page():
    iris = load_iris(as_frame=True)
    species = pd.Series(iris.target_names[iris.target], name="species")
    names = [f"flower {k}" for k in range(150)]
    page = report(AttenuatedPCA(2, alpha=0.1).fit(iris.data), iris.data, colour_by=species, row_names=names)
    scores = data_of(page)["tables"]["scores"]
    assert scores["names"] == names
    assert scores["colour"]["name"] == "species"
    assert [scores["colour"]["labels"][code] for code in scores["colour"]["codes"]] == species.tolist()
    assert "Coloured by species." in page.html
    assert "colour_by=colour_by, row_names=row_names)" in page.html
    assert scores["arrows"]["names"] == list(iris.data.columns)
    named = report(AttenuatedPCA(2).fit(iris.data), iris.data, colour_by=species, colour_name="kind")
    assert "colour_by=colour_by, colour_name=colour_name)" in named.html


@pytest.mark.parametrize(
    ("values", "labels", "others"),
    [
        (["b", "a", "b"], ["a", "b"], ""),
        ([10, 9, 10], ["9", "10"], ""),
        ([1.0, 0.0, np.nan], ["0", "1"], "missing"),
        ([True, False, True], ["False", "True"], ""),
        (np.array(["a", None, "b"], dtype=object), ["a", "b"], "missing"),
        (pd.Categorical(["low", "high", "low"]), ["high", "low"], ""),
    ],
)
def test_texts_and_a_few_whole_numbers_are_labels(values, labels, others):
    colour = colour_of(values, "name", None, 3)
    assert (colour["labels"], colour["others"]) == (labels, others)
    assert (colour["codes"] == -1).sum() == bool(others)


def test_other_numbers_are_a_scale_and_many_labels_share_a_grey():
    numbers = np.linspace(0, 1, 40)
    colour = colour_of(numbers, None, None, 40)
    np.testing.assert_array_equal(colour["values"], numbers)
    assert "values" in colour_of(np.arange(40), None, None, 40)
    many = colour_of([f"person {k}" for k in np.r_[np.arange(15), [3] * 25]], None, None, 40)
    assert len(many["labels"]) == overview.MOST_LABELS
    assert "person 3" in many["labels"]
    assert many["others"] == "5 others"
    assert (many["codes"] == -1).sum() == 5


def test_groups_colour_the_scores_unless_something_else_is_asked_for():
    groups = np.repeat(np.arange(8), 5)
    model = AttenuatedPCACV(2).fit(X, groups=groups)
    colour = data_of(report(model, X, groups=groups))["tables"]["scores"]["colour"]
    assert (colour["name"], colour["codes"]) == ("group", groups.tolist())
    page = report(model, X, groups=groups, colour_by=X[:, 0], colour_name="first")
    colour = data_of(page)["tables"]["scores"]["colour"]
    assert colour["name"] == "first"
    np.testing.assert_allclose(colour["values"], X[:, 0], rtol=1e-4)
    assert data_of(report(AttenuatedPCA(2, alpha=0).fit(X), X))["tables"]["scores"]["colour"] is None


@pytest.mark.parametrize("argument", ["colour_by", "row_names"])
def test_wrong_lengths_name_the_argument(argument):
    model = CorrectedPCA(2).fit(X)
    with pytest.raises(ValueError, match=f"{argument} must hold one value for each of the 40 rows; got 3"):
        report(model, X, **{argument: ["a", "b", "c"]})
    with pytest.raises(ValueError, match=rf"{argument} must hold one value .* got shape \(40, 2\)"):
        report(model, X, **{argument: np.zeros((40, 2))})


def test_many_rows_are_drawn_in_part_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(overview, "MOST_POINTS", 25)
    model = CorrectedPCA(2).fit(X)
    names = [f"r{k}" for k in range(40)]
    page = report(model, X, row_names=names)
    scores = data_of(page)["tables"]["scores"]
    assert len(set(scores["drawn"])) == 25
    assert len(scores["rows"]) == 40
    assert "25 of the 40 rows, drawn at random" in page.html
    assert 'data-file="scores"' in page.html
    monkeypatch.setattr(overview, "MOST_VALUES", 79)
    page = report(model, X, row_names=names)
    scores = data_of(page)["tables"]["scores"]
    assert scores["drawn"] == list(range(25))
    kept = np.array(scores["rows"]) - 1
    np.testing.assert_allclose(np.transpose(scores["values"]), model.transform(X)[kept], rtol=1e-7)
    assert scores["names"] == [names[row] for row in kept]
    assert 'data-file="scores"' not in page.html
    assert "80 numbers are too many for a page" in page.html
    assert 'data-file="loadings"' in page.html


def curves(names, neighbours):
    model = CorrectedPCA(2, smoothing=0.8, neighbours=neighbours).fit(X)
    return data_of(report(model, X, feature_names=names))["charts"]["loadings"], model


def test_columns_on_a_line_have_curves_at_their_wavelengths():
    views, model = curves(["400", "410.5", "421", "431", "441", "450"], "line")
    assert views[0]["type"] == "xy"
    for view, row in zip(views, model.loadings_.T, strict=True):
        assert view["series"][1]["x"] == [400, 410.5, 421, 431, 441, 450]
        np.testing.assert_allclose(view["series"][1]["y"], row, rtol=1e-4)
    falling, model = curves(["6", "5", "4", "3", "2", "1"], "line")
    assert falling[0]["series"][1]["x"] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(falling[0]["series"][1]["y"], model.loadings_[::-1, 0], rtol=1e-4)


@pytest.mark.parametrize(
    "names", [list("abcdef"), ["1", "2", "3", "3", "4", "5"], ["1", "nan", "2", "3", "4", "5"]]
)
def test_columns_on_a_line_without_numbers_are_counted(names):
    views, _ = curves(names, "line")
    assert views[0]["series"][0]["x"] == [1, 2, 3, 4, 5, 6]
    assert views[0]["ticks"] == names


def test_columns_without_an_order_have_rows_by_name():
    views, _ = curves(["400", "410", "420", "430", "440", "450"], (2, 3))
    assert views[0]["type"] == "rows"
