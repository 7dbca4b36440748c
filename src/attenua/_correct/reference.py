"""The reference of a fit: other rows with the same columns, or the covariance of such rows, as users give it.

What counts is their covariance R, divided by its trace. Where the rows are fewer than the columns, they are
kept, and R is only multiplied by.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.checks import real_numbers
from attenua._data.known_rows import KnownRows, known_rows
from attenua._data.moments import Moments, ScatterMoments
from attenua._data.namespace import to_host
from attenua._data.opening import checked_matrix
from attenua._data.row_moments import RowMoments
from attenua._data.rows import HostRows

Array = NDArray[np.float64]

# Of a fitted model with more columns than this, only the components count, and no p-by-p matrix is formed.
_LARGEST_FORMED = 4_000
# Entries of a covariance may differ by this part of the largest from those of its transpose, and its
# eigenvalues may be as much below 0.
_ROUNDING = 1e-8
_EXPECTED = (
    "reference must be other rows with the columns of X, a fitted model with a covariance, or a covariance "
    "matrix"
)
_MOST_NAMES = 5


class Reference:
    """A checked reference.

    Attributes
    ----------
    moments : Moments
        Those of the reference; their covariance has the right scale only relative to its trace.
    names : list of str or None
        Names of the columns.
    """

    def __init__(self, moments: Moments, names: Sequence[Any] | None = None):
        self.moments = moments
        self.names = None if names is None else [str(name) for name in names]
        if not moments.total_variance > 0:
            raise ValueError("reference must vary; all of its rows are equal, or its covariance is 0.")

    @property
    def keeps_rows(self) -> bool:
        """Whether the reference is held as rows, and not as a p-by-p matrix."""
        return not self.moments.forms_covariance

    def divided(self, scale: Array) -> "Reference":
        """Return the same with the columns divided by a scale."""
        return Reference(self.moments.divided(scale), self.names)

    @cached_property
    def matrix(self) -> Array:
        """R, of trace one."""
        S: Array = self.moments.covariance
        return S / np.trace(S)

    def check_names(self, names: Any) -> None:
        """Raise if both the reference and the data have names of columns, and these differ."""
        if names is None or self.names is None or list(names) == self.names:
            return
        own, given = set(self.names), set(names)
        missing = [name for name in names if name not in own]
        extra = [name for name in self.names if name not in given]
        if missing or extra:
            without = [f"{_listed(missing)} is missing"] if missing else []
            with_more = [f"{_listed(extra)} is not in X"] if extra else []
            raise ValueError(f"reference must have the columns of X; {' and '.join(without + with_more)}.")
        place = next(place for place, name in enumerate(names) if name != self.names[place])
        raise ValueError(
            "reference must have the columns of X in the same order; "
            f"column {place} is {self.names[place]!r} there and {names[place]!r} in X."
        )

    def factor(self) -> Array:
        r"""Return rows :math:`\pm b_k` with :math:`\sum_k b_k b_k^\top = R`, none of them a reference row.

        :math:`b_k` are eigenvectors of R times roots of eigenvalues. With both signs the mean is 0, so as a
        reference they have a multiple of R as covariance: the same, since its trace does not matter.
        """
        values, vectors = self.moments.gram()
        kept = values > _ROUNDING**2 * values[0]
        half = self.moments.combined(vectors[:, kept]).T / np.sqrt(values[kept].sum())
        return np.concatenate([half, -half])


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_NAMES])) + (", ..." if len(names) > _MOST_NAMES else "")


def as_reference(value: Any, n_features: int) -> Reference:
    """Return the reference that a user gives, checked against the number of columns.

    Rows are an array, a data frame or table, or a sparse matrix. A model is fitted and has ``covariance_``
    (such as scikit-learn's ``LedoitWolf``), ``components_``, ``explained_variance_`` and ``noise_variance_``
    (such as ``PCA``), or ``get_covariance``. A covariance is an array or data frame that is square and
    symmetric: rows that happen to form such a matrix would count as one too.
    """
    if _is_model(value):
        return _of_model(value, n_features)
    rows, names = _checked_rows(value)
    _check_columns(rows.shape[1], n_features)
    if _is_covariance(rows):
        return Reference(_of_covariance(rows), names)
    return Reference(_reading(lambda: HostRows(rows, feature_names=names).moments()), names)


def reference_rows(value: Any) -> KnownRows | None:
    """Return the rows of a reference, to find them among others; None if it is not given as rows."""
    if value is None or _is_model(value):
        return None
    rows, _ = _checked_rows(value)
    return None if _is_covariance(rows) else known_rows(rows, "reference")


def stored_reference(value: Any, n_features: int) -> Array:
    """Return what a model file holds of a reference: its covariance, or a factor of it if that is smaller.

    A factor is for many columns only, and none of its rows is one of the reference.
    """
    reference = as_reference(value, n_features)
    moments = reference.moments
    if isinstance(moments, RowMoments) and n_features > max(_LARGEST_FORMED, 2 * len(moments.row_weights)):
        return reference.factor()
    return _scaled(reference.moments.covariance)


def described_reference(value: Any) -> str:
    """Return what kind of reference a user gave."""
    if _is_model(value):
        return f"a fitted {type(value).__name__}"
    rows, _ = _checked_rows(value)
    return "a covariance matrix" if _is_covariance(rows) else f"{rows.shape[0]:,} other rows"


def _is_model(value: Any) -> bool:
    return callable(getattr(value, "fit", None))  # a data frame may have a column of this name


def _reading(read: Callable[[], Any]) -> Any:
    """Return what is read; an error about X is one about the reference."""
    try:
        return read()
    except (TypeError, ValueError) as error:
        why = re.sub(r"\bX\b", "reference", str(error))
        raise ValueError(f"{_EXPECTED}. {why}") from None


def _checked_rows(value: Any) -> tuple[Any, list[str] | None]:
    if isinstance(value, str) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        raise ValueError(f"{_EXPECTED}, in memory; got {type(value).__name__}.")
    rows, names = _reading(lambda: checked_matrix(to_host(value)))
    # As in scikit-learn, numbers do not count as names of columns.
    has_numbers = any(isinstance(name, Integral) for name in getattr(value, "columns", ()))
    return rows, None if has_numbers else names


def _check_columns(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"reference has {found} columns, but X has {expected}; they must be the same.")


def _is_covariance(rows: Any) -> bool:
    """Whether an array is square and symmetric."""
    if not isinstance(rows, np.ndarray) or rows.shape[0] != rows.shape[1]:
        return False
    S = np.asarray(rows, dtype=float)
    return bool(np.abs(S - S.T).max(initial=0) <= _ROUNDING * np.abs(S).max(initial=0))


def _of_covariance(given: Any) -> ScatterMoments:
    """Return moments with a given covariance, or raise if it has negative eigenvalues."""
    S = real_numbers(given, f"{_EXPECTED}; its covariance must hold real numbers", booleans=True)
    if not np.isfinite(S).all():
        raise ValueError("reference must be a covariance of finite numbers; got NaN or infinity.")
    S = _scaled(S)
    try:
        np.linalg.cholesky(S + _ROUNDING * (np.trace(S) if S.any() else 1.0) * np.eye(len(S)))
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(S)
        raise ValueError(
            "reference is a square symmetric matrix, which counts as a covariance, but it has a negative "
            f"eigenvalue: {values[0] / np.abs(values).max():.2g} times the largest in size. Rows that form "
            "such a matrix cannot be a reference; add or leave out one."
        ) from None
    zeros = np.zeros(len(S))
    return ScatterMoments(1.0, zeros, S, zeros, varies=np.diag(S) > 0)


def _scaled(S: Array) -> Array:
    """Return a covariance without rounding asymmetry, in a unit that is a power of two: no digit changes."""
    S = S / np.ldexp(1.0, int(np.frexp(np.abs(S).max(initial=0))[1]))
    return (S + S.T) / 2


def _of_model(model: Any, n_features: int) -> Reference:
    names = getattr(model, "feature_names_in_", None)
    if hasattr(model, "covariance_"):
        S = np.asarray(to_host(model.covariance_))
        _check_columns(S.shape[-1], n_features)
        return Reference(_of_covariance(S), names)
    if all(hasattr(model, name) for name in ("components_", "explained_variance_", "noise_variance_")):
        components = np.asarray(to_host(model.components_), dtype=float)
        _check_columns(components.shape[1], n_features)
        variances = np.asarray(to_host(model.explained_variance_), dtype=float)
        moments = _of_components(components, variances, float(model.noise_variance_))
        scale = getattr(model, "scale_", None)  # of columns that were divided by it
        return Reference(moments if scale is None else moments.divided(1 / to_host(scale)), names)
    if hasattr(model, "get_covariance") and hasattr(model, "components_"):
        S = np.asarray(to_host(model.get_covariance()))
        _check_columns(S.shape[0], n_features)
        return Reference(_of_covariance(S), names)
    raise ValueError(
        f"{_EXPECTED}; this {type(model).__name__} is not fitted, or has no covariance. Fit it first, or "
        "give its rows."
    )


def _of_components(components: Array, variances: Array, noise: float) -> Moments:
    r"""Return moments with the covariance of probabilistic PCA (Tipping and Bishop, 1999).

    .. math::

        R = \sum_k (\lambda_k - \sigma^2)\, u_k u_k^\top + \sigma^2 I,

    which has the eigenvalues :math:`\lambda_k` of the components and the noise variance :math:`\sigma^2`
    elsewhere. For more than 4,000 columns :math:`\sigma^2` is 0.
    """
    count, p = components.shape
    if p > _LARGEST_FORMED:
        rows = components * np.sqrt(variances)[:, None]
        return RowMoments(rows, np.ones(count), np.zeros(p), offset=np.zeros(p))
    S = (components.T * np.maximum(variances - noise, 0.0)) @ components
    return _of_covariance(S + noise * np.eye(p))
