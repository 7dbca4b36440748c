"""Results in a notebook: well formed, with the numbers of the result, and escaped."""

from xml.etree import ElementTree

import numpy as np

from attenua import attenuation_path
from attenua._estimate.html import result_html
from tests.helpers import spiked_rows

X = spiked_rows(60, 5)


def parsed(html):
    return ElementTree.fromstring(f"<div>{html}</div>")


def cells(tree):
    return [[cell.text or "" for cell in row] for row in tree.findall(".//tbody/tr")]


def test_a_path_shows_what_it_captures_and_how_far_it_turns():
    path = attenuation_path(X, 2, alphas=[0, 0.4, 1])
    tree = parsed(path._repr_html_())
    rows = cells(tree)
    assert [row[0] for row in rows] == ["0", "0.4", "1"]
    captured = 100 * path.explained_variance_ratio.sum(axis=1)
    np.testing.assert_allclose([float(row[1]) for row in rows], captured, atol=0.01)
    np.testing.assert_allclose(
        [float(row[2]) for row in rows], np.degrees(path.angles_to_pca()[:, 0]), atol=0.01
    )
    assert tree.find(".//svg").get("aria-label")


def test_texts_are_escaped_and_short_curves_left_out():
    html = result_html("<b>", [("<i>", "<u>")], ["<p>"], [["<q>"]], curve=([0], [1], '"<s>'))
    assert not any(tag in html for tag in ("<b>", "<i>", "<u>", "<p>", "<q>", "<s>"))
    assert "<svg" not in html
    assert "&quot;&lt;s&gt;" in result_html("", [], [], [], curve=([0, 1], [1, 2], '"<s>'))
