"""Many small data sets at once: strengths chosen by cross-validation for every one of a stack.

One small fit leaves a device idle; a thousand of them, with all folds and strengths, are one batch. This is
how a study over many subsamples runs there.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.array_api.fitting import reconstruction_errors
from attenua.array_api.namespace import device_of, namespace_at, on_device, spans
from attenua.array_api.stacks import RowStack
from attenua.array_api.subspaces import leading_subspaces
from attenua.comparison import ROUNDING
from attenua.folds import consecutive_folds
from attenua.rules import pairs
from attenua.validation import checked_count, checked_strengths, checked_temperings

# Rows of all folds of one batch of data sets take no more than this.
_BATCH_BYTES = 2**30


class ManyChoices(NamedTuple):
    """Strengths and subspaces of many data sets, in the namespace and on the device of the rows.

    Attributes
    ----------
    alpha, tempering : array of shape (n_sets,)
        Chosen strengths.
    cv_risk : array of shape (n_sets, n_temperings, n_alphas)
        Mean squared reconstruction error over all held-out rows.
    basis : array of shape (n_sets, n_features, n_components)
        Orthonormal columns that span the subspace of the chosen strengths, fitted to all rows.
    mean : array of shape (n_sets, n_features)
        Means of the rows.
    """

    alpha: Any
    tempering: Any
    cv_risk: Any
    basis: Any
    mean: Any


def cross_validate_many(
    X: Any,
    n_components: int,
    *,
    alphas: str | ArrayLike = "direct",
    tempering: float | ArrayLike = 0,
    folds: int | NDArray[np.intp] = 5,
) -> ManyChoices:
    """Choose strengths by cross-validation for every data set of a stack, and fit them to all its rows.

    Each answer is what :class:`attenua.AttenuatedPCACV` gives for the same rows and folds.

    Parameters
    ----------
    X : array of shape (n_sets, n_samples, n_features)
        Data sets of one shape, float64, of numpy or any library of the array API standard.
    n_components : int
        Number of components.
    alphas : {"direct", "mask"} or array-like
        Attenuations to compare; 0 is always included.
    tempering : float or array-like
        Temperings to compare; 0 is always included.
    folds : int or integer ndarray of shape (n_samples,) or (n_sets, n_samples)
        A number of folds of consecutive rows; or the fold of every row, counted from 0, the same for all
        sets or each set's own. Every fold must hold a row of every set.

    Returns
    -------
    ManyChoices
        Chosen strengths, risks and subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.array_api.many import cross_validate_many
    >>> X = np.random.default_rng(0).standard_normal((100, 40, 6))
    >>> cross_validate_many(X, 2).basis.shape
    (100, 6, 2)
    """
    xp = namespace_at(X)
    if X.ndim != 3 or X.dtype != xp.float64:
        raise ValueError(
            "X must be float64 of three dimensions, (n_sets, n_samples, n_features); "
            f"got {X.dtype} with shape {tuple(X.shape)}."
        )
    rank = checked_count(n_components, "n_components")
    n_sets, n, p = X.shape
    held = _held_out(folds, n_sets, n)
    fewest = n - int(held.sum(axis=-1).max())
    if rank > min(p, fewest):
        raise ValueError(
            f"n_components={rank} is more than the {p} columns or the {fewest} rows of a training set."
        )
    strengths, temperings = checked_strengths(alphas), checked_temperings(tempering)
    size = max(_BATCH_BYTES // (8 * held.shape[1] * n * p), 1)
    parts = [
        _some_choices(xp, X[some, :, :], held[some], strengths, temperings, rank)
        for some in spans(n_sets, size)
    ]
    return ManyChoices(*(xp.concat(list(field)) for field in zip(*parts, strict=True)))


def _held_out(folds: Any, n_sets: int, n: int) -> NDArray[np.float64]:
    """Return 1 where a fold holds a row out, 0 elsewhere, with shape (n_sets, n_folds, n)."""
    if np.ndim(folds) == 0:
        numbers = np.empty(n, dtype=int)
        for number, rows in enumerate(consecutive_folds(checked_count(folds, "folds", 2), n)):
            numbers[rows] = number
    else:
        numbers = np.asarray(folds)
        if numbers.dtype.kind not in "iu" or numbers.shape not in ((n,), (n_sets, n)):
            raise ValueError(
                f"folds must be a number, or integers of shape ({n},) or ({n_sets}, {n}); "
                f"got {numbers.dtype} of shape {numbers.shape}."
            )
    numbers = np.broadcast_to(numbers, (n_sets, n))
    held = (numbers[:, None, :] == np.arange(numbers.max() + 1)[:, None]).astype(float)
    counts = held.sum(axis=-1)
    if held.shape[1] < 2 or numbers.min() < 0 or counts.min() < 1 or counts.max() > n - 2:
        raise ValueError(
            "folds must number at least two folds from 0, each with a row of every set and two rows left."
        )
    return held


def _some_choices(
    xp: Any, X: Any, held: NDArray[np.float64], alphas: Any, temperings: Any, rank: int
) -> ManyChoices:
    n_sets, n, _ = X.shape
    # About the mean of all rows of a set, so that products cost no digits.
    centre = xp.mean(X, axis=1, keepdims=True)
    rows = X - centre
    strengths = on_device(xp, alphas, X, xp.float64)
    train, out = (_stack(xp, rows, on_device(xp, _shares(w), X)) for w in (1 - held, held))
    parts = on_device(xp, held.sum(axis=-1) / n, X)
    risks = []
    for gamma in temperings:
        found = leading_subspaces(train, strengths, rank, tempering=float(gamma))
        errors = xp.reshape(reconstruction_errors(out, found, train.means), (n_sets, held.shape[1], -1))
        risks.append(xp.sum(errors * parts[:, :, None], axis=1))
    risk = xp.stack(risks, axis=1)
    flat = xp.reshape(risk, (n_sets, -1))
    least = xp.min(flat, axis=1, keepdims=True)
    whole = _stack(xp, rows, xp.full((n_sets, 1, n), 1 / n, dtype=xp.float64, device=device_of(X)))
    # Ties, up to rounding, go to the first: the smallest tempering, then the smallest alpha.
    is_least = flat <= least + ROUNDING * xp.sum(whole.variances, axis=1, keepdims=True)
    best = xp.argmax(xp.astype(is_least, xp.int64), axis=1)
    basis = _at_chosen(xp, whole, strengths, temperings, rank, best)
    columns = pairs(alphas, temperings).T
    alpha, gamma = (xp.take(on_device(xp, values, X, xp.float64), best) for values in columns)
    return ManyChoices(alpha, gamma, risk, basis, centre[:, 0, :])


def _at_chosen(xp: Any, whole: RowStack, strengths: Any, temperings: Any, rank: int, best: Any) -> Any:
    """Return the basis of every set at its own candidate; those of all candidates are found in one batch."""
    basis = None
    for number, gamma in enumerate(temperings):
        found = leading_subspaces(whole, strengths, rank, tempering=float(gamma)).basis
        for k in range(strengths.shape[0]):
            is_chosen = (best == number * strengths.shape[0] + k)[:, None, None]
            basis = found[:, k, :, :] if basis is None else xp.where(is_chosen, found[:, k, :, :], basis)
    return basis


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / weights.sum(axis=-1, keepdims=True)


def _stack(xp: Any, rows: Any, weights: Any) -> RowStack:
    """Return the covariances of every set under each of its weights, of shape (n_sets, n_weights, n_rows)."""
    n_sets, n, p = rows.shape
    n_weights = weights.shape[1]
    repeated = xp.broadcast_to(rows[:, None, :, :], (n_sets, n_weights, n, p))
    repeated = xp.reshape(repeated, (-1, n, p))
    weights = xp.reshape(weights, (-1, n))
    offsets = xp.matmul(weights[:, None, :], repeated)[:, 0, :]
    variances = xp.matmul(weights[:, None, :], (repeated - offsets[:, None, :]) ** 2)[:, 0, :]
    return RowStack(xp, repeated, weights, offsets, variances, offsets)
