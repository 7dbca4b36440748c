"""``partial_fit``, for any estimator that needs nothing of its rows but their moments.

Adding a batch only adds to sums. The subspace is computed when somebody looks: at the first use of a fitted
attribute or method after a batch. A hundred batches cost one set of eigenproblems, and every answer is right.
"""

import warnings
from typing import Any

from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from attenua._data.checks import caller_level
from attenua._data.opening import FitData, stream_data, with_batch
from attenua._data.streams import one_batch
from attenua._estimate.fitted import all_or_nothing, forget


class IncrementalFit:
    """Mixin: sums of batches, and fitted attributes that are computed when they are first read.

    It goes before a class of :mod:`attenua._estimate.fitting`, whose ``_fit_moments`` sets the attributes
    of the table ``_fitted`` from the moments of the rows.
    """

    def __getattr__(self, name: str) -> Any:
        # Python asks here only for what is not set: a fitted attribute after a batch, or a mistake.
        if name in type(self)._fitted and "_stream" in vars(self):
            try:
                with all_or_nothing(self):
                    super()._fit_moments(stream_data(self._stream))
            except ValueError as error:
                raise NotFittedError(f"{name} cannot be computed yet: {error}") from error
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self) or "_stream" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _fit_moments(self, data: FitData) -> None:
        """Set the fitted attributes, and keep the sums of a stream to go on from."""
        vars(self).pop("_stream", None)
        super()._fit_moments(data)
        if data.stream is not None:
            self._stream = data.stream

    def _add_batch(
        self,
        X: Any,
        n_folds: int,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Check a batch and add it; a batch that is refused, or breaks off, changes nothing."""
        if "_stream" not in vars(self) and "components_" in vars(self):
            warnings.warn(
                "partial_fit starts again: this estimator was fitted to rows in memory, and their sums were "
                "not kept. To go on from them, fit them as a batch: fit([X]).",
                stacklevel=caller_level(),
            )
        with all_or_nothing(self):
            stream = with_batch(
                self,
                vars(self).get("_stream"),
                one_batch(X),
                n_folds,
                groups=groups,
                sample_weight=sample_weight,
            )
            if stream is not None:
                forget(self)
                self._stream = stream
