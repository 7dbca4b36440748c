r"""Row tempering: long rows, or pairs of rows that lie far apart, count less.

With pairs of rows, where rows are few,

.. math::

    S_\kappa = \frac{1}{n^2} \sum_{i<j} \frac{(x_i - x_j)(x_i - x_j)^\top}{|x_i - x_j|^{2\kappa}},
    \qquad 0 \le \kappa \le 1,

and with single rows, where they are many,

.. math::

    S_\kappa \propto \sum_i w_i\,(x_i - m)(x_i - m)^\top, \qquad w_i = |x_i - c|^{-2\kappa},
    \qquad m = \sum_i w_i x_i \Big/ \sum_i w_i,

with the spatial median :math:`c` of all rows, or of a sample, and sums over the training rows. Neither
centre follows a single row that is far away, as a mean would. Both matrices are the covariance at
:math:`\kappa = 0`. At :math:`\kappa = 1` the second is the spatial-sign covariance, but for its centre
(Locantore et al., 1999; generalised by Raymaekers and Rousseeuw, 2019), and the first is Kendall's (Visuri,
Koivunen and Oja, 2000). Rows of an elliptical law keep the eigenvectors of its covariance at every strength.
Pairs need no centre, and two rows of one cluster stay close however far the cluster lies from the others; but
there are as many as the square of the rows.

Neither is a map of S, so there is no differential: the noise of :math:`S_\kappa` is its own.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.correction import Correction, Limit
from attenua._data.opening import FitData
from attenua._data.reweighting import Reweighting
from attenua._data.splits import Splits

Array = NDArray[np.float64]

# Rows nearer to each other than this, squared and as a part of twice the total variance, count as if they
# were so far apart: larger weights would leave nothing of the others but rounding errors.
_NEAREST = 1e-12
# The same for rows near the centre, as a part of the median, times the number of rows. The centre is off by
# about as much: a row that lies on it by chance would outweigh all others.
_NEAREST_TO_CENTRE = 0.1


def row_tempered(rows: Reweighting, strengths: Sequence[float]) -> list[Splits]:
    """Return, for every strength above 0, the splits with row tempering."""
    if rows.has_few_rows:
        return rows.with_pair_weights([partial(pair_weights, strength=strength) for strength in strengths])
    nearest = _NEAREST_TO_CENTRE / rows.weight
    return rows.with_row_weights(
        [partial(row_weights, strength=strength, nearest=nearest) for strength in strengths]
    )


def row_weights(squared_lengths: Array, strength: float, nearest: float = _NEAREST) -> Array:
    r"""Return :math:`|z_i|^{-2\kappa}`, with squared lengths of at least `nearest`."""
    return np.maximum(squared_lengths, nearest) ** -strength


def pair_weights(squared_distances: Array, strength: float) -> Array:
    r"""Return :math:`|x_i - x_j|^{-2\kappa}`, and 0 for equal rows, which have no direction."""
    return np.where(squared_distances > 0, row_weights(squared_distances, strength), 0.0)


def _limit(strength: float, data: FitData, names: Any) -> Limit | None:
    if data.reweighter is not None:
        return None
    return Limit(
        "it reads the rows again, and they came from an iterator or from partial_fit; give a list of "
        "batches, a dataset or an array",
        warn=True,
    )


ROW_TEMPERING = Correction(
    name="row_tempering",
    kind="rows",
    strengths=(0.0, 0.5, 1.0),
    apply=row_tempered,
    limit=_limit,
    weakens="long rows",
    how="A few long rows can make most of a covariance. At strength k a row, or the difference of two rows "
    "where they are few, counts with its length to the power 1 − k; at 1 all are equally long.",
    price="It trusts that rows have heavy tails or outliers. Where they have none, it loses some accuracy.",
    colour="#3f8f8c",
)
