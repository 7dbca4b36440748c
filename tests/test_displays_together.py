"""All displays in one figure of subplots, which stays the user's."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from attenua import AttenuatedPCACV, CorrectedPCACV, choose_rank, display
from attenua.display import (
    AnglesToPCADisplay,
    AttenuationPathDisplay,
    ExpectationsDisplay,
    RankDisplay,
    RiskCurveDisplay,
    StepsDisplay,
    ValidationCurveDisplay,
)
from attenua.theory import Population
from tests.helpers import spiked_rows

X = spiked_rows(40, 6)
COVARIANCE = 1 + np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn_on(axes):
    """Draw one display on each of seven axes."""
    model = AttenuatedPCACV(2).fit(X)
    search = CorrectedPCACV(2, corrections=["tempering", "damping"]).fit(X)
    return [
        ValidationCurveDisplay.from_estimator(model, ax=axes[0]),
        AnglesToPCADisplay.from_estimator(model, X, ax=axes[1]),
        RiskCurveDisplay.from_population(Population(COVARIANCE, 1), 30, ax=axes[2]),
        ExpectationsDisplay.from_covariance(
            COVARIANCE, 1, 30, corrections=["attenuation"], n_simulations=0, ax=axes[3]
        ),
        RankDisplay.from_choice(choose_rank(X, random_state=0), ax=axes[4]),
        StepsDisplay.from_estimator(search, ax=axes[5]),
        AttenuationPathDisplay.from_estimator(model, X, ax=axes[6]),
    ]


def test_all_displays_share_a_figure_that_keeps_its_size():
    figure, axes = plt.subplots(2, 4, figsize=(15, 7), layout="constrained")
    drawn = drawn_on(axes.ravel())
    assert {type(each).__name__ for each in drawn} == set(display.__all__)
    assert all(each.figure_ is figure for each in drawn)
    assert plt.get_fignums() == [figure.number]
    assert figure.get_size_inches().tolist() == [15, 7]
    for each, ax in zip(drawn[:5], axes.ravel()[:5], strict=True):
        assert each.ax_ is ax
    figure.canvas.draw()
    # A subplot that was divided is hidden, and its panels stand inside its place.
    for each, whole in zip(drawn[5:], axes.ravel()[5:7], strict=True):
        assert len(each.axes_) == 2
        assert not whole.axison
        for panel in each.axes_:
            assert panel.get_subplotspec().get_topmost_subplotspec() == whole.get_subplotspec()


def test_subfigures_take_displays_too():
    figure = plt.figure(layout="constrained")
    left, right = figure.subfigures(1, 2)
    search = CorrectedPCACV(2, corrections=["tempering", "damping"]).fit(X)
    steps = StepsDisplay.from_estimator(search, ax=left.subplots())
    curve = ValidationCurveDisplay.from_cv(X, 2, ax=right.subplots())
    assert steps.figure_ is left
    assert curve.figure_ is right
    figure.canvas.draw()


def test_every_display_says_where_it_was_drawn():
    figure, axes = plt.subplots(2, 4)
    for each in drawn_on(axes.ravel()):
        assert hasattr(each, "ax_") or hasattr(each, "axes_")
        again = each.plot()
        assert again is each
        assert again.figure_ is not figure
