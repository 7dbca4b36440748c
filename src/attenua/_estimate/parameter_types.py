"""Types of the parameters that users write, for the signatures of the estimators and functions.

Words are literals, so that a type checker finds a wrong one. Arrays are described by what they can do, since
``numpy.typing.ArrayLike`` takes every string.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray


class HasArray(Protocol):
    """What numpy can read as an array, such as a pandas series."""

    def __array__(self) -> NDArray[Any]:
        """Return an array."""
        ...


class IsSparse(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any:
        """Return it in compressed rows."""
        ...


class HasFit(Protocol):
    """A model of scikit-learn or attenua, such as ``PCA``."""

    def fit(self, X: Any) -> Any:
        """Fit it."""
        ...


class Splitter(Protocol):
    """A splitter of scikit-learn, such as ``KFold(5)``."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[Any]:
        """Yield training rows and held-out rows."""
        ...


Numbers: TypeAlias = Sequence[float] | NDArray[Any] | HasArray
CorrectionName: TypeAlias = Literal[
    "attenuation", "tempering", "row_tempering", "damping", "smoothing", "pooling", "borrowing"
]

Alphas: TypeAlias = Literal["direct", "mask"] | Numbers
Corrections: TypeAlias = Literal["auto"] | Sequence[CorrectionName] | Mapping[CorrectionName, Numbers]
Neighbours: TypeAlias = Literal["line"] | Sequence[int] | NDArray[Any] | IsSparse | None
Reference: TypeAlias = Sequence[Sequence[float]] | NDArray[Any] | HasArray | IsSparse | HasFit | None
FeatureGroups: TypeAlias = ArrayLike | Sequence[Sequence[int]] | None
Folds: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None
RandomState: TypeAlias = int | np.random.RandomState | None
