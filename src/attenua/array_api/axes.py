"""Components of a subspace on a device, and what a fitted estimator does with rows there."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from attenua.affine import rounding
from attenua.array_api.dense import Leading
from attenua.array_api.moments import clipped, magnitude, step_rows
from attenua.array_api.namespace import device_of, host_list, namespace_at, spans
from attenua.array_api.stacks import Stack
from attenua.axes import warn_of_tie
from attenua.validation import matrix_requirements


def store_axes(estimator: Any, moments: Any, stack: Stack, found: Leading, n_samples: int) -> None:
    """Set the fitted attributes from a subspace and the moments that it was found from."""
    xp, weight = moments.xp, moments.weight
    components, variances = principal_axes(stack, found)
    rank = components.shape[0]
    unbiased, unit = weight / (weight - 1), moments.unit
    explained = clipped(xp, variances)
    ratio = explained / moments.total_variance if moments.total_variance > 0 else 0 * explained
    with np.errstate(over="ignore", under="ignore"):  # beyond 1e308 they are infinite
        explained = explained * unbiased * unit * unit
        total = moments.total_variance * unbiased * unit * unit
    # As many further eigenvalues as PCA's spectrum has, zeros included: scikit-learn's convention.
    left_over = min(moments.n_features, max(int(weight), 1)) - rank
    unexplained = max(1 - float(xp.sum(ratio)), 0.0) * total
    arrays = {
        "components_": components,
        "mean_": moments.mean * moments.unit,
        "explained_variance_": explained,
        "explained_variance_ratio_": ratio,
        "singular_values_": xp.sqrt(explained * (weight - 1)),
    }
    dtype = xp.float32 if estimator._fit_dtype is np.float32 else xp.float64
    for name, array in arrays.items():
        setattr(estimator, name, xp.astype(array, dtype))
    estimator.noise_variance_ = unexplained / left_over if left_over > 0 else 0.0
    estimator.n_components_ = estimator._n_features_out = rank
    estimator.n_samples_ = n_samples
    # With n_components=None the user made no cut, so there is nothing to warn of.
    if bool(found.tied) and estimator.n_components is not None:
        warn_of_tie(rank)


def principal_axes(stack: Stack, found: Leading) -> tuple[Any, Any]:
    r"""Turn a basis so that :math:`U^\top S U` is decreasing and diagonal; return it and the diagonal."""
    xp, U = stack.xp, found.basis
    SU = stack.multiply(U[None, :, None, :])[0, :, 0, :]
    variances, turn = xp.linalg.eigh(xp.matrix_transpose(U) @ SU)
    variances, turn = xp.flip(variances), xp.flip(turn, axis=-1)
    W = xp.matrix_transpose(U @ _with_ties_settled(xp, variances, turn, found.values))
    # Loadings within rounding of the largest count as equal, so that the sign is the same on every machine.
    sizes = xp.abs(W)
    is_largest = xp.astype(sizes >= (1 - 1e-6) * xp.max(sizes, axis=1, keepdims=True), xp.int64)
    place = xp.arange(W.shape[1], device=device_of(W))
    chosen = xp.argmax(is_largest, axis=1)[:, None] == place[None, :]
    largest = xp.sum(xp.where(chosen, W, xp.zeros_like(W)), axis=1)
    return xp.where((largest < 0)[:, None], -W, W), variances


def _with_ties_settled(xp: Any, variances: Any, turn: Any, values: Any) -> Any:
    """Where components explain the same variance (often none), order them by the attenuated eigenvalue."""
    known = np.array(host_list(variances))
    distinct = -np.diff(known) > rounding(len(known), np.abs(known).max())
    if distinct.all():
        return turn
    parts = []
    for tied in np.split(np.arange(len(known)), np.flatnonzero(distinct) + 1):
        R = turn[:, int(tied[0]) : int(tied[-1]) + 1]
        if len(tied) > 1:
            R = R @ xp.flip(xp.linalg.eigh((xp.matrix_transpose(R) * values) @ R)[1], axis=-1)
        parts.append(R)
    return xp.concat(parts, axis=1)


def transform_array(estimator: Any, xp: Any, X: Any) -> Any:
    """Return ``(X - mean_) @ components_.T``, in steps of rows, divided by the deviations if ``whiten``."""
    X = _checked_rows(estimator, xp, X)
    dtype = _common_type(xp, X, estimator.components_)
    W, mean = (xp.astype(a, dtype) for a in (xp.matrix_transpose(estimator.components_), estimator.mean_))
    # Rows are centred before the product, so that a large mean costs no digits.
    parts = [(xp.astype(X[step, :], dtype) - mean) @ W for step in spans(X.shape[0], step_rows(X))]
    scores = xp.concat(parts)
    return scores / xp.astype(_deviations(xp, estimator), dtype) if estimator.whiten else scores


def inverse_transform_array(estimator: Any, xp: Any, X: Any) -> Any:
    """Return the rows that scores stand for."""
    if X.ndim != 2 or X.shape[1] != estimator.n_components_:
        raise ValueError(
            f"X has the shape {tuple(X.shape)}, but {type(estimator).__name__} has {estimator.n_components_} "
            "components; inverse_transform takes scores."
        )
    magnitude(xp, X)
    dtype = _common_type(xp, X, estimator.components_)
    scores = xp.astype(X, dtype)
    if estimator.whiten:
        scores = scores * xp.astype(_deviations(xp, estimator), dtype)
    return scores @ xp.astype(estimator.components_, dtype) + xp.astype(estimator.mean_, dtype)


def score_array(estimator: Any, xp: Any, X: Any) -> float:
    """Return minus the mean squared reconstruction error of a row, computed in double precision."""
    X = _checked_rows(estimator, xp, X)
    W, mean = (xp.astype(a, xp.float64) for a in (estimator.components_, estimator.mean_))
    total = 0.0
    for step in spans(X.shape[0], step_rows(X)):
        centred = xp.astype(X[step, :], xp.float64) - mean
        total = total + xp.sum((centred - (centred @ xp.matrix_transpose(W)) @ W) ** 2)
    return -float(total) / X.shape[0]


def covariance_array(estimator: Any) -> Any:
    """Return the covariance of the probabilistic model on the subspace."""
    xp, W, noise = namespace_at(estimator.components_), estimator.components_, estimator.noise_variance_
    eye = xp.eye(W.shape[1], dtype=W.dtype, device=device_of(W))
    return (xp.matrix_transpose(W) * clipped(xp, estimator.explained_variance_ - noise)) @ W + noise * eye


def precision_array(estimator: Any) -> Any:
    """Return the inverse of the model's covariance, or its pseudo-inverse where the model has no noise."""
    xp, W, noise = namespace_at(estimator.components_), estimator.components_, estimator.noise_variance_
    if noise == 0:
        return xp.linalg.pinv(covariance_array(estimator))
    model = clipped(xp, estimator.explained_variance_ - noise) + noise
    eye = xp.eye(W.shape[1], dtype=W.dtype, device=device_of(W))
    return (xp.matrix_transpose(W) * (1 / model - 1 / noise)) @ W + eye / noise


def _checked_rows(estimator: Any, xp: Any, X: Any) -> Any:
    X = validate_data(estimator, X, reset=False, **(matrix_requirements() | {"ensure_min_samples": 1}))
    magnitude(xp, X)
    return X


def _common_type(xp: Any, X: Any, components: Any) -> Any:
    return xp.float32 if X.dtype == components.dtype == xp.float32 else xp.float64


def _deviations(xp: Any, estimator: Any) -> Any:
    """Return what whitening divides by; a component without variance is left alone."""
    scale = xp.sqrt(estimator.explained_variance_)
    smallest = xp.finfo(scale.dtype).eps * xp.max(scale)
    return xp.where(scale > smallest, scale, xp.ones_like(scale))
