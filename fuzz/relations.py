"""What must hold between two fits, or between an estimator and the public functions.

Each relation takes a problem whose fit was checked, and changes it in a way whose effect is known.
"""

from dataclasses import replace

import numpy as np
from tests.helpers import sine
from tests.literal import GRIDS, At

from attenua import attenuation_path, choose_rank
from checks import Expected, Found, at_most, check_subspace, fit, same
from choices import candidates_of, search_of
from containers import CONTAINERS, filled
from rounding import EPS


def scaled(problem, random, folder):
    """Multiply by a power of two: no bit of the components changes, and no choice."""
    other = replace(problem, scale=problem.scale * 2.0 ** int(random.integers(-9, 10)))
    first, second = fit(problem, folder), fit(other, folder)
    same(np.array_equal(first.components_, second.components_), True, "components_ are the same in every bit")
    if problem.chooses:
        ratio = (other.scale / problem.scale) ** 2
        same(np.array_equal(first.cv_risk_ * ratio, second.cv_risk_), True, "cv_risk_ in every bit")


def shuffled(problem, random, folder):
    """Put rows in another order, within their folds: nothing changes but roundings."""
    n, cv = len(problem.rows), problem.options.get("cv", 1)
    order = np.arange(n)
    for fold in range(cv):
        order[fold::cv] = random.permutation(order[fold::cv])
    weights = None if problem.weights is None else problem.weights[order]
    compared(problem, replace(problem, rows=problem.rows[order], weights=weights), folder)


def repeated(problem, random, folder):
    """Give every row a weight, or repeat it as often."""
    counts = random.integers(1, 4, len(problem.rows))
    weighted = replace(problem, weights=counts.astype(float))
    compared(weighted, replace(problem, rows=np.repeat(problem.rows, counts, axis=0), weights=None), folder)


def shifted(problem, random, folder):
    """Shift all rows: only the mean changes."""
    spreads = np.maximum(np.ptp(problem.rows, axis=0), 1e-3)
    by = np.round(random.uniform(-3, 3, len(spreads)) * spreads * 1024) / 1024
    compared(problem, replace(problem, rows=problem.rows + by), folder)


def widened(problem, random, folder):
    """Add a constant column: it has no loading, unless what is left of T is negative."""
    answer = Expected(problem).at(strengths_of(problem), problem.options["n_components"])
    if np.linalg.eigvalsh(answer.matrix)[-len(answer.components)] <= 2 * answer.doubt:
        return
    constant = np.full((len(problem.rows), 1), float(random.integers(-3, 4)))
    wider = replace(problem, rows=np.hstack([problem.rows, constant]))
    compared(problem, wider, folder, n_columns=problem.rows.shape[1])


def compared(problem, other, folder, n_columns=None):
    """Fit two problems that stand for the same subspace, and compare what they found."""
    first, second = (Found(fit(some, folder), some) for some in (problem, other))
    same(second.rank, first.rank, "n_components_")
    if problem.chooses:
        compare_risks((problem, first), (other, second))
        return
    strengths = strengths_of(problem)
    bounds = [Expected(some).at(strengths, first.rank).sine for some in (problem, other)]
    stored = 8 * (first.eps + second.eps) * np.sqrt(first.components.shape[1])
    components = second.components[:, :n_columns]
    at_most(sine(components, first.components), min(sum(bounds), 1.0) + stored, "the other fit's subspace")


def compare_risks(*pairs):
    """Compare the risks of two problems, with what was found, at the strengths that both compared."""
    first, second = (dict(zip(candidates_of(found.model), found.risks.T, strict=True)) for _, found in pairs)
    searches = [search_of(some, Expected(some), found.rank, {}) for some, found in pairs]
    for candidate in first.keys() & second.keys():
        allowed = sum(search.reported_doubts(candidate) for search in searches)
        at_most(first[candidate] - second[candidate], allowed, f"the risk of {candidate} in the other fit")


def strengths_of(problem):
    """Return the strengths that an estimator was given."""
    names = {"attenuation": "alpha"} if problem.estimator == "AttenuatedPCA" else {}
    return At(**{name: problem.options.get(names.get(name, name), 0.0) for name in GRIDS})


def along_a_path(problem, random, folder):
    """Compare the path with the estimator, and a choice on validation rows with its definition."""
    alpha, n_components = problem.options["alpha"], problem.options["n_components"]
    path = attenuation_path(
        filled(problem.container, problem.rows * problem.scale, problem.seed, folder),
        n_components,
        alphas=[alpha],
        feature_groups=problem.options.get("feature_groups"),
        sample_weight=problem.weights,
    )
    found = Found(fit(problem, folder), problem)
    found.components = np.asarray(path.components[-1], dtype=float)
    check_subspace(found, Expected(problem).at(strengths_of(problem), found.rank))


def rank_chosen(problem, random, folder):
    """Choose the number of components in another container and unit."""
    method = str(random.choice(["bcv", "parallel", "threshold"]))
    X = filled(problem.container, problem.rows * problem.scale, problem.seed, folder)
    first = choose_rank(X, method=method, random_state=0)
    second = choose_rank(problem.rows, method=method, random_state=0)
    same(first.rank, second.rank, f"the rank by {method} of scaled rows")
    same(0 <= first.rank <= first.ranks[-1], True, "the rank is one of those compared")


def that_apply(problem):
    """Return the relations that a problem is in the domain of."""
    kind, options = CONTAINERS[problem.container], problem.options
    # A power of two commutes with all that attenuation does, but not with other powers of the variances.
    is_linear = problem.estimator in ("AttenuatedPCA", "AttenuatedPCACV")
    is_plain = kind.holds == "double" and not kind.is_device
    found = []
    if is_plain and is_linear and 1e-80 < problem.scale < 1e80:
        found.append(scaled)
    if isinstance(options.get("cv", 1), int) and problem.groups is None:
        found.append(shuffled)
        if kind.holds == "double" and not isinstance(options["n_components"], float):
            found.append(shifted)
    has_no_map = not options.get("feature_groups") and options.get("neighbours") is None
    has_no_map &= options.get("reference") is None
    if not problem.chooses and isinstance(options["n_components"], int):
        found += [repeated, *[widened] * (has_no_map and kind.holds == "double")]
    if problem.estimator == "AttenuatedPCA" and is_plain:
        found += [along_a_path] * (problem.container != "dask frame")
    if is_plain and kind.in_memory and not kind.is_sparse and enough_to_choose(problem.rows):
        found.append(rank_chosen)
    return found


def enough_to_choose(rows):
    """Whether the rows allow this number of components, whatever the rounding."""
    centred = rows - rows.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    varies = np.ptp(rows, axis=0) > 0
    smallest = values[min(rows.shape[1], len(rows) - 1) - 1]
    return len(varies) >= 2 and varies.all() and smallest > 1e4 * EPS * values[0]
