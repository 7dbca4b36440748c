"""Missing cells on the page: how many, where, and marked where rows are reconstructed."""

import base64
import struct
import warnings
import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.report import missing, report
from attenua.report.findings import find
from attenua.report.images import grey_image, missing_image
from attenua.report.missing import MissingCells, find_missing
from tests.helpers import spiked_rows
from tests.report.conftest import HOSTILE
from tests.report.test_overview import data_of
from tests.report.test_page import Elements

TITLE = "How much is missing, and where?"


@pytest.fixture(scope="module")
def rows():
    """Forty rows; column 6 is missing in the second half, and all of row 12 but one cell."""
    X = spiked_rows(40, 6)
    X[20:, 5] = np.nan
    X[11, 1:] = np.nan
    return X


def pixels(address):
    """Return the pixels of an RGBA image in a data address."""
    png = base64.b64decode(address.split(",")[1])
    width, height = struct.unpack(">II", png[16:24])
    start = png.index(b"IDAT") + 4
    lines = zlib.decompress(png[start : png.index(b"IEND")])
    return np.frombuffer(lines, np.uint8).reshape(height, 1 + 4 * width)[:, 1:].reshape(height, width, 4)


@pytest.mark.parametrize("container", [np.array, sp.csr_matrix])
def test_cells_are_counted_by_row_and_column(rows, container):
    found = find_missing(container(rows))
    holes = np.isnan(rows)
    np.testing.assert_allclose(found.by_row, holes.mean(axis=1))
    np.testing.assert_allclose(found.by_column, holes.mean(axis=0))
    np.testing.assert_array_equal(found.in_blocks, holes)
    assert found.size_of_block == "a cell"
    assert found.in_words() == (
        "25 of 240 cells are missing, 10%: in 21 of 40 rows and 5 of 6 columns. Row 12 misses most, 83% of "
        "its cells; the median row misses 17%."
    )
    assert find_missing(container(spiked_rows(5, 3))) is None


def test_many_cells_share_a_pixel_and_a_single_one_is_seen(monkeypatch):
    monkeypatch.setattr(missing, "_MOST_LINES", 7)
    monkeypatch.setattr(missing, "_MOST_COLUMNS", 4)
    holes = np.random.default_rng(0).random((40, 10)) < 0.2
    holes[:, :3] = False
    holes[0, 0], holes[35:, 8:] = True, True
    found = MissingCells(*np.nonzero(holes), holes.shape)
    lines, columns = np.arange(40) * 7 // 40, np.arange(10) * 4 // 10
    expected = [[holes[np.ix_(lines == i, columns == j)].mean() for j in range(4)] for i in range(7)]
    np.testing.assert_allclose(found.in_blocks, expected)
    assert found.size_of_block == "up to 6 rows by 3 columns"
    opacity = pixels(missing_image(found))[..., 3]
    assert (opacity[0, 0] > 80, opacity[1:, 0].any(), opacity[-1, -1]) == (True, False, 255)
    assert (np.argsort(opacity.ravel(), kind="stable") == np.argsort(np.ravel(expected), kind="stable")).all()


@pytest.mark.parametrize(
    "model",
    [CorrectedPCACV(2), CorrectedPCA(2, damping=0.5), AttenuatedPCACV(2), AttenuatedPCA(2, alpha=0.3)],
)
def test_every_estimator_has_a_page_about_rows_with_missing_cells(rows, model):
    rows = rows.copy()
    rows[3] = np.nan  # the fit warns of it, the page does not again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report(model, rows, feature_names=[HOSTILE, *"bcdef"])
    text = Elements(page.html).text
    assert TITLE in text
    assert "nan" not in text.lower().split("settings, versions")[0]
    (view,) = data_of(page)["charts"]["missing"]
    assert view["rows"] == ["f", "b", "c", "d", "e", HOSTILE]
    np.testing.assert_allclose(view["series"][0]["x"], [55, 5, 5, 5, 5, 2.5])
    assert "f misses most, 55% of its cells." in text


def test_without_missing_cells_the_page_does_not_speak_of_them(page):
    assert "missing" not in Elements(page.html).text.lower()


def test_errors_of_examples_are_those_of_seen_cells_and_filled_cells_are_marked(rows):
    model = CorrectedPCA(2, tempering=0.5).fit(rows)
    examples = find(model, rows).examples
    train, _ = next(ShuffleSplit(1, test_size=0.2, random_state=0).split(rows))
    fitted = CorrectedPCA(2, tempering=0.5).fit(rows[train])
    np.testing.assert_array_equal(examples.original, rows[examples.rows - 1])
    np.testing.assert_allclose(examples.other_error, fitted.reconstruction_error(examples.original))
    page = report(model, rows)
    assert "Rings mark cells that the row misses." in page.html
    views = data_of(page)["charts"]["profiles"]
    for view, original, other in zip(views, examples.original, examples.other, strict=True):
        places, drawn = np.arange(1, 7), {series["name"]: series for series in view["series"]}
        seen = ~np.isnan(original)
        assert drawn["row"]["x"] == places[seen].tolist()
        assert drawn["corrected"]["x"] == places.tolist()
        rings = drawn.get("missing, filled", {"x": [], "y": []})
        assert rings["x"] == places[~seen].tolist()
        np.testing.assert_allclose(rings["y"], other[~seen], rtol=1e-4)


def test_a_column_that_the_fitted_rows_do_not_have_leaves_no_examples(rows):
    rows = rows.copy()
    train, held = next(ShuffleSplit(1, test_size=0.2, random_state=0).split(rows))
    rows[train, 2] = np.nan
    assert np.isfinite(rows[held, 2]).sum() > 2
    page = report(CorrectedPCA(2, damping=0.5).fit(rows), rows)
    assert "Rows that the fits did not see" not in page.html


def test_missing_pixels_are_orange():
    image = pixels(grey_image(np.array([[0.0, np.nan], [1.0, 0.5]]), 0.0, 1.0))
    assert image[..., :3].tolist() == [[[255] * 3, [222, 115, 28]], [[0] * 3, [128] * 3]]
    rows = spiked_rows(40, 6)
    rows[:, 1] = np.where(np.arange(40) % 2, np.nan, rows[:, 1])
    model = CorrectedPCA(2, damping=0.5)
    said = "Orange pixels are missing in the row."
    assert said in report(model.fit(rows), rows, image_shape=(2, 3)).html
    assert said not in report(model.fit(rows), rows).html


def test_rows_with_other_cells_missing_are_refused(rows):
    model = CorrectedPCA(2).fit(rows)
    others = pd.DataFrame(np.where(np.arange(40)[:, None] == 0, np.nan, rows))
    with pytest.raises(ValueError, match="X must be the rows the estimator was fitted on"):
        report(model, others)
