"""Whether numbers can be squared: variances are fitted, and doubles must be able to hold them.

Inside, rows have a unit of their own, so that nothing overflows there. Users see the data's units: values
such as 1e200 have no variance there, and their risks cannot be compared.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments
from attenua._data.namespace import array_namespace, to_host

# Sums of squares of all rows about the mean of some of them, as in held-out risks, are at most about 4 times
# as large as those about the mean of all.
_ROOM = 8.0
# Squares of variances are formed too, for standard errors of risks and for the norms that solvers compare
# with, in the unit of the largest numbers. Those of spreads below 1e-77 of it vanish, and a search chooses by
# nothing; from here on, differences of risks by a rounding error are kept. If all spreads have vanished, only
# a huge unit distinguishes them from constant columns.
_LOST = 1e-70
_HUGE = 2.0**400
# A held-out risk is a total less what is explained of it, and rounds at some eps of the total. Below this
# part of the total it has fewer than three digits.
_FEW_DIGITS = 8e3 * np.finfo(float).eps
_MOST_NAMES = 5


class OutOfRangeError(ValueError):
    """Numbers too large or too small to compute with.

    Parameters
    ----------
    sentence : str
        What ``X holds``, with ``{where}`` for the columns or rows.
    positions : sequence of int
        These columns or rows, counted from 0, for callers that have other names for them.
    where : str
        What they are called in the message.
    """

    def __init__(self, sentence: str, positions: Sequence[int], where: str):
        super().__init__("X holds " + sentence.format(where=where))
        self.sentence, self.positions = sentence, positions


def check_range(moments: Moments, dtype: type, names: Any = None) -> None:
    """Raise if the variances of all rows are too large or too small to be given in the data's own units.

    The variances will have the type `dtype`: ``numpy.float32`` or ``numpy.float64``.
    """
    check_not_too_large(moments, dtype, names)
    spreads = _spreads(moments)
    spread = np.linalg.norm(spreads)
    if spread < _LOST and (spread > 0 or moments.unit > _HUGE):
        columns = np.flatnonzero(np.abs(to_host(moments.mean)) > np.sqrt(_LOST)).tolist()
        raise OutOfRangeError(
            "numbers too large in {where}: they hardly vary, and compared with them the spread of all others "
            "is lost. Look for wrong values, or leave these columns out.",
            columns,
            named_columns(columns, names),
        )
    # Below the least number that has all its digits.
    if 0 < spread < np.sqrt(np.finfo(dtype).tiny) / moments.unit:
        _refuse("small", "multiply", spreads > 0, moments, dtype, names)


def check_not_too_large(moments: Moments, dtype: type, names: Any = None) -> None:
    """Raise if the variances of the rows so far are too large."""
    spreads = _spreads(moments)
    # Risks and sums of squares are doubles, whatever the type of the data; they need room for sums.
    largest = min(float(np.finfo(dtype).max) / 2, np.finfo(float).max / (_ROOM * moments.weight))
    most = float(np.sqrt(largest)) / moments.unit  # numpy would warn of an infinity
    if np.linalg.norm(spreads) > most:
        _refuse("large", "divide", spreads > most / np.sqrt(len(spreads)), moments, dtype, names)


def vanishing_columns(moments: Moments, names: Any = None) -> tuple[list[int], str]:
    """Return the columns of all rows that vary but whose variances are lost, and these columns in words."""
    columns = moments.vanishing.tolist()
    return columns, named_columns(columns, names)


def overshadowing_columns(moments: Moments, rank: int, names: Any = None) -> str:
    """Return in words the columns that vary so much that the held-out risk is lost to rounding; or "".

    PCA leaves at most the variances of the p - rank columns that vary least.
    """
    variances = to_host(moments.variances)
    left = np.sort(variances)[: len(variances) - rank].sum()
    if not 0 < left < _FEW_DIGITS * variances.sum():
        return ""
    columns = np.flatnonzero(variances > left / (_FEW_DIGITS * len(variances))).tolist()
    return named_columns(columns, names)


def named_columns(columns: Sequence[int] | NDArray[np.intp], names: Any) -> str:
    """Return some columns in words, by number and by name."""
    return list_columns(_called(columns, names))


def _called(columns: Sequence[int] | NDArray[np.intp], names: Any) -> list[str]:
    return [str(column) if names is None else f"{column} ({names[column]!r})" for column in columns]


def _spreads(moments: Moments) -> NDArray[np.float64]:
    """Return the standard deviations, in the unit of the moments."""
    spreads: NDArray[np.float64] = np.sqrt(to_host(moments.variances))
    return spreads


def check_scores(values: Any, method: str) -> Any:
    """Return what a method computed from finite rows, or raise if it went beyond what its type holds."""
    xp = array_namespace(values)
    if bool(xp.all(xp.isfinite(values))):
        return values
    row = int(xp.argmax(xp.astype(~xp.all(xp.isfinite(values), axis=1), xp.int8)))
    raise OutOfRangeError(
        f"numbers in {{where}} that are too large: what {method} gives for them is beyond the range of "
        f"{values.dtype}. Look for wrong values, or divide by a constant what is fitted and what is given.",
        [row],
        f"row {row}",
    )


def _refuse(
    size: str, verb: str, refused: NDArray[np.bool_], moments: Moments, dtype: type, names: Any
) -> None:
    columns = np.flatnonzero(refused).tolist()
    listed = named_columns(columns, names)
    wider = ", or give X as float64" if dtype is np.float32 else ""
    largest = float(_spreads(moments).max()) * moments.unit
    raise OutOfRangeError(
        f"numbers too {size} for variances in {np.dtype(dtype).name}: the standard deviation is up to "
        f"{largest:.1e} in {{where}}. Look for wrong values, or scale: {verb} these columns, or all, by a "
        f"constant{wider}.",
        columns,
        listed,
    )


def list_columns(called: Sequence[str]) -> str:
    """Return some columns in words, the first few of many."""
    more = f" and {len(called) - _MOST_NAMES} more" if len(called) > _MOST_NAMES else ""
    return f"column{'s' if len(called) > 1 else ''} {', '.join(called[:_MOST_NAMES])}{more}"
