"""How far fits are from plain loops over LAPACK: ``--accuracy`` of ``cost.py`` and ``corrected_cost.py``."""

import warnings
from functools import cache

import numpy as np
import scipy.linalg
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._correct.pooling import neighbour_graph
from rows import DENSE, SPARSE, bulk, clustered, heavy, noise, power, smooth, spiked

# Differences of risk below this part of the total variance are rounding. Eigenvalues at the cut that differ
# by less do not determine a subspace.
ROUNDING = 1e-12
# What is judged of AttenuatedPCACV, with its target.
TARGETS = {
    "loss of the refit / total variance": 1e-8,
    "error of cv_risk_ / risk": None,
    "loss of the choice / standard error": 0.01,
    "loss of the choice / risk": None,
}
CORRECTED_KINDS = (spiked, heavy, noise, smooth, bulk, power, clustered)


def held_out_error(X, train, held, U):
    centred = X[held] - X[train].mean(axis=0)
    return np.sum((centred - (centred @ U) @ U.T) ** 2) / len(centred)


# --- AttenuatedPCACV ----------------------------------------------------------------------------------------


def attenuated(S, alpha):
    return S - alpha * np.diag(np.diag(S))


def leading(S, alpha, rank):
    """Return the leading eigenvalues of ``S - alpha diag(S)``, one more than `rank`, and eigenvectors."""
    p = len(S)
    values, vectors = scipy.linalg.eigh(attenuated(S, alpha), subset_by_index=[p - rank - 1, p - 1])
    return values[::-1], vectors[:, :0:-1]


def attenuated_risks(X, splits, alphas, rank):
    """Return the held-out risks of all splits and strengths; NaN where the cut is a tie."""
    risks = np.empty((len(splits), len(alphas)))
    for risk, (train, held) in zip(risks, splits, strict=True):
        S = np.cov(X[train].T, bias=True)
        for number, alpha in enumerate(alphas):
            values, U = leading(S, alpha, rank)
            is_tie = values[-2] - values[-1] <= ROUNDING * np.trace(S)
            risk[number] = np.nan if is_tie else held_out_error(X, train, held, U)
    return risks


def random_problem(seed, large=False):
    """Draw a kind, a rank and the rows of a problem; return its name, too."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice([*DENSE, *SPARSE]))
    most = [400, 1_500 if large else 400]
    n, p = np.exp(rng.uniform(np.log(20), np.log(most))).round().astype(int).tolist()
    training_rows = n - -(-n // 5)
    rank = int(rng.integers(1, min(20, p - 1, training_rows - 1) + 1))
    density = () if kind in DENSE else (float(rng.uniform(0.1, 0.3)),)
    X = (DENSE | SPARSE)[kind](np.random.default_rng(seed), n, p, rank, *density)
    return f"{kind}-{n}x{p}-rank-{rank}", rank, X


def judge(X, rank):
    """Return how far a fit is from LAPACK's: the values that ``TARGETS`` names.

    Those of risks are NaN where a training set has a tie at the cut, which leaves the risk open.
    """
    splits = list(KFold(5).split(X))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The cut at")
        model = AttenuatedPCACV(rank, cv=splits).fit(X)
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    S, U = np.cov(dense.T, bias=True), model.components_.T
    best = leading(S, model.alpha_, rank)[0][:-1].sum()
    refit = (best - np.sum(U * (attenuated(S, model.alpha_) @ U))) / np.trace(S)
    with threadpool_limits(1):  # several threads are slower at these sizes, above all on a busy machine
        folds = attenuated_risks(dense, splits, model.alphas_, rank)
    risk = np.average(folds, axis=0, weights=[len(held) for _, held in splits])
    chosen, minimum = np.flatnonzero(model.alphas_ == model.alpha_)[0], risk.argmin()
    loss = risk[chosen] - risk[minimum]
    error = np.std(folds[:, chosen] - folds[:, minimum], ddof=1) / np.sqrt(len(splits))
    in_errors = 0 if loss <= ROUNDING * np.trace(S) else loss / error
    off = np.max(np.abs(model.cv_risk_ - risk) / risk)
    if np.isnan(risk).any():
        off = in_errors = loss = np.nan
    return dict(zip(TARGETS, map(float, (max(refit, 0), off, in_errors, loss / risk.min())), strict=True))


def attenuated_table(seeds, large=False):
    """Judge a problem of every seed and print quantiles of each value and the worst; return all values."""
    results = []
    for seed in seeds:
        name, rank, X = random_problem(seed, large)
        results.append({"seed": seed, "name": name, **judge(X, rank)})
    print(f"{'':<38}problems   median      90%      99%    worst")
    for what, target in TARGETS.items():
        judged = [result for result in results if not np.isnan(result[what])]
        if not judged:
            continue
        values = np.array([result[what] for result in judged])
        worst = judged[values.argmax()]
        cells = "".join(f"{value:>9.1e}" for value in np.quantile(values, [0.5, 0.9, 0.99, 1]))
        print(f"{what:<38}{len(judged):>8}{cells}  seed {worst['seed']}, {worst['name']}")
        if target is not None:
            print(f"    target {target:g}: {np.sum(values <= target)} of {len(values)} meet it")
    return results


# --- CorrectedPCACV -----------------------------------------------------------------------------------------


def pair_covariance(X, strength):
    """Return the covariance of rows in which a pair counts by a power of its distance."""
    if strength == 0:
        return np.cov(X.T, bias=True)
    squares = np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=2)
    weights = np.where(squares > 0, np.where(squares > 0, squares, 1.0) ** -strength, 0.0)
    Z = X - X.mean(axis=0)
    return Z.T @ (np.diag(weights.sum(axis=1)) - weights) @ Z


def corrected_matrix(X, *, row_tempering, tempering, attenuation, damping, pooling, smoothing, borrowing=0.0):
    """Return the corrected covariance of rows, entry by entry, with columns along a line.

    Nothing is borrowed, since there is no reference.
    """
    S = pair_covariance(X, row_tempering)
    s = np.sqrt(np.diag(S))
    R, t = S / np.outer(s, s), s ** (1 - tempering)
    T = R * np.abs(R) ** damping * np.outer(t, t)
    np.fill_diagonal(T, t**2)
    if pooling:
        T = pooled(T, pooling)
    if smoothing:
        K = kernel(smoothing, len(T))
        T = K @ T @ K
    return T - attenuation * np.diag(np.diag(T))


def pooled(T, strength):
    """Return T with its correlations averaged over the graph of T."""
    t = np.sqrt(np.diag(T))
    A = neighbour_graph(T, 1 / t).toarray()
    P = scipy.linalg.expm(-(strength**2) / 2 * (np.diag(np.abs(A).sum(axis=1)) - A))
    return P @ (T / np.outer(t, t)) @ P * np.outer(t, t)


@cache
def kernel(h, p):
    """Return the heat kernel of `p` columns along a line."""
    L = 2 * np.eye(p) - np.eye(p, k=1) - np.eye(p, k=-1)
    L[0, 0] = L[-1, -1] = 1.0
    return scipy.linalg.expm(-(h**2) / 2 * L)


def corrected_risks(X, candidates, rank, n_folds):
    """Return the held-out risks of candidates on folds of every n-th row."""
    risks = np.empty((n_folds, len(candidates)))
    for fold in range(n_folds):
        held = np.arange(len(X)) % n_folds == fold
        for place, strengths in enumerate(candidates):
            U = np.linalg.eigh(corrected_matrix(X[~held], **strengths))[1][:, -rank:]
            risks[fold, place] = held_out_error(X, ~held, held, U)
    return risks


def corrected_table(n_problems, seed=0, n_folds=5):
    """Print how far risks, choices and fits are from LAPACK's; return the errors by name.

    An error of a difference to PCA's risk is given in standard errors of the difference, or in gains that
    matter (2e-4 of PCA's risk) where these are larger.
    """
    rng, found = np.random.default_rng(seed), {"risk": [], "choice": [], "fit": []}
    for _ in range(n_problems):
        kind, p = rng.choice(CORRECTED_KINDS), int(rng.integers(130, 330))
        n, rank = int(rng.integers(30, 250)), int(rng.integers(1, 9))
        X = kind(rng, n, p, rank)
        neighbours = "line" if kind is smooth or rng.random() < 0.4 else None
        model = CorrectedPCACV(rank, neighbours=neighbours, cv=n_folds).fit(X)
        with threadpool_limits(1):
            exact = corrected_risks(X, model.candidates_, rank, n_folds)
        true, seen = (risks - risks[:, :1] for risks in (exact, model.cv_risk_folds_))
        errors = np.sqrt(1 / n_folds + 1 / (n_folds - 1)) * true.std(axis=0, ddof=1)
        scale = np.maximum(errors, 2e-4 * exact[:, 0].mean())
        found["risk"].append(float(np.max(np.abs((seen - true).mean(axis=0)) / scale)))
        # What the candidate of least risk would gain more than the one that is the least here.
        least = int(np.argmin(model.cv_risk_))
        lost = true.mean(axis=0)[least] - true.mean(axis=0).min()
        found["choice"].append(float(lost / scale[least]))
        found["fit"].append(_worst_shortfall(X, model, rank))
    words = {
        "risk": "differences to PCA's risk are off by, in standard errors",
        "choice": "loss by another candidate being the best, in standard errors",
        "fit": "variance that a refitted choice misses, as a part of the total",
    }
    for name, values in found.items():
        cells = ", ".join(f"{np.quantile(values, q):.1e}" for q in (0.5, 0.9, 1.0))
        print(f"{n_problems} problems: {words[name]}: median, 90%, worst {cells}")
    return found


def _worst_shortfall(X, model, rank):
    """Return what the choices, fitted to all rows, explain less than LAPACK's vectors do."""
    worst = 0.0
    for choice in model.choices_:
        T = corrected_matrix(X, **choice)
        parameters = {name: strength for name, strength in choice.items() if strength}
        U = CorrectedPCA(rank, neighbours="line", **parameters).fit(X).components_.T
        best = np.linalg.eigvalsh(T)[-rank:].sum()
        worst = max(worst, float((best - np.sum(U * (T @ U))) / np.abs(np.linalg.eigvalsh(T)).sum()))
    return worst
