"""What every estimator of a subspace does once the subspace is found."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from attenua._data.blas import limit_for_fit
from attenua._data.checks import naming_text_columns
from attenua._data.dask_rows import lazy_rows
from attenua._data.moments import Moments
from attenua._data.namespace import (
    array_namespace,
    asarray_like,
    check_same_place,
    is_dask,
    namespace_of,
)
from attenua._data.opening import FitData, checked_magnitude, checked_rows
from attenua._data.range import check_scores
from attenua._data.streams import from_arrow, refuse_batches
from attenua._data.sums import partly_centred, row_blocks
from attenua._estimate.advice import AdvisesOnParameters
from attenua._estimate.fitted import SUBSPACE, Kind, store, subspace_values, warn_of_tie
from attenua._estimate.gaussian_model import GaussianModel, quiet_overflow
from attenua._estimate.html import ShowsAnswer
from attenua._solve.subspace import Subspace


class RowsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What every transformer of this package does with rows: check them, centre them, multiply them."""

    mean_: NDArray[Any]
    n_components_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _array_api_support: ClassVar[bool] = False
    _takes_missing: ClassVar[bool] = False

    if TYPE_CHECKING:  # scikit-learn has no types

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            """Fit to rows and return their scores, as ``transform`` does."""

        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
            """Choose what ``transform`` returns."""

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _centred_product(self, X: Any, W: Any) -> Any:
        """Return ``(X - mean_) @ W``, in blocks of rows."""
        xp = array_namespace(W)
        dtype = xp.float32 if X.dtype == W.dtype == xp.float32 else xp.float64
        mean, W = xp.astype(self.mean_, dtype), xp.astype(W, dtype)
        # Rows are centred before the product, so that a large mean costs no digits.
        if sp.issparse(X):
            rows, rest = partly_centred(X.astype(dtype, copy=False), mean)
            return rows @ W - rest @ W
        blocks = [(xp.astype(X[block, :], dtype) - mean) @ W for block in row_blocks(*X.shape)]
        return blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=0)

    def _checked_scores(self, X: ArrayLike) -> Any:
        """Validate what ``inverse_transform`` is given."""
        check_is_fitted(self)
        xp = namespace_of(X) or np
        X, names = from_arrow(X)
        refuse_batches(X)
        with naming_text_columns(X):
            scores = check_array(X, dtype=[xp.float64, xp.float32], ensure_all_finite=False, input_name="X")
        checked_magnitude(scores, getattr(X, "columns", names))
        if scores.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {scores.shape[1]} columns, but {type(self).__name__} has {self.n_components_} "
                "components; inverse_transform takes scores."
            )
        return scores

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows; every subclass says how."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = self._array_api_support
        return tags


class SubspaceTransformer(AdvisesOnParameters, GaussianModel, ShowsAnswer, RowsTransformer):
    """Project on an estimated subspace and back, in the manner of scikit-learn's PCA.

    A subclass has the parameters ``n_components`` and ``whiten``. Its ``fit`` opens the rows and calls
    ``_fit_data``; its ``_fit_moments`` finds a subspace and calls ``_store``.
    """

    n_components: Any
    whiten: bool
    scale: bool = False  # not a parameter of the paper's classes
    _needs_memory: ClassVar[bool] = False  # whether rows in batches, Dask or on a device are refused
    components_: NDArray[Any]
    explained_variance_: NDArray[Any]
    explained_variance_ratio_: NDArray[Any]
    singular_values_: NDArray[Any]
    noise_variance_: float
    n_samples_: int
    shortfall_: float
    _fitted: ClassVar[dict[str, Kind]] = SUBSPACE

    def _check_parameters(self) -> None:
        """Raise for parameters that are wrong whatever the rows are."""

    def _fit_moments(self, data: FitData) -> None:
        """Find the subspace from the moments of the rows and set the fitted attributes."""
        raise NotImplementedError

    def _fit_data(self, data: FitData) -> None:
        """Set the fitted attributes."""
        with limit_for_fit(data.n_samples, data.moments.n_features):
            self._fit_moments(data.scaled() if self.scale else data)

    def _keep_rows(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> None:
        """Keep the fitted rows; a subclass that needs them later does."""

    def _store(self, moments: Moments, subspace: Subspace, n_samples: int, dtype: type) -> None:
        """Set the fitted attributes from a subspace and the moments that it was found from."""
        values = subspace_values(moments, subspace) | {"n_samples_": n_samples}
        store(self, values, moments.mean, dtype)
        # With n_components=None the user made no cut, so there is nothing to warn of.
        if subspace.tied and self.n_components is not None:
            warn_of_tie(self.n_components_)

    @property
    def loadings_(self) -> NDArray[Any]:
        r"""Components times the standard deviations of their scores, of shape (n_features, n_components).

        Entry :math:`(j, k)`, :math:`u_{kj} \sqrt{\lambda_k}` with the explained variance :math:`\lambda_k`,
        is the covariance of column j, as ``inverse_transform`` reconstructs it, with the scores on component
        k scaled to unit variance. For ordinary PCA that is also the covariance of the column itself.
        ``loadings_ @ loadings_.T`` is the covariance of the reconstructed rows. With `scale` all of this is
        about columns divided by ``scale_``, so that these covariances are correlations.
        """
        xp = array_namespace(self.components_)
        loadings: NDArray[Any] = self.components_.T * xp.sqrt(self.explained_variance_)
        return loadings

    def plot(self, X: Any, *, colour_by: ArrayLike | None = None) -> dict[str, Any]:
        """Draw scores, scree, loadings and what was compared in one figure.

        The functions of :mod:`attenua.pictures` draw each of them alone, with more options.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows the estimator was fitted to.
        colour_by : array-like of shape (n_samples,), default=None
            What colours the rows: labels, or numbers.

        Returns
        -------
        dict of str to matplotlib Axes
            "scores", "scree", "loadings" and, where strengths were compared, "steps". All are in one new
            figure: ``pca.plot(X)["scree"].figure.savefig("pca.png")``.
        """
        from attenua import pictures

        return pictures.overview(self, X, colour_by=colour_by)

    def _scale(self) -> Any:
        """Return what whitening divides by; a component without variance is left alone."""
        xp = array_namespace(self.explained_variance_)
        scale = xp.sqrt(self.explained_variance_)
        smallest = float(xp.finfo(scale.dtype).eps) * xp.max(scale)
        return xp.where(scale > smallest, scale, xp.ones_like(scale))

    def transform(self, X: Any) -> Any:
        r"""Return the scores of rows on the components.

        Missing cells (NaN) are filled with their mean given the seen ones, under the probabilistic model of
        :meth:`get_covariance`. A row that misses nothing is projected as it is.

        Parameters
        ----------
        X : array-like, sparse matrix, Arrow table or dask collection of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_components), or lazy dask array
            ``(X - mean_) @ components_.T``, divided by the standard deviations if ``whiten``. With `scale`,
            ``X - mean_`` is divided by ``scale_`` first.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_rows(self, X, "transform", self.n_components_)
        check_same_place(self, X, "transform")
        X = checked_rows(self, X)
        with quiet_overflow():
            W = self.components_ if self.scale_ is None else self.components_ / self.scale_
            scores = self._centred_product(X, W.T)
            if self._misses_cells(X, scores):
                scores = self._centred_product(self._filled(X)[0], W.T)
            scores = scores / asarray_like(scores, self._scale(), scores.dtype) if self.whiten else scores
        return check_scores(scores, "transform")

    def inverse_transform(self, X: Any) -> Any:
        """Return the rows that scores stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as from ``transform``.

        Returns
        -------
        array of shape (n_samples, n_features)
            Points of the fitted subspace, ``X @ components_ + mean_``; with `scale`,
            ``(X @ components_) * scale_ + mean_``.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazy_rows(self, X, "inverse_transform", self.n_features_in_)
        check_same_place(self, X, "inverse_transform")
        scores = self._checked_scores(X)
        xp = array_namespace(scores)
        dtype = xp.float32 if scores.dtype == self.components_.dtype == xp.float32 else xp.float64
        scores, W, mean = (xp.astype(a, dtype) for a in (scores, self.components_, self.mean_))
        with quiet_overflow():
            rows = (scores * xp.astype(self._scale(), dtype) if self.whiten else scores) @ W
            rows = (rows if self.scale_ is None else rows * xp.astype(self.scale_, dtype)) + mean
        return check_scores(rows, "inverse_transform")
