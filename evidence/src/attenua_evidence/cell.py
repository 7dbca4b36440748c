"""One draw of one data set: every method at every rank, judged on the rows left over."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from attenua._data.blas import blas_limit
from attenua_evidence.downstream import accuracies
from attenua_evidence.draws import Draw, draw, ranks_allowed
from attenua_evidence.methods import METHODS, Order, Rows, fit_method, same_by_definition
from attenua_evidence.outcome import Array, Outcome
from attenua_evidence.rivals import fit_rival
from attenua_evidence.strengths import CORRECTIONS
from attenua_paper.studies.gain import excess_risk_removed
from attenua_paper.studies.hindsight import HeldMoments

Line = dict[str, Any]

# A smaller part of the variance is rounding: of rows that lie in a subspace, PCA leaves nothing to gain.
_ROUNDING = 1e-12


class Cell(NamedTuple):
    """What is computed at once and stored in one file.

    Attributes
    ----------
    part, data, kind, unit : str
        The data set, as its entry describes it.
    order : None, "line" or tuple of int
        How its columns lie.
    rows, draw : int
        How many rows are fitted, and the number of the draw.
    """

    part: str
    data: str
    kind: str
    unit: str
    order: Order
    rows: int
    draw: int


def lines_of(cell: Cell, table: Any, methods: Sequence[str]) -> list[Line]:
    """Return one line for each rank and method; none where the groups allow no such draw.

    Parameters
    ----------
    cell : Cell
        What to compute.
    table : Table
        The whole data set.
    methods : sequence of str
        Names of methods and rivals, PCA first: the others are compared with it.
    """
    drawn = draw(table, cell.data, cell.unit, cell.rows, cell.draw)
    if drawn is None:
        return []
    order = cell.order if isinstance(cell.order, str) else "x".join(map(str, cell.order or ()))
    head = cell._asdict() | {"order": order, "columns": drawn.X.shape[1]}
    # Small products are faster on one thread, and the processes of a run share the cores.
    with blas_limit(1):
        held = HeldMoments.of(drawn.X_test)
        return [
            head | {"rank": rank} | line
            for rank in ranks_allowed(*drawn.X.shape)
            for line in _lines_of_rank(drawn, cell.order, rank, held.references, methods)
        ]


def _lines_of_rank(
    drawn: Draw, order: Order, rank: int, references: Array, methods: Sequence[str]
) -> Iterator[Line]:
    rows = Rows(drawn.X, drawn.groups, order)
    variance, reference = float(references[0]), float(references[rank])
    lines: dict[str, Line] = {}
    for name in methods:
        if (source := same_by_definition(name, order)) in lines:
            line = lines[source] | {"method": name}
        else:
            is_ours = name in METHODS
            outcome = fit_method(name, rows, rank) if is_ours else fit_rival(name, drawn.X, rank, order)
            line = {"method": name, "reference": reference} | _judged(outcome, drawn)
            pca_risk = line["risk"] if name == "PCA" else lines["PCA"]["risk"]
            line |= _compared(pca_risk, line.get("risk"), reference, _ROUNDING * variance)
        lines[name] = line
        yield line


def _judged(outcome: Outcome, drawn: Draw) -> Line:
    """Return what one fit says and what it is worth by itself."""
    line: Line = {"status": outcome.status, "note": outcome.note, "seconds": round(outcome.seconds, 4)}
    if outcome.fit is None:
        return line
    mean, components, strengths = outcome.fit
    centre = drawn.X.mean(axis=0)
    line |= {
        "n_components": len(components),
        "risk": risk_around(centre, components, drawn.X_test),
        "own_risk": risk_around(mean, components, drawn.X_test),
    }
    line |= {name: strength for name, strength in strengths.items() if name in CORRECTIONS}
    if drawn.labels is not None:
        train, test = ((X - centre) @ components.T for X in (drawn.X, drawn.X_test))
        line |= accuracies(train, drawn.labels, test, drawn.labels_test)
    return line


def _compared(pca_risk: float, risk: float | None, reference: float, noise: float) -> Line:
    """Return the gain over PCA, and nothing where PCA leaves nothing to gain."""
    if risk is None or pca_risk - reference <= noise:
        return {"pca_risk": pca_risk}
    gain, added = excess_risk_removed(pca_risk, risk, reference), 100 * (risk / pca_risk - 1)
    # Less than this is rounding: the moments of all rows are added up from the folds, or not.
    return {"pca_risk": pca_risk, "gain": round(gain, 6) + 0.0, "added": round(added, 6) + 0.0}


def risk_around(centre: Array, components: Array, X: Array) -> float:
    """Return the mean squared error of rows that are projected on a subspace around a centre.

    The residuals themselves: a difference of moments loses digits where a subspace leaves almost nothing.
    """
    Z = X - centre
    return float(np.mean(np.sum((Z - Z @ components.T @ components) ** 2, axis=1)))
