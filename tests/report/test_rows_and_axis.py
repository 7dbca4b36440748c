"""Rows by their names, columns on their axis, and which rows are unusual."""

import numpy as np
import pytest

from attenua import CorrectedPCA, CorrectedPCACV
from attenua.report import report
from attenua.report.axis import axis_of
from tests.helpers import spiked_rows
from tests.report.test_corrected import text_of
from tests.report.test_overview import data_of

NAMES = [f"sample {k}" for k in range(40)]
WAVELENGTHS = [f"{850 + 2.5 * k:g} nm" for k in range(70)]


@pytest.mark.parametrize(
    ("names", "neighbours", "places", "label"),
    [
        (["850 nm", "852.5 nm", "855 nm"], None, [850, 852.5, 855], "nm"),
        (["4000", "3990", "3980"], None, [4000, 3990, 3980], "column"),
        (["-0.5", "0", "0.5"], None, [-0.5, 0, 0.5], "column"),
        (["wl-850", "wl-860", "wl-870"], "line", [850, 860, 870], "wl"),
        (["t=0.1 s", "t=0.2 s", "t=0.3 s"], "line", [0.1, 0.2, 0.3], "t, s"),
        (["q1", "q2", "q3"], "line", [1, 2, 3], "q"),
        (["850 nm", "860 nm", "age"], "line", [1, 2, 3], "column"),
        (["850 nm", "860 um", "870 nm"], "line", [1, 2, 3], "column"),
        # Names that only count, or have a text before the number, are no axis by themselves.
        (["0", "1", "2"], None, None, None),
        (["2", "3", "5"], None, None, None),
        (["gene100", "gene200", "gene300"], None, None, None),
        (["850 nm", "860 nm", "870 nm", "880 nm"], (2, 2), None, None),
        (["850 nm", "870 nm", "860 nm"], None, None, None),
    ],
)
def test_an_axis_is_read_from_names(names, neighbours, places, label):
    axis = axis_of(names, neighbours)
    assert (None if axis is None else axis.places.tolist()) == places
    assert axis is None or axis.label == label


def test_reconstructions_have_all_columns_on_the_axis_and_rows_their_names():
    rows = spiked_rows(40, 70)
    rows[12, :3] = np.nan
    page = report(
        CorrectedPCA(2, smoothing=1, neighbours="line").fit(rows),
        rows,
        feature_names=WAVELENGTHS,
        row_names=NAMES,
    )
    views = data_of(page)["charts"]["profiles"]
    for view in views:
        assert view["label"] in NAMES
        assert view["xLabel"] == "nm"
        np.testing.assert_allclose(view["series"][-1]["x"][:2], [850, 852.5])
        assert len(view["series"][1]["x"]) == 70
    assert "sample 12 misses most" in text_of(page)


def test_unusual_rows_are_those_beyond_the_limits_of_the_fit():
    rows = spiked_rows(40, 6)
    rows[7] += 20 * np.array([1, -1, 1, -1, 1, -1])
    model = CorrectedPCA(2).fit(rows)
    page, limits = report(model, rows, row_names=NAMES), model.control_limits(rows)
    assert 7 in limits.beyond(0.99)
    assert "beyond a limit of 99%: sample 7" in text_of(page)
    table = data_of(page)["tables"]["unusual"]
    np.testing.assert_allclose(table["values"], [limits.t2_rows, limits.q_rows], rtol=1e-4)
    expected = [[limit(0.95), limit(0.99)] for limit in (limits.t2, limits.q)]
    np.testing.assert_allclose(table["limits"], expected, rtol=1e-4)
    assert np.flatnonzero(np.array(table["colour"]["codes"]) == 2).tolist() == limits.beyond(0.99).tolist()


@pytest.mark.parametrize(
    ("rows", "rank", "why"),
    [(spiked_rows(40, 2), 2, "every row exactly"), (spiked_rows(6, 8), 4, "at least 3 rows more")],
)
def test_a_page_without_limits_says_why(rows, rank, why):
    page = report(CorrectedPCA(rank).fit(rows), rows)
    assert why in text_of(page).partition("Which rows are unusual?")[2]


def test_steps_that_were_not_taken_are_folded():
    rows = spiked_rows(40, 6)
    model = CorrectedPCACV(2, corrections=["damping", "tempering"]).fit(rows)
    page = report(model, rows)
    taken = sum(step.weight > 0 for step in model.steps_)
    assert page.html.count('<details class="step">') == len(model.steps_) - taken
    assert page.html.count('<article class="step') == taken
