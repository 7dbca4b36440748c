"""Displays of fits and paths: what they draw is what was computed."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from attenua import AttenuatedPCA, AttenuatedPCACV, attenuation_path
from attenua.display import AnglesToPCADisplay, AttenuationPathDisplay, ValidationCurveDisplay
from attenua.paired import paired_gain
from tests.helpers import spiked_rows

X = spiked_rows(60, 7)


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


def test_one_split_has_no_band():
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
    with pytest.raises(ValueError, match="ax must be two axes"):
        AttenuationPathDisplay.from_path(path, ax=plt.subplots()[1])


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


@pytest.fixture(scope="module")
def surface():
    return AttenuatedPCACV(2, alphas=[0, 0.3, 0.49, 1], tempering=[0.25, 1], cv=4).fit(X)


def test_validation_surface_of_an_estimator(surface):
    display = ValidationCurveDisplay.from_estimator(surface)
    change = 100 * (surface.cv_risk_ / surface.cv_risk_[0, 0] - 1)
    np.testing.assert_allclose(display.mesh_.get_array(), change, atol=1e-12)
    assert display.mesh_.norm(0.0) == 0.5  # PCA is the middle of the colours
    corners = display.mesh_.get_coordinates()
    for axis, grid in ((0, surface.alphas_), (1, surface.temperings_)):
        edges = corners[0, :, 0] if axis == 0 else corners[:, 0, 1]
        assert ((edges[:-1] < grid) & (grid < edges[1:])).all()  # every cell holds its own pair
    marker = display.chosen_marker_
    assert (marker.get_xdata()[0], marker.get_ydata()[0]) == (surface.alpha_, surface.tempering_)
    assert (display.pca_marker_.get_xdata()[0], display.pca_marker_.get_ydata()[0]) == (0, 0)
    assert display.line_ is display.band_ is None
    assert display.fold_lines_ == []
    assert "PCA, the fallback" in labels(display.ax_)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["0", "0.25", "1"]


def test_a_surface_of_one_strength_and_one_without_differences():
    narrow = ValidationCurveDisplay.from_cv(X, 2, alphas=[0], tempering=[0.5])
    assert narrow.mesh_.get_array().shape == (2, 1)
    nothing, grid = np.zeros((2, 2)), np.array([0.0, 1.0])
    flat = ValidationCurveDisplay(
        alphas=grid, change=nothing, errors=nothing, folds=nothing[None], alpha=0.0, temperings=grid
    )
    assert not flat.plot().mesh_.get_array().any()


def test_displays_of_a_tempered_path(surface):
    path = attenuation_path(X, 2, alphas=[0, 1], tempering=0.5)
    angles = AnglesToPCADisplay.from_path(path)
    np.testing.assert_allclose(angles.lines_[0].get_ydata(), np.degrees(path.angles_to_pca()[:, 0]))
    assert r"tempering $\gamma$ = 0.5" in angles.ax_.get_xlabel()
    loadings = AttenuationPathDisplay.from_path(path)
    assert r"tempering $\gamma$ = 0.5" in loadings.axes_[1].get_xlabel()
    fitted = AttenuatedPCA(2, alpha=0.3, tempering=0.5).fit(X)
    marked = AnglesToPCADisplay.from_estimator(fitted, X)
    exact = attenuation_path(X, 2, alphas=[0, 0.3], tempering=0.5).angles_to_pca()[1, 0]
    assert marked.marker_.get_ydata()[0] == pytest.approx(np.degrees(exact))
    chosen = AnglesToPCADisplay.from_estimator(surface, X)
    assert chosen.tempering == surface.tempering_
