"""Data sets on which rules of choosing strengths are compared: public and simulated, half to look at."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.feature_extraction.image import extract_patches_2d

from attenua_paper.datasets import fetch_har, fetch_optdigits, fetch_phoneme

Array = NDArray[np.float64]

SEED, RANKS, MOST_COLUMNS, MOST_TEST_ROWS = 2026, (2, 5, 10), 48, 2000


class DataSet(NamedTuple):
    """Rows to draw from; test rows, if they are others; and which columns are neighbours."""

    X: Array
    neighbours: Any = None
    X_test: Array | None = None

    def draw(self, budget: int, random: np.random.Generator) -> tuple[Array, Array]:
        """Return rows to fit and rows to test."""
        order = random.permutation(len(self.X))
        rest = self.X[order[budget:]] if self.X_test is None else random.permutation(self.X_test)
        return self.X[order[:budget]], rest[:MOST_TEST_ROWS]

    def cells(self, budgets: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the budgets that leave as many test rows, with ranks: 10 for many columns only."""
        p = self.X.shape[1]
        for budget in (n for n in budgets if 2 * n <= len(self.X)):
            for rank in RANKS[: 3 if p >= 40 else 2]:
                if 2 * rank <= p:
                    yield budget, rank


def thinned(X: Array) -> Array:
    """Return every k-th column, so that they are not too many."""
    return np.asarray(X[:, :: -(-X.shape[1] // MOST_COLUMNS)], dtype=float)


def _lines(fetch: Callable[[], Any]) -> DataSet:
    found = fetch()
    return DataSet(thinned(found.X_train), "line", thinned(found.X_test))


def _optical_digits() -> DataSet:
    found = fetch_optdigits()
    return DataSet(found.X_train, (8, 8), found.X_test)


def _digit_patches() -> DataSet:
    images = datasets.load_digits().images
    places = np.random.default_rng(0).integers(5, size=(len(images), 2))
    rows = [image[i : i + 4, j : j + 4].ravel() for image, (i, j) in zip(images, places, strict=True)]
    return DataSet(np.array(rows), (4, 4))


def _photograph_patches() -> DataSet:
    image = datasets.load_sample_image("china.jpg").mean(axis=2)
    patches = extract_patches_2d(image, (6, 6), max_patches=3000, random_state=0)
    return DataSet(patches.reshape(len(patches), -1), (6, 6))


def _standardised(X: Array) -> DataSet:
    return DataSet((X - X.mean(axis=0)) / X.std(axis=0))


def _simulated(name: str) -> DataSet:
    """Draw rows of a population of 40 columns: factors plus noise, or an autoregression."""
    random, n, p = np.random.default_rng([SEED, *name.encode()]), 3000, 40
    if name == "autoregression":
        covariance = 0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
        return DataSet(random.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T, "line")
    loadings = random.standard_normal((5, p)) * np.array([1.2, 1.0, 0.8, 0.6, 0.5])[:, None]
    if name == "blocks of columns":
        loadings *= np.repeat(np.eye(5), p // 5, axis=1) * 2
    if name == "equal variances":
        loadings = np.sign(loadings) * np.abs(loadings).mean(axis=1, keepdims=True)
    noise = random.uniform(0.3, 3, p) if name == "unequal noise" else np.ones(p)
    X = random.standard_normal((n, 5)) @ loadings + random.standard_normal((n, p)) * noise
    return DataSet(X * np.sqrt(5 / random.chisquare(5, (n, 1))) if name == "heavy tails" else X)


# To look at and to judge, in turn; fixed before any result was seen.
LOADERS: dict[str, Callable[[], DataSet]] = {
    "optical digits": _optical_digits,
    "phonemes": lambda: _lines(fetch_phoneme),
    "activity": lambda: _lines(fetch_har),
    "digit patches": _digit_patches,
    "wine": lambda: _standardised(datasets.load_wine().data),
    "breast cancer": lambda: _standardised(datasets.load_breast_cancer().data),
    "photograph patches": _photograph_patches,
    "diabetes": lambda: DataSet(datasets.load_diabetes().data),
    "equal variances": lambda: _simulated("equal variances"),
    "unequal noise": lambda: _simulated("unequal noise"),
    "autoregression": lambda: _simulated("autoregression"),
    "heavy tails": lambda: _simulated("heavy tails"),
    "blocks of columns": lambda: _simulated("blocks of columns"),
    "spikes": lambda: _simulated("spikes"),
}
HALVES = {name: ("look", "judge")[number % 2] for number, name in enumerate(LOADERS)}
