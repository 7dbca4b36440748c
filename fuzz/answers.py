"""Random rows for what is built on a fit: covariances, limits of T2 and Q, stability, learning curves.

    python fuzz/answers.py --seed 0 --minutes 10

Each is compared with a loop by its definition. Then the order of the columns, their signs, the unit and the
origin are changed, which must change nothing.
"""

import rounds  # isort: skip  # before numpy, which reads the settings

import sys
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.linalg import subspace_angles
from scipy.stats import chi2
from scipy.stats import f as fisher
from sklearn.covariance import OAS, ledoit_wolf_shrinkage
from tests.literal import line, smooth_rows
from tests.test_covariance import CovarianceSearch, agree, interleaved

from attenua import AttenuatedPCA, CorrectedCovariance, CorrectedPCA, learning_curve, stability
from checks import at_most, same

CLOSE = 1e-7


@dataclass(frozen=True)
class Problem:
    """Rows without ties, and what is done with them."""

    seed: int
    rows: np.ndarray
    what: str
    rank: int
    alpha: float

    def __str__(self):
        n, p = self.rows.shape
        return (
            f"seed {self.seed}: {self.what} of {n} x {p}, {self.rank} components, strength {self.alpha:.2f}"
        )

    @property
    def model(self):
        """An estimator that commutes with the changes: ordinary PCA, or attenuated a little."""
        return AttenuatedPCA(self.rank, alpha=self.alpha) if self.alpha else CorrectedPCA(self.rank)


def draw(seed):
    """Return the problem of a seed."""
    random = np.random.default_rng(seed)
    what = str(random.choice(list(CHECKS)))
    n, p = int(random.integers(24, 50)), int(random.integers(4, 16))
    if random.random() < 0.2:
        n, p = 24, 40
    rank = int(random.integers(1, min(4, p - 1) + 1))
    alpha = float(random.choice([0.0, 0.3 * random.random()]))
    return Problem(seed, smooth_rows(n, p, seed), what, rank, alpha)


def changed(X, random):
    """Yield rows that stand for the same, with what became of columns and signs, the unit, and words."""
    p = X.shape[1]
    every, plain = np.arange(p), np.ones(p)
    yield X[:, order := random.permutation(p)], order, plain, 1.0, "of columns in another order"
    yield X * (signs := random.choice([-1.0, 1.0], p)), every, signs, 1.0, "of columns with other signs"
    yield X * (unit := 2.0 ** int(random.integers(-60, 61))), every, plain, unit, "in another unit"
    yield X + random.uniform(-5, 5, p) * X.std(axis=0), every, plain, 1.0, "of shifted rows"


def check_covariance(problem, random):
    """Compare with the search by its definitions, and all methods with dense formulas."""
    X, n = problem.rows, len(problem.rows)
    is_ordered = bool(random.random() < 0.5)
    model = CorrectedCovariance(neighbours="line" if is_ordered else None).fit(X)
    # Else the odds of the definitions are infinite.
    is_clear = max(OAS().fit(X).shrinkage_, ledoit_wolf_shrinkage(X)) < 1
    if is_clear:
        search = CovarianceSearch(X, interleaved(n), adjacency=line(X.shape[1]) if is_ordered else None).run()
        is_clear = search.is_clear
    if is_clear:
        agree(model, search)
    Z, precision = X - model.location_, np.linalg.inv(model.covariance_)
    squares = np.einsum("ij,jk,ik->i", Z, precision, Z)
    at_most(model.mahalanobis(X) - squares, 1e-6 * squares.max(), "mahalanobis")
    density = -(squares + np.linalg.slogdet(2 * np.pi * model.covariance_)[1]) / 2
    at_most(model.score_samples(X) - density, 1e-6 * np.abs(density).max(), "score_samples")
    same(bool(np.linalg.eigvalsh(model.covariance_)[0] > 0), True, "covariance_ is positive definite")
    for rows, order, _, unit, what in changed(X, random):
        if (is_ordered and what == "of columns in another order") or what == "of columns with other signs":
            continue  # neighbours are others then
        other = CorrectedCovariance(neighbours="line" if is_ordered else None).fit(rows)
        expected = model.covariance_[np.ix_(order, order)] * unit**2
        at_most(other.covariance_ - expected, 1e-6 * np.abs(expected).max(), f"covariance_ {what}")
    return is_clear


def check_limits(problem, random):
    """Compare T2, Q and both kinds of limits with their formulas, fold by fold."""
    X, (n, k) = problem.rows, (len(problem.rows), problem.rank)
    model = problem.model.fit(X)
    limits, textbook = model.control_limits(X, cv=4), model.control_limits(X, held_out=False)
    t2, q = np.empty((2, n))
    for training, held in interleaved(n, 4):
        other = problem.model.fit(X[training])
        Z = X[held] - X[training].mean(axis=0)
        scores = Z @ other.components_.T
        t2[held] = np.sum(scores**2 / other.explained_variance_, axis=1)
        q[held] = np.sum((Z - scores @ other.components_) ** 2, axis=1)
    at_most(limits.t2_rows - t2, CLOSE * t2.max(), "t2_rows")
    at_most(limits.q_rows - q, CLOSE * q.max(), "q_rows")
    W, Z = model.components_, X - X.mean(axis=0)
    rest = np.linalg.svd(Z - Z @ W.T @ W, compute_uv=False) ** 2 / (n - 1)
    g, h = np.sum(rest**2) / rest.sum(), rest.sum() ** 2 / np.sum(rest**2)
    expected = [k * (n**2 - 1) / (n * (n - k)) * fisher.ppf(0.95, k, n - k), g * chi2.ppf(0.95, h)]
    at_most([textbook.t2(), textbook.q()] / np.array(expected) - 1, CLOSE, "the textbook's limits")
    for some in (limits, textbook):
        same(0 < some.t2(0.9) < some.t2(0.99) and 0 < some.q(0.9) < some.q(0.99), True, "the order of limits")
        same(set(some.beyond(0.99)) <= set(some.beyond(0.9)), True, "rows beyond 99% are beyond 90%")
    for rows, _, _, unit, what in changed(X, random):
        other = problem.model.fit(rows).control_limits(rows, cv=4)
        at_most(other.t2_rows - limits.t2_rows, 1e-6 * t2.max(), f"t2_rows {what}")
        at_most(other.q_rows / unit**2 - limits.q_rows, 1e-6 * q.max(), f"q_rows {what}")
        at_most(other.q() / unit**2 / limits.q() - 1, 1e-5, f"the limit of Q {what}")
        at_most(other.t2() / limits.t2() - 1, 1e-5, f"the limit of T2 {what}")


def check_stability(problem, random):
    """Compare with a loop that tries all orders of the components, and angles of SciPy."""
    X, n = problem.rows, len(problem.rows)
    groups = random.integers(0, n // 2, n) if random.random() < 0.3 else None
    if groups is not None and len(np.unique(groups)) < 5:
        groups = None
    found = stability(X, problem.model, n_boot=20, random_state=problem.seed, groups=groups)
    U, drawn = problem.model.fit(X).components_, np.random.RandomState(problem.seed)
    squares, angles, whole, swapped = 0.0, [], [], 0.0
    for _ in range(20):
        if groups is None:
            rows = drawn.randint(n, size=n, dtype=np.intp)
        else:
            labels = np.array(list(dict.fromkeys(groups.tolist())))  # in the order in which they come
            some = drawn.randint(len(labels), size=len(labels), dtype=np.intp)
            rows = np.concatenate([np.flatnonzero(groups == labels[unit]) for unit in some])
        V = problem.model.fit(X[rows]).components_
        orders = [list(order) for order in permutations(range(problem.rank))]
        best = max(orders, key=lambda order: np.abs(np.sum(U * V[order], axis=1)).sum())
        aligned = V[best] * np.sign(np.sum(U * V[best], axis=1))[:, None]
        squares = squares + (aligned - U) ** 2 / 20
        swapped = swapped + (np.array(best) != np.arange(problem.rank)) / 20
        angles.append(np.degrees(2 * np.arcsin(np.minimum(np.linalg.norm(aligned - U, axis=1) / 2, 1))))
        whole.append(np.degrees(subspace_angles(U.T, V.T)[0]))
    at_most(found.errors - np.sqrt(squares), 1e-6, "errors")
    at_most(found.swapped - swapped, 1e-12, "swapped")
    at_most(found.angles - angles, 1e-4, "angles")
    at_most(found.leading_angles[:, -1] - whole, 1e-4, "the angle of the whole subspace")
    for rows, order, _, _, what in changed(X, random):
        other = stability(rows, problem.model, n_boot=20, random_state=problem.seed, groups=groups)
        at_most(other.errors - found.errors[:, order], 1e-6, f"errors {what}")
        at_most(other.leading_angles - found.leading_angles, 1e-4, f"leading_angles {what}")


def check_learning_curve(problem, random):
    """Check the law of the curve, and that it does not depend on how the rows are written."""
    found = learning_curve(problem.rows, problem.model, n_draws=2, random_state=problem.seed)
    least, b = np.linalg.solve([[1, 1 / size] for size in found.sizes[-2:]], found.errors[-2:])
    n = len(problem.rows)
    at_most(found.excess - b / n / (least + b / n), 1e-9, "excess")
    for rows, _, _, unit, what in changed(problem.rows, random):
        other = learning_curve(rows, problem.model, n_draws=2, random_state=problem.seed)
        at_most(other.losses / unit**2 - found.losses, 1e-6 * found.losses.max(), f"losses {what}")
        at_most(other.excess_error - found.excess_error, 1e-6, f"excess_error {what}")


CHECKS = {
    "a covariance": check_covariance,
    "limits": check_limits,
    "stability": check_stability,
    "a learning curve": check_learning_curve,
}


def check(problem):
    """Check a problem; return what was done."""
    is_clear = CHECKS[problem.what](problem, np.random.default_rng(problem.seed))
    return ["problems", problem.what, *["left open by rounding"] * (is_clear is False)]


if __name__ == "__main__":
    sys.exit(rounds.go("answers", __doc__.splitlines()[0], draw, check))
