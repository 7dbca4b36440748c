r"""A family of corrected matrices: :math:`T_k = S - a_k D`, one for each of some strengths :math:`a_k`.

This is all that the solver is told. Which corrections made S and D is not its business.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments
from attenua._data.namespace import to_host

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MatrixFamily:
    r"""The symmetric matrices :math:`S - a_k D`; :math:`D`, and nearly :math:`S`, are positive semidefinite.

    Parameters
    ----------
    moments : Moments
        Their covariance is S.
    strengths : ndarray of shape (n_members,)
        The numbers :math:`a_k`.
    labels : ndarray of shape (n_features,), optional
        Group of every column: D keeps the blocks of S within groups. If not given, its diagonal.
    """

    moments: Moments
    strengths: Array
    labels: NDArray[np.intp] | None = None

    @property
    def size(self) -> int:
        """Number of rows and columns of the matrices."""
        return self.moments.n_features

    @cached_property
    def _host_variances(self) -> Array:
        return to_host(self.moments.rough_variances)

    @cached_property
    def scale(self) -> float:
        """Largest entry of S: what rounding errors are relative to, whatever the strength."""
        return float(self._host_variances.max())

    @cached_property
    def median_variance(self) -> float:
        """Median of the diagonal of S."""
        return float(np.median(self._host_variances))

    @cached_property
    def total(self) -> float:
        """Trace of S, or a number of its size."""
        return float(self._host_variances.sum())

    @cached_property
    def constant_columns(self) -> NDArray[np.intp]:
        """Columns that do not vary: unless columns are smoothed, their axes have eigenvalue 0."""
        return np.flatnonzero(self._host_variances == 0)

    @cached_property
    def lowest(self) -> Array:
        """Lower bounds of the eigenvalues of every member."""
        bound = self.moments.part_bound(self.labels) if self.strengths.any() else 0.0
        return self.moments.floor - np.maximum(self.strengths, 0.0) * bound

    @cached_property
    def part(self) -> Callable[[Any], Any]:
        """Function that multiplies by D."""
        return self.moments.part(self.labels)

    def is_constant(self, tolerance: float) -> bool:
        """Whether D is a multiple of the identity, so that all members have the same eigenvectors."""
        return self.moments.part_is_constant(self.labels, tolerance)

    def member(self, k: int) -> Any:
        """Return the matrix at one strength."""
        S, a = self.moments.covariance, float(self.strengths[k])
        return S if a == 0 else S - a * self.moments.part_matrix(self.labels)

    def on_host(self) -> Array:
        """Return all matrices as one array on the host: for small ones."""
        S = to_host(self.moments.covariance)
        if not self.strengths.any():
            return np.broadcast_to(S, (len(self.strengths), *S.shape))
        return S - self.strengths[:, None, None] * to_host(self.moments.part_matrix(self.labels))
