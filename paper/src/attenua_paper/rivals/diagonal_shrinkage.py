"""Shrinkage of the covariance toward its diagonal: attenuation with a negative strength."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import checked_weights
from attenua._data.moments import Moments
from attenua._data.opening import checked_matrix, open_rows
from attenua._data.rows import HostRows
from attenua._data.splits import FoldMoments
from attenua._estimate.fitted import fit_from_nothing
from attenua._estimate.transformer import SubspaceTransformer
from attenua._select.rank import resolve_rank
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace, leading_part

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ShrinkageRule:
    r"""Moments in, the leading subspaces of :math:`(1 - \lambda) S + \lambda D` out.

    Parameters
    ----------
    strengths : ndarray
        Intensities :math:`\lambda` from 0 (PCA) to 1.
    """

    strengths: Array

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        some = np.flatnonzero(self.strengths < 1)
        part = 1 - self.strengths[some]
        # (1 - λ) S + λ D = (1 - λ) (S - α D) with α = -λ / (1 - λ).
        family = MatrixFamily(moments, -self.strengths[some] / part)
        for i, factor, subspace in zip(some, part, leading_subspaces(family, rank, exact=exact), strict=True):
            yield int(i), subspace._replace(values=factor * subspace.values, gap=factor * subspace.gap)
        for i in np.flatnonzero(self.strengths == 1):
            yield int(i), _largest_variances(moments.variances, rank)

    def with_strengths(self, strengths: Any) -> "ShrinkageRule":
        """Return the same rule at other intensities."""
        return ShrinkageRule(np.asarray(strengths))


def _largest_variances(variances: Array, rank: int) -> Subspace:
    """Return the leading subspace of a diagonal matrix: axes."""
    order = np.argsort(-variances, kind="stable")[: rank + 1]
    axes = np.zeros((len(variances), len(order)))
    axes[order, np.arange(len(order))] = 1.0
    return leading_part(variances[order], axes, rank, float(variances.max()))


def shrinkage_intensity(X: Any, sample_weight: ArrayLike | None = None) -> float:
    r"""Return Schaefer and Strimmer's intensity of shrinkage toward the diagonal.

    .. math::

        \lambda^* = \min\Bigl\{1, \frac{\sum_{i \ne j} \widehat{\mathrm{Var}}(s_{ij})}
                                         {\sum_{i \ne j} s_{ij}^2}\Bigr\}, \qquad
        \widehat{\mathrm{Var}}(s_{ij}) = \frac{n}{(n-1)^3} \sum_k (w_{kij} - \bar w_{ij})^2,

    with :math:`w_{kij} = (x_{ki} - \bar x_i)(x_{kj} - \bar x_j)` and the unbiased
    :math:`s_{ij} = \frac{n}{n-1} \bar w_{ij}`. It is the intensity of
    ``DiagonalShrinkagePCA(intensity="auto")``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    sample_weight : array-like of shape (n_samples,), optional
        Frequencies: a row of weight 2 counts as two rows.

    Returns
    -------
    float
        From 0 (no shrinkage) to 1 (the diagonal alone).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from attenua_paper.rivals import shrinkage_intensity
    >>> round(shrinkage_intensity(load_iris().data[:20]), 4)
    0.0922
    """
    matrix, names = checked_matrix(X)
    return _intensity_of(HostRows(matrix, checked_weights(sample_weight, matrix.shape[0]), names))


def _intensity_of(rows: HostRows) -> float:
    r"""Return the intensity of opened rows, which are read once more for their fourth moments.

    No p-by-p matrix is needed beyond what the moments hold: over all pairs,
    :math:`\sum_{ij} w_{kij}^2 = \|x_k - \bar x\|^4`.
    """
    moments = rows.moments()
    n = moments.weight
    fourth = 0.0
    for block, weights in rows.centred_blocks(moments):
        squares = block**2
        fourth += float(weights @ (squares.sum(axis=1) ** 2 - (squares**2).sum(axis=1)))
    between = moments.squared_norm - float(np.sum(moments.variances**2))
    if between <= 0:
        return 1.0  # nothing lies off the diagonal
    variance = n / (n - 1) ** 3 * (fourth - n * between)
    return float(np.clip(variance / (between * (n / (n - 1)) ** 2), 0.0, 1.0))


class DiagonalShrinkagePCA(SubspaceTransformer):
    r"""PCA of the covariance shrunk toward its diagonal, for comparison.

    The components span the leading eigenvectors of :math:`(1 - \lambda) S + \lambda\,\mathrm{diag}(S)`,
    by default with the intensity of Schaefer and Strimmer [1]_
    (:func:`attenua_paper.rivals.shrinkage_intensity`). Up to a factor this is attenuation with the strength
    :math:`\alpha = -\lambda / (1 - \lambda)`: it strengthens the diagonal that attenuation weakens.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    intensity : "auto" or float, default="auto"
        Intensity from 0 to 1, or "auto" for that of Schaefer and Strimmer.
    whiten : bool, default=False
        Scale the scores to unit variance.

    Attributes
    ----------
    intensity_ : float
        The intensity used.
    components_, mean_, explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_
        As in :class:`attenua.CorrectedPCACV`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    References
    ----------
    .. [1] J. Schaefer and K. Strimmer, "A shrinkage approach to large-scale covariance matrix estimation
       and implications for functional genomics", Statistical Applications in Genetics and Molecular
       Biology 4, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua_paper.rivals import DiagonalShrinkagePCA
    >>> round(DiagonalShrinkagePCA(3).fit(load_digits().data[:100]).intensity_, 4)
    0.1315
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        intensity: Any = "auto",
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.intensity = intensity
        self.whiten = whiten

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data. Sparse data are never made dense as a whole; float32 data give float32 results.
        y : ignored
            Here for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        with fit_from_nothing(self):
            self._fit_moments(open_rows(self, X, sample_weight))
        return self

    def _fit_moments(self, rows: Any) -> None:
        self.intensity_ = self._intensity(rows)
        moments = rows.moments()
        rank = resolve_rank(self.n_components, FoldMoments([moments]), rows.n_samples)
        ((_, subspace),) = ShrinkageRule(np.array([self.intensity_])).subspaces(moments, rank)
        self._store(moments, subspace, rows.n_samples, rows.dtype)

    def _intensity(self, rows: Any) -> float:
        if isinstance(self.intensity, str) and self.intensity == "auto":
            return _intensity_of(rows)
        is_number = isinstance(self.intensity, (int, float, np.number)) and not isinstance(
            self.intensity, bool
        )
        if not is_number or not 0 <= self.intensity <= 1:
            raise ValueError(f"intensity must be 'auto' or a number from 0 to 1; got {self.intensity!r}.")
        return float(self.intensity)
