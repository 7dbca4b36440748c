"""Results in a notebook: well formed, with the numbers of the result, and escaped."""

from xml.etree import ElementTree

import numpy as np

from attenua import AttenuatedPCACV, attenuation_path, paired_gain
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


def facts(html):
    return {row[0].text: row[1].text for row in parsed(html).findall(".//tr")}


def test_a_paired_gain_shows_how_sure_it_is():
    paired = paired_gain(AttenuatedPCACV(1).fit(X))
    shown = facts(paired._repr_html_())
    assert shown["to expect of new rows"].startswith(f"{abs(paired.crossed_gain):.2%} ")
    assert shown["all held-out rows together"].endswith(f"standard error {paired.standard_error:.2%}")
    assert shown["its 95% interval"] == "{:.2%} to {:.2%}".format(*paired.interval)
    assert shown["held-out parts"] == f"better in {paired.n_better} of 5, worse in {paired.n_worse}"
    assert "array" not in repr(paired)
    assert list(facts(paired_gain(AttenuatedPCACV(1).fit(X), 0.0)._repr_html_())) == ["held-out parts"]


def test_texts_are_escaped_and_short_curves_left_out():
    html = result_html("<b>", [("<i>", "<u>")], ["<p>"], [["<q>"]], curve=([0], [1], '"<s>'))
    assert not any(tag in html for tag in ("<b>", "<i>", "<u>", "<p>", "<q>", "<s>"))
    assert "<svg" not in html
    assert "&quot;&lt;s&gt;" in result_html("", [], [], [], curve=([0, 1], [1, 2], '"<s>'))
