"""A first look: three tasks on new rows, by `CorrectedPCACV` and by PCA, on the data of scikit-learn.

Rules choose what is shown, not results: every real data set inside scikit-learn that has ten columns or more,
with as many components as the square root of the number of columns.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.stats import t
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from attenua.corrected import CorrectedPCACV

Array = NDArray[np.float64]

TASKS = ("reconstruct", "fill", "denoise")
_DOING = {"reconstruct": "reconstructing", "fill": "filling", "denoise": "denoising"}
MOST_NEW = 500
HIDDEN = 0.3
NOISE = 0.5
# Two fits of the same subspace differ by rounding; that is neither a gain nor a loss.
_ROUNDING = 1e-6


class DemoData(NamedTuple):
    """A data set: its rows, the grid that its columns form, and whether their units differ."""

    name: str
    X: Array
    neighbours: tuple[int, int] | None = None
    mixed_units: bool = False

    @property
    def n_components(self) -> int:
        """The square root of the number of columns, rounded."""
        return round(np.sqrt(self.X.shape[1]))


@dataclass(frozen=True)
class DemoResult:
    """How much of PCA's error disappears in one task on one data set, in percent, in each subsample."""

    data: str
    task: str
    gains: Array

    @property
    def mean(self) -> float:
        """The mean over subsamples."""
        return float(self.gains.mean())

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval of the mean, by Student's t."""
        n = len(self.gains)
        return float(t.ppf(0.975, n - 1) * self.gains.std(ddof=1) / np.sqrt(n))

    @property
    def clear(self) -> int:
        """1 if the interval lies above zero, -1 if it lies below, else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) - self.half_width > _ROUNDING else 0


def demo_data() -> list[DemoData]:
    """Return the data sets of the demo."""
    images = [image.mean(axis=2) for image in datasets.load_sample_images().images]
    # Squares of 8 x 8 pixels that do not overlap.
    photos = np.concatenate(
        [sliding_window_view(image, (8, 8))[::8, ::8].reshape(-1, 64) for image in images]
    )
    return [
        DemoData("Diabetes", datasets.load_diabetes().data),  # comes scaled
        DemoData("Wine", datasets.load_wine().data, mixed_units=True),
        DemoData("Cancer", datasets.load_breast_cancer().data, mixed_units=True),
        DemoData("Digits", datasets.load_digits().data, neighbours=(8, 8)),
        DemoData("Photos", photos, neighbours=(8, 8)),
    ]


def run_demo(
    data: Iterable[DemoData],
    n_rows: int,
    n_subsamples: int,
    *,
    seed: int = 0,
    advance: Callable[[], Any] = lambda: None,
) -> list[DemoResult]:
    """Fit both methods to `n_rows` rows of each data set, again and again, and judge them on other rows.

    `advance` is called after every subsample.
    """
    runs = [(one, n_rows, [seed, number]) for one in data for number in range(n_subsamples)]
    gains: dict[tuple[str, str], list[float]] = {}
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=-1, return_as="generator")
        for run, found in zip(runs, parallel(delayed(_one_subsample)(*run) for run in runs), strict=True):
            for task in TASKS:
                gains.setdefault((run[0].name, task), []).append(found[task])
            advance()
    return [DemoResult(*key, np.array(values)) for key, values in gains.items()]


def _one_subsample(data: DemoData, n_rows: int, seed: Sequence[int]) -> dict[str, float]:
    """Fit to the first rows of a random order, and return the gain in each task on the rows after them."""
    rng = np.random.default_rng(seed)
    X = rng.permutation(data.X)
    rows, new = X[:n_rows], X[n_rows : n_rows + MOST_NEW]
    if data.mixed_units:
        scaler = StandardScaler().fit(rows)
        rows, new = scaler.transform(rows), scaler.transform(new)
    # The same number of cells is hidden in each row, so that none loses all.
    hidden = rng.random(new.shape).argsort(axis=1) < round(HIDDEN * new.shape[1])
    holes = np.where(hidden, np.nan, new)
    noisy = new + NOISE * new.std(axis=0) * rng.standard_normal(new.shape)

    pca = PCA(data.n_components, svd_solver="full").fit(rows)
    ours = CorrectedPCACV(data.n_components, neighbours=data.neighbours).fit(rows)
    answers = {
        "reconstruct": (_projected(pca, new), _projected(ours, new)),
        "fill": (filled_by_pca(pca, holes), ours.impute(holes)),
        "denoise": (_projected(pca, noisy), _projected(ours, noisy)),
    }
    errors = {task: [np.sum((found - new) ** 2) for found in both] for task, both in answers.items()}
    return {task: float(100 * (1 - error / of_pca)) for task, (of_pca, error) in errors.items()}


def _projected(model: Any, X: Array) -> Array:
    return model.inverse_transform(model.transform(X))


def filled_by_pca(pca: PCA, X: Array) -> Array:
    """Return rows with missing cells filled by probabilistic PCA.

    They get their mean given the seen cells of their row, under the Gaussian law with the covariance
    ``pca.get_covariance()``: the variances along the components, and one noise variance along all other
    directions.
    """
    C, filled = pca.get_covariance(), X.copy()
    for row in filled:
        gone = np.isnan(row)
        seen = ~gone
        deviations = np.linalg.solve(C[np.ix_(seen, seen)], row[seen] - pca.mean_[seen])
        row[gone] = pca.mean_[gone] + C[np.ix_(gone, seen)] @ deviations
    return filled


def what_was_seen(results: Sequence[DemoResult]) -> str:
    """Say in two sentences which gains are clear, and which losses."""
    better, worse = (
        "; ".join(f"{_DOING[task]} {names}" for task in TASKS if (names := _named(results, task, sign)))
        for sign in (1, -1)
    )
    return f"Clearly less error than PCA: {better or 'none'}. Clearly more error: {worse or 'none'}."


def _named(results: Sequence[DemoResult], task: str, sign: int) -> str:
    """Name the data sets on which a task has clear gains, or losses."""
    of_task = [result for result in results if result.task == task]
    names = [result.data for result in of_task if result.clear == sign]
    if len(names) == len(of_task) > 1:
        return f"all {len(names)}"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
