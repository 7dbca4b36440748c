"""Random problems: rows, a container for them, an estimator and its options, all from one seed.

The domain is what attenua promises to be exact on. A column is constant, or its spread is at least 1e-6 of
its values. Equal rows are equal in every bit. Everything may be multiplied by a power of two from 1e-100 to
1e100.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import ShuffleSplit
from tests.helpers import dealt_out_splits

from attenua._correct.registry import CORRECTIONS, parameter_is_missing
from containers import CONTAINERS

ESTIMATORS = ("AttenuatedPCA", "AttenuatedPCACV", "CorrectedPCA", "CorrectedPCACV")
SPECTRA = ("fast", "slow", "tied", "low_rank", "heavy", "uneven", "discrete")
_UNTIED = tuple(spectrum for spectrum in SPECTRA if spectrum != "tied")
# (rows, columns) at most; the oracle takes loops over pairs of rows.
SMALL = (32, 12)
WIDE = 40


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes
    ----------
    seed : int
        What it was drawn by.
    container, estimator : str
        Names.
    rows : ndarray of shape (n_samples, n_features)
        Exactly what the container holds, divided by `scale`.
    scale : float
        A power of two.
    options : dict
        Parameters of the estimator.
    weights, groups : ndarray or None
        What ``fit`` is given.
    splits : list of (ndarray, ndarray)
        Training rows and held-out rows that these options stand for.
    keeps_rows : bool
        Whether no covariance is formed where columns are more than rows, as with hundreds of columns.
    made_of : tuple of str
        How the rows were made, in words.
    """

    seed: int
    container: str
    estimator: str
    rows: np.ndarray
    scale: float
    options: dict[str, Any]
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    splits: list = field(default_factory=list)
    keeps_rows: bool = False
    made_of: tuple[str, ...] = ()

    @property
    def chooses(self):
        """Whether held-out rows choose."""
        return self.estimator.endswith("CV")

    def __str__(self):
        n, p = self.rows.shape
        return (
            f"seed {self.seed}: {self.estimator} of {n} x {p} rows ({', '.join(self.made_of)}) in "
            f"{self.container}{', kept as rows' * self.keeps_rows}, times {self.scale:g}, {self.options}"
            + (", sample_weight" if self.weights is not None else "")
            + (", groups" if self.groups is not None else "")
        )


def draw(seed, most=SMALL):
    """Return the problem of a seed.

    Parameters
    ----------
    seed : int
        Any number from 0 on.
    most : (int, int)
        Rows and columns at most.
    """
    random = np.random.default_rng(seed)
    container = str(random.choice(list(CONTAINERS)))
    kind = CONTAINERS[container]
    takes_corrections = kind.in_memory and not kind.is_device
    estimator = str(random.choice(ESTIMATORS if takes_corrections else ESTIMATORS[:2]))
    # Of equal variances nothing can be chosen but by rounding: a few such problems are enough.
    spectra = SPECTRA if not estimator.endswith("CV") or _chance(random, 0.1) else _UNTIED
    rows, made_of = _rows(random, kind, most, spectra)
    problem = Problem(seed, container, estimator, rows, _scale(random, kind), {}, made_of=made_of)
    problem = replace(problem, keeps_rows=_chance(random, 0.3))
    problem = _with_splits(random, problem) if problem.chooses else _with_weights(random, problem)
    options = {**problem.options, **_options(random, problem)}
    options["n_components"] = _n_components(random, replace(problem, options=options))
    return replace(problem, options=options)


def _chance(random, part):
    return random.random() < part


def _rows(random, kind, most, spectra):
    """Return rows that the container holds exactly, and how they were made."""
    n, p = (int(np.exp(random.uniform(*np.log(span)))) for span in ((6, most[0] + 1), (4, most[1] + 1)))
    p = p if _chance(random, 0.9) else int(random.integers(1, 4))
    if _chance(random, 0.05):
        n, p = min(n, WIDE // 4), WIDE
    spectrum = "discrete" if kind.holds == "integers" else str(random.choice(spectra))
    rows, made_of = _with_spectrum(random, spectrum, n, p), [spectrum]
    if kind.is_sparse:
        rows = np.where(random.random((n, p)) < random.uniform(0.2, 0.9), rows, 0.0)
    for what, change in (("equal columns", _repeat_columns), ("equal rows", _repeat_rows)):
        if _chance(random, 0.2):
            rows = change(random, rows)
            made_of.append(what)
    if kind.holds == "integers":
        return rows, (*made_of,)
    if _chance(random, 0.5):
        size = 3.0 if _chance(random, 0.7) else 10.0 ** random.uniform(1, 6)
        rows = rows + size * random.uniform(-1, 1, p) * np.maximum(rows.std(axis=0), 1e-3)
        made_of.append(f"shifted by {size:.1g} spreads")
    if p > 1 and _chance(random, 0.2):
        rows[:, random.integers(p)] = random.uniform(-3, 3)
        made_of.append("a constant column")
    if kind.holds == "single":
        rows = rows.astype(np.float32).astype(float)
    return rows, (*made_of,)


def _with_spectrum(random, spectrum, n, p):
    noise = random.standard_normal((n, p))
    turn = np.linalg.qr(random.standard_normal((p, p)))[0]
    if spectrum == "fast":
        return noise * 2.0 ** -np.arange(p).clip(max=12) @ turn
    if spectrum == "tied":  # the axes there and back: all variances are equal, all covariances 0
        axes = np.vstack([np.eye(p), -np.eye(p)])
        return axes[np.arange(n) % (2 * p)]
    if spectrum == "low_rank":
        rank = int(random.integers(1, min(3, p) + 1))
        return noise[:, :rank] @ turn[:rank]
    if spectrum == "heavy":
        return (noise * np.linspace(3, 1, p) @ turn) * np.abs(random.standard_t(2, (n, 1)))
    if spectrum == "uneven":
        return noise @ turn * 10.0 ** random.uniform(-1.5, 1.5, p)
    if spectrum == "discrete":
        return random.integers(-2, 3, (n, p)).astype(float)
    return noise * np.linspace(1.5, 1, p) @ turn


def _repeat_columns(random, rows):
    return rows[:, random.integers(0, rows.shape[1], rows.shape[1])]


def _repeat_rows(random, rows):
    n = len(rows)
    return rows[np.concatenate([np.arange(n - n // 3), random.integers(0, n, n // 3)])]


def _scale(random, kind):
    if kind.holds == "integers" or _chance(random, 0.6):
        return 1.0
    most = 20 if kind.holds == "single" else 332
    return 2.0 ** int(random.integers(-most, most + 1))


def _with_weights(random, problem):
    n = len(problem.rows)
    if _chance(random, 0.5):
        return problem
    weights = {
        "random": random.uniform(0.2, 3.0, n),
        "counts": random.integers(1, 4, n).astype(float),
        "zeros": random.integers(0, 3, n).astype(float),
    }[str(random.choice(["random", "counts", "zeros"]))]
    weights[:3] = np.maximum(weights[:3], 1.0)  # a covariance needs some rows
    return replace(problem, weights=weights)


def _with_splits(random, problem):
    """Return the problem with folds of some kind, and what they mean as lists of rows."""
    n, in_memory = len(problem.rows), CONTAINERS[problem.container].in_memory
    cv = int(random.integers(2, 6))
    every = np.arange(n)
    plain = [(every[every % cv != fold], every[every % cv == fold]) for fold in range(cv)]
    kind = str(random.choice(["number", "groups", "splitter", "list"]))
    if kind == "groups":
        groups = random.integers(0, max(n // 2, 2), n)
        folds = [hashed_fold(int(label), cv) for label in groups]
        if in_memory and len(np.unique(groups)) >= cv:
            splits = dealt_out_splits(groups, cv)
        else:
            splits = [(every[np.not_equal(folds, fold)], every[np.equal(folds, fold)]) for fold in range(cv)]
        if all(len(training) > 2 and len(held) for training, held in splits):
            return replace(problem, groups=groups, splits=splits, options={"cv": cv})
    if not in_memory or kind in ("number", "groups"):
        return replace(problem, splits=plain, options={"cv": cv})
    splitter = ShuffleSplit(cv, test_size=0.3, random_state=int(random.integers(100)))
    splits = list(splitter.split(problem.rows))
    return replace(problem, splits=splits, options={"cv": splitter if kind == "splitter" else splits})


def hashed_fold(label, n_folds):
    """Return the fold of a group of a stream: the finaliser of SplitMix64, in whole numbers of Python."""
    z = (label + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return (z ^ (z >> 31)) % n_folds


def _options(random, problem):
    p = problem.rows.shape[1]
    options = {"whiten": _chance(random, 0.3)}
    if problem.estimator in ESTIMATORS[:2] and _chance(random, 0.3):
        labels = random.integers(0, max(p // 2, 1), p)
        lists = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
        options["feature_groups"] = labels.tolist() if _chance(random, 0.5) else lists
    if problem.chooses and _chance(random, 0.1):
        options["n_jobs"] = 2
    if problem.estimator == "AttenuatedPCA":
        options["alpha"] = _part(random)
    elif problem.estimator == "AttenuatedPCACV":
        own = np.sort(random.uniform(0, 1, 4)).round(3).tolist()
        options["alphas"] = ["direct", "mask", own][random.integers(3)]
    else:
        options |= _corrections(random, problem)
    return options


def _part(random):
    return float(random.choice([0.0, 0.25, 0.49, 1.0, random.uniform().__round__(3)]))


def _corrections(random, problem):
    p = problem.rows.shape[1]
    given = {"neighbours": _neighbours(random, p), "reference": _reference(random, p)}
    if problem.estimator == "CorrectedPCA":
        strengths = {name: _part(random) if _chance(random, 0.5) else 0.0 for name in CORRECTIONS}
        for name, correction in CORRECTIONS.items():
            strengths[name] *= max(correction.strengths)
            if parameter_is_missing(name, given):
                strengths[name] = 0.0
        return given | strengths
    usable = [name for name in CORRECTIONS if not parameter_is_missing(name, given)]
    some = [name for name in usable if _chance(random, 0.5)] or usable[:1]
    grids = {name: np.sort(random.uniform(0, 1, 2)).round(3).tolist() for name in some}
    return {"corrections": ["auto", some, grids][random.integers(3)], **given}


def _neighbours(random, p):
    kind = str(random.choice(["none", "line", "grid", "matrix", "sparse"]))
    if kind == "none":
        return None
    if kind == "line":
        return "line"
    if kind == "grid":
        return (2, p // 2) if p % 2 == 0 else (p, 1)
    weights = np.triu(random.uniform(0, 2, (p, p)) * (random.random((p, p)) < 0.4), 1)
    weights = weights + weights.T
    return weights if kind == "matrix" else sp.csr_array(weights)


def _reference(random, p):
    """Return other rows, in an array of any size or a sparse matrix; or none."""
    kind = str(random.choice(["none", "rows", "sparse"]))
    if kind == "none":
        return None
    rows = random.standard_normal((int(random.integers(3, 40)), p)) * random.uniform(0.5, 2.0, p)
    return rows * 10.0 ** random.integers(-100, 100) if kind == "rows" else sp.csr_array(rows)


def _n_components(random, problem):
    n, p = problem.rows.shape
    fewest = min((len(training) for training, _ in problem.splits), default=n)
    if problem.weights is not None:
        fewest = int(np.count_nonzero(problem.weights))
    # As many components as columns, or as the training rows span, leave nothing to choose.
    limit = max(min(fewest, p) - problem.chooses, 1)
    if _chance(random, 0.1):
        return None  # often as many as there are columns, where there is nothing to choose
    small = int(random.integers(1, max(min(limit - 1, 4), 1) + 1))
    choices = [small, small, int(random.integers(1, limit + 1))]
    if not problem.chooses or p <= fewest:
        choices.append(float(random.uniform(0.2, 0.95)))
    return choices[random.integers(len(choices))]
