"""Whether the theory, evaluated at the sample, would help held-out rows to choose strengths.

The search of CorrectedPCACV takes a step if held-out rows say so. A second witness is the excess risk that
the theory predicts for a population with the covariance of these rows, or with one shrunk from it. Rules of
what to make of it are compared by the percentage of PCA's excess risk on other rows that they remove:

* guard: how many standard errors the search asks for, without a witness; 1 is CorrectedPCACV
* veto: a step is dropped if the witness says that it loses more than so many percent of PCA's excess risk
* bold: the guard is multiplied by so much if the witness says that the step gains
* either: no guard if it says that the step gains, twice the guard if it says that the step loses
* prior: so many times the predicted risk is added to the held-out risk
* alone: no held-out rows, only the witness

Each is tried with six witnesses (covariance, law), and again with a witness that is silent about damping,
whose expansion is poor where correlations are near 0. Half of the data sets are to look at, half to judge.

    ATTENUA_DATA=folder python benchmarks/plug_in_witness.py --draws 2 --csv gains.csv
"""

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.stats import kurtosis, spearmanr

from attenua._correct.corrections import GRIDS, SEARCH_ORDER, Strengths
from attenua._correct.neighbours import column_smoother
from attenua._correct.row_tempering import pair_weights
from attenua._correct.tempering import tempered_matrix
from attenua._data.reweighting import laplacian
from attenua._select.comparison import ROUNDING
from attenua._select.variance_noise import variance_noise
from attenua.studies.gain import excess_risk_removed
from attenua.studies.hindsight import HeldMoments
from attenua.theory import CorrectionMap, Population
from attenua.theory.geometry import NoGapError
from attenua.theory.laws import Gaussian, Law, Rows, StudentT
from attenua.theory.samples import blended_covariance, tail_law
from research.witness_data import HALVES, LOADERS, SEED, DataSet

Array = NDArray[np.float64]

N_FOLDS = 5
PCA = Strengths()
BUDGETS, QUICK = (32, 64, 128), ("wine", "diabetes")
OF_VARIANCES = ("tempering", "attenuation")
# One strength of each correction, at which predicted and true gains are compared.
MIDDLE = {"smoothing": 0.8, "row_tempering": 0.5, "tempering": 0.5, "attenuation": 0.6, "damping": 0.25}


# --- one draw: what held-out rows say -----------------------------------------------------------------------


class Corrected:
    """Subspaces of some rows, at any strengths, as CorrectedPCA finds them."""

    def __init__(self, X: Array, rank: int, smoother: Any) -> None:
        self.X, self.mean, self.rank, self.smoother = X, X.mean(axis=0), rank, smoother

    @cached_property
    def _squared_distances(self) -> Array:
        return squareform(pdist(self.X, "sqeuclidean"))

    # Caches of methods keep their objects alive; the few of a draw are small, and so is their number.
    @cache  # noqa: B019
    def covariance(self, row_tempering: float = 0.0) -> Array:
        """Return the covariance of the rows, pairs of which are weighted."""
        Z, n = self.X - self.mean, len(self.X)
        if not row_tempering:
            return Z.T @ Z / n
        W = pair_weights(self._squared_distances, row_tempering)
        return Z.T @ laplacian(W) @ Z / n**2

    def basis(self, strengths: Strengths) -> Array:
        """Return the leading subspace."""
        S = self.covariance(strengths.row_tempering)
        T = CorrectionMap(strengths, smoother=self.smoother).value(S)
        return np.linalg.eigh(T)[1][:, -self.rank :]


class Cell:
    """Rows and a rank: held-out risks by split, and the risks that witnesses predict, each computed once."""

    def __init__(self, X: Array, rank: int, neighbours: Any) -> None:
        smoother = column_smoother(neighbours, X.shape[1])
        self.all_rows = Corrected(X, rank, smoother)
        self.corrections = [name for name in SEARCH_ORDER if name != "smoothing" or smoother is not None]
        folds = np.arange(len(X)) % N_FOLDS
        self.splits = [(Corrected(X[folds != k], rank, smoother), X[folds == k]) for k in range(N_FOLDS)]
        self.held = np.bincount(folds).astype(float)
        self.held_to_training = np.mean(self.held / (len(X) - self.held))
        S = self.all_rows.covariance()
        self.rounding = ROUNDING * np.trace(S)
        self.noise = variance_noise(np.diag(S), len(X))
        self.witnesses = {
            name: Witness(make(X, S, rank), rank, neighbours) for name, make in WITNESSES.items()
        }

    @cache  # noqa: B019
    def risks(self, strengths: Strengths) -> Array:
        """Return the held-out risk on every split."""
        found = []
        for training, held in self.splits:
            Z, U = held - training.mean, training.basis(strengths)
            found.append((np.sum(Z**2) - np.sum((Z @ U) ** 2)) / len(Z))
        return np.array(found)

    def standard_error(self, differences: Array) -> float:
        """Return the standard error of a gain, with the overlap of training sets."""
        return float(np.sqrt(1 / len(differences) + self.held_to_training) * differences.std(ddof=1))

    def fitted(self, choices: Sequence[Strengths]) -> Array:
        """Return the leading subspace of the mean of the choices' projectors."""
        counts = Counter(choices)
        bases = np.hstack([np.sqrt(count) * self._basis(choice) for choice, count in counts.items()])
        return np.linalg.svd(bases, full_matrices=False)[0][:, : self.all_rows.rank]

    @cache  # noqa: B019
    def _basis(self, strengths: Strengths) -> Array:
        return self.all_rows.basis(strengths)


# --- what the theory says -----------------------------------------------------------------------------------


class PlugIn(NamedTuple):
    """A population that stands for the rows."""

    covariance: Array
    law: Law
    n: int
    row_pairs: bool = False


def shrunk(S: Array, n: int) -> Array:
    r"""Return S with variances shrunk to their median, and correlations to 0.

    The correlations lose the part

    .. math:: \lambda = \min\{1, \sum_{i \ne j} (1 - r_{ij}^2)^2 / (n - 1) / \sum_{i \ne j} r_{ij}^2\}

    (Schäfer and Strimmer, 2005), the variances that of `variance_noise` (Opgen-Rhein and Strimmer, 2007),
    both with the noise of Gaussian rows.
    """
    variances = np.diag(S)
    R = tempered_matrix(S, 1.0)
    np.fill_diagonal(R, 0.0)
    noise = np.sum((1 - R**2) ** 2) / (n - 1) - len(R) / (n - 1)
    kept = max(0.0, 1 - noise / np.sum(R**2))
    part = variance_noise(variances, n)
    s = np.sqrt((1 - part) * variances + part * np.median(variances))
    return (kept * R + np.eye(len(R))) * s[:, None] * s


def student(X: Array) -> Law:
    """Return the multivariate t with the mean kurtosis of the columns that vary."""
    excess = np.mean(kurtosis(X[:, np.ptp(X, axis=0) > 0], bias=False)) / 3
    # The kurtosis of nu degrees of freedom is 3 (nu - 2) / (nu - 4); for 4 or fewer it is infinite.
    return StudentT(max(4 + 2 / excess, 4.5)) if excess > 0 else Gaussian()


def _unbiased(X: Array, S: Array) -> Array:
    return S * len(X) / (len(X) - 1)


def blended(X: Array, S: Array, rank: int) -> PlugIn:
    """Return what :func:`attenua.theory.when` takes for the population of a sample."""
    n = len(X) - 1
    covariance = blended_covariance(_unbiased(X, S), rank, n)
    return PlugIn(covariance, tail_law(X - X.mean(axis=0)), n, row_pairs=True)


WITNESSES: dict[str, Callable[[Array, Array, int], PlugIn]] = {
    "sample": lambda X, S, rank: PlugIn(_unbiased(X, S), Gaussian(), len(X) - 1),
    "sample, t": lambda X, S, rank: PlugIn(_unbiased(X, S), student(X), len(X) - 1),
    "sample, rows": lambda X, S, rank: PlugIn(S, Rows(X - X.mean(axis=0)), len(X) - 1),
    "shrunk": lambda X, S, rank: PlugIn(shrunk(_unbiased(X, S), len(X)), Gaussian(), len(X) - 1),
    "shrunk, t": lambda X, S, rank: PlugIn(shrunk(_unbiased(X, S), len(X)), student(X), len(X) - 1),
    "blended, t": blended,
}


class Witness:
    """Risks that the theory predicts for a plug-in population."""

    def __init__(self, plug_in: PlugIn, rank: int, neighbours: Any) -> None:
        self.plug_in = plug_in
        try:
            self.population: Population | None = Population(
                plug_in.covariance, rank, neighbours=neighbours, row_pairs=plug_in.row_pairs
            )
        except ValueError:
            self.population = None

    @cache  # noqa: B019
    def risk(self, strengths: Strengths) -> float:
        """Return the predicted excess risk, or NaN where the theory has no say or says what cannot be."""
        if self.population is None:
            return np.nan
        try:
            risk = self.population.excess_risk(self.plug_in.n, law=self.plug_in.law, **strengths._asdict())
        except NoGapError:
            return np.nan
        return float(risk) if np.isfinite(risk) and risk > 0 else np.nan


# --- rules --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What is made of a witness.

    Attributes
    ----------
    guard : float
        Standard errors that a gain must exceed.
    witness : str or None
        Name of the witness.
    of_damping : bool
        Whether it is heard about damping.
    weight : float
        How often its predicted risk is added to the held-out risk.
    is_alone : bool
        Whether held-out rows are not heard.
    if_gaining, if_losing : float
        What multiplies the guard; infinity is a veto.
    tolerated : float
        Part of PCA's predicted excess risk that a step may lose without being called losing.
    """

    guard: float = 1.0
    witness: str | None = None
    of_damping: bool = True
    weight: float = 0.0
    is_alone: bool = False
    if_gaining: float = 1.0
    if_losing: float = 1.0
    tolerated: float = 0.0


WITH_WITNESS: dict[str, dict[str, Any]] = {
    "veto 0": {"if_losing": np.inf},
    "veto 5": {"if_losing": np.inf, "tolerated": 0.05},
    "veto 20": {"if_losing": np.inf, "tolerated": 0.2},
    "bold 0.5": {"if_gaining": 0.5},
    "bold 0": {"if_gaining": 0.0},
    "either": {"if_gaining": 0.0, "if_losing": 2.0},
    "prior 0.5": {"weight": 0.5},
    "prior 1": {"weight": 1.0},
    "alone": {"weight": 1.0, "is_alone": True},
}
PLAIN = "guard 1"
RULES = {f"guard {guard:g}": Rule(guard) for guard in (0.0, 0.5, 1.0, 2.0)} | {
    f"{name} ({witness}{'' if of_damping else '; not of damping'})": Rule(1.0, witness, of_damping, **kwargs)
    for (name, kwargs), witness, of_damping in itertools.product(
        WITH_WITNESS.items(), WITNESSES, (True, False)
    )
}


def choices(cell: Cell, rule: Rule) -> list[Strengths]:
    """Return the choices that are averaged: one without each split, or one where no split is heard."""
    if rule.is_alone:
        return [_choice(cell, rule, np.ones(N_FOLDS, dtype=bool))]
    return [_choice(cell, rule, judges) for judges in ~np.eye(N_FOLDS, dtype=bool)]


def _choice(cell: Cell, rule: Rule, judges: NDArray[np.bool_]) -> Strengths:
    present = PCA
    for correction in cell.corrections:
        present = _step(cell, rule, judges, correction, present)
    return present


def _step(
    cell: Cell, rule: Rule, judges: NDArray[np.bool_], correction: str, present: Strengths
) -> Strengths:
    """Return the present strengths, or those with the best strength of a correction if it is taken."""
    is_heard = rule.witness is not None and (rule.of_damping or correction != "damping")
    witness = cell.witnesses[rule.witness] if rule.witness is not None and is_heard else None
    if rule.is_alone and (witness is None or np.isnan(witness.risk(present))):
        return present
    weights = cell.held[judges] / cell.held[judges].sum()

    def score(candidate: Strengths) -> float:
        """Return the risk of a candidate less that of the present one, by all who are heard."""
        predicted = witness.risk(candidate) - witness.risk(present) if witness is not None else np.nan
        if rule.is_alone:
            return np.inf if np.isnan(predicted) else predicted
        by_rows = float(weights @ (cell.risks(candidate) - cell.risks(present))[judges])
        return by_rows + (0.0 if np.isnan(predicted) or not rule.weight else rule.weight * predicted)

    candidates, scores = [present], [0.0]
    for strength in GRIDS[correction][1:]:
        candidates.append(present._replace(**{correction: strength}))
        scores.append(score(candidates[-1]))
        if scores[-1] > scores[-2] + cell.rounding:
            break
    least = min(scores)
    best = candidates[int(np.argmax(np.array(scores) <= least + cell.rounding))]
    if best == present or rule.is_alone:
        return best
    guard = rule.guard * (1 - cell.noise if correction in OF_VARIANCES else 1.0)
    if witness is not None:
        gain = (witness.risk(present) - witness.risk(best)) / witness.risk(PCA)
        # Comparisons with NaN are false: a witness that has no say changes nothing.
        if gain > 0:
            guard *= rule.if_gaining
        elif gain < -rule.tolerated:
            guard = np.inf if np.isinf(rule.if_losing) else guard * rule.if_losing
    error = cell.standard_error((cell.risks(best) - cell.risks(present))[judges])
    return best if -least > guard * error else present


# --- the comparison -----------------------------------------------------------------------------------------


def results_of(name: str, data: DataSet, budget: int, rank: int, draw: int) -> tuple[list[dict], list[dict]]:
    """Return the gain of every rule on one draw, and the gains of single corrections by all accounts."""
    random = np.random.default_rng([SEED, *name.encode(), budget, draw])
    X, X_test = data.draw(budget, random)
    cell, test, mean = Cell(X, rank, data.neighbours), HeldMoments.of(X_test), X.mean(axis=0)
    offset = test.mean - mean
    moments = test.covariance + np.outer(offset, offset)

    def risk(chosen: Sequence[Strengths]) -> float:
        U = cell.fitted(chosen)
        return float(np.trace(moments) - np.sum(U * (moments @ U)))

    pca, known = risk([PCA]), {}
    where = {"data": name, "budget": budget, "rank": rank, "draw": draw}
    gains, singles = [], []
    for rule_name, rule in RULES.items():
        chosen = tuple(choices(cell, rule))
        if chosen not in known:
            known[chosen] = excess_risk_removed(pca, risk(chosen), test.references[rank])
        gains.append(where | {"rule": rule_name, "gain": known[chosen]})
    for correction in cell.corrections:
        candidate = PCA._replace(**{correction: MIDDLE[correction]})
        differences = cell.risks(PCA) - cell.risks(candidate)
        by_rows = cell.held @ differences / (cell.held @ cell.risks(PCA))
        row = {
            "true": excess_risk_removed(pca, risk([candidate]), test.references[rank]),
            "held-out": 100 * by_rows,
            "held-out / s.e.": differences.mean() / (cell.standard_error(differences) or 1.0),
        }
        for witness_name, witness in cell.witnesses.items():
            row[witness_name] = 100 * (1 - witness.risk(candidate) / witness.risk(PCA))
        singles.append(where | {"correction": correction} | row)
    return gains, singles


def compare(
    sets: Mapping[str, Callable[[], DataSet]], budgets: Sequence[int], draws: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return all gains, of rules and of single corrections, on all draws of all data sets."""
    gains: list[dict] = []
    singles: list[dict] = []
    for name, load in sets.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        data = load()
        for (budget, rank), draw in itertools.product(data.cells(budgets), range(draws)):
            of_rules, of_singles = results_of(name, data, budget, rank, draw)
            gains += of_rules
            singles += of_singles
    return pd.DataFrame(gains), pd.DataFrame(singles)


def table_of_rules(gains: pd.DataFrame) -> pd.DataFrame:
    """Return, for every rule: mean gain over data sets, the difference to the plain search, and losses."""
    cells = (
        gains.groupby(["data", "budget", "rank", "rule"], sort=False)["gain"].mean().unstack()[list(RULES)]
    )
    by_set = cells.groupby("data").mean()
    difference = by_set.sub(by_set[PLAIN], axis=0)
    return pd.DataFrame(
        {
            "removed, %": by_set.mean(),
            "s.e.": by_set.sem(),
            "more than plain": difference.mean(),
            "s.e. ": difference.sem(),
            "lose > 1%": (cells < -1).sum(),
            "cells": len(cells),
            "worst": cells.min(),
        }
    )


def table_of_witnesses(singles: pd.DataFrame) -> pd.DataFrame:
    """Return rank correlations with the true gain, and how often the sign is right, for every correction."""
    columns = ["held-out", "held-out / s.e.", *WITNESSES]
    rows = {}
    for correction, part in singles.groupby("correction", sort=False):
        row: dict[str, float] = {"draws": len(part), "gaining, %": 100 * np.mean(part["true"] > 0)}
        for column in columns:
            said = part[part[column].notna()]
            can_rank = len(said) > 2 and said[column].nunique() > 1
            row[column] = spearmanr(said[column], said["true"]).statistic if can_rank else np.nan
        for column in columns[:1] + columns[2:]:
            said = part[part[column].notna()]
            row[f"sign: {column}"] = 100 * np.mean((said[column] > 0) == (said["true"] > 0))
        rows[correction] = row
    return pd.DataFrame(rows).T


def better(table: pd.DataFrame) -> set[str]:
    """Return the rules that beat the plain search by more than the standard error and lose no more often."""
    beats = table["more than plain"] > table["s.e. "]
    return set(table.index[beats & (table["lose > 1%"] <= table.loc[PLAIN, "lose > 1%"])])


def show(gains: pd.DataFrame, singles: pd.DataFrame, halves: Mapping[str, str]) -> None:
    """Print the tables of each half of the data sets, and which rules are better in both."""
    found = []
    for half in dict.fromkeys(halves.values()):
        names = [name for name in gains["data"].unique() if halves[name] == half]
        if names:
            table = table_of_rules(gains[gains["data"].isin(names)])
            found.append(better(table))
            print(f"\nto {half}: {', '.join(names)}")
            print(table.round(2).to_string())
            print("\nrank correlation with the true gain; how often the sign is right, %")
            print(table_of_witnesses(singles[singles["data"].isin(names)]).round(2).T.to_string())
    both = [rule for rule in RULES if all(rule in some for some in found)]
    print("\nbetter than the plain search by more than a standard error in every half, losing no more often:")
    print("; ".join(both) or "none")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=LOADERS, default=list(LOADERS), metavar="NAME")
    parser.add_argument("--draws", type=int, default=2, help="draws of every data set and number of rows")
    parser.add_argument("--csv", help="file for the gain of every rule on every draw")
    parser.add_argument("--quick", action="store_true", help="two small data sets, one draw of 32 rows")
    given = parser.parse_args(arguments)
    names, budgets, draws = (QUICK, (32,), 1) if given.quick else (given.data, BUDGETS, given.draws)
    gains, singles = compare({name: LOADERS[name] for name in names}, budgets, draws)
    if given.csv:
        gains.to_csv(given.csv, index=False)
    show(gains, singles, HALVES)


if __name__ == "__main__":
    main()
