"""A first look: PCA, the paper's strength and all corrections on the data that come with scikit-learn.

Rules choose what is shown, not results: every real data set inside scikit-learn that has ten columns or more,
with five components and, where there are more than twenty columns, also with twenty.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from attenua._correct.registry import CORRECTIONS
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCACV

Array = NDArray[np.float64]

N_ROWS = (32, 128)
RANKS = (5, 20)
PAPER, ALL = "paper's strength", "all corrections"
# Two fits of the same subspace differ by rounding; that is not a loss.
_ROUNDING = 1e-6


class DemoData(NamedTuple):
    """A data set: its rows, the grid that its columns form, and whether their units differ."""

    name: str
    X: Array
    neighbours: tuple[int, int] | None = None
    mixed_units: bool = False


@dataclass(frozen=True)
class DemoLine:
    """Results of the subsamples of one data set, at one number of rows and of components."""

    data: str
    n_rows: int
    n_components: int
    excess: Array  # PCA's excess risk in percent of its risk: what the best subspace of the test rows saves
    removed: dict[str, Array]  # percent of PCA's excess risk that each method removes; below 0 is worse
    weights: list[dict[str, float]]  # of each correction in each fit of CorrectedPCACV; all 0 is PCA

    def mean_and_interval(self, method: str) -> tuple[float, float, float]:
        """Return the mean that a method removes, and its 95% normal interval."""
        values = self.removed[method]
        mean, half = values.mean(), 1.96 * values.std(ddof=1) / np.sqrt(len(values))
        return mean, mean - half, mean + half

    def n_worse(self, method: str) -> int:
        """Return in how many subsamples a method was worse than PCA."""
        return int(np.sum(self.removed[method] < -_ROUNDING))

    def most_taken(self) -> str:
        """Return the correction of the largest weight, in the mean over subsamples."""
        means = {name: float(np.mean([each[name] for each in self.weights])) for name in CORRECTIONS}
        name = max(means, key=lambda name: means[name])
        return f"{CORRECTIONS[name].label} ({means[name]:.0%})" if means[name] else "none"


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
    data: Iterable[DemoData], n_subsamples: int, *, seed: int = 0, advance: Callable[[], Any] = lambda: None
) -> list[DemoLine]:
    """Fit three methods to small subsamples of every data set and judge them on the other rows.

    Each data set must have more than ``max(N_ROWS)`` rows. `advance` is called after every subsample.
    """
    tasks = [(one, [seed, number]) for one in data for number in range(n_subsamples)]
    found: dict[tuple[str, int, int], list[_Gains]] = {}
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=-1, return_as="generator")
        for cells in parallel(delayed(_one_subsample)(*task) for task in tasks):
            for key, gains in cells.items():
                found.setdefault(key, []).append(gains)
            advance()
    return [_line(*key, gains) for key, gains in found.items()]


class _Gains(NamedTuple):
    excess: float
    paper: float
    corrected: float
    weights: dict[str, float]


def _one_subsample(data: DemoData, seed: Sequence[int]) -> dict[tuple[str, int, int], _Gains]:
    """Fit to the first rows of a random order, at every size and rank; judge on the rows after them."""
    X = np.random.default_rng(seed).permutation(data.X)
    cells = {}
    for rank in (rank for rank in RANKS if rank < X.shape[1]):
        for n_rows in N_ROWS:
            rows, test = X[:n_rows], X[max(N_ROWS) :]
            if data.mixed_units:
                scaler = StandardScaler().fit(rows)
                rows, test = scaler.transform(rows), scaler.transform(test)
            cells[data.name, n_rows, rank] = _gains(rows, test, rank, data.neighbours)
    return cells


def _gains(rows: Array, test: Array, rank: int, neighbours: tuple[int, int] | None) -> _Gains:
    pca = AttenuatedPCA(rank).fit(rows)
    paper = AttenuatedPCACV(rank).fit(rows)
    corrected = CorrectedPCACV(rank, neighbours=neighbours).fit(rows)
    pca_risk, best = -pca.score(test), -AttenuatedPCA(rank).fit(test).score(test)
    removed = (100 * (pca_risk + model.score(test)) / (pca_risk - best) for model in (paper, corrected))
    weights = {step.correction: step.weight for step in corrected.steps_}
    return _Gains(100 * (1 - best / pca_risk), *removed, weights)


def _line(data: str, n_rows: int, n_components: int, gains: list[_Gains]) -> DemoLine:
    excess, paper, corrected, weights = zip(*gains, strict=True)
    removed = {PAPER: np.array(paper), ALL: np.array(corrected)}
    return DemoLine(data, n_rows, n_components, np.array(excess), removed, list(weights))


def what_was_seen(lines: Sequence[DemoLine]) -> str:
    """Say in a sentence in how many lines each method was better than PCA and worse, and which was worst."""
    (better, worse, neither), papers = _verdicts(lines, ALL), _verdicts(lines, PAPER)
    worst = min(lines, key=lambda line: line.removed[ALL].mean())
    return (
        f"All corrections were clearly better than PCA in {better} of {len(lines)} lines, clearly worse in "
        f"{worse} and not clearly different in {neither} (worst line: {worst.data}, {worst.n_components} "
        f"components, {worst.n_rows} rows, {worst.removed[ALL].mean():+.1f}%); the paper's strength in "
        f"{papers[0]}, {papers[1]} and {papers[2]}."
    )


def _verdicts(lines: Sequence[DemoLine], method: str) -> tuple[int, int, int]:
    """Count the lines whose interval is above 0, below 0, and neither."""
    intervals = [line.mean_and_interval(method) for line in lines]
    better = sum(low > _ROUNDING for _, low, _ in intervals)
    worse = sum(high < -_ROUNDING for _, _, high in intervals)
    return better, worse, len(lines) - better - worse
