import os
import re

import numpy as np
import pandas as pd
import pytest

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua.report import report

# A browser is not something pip installs; continuous integration has one.
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

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
    return CorrectedPCACV(1, neighbours="line").fit(unequal_frame)


@pytest.fixture(scope="session")
def corrected_page(corrected_model, unequal_frame):
    return report(corrected_model, unequal_frame, source=HOSTILE_SOURCE)


def word_of(page):
    """Return the answer of a page in a word or two."""
    return re.search(r'class="word">([^<]+)<', page.html)[1]
