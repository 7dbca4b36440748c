"""What several test files share: data with a known shape, and comparisons of subspaces."""

import inspect
from collections import Counter
from functools import wraps
from itertools import combinations, product

import numpy as np


def spiked_rows(n, p, rank=3, seed=0):
    """Rows with a few strong directions and unequal noise, so that attenuation moves the subspace."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, rank)) * np.linspace(4, 2, rank)
    noise = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p)
    return factors @ rng.standard_normal((rank, p)) + noise + rng.uniform(-5, 5, p)


def covariance(X):
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


def within(S, labels):
    """The part of S that attenuation weakens."""
    labels = np.arange(len(S)) if labels is None else np.asarray(labels)
    return S * (labels[:, None] == labels)


def exact_components(S, alpha, rank, labels=None):
    """Leading eigenvectors by dense LAPACK, as rows."""
    return leading(S - alpha * within(S, labels), rank)


def uneven_rows(n, p, seed=0):
    """Rows whose columns have very different sizes, so that tempering moves the subspace."""
    return spiked_rows(n, p, seed=seed) * np.random.default_rng(seed + 100).uniform(0.2, 5.0, p)


def entries_of_t(S, alpha, gamma, labels=None):
    """T by its entries: t_i = s_i^(1 - gamma), T_ij = r_ij t_i t_j, and within groups 1 - alpha of that."""
    labels = np.arange(len(S)) if labels is None else np.asarray(labels)
    s = np.sqrt(np.diag(S))
    R = np.divide(S, np.outer(s, s), out=np.zeros_like(S), where=np.outer(s, s) > 0)
    t = np.where(s > 0, s ** (1 - gamma), 0)
    return R * np.outer(t, t) * np.where(labels[:, None] == labels, 1 - alpha, 1)


def leading(T, rank):
    """Leading eigenvectors of a matrix by dense LAPACK, as rows."""
    return np.linalg.eigh(T)[1][:, ::-1][:, :rank].T


def sine(A, B):
    """Sine of the largest principal angle between the row spaces of two orthonormal frames."""
    return np.linalg.norm(A - (A @ B.T) @ B, 2)


def interleaved_splits(n, k):
    """What ``cv=k`` means: row i is held out in fold i % k."""
    folds = np.arange(n) % k
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]


def dealt_out_splits(groups, k):
    """What ``cv=k`` means of groups: the largest goes to the fold with the fewest rows, ties to the first."""
    groups = list(groups)
    names, rows = list(dict.fromkeys(groups)), [[] for _ in range(k)]
    for name in sorted(names, key=lambda name: -groups.count(name)):
        min(rows, key=len).extend(row for row, own in enumerate(groups) if own == name)
    everyone = set(range(len(groups)))
    return [(np.array(sorted(everyone - set(held))), np.array(sorted(held))) for held in rows]


def risk_folds_by_hand(X, splits, alphas, rank, labels=None):
    """Held-out error of every split: fitted from scratch by LAPACK, every row reconstructed."""
    risks = np.empty((len(splits), len(alphas)))
    for number, (training, held) in enumerate(splits):
        S, centred = covariance(X[training]), X[held] - X[training].mean(axis=0)
        for i, alpha in enumerate(alphas):
            U = exact_components(S, alpha, rank, labels)
            risks[number, i] = np.mean(np.sum((centred - centred @ U.T @ U) ** 2, axis=1))
    return risks


def pooled(risk_folds, splits):
    """Mean over all held-out rows."""
    return np.average(risk_folds, axis=0, weights=[len(held) for _, held in splits])


def assert_risks_close_enough(found, exact, held_to_training=None, chosen=None):
    """Check that risks of iterated subspaces are off by little compared with what the splits can tell apart.

    An error that all candidates share changes no comparison, so errors are taken less that of PCA. On average
    over the splits they are at most a twentieth of the standard error of the difference to PCA (Nadeau and
    Bengio, 2003). So the chosen candidate is as good as the best one, up to the same.

    Parameters
    ----------
    found, exact : array of shape (n_splits, ...)
        Risks of every split, PCA first among the candidates.
    held_to_training : float, optional
        Held-out rows of a split divided by its training rows; that of a partition if not given.
    chosen : int, optional
        Position of the chosen candidate; that of the least mean risk if not given.
    """
    J = len(found)
    found, exact = np.reshape(found, (J, -1)), np.reshape(exact, (J, -1))
    overlap = 1 / (J - 1) if held_to_training is None else held_to_training
    spread = np.std(exact - exact[:, :1], axis=0, ddof=1) * np.sqrt(1 / J + overlap)
    risk = exact.mean(axis=0)
    allowed = 0.05 * spread + 1e-9 * risk[0]
    errors = (found - exact) - (found - exact)[:, :1]
    off = np.abs(errors.mean(axis=0)) / allowed
    assert off.max() <= 1, f"candidate {off.argmax()} is off by {off.max():.3g} of what is allowed"
    chosen, best = int(found.mean(axis=0).argmin()) if chosen is None else chosen, int(risk.argmin())
    assert risk[chosen] - risk[best] <= allowed[chosen] + allowed[best]


def sine_allowed(model, X, alpha):
    """Largest sine to the best subspace that the shortfall of a fit leaves room for, and rounding.

    What a subspace explains too little is at least its squared sine times the gap.
    """
    S, rank = covariance(X), model.n_components_
    values = np.linalg.eigvalsh(S - alpha * within(S, None))[::-1]
    missed = model.shortfall_ * np.trace(S)
    return 1e-8 + np.sqrt(missed / (values[rank - 1] - values[rank]))


def in_turn(*axes, times=1):
    """Return cases for parametrize: values of the longest axis `times` times, and of the others in turn.

    Of all combinations, each case is the one with most pairs of values that no case before it has.
    """
    axes = [list(axis) for axis in axes]
    longest = max(range(len(axes)), key=lambda k: len(axes[k]))
    seen, used, cases = set(), Counter(), []

    def pairs(case):
        return set(combinations(enumerate(case), 2))

    for i in range(times * len(axes[longest])):
        positions = [range(len(axis)) for axis in axes]
        positions[longest] = [i % len(axes[longest])]
        case = min(
            product(*positions),
            key=lambda case: (-len(pairs(case) - seen), sum(used[place] for place in enumerate(case))),
        )
        seen |= pairs(case)
        used.update(enumerate(case))
        cases.append(tuple(axis[k] for axis, k in zip(axes, case, strict=True)))
    return cases


def each(names, cases):
    """Like `parametrize`, but all cases are one test, and a failure names its case.

    The cases share the fixtures of the test.
    """
    names = names.split(", ")

    def decorate(test):
        @wraps(test)
        def all_cases(**fixtures):
            for values in cases:
                arguments = dict(zip(names, values if len(names) > 1 else [values], strict=True))
                try:
                    test(**fixtures, **arguments)
                except BaseException as error:
                    error.add_note(f"case: {arguments}")
                    raise

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in names]
        all_cases.__signature__ = signature.replace(parameters=others)
        return all_cases

    return decorate


def correlated_rows(n, p, seed=0):
    """Return rows of four common factors and noise that grows from column to column."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) + rng.standard_normal(
        (n, p)
    ) * np.arange(1, p + 1)
