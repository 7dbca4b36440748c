"""The picture of stability shows the angles, the cuts that hold, and the error bars."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from sklearn.decomposition import PCA

from attenua import stability
from attenua.display import StabilityDisplay
from attenua.display.common import SHADES

rng = np.random.default_rng(0)
DIRECTIONS = np.linalg.qr(rng.standard_normal((10, 3)))[0].T
X = rng.standard_normal((150, 3)) * [8, 3, 3] @ DIRECTIONS + rng.standard_normal((150, 10))
FOUND = stability(pd.DataFrame(X, columns=list("abcdefghij")), PCA(5), n_boot=60, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_dark_bars_are_cuts_that_hold():
    display = FOUND.plot()
    assert isinstance(display, StabilityDisplay)
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, FOUND.leading_limits)
    dark = [same_color(bar.get_facecolor(), SHADES[1]) for bar in display.bars_]
    assert dark == [True, False, True, False, False]
    limit = display.limit_line_.get_ydata()[0]
    assert [height <= limit for height in heights] == dark
    titles = [ax.get_title() for ax in display.axes_[1:]]
    assert titles == [
        "component 1\nstable",
        "component 2\none of 2 and 3",
        "component 3\none of 2 and 3",
        "component 4\nnot stable",
    ]


def test_error_bars_are_the_intervals():
    display = StabilityDisplay.from_stability(FOUND, n_loadings=2)
    assert len(display.axes_) == 3
    low, high = FOUND.intervals
    for k, drawn in enumerate(display.loadings_):
        line, _, (bars,) = drawn.lines
        np.testing.assert_allclose(line.get_xdata(), FOUND.components[k])
        ends = np.array([segment[:, 0] for segment in bars.get_segments()])
        np.testing.assert_allclose(ends, np.column_stack([low[k], high[k]]))
    assert [label.get_text() for label in display.axes_[1].get_yticklabels()] == list("abcdefghij")


def test_many_columns_are_a_line_with_a_band():
    wide = np.random.default_rng(0).standard_normal((40, 60))
    display = StabilityDisplay.from_stability(stability(wide, PCA(2), n_boot=20, random_state=0))
    assert len(display.axes_) == 3
    assert len(display.loadings_[0].get_xdata()) == 60


def test_the_picture_stands_where_it_is_asked_to():
    figure, axes = plt.subplots(1, 2)
    display = FOUND.plot(ax=axes, n_loadings=1)
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="n_loadings must be an integer from 0 to 5; got 6"):
        FOUND.plot(n_loadings=6)
    with pytest.raises(TypeError, match="stability must be a Stability"):
        StabilityDisplay.from_stability(X)
