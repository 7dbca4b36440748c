r"""Attenuation: the diagonal of S, or its blocks within groups of columns, times :math:`1 - \alpha`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import within_groups


def attenuated_matrix(T: Any, strength: float, labels: NDArray[np.intp] | None = None) -> Any:
    r"""Return :math:`F = T - \alpha \mathcal D(T)`.

    Parameters
    ----------
    T : array of shape (n_features, n_features)
        A symmetric matrix.
    strength : float
        :math:`\alpha`, from 0 (T itself) to 1 (nothing left within groups).
    labels : ndarray of shape (n_features,), optional
        Group of every column: :math:`\mathcal D` keeps the blocks within groups. If not given, the diagonal.
    """
    return T if strength == 0 else T - strength * within_groups(T, labels)


def differential(T: Any, strength: float, E: Any, labels: NDArray[np.intp] | None = None) -> Any:
    r"""Return the derivative of :func:`attenuated_matrix` at T in the direction of a symmetric E.

    The map is linear, so this is :math:`E - \alpha \mathcal D(E)` for every T.
    """
    return attenuated_matrix(E, strength, labels)
