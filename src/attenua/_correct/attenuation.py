r"""Attenuation: the diagonal of S, or its blocks within groups of columns, times :math:`1 - \alpha`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.columns import column_labels
from attenua._correct.correction import Correction
from attenua._data.moments import within_groups


def attenuated_matrix(T: Any, strength: float, labels: NDArray[np.intp] | None = None) -> Any:
    r"""Return :math:`F = T - \alpha \mathcal D(T)` of a symmetric T.

    :math:`\mathcal D` keeps the blocks within the groups that `labels` gives every column, or the diagonal.
    """
    return T if strength == 0 else T - strength * within_groups(T, labels)


def differential(T: Any, strength: float, E: Any, labels: NDArray[np.intp] | None = None) -> Any:
    r"""Return the derivative of :func:`attenuated_matrix` at T in the direction of a symmetric E.

    The map is linear, so this is :math:`E - \alpha \mathcal D(E)` for every T.
    """
    return attenuated_matrix(E, strength, labels)


ATTENUATION = Correction(
    name="attenuation",
    kind="family",
    strengths=(0.0, 0.3, 0.6, 0.9, 1.0),
    matrix=attenuated_matrix,
    differential=differential,
    parameter="feature_groups",
    prepare=column_labels,
    of_variances=True,
    weakens="the sample variances on the diagonal",
    how="At strength a, that part of each variance is taken off the diagonal; at 1 only covariances stay.",
    price="It trusts that errors of variances rotate the subspace. It costs where variances differ for a "
    "reason.",
    colour="#b5541c",
)
