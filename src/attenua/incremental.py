"""``partial_fit`` and fits from batches, for any estimator that needs nothing of its rows but their moments.

Adding a batch only adds to sums. The subspace is computed when somebody looks: at the first use of a fitted
attribute or method after a batch. A hundred batches cost one set of eigenproblems, and every answer is right.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from attenua.array_api.namespace import check_host
from attenua.batches import Batch
from attenua.comparison import FoldMoments
from attenua.distributed import dask_stream
from attenua.streams import RowStream
from attenua.validation import caller_level, check_names, checked_batch_weights, matrix_requirements


class IncrementalFit:
    """Mixin: sums of batches, and fitted attributes that are computed when they are first read.

    It goes before a class of :mod:`attenua.fitting`, whose ``_settle(moments, n_samples,
    fewest_training_rows)`` sets the attributes named in ``_settled`` from the moments of the folds.
    """

    _settled: tuple[str, ...] = (
        "components_",
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "noise_variance_",
        "n_components_",
        "n_samples_",
        "solvers_",
        "certified_",
        "_n_features_out",
        "_fit_dtype",
    )

    _settle: Callable[[FoldMoments, int, int], None]

    def __getattr__(self, name: str) -> Any:
        # Python asks here only for what is not set: a fitted attribute after a batch, or a mistake.
        if name in type(self)._settled and "_stream" in vars(self):
            try:
                self._settle_stream()
            except ValueError as error:
                raise NotFittedError(f"{name} cannot be computed yet: {error}") from error
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self) or "_stream" in vars(self)

    def _forget(self) -> None:
        """Drop batches and what was computed from them."""
        for name in (*type(self)._settled, "_stream"):
            vars(self).pop(name, None)

    def _settle_stream(self) -> None:
        stream = self._stream
        self._fit_dtype = np.float32 if stream.is_float32 else np.float64
        fewest = int(stream.n_rows - stream.counts.max()) if stream.n_folds > 1 else stream.n_rows
        self._settle(stream.moments(), stream.n_rows, fewest)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _add(
        self,
        batch: Batch,
        n_folds: int,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        min_samples: int = 1,
    ) -> None:
        """Check a batch and add it; a batch that is refused changes nothing."""
        if "_stream" not in vars(self) and "components_" in vars(self):
            warnings.warn(
                "partial_fit starts anew: this estimator was fitted to rows in memory, and their sums were "
                "not kept. To go on from them, fit them as a batch: fit([X]).",
                stacklevel=caller_level(),
            )
        before = dict(vars(self))
        try:
            stream = self._stream if "_stream" in before else None
            if stream is not None and stream.n_folds != n_folds:
                raise ValueError(f"cv was {stream.n_folds} for the first batch and is {n_folds} now.")
            X = self._checked_batch(batch, stream is None, min_samples)
            if X.shape[0] == 0:
                return
            weights = checked_batch_weights(sample_weight, X.shape[0])
            if stream is None:
                stream = RowStream(n_folds, getattr(self, "feature_names_in_", None))
            stream.add(X, groups=groups, sample_weight=weights)
            self._forget()
            self._stream = stream
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _checked_batch(self, batch: Batch, first: bool, min_samples: int) -> Any:
        check_host(batch.rows, "partial_fit, like fit with batches,")
        if batch.names is not None:
            check_names(self, batch.names, reset=first)
            return batch.rows
        requirements = matrix_requirements() | {"ensure_min_samples": min_samples}
        return validate_data(self, batch.rows, reset=first, **requirements)

    def _fit_batches(self, batches: Iterable[Batch], n_folds: int, argument: str) -> None:
        """Start anew, add all batches and compute the subspace."""
        self._forget()
        try:
            for batch in batches:
                self._add(batch, n_folds, **{argument: batch.labels}, min_samples=0)
            if "_stream" not in vars(self):
                raise ValueError("Found 0 sample(s): X gave no rows, while at least 2 are required.")
            self._settle_stream()
        except BaseException:
            self._forget()  # half of the rows are no fit
            raise

    def _fit_dask(self, X: Any, n_folds: int, **labels: Any) -> None:
        """Take the sums on the workers of a dask cluster and compute the subspace here."""
        self._forget()
        stream = dask_stream(self, X, n_folds, **labels)
        if stream.n_rows + stream.n_left_out == 0:
            raise ValueError("Found 0 sample(s): X has no rows, while at least 2 are required.")
        self._stream = stream
        try:
            self._settle_stream()
        except BaseException:
            self._forget()
            raise
