"""Whether what a fit expects of new rows is what they gain: simulated rows of known covariance.

python -m attenua_evidence.new_rows [--sets 200] [--write docs/guide/_new_rows.md]
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.covariance import LedoitWolf
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from attenua import CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from attenua._data.blas import blas_limit
from attenua._files import write_whole

Array = NDArray[np.float64]


class Case(NamedTuple):
    """Rows to draw and how to fit them; rank 0 is a whole covariance."""

    name: str
    rows: int
    columns: int
    rank: int
    draw: Callable[[np.random.Generator, int, int], Array]
    covariance: Callable[[int], Array]
    options: dict[str, Any]
    in_groups: bool = False  # whether four rows at a time are a group


def noise(random: np.random.Generator, n: int, p: int) -> Array:
    """Return spherical noise."""
    return random.standard_normal((n, p))


def t3_noise(random: np.random.Generator, n: int, p: int) -> Array:
    """Return independent entries of Student's law with three degrees of freedom, of variance 1."""
    return random.standard_t(3, (n, p)) / np.sqrt(3)


def waves(p: int) -> Array:
    """Return four smooth curves, times their standard deviations."""
    places = np.arange(p) / p
    sizes = (1.5, 1.0, 0.75, 0.5)
    return np.array([size * np.sin(np.pi * (k + 1) * places + k) for k, size in enumerate(sizes)])


def loadings(p: int) -> Array:
    """Return three sparse factors."""
    random = np.random.default_rng(5)
    return 0.8 * random.standard_normal((3, p)) * (random.random((3, p)) < 0.4)


def specific(p: int) -> Array:
    """Return unequal variances of columns."""
    return np.random.default_rng(6).uniform(0.5, 2.0, p)


def smooth(random: np.random.Generator, n: int, p: int) -> Array:
    """Return smooth signals in noise."""
    return random.standard_normal((n, 4)) @ waves(p) + random.standard_normal((n, p))


def factors(random: np.random.Generator, n: int, p: int) -> Array:
    """Return factors in noise of unequal variances."""
    return random.standard_normal((n, 3)) @ loadings(p) + random.standard_normal((n, p)) * np.sqrt(
        specific(p)
    )


def strong(p: int) -> Array:
    """Return three strong factors, times their standard deviations."""
    turn = np.linalg.qr(np.random.default_rng(7).standard_normal((p, 3)))[0]
    return turn.T * np.sqrt([[3 * p], [1.5 * p], [p]])


def strong_t5(random: np.random.Generator, n: int, p: int) -> Array:
    """Return rows of Student's t with five degrees of freedom: strong factors in noise."""
    lengths = np.sqrt(3 / random.chisquare(5, (n, 1)))
    return lengths * (random.standard_normal((n, 3)) @ strong(p) + random.standard_normal((n, p)))


def grouped(random: np.random.Generator, n: int, p: int) -> Array:
    """Return smooth signals, of which half the variance is that of groups of four rows."""
    of_groups = np.repeat(smooth(random, -(-n // 4), p), 4, axis=0)[:n]
    return (of_groups + smooth(random, n, p)) / np.sqrt(2)


def of_smooth(p: int) -> Array:
    """Return the covariance of smooth signals."""
    return waves(p).T @ waves(p) + np.eye(p)


SPLITTERS = {
    "": {},
    ", cv=20": {"cv": 20},
    ", KFold": {"cv": KFold(5, shuffle=True, random_state=0)},
    ", ShuffleSplit": {"cv": ShuffleSplit(10, test_size=0.2, random_state=0)},
    ", four repeats": {"cv": RepeatedKFold(n_splits=5, n_repeats=4, random_state=0)},
}
CASES = [
    *(
        Case(f"noise, {p} columns{words}", 40, p, 2, noise, np.eye, options)
        for p in (10, 30, 60)
        for words, options in SPLITTERS.items()
    ),
    *(
        Case(name, n, 40, 3, draw, covariance, options)
        for name, draw, covariance, options in (
            ("noise, 40 columns", noise, np.eye, {}),
            ("t3 noise, 40 columns", t3_noise, np.eye, {}),
            ("smooth signals", smooth, of_smooth, {"neighbours": "line"}),
            ("factors", factors, lambda p: loadings(p).T @ loadings(p) + np.diag(specific(p)), {}),
        )
        for n in (20, 40, 80, 200)
    ),
    *(
        Case(f"{name}{words}", n, 40, rank, draw, covariance, options, name.startswith("groups"))
        for words, rank in (("", 3), (", covariance", 0))
        for name, sizes, draw, covariance, options in (
            ("t5, strong factors", (24, 60), strong_t5, lambda p: strong(p).T @ strong(p) + np.eye(p), {}),
            ("groups of four rows", (40, 80), grouped, of_smooth, {"neighbours": "line"}),
        )
        for n in sizes
    ),
]


def judge(case: Case, seed: int) -> tuple[float, float, float, bool]:
    """Return the exact gain on new rows, what was expected, its error, and whether a gain is claimed."""
    X = case.draw(np.random.default_rng([seed, case.rows, case.columns]), case.rows, case.columns)
    groups = np.arange(case.rows) // 4 if case.in_groups else None
    make = partial(CorrectedPCACV, case.rank) if case.rank else CorrectedCovariance
    with blas_limit(1):
        model = make(nested=True, **case.options).fit(X, groups=groups)
        base = CorrectedPCA(case.rank).fit(X) if case.rank else LedoitWolf().fit(X)
    # The second moment of new rows about the fitted mean.
    about = case.covariance(case.columns) + np.outer(X.mean(axis=0), X.mean(axis=0))
    if case.rank:
        risks = [np.trace(about) - np.sum(U @ about * U) for U in (model.components_, base.components_)]
        gain = 1 - risks[0] / risks[1]
    else:
        fits = (model.covariance_, base.covariance_)
        losses = [(np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, about))) / 2 for C in fits]
        gain = losses[1] - losses[0]
    claims = any(words in model.verdict_ for words in (" less error than PCA's", " above Ledoit-Wolf's"))
    return gain, model.left_out_gain_, model.left_out_gain_error_, claims


def line(case: Case, found: Array) -> str:
    """Return a line of the table, in percent; of a covariance, in nats a row."""
    true, expected, error, claims = found.T
    off, unit = expected - true, 100 if case.rank else 1
    bias = f"{unit * off.mean():+.2f} ± {unit * off.std(ddof=1) / np.sqrt(len(off)):.2f}"
    covered = np.mean(np.abs(off) <= 2 * error)
    numbers = (f"{unit * true.mean():.2f}", f"{unit * expected.mean():.2f}", bias, f"{covered:.0%}")
    return f"| {case.name} | {case.rows} | {' | '.join(numbers)} | {claims.mean():.1%} |"


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200, help="simulated data sets of each kind")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 is one for each core")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    lines = [
        "| rows of | number | gain on new rows | expected | difference | within two errors | gain claimed |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for text in lines:
        print(text)
    for case in CASES:
        tasks = (delayed(judge)(case, seed) for seed in range(options.sets))
        lines.append(line(case, np.array(Parallel(options.jobs)(tasks), dtype=float)))
        print(lines[-1], flush=True)
    if options.write:
        write_whole(options.write, ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
