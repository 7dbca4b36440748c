"""All tasks on all draws of some parts of the collection, on all cores; an interrupted run goes on."""

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from joblib import delayed, effective_n_jobs

from attenua._data.blas import blas_limit
from attenua_evidence.cell import Cell, Line
from attenua_evidence.cores import on_all_cores
from attenua_evidence.draws import SEED
from attenua_evidence.needs import OF_FILLING, OF_SUBSPACES, installed_versions, own_versions
from attenua_evidence.run import left_out
from attenua_evidence.store import Store
from attenua_evidence.tasks import (
    columns,
    densities,
    filling,
    forecasts,
    outliers,
    regression,
    subspaces,
    transfer,
)
from attenua_evidence.tasks.new_rows import of_new_rows
from attenua_evidence.tasks.problem import RANKS, SIZES, Result, problem_of, sizes_allowed

COLUMNS = (
    *("part", "data", "kind", "order", "rows", "columns", "rank", "draw", "task", "method"),
    *("value", "pca_value", "reference", "nothing", "seconds", "status", "note"),
)
# What each method is compared with, by task; PCA where nothing is said.
BASES = {outliers.OUTLIERS: outliers.BASE}
# Errors are stored with so many digits.
_DIGITS = 7


class TaskStore(Store):
    """A store of the tasks; each file was written at once, so one that ends with a line is whole."""

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    required: ClassVar[tuple[str, ...]] = COLUMNS

    def is_whole(self, lines: Iterable[Mapping[str, str]]) -> bool:
        """Say that the lines of a cell are all there."""
        return True


def run(
    entries: Iterable[Any],
    data: Path,
    folder: Path,
    *,
    draws: int = 6,
    jobs: int = -1,
    minutes: float | None = None,
    methods: str = "all",
) -> int:
    """Compute the cells that are not in the store yet, and return how many are still missing.

    Parameters
    ----------
    entries : iterable of Entry
        The data sets.
    data : Path
        Where their packages are.
    folder : Path
        The store.
    draws : int, default=6
        Draws of every data set and number of rows.
    jobs : int, default=-1
        Processes; -1 is one for each core.
    minutes : float, optional
        No cell begins after so many minutes. The first draws of all data sets come first.
    methods : {"all", "ours"}, default="all"
        With the rivals or without; without, the subspaces and fillings of others are left out.

    Raises
    ------
    OtherSettings
        If the store was made with other settings.
    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1; got {draws}.")
    settings = settings_of(methods)
    store = TaskStore(folder, settings)
    start, processes = time.perf_counter(), effective_n_jobs(jobs)
    store.note_run(0.0, processes)
    work = [(cell, entry) for entry in entries for cell in cells_of(entry, draws) if not store.has(cell)]
    tables = {name: entry.read(data) for name, entry in {entry.name: entry for _, entry in work}.items()}
    work.sort(key=lambda pair: (pair[0].draw, -pair[0].rows * pair[1].shape[1] ** 2))
    calls = (delayed(_compute)(store, cell, tables[cell.data], settings["methods"]) for cell, _ in work)
    try:
        n_made = on_all_cores(calls, len(work), jobs=jobs, minutes=minutes, remark=left_out)
    finally:
        store.note_run(time.perf_counter() - start, processes)
    return len(work) - n_made


def cells_of(entry: Any, draws: int) -> list[Cell]:
    """Return the cells of a data set."""
    described = (entry.part, entry.name, entry.kind, entry.unit, entry.order)
    return [Cell(*described, rows, draw) for rows in sizes_allowed(entry.shape[0]) for draw in range(draws)]


def settings_of(methods: str = "all") -> dict[str, Any]:
    """Return what decides the results: seed, sizes, versions, each method in words, and what is missing."""
    versions = installed_versions((*OF_SUBSPACES, *OF_FILLING))
    of_subspaces, of_filling = subspaces.methods(versions), filling.methods(versions)
    if methods == "ours":
        of_subspaces = {name: of_subspaces[name] for name in subspaces.OWN}
        of_filling = {name: of_filling[name] for name in filling.WHAT}
    return {
        "seed": SEED,
        "rows": [list(sizes) for sizes in SIZES],
        "ranks": list(RANKS),
        "methods": {
            "subspaces": of_subspaces,
            "regression": regression.DIRECT,
            "filling": of_filling,
            "outliers": outliers.WHAT,
            "densities": densities.WHAT,
            "transfer": transfer.WHAT,
            "forecasts": forecasts.WHAT,
        },
        "versions": dict(sorted((own_versions() | {name: v for name, v in versions.items() if v}).items())),
        "missing": sorted(name for name, version in versions.items() if not version),
    }


def lines_of(cell: Cell, table: Any, methods: Mapping[str, Mapping[str, str]]) -> list[Line]:
    """Return all lines of a cell; none where the groups allow no such draw."""
    with blas_limit(1):
        results = list(_results(cell, table, methods))
    problem = problem_of(cell, table)
    n_columns = 0 if problem is None else problem.test.shape[1]
    order = cell.order if isinstance(cell.order, str) else "x".join(map(str, cell.order or ()))
    head = cell._asdict() | {"order": order, "columns": n_columns}
    del head["unit"]
    bases = {
        (result.task, result.rank): result.value
        for result in results
        if result.method == BASES.get(result.task, subspaces.PCA)
    }
    return [head | _line(result, bases.get((result.task, result.rank))) for result in results]


def _results(cell: Cell, table: Any, methods: Mapping[str, Mapping[str, str]]) -> Iterator[Result]:
    problem = problem_of(cell, table)
    if problem is None or not problem.ranks:
        return
    names = list(methods["subspaces"])
    yield from of_new_rows(problem, names)
    yield from columns.of_columns(problem, names)
    yield from filling.of_filling(problem, list(methods["filling"]))
    yield from outliers.of_outliers(cell, table)
    yield from densities.of_densities(problem, cell.kind)
    yield from forecasts.of_forecasts(problem)
    # The number of rows is its own there, so one cell of each draw is enough.
    if cell.rows == sizes_allowed(len(table.X))[0]:
        yield from transfer.of_transfer(cell, table)


def _line(result: Result, base: float | None) -> Line:
    line = result._asdict() | {"pca_value": base, "seconds": round(result.seconds, 4)}
    for name in ("value", "pca_value", "reference", "nothing"):
        if line[name] is not None:
            line[name] = float(f"{line[name]:.{_DIGITS}g}")
    return line


def _compute(store: Store, cell: Cell, table: Any, methods: Any) -> tuple[Cell, int]:
    lines = lines_of(cell, table, methods)
    store.add(cell, lines)
    return cell, len(lines)
