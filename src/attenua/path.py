"""The attenuation path: one leading subspace for every strength."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from attenua._correct.attenuation import checked_alphas
from attenua._data.moments import in_data_units
from attenua._data.namespace import array_namespace, to_host
from attenua._data.opening import open_for_fit
from attenua._estimate.fitted import principal_axes, warn_of_tie
from attenua._estimate.html import result_html
from attenua._estimate.parameter_types import Alphas, FeatureGroups
from attenua._select.rank import resolve_rank
from attenua._select.rule import attenuation_rule

Array = NDArray[np.float64]


class _ColumnsSeen(BaseEstimator):  # type: ignore[misc]
    """Has ``n_features_in_``, and ``feature_names_in_`` where columns have names, once rows are opened."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.array_api_support = True
        return tags


@dataclass(frozen=True)
class AttenuationPath:
    """Leading subspaces along a grid of strengths.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, increasing from 0, which is PCA.
    components : ndarray of shape (n_alphas, n_components, n_features)
        Orthonormal rows that span the subspace of each strength, ordered by the variance they explain.
    mean : ndarray of shape (n_features,)
        Mean of the rows.
    explained_variance : ndarray of shape (n_alphas, n_components)
        Variance of the scores on each component (divided by n - 1).
    explained_variance_ratio : ndarray of shape (n_alphas, n_components)
        The same as a part of the total variance.
    gap : ndarray of shape (n_alphas,)
        Eigengap of the attenuated covariance at the cut; a small one means an ill-determined subspace.
    tied : ndarray of shape (n_alphas,)
        Whether the cut falls on equal eigenvalues, so that the subspace is one choice among many.
    n_samples : int
        Number of rows.
    """

    alphas: Array
    components: Array
    mean: Array
    explained_variance: Array
    explained_variance_ratio: Array
    gap: Array
    tied: NDArray[np.bool_]
    n_samples: int

    @property
    def n_components(self) -> int:
        """Dimension of the subspaces."""
        return int(self.components.shape[1])

    def angles_to_pca(self) -> Array:
        """Return the principal angles (radians, decreasing) between each subspace and that of PCA.

        Returns
        -------
        ndarray of shape (n_alphas, n_components)
            Zero for the first strength, which is ordinary PCA.
        """
        components = to_host(self.components)
        pca = components[0]
        # Sines, not cosines, are accurate for the small angles that matter here.
        outside = components - (components @ pca.T) @ pca
        angles: Array = np.arcsin(np.clip(np.linalg.svd(outside, compute_uv=False), 0, 1))
        return angles

    def _repr_html_(self) -> str:
        """Show the path in a notebook."""
        angles = np.degrees(self.angles_to_pca()[:, 0])
        captured = 100 * self.explained_variance_ratio.sum(axis=1)
        columns = zip(self.alphas, captured, angles, self.gap, self.tied, strict=True)
        return result_html(
            "Attenuation path",
            [
                ("rows, columns", f"{self.n_samples:,}, {self.mean.shape[0]:,}"),
                ("components", f"{self.n_components}"),
                ("strengths", f"{len(self.alphas)}, from {self.alphas[0]:g} to {self.alphas[-1]:g}"),
                ("largest turn from PCA", f"{angles.max():.2f}°"),
            ],
            ["alpha", "variance captured, %", "largest angle to PCA, °", "gap", "tied"],
            [
                (f"{a:g}", f"{c:.2f}", f"{t:.2f}", f"{g:.4g}", "yes" if tie else "")
                for a, c, t, g, tie in columns
            ],
            curve=(self.alphas, captured, "variance captured against strength"),
            mark_least=False,
        )


def attenuation_path(
    X: Any,
    n_components: int | float | None = None,
    *,
    alphas: Alphas = "direct",
    feature_groups: FeatureGroups = None,
    sample_weight: ArrayLike | None = None,
) -> AttenuationPath:
    r"""Compute the leading subspaces of :math:`T_\alpha` along a path of strengths :math:`\alpha`.

    :math:`T_\alpha = S - \alpha\,\mathrm{diag}(S)` with the sample covariance :math:`S`: the path from PCA to
    hollowed PCA.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
        Data, one row per sample; whatever :class:`attenua.AttenuatedPCA` can be fitted to, with missing cells
        (NaN) too where rows are in memory.
    n_components : int, float or None
        Rank; a fraction asks for as many components as ordinary PCA needs to explain that part of the
        variance; None keeps as many as the data allow.
    alphas : {"direct", "mask"} or array-like
        Strengths: "direct" is 0, 0.05, ..., 1 with 0.49, "mask" the same up to 0.49. 0 is always included.
    feature_groups : None, labels, or lists of column indices
        Partition of the columns; attenuates within-group blocks of S instead of its diagonal.
    sample_weight : array-like of shape (n_samples,), optional
        Frequencies of the rows.

    Returns
    -------
    AttenuationPath
        Strengths, components, explained variances and eigengaps.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import attenuation_path
    >>> path = attenuation_path(load_digits().data[:100], 2, alphas=[0, 0.5, 1])
    >>> path.components.shape
    (3, 2, 64)
    """
    grid = checked_alphas(alphas)
    columns = _ColumnsSeen()
    data = open_for_fit(columns, X, sample_weight)
    rank = resolve_rank(n_components, data.moments, data.n_samples)
    total = data.moments.total
    rule = attenuation_rule(grid, columns.n_features_in_, feature_groups)
    found = [subspace for _, subspace in rule.subspaces(total, rank)]
    axes = [principal_axes(total, subspace) for subspace in found]
    tied = np.array([subspace.tied for subspace in found])
    if tied.any() and n_components is not None:
        warn_of_tie(rank, f" at alpha = {', '.join(f'{alpha:g}' for alpha in grid[tied])}")
    xp = array_namespace(total.mean)
    dtype = xp.float32 if data.dtype is np.float32 else xp.float64
    return AttenuationPath(
        alphas=grid,
        components=xp.astype(xp.stack([a.components for a in axes]), dtype),
        mean=xp.astype(total.mean * total.unit, dtype),
        explained_variance=np.stack([a.explained_variance for a in axes]).astype(data.dtype),
        explained_variance_ratio=np.stack([a.explained_variance_ratio for a in axes]).astype(data.dtype),
        gap=in_data_units(np.array([subspace.gap for subspace in found]), total.unit),
        tied=tied,
        n_samples=data.n_samples,
    )
