"""Pictures show what was computed: points, heights, names, and where they were asked to stand."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from sklearn.decomposition import PCA

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedPCA,
    CorrectedPCACV,
    choose_rank,
    learning_curve,
    pictures,
    stability,
)
from attenua._select.steps import Step, Steps
from attenua.monitoring import ControlLimits
from attenua.rank import RankChoice
from tests.helpers import spiked_rows

X = spiked_rows(60, 9)
MODEL = CorrectedPCA(3, tempering=1.0, scale=True).fit(X)
STEPS = Steps(
    [
        Step("tempering", (0.0, 0.5, 1.0), (2.0, 1.8, 1.9), 0.5, 0.1, 0.04, 0.62),
        Step("row_tempering", (0.0, 1.0), (1.8, 1.9)),
        Step("smoothing", why="left out: neighbours is not given"),
    ]
)
# Formulas to matplotlib, hidden from its legends, and longer than any axis.
HOSTILE = [r"$\bad{$", "_hidden", "a$b$c_{", "x" * 300, "two\nlines", "%d {x} \\", "<b>&", "", "$$"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def heights(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines}


def test_scores_are_those_of_transform():
    ax = pictures.scores(MODEL, X, components=(0, 2))
    np.testing.assert_allclose(ax.collections[0].get_offsets(), MODEL.transform(X)[:, [0, 2]])
    assert ax.get_ylabel() == f"component 3 ({MODEL.explained_variance_ratio_[2]:.0%} of the variance)"


def test_one_component_is_drawn_over_the_rows():
    ax = pictures.scores(CorrectedPCA(1).fit(X), X)
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 0], np.arange(60))


def test_outlying_rows_are_named():
    rows = X.copy()
    rows[[5, 17]] *= 9
    ax = pictures.scores(MODEL, rows, row_names=[f"P{i}" for i in range(60)])
    assert set(texts(ax)) == {"P5", "P17"}
    assert {"5", "17"} == set(texts(pictures.scores(MODEL, rows)))


def test_labels_have_a_legend_and_numbers_a_colour_bar():
    labels = np.repeat(["b", "a", "c"], 20)
    ax = pictures.scores(MODEL, X, colour_by=labels)
    assert legend(ax) == ["a", "b", "c"]
    np.testing.assert_allclose(ax.collections[0].get_offsets(), MODEL.transform(X)[20:40, :2])
    numbers = np.arange(60.0)
    numbers[3] = np.nan
    ax = pictures.scores(MODEL, X, colour_by=numbers)
    assert ax.get_legend() is None
    assert len(ax.collections[0].get_offsets()) == 60  # a row without a number is seen, too


def test_rare_labels_share_the_last_colour():
    ax = pictures.scores(MODEL, X, colour_by=[f"kind {min(i // 4, 20 - i)}" for i in range(60)])
    assert len(legend(ax)) == 10
    assert legend(ax)[-1].endswith("others")
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"components": (0, 3)}, "each of components must be an integer from 0 to 2; got 3"),
        ({"components": (0, 1, 2)}, "components must be one or two numbers"),
        ({"colour_by": [1, 2]}, "colour_by must hold one value for each of the 60 rows"),
        ({"row_names": ["a"]}, "row_names must hold one value for each of the 60 rows"),
    ],
)
def test_scores_refuse_what_they_cannot_draw(arguments, message):
    with pytest.raises(ValueError, match=message):
        pictures.scores(MODEL, X, **arguments)


def test_loadings_of_few_columns_are_bars_on_the_scale_of_their_component():
    ax = pictures.loadings(MODEL, feature_names=list("abcdefghi"))
    drawn = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 9)
    np.testing.assert_allclose(
        drawn, MODEL.loadings_.T / np.abs(MODEL.loadings_.T).max(axis=1, keepdims=True)
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == list("abcdefghi")
    halves = [float(label.get_text().replace("−", "-")) for label in ax.get_xticklabels()]
    np.testing.assert_allclose(halves[2::3], np.abs(MODEL.loadings_).max(axis=0) / 2, rtol=0.05)


def test_of_many_named_columns_those_with_the_largest_loadings_are_drawn():
    frame = pd.DataFrame(spiked_rows(30, 50), columns=[f"gene {'abcde'[i % 5]}{i}x" for i in range(50)])
    model = CorrectedPCA(1).fit(frame)
    ax = pictures.loadings(model)
    largest = np.argsort(-np.abs(model.loadings_[:, 0]))[:20]
    assert {label.get_text() for label in ax.get_yticklabels()} == set(frame.columns[largest])
    assert ax.get_ylabel() == "20 of 50 columns"


@pytest.mark.parametrize(
    ("names", "neighbours", "places", "label"),
    [
        (None, None, np.arange(1, 31), "column"),
        ([f"{850 + i / 2} nm" for i in range(30)], None, 850 + np.arange(30) / 2, "nm"),
        ([f"{850 + i}" for i in range(30)], None, 850 + np.arange(30), "column"),
        ([f"X{4000 - 10 * i}" for i in range(30)], None, 4000 - 10 * np.arange(30), "X"),
        ([f"{'ab'[i % 2]}{i}" for i in range(30)], "line", np.arange(1, 31), "column"),
    ],
)
def test_loadings_of_ordered_columns_are_curves(names, neighbours, places, label):
    rows = spiked_rows(20, 30)
    model = CorrectedPCA(2, neighbours=neighbours).fit(pd.DataFrame(rows, columns=names) if names else rows)
    ax = pictures.loadings(model)
    for k in range(2):
        np.testing.assert_allclose(ax.lines[1 + k].get_xdata(), places)
        np.testing.assert_allclose(ax.lines[1 + k].get_ydata(), model.loadings_[:, k])
    assert ax.get_xlabel() == label


def test_loadings_of_a_grid_are_images():
    model = CorrectedPCA(2, neighbours=(3, 4)).fit(spiked_rows(30, 12))
    ax = pictures.loadings(model)
    for image, values in zip(ax.images, model.loadings_.T, strict=True):
        np.testing.assert_allclose(image.get_array(), values.reshape(3, 4) / np.abs(values).max())
    with pytest.raises(ValueError, match="image_shape must have 12 pixels"):
        pictures.loadings(model, image_shape=(3, 5))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_the_scree_goes_on_beyond_the_fit(make):
    ax = pictures.scree(MODEL, make(X), choice=RankChoice(4, "bcv", np.arange(5)))
    ratios = PCA().fit(X / X.std(axis=0)).explained_variance_ratio_
    drawn = heights(ax)
    np.testing.assert_allclose(drawn["ordinary PCA"], 100 * ratios)
    np.testing.assert_allclose(drawn["fitted: 3"], 100 * MODEL.explained_variance_ratio_)
    assert "choose_rank: 4" in drawn
    assert list(heights(pictures.scree(MODEL))) == ["fitted: 3"]


def test_the_scree_has_no_more_components_than_rows_allow_and_takes_missing_cells():
    wide = spiked_rows(12, 30)
    wide[3, 4] = np.nan
    ax = pictures.scree(CorrectedPCA(2).fit(wide), wide)
    assert len(heights(ax)["ordinary PCA"]) == 10
    assert len(heights(pictures.scree(CorrectedPCA(8).fit(wide), wide))["ordinary PCA"]) == 11


def test_steps_show_gains_errors_and_weights():
    ax = STEPS.plot()
    assert [bar.get_width() for bar in ax.patches] == [10, 0]
    assert [same_color(bar.get_facecolor(), pictures.COLOURS["fit"]) for bar in ax.patches] == [True, False]
    assert texts(ax) == ["62%", "0%", "weight"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["tempering 0.5", "row tempering"]
    (error,) = ax.collections[0].get_segments()
    np.testing.assert_allclose(error[:, 0], [6, 14])
    with pytest.raises(ValueError, match="steps must hold a step that compared strengths"):
        STEPS[2:].plot()


def test_steps_of_a_likelihood_are_in_nats():
    ax = Steps([Step("shrinkage", (0.0, 1.0), (2.0, 1.9), 1.0, 0.3, 0.1, 1.0, unit="nats")]).plot()
    assert ax.patches[0].get_width() == 0.3
    assert ax.get_xlabel() == "gain, nats a row"


def test_the_chosen_strength_is_on_the_curve():
    model = AttenuatedPCACV(2, cv=4).fit(X)
    drawn = heights(pictures.strengths(model))
    change = 100 * (model.cv_risk_ / model.cv_risk_[0] - 1)
    np.testing.assert_allclose(drawn["all splits"], change, atol=1e-9)
    assert drawn[f"chosen: {model.alpha_:g}"][0] == pytest.approx(change.min())


def test_errors_of_ranks():
    choice = choose_rank(X, n_repeats=4, random_state=0)
    ax = choice.plot()
    np.testing.assert_allclose(heights(ax)["mean"], 100 * choice.errors.mean(axis=0))
    assert list(ax.lines[-1].get_xdata()) == [choice.rank] * 2


@pytest.mark.parametrize("method", ["parallel", "threshold"])
def test_eigenvalues_and_what_they_must_exceed(method):
    choice = choose_rank(X, method=method, random_state=0)
    ax = choice.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * choice.eigenvalues)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 100 * choice.thresholds)
    ax.figure.canvas.draw()
    ticks = [label.get_text() for label in [*ax.get_yticklabels(), *ax.get_yticklabels(which="minor")]]
    assert "10" in ticks  # and not a power of ten
    assert not any("^" in tick for tick in ticks)


def test_the_learning_curve_goes_on_to_twice_the_rows():
    curve = learning_curve(X, CorrectedPCA(2), n_draws=1, random_state=0)
    (more,) = (line for line in curve.plot().lines if line.get_label() == "expected of more rows")
    assert more.get_xdata()[-1] == pytest.approx(2 * 60)
    assert more.get_ydata()[0] == pytest.approx(curve.errors[-1])


def test_rows_beyond_the_limits_are_named():
    t2, q = np.random.default_rng(0).uniform(0.1, 1, (2, 40))
    t2[7], q[9] = 40, 50
    limits = ControlLimits(t2, q, True, 40, 2, t2_scale=1.0, q_mean=1.0, q_freedom=4.0)
    assert set(texts(limits.plot())) == {"7", "9"}
    ax = pictures.control_limits(limits, row_names=[f"row_{i}" for i in range(40)])
    assert set(texts(ax)) == {"row_7", "row_9"}
    assert {line.get_xdata()[0] for line in ax.lines} >= {limits.t2(0.95), limits.t2(0.99)}
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.column_stack([t2, q]))


@pytest.mark.parametrize("p", [6, 30])
def test_stability_shows_angles_and_intervals(p):
    found = stability(spiked_rows(40, p), PCA(3), n_boot=20, random_state=0)
    angles, *others = found.plot()
    np.testing.assert_allclose([bar.get_height() for bar in angles.patches], found.leading_limits)
    low, high = found.intervals
    for k, ax in enumerate(others):
        if p == 6:
            (ends,) = (bars.get_segments() for bars in ax.collections)
            np.testing.assert_allclose(np.array(ends)[:, :, 0], np.column_stack([low[k], high[k]]))
        else:
            band = ax.collections[0].get_datalim(ax.transData)
            np.testing.assert_allclose([band.y0, band.y1], [low[k].min(), high[k].max()])
    assert len(others) == 3


def test_reconstructions_are_curves_points_or_images():
    rows = spiked_rows(2, 30)
    for shape in ((2, 30), (4, 15)):
        drawn = rows.reshape(shape)
        for ax, row in zip(pictures.reconstructions(drawn, drawn + 1, drawn + 2), drawn, strict=True):
            assert [list(line.get_ydata()) for line in ax.lines] == [list(row + 1), list(row + 2), list(row)]
    rows[1, 3] = np.nan
    marked = pictures.reconstructions(rows, rows * 0 + 1, np.ones((2, 30)))[1].lines[-1]
    assert (list(marked.get_xdata()), list(marked.get_ydata())) == ([4], [1])
    ax = pictures.reconstructions(rows, rows, rows, image_shape=(5, 6), row_names=["a", "b"])
    assert len(ax.images) == 6
    assert ax.images[3].get_array().mask.sum() == 1
    assert texts(ax) == ["as it is", "by PCA", "by the fit", "a", "b"]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("shape", [(20, 5), (1234, 777)])
def test_one_missing_cell_is_seen_where_it_is(make, shape):
    rows = np.zeros(shape)
    rows[13, 4] = np.nan
    ax = pictures.missing_cells(make(rows))
    (image,) = ax.images
    ((down,), (across,)) = np.nonzero(~image.get_array().mask)
    height, width = image.get_array().shape
    assert (down, across) == (13 * height // shape[0], 4 * width // shape[1])
    assert image.get_array()[down, across] == pytest.approx(height * width / rows.size, rel=0.2)
    assert image.to_rgba(image.get_array())[down, across, 3] >= 0.6
    assert ax.get_title() == f"1 missing cell of {rows.size:,}"


def test_a_name_is_no_formula():
    """All texts are drawn, on one line, and a legend leaves none out."""
    frame = pd.DataFrame(X, columns=HOSTILE)
    model = CorrectedPCACV(2, corrections=["tempering"]).fit(frame)
    rows = frame.to_numpy()
    labels = np.resize(HOSTILE, 60)
    axes = [
        pictures.scores(model, frame, colour_by=labels, row_names=labels),
        pictures.loadings(model),
        pictures.control_limits(model.control_limits(rows), row_names=labels),
        *stability(frame, PCA(2), n_boot=20, random_state=0).plot(),
        *pictures.reconstructions(rows[:2], rows[:2], rows[:2], row_names=HOSTILE[:2], feature_names=HOSTILE),
    ]
    for ax in axes:
        ax.figure.canvas.draw()
    assert len(legend(axes[0])) == len(HOSTILE)
    written = [label.get_text() for label in axes[1].get_yticklabels()]
    assert max(map(len, written)) <= 26
    assert not any(mpl.cbook.is_math_text(text) or "\n" in text for text in written)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CorrectedPCA(2), None),
        (AttenuatedPCA(1), None),
        (AttenuatedPCACV(2), "strength of attenuation"),
        (CorrectedPCACV(2, corrections=["damping"]), "removed of PCA's held-out risk, %"),
    ],
)
def test_an_estimator_draws_all_pictures_in_one_figure(model, expected):
    axes = model.fit(X).plot(X, colour_by=np.arange(60) % 3)
    assert list(axes) == ["scores", "scree", "loadings", "steps"][: 4 if expected else 3]
    assert plt.get_fignums() == [axes["scores"].figure.number]
    if expected:
        assert axes["steps"].get_xlabel() == expected


def test_half_a_figure_is_closed():
    with pytest.raises(ValueError, match="colour_by"):
        MODEL.plot(X, colour_by=[1])
    assert not plt.get_fignums()


def test_pictures_stand_where_they_are_asked_to():
    figure, places = plt.subplots(1, 3)
    assert STEPS.plot(places[0]) is places[0]
    found = stability(X, PCA(2), n_boot=20, random_state=0)
    for panel in found.plot(places[1]):
        assert panel.get_subplotspec().get_topmost_subplotspec() == places[1].get_subplotspec()
    assert plt.get_fignums() == [figure.number]
    with pytest.raises(ValueError, match="ax must be one subplot, or 3 Axes, one for each panel; got 2"):
        found.plot(places[:2])


def test_text_follows_the_style_and_no_background_is_painted():
    with mpl.rc_context({"text.color": "red", "axes.facecolor": "none"}):
        ax = pictures.missing_cells([[1.0, np.nan], [2.0, 3.0]])
    assert ax.get_facecolor()[3] == 0
    assert ax.images[0].to_rgba(ax.images[0].get_array())[0, 0, 3] == 0
    assert ax.title.get_color() == "red"


def test_without_matplotlib_an_error_says_how_to_install_it():
    code = "import sys; sys.modules['matplotlib'] = None; import attenua; from attenua import pictures"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "pip install 'attenua[plot]'" in found.stderr
