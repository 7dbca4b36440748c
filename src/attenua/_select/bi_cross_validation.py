"""Bi-cross-validation: errors of entries whose row and column were held out (Owen and Perry, 2009)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Errors closer than this part of the error of rank 0 differ by rounding only.
ROUNDING = 1e-12


def partition_errors(
    X: Array, row_sets: Sequence[NDArray[np.intp]], column_sets: Sequence[NDArray[np.intp]], max_rank: int
) -> Array:
    """Return the squared error of ranks 0 to `max_rank`, summed over all blocks that are held out in turn.

    Columns are centred on the rows that are held in.
    """
    total = np.zeros(max_rank + 1)
    for rows in row_sets:
        other_rows = np.setdiff1d(np.arange(len(X)), rows)
        centred = X - X[other_rows].mean(axis=0)
        for columns in column_sets:
            other_columns = np.setdiff1d(np.arange(X.shape[1]), columns)
            total += block_errors(
                centred[np.ix_(rows, columns)],
                centred[np.ix_(rows, other_columns)],
                centred[np.ix_(other_rows, columns)],
                centred[np.ix_(other_rows, other_columns)],
                max_rank,
            )
    return total


def block_errors(A: Array, B: Array, C: Array, D: Array, max_rank: int) -> Array:
    r"""Return the squared Frobenius norm of :math:`A - B \hat D_k^+ C` for every rank k from 0 to `max_rank`.

    A is the held-out block, B the rest of its rows, C the rest of its columns, and D the block held in.
    """
    if len(D) > D.shape[1]:  # the transpose has the same residual and the smaller Gram matrix
        return block_errors(A.T, C.T, B.T, D.T, max_rank)
    values, vectors = np.linalg.eigh(D @ D.T)  # D = U d V', so B V / d = B D' U / d^2
    rank = min(max_rank, int(np.sum(values > values[-1] * max(D.shape) * np.finfo(float).eps)))
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    left = B @ D.T @ vectors / values
    # |A - LR|^2 = |A|^2 - 2 tr(L'AR') + tr(L'L RR') with R = U'C. The leading k terms give the error of rank
    # k, so no residual is formed.
    crossed = np.sum(left * (A @ C.T @ vectors), axis=0)
    squared = (left.T @ left) * (vectors.T @ (C @ C.T) @ vectors)
    added = 2 * np.tril(squared, -1).sum(axis=1) + np.diag(squared) - 2 * crossed
    errors = np.sum(A**2) + np.concatenate([[0.0], np.cumsum(added)])
    return np.pad(np.maximum(errors, 0), (0, max_rank - rank), mode="edge")


def least_error(errors: Array) -> int:
    """Return the rank of the least mean error (a row for each partition); of equal ones the smallest."""
    mean = errors.mean(axis=0)
    return int(np.argmax(mean <= mean.min() + ROUNDING * mean[0]))


def guarded_least_error(errors: Array) -> int:
    """Return the smallest rank that is not clearly worse than that of the least mean error.

    It is clearly worse if its error is larger by more than one standard deviation of the difference over
    partitions. Partitions share their rows, so the deviation is not divided by the root of their number.
    """
    worse = errors - errors[:, [least_error(errors)]]
    return int(np.argmax(worse.mean(axis=0) <= worse.std(axis=0) + ROUNDING * errors[:, 0].mean()))
