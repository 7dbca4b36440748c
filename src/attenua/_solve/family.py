r"""A family of corrected matrices: :math:`T_k = S - a_k D`, one for each of some strengths :math:`a_k`.

This is the solver's whole problem. It does not depend on which corrections made S and D.
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

    @cached_property
    def variances(self) -> Array:
        """Diagonal of S, or numbers of its size, on the host."""
        variances: Array = to_host(self.moments.rough_variances)
        return variances

    @cached_property
    def scale(self) -> float:
        """Largest entry of S: rounding errors are relative to it, whatever the strength."""
        return float(self.variances.max())

    @cached_property
    def median_variance(self) -> float:
        """Median of the variances."""
        return float(np.median(self.variances))

    @cached_property
    def trace(self) -> float:
        """Trace of S, or a number of its size."""
        return float(self.variances.sum())

    @cached_property
    def lowest(self) -> Array:
        """Lower bounds of the eigenvalues of every member."""
        bound = self.moments.part_bound(self.labels) if self.strengths.any() else 0.0
        lowest: Array = self.moments.floor - np.maximum(self.strengths, 0.0) * bound
        return lowest

    @cached_property
    def part(self) -> Callable[[Any], Any]:
        """Function that multiplies by D; made once, since it may form blocks of S."""
        return self.moments.part(self.labels)

    def times(self, V: Any, member: int) -> Any:
        """Return the product of a member and some vectors."""
        product, strength = self.moments.apply(V), float(self.strengths[member])
        if strength:
            product -= strength * self.part(V)
        return product

    def member(self, k: int) -> Any:
        """Return the matrix at one strength."""
        S, a = self.moments.covariance, float(self.strengths[k])
        return S if a == 0 else S - a * self.moments.part_matrix(self.labels)

    def on_host(self, members: slice) -> Array:
        """Return some matrices as one array on the host: for small ones."""
        S, strengths = to_host(self.moments.covariance), self.strengths[members]
        if not strengths.any():
            return np.broadcast_to(S, (len(strengths), *S.shape))
        D = to_host(self.moments.part_matrix(self.labels))
        matrices: Array = S - strengths[:, None, None] * D
        return matrices
