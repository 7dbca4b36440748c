"""Displays of fits and paths: what they draw is what was computed."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, attenuation_path
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
