r"""A family of corrected matrices: :math:`T_k = S - a_k D`, one for each of some strengths :math:`a_k`.

This is all that the solver is told. Which corrections made S and D is not its business.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments, within_groups
from attenua._data.namespace import to_host

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MatrixFamily:
    r"""The symmetric matrices :math:`S - a_k D`, with :math:`S` and :math:`D` positive semidefinite.

    Parameters
    ----------
    moments : Moments
        Those of which S is the covariance.
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
        return to_host(self.moments.variances)

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
        """Trace of S, and of D."""
        return float(self._host_variances.sum())

    @cached_property
    def constant_columns(self) -> NDArray[np.intp]:
        """Columns that do not vary: their axes are eigenvectors of every member, with eigenvalue 0."""
        return np.flatnonzero(self._host_variances == 0)

    @cached_property
    def lowest(self) -> Array:
        """Lower bounds of the eigenvalues of every member: S has no negative ones."""
        return -np.maximum(self.strengths, 0.0) * self._largest_of_part

    @cached_property
    def _largest_of_part(self) -> float:
        """A bound of the eigenvalues of D: of a block, its trace, or its row sums if they are less."""
        if self.labels is None:
            return self.scale
        bound = float(np.bincount(self.labels, self._host_variances).max())
        if not self.moments.forms_covariance:
            return bound
        xp = self.moments.xp
        sums = xp.sum(xp.abs(within_groups(self.moments.covariance, self.labels)), axis=1)
        return min(bound, float(xp.max(sums)))

    @cached_property
    def part(self) -> Callable[[Any], Any]:
        """Function that multiplies by D."""
        if self.labels is not None:
            return self.moments.within(self.labels)
        column = self.moments.variances[:, None]
        return lambda V: column * V

    def member(self, k: int) -> Any:
        """Return the matrix at one strength."""
        S, a = self.moments.covariance, float(self.strengths[k])
        if a == 0:
            return S
        return S - a * within_groups(S, self.labels)

    def on_host(self) -> Array:
        """Return all matrices as one array on the host: for small ones."""
        S = to_host(self.moments.covariance)
        return S - self.strengths[:, None, None] * within_groups(S, self.labels)
