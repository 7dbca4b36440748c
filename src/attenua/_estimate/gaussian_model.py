"""How far rows are from a fitted subspace, and how likely they are under its Gaussian model.

The model is that of probabilistic PCA (Tipping and Bishop, 1999): the variances of the scores along the
components, and one noise variance in all other directions.
"""

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from attenua._data.dask_rows import lazy_rows
from attenua._data.missing import has_missing, warn_of_empty_rows
from attenua._data.moments import in_data_units
from attenua._data.namespace import (
    array_namespace,
    asarray_like,
    check_same_place,
    clipped,
    is_dask,
    is_foreign,
    to_host,
)
from attenua._data.opening import checked_magnitude, checked_rows
from attenua._data.sums import divided, partly_centred, row_blocks, sparse_squared_lengths, unit_for
from attenua._select.likelihood import negative_log_likelihood
from attenua._solve.gaussian import Factored, Formed, distances_of_seen
from attenua._solve.subspace import rounding

Array = NDArray[np.float64]

# Noise that a model without any is taken to have, as a part of its largest variance, where cells are missing.
_LEAST_NOISE = 1e-9


class GaussianModel(BaseEstimator):
    """The Gaussian model of a fitted subspace, and what it says of rows."""

    components_: NDArray[Any]
    mean_: NDArray[Any]
    scale_: NDArray[Any] | None
    explained_variance_: NDArray[Any]
    noise_variance_: float

    def score_samples(self, X: Any) -> Any:
        r"""Return the log-likelihood of every row, as scikit-learn's PCA does.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            Rows, usually held out.

        Returns
        -------
        array of shape (n_samples,), or lazy dask array
            :math:`-\frac12 \{p \log 2\pi + \log\det\Sigma + (x - \bar x)^\top \Sigma^{-1} (x - \bar x)\}`
            with the :math:`\Sigma` of :meth:`get_covariance`; minus infinity where that is too large for a
            double. Of a row with missing cells, it is that of the seen ones. It is in the units of the data
            with `scale`, too, so that fits with and without can be compared.

        Notes
        -----
        Variances that cannot be told from rounding errors count as these. So where the components leave no
        noise, a row off their subspace is very unlikely, and not impossible.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_rows(self, X, "score_samples")
        return self._log_likelihoods(X, "score_samples")

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a row, as scikit-learn's PCA does; larger is better.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            Rows, usually held out.
        y : ignored
            Here for scikit-learn.

        Returns
        -------
        float
            The mean of :meth:`score_samples`. A search for ``n_components`` can maximise it; the
            :meth:`reconstruction_error` falls with every component.
        """
        check_is_fitted(self)
        if is_dask(X):
            return float(lazy_rows(self, X, "score_samples").mean().compute())
        scores = self._log_likelihoods(X, "score")
        return float(array_namespace(scores).mean(scores))

    def reconstruction_error(self, X: Any) -> Any:
        r"""Return the squared reconstruction error of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or dask collection of shape (n_samples, n_features)
            Rows, usually held out.

        Returns
        -------
        array of shape (n_samples,), or lazy dask array
            :math:`\|(I - P)(x_i - \bar x)\|^2`; infinity where that is too large for a double. Of a row with
            missing cells, the error in the seen ones, after filling as in :meth:`transform`. With `scale`,
            :math:`x_i - \bar x` is divided by ``scale_`` first.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_rows(self, X, "reconstruction_error")
        check_same_place(self, X, "reconstruction_error")
        X = checked_rows(self, X)
        with quiet_overflow():
            errors, seen = self._row_squares(X), None
            if self._misses_cells(X, errors):
                X, seen = self._filled(X)
                errors = self._row_squares(X, seen=seen)
            return self._squared_again(X, errors, seen=seen)

    def get_covariance(self) -> Any:
        r"""Return the covariance of the model.

        Returns
        -------
        array of shape (n_features, n_features)
            :math:`W^\top (\Lambda - \sigma^2 I)_+ W + \sigma^2 I` with the components :math:`W`, explained
            variances :math:`\Lambda` and noise variance :math:`\sigma^2`. It is the model of the rows, so
            `whiten` does not change it. (scikit-learn's PCA with ``whiten=True`` multiplies the components by
            the standard deviations once more, and returns the covariance of no rows.) With `scale`, it is
            taken back to the units of the data, :math:`D \Sigma D` with ``scale_`` on the diagonal of D.
        """
        check_is_fitted(self)
        W, noise = self.components_, float(self.noise_variance_)
        model = (W.T * clipped(self.explained_variance_ - noise)) @ W + noise * self._identity()
        return model if self.scale_ is None else model * self.scale_[:, None] * self.scale_[None, :]

    def get_precision(self) -> Any:
        """Return the inverse of ``get_covariance()``.

        Returns
        -------
        array of shape (n_features, n_features)
            The inverse, or the pseudo-inverse where the model has no noise.
        """
        check_is_fitted(self)
        W, noise = self.components_, float(self.noise_variance_)
        if noise == 0:
            return array_namespace(W).linalg.pinv(self.get_covariance())
        model = clipped(self.explained_variance_ - noise) + noise
        precision = (W.T * (1 / model - 1 / noise)) @ W + self._identity() / noise
        return precision if self.scale_ is None else precision / self.scale_[:, None] / self.scale_[None, :]

    def _identity(self) -> Any:
        W = self.components_
        return array_namespace(W).eye(W.shape[1], dtype=W.dtype, device=W.device)

    def _log_likelihoods(self, X: Any, method: str) -> Any:
        """Return the log-likelihood of every row; an error names the method that was called."""
        check_same_place(self, X, method)
        X = checked_rows(self, X)
        variances, noise = self._variances()
        p = self.components_.shape[1]
        with quiet_overflow():
            squares = self._row_squares(X, variances=variances, noise=noise)
            if self._misses_cells(X, squares):
                return -negative_log_likelihood(*self._of_seen(X, variances, noise))
            squares = self._squared_again(X, squares, variances=variances, noise=noise)
        log_det = float(np.sum(np.log(variances))) + (p - len(variances)) * log(noise)
        return -negative_log_likelihood(log_det, squares, p, float(np.sum(np.log(self._host_scale()))))

    def _variances(self) -> tuple[Array, float]:
        """Return the variances along the components, and the noise variance; none is below rounding."""
        variances = np.asarray(to_host(self.explained_variance_), dtype=float)
        least = max(rounding(self.components_.shape[1], float(variances.max())), np.finfo(float).tiny)
        noise = float(max(float(self.noise_variance_), least))
        is_whole = len(variances) == self.components_.shape[1]
        return np.maximum(variances, least if is_whole else noise), noise

    def _host_scale(self) -> Array:
        """Return what columns are divided by, on the host: ``scale_`` or ones."""
        p = self.components_.shape[1]
        return np.ones(p) if self.scale_ is None else np.asarray(to_host(self.scale_), dtype=float)

    def _of_seen(self, X: Any, variances: Array, noise: float) -> tuple[Array, Array, Array, Array]:
        """Return the arguments of ``negative_log_likelihood`` about the seen cells of every row."""
        X = X.toarray() if sp.issparse(X) else X
        seen = ~np.isnan(X)
        warn_of_empty_rows(seen)
        W = np.asarray(self.components_, dtype=float)
        law = Formed((W.T * variances) @ W) if len(W) == W.shape[1] else self._factored(variances, noise)
        scale = self._host_scale()
        Z = np.where(seen, X - np.asarray(self.mean_, dtype=float), 0.0) / scale
        squares, log_dets = distances_of_seen(law, Z, seen)
        return log_dets, squares, seen.sum(axis=1), seen @ np.log(scale)

    def _factored(self, variances: Array, noise: float) -> Factored:
        """Return the law of variances along the components and a noise variance, on the host."""
        W = np.asarray(self.components_, dtype=float)
        return Factored(W * np.sqrt(clipped(variances - noise))[:, None], np.full(W.shape[1], noise))

    @staticmethod
    def _misses_cells(X: Any, results: Any) -> bool:
        """Whether rows have missing cells, which make what is computed of them NaN."""
        return not is_foreign(X) and bool(np.isnan(results).any()) and has_missing(X)

    def _filled(self, X: Any) -> tuple[Any, Any]:
        """Return rows with missing cells filled by the model, and which cells were seen."""
        X = X.toarray() if sp.issparse(X) else X
        variances = np.asarray(self.explained_variance_, dtype=float)
        noise = max(float(self.noise_variance_), _LEAST_NOISE * float(variances.max()), np.finfo(float).tiny)
        seen = ~np.isnan(X)
        warn_of_empty_rows(seen)
        mean, scale = np.asarray(self.mean_, dtype=float), self._host_scale()
        filled, _ = self._factored(variances, noise).fill(np.where(seen, X - mean, 0.0) / scale, seen)
        return np.where(seen, X, filled * scale + mean).astype(X.dtype), seen

    def _squared_again(self, X: Any, squares: Any, **how: Any) -> Any:
        """Return the results of ``_row_squares``; of rows too large to square, in a unit that suits them."""
        xp = array_namespace(squares)
        held = xp.isfinite(squares)
        if bool(xp.all(held)):
            return squares
        unit = unit_for(max(checked_magnitude(X), checked_magnitude(self.mean_[None, :])))
        again = in_data_units(self._row_squares(X, unit, **how), unit)
        return xp.where(held, squares, xp.where(xp.isnan(again), xp.full_like(again, np.inf), again))

    def _row_squares(
        self,
        X: Any,
        unit: float = 1.0,
        *,
        seen: Any = None,
        variances: Array | None = None,
        noise: float = 1.0,
    ) -> Any:
        """Return the squared reconstruction error of every row, in a unit; over the seen cells if given.

        With the variances along the components, the squared Mahalanobis distance from the mean.
        """
        squares = []
        for errors, scores in self._errors_and_scores(X, unit, seen):
            if variances is None:
                squares.append(errors)
                continue
            xp = array_namespace(scores)
            within = xp.sum(scores**2 / asarray_like(scores, variances), axis=1)
            # If nothing is left out, errors are rounding errors.
            squares.append(within + errors / noise if len(variances) < self.components_.shape[1] else within)
        return array_namespace(self.components_).concat(squares)

    def _errors_and_scores(self, X: Any, unit: float, seen: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the squared errors and the scores of blocks of rows, in a unit."""
        xp = array_namespace(self.components_)
        W, mean = (xp.astype(a, xp.float64) for a in (self.components_, self.mean_))
        divisor = unit if self.scale_ is None else unit * xp.astype(self.scale_, xp.float64)
        mean = mean / divisor
        for block in row_blocks(*X.shape):
            if sp.issparse(X):
                rows, rest = partly_centred(divided(X[block].astype(float), divisor), mean)
                scores = rows @ W.T - W @ rest
                # |c - W's|^2 with s = Wc. Components that are rounded to float32 are not quite orthonormal.
                explained = np.sum(scores * (2 * scores - scores @ (W @ W.T)), axis=1)
                yield np.maximum(sparse_squared_lengths(rows, rest) - explained, 0.0), scores
            else:
                centred = xp.astype(X[block, :], xp.float64) / divisor - mean
                scores = centred @ W.T
                squares = (centred - scores @ W) ** 2
                yield xp.sum(squares if seen is None else squares * seen[block], axis=1), scores


def quiet_overflow() -> np.errstate:
    """Silence numpy about results beyond the range of doubles, which are checked for afterwards."""
    return np.errstate(over="ignore", invalid="ignore")
