"""Names that try to become markup, scripts, templates or formulas stay texts, in every kind of page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.report import report
from tests.cli.shell import run
from tests.report.conftest import CHROMIUM, PHONE, WIDE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="no browser"),
]

NAMES = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    "</title></style></code><img src=x onerror='window.hacked = 3'>",
    "javascript:window.hacked=4",
    "'\"`${window.hacked = 5}`",
    "\u2028window.hacked = 6\u2029",
    "\u202egnp.exe",
    "a\0b",
    "{{ 7 * 7 }}{% raw %}{# x #}",
    "=cmd|' /C calc'!A0",
    "]]><!--",
    "&lt;b&gt; &#60;i>",
    "long " * 1000,
]
MODELS = [AttenuatedPCACV(2), AttenuatedPCA(1, alpha=0.3), CorrectedPCACV(2), CorrectedPCA(2, tempering=0.5)]
# What a page of ours never holds, and a name that broke out would bring.
FOREIGN = (
    "iframe, object, embed, form, base, a[href], img:not([src^='data:image/png']), "
    "[onerror], [onload], [onclick], [onmouseover], [srcdoc]"
)


@pytest.fixture(scope="module")
def hostile_frame():
    rng = np.random.default_rng(1)
    p = len(NAMES)
    rows = rng.standard_normal((40, 1)) * np.ones(p) + np.linspace(1, 3, p) * rng.standard_normal((40, p))
    return pd.DataFrame(rows, columns=NAMES)


def assert_inert(tab):
    assert tab.evaluate("window.hacked") is None
    assert tab.locator(FOREIGN).count() == 0
    assert tab.locator("script").count() == 2


@pytest.mark.parametrize(("model", "viewport"), [(MODELS[0], WIDE), (MODELS[2], PHONE)], ids=["one", "all"])
def test_hostile_names_are_shown_as_texts(visit, hostile_frame, tmp_path, model, viewport):
    path = tmp_path / "page.html"
    names = NAMES * 3 + NAMES[:1]
    report(
        model.fit(hostile_frame),
        hostile_frame,
        path,
        source=NAMES[2],
        row_names=names,
        colour_by=[NAMES[k % 5] for k in range(40)],
        colour_name=NAMES[0],
        code=NAMES[1],
    )
    tab = visit(path.as_uri(), viewport)
    assert_inert(tab)
    assert tab.title().endswith(NAMES[2])
    expect(tab.locator("h1")).to_contain_text(NAMES[2])
    expect(tab.locator("pre code")).to_have_text(NAMES[1])
    titles = tab.locator("figure[data-chart=loadings] text.name title").all_text_contents()
    assert sorted(titles) == sorted(NAMES)
    legend = tab.locator("figure[data-scatter=scores] .legend li").all_text_contents()
    assert legend[0] == f"{NAMES[0]}:"
    assert set(legend[1:]) == set(NAMES[:5])
    tab.locator("figure[data-scatter=scores] svg.plot").focus()
    said = set()
    for _ in range(13):
        tab.keyboard.press("ArrowRight")
        said.add(tab.locator("figure[data-scatter=scores] .tip b").text_content())
    assert said <= set(NAMES)
    assert len(said) > 1
    for summary in tab.locator("summary").all():
        summary.click()
    assert_inert(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def test_a_page_of_the_command_line_with_hostile_headers(visit, hostile_frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A CSV file cannot hold null bytes, nor the name of a file slashes.
    plain = hostile_frame.drop(columns=["a\0b"])
    name = "<img src=x onerror=window.hacked=7>.csv"
    try:
        plain.to_csv(name, index=False)
    except OSError:
        pytest.skip("this system has no files of such names")
    result = run("report", name, "-k", 1, "--out", "page.html")
    assert result.exit_code == 0, result.output
    tab = visit((tmp_path / "page.html").as_uri())
    assert_inert(tab)
    expect(tab.locator("h1")).to_contain_text(name)
    titles = tab.locator("figure[data-chart=loadings] text.name title").all_text_contents()
    assert NAMES[0] in titles
    assert NAMES[1] in titles


@pytest.mark.parametrize(
    "intruder",
    [
        "<script>window.hacked = 1</script>",
        "<img src='data:,' onerror='window.hacked = 1'>",
        "<iframe src='https://example.org/'></iframe>",
        "<a id=link href='javascript:window.hacked = 1'>x</a>",
        "<base href='https://example.org/'><img src=x>",
        "<link rel=stylesheet href='https://example.org/x.css'>",
    ],
)
def test_what_broke_out_would_still_not_run(browser, page, tmp_path, intruder):
    """The policy of the page is a second wall: markup that is put in on purpose does nothing."""
    assert page.html.count("Content-Security-Policy") == 1
    assert "base-uri 'none'; form-action 'none'" in page.html
    path = tmp_path / "page.html"
    path.write_text(page.html.replace("<header>", intruder + "<header>", 1), encoding="utf-8")
    context = browser.new_context()
    tab, told, answered = context.new_page(), [], []
    tab.on("console", lambda message: told.append(message.text))
    tab.on("response", lambda response: answered.append(response.url))
    tab.goto(path.as_uri())
    tab.evaluate("document.querySelector('#link')?.click()")
    tab.locator("figure[data-scatter] svg.plot .point").first.wait_for()
    assert tab.evaluate("window.hacked") is None
    assert tab.url == path.as_uri()
    assert [url for url in answered if url.startswith("http")] == []
    assert any("Content Security Policy" in text for text in told)
    context.close()


def test_what_a_notebook_shows_is_inert(browser, hostile_frame, tmp_path):
    """A notebook has no policy of ours: what the results bring must be harmless by itself."""
    fitted = [model.fit(hostile_frame) for model in MODELS]
    shown = [model.set_params(feature_groups=NAMES)._repr_html_() for model in fitted[:2]]
    shown += [model._repr_html_() for model in fitted[2:]]
    shown += [fitted[2].steps_._repr_html_(), report(fitted[3], hostile_frame, source=NAMES[2])._repr_html_()]
    path = tmp_path / "notebook.html"
    path.write_text(
        "<!DOCTYPE html><meta charset=utf-8><title>notebook</title>"
        + "".join(f"<div class=output>{some}</div>" for some in shown),
        encoding="utf-8",
    )
    context = browser.new_context()
    tab, problems = context.new_page(), []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: problems.append(request.url) if "http" in request.url[:5] else None)
    tab.goto(path.as_uri())
    inside = tab.frame_locator("iframe")
    inside.locator("figure[data-scatter] svg.plot .point").first.wait_for()
    expect(inside.locator("h1")).to_contain_text(NAMES[2])
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("iframe").count() == 1
    assert tab.locator("iframe").get_attribute("sandbox") == "allow-scripts allow-downloads"
    assert tab.locator("img[src=x]").count() == 0
    assert tab.frames[1].evaluate("window.hacked") is None
    assert problems == []
    context.close()
