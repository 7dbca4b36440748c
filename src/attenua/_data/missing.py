r"""Rows with missing cells: completed where they are fitted, judged by their seen cells where held out.

Every training set is completed by its own rows. A held-out row is never filled before it is judged: a filling
would favour candidates that resemble it. With the seen cells o and the missing cells m of a centred row z, a
subspace with the basis U rebuilds :math:`U_o s` with the scores that minimise

.. math::

    \|z_o - U_o s\|^2 + \epsilon\,\|U_m s\|^2, \qquad \epsilon = 0.01,

and loses :math:`\|z_o - U_o s\|^2`. Where nothing is missing, that is :math:`\|(I - UU^\top) z\|^2`. The
second term keeps scores near the mean in directions that the seen cells hardly tell.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.checks import caller_level
from attenua._data.completion import Completion, complete, moments_of_seen
from attenua._data.moments import Moments, ScatterMoments
from attenua._data.range import named_columns
from attenua._data.reweighting import (
    PairWeightedSplits,
    RowsInMemory,
    Weighing,
    laplacian,
    laplacian_root,
)
from attenua._data.rows import forms_scatter
from attenua._data.splits import SplitMoments, SplitPair, SplitRows, Splits
from attenua._data.sums import largest_magnitude, magnitude, row_blocks, unit_for

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Weight of missing cells at the mean, where seen cells tell little about scores.
_MISSING_WEIGHT = 0.01
# Sparse rows with missing cells are made dense, up to this size.
_MOST_BYTES = 2**30


def has_missing(X: Any) -> bool:
    """Whether dense or sparse rows hold a NaN; one pass."""
    if X.dtype.kind != "f":
        return False
    parts = [X.data] if sp.issparse(X) else (X[block] for block in row_blocks(*X.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum is faster than a mask of all cells, and NaN or infinite if one of them is NaN.
        return any(not np.isfinite(part.sum()) and bool(np.isnan(part).any()) for part in parts)


def without_missing(X: Any) -> Any:
    """Return rows, dense or sparse, with 0 for NaN."""
    if sp.issparse(X):
        rows = X.copy()
        rows.data = np.nan_to_num(rows.data, nan=0.0, posinf=np.inf, neginf=-np.inf)
        return rows
    return np.where(np.isnan(X), 0, X)


def partial_rows(X: Any, sample_weight: Array | None, names: Any) -> "PartialRows":
    """Check rows with missing cells, dense or sparse; warn of what they leave open.

    Raises
    ------
    ValueError
        If a value is infinite, a column has no cells, or sparse rows are too large to be made dense.
    """
    if sample_weight is not None:
        X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
    if sp.issparse(X):
        if 8 * X.shape[0] * X.shape[1] > _MOST_BYTES:
            raise ValueError(
                f"X is sparse with missing cells (NaN), and too large to be completed: {X.shape[0]:,} x "
                f"{X.shape[1]:,} cells would have to be made dense. Zeros need not be stored as NaN."
            )
        X = X.toarray()
    magnitude(without_missing(X), names)
    seen = ~np.isnan(X)
    empty = np.flatnonzero(~seen.any(axis=0))
    if len(empty):
        raise ValueError(f"X has no values in {named_columns(empty, names)}: all are missing. Drop them.")
    warn_of_empty_rows(seen)
    single = np.flatnonzero(seen.sum(axis=0) == 1)
    if len(single):
        _warn(f"X has only one value in {named_columns(single, names)}, so all others are filled with it.")
    pair = _never_together(seen)
    if pair is not None:
        _warn(
            f"No row has values in both of the {named_columns(pair, names)}, and there may be more such "
            "pairs. Their correlation is a guess from other columns."
        )
    return PartialRows(X, sample_weight)


def warn_of_empty_rows(seen: NDArray[np.bool_]) -> None:
    """Warn of rows that have no cells."""
    number = int(np.sum(~seen.any(axis=1)))
    if number:
        rows = "1 row of X has" if number == 1 else f"{number} rows of X have"
        _warn(f"{rows} no values at all: nothing is known but the mean.")


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=caller_level())


def _never_together(seen: NDArray[np.bool_]) -> Indices | None:
    """Return the first two columns that no row has both of."""
    cells = seen.astype(np.float32)
    for block in row_blocks(cells.shape[1], cells.shape[1]):
        first, second = np.nonzero(cells[:, block].T @ cells == 0)
        if len(first):
            return np.array([first[0] + block.start, second[0]])
    return None


class PartlySeen:
    """Held-out rows with missing cells, in the place of their moments.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows in a unit; NaN where a cell is missing.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    unit : float
        Size of one unit in the data's own units.
    scale : ndarray of shape (n_features,), optional
        What the columns were divided by.
    """

    def __init__(self, rows: Array, weights: Array, unit: float, scale: Array | None = None):
        self._rows, self.weights_of_rows, self.unit, self.scale = rows, weights, unit, scale
        self.weight, self.n_features = float(weights.sum()), rows.shape[1]
        self.seen = ~np.isnan(rows)

    def in_unit(self, unit: float) -> "PartlySeen":
        """Return the same rows in another unit."""
        return PartlySeen(self._rows * (self.unit / unit), self.weights_of_rows, unit, self.scale)

    def as_in(self, moments: Moments) -> "PartlySeen":
        """Return the same rows in the unit of moments, and divided by the same scale."""
        if moments.scale is None:
            return self.in_unit(moments.unit)
        rows = self._rows * (self.unit / moments.scale)
        return PartlySeen(rows, self.weights_of_rows, 1.0, moments.scale)

    @property
    def log_divisor(self) -> Array:
        """Sum of the logarithms of what the seen cells of each row are divided by."""
        divisors = np.broadcast_to(self.unit if self.scale is None else self.scale, self.n_features)
        logs: Array = self.seen @ np.log(divisors)
        return logs

    def centred(self, centre: Array) -> Array:
        """Return the rows less a centre; 0 where a cell is missing."""
        return np.where(self.seen, self._rows - centre, 0.0)

    def squared_errors(self, basis: Array, centre: Array) -> Array:
        """Return what a subspace with an orthonormal basis loses of each row, in its seen cells."""
        Z, rank = self.centred(centre), basis.shape[1]
        errors = np.empty(len(Z))
        for block in row_blocks(len(Z), rank**2):
            products = _products_of_seen(self.seen[block].astype(float), basis)
            along = Z[block] @ basis
            # Of an orthonormal basis, the products of missing cells are what is left to the identity.
            weighted = (1 - _MISSING_WEIGHT) * products + _MISSING_WEIGHT * np.eye(rank)
            scores = np.linalg.solve(weighted, along[:, :, None])
            rebuilt = (products @ scores)[:, :, 0] - 2 * along
            errors[block] = np.sum(Z[block] ** 2, axis=1) + np.sum(scores[:, :, 0] * rebuilt, axis=1)
        return np.maximum(errors, 0.0)


def _products_of_seen(seen: Array, basis: Array) -> Array:
    r"""Return :math:`U_o^\top U_o` of every row, with its seen cells o."""
    rank = basis.shape[1]
    first, second = np.triu_indices(rank)
    products = np.empty((len(seen), rank, rank))
    for pairs in row_blocks(len(first), len(basis)):
        i, j = first[pairs], second[pairs]
        products[:, i, j] = products[:, j, i] = seen @ (basis[:, i] * basis[:, j])
    return products


class PartialRows:
    """Rows of one data set with missing cells.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numbers, NaN where a cell is missing.
    sample_weight : ndarray of shape (n_samples,), optional
        Frequencies above 0; a weight of 2 counts a row twice.
    """

    xp = np

    def __init__(self, X: NDArray[Any], sample_weight: Array | None = None):
        self.n_samples, self.n_features = X.shape
        self.dtype = np.float32 if X.dtype == np.float32 else np.float64
        self.weights = np.ones(len(X)) if sample_weight is None else sample_weight
        self.weight = float(self.weights.sum())
        self.forms_scatter = forms_scatter(*X.shape)
        self.unit = unit_for(largest_magnitude(without_missing(X)))
        self.rows: Array = X.astype(float) / self.unit

    def complete(self, rows: Indices | None = None, scale: Array | None = None) -> Completion:
        """Return some of the rows, completed by each other alone; with a scale, they are divided by it."""
        some, weights = (self.rows, self.weights) if rows is None else (self.rows[rows], self.weights[rows])
        return complete(some if scale is None else some * (self.unit / scale), weights)

    def deviations(self, rows: Indices | None = None) -> Array:
        """Return the standard deviations of the seen cells of some rows, in the data's own units; 1 for 0."""
        some, weights = (self.rows, self.weights) if rows is None else (self.rows[rows], self.weights[rows])
        _, deviations, varies = moments_of_seen(some, weights)
        return np.where(varies, deviations * self.unit, 1.0)

    def in_rows(self, rows: Indices, training: Indices | None = None) -> PartlySeen:
        """Return rows that are held out, without the columns of which the training rows have no cell.

        Nothing is known of such a column, not even a mean from which its cells could be judged.
        """
        known = slice(None) if training is None else training
        is_known = ~np.isnan(self.rows[known]).all(axis=0)
        return PartlySeen(np.where(is_known, self.rows[rows], np.nan), self.weights[rows], self.unit)

    def some(self, rows: Indices) -> "PartialRows":
        """Return some of the rows, in a unit of their own."""
        return PartialRows((self.rows[rows] * self.unit).astype(self.dtype), self.weights[rows])


class PartialSplits(SplitMoments):
    """Moments of training sets that are completed one by one, and the held-out rows as they are."""

    _rows: PartialRows

    def __init__(self, rows: PartialRows, splits: Sequence[SplitRows]):
        super().__init__(rows, splits)
        self.pair_entries = max(self.pair_entries, rows.rows.size)
        self._completions: dict[int | None, Completion] = {}

    def scaled(self, as_in: Splits | None = None) -> Self:
        """Return the same splits with columns that are divided by the deviations of the seen cells."""
        same = super().scaled(as_in)
        same._completions = {}
        return same

    def completion(self, number: int | None) -> Completion:
        """Return the completed training rows of a split, or all rows, in their scale; made once."""
        if number not in self._completions:
            self._completions[number] = self._rows.complete(self._chosen(number), self._scale(number))
        return self._completions[number]

    def _chosen(self, number: int | None) -> Indices | None:
        return None if number is None else self.training_rows(number)

    def _scale(self, number: int | None) -> Array | None:
        return self._rows.deviations(self._chosen(number)) if self.is_scaled else None

    def plain(self, number: int | None) -> Moments:
        """Return the moments of the training rows of a split, or of all rows, in their scale."""
        completion, scale = self.completion(number), self._scale(number)
        unit = self._rows.unit if scale is None else 1.0
        return completion.moments(unit, forms_scatter=self._rows.forms_scatter, scale=scale)

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        return self.plain(None)

    def _read(self) -> Iterator[SplitPair]:
        for number, held_out in enumerate(self.held_out_rows):
            training = self.plain(number)
            rows = self._rows.in_rows(held_out, self.training_rows(number))
            yield SplitPair(number, training, rows.as_in(training))

    _read_in_scale = _read  # rows are completed in their scale

    def fourth_powers(self, number: int | None, moments: Moments, centre: Array) -> float:
        """Return the weighted sum of squares of the expected squared distances from a centre."""
        completion = self.completion(number)
        ratio = 1.0 if self.is_scaled else self._rows.unit / moments.unit
        squares = completion.squared_lengths(centre / ratio) * ratio * ratio
        return float(completion.weights @ squares**2)


class WeightedPartialSplits(PairWeightedSplits):
    """The same splits with weights on pairs of completed training rows."""

    _plain: PartialSplits

    def __init__(self, plain: PartialSplits, rows: PartialRows, weigh: Weighing):
        super().__init__(plain, rows, np.empty((0, 0)), weigh)

    @cached_property
    def total(self) -> Moments:
        """Moments of all rows."""
        return self._weighted(None, self._plain.total)

    def _read(self) -> Iterator[SplitPair]:
        for pair in self._plain.pairs():
            yield pair._replace(training=self._weighted(pair.number, pair.training))

    def _weighted(self, number: int | None, plain: Moments) -> Moments:
        r"""Return weighted moments with the mean of plain ones.

        The covariance is :math:`Z^\top L Z + \sum_i L_{ii} C_i`, with the Laplacian L of the weights and the
        covariances C of the missing cells of each row.
        """
        completion = self._plain.completion(number)
        shares = completion.weights / completion.weights.sum()
        weights = self._weigh(completion.squared_distances() / (2 * (plain.total_variance or 1.0)))
        L = laplacian(weights * shares[:, None] * shares)
        counted = np.diagonal(L)
        if not plain.forms_covariance:
            return completion.mixed_moments(laplacian_root(L, shares), counted, plain.unit, plain.scale)
        Z = completion.centred
        return ScatterMoments(
            plain.weight,
            np.zeros_like(plain.mean),
            plain.weight * (Z.T @ (L @ Z) + completion.spread(counted)),
            plain.mean,
            plain.unit,
            owned=True,
            varies=completion.varies,
            scale=plain.scale,
        )


class PartialInMemory(RowsInMemory):
    """Rows with missing cells, completed in every training set; weights are given to completed rows."""

    rows: PartialRows
    splits: PartialSplits

    def some(self, rows: Indices, splits: Sequence[SplitRows]) -> "PartialInMemory":
        """Return some of the rows, with splits of their own."""
        chosen = self.rows.some(rows)
        groups = None if self.groups is None else self.groups[rows]
        moments = PartialSplits(chosen, splits).scaled(as_in=self.splits)
        return PartialInMemory(chosen, moments, groups, self.n_given)

    def held_out(self, rows: Indices, training: Indices) -> PartlySeen:
        """Return some rows, to be judged by a fit to others."""
        return self.rows.in_rows(rows, training)

    def with_pair_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        """Return, for each weighing, the splits with weights on pairs of completed training rows."""
        return [WeightedPartialSplits(self.splits, self.rows, weigh) for weigh in weighings]
