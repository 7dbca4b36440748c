"""Fits to arrays on a device: the moments of all folds, all their subspaces, a choice, and one subspace more.

What is computed is what :mod:`attenua.fitting` computes, with the same folds and conventions. Fitted arrays
are of the input's library and on its device. Only numbers that decide something come to the host (one at a
time, or one for each fold, strength or component), and labels of rows, which splitters need there.
"""

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from attenua.array_api.axes import store_axes
from attenua.array_api.dense import Leading
from attenua.array_api.moments import ArrayRows, clipped
from attenua.array_api.namespace import is_foreign, on_device, on_host, spans
from attenua.array_api.stacks import Stack, stack_of
from attenua.array_api.subspaces import leading_subspaces
from attenua.comparison import MOST_PARTS, Comparison, FoldMoments, SplitMoments
from attenua.folds import check_repeats, consecutive_folds, is_number_of_folds, make_splits
from attenua.rank import resolve_rank
from attenua.validation import check_total_weight, checked_weights, matrix_requirements

# Covariances of this many bytes are solved at once; more splits come one group after another.
_STACK_BYTES = 2**31


def fit_array(estimator: Any, xp: Any, X: Any, sample_weight: Any = None) -> None:
    """Fit an estimator of one strength to an array."""
    X = _checked(estimator, xp, X)
    rule = estimator._rule(X.shape[1])
    rows = ArrayRows(xp, X, _weights(xp, X, sample_weight), rule.labels is not None)
    total = rows.moments()
    rank = resolve_rank(estimator.n_components, total, rows.n_samples)
    _store_solvers(estimator, _refit(estimator, total, rule, rank, rows.n_samples))


def fit_array_cv(estimator: Any, xp: Any, X: Any, y: Any = None, groups: Any = None) -> None:
    """Choose a strength by cross-validation on an array, and fit it to all rows."""
    X = _checked(estimator, xp, X)
    strengths = estimator._strengths()
    rule = estimator._rule(strengths, X.shape[1])
    rows = ArrayRows(xp, X, grouped=rule.labels is not None)
    moments, fewest = _fold_moments(estimator, rows, y, groups)
    total = moments.total
    rank = estimator._rank(total, fewest)
    comparison = ArrayComparison(moments, rule, rank)
    result = estimator._compare(comparison)
    estimator._store_choice(result)
    estimator.gain_ = result.gain
    for name in ("alphas_", "temperings_", "cv_risk_", "cv_risk_folds_"):
        setattr(estimator, name, on_device(xp, getattr(estimator, name), X, xp.float64))
    refit = _refit(estimator, total, estimator._rule(result.chosen, X.shape[1]), rank, rows.n_samples)
    _store_solvers(estimator, result.solvers + refit)


def _checked(estimator: Any, xp: Any, X: Any) -> Any:
    X = validate_data(estimator, X, **matrix_requirements())
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: X has the type {X.dtype}.")
    estimator._fit_dtype = np.float32 if X.dtype == xp.float32 else np.float64
    return X


def _weights(xp: Any, X: Any, sample_weight: Any) -> Any:
    """Return frequencies beside X, checked where they lie."""
    if sample_weight is None:
        return None
    if not is_foreign(sample_weight):
        return on_device(xp, checked_weights(sample_weight, X.shape[0]), X)
    weights = on_device(xp, sample_weight, X, xp.float64)
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight has the shape {tuple(weights.shape)}, but X has {X.shape[0]} rows.")
    if not bool(xp.all(xp.isfinite(weights) & (weights >= 0))):
        raise ValueError("sample_weight must be finite and nonnegative.")
    check_total_weight(float(xp.sum(weights)))
    return weights


def _fold_moments(estimator: Any, rows: ArrayRows, y: Any, groups: Any) -> tuple[Any, int]:
    """Return the moments of the splits, and the number of rows of the smallest training set."""
    n, cv = rows.n_samples, estimator.cv
    check_repeats(estimator.n_repeats)
    plain = groups is None and estimator.n_repeats == 1 and is_number_of_folds(cv)
    if plain and cv <= MOST_PARTS and rows.forms_scatter:
        folds = consecutive_folds(int(cv), n)
        fewest = n - folds[0].stop
        if fewest < 2:
            raise ValueError("split 0 of cv has one training row; a covariance needs at least two.")
        return FoldMoments([rows.moments(fold) for fold in folds]), fewest
    splits = make_splits(
        cv,
        n,
        y=on_host(y),
        groups=on_host(groups),
        n_repeats=estimator.n_repeats,
        random_state=estimator.random_state,
    )
    return SplitMoments(rows, splits), min(len(train) for train, _ in splits)


class ArrayComparison(Comparison):
    """Candidates compared on a device; the risks, one for each split and candidate, come to the host."""

    @property
    def variances(self) -> NDArray[np.float64]:
        """Variances of the columns over all rows, on the host."""
        return on_host(self._total.variances)

    def _measure(self, places: NDArray[np.intp], rule: Any) -> None:
        # On a device the last digits cost little, so that no rough pass comes first.
        alphas, temperings = rule.strengths.T
        risk = np.empty((self._moments.n_splits, len(places)))
        for some in spans(self._moments.n_splits, max(_STACK_BYTES // (8 * self._total.n_features**2), 1)):
            numbers = range(self._moments.n_splits)[some]
            train, held = zip(*(self._moments.pair(number) for number in numbers), strict=True)
            fitted, held_out = stack_of(train, rule.labels), stack_of(held)
            self._weights[some] = [part.weight for part in held]
            for tempering in np.unique(temperings):
                columns = np.flatnonzero(temperings == tempering)
                strengths = on_device(fitted.xp, alphas[columns], fitted.means)
                found = leading_subspaces(fitted, strengths, self._rank, tempering=float(tempering))
                errors = reconstruction_errors(held_out, found, fitted.means)
                flat = on_host(fitted.xp.reshape(errors, (-1,)))
                risk[np.ix_(numbers, columns)] = flat.reshape(len(numbers), -1)
                self._solvers += _solvers(fitted.xp, found)
        self._risk_folds[:, places] = risk
        self._certified = set(self._solvers) == {"eigh"}


def _solvers(xp: Any, found: Leading) -> Counter[str]:
    """Count how subspaces were found."""
    exact = int(xp.sum(xp.astype(found.exact, xp.int64)))
    return +Counter({"eigh": exact, "filtered": math.prod(found.exact.shape) - exact})


def _store_solvers(estimator: Any, solvers: Counter[str]) -> None:
    estimator.solvers_ = dict(solvers)
    estimator.certified_ = set(solvers) == {"eigh"}


def reconstruction_errors(held: Stack, found: Leading, centres: Any) -> Any:
    r"""Return the mean over held-out rows of :math:`\|(I - UU^\top)(x - c)\|^2`, by matrix and strength."""
    xp = held.xp
    U = xp.permute_dims(found.basis, (0, 2, 1, 3))
    offset = held.means - centres
    along = xp.matmul(xp.reshape(offset, (offset.shape[0], 1, 1, -1)), found.basis)
    captured = xp.sum(U * held.multiply(U), axis=(1, 3)) + xp.sum(along**2, axis=(2, 3))
    whole = xp.sum(held.variances, axis=-1) + xp.sum(offset**2, axis=-1)
    # The two sums agree to rounding when the subspace holds everything; an error is never negative.
    return clipped(xp, whole[:, None] - captured)


def _refit(estimator: Any, total: Any, rule: Any, rank: int, n_samples: int) -> Counter[str]:
    """Find the subspace of all rows at one strength, set the fitted attributes, and say how it was found."""
    stack = stack_of([total], rule.labels)
    ((alpha, tempering),) = rule.strengths
    strengths = on_device(stack.xp, np.array([alpha]), stack.means)
    found = leading_subspaces(stack, strengths, rank, tempering=float(tempering))
    store_axes(estimator, total, stack, Leading(*(field[0, 0, ...] for field in found)), n_samples)
    return _solvers(stack.xp, found)
