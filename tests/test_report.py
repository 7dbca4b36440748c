"""The page about a fit: what it says, that nothing in the data can break it, and how a browser shows it."""

import os
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.report import report
from attenua.report.findings import answer, checked_rows, code_of, find
from tests.helpers import spiked_rows

# A browser is not something pip installs; continuous integration has one.
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
HOSTILE = "<script>window.hacked = 1</script>"
HOSTILE_NAMES = [
    HOSTILE,
    "</script></svg><img src=x onerror=window.hacked=1>",
    '" onload="window.hacked=1',
    "$x_1$ {{ 7 * 7 }} \\",
    "two\nlines \x00\ud800",
    "مرحبا \u202eevil",
    "#010203 url(#x) id='x'",
    "a very long name " * 30,
]
X = spiked_rows(40, 8, seed=1)
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
MODEL = CorrectedPCACV(2, nested=True).fit(X)


def noisy(n, p, seed=1):
    """One weak direction in columns of equal noise, where attenuation helps."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 1)) * np.ones(p) + rng.standard_normal((n, p))


def text_of(page):
    """Return what a reader sees of a page, without its style, in one line."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL).split())


def number(text):
    return float(text.replace(",", ""))


class Stub(CorrectedPCACV):
    """A fit of which only the answer is known."""

    def __init__(self, gain, error, choice=1.0, nested=True):
        self.choices_ = [{"damping": choice}]
        self.left_out_gain_, self.left_out_gain_error_, self.nested = gain, error, nested


@pytest.mark.parametrize(
    ("model", "turn", "word"),
    [
        (Stub(0.04, 0.01), 20.0, "Yes"),
        (Stub(0.04, 0.01), 0.05, "Yes"),
        (Stub(0.04, 0.01), np.nextafter(0.05, 0), "It makes no difference"),
        (Stub(0.04, 0.02), 20.0, "Perhaps"),
        (Stub(np.nan, np.nan), 20.0, "Perhaps"),
        (Stub(0.0, 0.01), 20.0, "No"),
        (Stub(0.04, 0.01, choice=0.0), 20.0, "No: use ordinary PCA"),
        (CorrectedPCA(2, damping=0.5), 20.0, "Nothing was compared"),
    ],
)
def test_each_border_has_its_word(model, turn, word):
    assert answer(model, turn).word == word


def test_what_to_do_about_a_gain_that_is_not_known_depends_on_whether_it_was_measured():
    assert "--quick" in answer(Stub(np.nan, np.nan, nested=False), 20.0).advice
    assert "--quick" not in answer(Stub(np.nan, np.nan), 20.0).advice


def test_a_gain_of_attenuation_is_claimed_only_beyond_what_noise_reaches_over_few_splits():
    model = AttenuatedPCACV(1).fit(noisy(40, 8))
    model.alpha_, model.left_out_gain_, model.left_out_gain_error_ = 0.5, 0.025, 0.01
    assert answer(model, 10.0).word == "Perhaps"  # 2.5 standard errors, of 2.78 that five splits need
    model.left_out_gain_ = 0.03
    assert answer(model, 10.0).word == "Yes"


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (CorrectedPCACV(3, scale=True), HOLES * np.geomspace(1, 1e4, 8)),
        (CorrectedPCACV(1, corrections=["tempering"]), spiked_rows(20, 4)),
        (CorrectedPCACV(2, neighbours=(2, 4)), HOLES),
        (AttenuatedPCACV(1), noisy(40, 8)),
        (AttenuatedPCACV(2), HOLES),
        (CorrectedPCA(2), X),
        (CorrectedPCA(8), X),
        (CorrectedPCA(5), spiked_rows(6, 30)),
        (CorrectedPCA(3, damping=0.5, whiten=True, scale=True), X),
        (CorrectedPCA(2), X.astype(np.float32)),
    ],
    ids=str,
)
def test_every_kind_of_fit_has_a_page(model, X):
    page = report(model.fit(X), X)
    assert ("less risk than PCA" in page) == (not isinstance(model, CorrectedPCA))
    assert page.count("<svg") >= 3
    assert ("Missing cells." in page) == bool(np.isnan(X).any())
    assert " nan" not in text_of(page).replace("not measured", "")


def test_the_first_screen_has_the_numbers_of_the_fit():
    page, found = report(MODEL, X), find(MODEL, X, list("abcdefgh"), list(map(str, range(40))), None)
    said = text_of(page)
    assert MODEL.verdict_ in said.replace("&#39;", "'")
    assert f"{MODEL.left_out_gain_:.2%}".replace("-", "−") in said
    assert f"{found.turn:.1f}°" in said
    assert f"{len(MODEL.control_limits(X).beyond(0.99))} of 40" in said
    pca = CorrectedPCA(2).fit(X)
    cosines = np.linalg.svd(MODEL.components_ @ pca.components_.T, compute_uv=False)
    assert found.turn == pytest.approx(np.degrees(np.arccos(cosines.min())), abs=1e-5)
    assert found.pca_variance == pytest.approx(pca.explained_variance_ratio_.sum())
    for step in MODEL.steps_:
        assert step.correction.replace("_", " ") in said
    assert "left out: neighbours is not given" in said


def test_missing_cells_are_counted_and_the_worst_row_is_named():
    rows = X.copy()
    rows[3, :2] = rows[7, 1] = np.nan
    found = find(CorrectedPCA(2).fit(rows), rows, list("abcdefgh"), [f"P{i}" for i in range(40)], None)
    for words in ("3 of 320 cells are missing (0.94%)", "2 of 40 rows", "2 of 8 columns", "P3 has most (25%"):
        assert words in found.missing


@pytest.mark.parametrize(("scale", "advice"), [(False, "--scale"), (True, "--drop")])
def test_a_counter_that_is_component_1_is_named(scale, advice):
    rows = np.column_stack([np.arange(30.0), np.random.default_rng(0).standard_normal((30, 5))])
    columns = ["visit", *"abcde"]
    model = CorrectedPCA(1, scale=scale).fit(rows)
    if scale:  # of equal variances no column stands out, unless the others leave it alone
        model.components_ = np.eye(6)[:1]
    words = find(model, rows, columns, list(map(str, range(30))), None).dominating
    assert "nearly the column visit alone" in words
    assert advice in words
    assert ("--scale" in words) == (not scale)
    assert "nearly the column" not in report(MODEL, X)


def test_rows_beyond_the_limits_are_listed_by_name_the_furthest_first():
    rows = X.copy()
    rows[[4, 9]] += np.array([[30.0], [60.0]]) * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    model = CorrectedPCA(2).fit(rows)
    found = find(model, rows, list("abcdefgh"), [f"P{i}" for i in range(40)], None)
    beyond = [f"P{i}" for i in found.limits.beyond(0.99)]
    assert sorted(row[0] for row in found.unusual) == sorted(beyond)
    assert beyond
    times = [
        max(number(t2) / found.limits.t2(0.99), number(q) / found.limits.q(0.99))
        for _, t2, q, _ in found.unusual
    ]
    assert all(first >= 0.98 * second for first, second in pairwise(times))
    for _, t2, q, which in found.unusual:
        assert ("T2" in which) == (number(t2) > found.limits.t2(0.99))
        assert ("Q" in which) == (number(q) > found.limits.q(0.99))


def test_held_out_rows_are_reconstructed_by_fits_without_them_and_without_their_group():
    groups = np.repeat(np.arange(10), 4)
    assert find(MODEL, X, list("abcdefgh"), list(map(str, range(40))), groups).held_out is not None
    model = CorrectedPCA(2, damping=1.0, scale=True).fit(X)
    held = find(model, X, list("abcdefgh"), list(map(str, range(40))), groups).held_out
    assert len(held.rows) == 8
    others = np.setdiff1d(np.arange(40), held.rows)
    assert not set(groups[held.rows]) & set(groups[others])
    for fit, rebuilt, errors in (
        (CorrectedPCA(2, scale=True), held.pca, held.pca_errors),
        (CorrectedPCA(2, damping=1.0, scale=True), held.fit, held.fit_errors),
    ):
        fit.fit(X[others])
        expected = fit.inverse_transform(fit.transform(X[held.rows]))
        np.testing.assert_allclose(rebuilt, expected)
        np.testing.assert_allclose(errors, (((X[held.rows] - expected) / model.scale_) ** 2).sum(axis=1))


def test_where_there_are_no_limits_the_page_says_why():
    few = spiked_rows(6, 30)
    assert "control_limits needs at least 3 rows more than components" in report(
        CorrectedPCA(5).fit(few), few
    )
    assert "reconstruct every row exactly" in report(CorrectedPCA(8).fit(X), X)


def test_the_call_repeats_the_fit():
    code = code_of(MODEL, None).replace("print(model)", "")
    made = {"X": X}
    exec(code, made)
    np.testing.assert_array_equal(made["model"].components_, MODEL.components_)
    model = CorrectedPCACV(2, cv=np.int64(3), reference=X, corrections={"damping": [0.5]})
    code = code_of(model, np.arange(40))
    assert "cv=3" in code
    assert "reference=reference" in code
    assert ".fit(X, groups=groups)" in code
    assert "attenua fit data.csv -k 2" in report(MODEL, X, call="attenua fit data.csv -k 2")


def test_every_note_is_on_the_page_and_counted_on_the_first_screen():
    page = report(MODEL, X, notes=["The decimal sign is the comma.", "Column a & b was left out."])
    assert "The decimal sign is the comma." in page
    assert "a &amp; b was left out" in page
    assert "2 assumptions about the data" in page


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"feature_names": ["a"]}, "feature_names must hold 8"),
        ({"row_names": range(41)}, "row_names must hold 40"),
        ({"groups": range(3)}, "groups must hold 40"),
        ({"colour_by": range(3)}, "colour_by must hold 40"),
        ({"image_shape": (3, 3)}, "image_shape"),
    ],
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        report(MODEL, X, **options)


@pytest.mark.parametrize(
    ("model", "X", "named"),
    [
        (MODEL, X[:39], "X must be the rows the model was fitted to, 40 x 8"),
        (AttenuatedPCA(2).fit(X), X, "model must be a CorrectedPCACV"),
        (CorrectedPCA(2), X, "not fitted"),
    ],
)
def test_wrong_models_and_rows_are_refused(model, X, named):
    with pytest.raises(ValueError, match=named):
        checked_rows(model, X)


def test_ids_in_pictures_are_unique_and_every_reference_has_its_target():
    page = report(MODEL, X)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = {*re.findall(r'href="#([^"]+)"', page), *re.findall(r"url\(#([^)]+)\)", page)}
    assert used <= set(ids)
    assert "#010203" not in page
    assert "#040506" not in page


@pytest.mark.slow
def test_a_large_page_is_small_enough_to_send():
    wide = spiked_rows(200, 2000)
    page = report(CorrectedPCA(4, neighbours="line").fit(wide), wide)
    assert len(page) < 1.5e6


# --- in a browser ----------------------------------------------------------------------------------------


def pages():
    """Return pages that differ in what they show."""
    wine = load_wine()
    few = np.random.default_rng(0).permutation(178)[:40]
    rows = np.where(np.random.default_rng(1).random((40, 13)) < 0.05, np.nan, wine.data[few])
    spectra = spiked_rows(40, 500)
    hostile = report(
        MODEL, X, feature_names=HOSTILE_NAMES, row_names=HOSTILE_NAMES * 5, colour_by=HOSTILE_NAMES * 5,
        colour_name=HOSTILE, title="</title>" + HOSTILE, notes=HOSTILE_NAMES, call=HOSTILE * 9,
    )  # fmt: skip
    return {
        "hostile": hostile,
        "holes": report(CorrectedPCACV(3, scale=True).fit(rows), rows, feature_names=wine.feature_names),
        "curves": report(CorrectedPCA(4, neighbours="line").fit(spectra), spectra, colour_by=spectra[:, 0]),
        "attenuated": report(AttenuatedPCACV(1).fit(X), X, image_shape=(2, 4)),
    }


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    for name, page in pages().items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in ("hostile", "holes", "curves", "attenuated")}


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        pytest.skip("no browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


CONTRASTS = """() => {
  const light = text => {
    const [r, g, b] = text.match(/[0-9.]+/g).slice(0, 3).map(v => {
      const c = v / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return light(colour); }
    return 1; };
  const texts = [...document.querySelectorAll("p, dt, dd, th, td, li, h1, h2, figcaption, code, svg text")];
  return texts.map(element => {
    const style = getComputedStyle(element);
    const [a, b] = [light(element.closest("svg") ? style.fill : style.color), behind(element)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); });
}"""
# The element that is wider than the screen and is not in one that scrolls.
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 0.5)
  .map(e => e.outerHTML)"""


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark"), (400, "light")])
@pytest.mark.parametrize("name", ["hostile", "holes", "curves", "attenuated"])
def test_a_browser_shows_it_without_complaint(browser, addresses, name, width, scheme):
    problems, requests = [], []
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.on("console", lambda message: problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(addresses[name])
    assert tab.evaluate("window.hacked") is None
    assert tab.evaluate("document.scripts.length") == 0
    assert [url for url in requests if url != addresses[name] and not url.startswith("data:")] == []
    assert problems == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.evaluate(TOO_WIDE) == []
    assert min(tab.evaluate(CONTRASTS)) > 4.5
    texts = tab.evaluate(
        "[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)"
    )
    assert min(height for height in texts if height) > 8
    tab.close()
