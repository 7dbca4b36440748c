import os
import re

import numpy as np
import pandas as pd
import pytest

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua.report import report

# A browser is not something pip installs; continuous integration has one.
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

HOSTILE = "<script>window.hacked = 1</script>"
HOSTILE_SOURCE = "</title><img src=x onerror=window.hacked=2>.csv"


@pytest.fixture(scope="session")
def frame():
    """One weak direction in columns of equal noise, where attenuation helps; names that try to break out."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((40, 1)) * np.ones(8) + rng.standard_normal((40, 8))
    names = [HOSTILE, "</script><script>window.hacked = 3</script>", "<!--", "a & b", "'\"`", "{{ 7 * 7 }}"]
    return pd.DataFrame(rows, columns=[*names, "a very long name of a column that fits on no phone", "β"])


@pytest.fixture(scope="session")
def model(frame):
    return AttenuatedPCACV(2).fit(frame)


@pytest.fixture(scope="session")
def page(model, frame):
    return report(model, frame, source=HOSTILE_SOURCE)


@pytest.fixture(scope="session")
def unequal_frame(frame):
    """One weak direction, heavy tails, and noise of unequal sizes, where several corrections help."""
    rng = np.random.default_rng(9)
    scales = np.linspace(1, 3, 8)
    rows = 1.2 * rng.standard_normal((40, 1)) * np.ones(8) + scales * rng.standard_normal((40, 8))
    rows *= np.sqrt(3 / rng.chisquare(3, (40, 1)))
    return pd.DataFrame(rows, columns=frame.columns)


@pytest.fixture(scope="session")
def corrected_model(unequal_frame):
    return CorrectedPCACV(1, neighbours="line", nested=True).fit(unequal_frame)


@pytest.fixture(scope="session")
def corrected_page(corrected_model, unequal_frame):
    return report(corrected_model, unequal_frame, source=HOSTILE_SOURCE)


def word_of(page):
    """Return the answer of a page in a word or two."""
    return re.search(r'class="word">([^<]+)<', page.html)[1]


@pytest.fixture(scope="module")
def browser():
    """A browser with a fresh profile; playwright makes one of its own for every launch."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page; in the end assert that it logged, asked for and ran nothing that it should not."""
    contexts, problems, requests = [], [], []

    def open_page(address, viewport=WIDE, **options):
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(address)
        tab.locator("figure[data-scatter] svg.plot .point").first.wait_for()
        return tab

    yield open_page
    for context in contexts:
        for tab in context.pages:
            assert tab.evaluate("window.hacked") is None
            requests = [url for url in requests if url != tab.url and not url.startswith(("data:", "blob:"))]
        context.close()
    assert problems == []
    assert requests == []
