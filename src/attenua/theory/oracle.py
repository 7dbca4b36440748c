"""Strengths that minimise a risk: on a grid, or on a whole range."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from scipy.optimize import minimize_scalar

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, Strengths
from attenua.theory.cutoff import Array

# The closure of the strengths that random masks reach, and of the direct path.
RANGES = {"direct": 1.0, "mask": 0.5}
# Risks that differ by less than this part are equal: some strengths make no difference beside others.
_TIE = 1e-12
# A range is searched at this many points first. Sweeps over several corrections end when one gains less than
# this part of the risk.
_POINTS, _SWEEPS, _GAIN = 21, 20, 1e-6


def upper_end(path: str) -> float:
    """Return the largest strength of a path, "direct" or (in the limit) "mask"."""
    if path not in RANGES:
        raise ValueError(f'path must be "direct" or "mask"; got {path!r}.')
    return RANGES[path]


def default_strengths(path: str = "direct") -> Array:
    """Return the paper's grid, {0, .05, ..., 1} with .49, up to the end of the path.

    Examples
    --------
    >>> from attenua.theory import default_strengths
    >>> len(default_strengths()), float(default_strengths("mask").max())
    (22, 0.49)
    """
    grid = np.sort(np.append(np.arange(21) / 20, 0.49))
    return grid[grid < 0.5] if upper_end(path) == 0.5 else grid


def on_grids(risk: Callable[[Strengths], float], grids: Mapping[str, Sequence[float]]) -> Strengths:
    """Return the best of all combinations; ties go to the smallest strengths, the last correction first."""
    candidates = [Strengths(**dict(zip(grids, some, strict=True))) for some in product(*grids.values())]
    risks = np.array([risk(candidate) for candidate in candidates])
    least = risks.min()
    return candidates[int(np.argmax(risks <= least + _TIE * abs(least)))]


def on_ranges(risk: Callable[[Strengths], float], names: Sequence[str]) -> Strengths:
    """Return the best strengths between 0 and the largest that the estimators compare.

    One correction after another, in the order of their search, until none gains any more. For one correction
    this is the minimum to the accuracy of the points that it starts from; for several it may be a local one.
    """
    best = Strengths()
    least = risk(best)
    for _ in range(_SWEEPS):
        before = least
        for name in (name for name in SEARCH_ORDER if name in names):
            best, least = _along(risk, best, least, name)
        # A risk that is infinite at first has nothing to compare the gain with.
        if len(names) == 1 or (np.isfinite(before) and not before - least > _GAIN * abs(before)):
            break
    return best


def _along(
    risk: Callable[[Strengths], float], best: Strengths, least: float, name: str
) -> tuple[Strengths, float]:
    """Return the best strength of one correction, with the others as they are, and its risk."""
    grid = np.linspace(0, max(CORRECTIONS[name].strengths), _POINTS)
    values = [risk(best.replace(**{name: float(strength)})) for strength in grid]
    lowest = int(np.argmin(values))
    if values[lowest] < least:
        best, least = best.replace(**{name: float(grid[lowest])}), values[lowest]
    bounds = grid[max(lowest - 1, 0)], grid[min(lowest + 1, _POINTS - 1)]
    polished = minimize_scalar(
        lambda strength: risk(best.replace(**{name: float(strength)})),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-7 * grid[-1]},
    )
    # The bounded search never evaluates its end points, where a monotone curve has its minimum.
    if polished.fun < least:
        best, least = best.replace(**{name: float(polished.x)}), float(polished.fun)
    return best, least
