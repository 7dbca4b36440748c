"""The corrections by name: their order, the strengths that are compared, and what users may ask for."""

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Strengths(NamedTuple):
    """One strength of each correction; all 0 is ordinary PCA."""

    row_tempering: float = 0.0
    tempering: float = 0.0
    attenuation: float = 0.0
    damping: float = 0.0
    smoothing: float = 0.0


CORRECTIONS = Strengths._fields
# Neighbours say most where they are known, so smoothing comes first.
SEARCH_ORDER = ("smoothing", "row_tempering", "tempering", "attenuation", "damping")
GRIDS: dict[str, tuple[float, ...]] = {
    "row_tempering": (0.0, 0.25, 0.5, 0.75, 1.0),
    "tempering": (0.0, 0.25, 0.5, 1.0),
    "attenuation": (0.0, 0.3, 0.6, 0.9, 1.0),
    "damping": (0.0, 0.1, 0.25, 0.5, 1.0),
    "smoothing": (0.0, 0.5, 0.8, 1.2, 2.0, 4.0),
}
# Those whose strength is a part of something; the others may be of any size.
_AT_MOST_ONE = ("row_tempering", "tempering", "attenuation")


def checked_strength_of(correction: str, value: Any, argument: str | None = None) -> float:
    """Return the strength of a correction as a float, or raise an error that names the argument."""
    most = 1.0 if correction in _AT_MOST_ONE else np.inf
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most or value == np.inf:
        expected = "a number from 0 to 1" if most == 1 else "a finite number of at least 0"
        raise ValueError(f"{argument or correction} must be {expected}; got {value!r}.")
    return float(value)


def checked_corrections(corrections: Any) -> dict[str, tuple[float, ...]]:
    """Return the strengths to compare of each correction, 0 first.

    Parameters
    ----------
    corrections : "auto", sequence of str, or mapping of str to sequence of float
        All corrections, some by name, or some with their own strengths.
    """
    if isinstance(corrections, str) and corrections == "auto":
        return dict(GRIDS)
    if isinstance(corrections, str) or not hasattr(corrections, "__len__"):
        raise ValueError(
            "corrections must be 'auto', a list of names, or a dict of names and strengths; "
            f"got {corrections!r}."
        )
    names = list(corrections)
    unknown = [name for name in names if name not in CORRECTIONS]
    if unknown:
        raise ValueError(f"corrections names {unknown[0]!r}; the corrections are {', '.join(CORRECTIONS)}.")
    if isinstance(corrections, Mapping):
        return {name: _checked_grid(name, corrections[name]) for name in CORRECTIONS if name in names}
    return {name: GRIDS[name] for name in CORRECTIONS if name in names}


def _checked_grid(name: str, values: Any) -> tuple[float, ...]:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"corrections[{name!r}] must be a sequence of strengths; got {values!r}.")
    argument = f"corrections[{name!r}]"
    return tuple(sorted({checked_strength_of(name, value, argument) for value in values} | {0.0}))
