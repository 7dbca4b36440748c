"""A record of what fits give, to show that a change of the code changes no answer.

Some 200 small problems are fitted, by whole decompositions and with candidates compared by all splits: then
answers depend on definitions, not on a solver. Stored are strengths, weights, risks, gains, what subspaces
explain and leave of rows, and fills. Each problem is fitted once more as shipped, for its gain on new rows.

    python benchmarks/record.py                     # make the record
    python benchmarks/record.py --compare           # 1 if something differs, with a line for each
    python benchmarks/record.py --compare --only digits stability

Choices must be equal, unless their risks differ by less than 0.02 standard errors, and numbers to 1e-7. As
shipped, the mean gain over the problems must be the same within two standard errors of its change.
"""

import argparse
import json
import os
import sys
import warnings
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import datasets
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    choose_rank,
    learning_curve,
    stability,
)
from attenua._solve import tuning

FILE = Path(__file__).with_name("record.jsonl")
TOLERANCE = 1e-7  # of the largest number of a quantity
TOLERANCE_OF_SINGLE = 1e-5  # the same of problems in float32
TIED = 0.02  # standard errors
N_NEW, N_SHOWN = 200, 5  # new rows: those that measure the gain, and those that are recorded one by one

# --- data: more rows than a problem fits; those that follow are new --------------------------------------


def factors(random, p, rank, noise):
    scores = random.standard_normal((300, rank)) * np.linspace(3, 1, rank)
    return scores @ random.standard_normal((rank, p)) + noise * random.standard_normal((300, p))


def curves(random):
    return np.cumsum(random.standard_normal((300, 50)), axis=1) + 2 * random.standard_normal((300, 50))


def families(random):
    return np.repeat(factors(random, 6, 2, 1.0), 5, axis=1) + 2 * random.standard_normal((300, 30))


def tumours(random):
    rows = datasets.load_breast_cancer().data
    return random.permutation(rows / rows.std(axis=0))


DATA = {
    "wine": lambda random: random.permutation(datasets.load_wine().data),
    "diabetes": lambda random: random.permutation(datasets.load_diabetes().data),
    "digits": lambda random: random.permutation(datasets.load_digits().data),
    "tumours": tumours,
    "factors": lambda random: factors(random, 30, 3, 3.0),
    "heavy": lambda random: factors(random, 20, 3, 2.0) / np.sqrt(random.chisquare(3, (300, 1))),
    "units": lambda random: factors(random, 12, 2, 1.0) * 10.0 ** np.linspace(-3, 3, 12),
    "far": lambda random: factors(random, 12, 2, 2.0) + 1e6,
    "curves": curves,
    "families": families,
    "counts": lambda random: random.poisson(np.exp(factors(random, 40, 2, 0.3) / 4 - 1)).astype(float),
    "noise": lambda random: random.standard_normal((300, 20)),
    "wide": lambda random: factors(random, 200, 4, 2.0),
    "wider": lambda random: factors(random, 500, 4, 2.0),
}
NEIGHBOURS = {"curves": "line", "digits": (8, 8)}


@cache
def data(name):
    rows = DATA[name](np.random.RandomState(len(name)))
    rows.setflags(write=False)
    return rows


def tied(rows):
    """Return rows whose covariance is the identity, but not that of a part of them."""
    rows = rows - rows.mean(axis=0)
    return rows @ np.linalg.inv(np.linalg.cholesky(rows.T @ rows / len(rows))).T


def holes(rows, part=0.15):
    return np.where(np.random.RandomState(1).uniform(size=rows.shape) < part, np.nan, rows)


def constant(rows):
    """Return rows with a column that is constant, and one that varies by rounding only."""
    return np.column_stack([rows, np.full(len(rows), 0.3), np.resize([0.3, 0.1 * 3], len(rows))])


def frame(rows):
    return pd.DataFrame(rows, columns=[f"column {number}" for number in range(rows.shape[1])])


def batches(rows):
    return np.array_split(rows, 5)


def sparse(rows):
    return sp.csr_array(np.where(rows > np.median(rows, axis=0), rows, 0.0))


# --- problems --------------------------------------------------------------------------------------------


@dataclass
class Problem:
    """A model, its rows and what else ``fit`` takes, new rows if they have any use, and what is recorded."""

    model: Any  # an estimator, or a function of the rows
    X: Any
    new: Any = None
    given: dict = field(default_factory=dict)
    only: tuple[str, ...] = ()  # what is recorded, if not everything is well-defined


# What is done to 40 rows, and what a model or its ``fit`` gets besides.
NUMBERS = np.arange(40)
OF_ALL = {
    "float32": {"rows": np.float32},
    "lists": {"rows": np.ndarray.tolist},
    "frame": {"rows": frame},
    "sparse": {"rows": sparse},
    "counted": {"sample_weight": NUMBERS % 4},
    "weighted": {"sample_weight": 0.5 + NUMBERS % 3},
    "groups": {"groups": NUMBERS // 3},
    "weighted groups": {"groups": NUMBERS % 11, "sample_weight": 1.0 + NUMBERS % 2},
    "holes": {"rows": holes},
    "many holes": {"rows": partial(holes, part=0.4)},
    "weighted holes": {"rows": holes, "sample_weight": 0.5 + NUMBERS % 3},
    "splitter": {"cv": KFold(4, shuffle=True, random_state=0)},
    "three folds": {"cv": 3},
    "each row": {"cv": 40},
    "constant": {"rows": constant},
    "twin rows": {"rows": lambda rows: np.repeat(rows[::2], 2, axis=0)},
    "twin columns": {"rows": lambda rows: np.repeat(rows, 2, axis=1)},
    "outlier": {"rows": lambda rows: np.vstack([rows[1:], 30 * rows[:1]])},
}
OF_CORRECTED = {
    "scale": {"scale": True},
    "scaled holes": {"rows": holes, "scale": True},
    "scaled constant": {"rows": constant, "scale": True},
    "nested": {"nested": True},
    "nested groups": {"nested": True, "groups": NUMBERS // 3},
    "line": {"neighbours": "line", "nested": True},
    "line and holes": {"rows": holes, "neighbours": "line"},
    "graph": {"neighbours": np.abs(np.subtract.outer(np.arange(30), np.arange(30))) == 10},
    "reference": {"reference": 1.1 * data("tumours")[400:450], "nested": True},
    "covariance": {"reference": np.cov(data("tumours")[400:450].T)},
    "named": {"corrections": ["damping", "row_tempering"]},
    "strengths": {"corrections": {"damping": [0.2, 2], "pooling": [1.5]}},
}
OF_PAPER = {
    "batches": {"rows": batches},
    "batches of groups": {"rows": batches, "groups": NUMBERS},
    "weighted batches": {"rows": batches, "sample_weight": 1.0 + NUMBERS % 3},
    "mask": {"alphas": "mask"},
    "few alphas": {"alphas": [0.3, 1]},
    "feature groups": {"feature_groups": np.arange(30) // 2},
    "nearly all": {"n_components": 29},
}
AT_STRENGTHS = {
    "none": {},
    "row tempering": {"row_tempering": 0.7},
    "borrowing": {"borrowing": 0.4, "reference": data("tumours")[400:450]},
    "tempering": {"tempering": 0.5},
    "damping": {"damping": 0.5},
    "pooling": {"pooling": 1.0},
    "smoothing": {"smoothing": 0.8, "neighbours": "line"},
    "attenuation": {"attenuation": 0.9},
    "several": {"row_tempering": 1.0, "tempering": 0.5, "damping": 0.25, "attenuation": 0.5},
    "scale": {"scale": True, "damping": 0.25, "attenuation": 0.5},
    "whiten": {"whiten": True, "tempering": 0.25},
    "part": {"n_components": 0.9, "damping": 0.25},
}
ALPHAS = {f"{alpha}": {"alpha": alpha} for alpha in (0.0, 0.49, 1.0)}
# New rows have other columns, or can be no twins.
WITHOUT_NEW_ROWS = ("constant", "scaled constant", "twin columns", "twin rows")


def problems():
    """Yield the names of all problems, and the problems."""
    for name in DATA:
        for n, rank in ((24, 2), (60, 4)):
            for model in (CorrectedPCACV(rank), CorrectedCovariance(), AttenuatedPCACV(rank)):
                if "neighbours" in model.get_params():
                    model.set_params(neighbours=NEIGHBOURS.get(name))
                yield f"{_class(model)}/{name}-{n}", Problem(model, data(name)[:n], data(name)[n : n + N_NEW])
    corrected, covariance, attenuated = CorrectedPCACV(3), CorrectedCovariance(), AttenuatedPCACV(3)
    yield from _changed(OF_ALL, corrected, covariance, attenuated)
    yield from _changed(OF_CORRECTED, corrected, covariance)
    yield from _changed({"centred": {"assume_centered": True}}, covariance)
    yield from _changed(OF_PAPER, attenuated)
    yield from _changed(AT_STRENGTHS, CorrectedPCA(3))
    yield from _changed(ALPHAS, AttenuatedPCA(3))
    for model in (corrected, attenuated):
        only = ("candidates", "cv_risk_folds_")
        yield f"{_class(model)}/tied", Problem(clone(model), tied(data("wine")[:40]), only=only)
    for name in ("factors", "digits", "noise"):
        for method in ("bcv", "parallel", "threshold"):
            choice = partial(choose_rank, method=method, random_state=0)
            yield f"choose_rank/{method}-{name}", Problem(choice, data(name)[:50])
    for model in (CorrectedPCACV(2), AttenuatedPCACV(2)):
        drawn = {"estimator": model, "random_state": 0}
        yield f"stability/{_class(model)}", Problem(partial(stability, n_boot=40, **drawn), data("wine")[:50])
        yield (
            f"learning_curve/{_class(model)}",
            Problem(partial(learning_curve, **drawn), data("curves")[:50]),
        )
    for name in ("wine", "digits", "wide"):
        yield f"attenuation_path/{name}", Problem(partial(attenuation_path, n_components=2), data(name)[:50])


def _changed(changes, *models):
    """Yield models fitted to rows of one data set that are changed."""
    rows, new = data("tumours")[:40], data("tumours")[40 : 40 + N_NEW]
    for change, options in changes.items():
        X = options.get("rows", np.array)(rows)
        given = {name: options[name] for name in ("groups", "sample_weight") if name in options}
        parameters = {name: value for name, value in options.items() if name not in ("rows", *given)}
        for model in models:
            problem = Problem(clone(model).set_params(**parameters), X, new, given)
            if change in WITHOUT_NEW_ROWS:
                problem.new = None
            yield f"{_class(model)}/{change}", problem


def _class(model):
    return type(model).__name__


# --- what is recorded ------------------------------------------------------------------------------------

OF_MODELS = [
    *("cv_risk_folds_", "left_out_gain_", "left_out_gain_error_"),
    *("explained_variance_", "noise_variance_", "n_components_", "scale_"),
]
OF_ROWS = ["score_samples", "mahalanobis", "t2", "q"]
OF_RESULTS = [
    *("rank", "errors", "eigenvalues", "thresholds"),  # of choose_rank
    *("angle_limits", "leading_limits", "swapped"),  # of stability
    *("sizes", "pca_errors", "standard_errors", "excess", "excess_error"),  # of learning_curve
    *("explained_variance", "explained_variance_ratio", "gap"),  # of attenuation_path
    *("t2_rows", "q_rows"),  # of control_limits
]
GAINS = ("left_out_gain_", "left_out_gain_error_", "gains", "standard errors")  # parts: their unit is 1


def found_by(problem):
    """Return what is recorded of a problem: numbers and words by quantity."""
    model, X = problem.model, problem.X
    if not isinstance(model, BaseEstimator):
        return _attributes(model(X), OF_RESULTS)
    found = _attributes(model.fit(X, **problem.given), OF_MODELS)
    if hasattr(model, "alpha_"):
        found["choices"] = {_words({"attenuation": model.alpha_}): 1.0}
        found["candidates"] = [_words({"attenuation": alpha}) for alpha in model.alphas_]
        found["gains"] = _numbers(model.gain_)
    elif hasattr(model, "choices_"):
        weights = zip(model.choices_, model.choice_weights_, strict=True)
        found["choices"] = {_words(choice): round(weight, 6) for choice, weight in weights}
        found["candidates"] = [_words(candidate) for candidate in model.candidates_]
        found["steps"] = [f"{step.correction} {step.best:g}" for step in model.steps_]
        found["gains"] = _numbers([step.gain for step in model.steps_])
        found["standard errors"] = _numbers([step.standard_error for step in model.steps_])
    if problem.new is not None:
        methods = [getattr(model, name) for name in OF_ROWS if hasattr(model, name)]
        found |= {method.__name__: _numbers(method(problem.new[:N_SHOWN])) for method in methods}
    if isinstance(X, np.ndarray) and np.isnan(X).any():
        missing, both = np.isnan(X[:N_SHOWN]), model.impute(X[:N_SHOWN], return_std=True)
        found["fills"], found["deviations"] = (_numbers(cells[missing]) for cells in both)
    if isinstance(model, CorrectedPCA):
        limits = model.control_limits(X)
        found |= _attributes(limits, OF_RESULTS) | {"limits": _numbers([limits.t2(), limits.q()])}
    return {name: found[name] for name in problem.only} if problem.only else found


def gain_of(problem):
    """Return the part of PCA's error that a fit as shipped removes on new rows, or nats per cell."""
    if problem.new is None or not hasattr(problem.model, "cv"):
        return {}
    model, new = problem.model.fit(problem.X, **problem.given), problem.new
    scale = {"scale": True} if model.get_params().get("scale") else {}
    if isinstance(model, CorrectedCovariance):
        base = CorrectedCovariance(corrections={}, **scale).fit(problem.X, **problem.given)
        return {"nats as shipped": float((model.score(new) - base.score(new)) / new.shape[1])}
    pca = (CorrectedPCA if scale else AttenuatedPCA)(model.n_components_, **scale)
    pca.fit(problem.X, sample_weight=problem.given.get("sample_weight"))
    own, of_pca = (each.reconstruction_error(new).sum() for each in (model, pca))
    return {"gain as shipped": float(1 - own / of_pca)}


def _attributes(found, names):
    values = {name: getattr(found, name, None) for name in names}
    return {name: _numbers(value) for name, value in values.items() if value is not None}


def _words(strengths):
    return " ".join(f"{name} {value:g}" for name, value in strengths.items() if value) or "nothing"


def _numbers(values):
    """Return numbers as a flat list with ten digits; None for what is not a number."""
    flat = np.ravel(np.asarray(values, dtype=float))
    return [float(f"{value:.10g}") if np.isfinite(value) else None for value in flat]


def measure(only=(), *, may_fail=False):
    """Fit the problems whose names hold one of some words; return what they give by name and quantity."""
    chosen = [(name, problem) for name, problem in problems() if _is_among(name, only)]
    record = {}
    for number, (name, problem) in enumerate(chosen, start=1):
        print(f"\r{number} of {len(chosen)}: {name:50}", end="", file=sys.stderr, flush=True)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                tuning.EXACTLY = True
                record[name] = found_by(problem)
                tuning.EXACTLY = False
                record[name] |= gain_of(problem)
            except Exception as error:
                if not may_fail:
                    raise
                record[name] = {"error": repr(error)}
            finally:
                tuning.EXACTLY = False
    print(file=sys.stderr)
    return record


def _is_among(name, words):
    return not words or any(word in name for word in words)


# --- comparing -------------------------------------------------------------------------------------------


def differences(name, before, now):
    """Yield what differs of a problem: whether it counts, and a line."""
    if "error" in now or not before or not now:
        yield True, f"{name}: " + now.get("error", "is not in both")
        return
    names = sorted(name for name in before.keys() | now.keys() if "as shipped" not in name)
    if before.get("choices") != now.get("choices") and _are_tied(before, now["choices"]):
        yield False, f"{name}: choices differ, between candidates that are tied"
        names = ["candidates", "cv_risk_folds_"]  # the rest is that of other strengths
    for what in names:
        old, new = before.get(what, []), now.get(what, [])
        if what in ("choices", "candidates", "steps"):
            if old != new:
                yield True, f"{name}: {what} were {old}, are {new}"
        elif len(old) != len(new):
            yield True, f"{name}: {what} had {len(old)} numbers, has {len(new)}"
        else:
            old, new = (np.array(some, dtype=float) for some in (old, new))
            unit = np.nanmax(np.abs(old), initial=1.0 if what in GAINS else 1e-300)
            limit = TOLERANCE_OF_SINGLE if "float32" in name else TOLERANCE
            off = ~np.isclose(new, old, rtol=0.0, atol=limit * unit, equal_nan=True)
            if off.any():
                worst = np.max(np.abs(new - old)[off]) / unit
                yield True, f"{name}: {what} is off by {worst:.1e} ({off.sum()} of {len(off)} numbers)"


def _are_tied(before, choices):
    """Return whether the choices whose weights moved have risks that differ by next to nothing."""
    weights, candidates = before["choices"], before["candidates"]
    moved = [each for each in weights.keys() | choices.keys() if weights.get(each) != choices.get(each)]
    if not set(moved) <= set(candidates):
        return False
    risks = np.reshape(before["cv_risk_folds_"], (-1, len(candidates)))[:, list(map(candidates.index, moved))]
    more = risks - risks[:, :1]
    return bool(np.all(np.abs(more.mean(axis=0)) <= TIED * more.std(axis=0, ddof=1) / np.sqrt(len(more))))


def gain_changed(before, now, what):
    """Return whether a mean gain has changed by more than twice the error of its change; print both."""
    pairs = [(before[name][what], now[name][what]) for name in before if what in now.get(name, {})]
    if len(pairs) < 2:
        return False
    old, new = np.transpose(pairs)
    error = np.std(new - old, ddof=1) / np.sqrt(len(pairs))
    print(
        f"mean {what} of {len(pairs)} fits: {old.mean():.5f} -> {new.mean():.5f}, error of change {error:.1e}"
    )
    return bool(abs(np.mean(new - old)) > 2 * error + TOLERANCE)


def compare(before, now):
    """Print what differs, and return whether anything does that counts."""
    names = [*before, *(name for name in now if name not in before)]
    found = [line for name in names for line in differences(name, before.get(name, {}), now.get(name, {}))]
    for _, line in found:
        print(line)
    changed = [gain_changed(before, now, what) for what in ("gain as shipped", "nats as shipped")]
    differ = any(changed) or any(counts for counts, _ in found)
    print(f"{len(names)} problems: {'not ' if differ else ''}as recorded")
    return differ


def save(record, path):
    """Write a record, a line for each problem, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(line, allow_nan=False) + "\n" for line in record.items()))
    os.replace(part, path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--compare", action="store_true", help="fit again, and compare with the record")
    parser.add_argument("--only", nargs="+", default=(), help="problems whose names hold one of these words")
    options = parser.parse_args(arguments)
    if not options.compare:
        save(measure(options.only), options.file)
        return 0
    before = dict(json.loads(line) for line in options.file.read_text().splitlines())
    some = {name: found for name, found in before.items() if _is_among(name, options.only)}
    return int(compare(some, measure(options.only, may_fail=True)))


if __name__ == "__main__":
    sys.exit(main())
