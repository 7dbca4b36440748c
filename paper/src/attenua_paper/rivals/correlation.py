"""PCA of the correlation matrix, as a subspace of the original coordinates."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.tempering import TEMPERING, tempered
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._estimate.fitting import RuleTransformer
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace
from attenua_paper.rivals.rule_parts import OneCandidate, subspace_of_frame

Array = NDArray[np.float64]


class CorrelationRule(OneCandidate):
    r"""Moments in, the span of :math:`D^{1/2} Q_d` out, with :math:`Q_d` of the correlation matrix.

    It has one strength, 0, because there is nothing to choose.
    """

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield the subspace."""
        # A constant column has no correlation with anything: its row and column are zero.
        family = MatrixFamily(tempered(moments, 1.0), np.zeros(1))
        (leading,) = leading_subspaces(family, rank, exact=exact)
        frame = np.sqrt(moments.variances)[:, None] * leading.basis
        yield 0, subspace_of_frame(frame, gap=leading.gap, tied=leading.tied)


class CorrelationPCA(RuleTransformer):
    r"""PCA of standardised columns, taken back to the original coordinates.

    With :math:`D = \mathrm{diag}(S)` and :math:`Q_d` the leading eigenvectors of the correlation matrix
    :math:`D^{-1/2} S D^{-1/2}`, the subspace is the span of :math:`D^{1/2} Q_d`: where PCA of the
    standardised rows puts its reconstructions, in the units of the data. Inside it this is an orthogonal
    projection like every other estimator here, so that reconstruction errors can be compared.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    whiten : bool, default=False
        Scale the scores to unit variance.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_, explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_
        As in :class:`attenua.CorrectedPCACV`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    Notes
    -----
    A constant column cannot be standardised. It counts as uncorrelated with every other, and gets no
    loading while there are other columns to load on.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from attenua_paper.rivals import CorrelationPCA
    >>> CorrelationPCA(2).fit_transform(load_wine().data).shape
    (178, 2)
    """

    def __init__(self, n_components: int | float | None = None, *, whiten: bool = False):
        self.n_components = n_components
        self.whiten = whiten

    def _rule(self, n_features: int) -> Any:
        return CorrelationRule()

    def _moments(self, data: FitData) -> Moments:
        # Correlations are tempering at strength 1, with its limit.
        limit = TEMPERING.limit(1.0, data, getattr(self, "feature_names_in_", None))
        if limit is not None:
            raise ValueError(f"CorrelationPCA cannot be used: {limit.why}.")
        return data.moments.total
