"""The search for corrections by its definitions: loops, whole matrices and LAPACK.

Nothing of the package is used here but the names of the corrections, the strengths compared and the order of
the search, so that nothing of it can be wrong in the same way.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.linalg import expm

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER
from tests.helpers import leading, sine, within

# Pooling joins each column to this many.
NEIGHBOURS = 3
# A step or a vote must gain this part of PCA's risk.
LEAST_GAIN = 2e-4
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


def covariance_of_rows(X, weights=None):
    """The covariance of rows, divided by their weight."""
    rows, shares = centred(X, weights), np.ones(len(X)) if weights is None else weights
    return sum(w * np.outer(z, z) for w, z in zip(shares, rows, strict=True)) / shares.sum()


def corrected_matrix(S, strengths, adjacency=None, labels=None, reference=None):
    """T at some strengths by its entries, as dense formulas have it; row tempering is in S."""
    if strengths["borrowing"]:
        w, R = strengths["borrowing"], covariance_of_rows(reference)
        S = np.trace(S) * ((1 - w) * S / (np.trace(S) or 1.0) + w * R / np.trace(R))
    s = np.sqrt(np.diag(S))
    varies = s > 1e-12 * s.max()
    s = np.where(varies, s, 1.0)
    R = np.where(np.outer(varies, varies), S / np.outer(s, s), 0.0)
    t = np.where(varies, s ** (1 - strengths["tempering"]), 0.0)
    T = R * np.abs(R) ** strengths["damping"] * np.outer(t, t)
    np.fill_diagonal(T, t**2)
    T = pooled(T, strengths["pooling"])
    if strengths["smoothing"]:
        K = heat_kernel(adjacency.tobytes(), len(T), strengths["smoothing"])
        T = K @ T @ K
    return T - strengths["attenuation"] * within(T, labels)


@cache
def heat_kernel(adjacency, p, h):
    return expm(-(h**2) / 2 * laplacian(np.frombuffer(adjacency).reshape(p, p)))


def correlations(F):
    """Correlations of a covariance; 0 for a column without variance."""
    t = np.sqrt(np.diag(F))
    products = np.outer(t, t)
    return np.divide(F, products, out=np.zeros_like(F), where=products > 0)


def pooling_graph(C):
    """Correlations of each column with those that it correlates most with; the earlier one if tied.

    Correlations are compared to eight decimals.
    """
    A, sizes = np.zeros_like(C), np.round(np.abs(C), 8)
    for i in range(len(C)):
        others = [j for j in np.argsort(-sizes[i], kind="stable") if j != i and sizes[i, j] > 0]
        for j in others[:NEIGHBOURS]:
            A[i, j] = A[j, i] = C[i, j]
    return A


def pooled(F, h):
    """A covariance whose correlations are pooled over their graph."""
    if h == 0:
        return F
    C, t = correlations(F), np.sqrt(np.diag(F))
    A = pooling_graph(C)
    K = expm(-(h**2) / 2 * (np.diag(np.abs(A).sum(axis=1)) - A))
    return K @ C @ K * np.outer(t, t)


def changed(strengths, correction, strength):
    """Strengths with one of them replaced."""
    return At(**strengths | {correction: strength})


@dataclass
class Search:
    """The inputs of a search.

    They are as for ``CorrectedPCACV``. After a run, ``is_clear`` says whether every decision would have been
    the same with other rounding errors.
    """

    X: np.ndarray
    splits: list
    rank: int
    grids: dict
    adjacency: np.ndarray | None = None
    groups: np.ndarray | None = None
    reference: np.ndarray | None = None

    def __post_init__(self):
        self.losses_of, self.errors_of = cache(self._losses_of), cache(self._errors_of)
        self.covariance = cache(self._covariance)
        rows = np.arange(len(self.X))
        self.splits = [(training, sorted(set(rows[held]))) for training, held in self.splits]
        self.held = np.array([len(held) for _, held in self.splits])
        self.overlap = np.mean([len(held) / len(training) for training, held in self.splits])
        self.is_clear = True
        self.ranks = range(1, self._most_ranks() + 1)
        self._register()

    def _register(self):
        """Who votes: for every split the voter of each held-out row."""
        names = list(range(len(self.X)) if self.groups is None else self.groups)
        held = {names[row] for _, rows in self.splits for row in rows}
        known = {name: voter for voter, name in enumerate(n for n in dict.fromkeys(names) if n in held)}
        self.voter_of = [[known[names[row]] for row in rows] for _, rows in self.splits]
        self.n_voters = len(known)

    def ballots(self):
        """For every vote, how often it draws each voter."""
        drawn = np.random.RandomState(0).randint(self.n_voters, size=(100, self.n_voters))
        return [[list(vote).count(voter) for voter in range(self.n_voters)] for vote in drawn]

    def _most_ranks(self):
        """How many components judge: up to twice the rank, as columns, rows and PCA of them allow."""
        most = min(2 * self.rank, self.X.shape[1] - 1, *(len(training) - 1 for training, _ in self.splits))
        for split in range(len(self.splits)):
            values = np.linalg.eigvalsh(self.covariance(split, 0.0))
            most = min(most, int(np.sum(values > 1e-10 * values[-1])))
        return max(most, self.rank)

    def _covariance(self, split, row_tempering):
        X = self.X if split is None else self.X[self.splits[split][0]]
        return covariance_of_pairs(X, row_tempering) if row_tempering else covariance_of_rows(X)

    def doubt(self, strengths):
        """What rounding can change of a risk at some strengths; a subclass may override it."""
        return 0.0

    def is_more(self, value, other, doubt):
        """Whether a value is larger; a difference that rounding may turn around makes the search unclear."""
        self.is_clear &= abs(value - other) > doubt
        return value > other

    def fitted(self, strengths, split=None, rank=None):
        """Components at some strengths, as rows: of the training rows of a split, or of all rows."""
        S = self.covariance(split, strengths["row_tempering"])
        T = corrected_matrix(S, strengths, self.adjacency, reference=self.reference)
        return leading(T, self.rank if rank is None else rank)

    def _losses_of(self, strengths):
        """What every held-out row of every split loses: its squared errors at the ranks around the rank d.

        Their mean has the weights min(q/d, d/q).
        """
        weights = np.array([min(q / self.rank, self.rank / q) for q in self.ranks])
        if self.reported(At()) <= 1e-10 * self.X.var(axis=0).sum():  # PCA of that rank loses nothing
            weights = np.array([float(q == self.rank) for q in self.ranks])
        return [weights @ errors / weights.sum() for errors in self.errors_of(strengths)]

    def _errors_of(self, strengths):
        """Squared errors of the held-out rows of every split (columns) at every rank (lines)."""
        if self.rank == self.X.shape[1]:  # nothing is left out, so there is nothing to choose
            return [np.zeros((len(self.ranks), len(held))) for _, held in self.splits]
        found = []
        for split, (training, held) in enumerate(self.splits):
            U = self.fitted(strengths, split, len(self.ranks))
            centred = self.X[held] - self.X[training].mean(axis=0)
            kept = [centred @ U[:q].T @ U[:q] for q in self.ranks]
            found.append(np.array([np.sum((centred - part) ** 2, axis=1) for part in kept]))
        return found

    def reported_of(self, strengths):
        """Risks of every split at the rank asked for."""
        return np.array([np.mean(errors[self.rank - 1]) for errors in self.errors_of(strengths)])

    def reported(self, strengths):
        """The risk over all held-out rows at the rank asked for."""
        return np.average(self.reported_of(strengths), weights=self.held)

    def risk_of(self, strengths):
        """Risks of every split."""
        return np.array([np.mean(losses) for losses in self.losses_of(strengths)])

    def pooled(self, strengths):
        """The risk over all held-out rows."""
        return np.average(self.risk_of(strengths), weights=self.held)

    def of_voters(self, strengths):
        """What every voter loses, summed over its held-out rows."""
        total = np.zeros(self.n_voters)
        for voters, losses in zip(self.voter_of, self.losses_of(strengths), strict=True):
            for voter, loss in zip(voters, losses, strict=True):
                total[voter] += loss
        return total

    @property
    def n_first(self):
        """Two fifths of the splits, which may show that a candidate is not worth the others."""
        return -(-2 * len(self.splits) // 5)

    def first(self, strengths):
        """The risk over the held-out rows of the first splits."""
        return np.average(self.risk_of(strengths)[: self.n_first], weights=self.held[: self.n_first])

    @property
    def least_gain(self):
        """What a step must gain."""
        return LEAST_GAIN * self.pooled(PCA)

    def estimated(self, rival, candidate):
        """The risk of a candidate that is judged by the first splits only."""
        return self.pooled(rival) + self.first(candidate) - self.first(rival)

    def may_gain(self, rival, candidate):
        """Whether the first splits leave open that a candidate is better by a part that matters."""
        gains, n_held = {}, 0
        splits = zip(self.voter_of, self.losses_of(rival), self.losses_of(candidate), strict=True)
        for voters, *both in list(splits)[: self.n_first]:
            for voter, before, after in zip(voters, *both, strict=True):
                gains[voter] = gains.get(voter, 0.0) + before - after
                n_held += 1
        gains = np.array(list(gains.values()))
        if len(gains) < 2 or self.n_first == len(self.splits):
            return True
        reach = gains.sum() + 2 * np.sqrt(len(gains)) * np.std(gains, ddof=1)
        doubt = 4 * n_held * (self.doubt(rival) + self.doubt(candidate))
        return self.is_more(reach, n_held * self.least_gain, doubt)

    def step(self, correction, present):
        """Risks of increasing strengths, up to the first that is worse, and the best of them."""
        compared, risks, candidates = [], [], []
        for strength in self.grids[correction]:
            candidates.append(changed(present, correction, strength))
            compared.append(strength)
            if len(candidates) > 1 and not self.may_gain(*candidates[-2:]):
                risks.append(self.estimated(*candidates[-2:]))
                candidates.pop()
                break
            risks.append(self.pooled(candidates[-1]))
            doubt = sum(map(self.doubt, candidates[-2:]))
            if len(risks) > 1 and not self.is_more(risks[-2] - risks[-1], self.least_gain, doubt):
                break
        # All but the last are better than the one before; the last is, if nothing ended the loop.
        is_last_better = len(risks) == 1 or risks[-2] - risks[-1] > self.least_gain
        is_last_better &= len(candidates) == len(risks)
        best = len(risks) - 1 if is_last_better else len(risks) - 2
        d = self.risk_of(candidates[best]) - self.risk_of(present)
        error = np.std(d, ddof=1) * np.sqrt(1 / len(d) + self.overlap) if len(d) > 1 else np.nan
        of_pca = self.pooled(PCA) or 1.0
        return {
            "correction": correction,
            "strengths": tuple(compared),
            "candidates": candidates,
            "risks": np.array(risks),
            "best": compared[best],
            "gain": (risks[0] - risks[best]) / of_pca,
            "standard_error": error / of_pca,
        }

    def elected(self, base=PCA):
        """The weight of every choice."""
        losses = {candidate: self.of_voters(candidate) for candidate in self.candidates}
        ballots, weights = self.ballots(), {base: 0.0}
        for ballot in ballots:
            risks = {candidate: np.dot(ballot, losses[candidate]) for candidate in self.candidates}
            best = min(self.candidates, key=risks.get)
            for candidate in self.candidates:
                doubt = (self.doubt(candidate) + self.doubt(best)) * sum(ballot)
                if candidate != best:
                    self.is_more(risks[candidate], risks[best], doubt)
            d = [p - c for p, c, n in zip(losses[base], losses[best], ballot, strict=True) if n == 0]
            error = np.std(d, ddof=1) / np.sqrt(len(d)) if len(d) > 1 else 0.0
            doubt = 4 * (self.doubt(base) + self.doubt(best)) if best != base else -1.0
            least = self.least_gain * self.held.sum() / self.n_voters
            if d and not self.is_more(np.mean(d), max(0.5 * error, least), doubt):
                best = base
            weights[best] = weights.get(best, 0.0) + 1 / len(ballots)
        return weights

    def nested_gain(self):
        """What new rows gain, with its standard error: every fifth of the rows by a choice of the others."""
        n, of_pca, gains = len(self.X), [], []
        for block in range(5):
            others = [row for row in range(n) if row % 5 != block]
            folds = [row % 5 for row in others]
            splits = [
                ([i for i, k in enumerate(folds) if k != fold], [i for i, k in enumerate(folds) if k == fold])
                for fold in sorted(set(folds))
            ]
            inner = Search(self.X[others], splits, self.rank, self.grids, self.adjacency).run()
            for row in range(block, n, 5):
                z = self.X[row] - self.X[others].mean(axis=0)
                lost = [z @ z - np.sum((U @ z) ** 2) for U in (inner.fitted(PCA), inner.components)]
                of_pca.append(lost[0])
                gains.append(lost[0] - lost[1])
        error = np.std(gains, ddof=1) / np.sqrt(n) * np.sqrt(1 + 5 / 4)
        return 0.8 * np.mean(gains) / np.mean(of_pca), 0.8 * error / np.mean(of_pca)

    def run(self):
        present, candidates, self.steps = PCA, {PCA: None}, []
        for correction in SEARCH_ORDER:
            if correction not in self.grids or (correction == "borrowing" and self.reference is None):
                continue
            self.steps.append(self.step(correction, present))
            candidates |= dict.fromkeys(self.steps[-1]["candidates"])
            present = changed(present, correction, self.steps[-1]["best"])
        candidates |= dict.fromkeys(changed(present, correction, 0.0) for correction in present)
        self.candidates, self.chosen = list(candidates), present
        self.gain = 1 - self.reported(self.chosen) / (self.reported(PCA) or 1.0)
        self.averaged = {c: w for c, w in self.elected().items() if w}
        self.weights = dict(self.averaged)
        self._average()
        return self

    def _average(self):
        """The leading subspace of the weighted mean; where it is PCA's, the answer is PCA."""
        mean, S = 0.0, self.covariance(None, 0.0)
        for choice, weight in self.weights.items():
            P = self.fitted(choice).T @ self.fitted(choice)
            values, vectors = np.linalg.eigh(P @ S @ P)
            mean = mean + weight * (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        self.components = leading(mean, self.rank)
        if sine(self.components, self.fitted(PCA)) < 1e-6:
            self.chosen, self.weights = PCA, {PCA: 1.0}
            self.gain = 0.0


def smooth_rows(n, p, seed=0):
    """Rows with heavy tails; neighbouring columns vary together, and columns differ in noise."""
    rng = np.random.default_rng(seed)
    places = np.arange(p) / p
    waves = np.array([np.sin(np.pi * (k + 1) * places + k) for k in range(3)])
    rows = rng.standard_normal((n, 3)) * [3.0, 2.0, 1.5] @ waves
    rows += rng.standard_normal((n, p)) * rng.uniform(0.5, 2.5, p)
    return rows * np.abs(rng.standard_t(3, n))[:, None] + rng.uniform(-3, 3, p)


def holed_rows(n, p, part, seed=0):
    """Rows of three factors, and the same with cells missing at random."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3)) @ random.standard_normal((3, p)) + 0.5 * random.standard_normal((n, p))
    X += random.standard_normal(p)
    holes = random.random((n, p)) < part
    holes[np.arange(p) % n, np.arange(p)] = False  # every column keeps a cell
    return X, np.where(holes, np.nan, X)


def conditional(Sigma, mean, row):
    """Mean and covariance of the missing cells of a row given the others, for a Gaussian law."""
    missing = np.isnan(row)
    seen = ~missing
    weights = Sigma[np.ix_(missing, seen)] @ np.linalg.inv(Sigma[np.ix_(seen, seen)])
    left = Sigma[np.ix_(missing, missing)] - weights @ Sigma[np.ix_(seen, missing)]
    return mean[missing] + weights @ (row[seen] - mean[seen]), left


def loss_of_seen(z, U):
    """What a subspace loses of the seen cells of a centred row; NaN where a cell is missing.

    Missing cells count as if they were at the mean, with the weight 0.01.
    """
    missing = np.isnan(z)
    root = np.where(missing, 0.1, 1.0)
    scores = np.linalg.lstsq(root[:, None] * U, np.where(missing, 0.0, z), rcond=None)[0]
    return np.sum((np.where(missing, 0.0, z) - U @ scores)[~missing] ** 2)
