r"""Linear autoencoders trained on masked inputs, without the projector constraint.

Masks :math:`W` keep every coordinate with probability :math:`q`; a map :math:`A` of rank at most :math:`d`
minimises the full-output loss :math:`\frac1n \sum_i E_W \|x_i - A W x_i\|^2` (eq. ordinary-ae-loss). With
:math:`V = qS + (1 - q)\,\mathrm{diag}(S)` (eq. ae-metric) it equals
:math:`\operatorname{tr} S - 2q \operatorname{tr}(AS) + q \operatorname{tr}(A V A^\top)`.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from attenua._data.moments import Moments
from attenua._data.opening import FitData, checked_rows, open_for_fit
from attenua._data.sums import row_blocks
from attenua._estimate.fitted import fit_from_nothing
from attenua._estimate.transformer import RowsTransformer
from attenua._select.rank import resolve_rank
from attenua._solve.subspace import Subspace
from attenua_paper.rivals.masked_loss import checked_mask_rate
from attenua_paper.rivals.rule_parts import Convergence, formed_covariance, subspace_of_frame
from attenua_paper.theory import asymmetric_map, map_risk

Array = NDArray[np.float64]


class LinearMap(NamedTuple):
    """A map of rank at most d, as decoder times encoder.

    Attributes
    ----------
    encoder, decoder : ndarray of shape (p, d)
        The map is ``decoder @ encoder.T``.
    range : ndarray of shape (p, d)
        Orthonormal columns whose span contains the range of the map.
    convergence : Convergence or None
        How the iteration ended, where there was one.
    """

    encoder: Array
    decoder: Array
    range: Array
    convergence: Convergence | None = None


@dataclass(frozen=True)
class MapRule:
    """Moments in, one linear map per mask rate out, and its range as a subspace.

    Parameters
    ----------
    strengths : ndarray
        Mask rates, strictly between 0 and 1.
    """

    strengths: Array

    @abstractmethod
    def maps(self, moments: Moments, rank: int) -> Iterator[tuple[int, LinearMap]]:
        """Yield ``(i, map at strengths[i])``."""

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, range of the map at strengths[i])``."""
        for i, found in self.maps(moments, rank):
            yield i, subspace_of_frame(found.range)

    def with_strengths(self, strengths: Any) -> Self:
        """Return the same rule at other mask rates."""
        return replace(self, strengths=np.asarray(strengths))


@dataclass(frozen=True)
class AsymmetricRule(MapRule):
    r"""The best map of rank at most d, :math:`P_{S V^{-1} S}\, S V^{-1}` (eq. untied-ae-projector-form)."""

    def maps(self, moments: Moments, rank: int) -> Iterator[tuple[int, LinearMap]]:
        """Yield ``(i, map at strengths[i])``."""
        S = formed_covariance(moments, "the asymmetric autoencoder")
        for i, m in enumerate(self.strengths):
            decoder, encoder = asymmetric_map(S, rank, m)
            signs = column_signs(decoder)
            yield i, LinearMap(encoder * signs, decoder * signs, decoder * signs)


def column_signs(columns: Array) -> Array:
    """Return the signs that make the entry of largest magnitude in every column positive."""
    largest = np.argmax(np.abs(columns), axis=0)
    return np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)


class LinearAutoencoder(RowsTransformer):
    """Encode, decode and reconstruct by a linear map that need not be a projector.

    A subclass has the parameters ``n_components`` and ``mask_rate`` and says which rule finds its map.
    """

    n_components: Any
    mask_rate: float

    @abstractmethod
    def _rule(self, mask_rate: float) -> MapRule:
        """Check the other parameters and return a rule of one mask rate."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; float32 data give float32 results.
        y : ignored
            Here for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        with fit_from_nothing(self):
            if checked_mask_rate(self.mask_rate) == 0:
                raise ValueError("mask_rate must be above 0; without masks the best linear map is PCA's.")
            rule = self._rule(float(self.mask_rate))
            self._fit_moments(rule, open_for_fit(self, X, sample_weight))
        return self

    def _fit_moments(self, rule: MapRule, data: FitData) -> None:
        """Find the map from the moments and set the fitted attributes."""
        moments, dtype = data.moments.total, data.dtype
        rank = resolve_rank(self.n_components, data.moments, data.n_samples)
        ((_, found),) = rule.maps(moments, rank)
        self.encoder_: NDArray[Any] = found.encoder.T.astype(dtype)
        self.decoder_: NDArray[Any] = found.decoder.T.astype(dtype)
        self.components_: NDArray[Any] = found.range.T.astype(dtype)
        self.mean_ = (moments.mean * moments.unit).astype(dtype)
        self.n_components_ = rank
        self.n_samples_ = data.n_samples
        self._store_map(found)

    def _store_map(self, found: LinearMap) -> None:
        """Set further fitted attributes."""

    @property
    def map_(self) -> NDArray[Any]:
        """The end-to-end map, ``decoder_.T @ encoder_``, of shape (n_features, n_features)."""
        return self.decoder_.T @ self.encoder_

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the codes of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``; nothing is masked.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``(X - mean_) @ encoder_.T``.
        """
        check_is_fitted(self)
        X = checked_rows(self, X)
        return self._centred_product(X, self.encoder_.T)

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the rows that codes stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes, as from ``transform``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            ``X @ decoder_ + mean_``. It undoes ``transform`` no better than the map allows: a point of the
            range is reconstructed exactly by a projector, but not by this map.
        """
        return self._checked_scores(X) @ self.decoder_ + self.mean_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return reconstructions: rows encoded and decoded.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``; nothing is masked. Sparse rows are refused, because their
            reconstructions are not sparse: ``inverse_transform(transform(X))`` makes them knowingly.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            ``mean_ + (X - mean_) @ map_.T``.
        """
        if sp.issparse(X):
            raise ValueError(
                "predict does not take sparse X, whose reconstructions are dense; call "
                "inverse_transform(transform(X)) to get them all the same."
            )
        return self.inverse_transform(self.transform(X))

    def reconstruction_error(self, X: Any) -> NDArray[Any]:
        r"""Return the squared error of ``predict``, of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually held out.

        Returns
        -------
        ndarray of shape (n_samples,)
            :math:`\|(I - A)(x_i - \bar x)\|^2`; their mean is the clean map risk of the rows.
        """
        check_is_fitted(self)
        X = checked_rows(self, X)
        errors = []
        for block in row_blocks(*X.shape):
            rows = X[block].toarray() if sp.issparse(X) else X[block]
            centred = rows - self.mean_.astype(float)
            errors.append(np.sum((centred - (centred @ self.encoder_.T) @ self.decoder_) ** 2, axis=1))
        return np.concatenate(errors)

    def map_risk(self, covariance: ArrayLike) -> float:
        r"""Return the clean risk :math:`\operatorname{tr}\{(I-A)^\top(I-A)\Sigma\}` of the map.

        Parameters
        ----------
        covariance : array-like of shape (n_features, n_features)
            Covariance of the rows to be reconstructed, for example that of the population.

        Returns
        -------
        float
            See :func:`attenua_paper.theory.map_risk`.
        """
        return map_risk(self.map_, covariance)


class AsymmetricAutoencoder(LinearAutoencoder):
    r"""The best linear encoder-decoder pair for masked inputs, in closed form.

    Among all maps :math:`A` of rank at most :math:`d` it minimises
    :math:`\frac1n \sum_i E_W \|x_i - A W x_i\|^2`. With :math:`m` the mask rate, :math:`q = 1 - m` and
    :math:`V = qS + m\,\mathrm{diag}(S)` the solution (eq. untied-ae-solution) is

    .. math::

        A = C_d V^{-1/2}, \qquad C_d \text{ the best approximation of rank } d \text{ of } S V^{-1/2},

    and its range is the leading eigenspace of :math:`S V^{-1} S` (eq. untied-ae-range).

    Parameters
    ----------
    n_components : int, float or None, default=None
        Rank; a fraction in (0, 1) asks for as many components as ordinary PCA needs to explain that part of
        the variance; None keeps ``min(n_samples, n_features)``.
    mask_rate : float, default=0.5
        Probability that a coordinate is hidden in training, strictly between 0 and 1.

    Attributes
    ----------
    encoder_ : ndarray of shape (n_components, n_features)
        Codes are ``(X - mean_) @ encoder_.T``.
    decoder_ : ndarray of shape (n_components, n_features)
        Reconstructions are ``codes @ decoder_ + mean_``; its rows are orthonormal.
    map_ : ndarray of shape (n_features, n_features)
        The end-to-end map.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the range of the map.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    Notes
    -----
    A constant column has no variance to reconstruct: the encoder and the decoder are zero on it, and it is
    predicted by its mean. The covariance matrix is formed: wide or sparse data may have up to 5,000 columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua_paper.rivals import AsymmetricAutoencoder
    >>> X = load_digits().data[:100]
    >>> AsymmetricAutoencoder(3, mask_rate=0.2).fit(X).predict(X).shape
    (100, 64)
    """

    def __init__(self, n_components: int | float | None = None, *, mask_rate: float = 0.5):
        self.n_components = n_components
        self.mask_rate = mask_rate

    def _rule(self, mask_rate: float) -> AsymmetricRule:
        return AsymmetricRule(np.array([mask_rate]))
