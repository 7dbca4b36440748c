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
    """Return the squared error of each rank, summed over all blocks that are held out in turn.

    Columns are centred on the rows that are held in.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    row_sets, column_sets : sequences of ndarray of int
        Two partitions: numbers of rows, and of columns.
    max_rank : int
        Largest rank.

    Returns
    -------
    ndarray of shape (max_rank + 1,)
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
    r"""Return the squared Frobenius norm of :math:`A - B \hat D_k^+ C` for every rank k up to the largest.

    Parameters
    ----------
    A, B, C, D : ndarray
        The held-out block, the rest of its rows, the rest of its columns, and the block held in.
    max_rank : int
        Largest rank.

    Returns
    -------
    ndarray of shape (max_rank + 1,)
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
    """Return the rank of the least mean error; of equal ones the smallest.

    Parameters
    ----------
    errors : ndarray of shape (n_repeats, n_ranks)
        Of ranks 0, 1, ..., one row for each partition.

    Returns
    -------
    int
    """
    mean = errors.mean(axis=0)
    return int(np.argmax(mean <= mean.min() + ROUNDING * mean[0]))


def guarded_least_error(errors: Array) -> int:
    """Return the smallest rank that is not clearly worse than that of the least mean error.

    It is clearly worse if its error is larger by more than one standard deviation of the difference over
    partitions. Partitions share their rows, so the deviation is not divided by the root of their number.

    Parameters
    ----------
    errors : ndarray of shape (n_repeats, n_ranks)
        Of ranks 0, 1, ..., one row for each partition.

    Returns
    -------
    int
    """
    worse = errors - errors[:, [least_error(errors)]]
    return int(np.argmax(worse.mean(axis=0) <= worse.std(axis=0) + ROUNDING * errors[:, 0].mean()))
