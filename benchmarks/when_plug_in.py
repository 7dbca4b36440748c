"""How well does a sample predict what a correction gains? Plug-ins and laws against Monte Carlo.

For each population, size and rank: the true gain of every strength on the estimators' grids (centred rows,
row tempering of pairs, many samples), and what a sample of that size predicts. A prediction is a covariance
that stands for the population's, a law, and a way to compute: the expansion in 1/n, or a simulation at the
strength that the expansion finds best. The covariances are S itself (`sample`), linear shrinkage
(`ledoit-wolf`), correlations shrunk by Schaefer and Strimmer's intensity (`diagonal`), as many factors as
components and a diagonal (`factor`), and a mean of that and S (`blend`). The laws are Gaussian, a Student t
with the tails of the sample (`tails`), and that of the rows themselves (`rows`, single ones).

Printed for every correction, in percentage points of PCA's excess risk: the mean and the root mean square of
(predicted - true) gain at the strength that the prediction finds best (0, with no gain, is one of them), the
true gain lost against the best strength, and how often prediction and truth agree on whether any strength
gains a point or more.

python benchmarks/when_plug_in.py [--quick]
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from sklearn.covariance import ledoit_wolf

from attenua._correct.corrections import GRIDS, Strengths
from attenua.rivals import shrinkage_intensity
from attenua.theory import Gaussian, Population, Rows, StudentT
from attenua.theory.laws import square_root
from attenua.theory.samples import (
    blended_covariance,
    factor_covariance,
    fitted_risks,
    simulated_gain,
    tail_law,
)

CORRECTIONS = ("attenuation", "tempering", "damping", "row_tempering")
CANDIDATES = [Strengths()] + [Strengths(**{name: s}) for name in CORRECTIONS for s in GRIDS[name][1:]]
DRAWS = {20: 300, 60: 150, 150: 50}
SAMPLES = {20: 3, 60: 2, 150: 1}
SIMULATIONS = 20


def populations(p: int, d: int) -> dict[str, tuple[np.ndarray, object]]:
    """Covariances with d strong directions (AR(1) has none that stand out), and laws."""
    rng = np.random.default_rng(p + d)
    spikes = np.linalg.qr(rng.standard_normal((p, d)))[0] * np.sqrt(np.linspace(0.3, 0.15, d) * p)
    spiked = spikes @ spikes.T + np.eye(p)
    unequal = spikes @ spikes.T + np.diag(np.exp(rng.uniform(-1, 1, p)))
    places = np.arange(p)
    return {
        "spiked": (spiked, Gaussian()),
        "ar(1)": (0.8 ** np.abs(places[:, None] - places), Gaussian()),
        "unequal noise": (unequal, Gaussian()),
        "heavy tails": (spiked, StudentT(5)),
    }


def draw_samples(
    population: Population, law: object, n: int, repeats: int, random: object
) -> Iterator[np.ndarray]:
    """Yield samples of `n` rows of mean 0, in units of the population's `scaled` covariance."""
    root = square_root(population.scaled)
    return (law.draw(random, n, root) for _ in range(repeats))


def plug_ins(rows: np.ndarray, d: int) -> dict[str, np.ndarray]:
    """Covariances from centred rows."""
    n = len(rows) - 1
    S = rows.T @ rows / n
    toward_diagonal = (1 - shrinkage_intensity(rows)) * S
    np.fill_diagonal(toward_diagonal, np.diag(S))
    return {
        "sample": S,
        "ledoit-wolf": ledoit_wolf(rows, assume_centered=True)[0],
        "diagonal": toward_diagonal,
        "factor": factor_covariance(S, d, n),
        "blend": blended_covariance(S, d, n),
    }


def laws(rows: np.ndarray) -> dict[str, object]:
    return {"gaussian": Gaussian(), "tails": tail_law(rows), "rows": Rows(rows)}


def expanded(population: Population, law: object, n: float) -> np.ndarray:
    """Predicted excess risk of every candidate; infinite where there is no gap, or it is negative."""
    risks = []
    for candidate in CANDIDATES:
        try:
            risks.append(population.excess_risk(n, law=law, **candidate._asdict()))
        except ValueError:
            risks.append(np.inf)
    return np.where(np.array(risks) >= 0, risks, np.inf)


def centred(rows: np.ndarray) -> np.ndarray:
    return rows - rows.mean(axis=0)


def compare(name: str, p: int, n: int, d: int, draws: int, samples: int, results: dict) -> None:
    """Add the predictions of some samples of one setting."""
    covariance, law = populations(p, d)[name]
    population, rng = Population(covariance, d, row_pairs=True), np.random.RandomState(n)
    risks = [
        fitted_risks(population, centred(rows), CANDIDATES)
        for rows in draw_samples(population, law, n, draws, rng)
    ]
    true = 1 - np.mean(risks, axis=0) / np.mean(risks, axis=0)[0]
    for sample in draw_samples(population, law, n, samples, rng):
        rows = centred(sample)
        own_laws = laws(rows)
        for kind, plug_in in plug_ins(rows, d).items():
            for tails in own_laws if kind == "sample" else ("tails",):
                # Rows are no law that pairs of rows could be computed for.
                estimated = Population(plug_in, d, row_pairs=tails != "rows")
                predicted = expanded(estimated, own_laws[tails], n - 1)
                gains = 1 - predicted / predicted[0]
                best = [max(_places(c), key=lambda i: gains[i]) for c in CORRECTIONS]
                _note(results, (kind, tails, "1/n"), (name, p, n, d), best, gains, true)
                if tails == "tails":
                    fits = [CANDIDATES[0], *(CANDIDATES[i] for i in best)]
                    pairs = draw_samples(estimated, own_laws[tails], n - 1, SIMULATIONS, rng)
                    fitted = np.array([fitted_risks(estimated, rows, fits) for rows in pairs])
                    simulated = np.full(len(CANDIDATES), np.nan)
                    simulated[best] = [simulated_gain(fitted[:, 0], r)[0] for r in fitted.T[1:]]
                    _note(results, (kind, tails, "simulated"), (name, p, n, d), best, simulated, true)


def _places(correction: str) -> list[int]:
    return [0] + [i for i, candidate in enumerate(CANDIDATES) if getattr(candidate, correction)]


def _note(
    results: dict, key: tuple, setting: tuple, best: list, predicted: np.ndarray, true: np.ndarray
) -> None:
    for correction, i in zip(CORRECTIONS, best, strict=True):
        results[key].append((correction, *setting, predicted[i], true[i], true[_places(correction)].max()))


def table(results: dict, chosen: object, title: str) -> None:
    """Print errors in percentage points."""
    print(f"\n{title}\n{'covariance':12} {'law':9} {'by':10} {'correction':14} bias  rmse  lost  sign")
    for key, rows in results.items():
        for correction in CORRECTIONS:
            kept = np.array([row[-3:] for row in rows if row[0] == correction and chosen(row)], dtype=float)
            if len(kept):
                predicted, true, most = 100 * kept.T
                error, agree = predicted - true, 100 * np.mean((predicted >= 1) == (most >= 1))
                print(
                    f"{key[0]:12} {key[1]:9} {key[2]:10} {correction:14} {error.mean():+5.0f} "
                    f"{np.sqrt(np.mean(error**2)):5.0f} {np.mean(most - true):5.1f} {agree:4.0f}%"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one rank, p = 20 and 60, fewer samples")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", UserWarning)
    results, start = defaultdict(list), time.perf_counter()
    for p in (20, 60) if quick else (20, 60, 150):
        for d in (2,) if quick else (2, 5):
            for n in (40, 100, 300):
                for name in populations(p, d):
                    share = 4 if quick else 1
                    compare(name, p, n, d, DRAWS[p] // share, max(SAMPLES[p] // share, 1), results)
                print(f"p = {p}, d = {d}, n = {n}: {time.perf_counter() - start:.0f} s", flush=True)
    table(results, lambda row: row[2] < row[3], "p < n")
    table(results, lambda row: row[2] >= row[3], "p >= n")
    table(results, lambda row: row[1] == "heavy tails", "heavy tails")


if __name__ == "__main__":
    main()
