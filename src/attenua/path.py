"""The attenuation path: one leading subspace of ``S - alpha*diag(S)`` for every strength."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.feature_groups import column_labels
from attenua.masks import within_groups
from attenua.moments import Moments, Rows
from attenua.rank import resolve_rank
from attenua.spectrum import TIE_TOLERANCE, AffineFamily, Subspace, leading_subspaces
from attenua.validation import checked_matrix, checked_strengths, checked_weights

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AttenuationRule:
    r"""Moments in, one subspace per strength out: the leading ones of :math:`S - \alpha \mathcal D(S)`.

    Parameters
    ----------
    strengths : ndarray
        Values of alpha.
    labels : ndarray of shape (n_features,), optional
        Group of every column; attenuates within-group blocks in the place of the diagonal.
    """

    strengths: Array
    labels: NDArray[np.intp] | None = None

    def subspaces(self, moments: Moments, rank: int) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        return leading_subspaces(self._family(moments), self.strengths, rank)

    def _family(self, moments: Moments) -> AffineFamily:
        variances, labels = moments.variances, self.labels

        def matrices() -> tuple[Array, Array]:
            S = moments.covariance
            return S, variances if labels is None else within_groups(S, labels)

        def part(V: Array) -> Array:
            return variances[:, None] * V if labels is None else moments.apply_within(V, labels)

        if moments.forms_covariance and labels is not None:
            blocks = within_groups(moments.covariance, labels)
            part = blocks.__matmul__  # the blocks are cut out once, not at every product
        return AffineFamily(
            moments.n_features, moments.apply, part, variances, matrices, moments.forms_covariance
        )


@dataclass(frozen=True)
class AttenuationPath:
    """Leading subspaces along a grid of strengths.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, increasing.
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
    n_samples : int
        Number of rows.
    """

    alphas: Array
    components: Array
    mean: Array
    explained_variance: Array
    explained_variance_ratio: Array
    gap: Array
    n_samples: int

    @property
    def n_components(self) -> int:
        """Dimension of the subspaces."""
        return self.components.shape[1]

    def angles_to_pca(self) -> Array:
        """Return the principal angles (radians, decreasing) between each subspace and the first.

        Returns
        -------
        ndarray of shape (n_alphas, n_components)
            The first strength is 0, ordinary PCA, unless other strengths were asked for.
        """
        pca = self.components[0]
        # Sines, not cosines, are accurate for the small angles that matter here.
        outside = self.components - (self.components @ pca.T) @ pca
        return np.arcsin(np.clip(np.linalg.svd(outside, compute_uv=False), 0, 1))


@dataclass(frozen=True)
class PrincipalAxes:
    """A subspace turned so that scores are uncorrelated and ordered by variance.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows; the loading of largest magnitude in each is positive.
    explained_variance : ndarray of shape (n_components,)
        Variance of the scores in the data's own units, divided by n - 1.
    """

    components: Array
    explained_variance: Array


def principal_axes(moments: Moments, subspace: Subspace) -> PrincipalAxes:
    r"""Rotate a basis so that :math:`U^\top S U` is diagonal and decreasing, with fixed signs."""
    variances, rotation = np.linalg.eigh(moments.compress(subspace.basis))
    variances, rotation = variances[::-1], rotation[:, ::-1]
    components = (subspace.basis @ _settle_ties(variances, rotation, subspace.values)).T
    rows = np.arange(len(components))
    # Loadings within rounding of the largest count as equal, so that the sign is the same on every machine.
    magnitudes = np.abs(components)
    largest = np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max(axis=1, keepdims=True), axis=1)
    components *= np.where(components[rows, largest] < 0, -1.0, 1.0)[:, None]
    explained = np.maximum(variances, 0.0) * (moments.weight / (moments.weight - 1)) * moments.unit**2
    return PrincipalAxes(components, explained)


def _settle_ties(variances: Array, rotation: Array, values: Array) -> Array:
    """Where components explain the same variance (often none), order them by the attenuated eigenvalue."""
    rotation = rotation.copy()
    distinct = -np.diff(variances) > TIE_TOLERANCE * np.abs(variances).max()
    for tied in np.split(np.arange(len(variances)), np.flatnonzero(distinct) + 1):
        if len(tied) > 1:
            R = rotation[:, tied]
            rotation[:, tied] = R @ np.linalg.eigh((R.T * values) @ R)[1][:, ::-1]
    return rotation


def attenuation_path(
    X: Any,
    n_components: int | float | None = None,
    *,
    alphas: str | ArrayLike = "direct",
    feature_groups: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AttenuationPath:
    r"""Compute the leading subspaces of :math:`S - \alpha\,\mathrm{diag}(S)` along a path of strengths.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data, one row a sample.
    n_components : int, float or None
        Rank; a fraction asks for as many components as ordinary PCA needs to explain that part of the
        variance; None keeps as many as the data allow.
    alphas : {"direct", "mask"} or array-like
        Strengths: "direct" is 0, 0.05, ..., 1 with 0.49, "mask" the same up to 0.49. 0 is always included.
    feature_groups : None, labels, or lists of column indices
        Partition of the columns; attenuates within-group blocks of S in the place of its diagonal.
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
    X, names = checked_matrix(X)
    rows = Rows(X, checked_weights(sample_weight, X.shape[0]), names)
    moments = rows.moments()
    rank = resolve_rank(n_components, moments, X.shape[0])
    strengths = checked_strengths(alphas)
    rule = AttenuationRule(strengths, column_labels(feature_groups, X.shape[1]))
    found = dict(rule.subspaces(moments, rank))
    axes = [principal_axes(moments, found[i]) for i in range(len(strengths))]
    explained = np.stack([a.explained_variance for a in axes])
    divisor = moments.weight / (moments.weight - 1) * moments.unit**2
    total = moments.total_variance * divisor
    return AttenuationPath(
        alphas=strengths,
        components=np.stack([a.components for a in axes]),
        mean=moments.mean * moments.unit,
        explained_variance=explained,
        explained_variance_ratio=explained / total if total > 0 else np.zeros_like(explained),
        gap=np.array([found[i].gap for i in range(len(strengths))]) * moments.unit**2,
        n_samples=X.shape[0],
    )
