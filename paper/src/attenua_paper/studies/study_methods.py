"""The methods of the fixed-budget study: the paper's, all corrections, and choices in hindsight."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from attenua.attenuation import AttenuatedPCACV
from attenua.corrected import CorrectedPCACV
from attenua_paper.studies.compare import METHODS, Setting
from attenua_paper.studies.hindsight import CorrectedInHindsight, HeldMoments

# Not methods: the best that a choice could have done, seen on the test rows themselves.
BEST_STRENGTH = "one strength, in hindsight"
BEST_SEARCH = "all corrections, in hindsight"
BEST_SEARCH_WITH_NEIGHBOURS = "all corrections with neighbours, in hindsight"
HINDSIGHT = (BEST_STRENGTH, BEST_SEARCH, BEST_SEARCH_WITH_NEIGHBOURS)


@dataclass(frozen=True)
class Subsample:
    """What the methods are given of a subsample, other than its rows.

    Attributes
    ----------
    folds : Setting
        Rank, column groups and the paper's folds.
    repeated : Setting
        The same with repetitions of the folds, the paper's first.
    neighbours : None, "line" or tuple of int
        Which columns are neighbours.
    test : HeldMoments
        Moments of the test rows, for hindsight only.
    """

    folds: Setting
    repeated: Setting
    neighbours: Any
    test: HeldMoments


Maker = Callable[[Subsample], Any]


def _direct(setting: Setting) -> AttenuatedPCACV:
    return AttenuatedPCACV(setting.n_components, alphas="direct", cv=setting.splits)


def _corrected(setting: Setting, neighbours: Any = None) -> CorrectedPCACV:
    return CorrectedPCACV(setting.n_components, neighbours=neighbours, cv=setting.splits)


_MAKERS: dict[str, Maker] = {
    method.name: lambda s, method=method: method.make(s.folds) for method in METHODS if method.name != "PCA"
} | {
    "direct attenuation, repeated folds": lambda s: _direct(s.repeated),
    "all corrections": lambda s: _corrected(s.folds),
    "all corrections, repeated folds": lambda s: _corrected(s.repeated),
    BEST_SEARCH: lambda s: CorrectedInHindsight(s.folds.n_components, test=s.test),
}
_MAKERS_WITH_NEIGHBOURS: dict[str, Maker] = {
    "all corrections with neighbours": lambda s: _corrected(s.folds, s.neighbours),
    "all corrections with neighbours, repeated folds": lambda s: _corrected(s.repeated, s.neighbours),
    BEST_SEARCH_WITH_NEIGHBOURS: lambda s: CorrectedInHindsight(
        s.folds.n_components, test=s.test, neighbours=s.neighbours
    ),
}
# In the order of the tables: methods first, hindsight last. PCA is the reference of all.
STUDY_METHODS = (
    *(name for name in (*_MAKERS, *_MAKERS_WITH_NEIGHBOURS) if name not in HINDSIGHT),
    *HINDSIGHT,
)
# One choice made three ways: by five folds, by repeated folds, and in hindsight.
FAMILIES = {
    "one strength": ("direct attenuation", "direct attenuation, repeated folds", BEST_STRENGTH),
    "all corrections": ("all corrections", "all corrections, repeated folds", BEST_SEARCH),
    "all corrections with neighbours": (
        "all corrections with neighbours",
        "all corrections with neighbours, repeated folds",
        BEST_SEARCH_WITH_NEIGHBOURS,
    ),
}
# Those that have several strengths and steps, in hindsight too.
CORRECTED = tuple(name for name in STUDY_METHODS if name.startswith("all corrections"))


def in_order(methods: Iterable[str]) -> list[str]:
    """Return the names of some methods once each, in the order of the tables."""
    return sorted(set(methods), key=STUDY_METHODS.index)


def that_apply(names: Iterable[str], neighbours: Any) -> list[str]:
    """Return the methods that apply to columns: those with neighbours need columns that have an order."""
    return [name for name in names if neighbours is not None or name not in _MAKERS_WITH_NEIGHBOURS]


def estimators_of(names: Iterable[str], subsample: Subsample) -> dict[str, Any]:
    """Return the unfitted estimators of the methods that apply to a subsample, by name.

    ``BEST_STRENGTH`` is not an estimator.
    """
    makers = _MAKERS | _MAKERS_WITH_NEIGHBOURS
    applying = that_apply(names, subsample.neighbours)
    return {name: makers[name](subsample) for name in applying if name != BEST_STRENGTH}
