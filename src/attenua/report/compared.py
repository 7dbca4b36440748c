"""What both kinds of page share: the rows they are about, and two subspaces side by side."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from attenua._data.moments import Moments

Array = NDArray[np.float64]

_EXAMPLES = 6


@dataclass(frozen=True)
class Examples:
    """Held-out rows and their reconstructions by fits that did not see them: PCA, and another."""

    rows: NDArray[np.intp]
    original: Array
    pca: Array
    other: Array
    pca_error: Array
    other_error: Array
    n_held_out: int
    n_better: int


def column_names(estimator: Any, from_data: list[str] | None, given: Any, p: int) -> list[str]:
    """Return the names of the columns: those given, else of the estimator, of the data, or numbers."""
    names = given if given is not None else getattr(estimator, "feature_names_in_", from_data)
    names = [f"column {number}" for number in range(1, p + 1)] if names is None else [str(n) for n in names]
    if len(names) != p:
        raise ValueError(f"feature_names must name each of the {p} columns; got {len(names)} names.")
    return names


def check_rows(estimator: Any, moments: Moments, shape: tuple[int, int]) -> None:
    """Raise an error where rows cannot be those that the estimator was fitted to."""
    if shape != (estimator.n_samples_, estimator.n_features_in_):
        raise ValueError(
            f"X must be the rows the estimator was fitted on, {estimator.n_samples_} x "
            f"{estimator.n_features_in_}; got {shape[0]} x {shape[1]}."
        )
    mean, spread = moments.mean * moments.unit, np.sqrt(moments.variances.max()) * moments.unit
    tolerance = 1e-3 if estimator.mean_.dtype == np.float32 else 1e-6
    if not np.allclose(mean, estimator.mean_, rtol=tolerance, atol=tolerance * spread):
        raise ValueError("X must be the rows the estimator was fitted on; their mean is not its mean_.")


def turned_towards(components: Array, others: Array) -> Array:
    """Return the other components with the signs that make them comparable."""
    signs = np.where(np.einsum("ij,ij->i", components, others) < 0, -1.0, 1.0)
    return others * signs[:, None]


def angles_between(components: Array, others: Array) -> Array:
    """Return the principal angles between two subspaces in degrees, decreasing."""
    outside = others - (others @ components.T) @ components
    return np.degrees(np.arcsin(np.clip(np.linalg.svd(outside, compute_uv=False), 0, 1)))


def held_out_examples(X: Any, groups: Any, pair: Sequence[Any], random_state: int) -> Examples:
    """Reconstruct rows that were held out, from the most improved to the most worsened in equal steps.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Rows.
    groups : array-like of shape (n_samples,), optional
        Labels of rows that belong together.
    pair : two estimators
        PCA and another, to be fitted to four fifths of the rows.
    random_state : int
        Draws the rows that are held out.
    """
    splitter = (ShuffleSplit if groups is None else GroupShuffleSplit)(
        1, test_size=0.2, random_state=random_state
    )
    train, held = next(splitter.split(np.empty(X.shape[0]), groups=groups))
    rows = X[held].toarray() if sp.issparse(X) else np.asarray(X[held], dtype=float)
    rebuilt = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The cut at n_components")
        for estimator in pair:
            rank = min(estimator.n_components, len(train))
            model = clone(estimator).set_params(n_components=rank).fit(X[train])
            rebuilt.append(model.inverse_transform(model.transform(rows)))
    errors = [np.sum((rows - image) ** 2, axis=1) for image in rebuilt]
    change = errors[1] - errors[0]
    places = np.linspace(0, len(held) - 1, min(_EXAMPLES, len(held))).round().astype(int)
    picked = np.argsort(change, kind="stable")[places]
    return Examples(
        rows=held[picked] + 1,
        original=rows[picked],
        pca=rebuilt[0][picked],
        other=rebuilt[1][picked],
        pca_error=errors[0][picked],
        other_error=errors[1][picked],
        n_held_out=len(held),
        n_better=int((change < 0).sum()),
    )
