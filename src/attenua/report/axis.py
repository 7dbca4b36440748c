"""The columns as an axis: the wavelengths or times that their names hold."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# 850, -0.5 s, 850 nm, wl_850, X850.5: what stands before a number, the number, and what follows it.
_NAME = re.compile(r"(|\D+?[-_ ]?)([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\D*)", re.IGNORECASE)
_JOINTS = " _-=.:()[]"


@dataclass(frozen=True)
class Axis:
    """Where the columns lie, and how a chart names these places."""

    places: NDArray[np.float64]
    label: str
    look: dict[str, Any]  # for the script: texts around each number, or a name for each place

    @property
    def order(self) -> NDArray[np.intp]:
        """The columns from the lowest place to the highest."""
        return np.argsort(self.places)


def axis_of(names: list[str], neighbours: Any) -> Axis | None:
    """Return the axis that columns lie on, or None if they are in no order.

    Columns along a line lie at the numbers in their names if these only rise or only fall, and are counted
    otherwise. If nothing says that the columns are neighbours, names such as 850 nm do.
    """
    along_a_line = isinstance(neighbours, str)
    found = [_NAME.fullmatch(name) for name in names] if along_a_line or neighbours is None else []
    parts = [match.groups() for match in found if match]
    around = {(before, after) for before, _, after in parts}
    if len(names) > 1 and len(parts) == len(names) and len(around) == 1:
        ((before, after),) = around
        places = np.array([float(number) for _, number, _ in parts])
        steps = np.diff(places)
        is_scale = bool((steps > 0).all() or (steps < 0).all()) and np.isfinite(places).all()
        if is_scale and (along_a_line or not (before or _may_count(places))):
            label = ", ".join(filter(None, (before.strip(_JOINTS), after.strip(_JOINTS))))
            return Axis(places, label or "column", {"around": [before, after]})
    if along_a_line:
        return Axis(np.arange(1.0, len(names) + 1), "column", {"ticks": names, "whole": True})
    return None


def _may_count(places: NDArray[np.float64]) -> bool:
    """Whether places may be numbers of columns, of which some were left out."""
    return bool((places == np.round(places)).all() and places.max() < 2 * len(places))
