"""A few rows of one group, with the rows of the other groups as a reference to borrow from."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua import CorrectedPCA, CorrectedPCACV
from attenua_evidence.cell import Cell
from attenua_evidence.covariance_uses import varying
from attenua_evidence.draws import MOST_TESTED, SEED, ranks_allowed, scaled_by_first, varying_columns
from attenua_evidence.methods import Order
from attenua_evidence.outcome import Fit, attempt
from attenua_evidence.tasks.new_rows import how_it_went
from attenua_evidence.tasks.problem import RANKS, Array, Result, filled_by_means, rebuilt, squared_errors
from attenua_evidence.tasks.subspaces import OURS, PCA
from attenua_paper.studies.hindsight import HeldMoments

TRANSFER = "rebuild rows of a new group"
FEW, LEAST_OF_A_GROUP = 16, 32
BORROWING, ALONE, POOLED = f"{OURS}, with the reference", "PCA of the reference", "PCA of all rows"
WHAT = {
    PCA: "CorrectedPCA, all strengths 0, of the few rows",
    OURS: "CorrectedPCACV of the few rows, neighbours where columns have an order",
    BORROWING: "the same with reference= the rows of the other groups",
    ALONE: "CorrectedPCA(borrowing=1): directions of the reference only",
    POOLED: "PCA of the few rows and the reference as one table",
}


class Few(NamedTuple):
    """A few rows of a group, its other rows as the test, and the rows of other groups."""

    X: Array
    test: Array
    reference: Array
    order: Order | Array


def of_transfer(cell: Cell, table: Any) -> Iterator[Result]:
    """Yield the errors of new rows of the group, around the mean of its few rows for all methods."""
    few = few_rows(cell, table)
    if few is None:
        return
    centre = few.X.mean(axis=0)
    rank = max(rank for rank in ranks_allowed(*few.X.shape) if rank <= min(RANKS))
    held = HeldMoments.of(few.test)
    for name, fit in _fits(few, rank).items():
        outcome = attempt(fit, rank)
        value = np.nan
        if outcome.fit is not None:
            found = rebuilt(few.test, centre, outcome.fit.components)
            value = float(np.mean(squared_errors(found, few.test)))
        reference = float(held.references[rank])
        nothing = held.risk(np.zeros((len(centre), 0)), centre)
        yield Result(TRANSFER, name, rank, value, reference, nothing, **how_it_went(outcome))


def few_rows(cell: Cell, table: Any) -> Few | None:
    """Return the rows of the group that the number of the draw decides, or None without large groups.

    Classes stand in where groups are missing or small. Mixed columns are scaled by the reference, which is
    what is known of them. Missing cells are column means.
    """
    found = large_groups(table)
    if found is None:
        return None
    values, large = found
    seed = [SEED, *cell.data.encode(), 16]
    chosen = np.random.default_rng(seed).permutation(large)[cell.draw % len(large)]
    random = np.random.default_rng([*seed, cell.draw])
    own = table.X[random.permutation(np.flatnonzero(values == chosen))[: FEW + MOST_TESTED]]
    reference = table.X[random.permutation(np.flatnonzero((values != chosen) & (values >= 0)))[:MOST_TESTED]]
    reference, own = (filled_by_means(X, np.nanmean(reference, axis=0)) for X in (reference, own))
    order = cell.order
    varies = varying_columns(reference)
    if cell.unit == "mixed":
        reference, own = scaled_by_first(reference, own)
    else:
        reference, order = varying(reference, varies, cell.order)
        own = own[:, varies]
    if not ranks_allowed(FEW, own.shape[1]):
        return None
    return Few(own[:FEW], own[FEW:], reference, order)


def large_groups(table: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the group of each row, -1 for none, and the groups with enough rows, where there are others."""
    for values in (table.groups, table.labels):
        if values is not None:
            names, sizes = np.unique(values[values >= 0], return_counts=True)
            large = names[sizes >= LEAST_OF_A_GROUP]
            if len(large) and len(names) > 1:
                return values, large
    return None


def _fits(few: Few, rank: int) -> dict[str, Callable[[], Fit]]:
    models: dict[str, Callable[[], Any]] = {
        PCA: lambda: CorrectedPCA(rank),
        OURS: lambda: CorrectedPCACV(rank, neighbours=few.order),
        BORROWING: lambda: CorrectedPCACV(rank, neighbours=few.order, reference=few.reference),
        ALONE: lambda: CorrectedPCA(rank, borrowing=1, reference=few.reference),
        POOLED: lambda: CorrectedPCA(rank),
    }

    def fit(name: str) -> Fit:
        X = np.vstack([few.X, few.reference]) if name == POOLED else few.X
        model = models[name]().fit(X)
        return Fit(model.mean_, model.components_)

    return {name: (lambda name=name: fit(name)) for name in models}
