"""Tables of measured gains, from ``evidence/tasks-cells.csv``, where a comment in a page asks for them.

``<!-- gains in: fill hidden cells -->`` becomes a table with a line for each kind of data in that task, and
``<!-- gains of: spectra -->`` one with a line for each data set of these kinds, separated by commas, with the
names of the final part in bold.
"""

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

OURS = {
    "rebuild new rows": "recommended",
    "fill hidden cells": "CorrectedPCACV.impute",
    "denoise new rows": "recommended",
    "rebuild rows of a new group": "recommended, with the reference",
}
# The tasks that every data set has, as the columns of a table name them.
COLUMNS = {"rebuild new rows": "reconstruct", "fill hidden cells": "fill", "denoise new rows": "denoise"}
MARK = re.compile(r"^<!-- gains (in|of): (.*) -->$", re.MULTILINE)


def with_gains(page: str, cells: list[dict[str, str]]) -> str:
    """Replace the comments of a page by tables."""
    makers = {"in": gains_in_task, "of": gains_of_kinds}
    return MARK.sub(lambda found: makers[found[1]](found[2], cells), page)


def gains_in_task(task: str, cells: list[dict[str, str]]) -> str:
    """Return a line for each kind of data, the largest mean over its data sets first."""
    lines = []
    for kind in dict.fromkeys(cell["kind"] for cell in cells):
        of_sets = _of_sets([cell for cell in cells if cell["kind"] == kind], task)
        if of_sets:
            mean = fmean(map(fmean, of_sets.values()))
            worst, best = min(map(min, of_sets.values())), max(map(max, of_sets.values()))
            numbers = " | ".join(map(_rounded, (mean, worst, best)))
            lines.append((mean, f"| {kind} | {len(of_sets)} | {numbers} |"))
    heading = [
        "| kind of data | data sets | mean gain, % | worst setting | best setting |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join(heading + [line for _, line in sorted(lines, reverse=True)])


def gains_of_kinds(kinds: str, cells: list[dict[str, str]]) -> str:
    """Return a line for each data set of some kinds, with its mean gain and its range in three tasks."""
    of_kinds = [cell for cell in cells if cell["kind"] in kinds.split(", ")]
    if not of_kinds:
        raise ValueError(f"tasks-cells.csv has no data of the kinds {kinds!r}.")
    by_task = [_of_sets(of_kinds, task) for task in COLUMNS]
    heading = [f"| data set | {' | '.join(COLUMNS.values())} |", f"| --- {'| ---: ' * len(COLUMNS)}|"]
    names = sorted(by_task[0], key=lambda name: -fmean(by_task[0][name]))
    final = {cell["data"] for cell in of_kinds if cell["part"] == "final"}
    titles = [f"**{name}**" if name in final else name for name in names]
    lines = [
        [title, *(_range(gains.get(name)) for gains in by_task)]
        for title, name in zip(titles, names, strict=True)
    ]
    return "\n".join(heading + [f"| {' | '.join(line)} |" for line in lines])


def _of_sets(cells: Iterable[dict[str, str]], task: str) -> dict[str, list[float]]:
    """Return the gains of what we recommend for a task, by data set."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        if (cell["task"], cell["method"]) == (task, OURS[task]):
            found.setdefault(cell["data"], []).append(float(cell["gain"]))
    return found


def _range(gains: list[float] | None) -> str:
    if gains is None:
        return "–"
    ends = f" ({_rounded(min(gains))} to {_rounded(max(gains))})" if len(gains) > 1 else ""
    return f"{_rounded(fmean(gains))}{ends}"


def _rounded(gain: float) -> str:
    return f"{round(gain, 1) + 0.0:.1f}"  # 0.0 turns -0.0 to 0.0


def setup(app: Any) -> dict[str, bool]:
    """Replace the comments as pages are read."""
    with (Path(app.srcdir) / "evidence" / "tasks-cells.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))

    def replace(app: Any, page: str, source: list[str]) -> None:
        source[0] = with_gains(source[0], cells)

    app.connect("source-read", replace)
    return {"parallel_read_safe": True}
