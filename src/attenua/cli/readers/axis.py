"""Columns that are called like the points of an axis, such as wavelengths and times, or like pixels."""

import re
from collections.abc import Sequence

import numpy as np

from attenua.report.images import shape_from_names

# A number, with a unit or without. R writes an X before names that are numbers.
_POINT = re.compile(r"X?([+-]?\d+(?:[.,]\d+)?)([^\d.,].*)?")
_LEAST_POINTS = 5


def neighbours_by_name(names: Sequence[str] | None) -> str | None:
    """Return how neighbours are given for columns that are called like an axis or pixels, in order, or None.

    Names that only count the columns say nothing.

    >>> neighbours_by_name(["400 nm", "402 nm", "404 nm", "406 nm", "408 nm"])
    'line'
    """
    shape = shape_from_names(names)
    if names is None or shape is not None:
        return None if shape is None else "x".join(map(str, shape))
    points = [_POINT.fullmatch(name.strip()) for name in names]
    units = {point and point[2] for point in points}
    if len(points) < _LEAST_POINTS or not all(points) or len(units) > 1:
        return None
    values = np.array([float(point[1].replace(",", ".")) for point in points if point])
    steps = np.diff(values)
    counts = values[0] in (0, 1) and (steps == 1).all() and units == {None}
    return "line" if abs(np.sign(steps).sum()) == len(steps) and not counts else None
