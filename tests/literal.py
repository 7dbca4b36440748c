"""The search for corrections by its definitions: loops, whole matrices and LAPACK.

Nothing of the package is used here but the names of the corrections, the strengths compared and the order of
the search, so that nothing of it can be wrong in the same way.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.linalg import expm

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER
from tests.helpers import leading, sine, within

GRIDS = {name: correction.strengths for name, correction in CORRECTIONS.items()}
# Those that need no rows but those fitted.
OWN_GRIDS = {name: grid for name, grid in GRIDS.items() if name != "borrowing"}


class At(dict):
    """Strengths by name; one that is missing is 0."""

    def __init__(self, **strengths):
        super().__init__({name: float(strength) for name, strength in strengths.items() if strength})

    def __missing__(self, name):
        return 0.0

    def __hash__(self):
        return hash(frozenset(self.items()))


PCA = At()


def line(p):
    """The adjacency matrix of a line."""
    return np.eye(p, k=1) + np.eye(p, k=-1)


def laplacian(adjacency):
    """The Laplacian of a graph."""
    return np.diag(adjacency.sum(axis=1)) - adjacency


def centred(X, weights=None):
    """Rows less their mean, counted from the first of them: a constant column becomes 0 exactly."""
    from_first = X - X[0]
    return from_first - np.average(from_first, axis=0, weights=weights)


def covariance_of_pairs(X, strength, weights=None):
    """Row tempering of few rows: every pair of rows by its distance."""
    weights = np.ones(len(X)) if weights is None else weights
    total = np.zeros((X.shape[1], X.shape[1]))
    for i, j in combinations(range(len(X)), 2):
        pair = X[i] - X[j]
        if pair.any():
            total += weights[i] * weights[j] * np.sum(pair**2) ** -strength * np.outer(pair, pair)
    return total / weights.sum() ** 2


def covariance_of_rows(X, strength, mean_of_all, weights=None, nearest=0.0):
    """Row tempering of many rows: every row by its distance from the mean of all rows.

    Squared distances count as `nearest` at least.
    """
    squares = np.maximum(np.sum((X - mean_of_all) ** 2, axis=1), nearest)
    tempered = squares**-strength if strength else np.ones(len(X))
    shares = tempered if weights is None else weights * tempered
    rows = centred(X, weights)
    return sum(w * np.outer(z, z) for w, z in zip(shares, rows, strict=True)) / shares.sum()


def corrected_matrix(S, strengths, adjacency=None, labels=None, reference=None):
    """T at some strengths by its entries, as dense formulas have it; row tempering is in S."""
    if strengths["borrowing"]:
        w, R = strengths["borrowing"], covariance_of_rows(reference, 0.0, reference.mean(axis=0))
        S = np.trace(S) * ((1 - w) * S / (np.trace(S) or 1.0) + w * R / np.trace(R))
    s = np.sqrt(np.diag(S))
    varies = s > 1e-12 * s.max()
    s = np.where(varies, s, 1.0)
    R = np.where(np.outer(varies, varies), S / np.outer(s, s), 0.0)
    t = np.where(varies, s ** (1 - strengths["tempering"]), 0.0)
    T = R * np.abs(R) ** strengths["damping"] * np.outer(t, t)
    np.fill_diagonal(T, t**2)
    T = T - strengths["attenuation"] * within(T, labels)
    if strengths["smoothing"]:
        K = heat_kernel(adjacency.tobytes(), len(T), strengths["smoothing"])
        T = K @ T @ K
    return T


@cache
def heat_kernel(adjacency, p, h):
    return expm(-(h**2) / 2 * laplacian(np.frombuffer(adjacency).reshape(p, p)))


def changed(strengths, correction, strength):
    """Strengths with one of them replaced."""
    return At(**strengths | {correction: strength})


@dataclass
class Search:
    """The inputs of a search.

    ``has_few_rows`` says how rows are tempered. The others are as for ``CorrectedPCACV``. After a run,
    ``is_clear`` says whether every decision would have been the same with other rounding errors.
    """

    X: np.ndarray
    splits: list
    rank: int
    grids: dict
    guard: float = 1.0
    adjacency: np.ndarray | None = None
    labels: np.ndarray | None = None
    has_few_rows: bool = True
    reference: np.ndarray | None = None

    def __post_init__(self):
        self.risk_of = cache(self._risk_of)
        self.covariance = cache(self._covariance)
        self.held = np.array([len(held) for _, held in self.splits])
        self.overlap = np.mean([len(held) / len(training) for training, held in self.splits])
        v = np.mean(centred(self.X) ** 2, axis=0)
        noise, spread = np.sum(2 * v**2) / (len(self.X) - 1), np.sum((v - np.median(v)) ** 2)
        self.noise = min(1.0, noise / spread) if spread > 0 else 1.0
        # A row nearer to the mean counts as if it were so far from it, squared.
        self.nearest = 0.1 * v.sum() / len(self.X)
        self.is_clear = True

    def _covariance(self, split, row_tempering):
        X = self.X if split is None else self.X[self.splits[split][0]]
        if row_tempering and self.has_few_rows:
            return covariance_of_pairs(X, row_tempering)
        return covariance_of_rows(X, row_tempering, self.X.mean(axis=0), nearest=self.nearest)

    def doubt(self, strengths):
        """What rounding can change of a risk at some strengths; a subclass may override it."""
        return 0.0

    def is_more(self, value, other, doubt):
        """Whether a value is larger; a difference that rounding may turn around makes the search unclear."""
        self.is_clear &= abs(value - other) > doubt
        return value > other

    def fitted(self, strengths, split=None):
        """Components at some strengths, as rows: of the training rows of a split, or of all rows."""
        S = self.covariance(split, strengths["row_tempering"])
        T = corrected_matrix(S, strengths, self.adjacency, self.labels, self.reference)
        return leading(T, self.rank)

    def _risk_of(self, strengths):
        """Risks of every split: a fit to its training rows, and each held-out row reconstructed."""
        risks = []
        for split, (training, held) in enumerate(self.splits):
            U, centred = self.fitted(strengths, split), self.X[held] - self.X[training].mean(axis=0)
            risks.append(np.mean([np.sum((row - U.T @ (U @ row)) ** 2) for row in centred]))
        return np.array(risks)

    def pooled(self, strengths, judges):
        return np.average(self.risk_of(strengths)[judges], weights=self.held[judges])

    def compared(self, correction, present, judges):
        """The strengths that are compared: up to the first that is worse than the one before it."""
        compared = [0.0]
        for strength in self.grids[correction][1:]:
            pair = [changed(present, correction, s) for s in (compared[-1], strength)]
            before, last = (self.pooled(candidate, judges) for candidate in pair)
            compared.append(strength)
            if self.is_more(last, before * (1 + 1e-12), sum(map(self.doubt, pair))):
                break
        return tuple(compared)

    def step(self, correction, present, judges):
        """What a step finds: risks, the best strength, its gain, standard error, and whether it is taken."""
        strengths = self.compared(correction, present, judges)
        candidates = [changed(present, correction, strength) for strength in strengths]
        risks = np.array([self.pooled(candidate, judges) for candidate in candidates])
        best = int(np.argmax(risks <= risks.min() * (1 + 1e-12)))
        d = (self.risk_of(candidates[best]) - self.risk_of(present))[judges]
        error = np.std(d, ddof=1) * np.sqrt(1 / len(d) + self.overlap) if len(d) > 1 else 0.0
        guard = self.guard * (1 - self.noise if CORRECTIONS[correction].of_variances else 1)
        of_pca = self.pooled(PCA, judges) or 1.0
        fall = risks[0] - risks[best]
        doubts = [self.doubt(candidate) for candidate in candidates]
        for risk, doubt in zip(np.delete(risks, best), np.delete(doubts, best), strict=True):
            self.is_more(risk, risks[best], doubt + doubts[best])
        # The standard deviation of differences that are each off by no more than this is off by no more.
        doubt = (doubts[0] + doubts[best]) * (1 + 2 * guard * np.sqrt(1 + self.overlap))
        is_enough = best > 0 and self.is_more(fall, guard * error, doubt)
        return {
            "strengths": strengths,
            "candidates": candidates,
            "risks": risks,
            "best": strengths[best],
            "gain": fall / of_pca,
            "standard_error": error / of_pca if len(d) > 1 else np.nan,
            "needed": guard * error / of_pca,
            "taken": is_enough,
        }

    def run(self):
        J = len(self.splits)
        judges = [list(range(J))]
        if J > 2:
            judges += [[split for split in range(J) if split != left_out] for left_out in range(J)]
        present = [PCA] * len(judges)
        self.risk_of(PCA)
        self.candidates, self.steps = {PCA}, []
        for correction in SEARCH_ORDER:
            if correction not in self.grids or (correction == "borrowing" and self.reference is None):
                continue
            found = [self.step(correction, *pair) for pair in zip(present, judges, strict=True)]
            self.steps.append({"correction": correction, **found[0]})
            self.candidates.update(*(step["candidates"] for step in found))
            present = [
                changed(choice, correction, step["best"]) if step["taken"] else choice
                for step, choice in zip(found, present, strict=True)
            ]
        chosen, *choices = present
        self.chosen, self.choices = chosen, choices or [chosen]
        of_pca = self.pooled(PCA, judges[0]) or 1.0
        self.gain = 1 - self.pooled(chosen, judges[0]) / of_pca
        own = [self.risk_of(choice)[split] for split, choice in enumerate(self.choices)]
        self.left_out_gain = 1 - np.average(own, weights=self.held) / of_pca if choices else self.gain
        self._average()
        return self

    def _average(self):
        """The leading subspace of the mean of the projectors; where it is PCA's, the answer is PCA."""
        projector, self.averaged = 0.0, self.choices
        for choice, count in Counter(self.choices).items():
            U = self.fitted(choice)
            projector = projector + count / len(self.choices) * (U.T @ U)
        self.components = leading(projector, self.rank)
        if sine(self.components, self.fitted(PCA)) < 1e-6:
            self.chosen, self.choices = PCA, [PCA] * len(self.choices)
            self.gain = self.left_out_gain = 0.0


def smooth_rows(n, p, seed=0):
    """Rows with heavy tails; neighbouring columns vary together, and columns differ in noise."""
    rng = np.random.default_rng(seed)
    places = np.arange(p) / p
    waves = np.array([np.sin(np.pi * (k + 1) * places + k) for k in range(3)])
    rows = rng.standard_normal((n, 3)) * [3.0, 2.0, 1.5] @ waves
    rows += rng.standard_normal((n, p)) * rng.uniform(0.5, 2.5, p)
    return rows * np.abs(rng.standard_t(3, n))[:, None] + rng.uniform(-3, 3, p)
