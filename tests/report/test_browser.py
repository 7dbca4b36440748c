"""The page in a real browser: it renders, the charts react, and nothing leaves it or runs that should not."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from attenua import AttenuatedPCACV, CorrectedPCA
from attenua.report import report
from tests.helpers import spiked_rows
from tests.report.conftest import CHROMIUM, HOSTILE, PHONE, WIDE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="no browser"),
]


@pytest.fixture(scope="module")
def address(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    page.save(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def pixels_address(tmp_path_factory):
    rows = spiked_rows(60, 16)
    path = tmp_path_factory.mktemp("report") / "pixels.html"
    report(AttenuatedPCACV(3).fit(rows), rows, path, image_shape=(4, 4))
    return path.as_uri()


@pytest.fixture(scope="module")
def corrected_address(corrected_page, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "corrected.html"
    corrected_page.save(path)
    return path.as_uri()


def plot(tab, key):
    return tab.locator(f"figure[data-chart={key}] svg.plot")


def ends(tab, key):
    return tuple(float(plot(tab, key).get_attribute(name)) for name in ("data-x-min", "data-x-max"))


def point_at(tab, key, across=0.5, down=0.4):
    plot(tab, key).scroll_into_view_if_needed()
    box = plot(tab, key).bounding_box()
    tab.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
def test_all_charts_render_within_the_width(visit, address, viewport, scheme):
    tab = visit(address, viewport, color_scheme=scheme)
    charts = [
        "profiles",
        "spectrum",
        "loadings",
        "variance",
        "moves",
        "step-attenuation",
    ]
    assert tab.locator("figure[data-chart]").count() == len(charts)
    for key in charts:
        box = plot(tab, key).bounding_box()
        assert box["width"] > 250
        assert box["height"] > 150
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= viewport["width"]
        assert plot(tab, key).locator(".line, .dot, .column").count() > 0
    assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def luminance(tab, expression):
    """Return the lightness, from 0 to 255, of a colour that the page computes."""
    numbers = tab.evaluate(f"({expression}).match(/[0-9.]+/g).slice(0, 3).map(Number)")
    return 0.2126 * numbers[0] + 0.7152 * numbers[1] + 0.0722 * numbers[2]


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_colours_follow_the_scheme_and_stand_out(visit, address, scheme, dark):
    tab = visit(address, color_scheme=scheme)
    paper = luminance(tab, "getComputedStyle(document.body).backgroundColor")
    ink = luminance(tab, "getComputedStyle(document.body).color")
    text = luminance(tab, "getComputedStyle(document.querySelector('svg.plot text')).fill")
    line = luminance(tab, "getComputedStyle(document.querySelector('svg.plot .role-att.line')).stroke")
    assert (paper < 60) == dark
    assert (ink > paper) == dark
    for shade in (ink, text, line):
        assert abs(shade - paper) > 90


@pytest.mark.parametrize(
    ("key", "viewport"), [("step-attenuation", WIDE), ("moves", PHONE), ("loadings", WIDE)]
)
def test_hovering_shows_values(visit, address, viewport, key):
    tab = visit(address, viewport)
    tip = tab.locator(f"figure[data-chart={key}] .tip")
    expect(tip).to_be_hidden()
    point_at(tab, key)
    expect(tip).to_be_visible()
    first = tip.inner_text()
    assert ":" in first
    box, frame = tip.bounding_box(), plot(tab, key).bounding_box()
    assert box["x"] >= frame["x"] - 1
    assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    point_at(tab, key, across=0.9, down=0.15)
    assert tip.inner_text() != first
    tab.mouse.move(1, 1)
    expect(tip).to_be_hidden()


def test_the_tip_tells_the_values_of_the_fit(visit, address, model):
    tab = visit(address)
    point_at(tab, "step-attenuation", across=0.999)
    said = tab.locator("figure[data-chart=step-attenuation] .tip").inner_text()
    change = 100 * (model.cv_risk_[-1] / model.cv_risk_[0] - 1)
    assert "strength of attenuation 1" in said
    assert "held-out risk: " + f"{change:.4g}".replace("-", "−") in said


@pytest.mark.parametrize(("key", "viewport"), [("step-attenuation", WIDE), ("moves", PHONE)])
def test_buttons_zoom_and_reset(visit, address, viewport, key):
    tab = visit(address, viewport)
    figure, before = tab.locator(f"figure[data-chart={key}]"), ends(tab, key)
    labels = figure.locator(".xtick").all_text_contents()
    reset = figure.get_by_role("button", name="Show everything")
    expect(reset).to_be_disabled()
    figure.get_by_role("button", name="Zoom in").click()
    inner = ends(tab, key)
    assert inner[1] - inner[0] == pytest.approx((before[1] - before[0]) / 2)
    assert figure.locator(".xtick").all_text_contents() != labels
    figure.get_by_role("button", name="Zoom in").click()
    figure.get_by_role("button", name="Zoom out").click()
    assert ends(tab, key) == pytest.approx(inner)
    reset.click()
    assert ends(tab, key) == before
    assert figure.locator(".xtick").all_text_contents() == labels


def test_dragging_zooms_to_what_was_marked_and_a_double_click_resets(visit, address):
    tab = visit(address)
    before = ends(tab, "step-attenuation")
    point_at(tab, "step-attenuation", 0.4)
    tab.mouse.down()
    point_at(tab, "step-attenuation", 0.7)
    expect(plot(tab, "step-attenuation").locator(".brush")).to_be_visible()
    tab.mouse.up()
    low, high = ends(tab, "step-attenuation")
    assert before[0] < low < high < before[1]
    assert high - low == pytest.approx(0.33, abs=0.05)
    plot(tab, "step-attenuation").dblclick()
    assert ends(tab, "step-attenuation") == before


def test_the_keyboard_reaches_every_value(visit, address):
    tab = visit(address)
    svg, tip = plot(tab, "step-attenuation"), tab.locator("figure[data-chart=step-attenuation] .tip")
    svg.focus()
    tab.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("strength of attenuation 0")
    tab.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("strength of attenuation 0.05")
    before = ends(tab, "step-attenuation")
    tab.keyboard.press("+")
    assert ends(tab, "step-attenuation") != before
    tab.keyboard.press("0")
    assert ends(tab, "step-attenuation") == before
    tab.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    assert len(svg.get_attribute("aria-label")) > 40


def test_a_finger_scrubs(visit, address):
    tab = visit(address, PHONE, has_touch=True, is_mobile=True)
    plot(tab, "spectrum").scroll_into_view_if_needed()
    box = plot(tab, "spectrum").bounding_box()
    tab.touchscreen.tap(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    expect(tab.locator("figure[data-chart=spectrum] .tip")).to_contain_text("before: S:")
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_components_can_be_chosen_and_tables_opened(visit, address):
    tab = visit(address)
    figure = tab.locator("figure[data-chart=loadings]")
    names = figure.locator("text.name").all_text_contents()
    figure.locator("select").select_option(label="Component 2")
    assert figure.locator("text.name").all_text_contents() != names
    expect(figure.locator("table")).to_be_hidden()
    figure.locator("summary").click()
    expect(figure.locator("table")).to_be_visible()


def test_names_are_shown_as_they_are(visit, address):
    tab = visit(address)
    titles = plot(tab, "moves").locator("text.name title").all_text_contents()
    assert HOSTILE in titles
    row = titles.index(HOSTILE)
    plot(tab, "moves").focus()
    for _ in range(row + 1):
        tab.keyboard.press("ArrowDown")
    expect(tab.locator("figure[data-chart=moves] .tip b")).to_have_text(HOSTILE)


def test_charts_follow_the_width_of_the_window(visit, address):
    tab = visit(address)
    wide = plot(tab, "step-attenuation").bounding_box()["width"]
    tab.set_viewport_size(PHONE)
    expect(plot(tab, "step-attenuation")).not_to_have_attribute("viewBox", f"0 0 {wide:g} 340")
    assert plot(tab, "step-attenuation").bounding_box()["width"] < PHONE["width"]
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_pictures_are_decoded_and_fit(visit, pixels_address):
    tab = visit(pixels_address, PHONE)
    assert tab.locator("img").count() == 6 * 3 + 3 * 2
    assert tab.evaluate("[...document.images].every((i) => i.complete && i.naturalWidth === 4)")
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_missing_cells_are_a_picture_that_fits_and_rings(visit, tmp_path):
    rows = spiked_rows(200, 400)
    rows[::2, 3] = rows[5:9, 100:150] = np.nan
    path = tmp_path / "missing.html"
    report(CorrectedPCA(2, damping=0.5).fit(rows), rows, path)
    tab = visit(path.as_uri(), PHONE)
    assert tab.evaluate("document.querySelector('.holes').naturalWidth") == 300
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    rings = tab.locator("figure[data-chart=profiles] svg.plot circle.role-best.mark")
    views = tab.locator("figure[data-chart=profiles] select")
    counts = []
    for view in range(6):
        views.select_option(str(view))
        counts.append(rings.count())
    assert 0 < sum(counts) < 6 * 60


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
def test_the_page_of_a_search_fits_and_its_steps_react(
    visit, corrected_address, corrected_model, viewport, scheme
):
    tab = visit(corrected_address, viewport, color_scheme=scheme)
    tab.evaluate("document.querySelectorAll('details.step').forEach((step) => { step.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    for figure in tab.locator("figure[data-chart]").all():
        box = figure.locator("svg.plot").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= viewport["width"]
    expect(plot(tab, "step-smoothing").locator(".role-best.mark")).to_have_count(1)
    expect(plot(tab, "step-smoothing").locator(".role-best.line")).to_have_count(1)
    plot(tab, "step-smoothing").focus()
    step = corrected_model.steps_["smoothing"]
    for _ in range(1 + step.strengths.index(step.best)):
        tab.keyboard.press("ArrowRight")
    tip = tab.locator("figure[data-chart=step-smoothing] .tip")
    expect(tip).to_contain_text("± standard error: −")


ROW_NAMES = [HOSTILE, "=1+1", "+cmd|' /C calc'!A0", "-2.5", "@x", ' =a"b', "plain", "café, β"]


@pytest.fixture(scope="module")
def coloured():
    """Rows, their fit, names that try to be markup or formulas, and labels that try to be markup."""
    rows = spiked_rows(40, 6)
    model = CorrectedPCA(3, tempering=0.5).fit(rows)
    return rows, model, ROW_NAMES * 5, np.array(["a", "<b>b</b>"])[np.arange(40) % 2]


@pytest.fixture(scope="module")
def scores_address(coloured, tmp_path_factory):
    rows, model, names, labels = coloured
    path = tmp_path_factory.mktemp("report") / "scores.html"
    report(model, rows, path, colour_by=labels, row_names=names, feature_names=["=A1", *"bcdef"])
    return path.as_uri()


def scatter(tab):
    return tab.locator("figure[data-scatter=scores] svg.plot")


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["desktop", "phone"])
def test_scores_are_points_with_colours_names_and_arrows(visit, scores_address, coloured, viewport):
    tab = visit(scores_address, viewport)
    figure = tab.locator("figure[data-scatter=scores]")
    assert scatter(tab).locator(".point").count() == 40
    assert scatter(tab).locator(".point.kind-1").count() == 20
    assert figure.locator(".legend li").all_text_contents() == ["colour:", "<b>b</b>", "a"]
    box = scatter(tab).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= viewport["width"]
    assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    scatter(tab).scroll_into_view_if_needed()
    first = scatter(tab).locator(".point").first.bounding_box()
    tab.mouse.move(first["x"] + first["width"] / 2, first["y"] + first["height"] / 2)
    tip = figure.locator(".tip")
    expect(tip.locator("b")).to_have_text(HOSTILE)
    expect(tip).to_contain_text("colour: a")
    value = f"{coloured[1].transform(coloured[0])[0, 0]:.4g}".replace("-", "−")
    expect(tip).to_contain_text(f"component 1: {value}")
    assert scatter(tab).locator(".arrow").count() == 6
    figure.get_by_label("columns as arrows").uncheck()
    assert scatter(tab).locator(".arrow").count() == 0


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["desktop", "phone"])
def test_names_of_arrows_cover_neither_each_other_nor_the_axes(visit, tmp_path, viewport):
    """Two columns have long arrows, in units far apart; ten have short ones, all in one place."""
    rows = spiked_rows(40, 12) * np.r_[300, 10, np.full(10, 0.3)]
    names = [f"a column with a name {k}" for k in range(12)]
    report(CorrectedPCA(2).fit(rows), rows, tmp_path / "arrows.html", feature_names=names)
    tab = visit((tmp_path / "arrows.html").as_uri(), viewport)
    assert scatter(tab).locator("line.arrow title").all_text_contents() == names
    drawn = [label.bounding_box() for label in scatter(tab).locator(".arrowname").all()]
    frame = scatter(tab).bounding_box()
    assert len(drawn) >= 2
    for box in drawn:
        assert frame["x"] + 50 < box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    for a, b in itertools.combinations(drawn, 2):
        across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
        down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
        assert across <= 0 or down <= 3  # lines of text may touch
    # Each of the two goes along an axis as far as the picture allows.
    lengths = sorted(max(a["width"], a["height"]) for a in
                     (line.bounding_box() for line in scatter(tab).locator("line.arrow").all()))  # fmt: skip
    assert lengths[-2] > 60


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["desktop", "phone"])
def test_places_of_an_outlier_over_many_decades_do_not_overlap(visit, tmp_path, viewport):
    rows = spiked_rows(40, 5)
    rows[7, 2] = 1e6
    path = tmp_path / "outlier.html"
    report(CorrectedPCA(2).fit(rows), rows, path)
    tab = visit(path.as_uri(), viewport)
    texts = tab.locator("figure[data-scatter] svg.plot", has=tab.locator(".limit")).locator("text")
    assert "1e6" in texts.all_text_contents()
    boxes = [texts.nth(number).bounding_box() for number in range(texts.count())]
    for a, b in itertools.combinations(boxes, 2):
        across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
        down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
        assert across <= 0 or down <= 3  # lines of text may touch


def test_other_components_can_be_chosen_and_the_keyboard_reaches_points(visit, scores_address):
    tab = visit(scores_address)
    figure = tab.locator("figure[data-scatter=scores]")
    before = scatter(tab).locator(".point").first.get_attribute("cx")
    figure.get_by_label("Across").select_option(value="2")
    expect(scatter(tab).locator(".xname")).to_contain_text("component 3")
    assert scatter(tab).locator(".point").first.get_attribute("cx") != before
    scatter(tab).focus()
    tab.keyboard.press("ArrowRight")
    expect(figure.locator(".tip")).to_contain_text("component 3:")
    said = figure.locator(".tip").inner_text()
    tab.keyboard.press("ArrowRight")
    assert figure.locator(".tip").inner_text() != said
    tab.keyboard.press("Escape")
    expect(figure.locator(".tip")).to_be_hidden()


def saved(tab, name, folder):
    """Return the name and the lines of the file that a button of the page saves."""
    with tab.expect_download() as download:
        tab.get_by_role("button", name=name).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    with path.open(encoding="utf-8", newline="") as file:
        return path.name, list(csv.reader(file))


def test_scores_and_loadings_are_saved_and_no_name_is_a_formula(visit, scores_address, coloured, tmp_path):
    rows, model, _, _ = coloured
    tab = visit(scores_address)
    file_name, (head, *lines) = saved(tab, "Scores as CSV", tmp_path)
    assert file_name == "scores.csv"
    assert head == ["row", "name", "component 1", "component 2", "component 3"]
    scores = np.array([line[2:] for line in lines], float)
    np.testing.assert_allclose(scores, model.transform(rows), rtol=1e-7)
    assert [line[0] for line in lines] == [str(row) for row in range(1, 41)]
    expected = [HOSTILE, "'=1+1", "'+cmd|' /C calc'!A0", "-2.5", "'@x", "' =a\"b", "plain", "café, β"]
    assert [line[1] for line in lines[:8]] == expected
    file_name, (head, *lines) = saved(tab, "Loadings as CSV", tmp_path)
    assert file_name == "loadings.csv"
    assert head == ["column", "component 1", "component 2", "component 3"]
    assert [line[0] for line in lines] == ["'=A1", *"bcdef"]
    loadings = np.array([line[1:] for line in lines], float)
    np.testing.assert_allclose(loadings, model.loadings_, rtol=1e-7)


def test_a_scale_colours_one_component_against_the_rows(visit, tmp_path):
    rows = spiked_rows(40, 6)
    values = np.where(np.arange(40) == 3, np.nan, rows[:, 0])
    report(CorrectedPCA(1).fit(rows), rows, tmp_path / "one.html", colour_by=values, colour_name="first")
    tab = visit((tmp_path / "one.html").as_uri(), PHONE)
    assert scatter(tab).locator(".point[fill^=rgb]").count() == 39
    assert scatter(tab).locator(".kind-none").count() == 1
    expect(scatter(tab).locator(".xname")).to_have_text("row")
    expect(tab.locator("figure[data-scatter=scores] .legend")).to_contain_text("missing")
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_it_prints_on_two_sheets(visit, corrected_address, address):
    for each in (corrected_address, address):
        pdf = visit(each).pdf(prefer_css_page_size=True)
        assert pdf.count(b"/Type /Page\n") == 2
