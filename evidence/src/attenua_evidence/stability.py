"""How often the intervals of attenua.stability hold what they should, in populations that are known.

Rows are drawn and given to ``stability``. A loading of the population should be in its interval of 95% in 95%
of the draws, and the angle of a component to the population's below its limit. Components that are called
stable singly should be within the largest angle of a cut that holds.

python -m attenua_evidence.stability [--draws 100] [--write docs/guide/_stability.md]
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attenua import CorrectedPCA, CorrectedPCACV, stability
from attenua._files import write_whole
from attenua._select.resampling import LARGEST_ANGLE
from attenua.bootstrap import Stability

ESTIMATORS = {"PCA": CorrectedPCA, "CorrectedPCACV": CorrectedPCACV}
SEED = 0


class Kind(NamedTuple):
    """Gaussian rows, or Student's t if `freedom` is finite; components have the given variances."""

    n: int
    p: int
    variances: tuple[float, ...]  # of the components; those of noise are 1
    freedom: float = np.inf

    @property
    def words(self) -> str:
        """The kind in the table."""
        tails = "heavy tails, " if np.isfinite(self.freedom) else ""
        return f"{tails}{self.n} x {self.p}; {', '.join(f'{value:g}' for value in self.variances)}"

    def draw(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return rows, and the components of their population."""
        variances = np.ones(self.p)
        variances[: len(self.variances)] = self.variances
        rows = random.standard_normal((self.n, self.p)) * np.sqrt(variances)
        if np.isfinite(self.freedom):
            rows *= np.sqrt((self.freedom - 2) / random.chisquare(self.freedom, (self.n, 1)))
        turn = np.linalg.qr(random.standard_normal((self.p, self.p)))[0]
        return rows @ turn, turn[: len(self.variances)]


KINDS = [
    Kind(30, 10, (20, 5)),
    Kind(60, 10, (20, 5)),
    Kind(200, 10, (20, 5)),
    Kind(60, 60, (40, 15)),
    Kind(200, 10, (6, 4, 2.5)),
    Kind(100, 10, (20, 5), freedom=5),
    Kind(60, 10, (10, 10)),
    Kind(60, 10, (20, 1)),
]


class Outcome(NamedTuple):
    """What one draw found."""

    loadings: float  # part of them in their intervals
    angles: float  # part of the components whose angle is below the limit
    whole: float  # whether that of the whole subspace is
    single: float  # part of the components that are called stable singly
    wrong: float  # part of them all that are, and are further from the population's than that allows


def outcome(found: Stability, true: np.ndarray) -> Outcome:
    """Compare what was found with the components of the population."""
    cosines = np.sum(true * found.components, axis=1)
    low, high = found.intervals
    signed = true * np.sign(cosines)[:, None]
    angles = np.degrees(np.arccos(np.minimum(np.abs(cosines), 1)))
    least = np.linalg.svd(true @ found.components.T, compute_uv=False)[-1]
    whole = np.degrees(np.arccos(min(least, 1.0)))
    single = np.zeros(len(true), dtype=bool)
    single[[block.first - 1 for block in found.blocks if block.is_stable and block.is_single]] = True
    return Outcome(
        float(np.mean((low <= signed) & (signed <= high))),
        float(np.mean(angles <= found.angle_limits)),
        float(whole <= found.leading_limits[-1]),
        float(single.mean()),
        float(np.mean(single & (angles > LARGEST_ANGLE))),
    )


def measure(kinds: Sequence[Kind], draws: int) -> dict[tuple[str, str], list[Outcome]]:
    """Return the outcome of every draw, by kind and estimator."""
    results: dict[tuple[str, str], list[Outcome]] = {}
    start = time.perf_counter()
    for place, kind in enumerate(kinds):
        random = np.random.default_rng([SEED, place])
        for number in range(draws):
            rows, true = kind.draw(random)
            for called, estimator in ESTIMATORS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = stability(rows, estimator(len(true)), n_boot=100, random_state=number)
                results.setdefault((kind.words, called), []).append(outcome(found, true))
        print(f"{kind.words}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results


def page(results: dict[tuple[str, str], list[Outcome]]) -> str:
    """Return the table."""
    lines = [
        "| rows x columns; variances | estimator | loadings held | angles below | whole subspace below"
        " | stable singly | and wrong |",
        "| --- | --- |" + " ---: |" * 5,
    ]
    for (words, called), found in results.items():
        lines.append(
            f"| {words} | {called} | {' | '.join(cell(part) for part in zip(*found, strict=True))} |"
        )
    return "\n".join([*lines, ""])


def cell(parts: Sequence[float]) -> str:
    """Return a mean in percent with its standard error."""
    return f"{100 * np.mean(parts):.0f} ± {100 * np.std(parts, ddof=1) / np.sqrt(len(parts)):.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=100, help="samples of each kind")
    parser.add_argument("--quick", action="store_true", help="one small kind")
    parser.add_argument("--write", type=Path, help="a file for the table; printed otherwise")
    options = parser.parse_args(arguments)
    text = page(measure(KINDS[:1] if options.quick else KINDS, options.draws))
    if options.write:
        write_whole(options.write, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
