"""The display of a search draws what its steps compared."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua._select.steps import Step, Steps
from attenua.display import StepsDisplay
from tests.helpers import spiked_rows

STEPS = Steps(
    [
        Step("tempering", (0.0, 0.5, 1.0), (2.0, 1.8, 1.9), 0.5, 0.1, 0.04, 0.04, True, "the gain is clear"),
        Step("damping", (0.0, 0.5), (1.8, 1.79), 0.5, 0.005, 0.02, 0.02, False, "within 1 standard errors"),
        Step("attenuation", (0.0, 1.0), (1.8, 1.9), 0.0, 0.0, 0.0, 0.0, False, "no strength is better"),
        Step("smoothing", why="left out: neighbours is not given"),
    ]
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_every_step_that_compared_strengths_has_a_panel():
    display = StepsDisplay(steps=STEPS, pca_risk=2.0).plot()
    assert [ax.get_xlabel() for ax in display.axes_] == ["tempering", "damping", "attenuation"]
    assert [ax.get_title() for ax in display.axes_] == ["taken at 0.5", "not taken", "not taken"]
    assert display.figure_ is display.axes_[0].figure
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [0, -10, -5])
    np.testing.assert_allclose(display.lines_[1].get_ydata(), [-10, -10.5])
    assert [marker.get_xdata()[0] for marker in display.markers_] == [0.5, 0.5, 0.0]
    filled = [marker.get_markerfacecolor() != "white" for marker in display.markers_]
    assert filled == [True, False, False]
    ((low, high),) = display.error_bars_[0].lines[2][0].get_segments()
    np.testing.assert_allclose([low[1], high[1]], [-14, -6])
    assert display.error_bars_[2] is None


def test_an_estimator_on_given_axes():
    model = CorrectedPCACV(2, corrections=["tempering", "damping"]).fit(spiked_rows(40, 6))
    figure, axes = plt.subplots(2, 1)
    display = StepsDisplay.from_estimator(model, ax=axes)
    assert display.figure_ is figure
    for line, step in zip(display.lines_, model.steps_, strict=True):
        np.testing.assert_allclose(
            line.get_ydata(), 100 * (np.array(step.risks) / model.cv_risk_[0] - 1), atol=1e-12
        )
    with pytest.raises(ValueError, match="ax must be one subplot, or 2 axes, one for each panel; got 3"):
        display.plot(ax=plt.subplots(1, 3)[1])


def test_axes_without_a_place_in_a_grid_cannot_be_divided():
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="ax must be one subplot, or 3 axes"):
        StepsDisplay(steps=STEPS, pca_risk=2.0).plot(ax=free)


def test_one_split_has_no_error_bars():
    rows = spiked_rows(40, 6)
    single = CorrectedPCACV(2, cv=[(np.arange(30), np.arange(30, 40))], guard=0).fit(rows)
    assert set(StepsDisplay.from_estimator(single).error_bars_) == {None}


def test_what_cannot_be_drawn_is_refused():
    rows = spiked_rows(40, 6)
    with pytest.raises(ValueError, match="a fitted CorrectedPCACV; got AttenuatedPCACV"):
        StepsDisplay.from_estimator(AttenuatedPCACV(2).fit(rows))
    with pytest.raises(NotFittedError):
        StepsDisplay.from_estimator(CorrectedPCACV(2))
    with pytest.raises(ValueError, match="nothing to draw"):
        StepsDisplay(steps=STEPS[3:], pca_risk=1.0).plot()
