"""Scree, biplot and scores beside PCA's: what is drawn is what a computation by hand gives."""

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV, choose_rank
from attenua._select.rank import elbow
from attenua.display import BiplotDisplay, ScoresBesidePCADisplay, ScreeDisplay
from tests.helpers import spiked_rows, uneven_rows

X = spiked_rows(60, 9)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_the_scree_goes_on_beyond_the_fit():
    model = CorrectedPCA(2, tempering=1.0).fit(X)
    display = ScreeDisplay.from_estimator(model, X)
    ratios = 100 * PCA().fit(X).explained_variance_ratio_
    np.testing.assert_allclose(display.line_.get_ydata(), ratios)
    np.testing.assert_allclose(display.fitted_line_.get_ydata(), 100 * model.explained_variance_ratio_)
    assert display.choice.rank == choose_rank(X, random_state=0).rank
    cuts = {name: line.get_xdata()[0] for name, line in display.cut_lines_.items()}
    for name, rank in (("fitted", 2), ("elbow", display.elbow), ("choose_rank", display.choice.rank)):
        assert rank < cuts[name] < rank + 1
    assert len(set(cuts.values())) == 3  # side by side, not on top of each other


def test_the_scree_has_no_more_components_than_rows_allow():
    wide = spiked_rows(12, 30)
    display = ScreeDisplay.from_data(wide)
    ratios = PCA().fit(wide).explained_variance_ratio_
    np.testing.assert_allclose(display.ratios, ratios[:11])
    assert display.fitted_line_ is None
    sparse = ScreeDisplay.from_data(sp.csr_matrix(wide))
    np.testing.assert_allclose(sparse.ratios, display.ratios)
    assert sparse.choice.rank == display.choice.rank


def test_the_scree_of_missing_cells_has_no_answer_of_choose_rank():
    holed = X.copy()
    holed[3, 2] = np.nan
    display = ScreeDisplay.from_data(holed)
    assert display.choice is None
    assert "choose_rank" not in display.cut_lines_
    np.testing.assert_allclose(display.ratios, ScreeDisplay.from_data(X).ratios, atol=0.01)
    given = choose_rank(X, method="threshold")
    assert ScreeDisplay.from_data(holed, choice=given).choice is given


def test_the_elbow_is_the_split_of_largest_likelihood():
    values = np.sort(np.random.default_rng(0).exponential(size=12))[::-1]
    values[:4] += 5

    def log_likelihood(q):
        first, rest = values[:q], values[q:]
        variance = (q * first.var() + len(rest) * rest.var()) / len(values)
        return sum(
            np.sum(-0.5 * np.log(2 * np.pi * variance) - (part - part.mean()) ** 2 / (2 * variance))
            for part in (first, rest)
        )

    assert elbow(values) == 4
    assert elbow(values) == max(range(1, 12), key=log_likelihood)
    assert elbow(values[:1]) == 1


def test_a_biplot_has_the_longest_arrows_at_one_scale():
    wide = pd.DataFrame(spiked_rows(50, 40), columns=[f"c{place}" for place in range(40)])
    model = CorrectedPCA(3, whiten=True).fit(wide)
    display = BiplotDisplay.from_estimator(model, wide, components=(2, 0), colour_by=np.arange(50))
    lengths = np.hypot(*model.loadings_[:, [2, 0]].T)
    np.testing.assert_array_equal(display.shown_, np.argsort(-lengths)[:12])
    assert len(display.arrows_) == len(display.names_) == 12
    assert {name.get_text() for name in display.names_} == {f"c{place}" for place in display.shown_}
    tips = np.array([arrow.xy for arrow in display.arrows_])
    ratios = tips / model.loadings_[display.shown_][:, [2, 0]]
    np.testing.assert_allclose(ratios, ratios[0, 0])
    drawn = np.asarray(display.points_.get_offsets())
    np.testing.assert_allclose(drawn.std(axis=0, ddof=1), 1)
    # Rows are the points times the arrows.
    plane = PCA(3).fit(wide)
    np.testing.assert_allclose(
        drawn @ display.arrows.T,
        plane.transform(wide)[:, [2, 0]] @ plane.components_[[2, 0]],
        atol=1e-9,
    )


def test_names_of_arrows_do_not_cover_each_other():
    # Neighbouring wavelengths: all arrows point the same way.
    rng = np.random.default_rng(0)
    smooth = np.outer(rng.standard_normal(30), np.ones(60)) + 0.01 * rng.standard_normal((30, 60))
    display = BiplotDisplay.from_estimator(CorrectedPCA(2).fit(smooth), smooth)
    heights = sorted(name.get_position()[1] for name in display.names_)
    low, high = display.ax_.get_ylim()
    assert len(heights) == 12
    assert np.diff(heights).min() > 0.04 * (high - low)
    assert low < heights[0]
    assert heights[-1] < high


def test_scores_are_turned_to_those_of_pca():
    rows = uneven_rows(40, 8)
    model = CorrectedPCA(3, tempering=1.0).fit(rows)
    display = ScoresBesidePCADisplay.from_estimator(model, rows, colour_by=["a", "b"] * 20)
    pca = PCA(3).fit_transform(rows)
    np.testing.assert_allclose(np.abs(display.pca), np.abs(pca), atol=1e-9)
    ours = model.transform(rows)
    # The least distance over all turns, from the singular values.
    overlap = np.linalg.svd(ours.T @ pca, compute_uv=False).sum()
    least = (np.sum(pca**2) + np.sum(ours**2) - 2 * overlap) / np.sum(pca**2)
    assert display.change == pytest.approx(least)
    assert least > 1e-3
    drawn = np.asarray(display.points_[1].get_offsets())
    np.testing.assert_allclose(drawn, display.aligned[:, :2])
    assert len(display.moves_.get_segments()) == 40


def test_a_turn_within_the_subspace_moves_no_score():
    class Turned(CorrectedPCA):
        """PCA with its components in reverse order and other signs."""

        def fit(self, X, y=None):
            super().fit(X)
            self.components_ = -self.components_[::-1]
            return self

    display = ScoresBesidePCADisplay.from_estimator(Turned(3).fit(X), X)
    assert display.change < 1e-20


@pytest.mark.parametrize("cls", [BiplotDisplay, ScoresBesidePCADisplay])
def test_scores_refuse_what_they_cannot_draw(cls):
    fitted = CorrectedPCA(2).fit(X)
    with pytest.raises(ValueError, match="at least two components to draw; it has 1"):
        cls.from_estimator(CorrectedPCA(1).fit(X), X)
    with pytest.raises(ValueError, match="each of components must be an integer from 0 to 1; got 2"):
        cls.from_estimator(fitted, X, components=(0, 2))
    with pytest.raises(ValueError, match=r"two numbers of components, such as \(0, 1\); got 1"):
        cls.from_estimator(fitted, X, components=1)
    with pytest.raises(ValueError, match=r"one entry for each of the 60 rows; got shape \(3,\)"):
        cls.from_estimator(fitted, X, colour_by=[1, 2, 3])
    with pytest.raises(ValueError, match="such as CorrectedPCACV; got CorrectedCovariance"):
        cls.from_estimator(CorrectedCovariance(), X)


def test_pictures_of_missing_cells():
    holed = X.copy()
    holed[::7, 3] = np.nan
    model = CorrectedPCACV(2).fit(holed)
    assert np.isfinite(BiplotDisplay.from_estimator(model, holed).scores).all()
    assert np.isfinite(ScoresBesidePCADisplay.from_estimator(model, holed).aligned).all()
    assert ScreeDisplay.from_estimator(model, holed).choice is None


@pytest.mark.parametrize(
    ("model", "compared"),
    [
        (CorrectedPCA(2), None),
        (CorrectedPCACV(2, corrections=["damping"]), "damping"),
        (CorrectedPCACV(2, corrections=[]), None),
        (AttenuatedPCACV(2, alphas=[0.5]), "attenuation strength $\\alpha$"),
    ],
)
def test_an_estimator_draws_all_pictures_in_one_figure(model, compared):
    axes = model.fit(X).plot(X, colour_by=np.arange(len(X)) % 3)
    assert list(axes) == ["scores", "scree", "loadings", *(["steps"] if compared else [])]
    (number,) = plt.get_fignums()
    labels = [ax.get_xlabel() for ax in plt.figure(number).axes]
    assert "component" in labels
    assert compared is None or compared in labels


def test_titles_and_names_of_seven_steps_do_not_overlap():
    model = CorrectedPCACV(2, neighbours="line", reference=X[30:]).fit(X[:30])
    figure = model.plot(X[:30])["steps"].figure
    figure.canvas.draw()
    steps = [ax for ax in figure.axes if ax.get_title().startswith("weight")]
    assert len(steps) == 7
    for texts in ([ax.title for ax in steps], [ax.xaxis.label for ax in steps]):
        extents = [text.get_window_extent() for text in texts]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(extents))


def test_a_figure_that_cannot_be_drawn_is_closed():
    with pytest.raises(ValueError, match="must have at least two components"):
        CorrectedPCA(1).fit(X).plot(X)
    assert not plt.get_fignums()
