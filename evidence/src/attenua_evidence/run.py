"""Fit all methods to all draws of some parts of the collection, on all cores; an interrupted run goes on."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from joblib import delayed, effective_n_jobs

from attenua_evidence.cell import Cell, lines_of
from attenua_evidence.cores import on_all_cores
from attenua_evidence.draws import RANKS, ROWS, SEED, rows_allowed
from attenua_evidence.methods import CORE, METHODS
from attenua_evidence.needs import own_versions, rival_versions
from attenua_evidence.rivals import RIVALS
from attenua_evidence.store import Store

CHOICES = {"recommended": ("PCA", "recommended"), "core": CORE, "all": (*METHODS, *RIVALS)}


def run(
    entries: Iterable[Any],
    data: Path,
    folder: Path,
    *,
    draws: int = 2,
    jobs: int = -1,
    methods: str = "all",
) -> None:
    """Compute the cells that are not in the store yet.

    Parameters
    ----------
    entries : iterable of Entry
        The data sets.
    data : Path
        Where their packages are.
    folder : Path
        The store.
    draws : int, default=2
        Draws of every data set and number of rows.
    jobs : int, default=-1
        Processes; -1 is one for each core.
    methods : {"all", "core", "recommended"}, default="all"
        Everything; PCA, the paper's strength and the two ways of the corrections that matter most; or PCA and
        the recommended way only.

    Raises
    ------
    MissingPackages
        If a package of the rivals is not installed; nothing is computed then.
    OtherSettings
        If the store was made with other settings.
    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1; got {draws}.")
    store = Store(folder, settings_of(methods))
    start, processes = time.perf_counter(), effective_n_jobs(jobs)
    store.note_run(0.0, processes)
    work = [(cell, entry) for entry in entries for cell in cells_of(entry, draws) if not store.has(cell)]
    work.sort(key=lambda pair: _cost(*pair), reverse=True)
    tables = {name: entry.read(data) for name, entry in {entry.name: entry for _, entry in work}.items()}
    calls = (delayed(_compute)(store, cell, tables[cell.data], CHOICES[methods]) for cell, _ in work)
    try:
        on_all_cores(calls, len(work), jobs=jobs, remark=left_out)
    finally:
        store.note_run(time.perf_counter() - start, processes)


def left_out(done: tuple[Cell, int]) -> str:
    """Say that a cell has no lines."""
    cell, n_lines = done
    return "" if n_lines else f"{cell.data}: groups too large to fit {cell.rows} rows, left out"


def cells_of(entry: Any, draws: int) -> list[Cell]:
    """Return the cells of a data set."""
    described = (entry.part, entry.name, entry.kind, entry.unit, entry.order)
    return [Cell(*described, rows, draw) for rows in rows_allowed(entry.shape[0]) for draw in range(draws)]


def settings_of(methods: str) -> dict[str, Any]:
    """Return what decides the results: seed, sizes, versions, and each method in words."""
    names: Sequence[str] = CHOICES[methods]
    versions = own_versions() | (rival_versions() if set(names) & set(RIVALS) else {})
    return {
        "seed": SEED,
        "rows": list(ROWS),
        "ranks": list(RANKS),
        "methods": {name: (METHODS.get(name) or RIVALS[name]).what for name in names},
        "versions": dict(sorted(versions.items())),
    }


def _cost(cell: Cell, entry: Any) -> float:
    """Return a number that grows with the time of a cell; the slow ones go first."""
    return cell.rows * entry.shape[1] ** 2


def _compute(store: Store, cell: Cell, table: Any, methods: Sequence[str]) -> tuple[Cell, int]:
    lines = lines_of(cell, table, methods)
    store.add(cell, lines)
    return cell, len(lines)
