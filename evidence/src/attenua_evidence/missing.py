"""What PCA and filling of rows with missing cells gain by ours and by other methods, on real data sets.

Cells of the fitted rows are hidden. The subspace is judged on whole new rows, the filling on hidden cells of
new rows. Only the parts `develop` and `choose` of the collection are read.

python -m attenua_evidence.missing DATA [--draws 2] [--store FILE.csv] [--write docs/guide/_missing.md]
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from attenua._data.blas import blas_limit
from attenua._files import write_whole
from attenua_evidence.cell import risk_around
from attenua_evidence.collection.entries import ENTRIES
from attenua_evidence.covariance_uses import varying
from attenua_evidence.draws import SEED, draw, ranks_allowed, rows_allowed
from attenua_evidence.methods import Rows
from attenua_evidence.missing_rivals import METHODS, OURS, PLAIN, RIVALS, Fitted
from attenua_evidence.missing_tables import BY_VALUE, FILLING, PATTERNS, SUBSPACE, page
from attenua_evidence.outcome import call
from attenua_paper.studies.hindsight import HeldMoments

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Line = dict[str, Any]

PARTS = ("develop", "choose")
ROWS, RANKS, MOST_COLUMNS = (32, 128), (2, 5, 10), 200
MOST_FILLED = 200  # new rows that are filled
LEAST_SEEN = 3  # observed cells of a column
COLUMNS = (
    *("data", "kind", "columns", "rows", "draw", "pattern", "method", "use", "rank"),
    *("status", "value", "reference", "seconds", "note"),
)
CHOICES: dict[str, Sequence[str]] = {"all": tuple(METHODS), "rivals": RIVALS, "ours": OURS}


def hidden_cells(X: Array, pattern: str, seed: Sequence[int]) -> Mask:
    """Return which cells a pattern hides.

    Cells are hidden at random with the pattern's rate. In the pattern by value, the chance grows within each
    column with the rank of the value, from 0 to twice the rate.
    """
    rate = PATTERNS[pattern]
    chances = 2 * rate * (rankdata(X, axis=0) - 0.5) / len(X) if pattern == BY_VALUE else rate
    return np.random.default_rng(seed).random(X.shape) < chances


def with_enough(X: Array, hidden: Mask, seed: Sequence[int]) -> Mask:
    """Return the hidden cells less those put back, at random, so that every method can be fitted.

    Each column keeps three observed cells and two distinct values, each row one observed cell.
    """
    random, hidden = np.random.default_rng(seed), hidden.copy()
    for values, holes in zip(X.T, hidden.T, strict=True):
        for i in random.permutation(len(X)):
            seen = values[~holes]
            if len(seen) >= LEAST_SEEN and np.ptp(seen) > 0:
                break
            # A value that is there already does not help a column that needs another one.
            holes[i] &= len(seen) >= LEAST_SEEN and values[i] == seen[0]
    empty = np.flatnonzero(hidden.all(axis=1))
    hidden[empty, random.integers(X.shape[1], size=len(empty))] = False
    return hidden


def measure_draw(entry: Any, table: Any, n: int, number: int, methods: Collection[str]) -> Iterator[Line]:
    """Yield a line for each pattern, method, use and rank of one draw."""
    drawn = draw(table, entry.name, entry.unit, n, number)
    if drawn is None:
        return
    varies = np.ptp(drawn.X, axis=0) > 0
    X, order = varying(drawn.X, varies, entry.order)
    test = drawn.X_test[:, varies]
    few, references = test[:MOST_FILLED], HeldMoments.of(test).references
    ranks = [rank for rank in ranks_allowed(*X.shape) if rank in RANKS]
    for i, pattern in enumerate(PATTERNS):
        seed = [SEED, *entry.name.encode(), n, number, i]
        hidden = with_enough(X, hidden_cells(X, pattern, [*seed, 0]), [*seed, 1])
        tested = hidden_cells(few, pattern, [*seed, 2])
        rows = Rows(np.where(hidden, np.nan, X), drawn.groups, order)
        head = {"data": entry.name, "kind": entry.kind, "columns": X.shape[1], "rows": n, "draw": number}
        done: dict[str, list[Line]] = {}
        for name in methods:
            twin = name.removesuffix(PLAIN)
            if name != twin and order is None and twin in done:  # the same fit
                lines = done[twin]
            else:
                lines = list(_lines_of_method(name, rows, ranks, test, few, tested))
            done[name] = lines
            for line in lines:
                if line["use"] == SUBSPACE:
                    line = line | {"reference": references[line["rank"]]}
                yield head | {"pattern": pattern} | line | {"method": name}


def _lines_of_method(
    name: str, rows: Rows, ranks: Sequence[int], test: Array, few: Array, tested: Mask
) -> Iterator[Line]:
    """Yield the risks of a method at all ranks, and its errors; rank 0 means that filling has no rank."""
    by_rank = METHODS[name].by_rank
    for fitted_rank in ranks if by_rank else [0]:
        fitted, result = attempt(name, partial(METHODS[name].fit, rows, fitted_rank))
        for rank in [fitted_rank] if by_rank else ranks:
            line = {"use": SUBSPACE, "rank": rank} | result
            if fitted is None:
                yield line
            elif fitted.components is not None:
                yield line | {"value": risk_around(fitted.mean, fitted.components[:rank], test)}
        line = {"use": FILLING, "rank": fitted_rank} | result
        if fitted is None:
            yield line
        elif fitted.fill is not None:
            filled, filling = attempt(name, partial(fitted.fill, np.where(tested, np.nan, few)))
            if filled is None:
                yield line | filling
            else:
                yield line | {"value": float(np.mean((filled - few)[tested] ** 2))}


def attempt(name: str, function: Callable[[], Any]) -> tuple[Any, Line]:
    """Return what a call of a method returns and how it went.

    A rival that raises an error or returns numbers that are not finite has failed. One that stops at its own
    limit of rounds is used, as its users do, and is counted: with scikit-learn's defaults IterativeImputer
    nearly always does.

    Raises
    ------
    ImportError, FileNotFoundError
        If the method's package is not installed, which does not count as a result.
    """
    with np.errstate(all="ignore"):
        called = call(function, _is_finite)
    if called.error is not None and name in OURS:
        raise called.error
    stopped = any(issubclass(warning.category, ConvergenceWarning) for warning in called.warnings)
    status = "failed" if called.failure else "stopped" if stopped else "fitted"
    return called.found, {"status": status, "seconds": round(called.seconds, 3), "note": called.failure[:80]}


def _is_finite(found: Any) -> bool:
    parts = [part for part in found[:2] if part is not None] if isinstance(found, Fitted) else [found]
    return all(np.isfinite(part).all() for part in parts)


def measure(
    entries: Iterable[Any], folder: Path, draws: int, methods: Collection[str], store: Path | None = None
) -> pd.DataFrame:
    """Return the lines of the store and those that are not in it yet; it grows data set by data set."""
    entries = [entry for entry in entries if entry.part in PARTS and entry.shape[1] <= MOST_COLUMNS]
    found = _read(store)
    with blas_limit(1):
        for entry in track(entries, "Data sets", console=Console(stderr=True)):
            done = set(found[["data", "draw", "method"]].itertuples(index=False, name=None))
            sizes = [n for n in rows_allowed(entry.shape[0]) if n in ROWS]
            lacking = {
                number: [name for name in methods if (entry.name, number, name) not in done]
                for number in range(draws)
            }
            if not sizes or not any(lacking.values()):
                continue
            table = entry.read(folder)
            lines = [
                line
                for number, names in lacking.items()
                for n in sizes
                for line in measure_draw(entry, table, n, number, names)
            ]
            # Another run may have added lines of other methods meanwhile.
            found = _joined(_read(store) if store else found, pd.DataFrame(lines, columns=COLUMNS))
            if store:
                write_whole(store, found.to_csv(index=False).encode())
    return found


def _read(store: Path | None) -> pd.DataFrame:
    if store is None or not store.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(store, keep_default_na=False, na_values={"value": [""], "reference": [""]})


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([first, second], ignore_index=True) if len(first) else second


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path, help="folder of the collection")
    parser.add_argument("--draws", type=int, default=2, help="draws of rows of every cell")
    parser.add_argument(
        "--methods", choices=CHOICES, default="all", help="what to fit; tables show the store"
    )
    parser.add_argument("--store", type=Path, help="a CSV file of all results; an interrupted run goes on")
    parser.add_argument("--write", type=Path, help="a file for the tables; printed otherwise")
    options = parser.parse_args(arguments)
    text = page(measure(ENTRIES, options.data, options.draws, CHOICES[options.methods], options.store))
    if options.write:
        write_whole(options.write, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
