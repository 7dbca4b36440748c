"""The corrections, by name. Everything outside this folder asks here, and holds strengths by name.

A new correction is one file with a :class:`Correction`, one line in the table below, and a parameter of
:class:`attenua.CorrectedPCA`. Two more shrink a whole covariance, so PCA does not have them.
"""

import numbers
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from attenua._correct.attenuation import ATTENUATION
from attenua._correct.borrowing import BORROWING
from attenua._correct.correction import Correction
from attenua._correct.damping import DAMPING
from attenua._correct.pooling import POOLING
from attenua._correct.row_tempering import ROW_TEMPERING
from attenua._correct.shrinkage import DECOUPLING, SHRINKAGE
from attenua._correct.smoothing import SMOOTHING
from attenua._correct.tempering import TEMPERING

# In the order they are applied. The number is the place in the search: other rows and neighbours tell most
# where they are given, so borrowing and smoothing come first.
_TABLE = (
    (2, ROW_TEMPERING),
    (0, BORROWING),
    (3, TEMPERING),
    (5, DAMPING),
    (6, POOLING),
    (1, SMOOTHING),
    (4, ATTENUATION),
)
CORRECTIONS: dict[str, Correction] = {correction.name: correction for _, correction in _TABLE}
SEARCH_ORDER: list[str] = [correction.name for _, correction in sorted(_TABLE, key=lambda line: line[0])]

# A whole covariance is in data units, so its variances are not weakened; it is shrunk last, in the
# computation and in the search. What is best depends on the others, so the search begins with it as well.
_VARIANCES = {TEMPERING.name, ATTENUATION.name}
_SHRINKAGES = {correction.name: correction for correction in (DECOUPLING, SHRINKAGE)}
COVARIANCE_CORRECTIONS: dict[str, Correction] = {
    name: correction for name, correction in CORRECTIONS.items() if name not in _VARIANCES
} | _SHRINKAGES
COVARIANCE_ORDER: list[str] = [
    SHRINKAGE.name,
    *(name for name in SEARCH_ORDER if name not in _VARIANCES),
    *_SHRINKAGES,
]
# A view, so that it has what is registered later; a chain iterates over its last mapping first.
ALL_CORRECTIONS: Mapping[str, Correction] = ChainMap(_SHRINKAGES, CORRECTIONS)


class Strengths(Mapping[str, float]):
    """One strength of every correction, by name; those that are not given are 0. All 0 is ordinary PCA.

    Those that shrink a whole covariance are listed only where they are not 0.

    Examples
    --------
    >>> from attenua._correct.registry import Strengths
    >>> some = Strengths(damping=0.25)
    >>> some["damping"], some.damping, some.smoothing, some.replace(damping=0) == Strengths()
    (0.25, 0.25, 0.0, True)
    """

    __slots__ = ("_nonzero",)

    def __init__(self, **strengths: float):
        unknown = [name for name in strengths if name not in ALL_CORRECTIONS]
        if unknown:
            raise TypeError(
                f"{unknown[0]!r} is not a correction; the corrections are {', '.join(CORRECTIONS)}."
            )
        self._nonzero = {name: float(strength) for name, strength in strengths.items() if strength}

    def __getitem__(self, name: str) -> float:
        if name not in ALL_CORRECTIONS:
            raise KeyError(name)
        return self._nonzero.get(name, 0.0)

    def __getattr__(self, name: str) -> float:
        if name not in ALL_CORRECTIONS:
            raise AttributeError(f"there is no correction {name!r}")
        return self._nonzero.get(name, 0.0)

    def __iter__(self) -> Iterator[str]:
        return iter({**CORRECTIONS, **self._nonzero})

    def __len__(self) -> int:
        return len({**CORRECTIONS, **self._nonzero})

    def __bool__(self) -> bool:
        return bool(self._nonzero)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Strengths) and self._nonzero == other._nonzero

    def __hash__(self) -> int:
        return hash(frozenset(self._nonzero.items()))

    def __repr__(self) -> str:
        return f"Strengths({', '.join(f'{name}={value:g}' for name, value in self.nonzero())})"

    def __reduce__(self) -> Any:
        return partial(Strengths, **self._nonzero), ()

    def nonzero(self) -> list[tuple[str, float]]:
        """Return names and strengths of those that are not 0, in the order they are applied."""
        return [(name, self._nonzero[name]) for name in ALL_CORRECTIONS if name in self._nonzero]

    def replace(self, **changes: float) -> "Strengths":
        """Return the same with some strengths changed."""
        return Strengths(**(self._nonzero | changes))

    def of_kind(self, kind: str) -> "Strengths":
        """Return the strengths of one kind of correction; the others are 0."""
        return Strengths(
            **{name: s for name, s in self._nonzero.items() if ALL_CORRECTIONS[name].kind == kind}
        )


def prepared(parameters: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    """Return what the corrections make of the parameters of an estimator, by the name of the correction.

    Where the estimator has noted ``feature_names_in_``, names of columns in its parameters must be the same.
    """
    ready = {
        name: correction.prepare(parameters[correction.parameter], n_features)
        for name, correction in CORRECTIONS.items()
        if parameters.get(correction.parameter) is not None
    }
    for name, value in ready.items():
        CORRECTIONS[name].check_names(value, parameters.get("feature_names_in_"))
    return ready


def parameter_is_missing(name: str, parameters: Mapping[str, Any]) -> bool:
    """Whether a correction needs a parameter that is not given."""
    correction = ALL_CORRECTIONS[name]
    return bool(correction.needs) and parameters.get(correction.parameter) is None


def needed(name: str) -> str:
    """Return what a correction needs, in words."""
    return f"{ALL_CORRECTIONS[name].parameter}: {ALL_CORRECTIONS[name].needs}"


def check_needs(corrections: Any, parameters: Mapping[str, Any]) -> None:
    """Raise if corrections that a user names, unlike those of "auto", need a parameter that is not given."""
    for name in () if isinstance(corrections, str) else corrections:
        if parameter_is_missing(name, parameters):
            raise ValueError(f"corrections names {name}, which needs {needed(name)}.")


def checked_strength(name: str, value: Any, argument: str | None = None) -> float:
    """Return the strength of a correction as a float, or raise an error that names the argument."""
    largest = ALL_CORRECTIONS[name].largest
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= largest or value == np.inf:
        expected = "a finite number of at least 0" if largest == np.inf else f"a number from 0 to {largest:g}"
        raise ValueError(f"{argument or name} must be {expected}; got {value!r}.")
    return float(value)


def checked_grids(
    corrections: Any, offered: Mapping[str, Correction] = CORRECTIONS
) -> dict[str, tuple[float, ...]]:
    """Return the strengths to compare of each correction, with the neutral one.

    `corrections` is "auto" for all that are offered, a list of names, or a dict of names and strengths.
    """
    if isinstance(corrections, str) and corrections == "auto":
        return {name: correction.strengths for name, correction in offered.items()}
    if isinstance(corrections, str) or not hasattr(corrections, "__len__"):
        raise ValueError(
            "corrections must be 'auto', a list of names, or a dict of names and strengths; "
            f"got {corrections!r}."
        )
    names = list(corrections)
    unknown = [name for name in names if name not in [*offered]]
    if unknown:
        raise ValueError(f"corrections names {unknown[0]!r}; the corrections are {', '.join(offered)}.")
    if isinstance(corrections, Mapping):
        return {name: _checked_grid(name, corrections[name]) for name in offered if name in names}
    return {name: offered[name].strengths for name in offered if name in names}


def _checked_grid(name: str, values: Any) -> tuple[float, ...]:
    argument = f"corrections[{name!r}]"
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"{argument} must be a sequence of strengths; got {values!r}.")
    neutral = ALL_CORRECTIONS[name].neutral
    return tuple(sorted({checked_strength(name, value, argument) for value in values} | {neutral}))
