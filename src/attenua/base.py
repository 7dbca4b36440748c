"""What every estimator of a subspace shares once the subspace is known."""

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from attenua.affine import Convergence, Subspace
from attenua.array_api.axes import (
    covariance_array,
    inverse_transform_array,
    precision_array,
    score_array,
    transform_array,
)
from attenua.array_api.namespace import check_host, check_same_place, is_foreign
from attenua.axes import in_data_units, principal_axes, unbiased_total, warn_of_tie
from attenua.batches import arrow_batch, is_arrow_table, is_batches
from attenua.blocks import magnitude, row_blocks
from attenua.distributed import dask_score, is_dask, lazy_rows
from attenua.moments import Moments, Rows
from attenua.validation import caller_level, check_names, checked_weights, matrix_requirements


class RowsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What every transformer of this package does with rows: check them, centre them, multiply them."""

    mean_: NDArray[Any]
    n_components_: int

    def _open(self, X: Any, sample_weight: ArrayLike | None = None) -> Rows:
        """Validate the fitting data and put it in a frame."""
        check_host(X, type(self).__name__)
        X = validate_data(self, X, **matrix_requirements())
        weights = checked_weights(sample_weight, X.shape[0])
        self._fit_dtype = np.float32 if X.dtype == np.float32 else np.float64
        return Rows(X, weights, getattr(self, "feature_names_in_", None))

    def _checked_rows(self, X: Any) -> Any:
        """Validate rows that a fitted estimator is applied to."""
        check_is_fitted(self)
        if is_arrow_table(X):
            X, _, names = arrow_batch(X)
            check_names(self, names, reset=False)
            magnitude(X, names)
            return X
        if is_batches(X):
            raise TypeError("X holds batches of rows; give them one by one.")
        X = validate_data(self, X, reset=False, **(matrix_requirements() | {"ensure_min_samples": 1}))
        magnitude(X, getattr(self, "feature_names_in_", None))
        return X

    def _centred_product(self, X: Any, W: NDArray[Any]) -> NDArray[Any]:
        """Return ``(X - mean_) @ W``, in blocks of rows."""
        mean = self.mean_
        dtype = np.float32 if X.dtype == W.dtype == np.float32 else np.float64
        scores = np.empty((X.shape[0], W.shape[1]), dtype=dtype)
        for block in row_blocks(*X.shape):
            # Dense rows are centred before the product, so that a large mean costs no digits.
            scores[block] = X[block] @ W - mean @ W if sp.issparse(X) else (X[block] - mean) @ W
        return scores

    def _checked_scores(self, X: ArrayLike) -> NDArray[Any]:
        """Validate what ``inverse_transform`` is given."""
        check_is_fitted(self)
        scores = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if scores.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {scores.shape[1]} columns, but {type(self).__name__} has {self.n_components_} "
                "components; inverse_transform takes scores."
            )
        return scores

    def _store_convergence(self, convergence: Convergence) -> None:
        self.n_iter_ = convergence.n_iter
        self.converged_ = convergence.converged
        if convergence.start is not None:
            self.start_ = convergence.start
        if not convergence.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {convergence.n_iter} iterations; the last "
                "iterate was kept.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows; every subclass says how."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SubspaceTransformer(RowsTransformer):
    """Project on an estimated subspace and back, in the manner of scikit-learn's PCA.

    A subclass has the parameters ``n_components`` and ``whiten``; its ``fit`` opens the rows, finds a
    subspace and calls ``_store``.
    """

    n_components: Any
    whiten: bool

    def _store(self, moments: Moments, subspace: Subspace, n_samples: int) -> None:
        """Set the fitted attributes from a subspace and the moments that it was found from."""
        axes = principal_axes(moments, subspace)
        rank = len(axes.components)
        explained = axes.explained_variance
        # As many further eigenvalues as PCA's spectrum has, zeros included: scikit-learn's convention.
        left_over = min(moments.n_features, max(int(moments.weight), 1)) - rank
        unexplained = max(1 - axes.explained_variance_ratio.sum(), 0) * unbiased_total(moments)
        dtype = self._fit_dtype
        self.components_ = axes.components.astype(dtype)
        self.mean_ = (moments.mean * moments.unit).astype(dtype)
        self.explained_variance_ = explained.astype(dtype)
        self.explained_variance_ratio_ = axes.explained_variance_ratio.astype(dtype)
        self.singular_values_ = np.sqrt(explained * (moments.weight - 1)).astype(dtype)
        self.noise_variance_ = dtype(in_data_units(unexplained / left_over, moments) if left_over > 0 else 0)
        self.n_components_ = rank
        self.n_samples_ = n_samples
        self._n_features_out = rank
        if subspace.convergence is not None:
            self._store_convergence(subspace.convergence)
        # With n_components=None the user made no cut, so there is nothing to warn of.
        if subspace.tied and self.n_components is not None:
            warn_of_tie(rank)

    def _scale(self) -> NDArray[Any]:
        """Return what whitening divides by; a component without variance is left alone."""
        scale = np.sqrt(self.explained_variance_)
        smallest = np.finfo(scale.dtype).eps * scale.max(initial=0)
        return np.where(scale > smallest, scale, 1).astype(scale.dtype)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the scores of rows on the components.

        Parameters
        ----------
        X : array-like, sparse matrix, Arrow table or dask collection of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components), or lazy dask array
            ``(X - mean_) @ components_.T``, divided by the standard deviations if ``whiten``.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_rows(self, X, "transform", self.n_components_)
        if (xp := check_same_place(self, X, "transform")) is not None:
            return transform_array(self, xp, X)
        X = self._checked_rows(X)
        scores = self._centred_product(X, self.components_.T)
        return scores / self._scale() if self.whiten else scores

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the rows that scores stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as from ``transform``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Points of the fitted subspace, ``X @ components_ + mean_``.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_rows(self, X, "inverse_transform", self.n_features_in_)
        if (xp := check_same_place(self, X, "inverse_transform")) is not None:
            return inverse_transform_array(self, xp, X)
        scores = self._checked_scores(X)
        if self.whiten:
            scores = scores * self._scale()
        return scores @ self.components_ + self.mean_

    def score(self, X: Any, y: Any = None) -> float:
        r"""Return minus the mean squared reconstruction error of a row; larger is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually held out.
        y : ignored
            Here for scikit-learn.

        Returns
        -------
        float
            :math:`-\frac1n \sum_i \|(I - P)(x_i - \bar x)\|^2`. It grows with the number of components,
            so compare it at a fixed ``n_components``.
        """
        check_is_fitted(self)
        if is_dask(X):
            return dask_score(self, X)
        if (xp := check_same_place(self, X, "score")) is not None:
            return score_array(self, xp, X)
        X = self._checked_rows(X)
        W, mean = self.components_.astype(float), self.mean_.astype(float)
        total = 0.0
        for block in row_blocks(*X.shape):
            if sp.issparse(X):
                rows = X[block].astype(float)
                lengths = rows.multiply(rows).sum() - 2 * (rows @ mean).sum() + rows.shape[0] * (mean @ mean)
                total += lengths - np.sum((rows @ W.T - W @ mean) ** 2)
            else:
                centred = X[block] - mean
                total += np.sum((centred - (centred @ W.T) @ W) ** 2)
        return -float(total) / X.shape[0]

    def get_covariance(self) -> NDArray[Any]:
        r"""Return the covariance of the probabilistic model on this subspace.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            :math:`W^\top (\Lambda - \sigma^2 I) W + \sigma^2 I` with the components :math:`W`, explained
            variances :math:`\Lambda` and noise variance :math:`\sigma^2`.
        """
        check_is_fitted(self)
        W, noise = self.components_, self.noise_variance_
        if is_foreign(W):
            return covariance_array(self)
        covariance = (W.T * np.maximum(self.explained_variance_ - noise, 0)) @ W
        covariance[np.diag_indices_from(covariance)] += noise
        return covariance

    def get_precision(self) -> NDArray[Any]:
        """Return the inverse of ``get_covariance()``.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The inverse, or the pseudo-inverse where the model has no noise.
        """
        check_is_fitted(self)
        W, noise = self.components_, self.noise_variance_
        if is_foreign(W):
            return precision_array(self)
        if noise == 0:
            return np.linalg.pinv(self.get_covariance(), hermitian=True)
        model = np.maximum(self.explained_variance_ - noise, 0) + noise
        precision = (W.T * (1 / model - 1 / noise)) @ W
        precision[np.diag_indices_from(precision)] += 1 / noise
        return precision
