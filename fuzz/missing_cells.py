"""Random rows with missing cells: what is held out, what must not matter, and every way to write a gap.

    python fuzz/missing_cells.py --seed 0 --minutes 10

Rows are those of `problems.py` with cells taken out in all kinds of patterns, some of which identify little.
Where a fit is refused, the error must be one of those that name the reason. A held-out row must not move
the fit that judges it, and a fold judges its rows one by one. Units, signs, shifts and the order of the rows
in their folds change nothing, nor does the container.
"""

import rounds  # isort: skip  # before numpy, which reads the settings

import re
import sys
import warnings
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from tests.literal import At, conditional, loss_of_seen

import attenua
from attenua._data import rows as rows_in_memory
from attenua._data.folds import make_splits
from attenua._data.missing import PartialRows
from checks import Failure, at_most, same
from choices import candidates_of
from problems import draw as draw_whole
from rounding import estimate

ESTIMATORS = ("AttenuatedPCA", "AttenuatedPCACV", "CorrectedPCA", "CorrectedPCACV", "CorrectedCovariance")
# Reasons to refuse rows, and what may be said of them.
REFUSED = "has no values in|all are equal|as many groups|one training row|smallest training set"
WARNED = ("X has only one value", "No row has values", r"\d+ rows? of X ha", "The missing cells still change")
# Rounding, after steps that are ended by a comparison of their own.
CLOSE = 1e-7


@dataclass(frozen=True)
class Problem:
    """Rows with gaps, an estimator and its options."""

    seed: int
    rows: np.ndarray
    pattern: str
    estimator: str
    options: dict
    groups: np.ndarray | None = None
    is_large: bool = False

    def __str__(self):
        n, p = self.rows.shape
        given = ", groups" * (self.groups is not None) + ", as if large" * self.is_large
        return f"seed {self.seed}: {self.estimator} of {n} x {p}, {self.pattern}, {self.options}{given}"

    @property
    def size(self):
        """The largest deviation of a cell from the mean of its column."""
        return float(np.nanmax(np.abs(self.rows - np.nanmean(self.rows, axis=0))))

    @property
    def chooses(self):
        """Whether held-out rows choose."""
        return "cv" in self.options

    @property
    def splits(self):
        """Training rows and held-out rows; of a fit without folds all rows and none."""
        n = len(self.rows)
        if not self.chooses:
            return [(np.arange(n), [])]
        n_units = n if self.groups is None else len(np.unique(self.groups))
        return make_splits(min(self.options["cv"], n_units), n, groups=self.groups)

    @property
    def is_identified(self):
        """Whether every training set says something of the components.

        As many columns as components vary, each of them with a column that some two rows have as well. Else
        any orthonormal components will do, at least where attenuation leaves nothing but correlations.
        """
        return all(
            _varying_columns(self.rows[rows]) >= self.options.get("n_components", 1)
            for rows, _ in self.splits
        )

    def fit(self, X=None, **given):
        """Return a fit to the rows, or to others in their place."""
        model = getattr(attenua, self.estimator)(**self.options)
        if self.groups is not None:
            given["groups"] = self.groups
        if not self.is_large:
            return model.fit(self.rows if X is None else X, **given)
        # As with many columns: no covariance is formed.
        with patch.object(rows_in_memory, "_ALWAYS_SCATTER", 0):
            return model.fit(self.rows if X is None else X, **given)


def _varying_columns(rows):
    """Return how many columns vary that have two rows in common with another."""
    varying = rows[:, np.fmax.reduce(rows) > np.fmin.reduce(rows)]
    seen = (~np.isnan(varying)).astype(int)
    together = seen.T @ seen - np.diag(seen.sum(axis=0)) if rows.shape[1] > 1 else seen.T @ seen
    return int(np.sum((together > 1).any(axis=0)))


def scattered(random, n, p):
    return random.random((n, p)) < random.choice([0.02, 0.1, 0.3, 0.6, 0.9])


def block(random, n, p):
    return np.outer(random.random(n) < 0.5, random.random(p) < 0.5)


def monotone(random, n, p):
    return np.arange(p) > random.integers(0, p, n)[:, None]


def two_halves(random, n, p):
    """Two kinds of rows, each with columns of its own: no row has cells of both."""
    return (np.arange(n) % 2)[:, None] == (np.arange(p) % 2)


def one_cell_each(random, n, p):
    return np.arange(p) != random.integers(0, p, n)[:, None]


def seen_in_one_fold(random, n, p):
    return np.outer(np.arange(n) % 3 != 0, np.arange(p) == random.integers(p))


def seen_once(random, n, p):
    return np.outer(np.arange(n) != random.integers(n), np.arange(p) == random.integers(p))


def empty_rows(random, n, p):
    return np.repeat(random.random((n, 1)) < random.choice([0.1, 0.8]), p, axis=1)


PATTERNS = (scattered, block, monotone, two_halves, one_cell_each, seen_in_one_fold, seen_once, empty_rows)


def draw(seed):
    """Return the problem of a seed."""
    random = np.random.default_rng(seed)
    rows = draw_whole(seed, most=(40, 14)).rows[:60]
    chosen = random.choice(len(PATTERNS), random.integers(1, 3), replace=False)
    missing = np.any([PATTERNS[number](random, *rows.shape) for number in chosen], axis=0)
    if random.random() < 0.9:  # without a cell in a column, the rows are refused
        missing[random.integers(0, len(rows), rows.shape[1]), np.arange(rows.shape[1])] = False
    missing.flat[random.integers(missing.size)] = True
    estimator, p = str(random.choice(ESTIMATORS)), rows.shape[1]
    options = {} if estimator == "AttenuatedPCA" else {"cv": int(random.integers(2, 6))}
    if estimator != "CorrectedCovariance":
        options["n_components"] = int(random.integers(1, max(min(len(rows) // 2, p), 1) + 1))
    if estimator.startswith("Corrected"):
        options["neighbours"] = "line" if random.random() < 0.5 else None
    if estimator == "AttenuatedPCA":
        options["alpha"] = float(random.random())
    if estimator == "CorrectedPCA":
        del options["cv"]
        names = ["attenuation", "tempering", "damping", "row_tempering", "pooling"]
        names += ["smoothing"] * (options["neighbours"] is not None)
        options |= {name: float(random.choice([0.0, 0.3])) for name in names}
    has_groups = "cv" in options and random.random() < 0.2
    groups = random.integers(0, max(len(rows) // 2, 1), len(rows)) if has_groups else None
    names = " and ".join(PATTERNS[number].__name__ for number in chosen)
    is_large = bool(random.random() < 0.3)
    return Problem(seed, np.where(missing, np.nan, rows), names, estimator, options, groups, is_large)


def check(problem):
    """Check a problem; return what was done."""
    for text in WARNED:
        warnings.filterwarnings("ignore", message=text)
    try:
        model = problem.fit()
        model.impute(problem.rows)
    except ValueError as error:
        if not re.search(REFUSED, str(error)):
            raise
        return ["refused"]
    if np.isnan(getattr(model, "cv_risk_", 0.0)).all():
        return ["nothing held out"]  # with two groups
    random = np.random.default_rng(problem.seed)
    check_infinity(problem, model, random)
    check_finite(model)
    check_methods(problem, model)
    if not problem.is_identified:
        return [problem.estimator, "problems", "hardly identified"]
    check_what_does_not_matter(problem, model, random)
    if problem.chooses:
        check_held_out(problem, random)
    if problem.estimator == "AttenuatedPCACV" and not problem.is_large:
        check_risks(problem, model)
    return [problem.estimator, "problems"]


def check_infinity(problem, model, random):
    """Check that an infinite value is refused wherever it is given, and named."""
    X, j = problem.rows.copy(), int(random.integers(problem.rows.shape[1]))
    X[random.integers(len(X)), j] = random.choice([np.inf, -np.inf])
    for method in (problem.fit, model.impute, model.transform, model.score_samples):
        try:
            method(X)
        except ValueError as error:
            same(f"infinity in column {j};" in str(error), True, f"{error} names column {j}")
        else:
            raise Failure(f"infinity in column {j} is not refused by {method.__name__}")


def check_finite(model):
    """Check that all that was fitted is finite, but for gains that were not measured."""
    for name, value in vars(model).items():
        is_fitted = name.endswith("_") and not name.startswith("left_out")
        if is_fitted and isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f":
            same(bool(np.isfinite(value).all()), True, f"{name} is finite")


def risks_of(model):
    """Return the risks of each candidate, one for every fold."""
    if not hasattr(model, "cv_risk_folds_"):
        return {}
    # Strengths of shrinkage come from the rows, so they are off by roundings.
    names = [str({name: round(value, 6) for name, value in c.items()}) for c in candidates_of(model)]
    return dict(zip(names, model.cv_risk_folds_.T, strict=True))


def matrix_of(model):
    """Return what was fitted as a matrix, in which signs and ties do not matter."""
    if hasattr(model, "covariance_"):
        return model.covariance_
    return (model.components_.T * model.explained_variance_) @ model.components_


def check_methods(problem, model):
    """Check that cells are filled under the law, row by row, and that seen cells stay."""
    X = problem.rows
    missing = np.isnan(X)
    filled, std = model.impute(X, return_std=True)
    same(np.array_equal(filled[~missing], X[~missing]), True, "seen cells stay")
    same(bool(np.isfinite(filled).all() and (std >= 0).all() and (std[~missing] == 0).all()), True, "std")
    law = model if hasattr(model, "covariance_") else model._filling.law(model)
    size = np.abs(np.where(missing, 0, X)).max(axis=0)
    for i in (0, len(X) - 1):
        at_most(model.impute(X[i : i + 1])[0] - filled[i], CLOSE * size.max(), "a row filled alone")
        if np.linalg.cond(law.covariance_) < 1e6:
            mean, _ = conditional(law.covariance_, law.location_, X[i])
            at_most(filled[i, missing[i]] - mean, 1e-6 * size.max(), "the mean given the seen cells")
    for method in ("transform", "score_samples", "t2", "q", "mahalanobis"):
        if not hasattr(model, method) or (method == "score_samples" and is_degenerate(model)):
            continue
        if method == "t2" and model.explained_variance_.min() <= 1e-9 * model.explained_variance_.max():
            continue
        values = np.asarray(getattr(model, method)(X))
        allowed = ~missing.all(axis=1) if method == "q" else np.ones(len(X), dtype=bool)
        same(bool(np.isfinite(values[allowed]).all()), True, f"{method} is finite")
        alone = np.asarray(getattr(model, method)(X[-1:]))[0]
        if allowed[-1]:
            off = CLOSE * max(np.abs(values[allowed]).max(), np.sum(size**2))
            at_most(alone - values[-1], off, f"{method} of a row alone")


def is_degenerate(model):
    """Whether the law of a fit has no density."""
    if hasattr(model, "covariance_"):
        return False
    return model.noise_variance_ <= 1e-9 * model.explained_variance_.max()


def written(X, random, kind):
    """Return rows with gaps as somebody else would write them."""
    import pandas as pd
    import polars as pl

    missing, names = np.isnan(X), [f"c{j}" for j in range(X.shape[1])]
    if kind == "masked array":
        return np.ma.masked_array(np.where(missing, 1e30, X), mask=missing)
    if kind == "objects":
        return np.where(missing, random.choice([None, pd.NA]), X.astype(object))
    if kind == "pd.NA in objects":
        return pd.DataFrame(np.where(missing, pd.NA, X.astype(object)), columns=names)
    if kind == "nullable":
        return pd.DataFrame(X, columns=names).convert_dtypes()
    if kind == "pandas on Arrow":
        return pd.DataFrame(X, columns=names).convert_dtypes(dtype_backend="pyarrow")
    if kind in ("polars", "Arrow"):
        frame = pl.DataFrame(dict(zip(names, X.T, strict=True))).fill_nan(None)
        return frame.to_arrow() if kind == "Arrow" else frame
    if kind == "sparse":
        return sp.csr_array(X)
    return np.asfortranarray(X)


KINDS = (
    *("masked array", "objects", "pd.NA in objects", "nullable", "pandas on Arrow"),
    *("polars", "Arrow", "sparse", "Fortran"),
)


class Comparison:
    """Compares fits that stand for the same with one fit, as closely as the rows determine it.

    How closely that is, the same rows show with each cell off by some roundings: where two eigenvalues are
    equal, or steps are ended a step earlier, such a fit is another one.
    """

    def __init__(self, problem, model, random):
        self.problem, self.model = problem, model
        off = [
            problem.fit(problem.rows * (1 + some))
            for some in 1e-13 * random.standard_normal((2, *problem.rows.shape))
        ]
        self.doubts = {
            name: max(np.abs(risks_of(other).get(name, np.inf) - risk).max() for other in off)
            for name, risk in risks_of(model).items()
        }
        self.doubt = max(np.abs(matrix_of(other) - matrix_of(model)).max() for other in off)

    def risks(self, other, what, unit=1.0):
        """Compare risks, of which those of another fit are in a unit."""
        found = risks_of(other)
        for name, risk in risks_of(self.model).items():
            if name in found:
                size = np.abs(risk).max() + self.problem.size**2
                at_most(
                    found[name] / unit**2 - risk,
                    CLOSE * size + 100 * self.doubts[name],
                    f"the risks {what}, {name}",
                )

    def fit(self, other, what, unit=1.0):
        """Compare what was fitted, too."""
        self.risks(other, what, unit)
        allowed = CLOSE * self.problem.size**2 + 100 * self.doubt
        at_most(matrix_of(other) / unit**2 - matrix_of(self.model), allowed, f"the fit {what}")


def check_what_does_not_matter(problem, model, random):
    """Change signs, units, the origin, the container, and the order of rows in their folds."""
    compared, X, n = Comparison(problem, model, random), problem.rows, len(problem.rows)
    kind = str(random.choice(KINDS))
    compared.fit(problem.fit(written(X, random, kind)), f"in {kind}")
    compared.fit(problem.fit(-X), "of other signs")
    if problem.estimator != "CorrectedCovariance":  # its risks are in nats
        unit = 2.0 ** int(random.integers(-20, 21))
        compared.fit(problem.fit(X * unit), "in another unit", unit)
    compared.fit(
        problem.fit(X + np.round(random.uniform(-3, 3, X.shape[1]), 2) * problem.size), "of shifted rows"
    )
    # The copies of a row with gaps are a pair for row tempering, since what is unknown of them may differ.
    if not problem.chooses and X.shape[1] <= n and not problem.options.get("row_tempering"):
        counts = random.integers(1, 4, n)
        weighted = problem.fit(sample_weight=counts.astype(float))
        repeated = problem.fit(np.repeat(X, counts, axis=0))
        off = CLOSE * problem.size**2 + 100 * compared.doubt
        at_most(matrix_of(weighted) - matrix_of(repeated), off, "the fit of weighted rows")
    # With more columns than rows, the cells that are hidden for a trial are drawn in the order of the rows.
    if problem.groups is None and X.shape[1] <= n // 2:
        order, cv = np.arange(n), problem.options.get("cv", 1)
        for fold in range(cv):
            order[fold::cv] = random.permutation(order[fold::cv])
        # Votes are drawn in the order of the rows.
        compare = compared.risks if problem.chooses else compared.fit
        compare(problem.fit(X[order]), "of rows in another order")


def check_held_out(problem, random):
    """Change two rows of a fold, one, the other, both: what the fold loses must add up."""
    n, cv = len(problem.rows), problem.options["cv"]
    if problem.groups is not None or n < 2 * cv:
        return
    fold = int(random.integers(cv))
    pair = [fold, fold + cv]
    others = np.where(random.random((2, problem.rows.shape[1])) < 0.5, np.nan, problem.rows[pair[::-1]])
    found = []
    for changed in ([], [0], [1], [0, 1]):
        X = problem.rows.copy()
        for which in changed:
            X[pair[which]] = others[which]
        if np.isnan(X).all(axis=0).any():
            return
        found.append({name: risks[fold] for name, risks in risks_of(problem.fit(X)).items()})
    for name in set.intersection(*map(set, found)):
        neither, first, second, both = (risks[name] for risks in found)
        off = neither - first - second + both
        at_most(
            off,
            1e-6 * (abs(neither) + abs(both) + problem.size**2),
            f"a held-out row in the fit that judges it, {name}",
        )


def check_risks(problem, model):
    """Check risks against the definition, with the training rows completed by themselves."""
    X = problem.rows
    for (training, held), risks in zip(problem.splits, model.cv_risk_folds_, strict=True):
        own = PartialRows(X[training])
        moments = own.complete().moments(own.unit, forms_scatter=True)
        S, known = moments.covariance, ~np.isnan(X[training]).all(axis=0)
        rows, spread = np.where(known, X[held] - moments.mean, np.nan), np.sqrt(np.diag(S))
        whole = np.mean(np.nansum(rows**2, axis=1))
        for strength, risk in zip(model.alphas_, risks, strict=True):
            answer = estimate(
                S, 1e-12 * np.outer(spread, spread), At(attenuation=strength), model.n_components_
            )
            exact = np.mean([loss_of_seen(row, answer.components.T) for row in rows])
            at_most(risk - exact, (2 * answer.sine + CLOSE) * whole, f"the risk of strength {strength:g}")


if __name__ == "__main__":
    sys.exit(rounds.go("missing_cells", __doc__.splitlines()[0], draw, check))
