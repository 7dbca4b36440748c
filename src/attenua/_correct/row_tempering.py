r"""Row tempering: pairs of rows that lie far apart count less.

.. math::

    S_\kappa = \frac{1}{n^2} \sum_{i<j} \frac{(x_i - x_j)(x_i - x_j)^\top}{|x_i - x_j|^{2\kappa}},
    \qquad 0 \le \kappa \le 1.

This is the covariance at :math:`\kappa = 0` and Kendall's at :math:`\kappa = 1` (Visuri, Koivunen and Oja,
2000). Rows of an elliptical law keep the eigenvectors of their covariance at every strength. Pairs need no
centre, and two rows of one cluster stay close however far the cluster lies from the others; but there are as
many as the square of the rows.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.correction import Correction, Limit
from attenua._data.opening import FitData
from attenua._data.reweighting import RowsInMemory
from attenua._data.splits import Splits

Array = NDArray[np.float64]

# All pairs of more rows than this are too many.
MOST_ROWS = 1_000
# Rows nearer to each other than this, squared and as a part of twice the total variance, count as if they
# were so far apart: larger weights would leave nothing of the others but rounding errors.
_NEAREST = 1e-12


def row_tempered(rows: RowsInMemory, strengths: Sequence[float]) -> list[Splits]:
    """Return, for every strength above 0, the splits with row tempering."""
    return rows.with_pair_weights([partial(pair_weights, strength=strength) for strength in strengths])


def pair_weights(squared_distances: Array, strength: float) -> Array:
    r"""Return :math:`|x_i - x_j|^{-2\kappa}`, and 0 for equal rows, which have no direction."""
    weights = np.maximum(squared_distances, _NEAREST) ** -strength
    return np.where(squared_distances > 0, weights, 0.0)


def _limit(strength: float, data: FitData, names: Any) -> Limit | None:
    assert data.reweighter is not None
    count = data.reweighter.n_given
    if count <= MOST_ROWS:
        return None
    return Limit(f"it weighs all pairs of rows, of up to {MOST_ROWS:,} rows; X has {count:,.0f}")


ROW_TEMPERING = Correction(
    name="row_tempering",
    kind="rows",
    strengths=(0.0, 0.5, 1.0),
    apply=row_tempered,
    limit=_limit,
    weakens="long rows",
    how="A few long rows can make most of a covariance. At strength k the difference of two rows counts with "
    "its length to the power 1 − k; at 1 all are equally long.",
    price="It trusts that rows have heavy tails or outliers. Where they have none, it loses some accuracy.",
    colour="#3f8f8c",
)
