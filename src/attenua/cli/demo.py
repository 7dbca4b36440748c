"""A first look: three tasks on new rows, by `CorrectedPCACV` and by PCA, on the data of scikit-learn.

Rules choose what is shown, not results: every real data set inside scikit-learn that has ten columns or more,
with as many components as the square root of the number of columns.
"""

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.stats import sem, t
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from attenua import CorrectedPCACV
from attenua.pictures import COLOURS

Array = NDArray[np.float64]

TASKS = {"reconstruct": "Reconstruct", "fill": "Fill gaps", "denoise": "Denoise"}
_DOING = {"reconstruct": "reconstructing", "fill": "filling", "denoise": "denoising"}
_MOST_NEW, _HIDDEN, _NOISE = 500, 0.3, 0.5
_ABOUT = """
Means over {n} subsamples, ± a 95% interval; a difference is clear if it excludes 0. Both methods have equal
numbers of components and are judged on up to {new} new rows.
Fill: {hidden:.0%} of the cells of each new row are hidden. PCA fills them by probabilistic PCA,
CorrectedPCACV.impute by a whole covariance and not by its components alone.
Denoise: new rows get noise of {noise:g} standard deviations of each column, and the error is against the rows
without it.
"""
# Two fits of the same subspace differ by rounding; that is neither a gain nor a loss.
_ROUNDING = 1e-6


class Data(NamedTuple):
    """A data set: its rows, the grid that its columns form, and whether their units differ."""

    name: str
    X: Array
    neighbours: tuple[int, int] | None = None
    mixed_units: bool = False


class Result(NamedTuple):
    """How much of PCA's error disappears in one task on one data set, in percent."""

    data: str
    task: str
    mean: float
    half_width: float  # of the 95% interval of the mean over subsamples, by Student's t

    @property
    def clear(self) -> int:
        """1 if the interval lies above zero, -1 if it lies below, else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) - self.half_width > _ROUNDING else 0


def demo_data() -> list[Data]:
    """Return the data sets of the demo."""
    images = [image.mean(axis=2) for image in datasets.load_sample_images().images]
    # Squares of 8 x 8 pixels that do not overlap.
    photos = [sliding_window_view(image, (8, 8))[::8, ::8].reshape(-1, 64) for image in images]
    return [
        Data("Diabetes", datasets.load_diabetes().data),  # comes scaled
        Data("Wine", datasets.load_wine().data, mixed_units=True),
        Data("Cancer", datasets.load_breast_cancer().data, mixed_units=True),
        Data("Digits", datasets.load_digits().data, neighbours=(8, 8)),
        Data("Photos", np.concatenate(photos), neighbours=(8, 8)),
    ]


def run(n_rows: int, n_subsamples: int, advance: Any = lambda: None, *, seed: int = 0) -> list[Result]:
    """Fit both methods to `n_rows` rows of each data set, again and again, and judge them on other rows."""
    results: list[Result] = []
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=-1, return_as="generator")
        for data in demo_data():
            gains = []
            seeds = [[seed, number] for number in range(n_subsamples)]
            for found in parallel(delayed(_one_subsample)(data, n_rows, each) for each in seeds):
                gains.append(found)
                advance()
            half_widths = t.ppf(0.975, n_subsamples - 1) * sem(gains)
            results += map(Result, [data.name] * 3, TASKS, np.mean(gains, axis=0), half_widths)
    return results


def _one_subsample(data: Data, n_rows: int, seed: Sequence[int]) -> list[float]:
    """Fit to the first rows of a random order, and return the gain in each task on the rows after them."""
    rng = np.random.default_rng(seed)
    X = rng.permutation(data.X)
    rows, new = X[:n_rows], X[n_rows : n_rows + _MOST_NEW]
    if data.mixed_units:
        scaler = StandardScaler().fit(rows)
        rows, new = scaler.transform(rows), scaler.transform(new)
    # The same number of cells is hidden in each row, so that none loses all.
    hidden = rng.random(new.shape).argsort(axis=1) < round(_HIDDEN * new.shape[1])
    holes = np.where(hidden, np.nan, new)
    noisy = new + _NOISE * new.std(axis=0) * rng.standard_normal(new.shape)

    rank = round(np.sqrt(new.shape[1]))
    pca = PCA(rank, svd_solver="full").fit(rows)
    ours = CorrectedPCACV(rank, neighbours=data.neighbours).fit(rows)
    by_pca = _projected(pca, new), filled_by_pca(pca, holes), _projected(pca, noisy)
    by_ours = _projected(ours, new), ours.impute(holes), _projected(ours, noisy)
    errors, of_pca = ([np.sum((found - new) ** 2) for found in three] for three in (by_ours, by_pca))
    return [float(100 * (1 - error / other)) for error, other in zip(errors, of_pca, strict=True)]


def _projected(model: Any, X: Array) -> Array:
    return np.asarray(model.inverse_transform(model.transform(X)))


def filled_by_pca(pca: PCA, X: Array) -> Array:
    """Fill missing cells by their mean given the seen ones, under the Gaussian law of probabilistic PCA."""
    C, filled = pca.get_covariance(), X.copy()
    for row in filled:
        gone = np.isnan(row)
        seen = ~gone
        deviations = np.linalg.solve(C[np.ix_(seen, seen)], row[seen] - pca.mean_[seen])
        row[gone] = pca.mean_[gone] + C[np.ix_(gone, seen)] @ deviations
    return filled


def as_text(results: Sequence[Result], n_rows: int, n_subsamples: int) -> str:
    """Return the results as a table, what they are, and which differences are clear."""
    lines = [f"Part of PCA's error on new rows that is removed, % ({n_rows} rows fitted)"]
    lines += [f"{'':<10}" + "".join(f"{title:>18}" for title in TASKS.values())]
    for name in dict.fromkeys(each.data for each in results):
        cells = [f"{each.mean:+.1f} ± {each.half_width:.1f}" for each in results if each.data == name]
        lines.append(f"{name:<10}" + "".join(f"{cell:>18}" for cell in cells))
    for sign, which in ((1, "less error than PCA"), (-1, "more error")):
        seen = [f"{_DOING[task]} {names}" for task in TASKS if (names := _named(results, task, sign))]
        lines.append(f"Clearly {which}: {'; '.join(seen) or 'none'}.")
    about = _ABOUT.format(n=n_subsamples, new=_MOST_NEW, hidden=_HIDDEN, noise=_NOISE)
    return "\n".join([*lines[:-2], about, *lines[-2:]])


def _named(results: Sequence[Result], task: str, sign: int) -> str:
    """Name the data sets on which a task has clear gains, or losses."""
    of_task = [each for each in results if each.task == task]
    names = [each.data for each in of_task if each.clear == sign]
    return f"all {len(names)}" if len(names) == len(of_task) > 1 else ", ".join(names)


def draw(results: Sequence[Result], n_rows: int, *, narrow: bool = False) -> bytes:
    """Return a PNG with a panel for each task and a bar for each data set; if narrow, one below the other."""
    from matplotlib.figure import Figure  # not pyplot, whose backend is the user's

    names = list(dict.fromkeys(each.data for each in results))
    height = 0.42 * len(names) + 1.2
    figure = Figure(figsize=(4.2, 2.4 * height) if narrow else (7.2, height), layout="constrained")
    panels = figure.subplots(*((3, 1) if narrow else (1, 3)), sharex=True, sharey=True)
    for ax, (task, title) in zip(panels, TASKS.items(), strict=True):
        for place, each in enumerate(one for one in results if one.task == task):
            colour = COLOURS["accent"] if each.mean < 0 else COLOURS["fit"]
            alpha = 1 if each.clear else 0.3  # what is not clear is pale
            ax.barh(place, each.mean, height=0.62, color=colour, alpha=alpha)
            ends = [each.mean - each.half_width, each.mean + each.half_width]
            ax.plot(ends, [place, place], color="0.2", lw=1, alpha=alpha)
            label = f"{each.mean:+.0f}" if each.clear else "not clear"
            colour = colour if each.clear else "0.5"
            ax.text(max(ends[1], 0) + 1, place, label, va="center", fontsize=12, color=colour)
        ax.axvline(0, color="0.2", lw=1.2)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0, labelsize=14)
        ax.set_title(title, fontsize=14)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    panels[0].set_xmargin(0.2)  # room for a number next to the longest bar
    gap = "\n" if narrow else "   "
    figure.supxlabel(f"less error than PCA on new rows, % →{gap}({n_rows} rows fitted)", fontsize=12)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()
