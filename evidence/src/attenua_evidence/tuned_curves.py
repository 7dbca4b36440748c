"""Functional PCA whose smoothing is chosen as the corrections are: by held-out rows of the same folds."""

import numpy as np

from attenua._data.folds import make_splits
from attenua_evidence.methods import Order, Rows
from attenua_evidence.outcome import Array, Fit

# 0 is PCA. A penalty w smooths over about w^(1/4) columns: from less than one to thirty.
PENALTIES = (0.0, *np.geomspace(1e-2, 1e6, 17))


def tuned_curves(rows: Rows, rank: int) -> Fit:
    r"""Return PCA of smoothed rows, with the roughness penalty of the least held-out risk.

    A row x becomes :math:`\arg\min_s \|x - s\|^2 + w\, s^\top P s = (I + wP)^{-1} x`. Along a line,
    :math:`s^\top P s` is the sum of squared second differences, a discrete smoothing spline. In a grid, and
    where columns were left out, it is that of the graph's Laplacian. Held-out rows are not smoothed: they
    are reconstructed as they are, around the mean of the training rows, in the folds of the corrections.

    Parameters
    ----------
    rows : Rows
        The rows, with an order of their columns.
    rank : int
        Number of components.

    References
    ----------
    Ramsay and Silverman (2005), Functional Data Analysis, chapters 5 and 9.
    """
    values, vectors = np.linalg.eigh(roughness(rows.X.shape[1], rows.order))
    # In these coordinates smoothing multiplies, and errors are what they were.
    filters = 1 / (1 + np.outer(PENALTIES, np.maximum(values, 0)))
    X = rows.X @ vectors
    risks = np.zeros(len(filters))
    for training, held_out in make_splits(rows.n_folds, len(X), groups=rows.groups):
        mean = X[training].mean(axis=0)
        Z, Z_held = X[training] - mean, X[held_out] - mean
        for number, factors in enumerate(filters):
            scores = Z_held @ _components(Z * factors, rank).T
            risks[number] += np.sum(Z_held**2) - np.sum(scores**2)
    mean = X.mean(axis=0)
    components = _components((X - mean) * filters[int(np.argmin(risks))], rank)
    return Fit(vectors @ mean, components @ vectors.T)


def roughness(n_columns: int, order: Order | Array) -> Array:
    """Return the penalty matrix of columns in an order."""
    if isinstance(order, str):
        differences = np.diff(np.eye(n_columns), 2, axis=0)
        return differences.T @ differences
    if isinstance(order, tuple):
        places = np.indices(order).reshape(len(order), -1).T
        adjacent = (np.abs(places[:, None] - places).sum(axis=2) == 1).astype(float)
    else:
        adjacent = np.asarray(order, dtype=float)
    laplacian = np.diag(adjacent.sum(axis=1)) - adjacent
    return laplacian @ laplacian


def _components(Z: Array, rank: int) -> Array:
    return np.linalg.svd(Z, full_matrices=False)[2][:rank]
