"""The displays draw what was computed, on the axes of the user or on a new figure."""

import builtins

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

import attenua.display
from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    choose_rank,
    learning_curve,
    stability,
)
from attenua._select.steps import Step, Steps
from attenua.display import (
    AnglesToPCADisplay,
    AttenuationPathDisplay,
    BiplotDisplay,
    LearningCurveDisplay,
    RankDisplay,
    ScoresBesidePCADisplay,
    ScreeDisplay,
    StabilityDisplay,
    StepsDisplay,
    ValidationCurveDisplay,
)
from attenua.paired import paired_gain
from tests.helpers import spiked_rows

X = spiked_rows(60, 7)
FEW = spiked_rows(40, 6)
COVARIANCE = np.array([[3.35, 2.0, 0.3], [2.0, 2.65, 0.1], [0.3, 0.1, 1.0]])
SIX_COLUMNS = 1 + np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0])
STEPS = Steps(
    [
        Step("tempering", (0.0, 0.5, 1.0), (2.0, 1.8, 1.9), 0.5, 0.1, 0.04, 0.62),
        Step("damping", (0.0, 0.5), (1.8, 1.79), 0.5, 0.005, 0.02),
        Step("attenuation", (0.0, 1.0), (1.8, 1.9), 0.0, 0.0, 0.0),
        Step("smoothing", why="left out: neighbours is not given"),
    ]
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return AttenuatedPCACV(2, cv=4).fit(X)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_validation_curve_of_an_estimator(model):
    display = ValidationCurveDisplay.from_estimator(model)
    assert display.figure_ is display.ax_.figure
    change = 100 * (model.cv_risk_ / model.cv_risk_[0] - 1)
    np.testing.assert_allclose(display.line_.get_ydata(), change)
    np.testing.assert_array_equal(display.line_.get_xdata(), model.alphas_)
    assert len(display.fold_lines_) == 4
    np.testing.assert_allclose(
        np.mean([line.get_ydata() for line in display.fold_lines_], axis=0), change, atol=1e-9
    )
    half = 100 * paired_gain(model).errors
    vertices = display.band_.get_paths()[0].vertices
    assert np.isclose(vertices, [model.alphas_[5], change[5] + half[5]]).all(axis=1).any()
    assert display.chosen_marker_.get_xdata()[0] == model.alpha_
    assert display.chosen_marker_.get_ydata()[0] == pytest.approx(change.min())
    assert (display.pca_marker_.get_xdata()[0], display.pca_marker_.get_ydata()[0]) == (0, 0)
    assert "PCA, the fallback" in labels(display.ax_)


def test_validation_curve_from_rows_on_given_axes(model):
    figure, ax = plt.subplots()
    display = ValidationCurveDisplay.from_cv(X, 2, cv=4, ax=ax, folds=False)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.fold_lines_ == []
    np.testing.assert_allclose(
        display.line_.get_ydata(), ValidationCurveDisplay.from_estimator(model).line_.get_ydata()
    )
    groups = np.repeat(np.arange(12), 5)
    grouped = ValidationCurveDisplay.from_cv(X, 2, groups=groups)
    assert grouped.alpha == AttenuatedPCACV(2).fit(X, groups=groups).alpha_


def test_validation_curve_of_one_split_has_no_band():
    single = AttenuatedPCACV(2, cv=[(np.arange(40), np.arange(40, 60))]).fit(X)
    assert ValidationCurveDisplay.from_estimator(single).band_ is None


def test_path_of_loadings_and_captured_variance():
    path = attenuation_path(X, 3)
    display = AttenuationPathDisplay.from_path(path, component=1, n_named=2)
    assert len(display.loading_lines_) == 7
    drawn = np.array([line.get_ydata() for line in display.loading_lines_]).T
    np.testing.assert_allclose(np.abs(drawn), np.abs(path.components[:, 1]))
    # The signs follow, so that no curve jumps.
    assert (np.sum(drawn[1:] * drawn[:-1], axis=1) > 0).all()
    captured = 100 * path.explained_variance_ratio.sum(axis=1)
    np.testing.assert_allclose(display.captured_line_.get_ydata(), captured)
    moved = np.argsort(-np.ptp(drawn, axis=0))[:2]
    assert labels(display.axes_[0]) == [str(i) for i in moved]
    assert [ax.figure for ax in display.axes_] == [display.figure_] * 2


def test_path_of_a_frame_names_its_columns():
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    _, axes = plt.subplots(2, 1)
    display = AttenuationPathDisplay.from_data(frame, 2, alphas=[0, 0.5, 1], n_named=7, ax=axes)
    assert set(labels(display.axes_[0])) == set("abcdefg")
    assert display.axes_[0] is axes[0]


def test_path_refuses_what_it_cannot_draw():
    path = attenuation_path(X, 2)
    with pytest.raises(ValueError, match="component must be from 0 to 1; got 2"):
        AttenuationPathDisplay.from_path(path, component=2)
    with pytest.raises(ValueError, match="feature_names must name each of the 7 columns; got 1"):
        AttenuationPathDisplay.from_path(path, feature_names=["a"])
    with pytest.raises(ValueError, match="ax must be one subplot, or 2 axes"):
        AttenuationPathDisplay.from_path(path, ax=plt.subplots(1, 3)[1])


@pytest.mark.parametrize("kind", [AttenuatedPCA, AttenuatedPCACV])
def test_path_of_an_estimator_is_the_path_of_its_rows(kind):
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    fitted = kind(2).fit(frame)
    display = AttenuationPathDisplay.from_estimator(fitted, frame, component=1, n_named=7)
    path = attenuation_path(X, 2, alphas=display.alphas)
    np.testing.assert_allclose(display.captured, path.explained_variance_ratio.sum(axis=1))
    assert set(labels(display.axes_[0])) == set("abcdefg")
    with pytest.raises(NotFittedError):
        AttenuationPathDisplay.from_estimator(kind(2), frame)


def test_angles_to_pca(model):
    path = attenuation_path(X, 2)
    display = AnglesToPCADisplay.from_path(path)
    drawn = np.array([line.get_ydata() for line in display.lines_]).T
    np.testing.assert_allclose(drawn, np.degrees(path.angles_to_pca()))
    assert display.marker_ is None
    same = AnglesToPCADisplay.from_data(X, 2)
    np.testing.assert_allclose(same.lines_[0].get_ydata(), drawn[:, 0])


@pytest.mark.parametrize("alpha", [0.37, 1.0])
def test_angles_of_an_estimator_mark_its_strength(alpha):
    fitted = AttenuatedPCA(2, alpha=alpha, feature_groups=[[0, 1], [2, 3, 4, 5, 6]]).fit(X)
    display = AnglesToPCADisplay.from_estimator(fitted, X)
    path = attenuation_path(X, 2, alphas=[0, alpha], feature_groups=[[0, 1], [2, 3, 4, 5, 6]])
    assert display.marker_.get_xdata()[0] == alpha
    assert display.marker_.get_ydata()[0] == pytest.approx(np.degrees(path.angles_to_pca()[1, 0]))


def test_angles_of_a_cross_validated_estimator(model):
    display = AnglesToPCADisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.alphas, model.alphas_)
    assert display.marker_.get_xdata()[0] == model.alpha_


def test_displays_of_one_strength_refuse_a_search():
    search = CorrectedPCACV(2).fit(X)
    with pytest.raises(ValueError, match="got CorrectedPCACV; StepsDisplay draws it"):
        ValidationCurveDisplay.from_estimator(search)
    with pytest.raises(ValueError, match=r"AttenuatedPCA or AttenuatedPCACV; got CorrectedPCA\."):
        AnglesToPCADisplay.from_estimator(CorrectedPCA(2).fit(X), X)


def test_every_step_that_compared_strengths_has_a_panel():
    display = StepsDisplay(steps=STEPS).plot()
    assert [ax.get_xlabel() for ax in display.axes_] == ["tempering", "damping", "attenuation"]
    assert [ax.get_title() for ax in display.axes_] == ["weight 62%", "weight 0%", "weight 0%"]
    assert display.figure_ is display.axes_[0].figure
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [0, -10, -5])
    np.testing.assert_allclose(display.lines_[1].get_ydata(), [-10, -10.5])
    assert [marker.get_xdata()[0] for marker in display.markers_] == [0.5, 0.5, 0.0]
    filled = [marker.get_markerfacecolor() != "white" for marker in display.markers_]
    assert filled == [True, False, False]
    ((low, high),) = display.error_bars_[0].lines[2][0].get_segments()
    np.testing.assert_allclose([low[1], high[1]], [-14, -6])
    assert display.error_bars_[2] is None


def test_steps_of_an_estimator_on_given_axes():
    model = CorrectedPCACV(2, corrections=["tempering", "damping"]).fit(FEW)
    figure, axes = plt.subplots(2, 1)
    display = StepsDisplay.from_estimator(model, ax=axes)
    assert display.figure_ is figure
    of_pca = model.steps_[0].risks[0]
    for line, step in zip(display.lines_, model.steps_, strict=True):
        np.testing.assert_allclose(line.get_ydata(), 100 * (np.array(step.risks) / of_pca - 1), atol=1e-12)
    with pytest.raises(ValueError, match="ax must be one subplot, or 2 axes, one for each panel; got 3"):
        display.plot(ax=plt.subplots(1, 3)[1])


def test_axes_without_a_place_in_a_grid_cannot_be_divided():
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="ax must be one subplot, or 3 axes"):
        StepsDisplay(steps=STEPS).plot(ax=free)


def test_steps_of_one_split_have_no_error_bars():
    single = CorrectedPCACV(2, cv=[(np.arange(30), np.arange(30, 40))]).fit(FEW)
    assert set(StepsDisplay.from_estimator(single).error_bars_) == {None}


def test_steps_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="a fitted CorrectedPCACV; got AttenuatedPCACV"):
        StepsDisplay.from_estimator(AttenuatedPCACV(2).fit(FEW))
    with pytest.raises(NotFittedError):
        StepsDisplay.from_estimator(CorrectedPCACV(2))
    with pytest.raises(ValueError, match="nothing to draw"):
        StepsDisplay(steps=STEPS[3:]).plot()


def test_missing_matplotlib_names_the_extra(model, monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'attenua\[plot\]'"):
        ValidationCurveDisplay.from_estimator(model)


def drawn_on(axes):
    """Draw one display on each of ten axes, first those of one panel each."""
    model = AttenuatedPCACV(2).fit(FEW)
    search = CorrectedPCACV(2, corrections=["tempering", "damping"]).fit(FEW)
    return [
        ValidationCurveDisplay.from_estimator(model, ax=axes[0]),
        AnglesToPCADisplay.from_estimator(model, FEW, ax=axes[1]),
        RankDisplay.from_choice(choose_rank(FEW, random_state=0), ax=axes[2]),
        ScreeDisplay.from_data(FEW, ax=axes[3]),
        BiplotDisplay.from_estimator(model, FEW, ax=axes[4]),
        LearningCurveDisplay.from_curve(learning_curve(FEW, 2, n_draws=2, random_state=0), ax=axes[5]),
        StepsDisplay.from_estimator(search, ax=axes[6]),
        AttenuationPathDisplay.from_estimator(model, FEW, ax=axes[7]),
        ScoresBesidePCADisplay.from_estimator(model, FEW, ax=axes[8]),
        StabilityDisplay.from_stability(stability(FEW, 2, n_boot=20, random_state=0), ax=axes[9]),
    ]


def test_all_displays_share_a_figure_that_keeps_its_size():
    figure, axes = plt.subplots(3, 4, figsize=(15, 7), layout="constrained")
    drawn = drawn_on(axes.ravel())
    assert {type(each).__name__ for each in drawn} == set(attenua.display.__all__)
    assert all(each.figure_ is figure for each in drawn)
    assert plt.get_fignums() == [figure.number]
    assert figure.get_size_inches().tolist() == [15, 7]
    for each, ax in zip(drawn[:6], axes.ravel()[:6], strict=True):
        assert each.ax_ is ax
    figure.canvas.draw()
    # A subplot that was divided is hidden, and its panels stand inside its place.
    for each, whole in zip(drawn[6:], axes.ravel()[6:10], strict=True):
        assert len(each.axes_) >= 2
        assert not whole.axison
        for panel in each.axes_:
            assert panel.get_subplotspec().get_topmost_subplotspec() == whole.get_subplotspec()


def test_subfigures_take_displays_too():
    figure = plt.figure(layout="constrained")
    left, right = figure.subfigures(1, 2)
    search = CorrectedPCACV(2, corrections=["tempering", "damping"]).fit(FEW)
    steps = StepsDisplay.from_estimator(search, ax=left.subplots())
    curve = ValidationCurveDisplay.from_cv(FEW, 2, ax=right.subplots())
    assert steps.figure_ is left
    assert curve.figure_ is right
    figure.canvas.draw()


def test_every_display_says_where_it_was_drawn():
    figure, axes = plt.subplots(3, 4)
    for each in drawn_on(axes.ravel()):
        assert hasattr(each, "ax_") or hasattr(each, "axes_")
        again = each.plot()
        assert again is each
        assert again.figure_ is not figure
