r"""Shrinkage of a whole covariance: towards no correlation, and towards equal variances.

The estimate is :math:`c\,T + \mathrm{diag}(d)`, with the corrected covariance T at the trace of the sample's.
Both maps keep this form and the trace, so wide data need no p-by-p matrix.

The second is the shrinkage of Ledoit and Wolf (2004). Its strength is relative to theirs: with their closed
form :math:`\lambda_0` of the rows that are fitted, strength s stands for

.. math::

    \lambda = \frac{s \lambda_0}{1 - \lambda_0 + s \lambda_0},

which is :math:`\lambda_0` at s = 1 and multiplies the odds by s. So a strength that training sets choose is
right for all rows too, of which less is shrunk.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._correct.correction import Correction
from attenua._data.moments import Moments

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """What the rows say of themselves before any correction."""

    total_variance: float
    ledoit_wolf: float  # the closed form of the shrinkage


class Estimate(NamedTuple):
    r"""The covariance :math:`c\,T + \mathrm{diag}(d)`."""

    moments: Moments  # T
    scale: float  # c
    diagonal: Array  # d


def whole_covariance(corrected: Moments, sample: Sample) -> Estimate:
    """Return corrected moments at the trace of the sample's, not shrunk."""
    trace = corrected.total_variance
    scale = sample.total_variance / trace if trace > 0 else 1.0
    return Estimate(corrected, scale, np.zeros(corrected.n_features))


def decoupled(estimate: Estimate, strength: float, sample: Sample) -> Estimate:
    r"""Return :math:`(1 - \mu) \Sigma + \mu\,\mathrm{diag}(\Sigma)`: correlations times :math:`1 - \mu`."""
    T, c, d = estimate
    return Estimate(T, (1 - strength) * c, d + strength * c * T.variances)


def shrunk(estimate: Estimate, strength: float, sample: Sample) -> Estimate:
    r"""Return :math:`(1 - \lambda) \Sigma + \lambda v I`, with the mean variance v of the sample."""
    T, c, d = estimate
    part = shrinkage_of(strength, sample.ledoit_wolf)
    return Estimate(T, (1 - part) * c, (1 - part) * d + part * sample.total_variance / T.n_features)


def shrinkage_of(strength: float, closed_form: float) -> float:
    r"""Return :math:`\lambda`, whose odds are those of a closed form times the strength."""
    odds = strength * closed_form
    return odds / (1 - closed_form + odds) if odds else 0.0


def strength_of(shrinkage: float, closed_form: float) -> float:
    """Return the strength that stands for a shrinkage; 1 where no other has meaning."""
    if not (0 < shrinkage < 1 and 0 < closed_form < 1):
        return 1.0
    return shrinkage / (1 - shrinkage) * (1 - closed_form) / closed_form


def ledoit_wolf(moments: Moments, fourth_powers: float) -> float:
    r"""Return Ledoit and Wolf's shrinkage.

    .. math::

        \lambda = \min\Bigl(1, \frac{\sum_i |z_i|^4 / n - \|S\|^2}{n (\|S\|^2 - (\mathrm{tr}\,S)^2 / p)}
        \Bigr)

    Parameters
    ----------
    moments : Moments
        Of the rows; their covariance is S.
    fourth_powers : float
        :math:`\sum_i |z_i|^4` of the centred rows.
    """
    norm = moments.squared_norm
    noise = fourth_powers / moments.weight - norm
    structure = moments.weight * _structure(moments, norm)
    return min(noise / structure, 1.0) if noise > 0 and structure > 0 else 0.0


def oracle_approximating(moments: Moments) -> float:
    r"""Return the shrinkage of the oracle approximating estimator (Chen, Wiesel, Eldar and Hero, 2010).

    .. math::

        \lambda = \min\Bigl(1, \frac{\|S\|^2 / p^2 + (\mathrm{tr}\,S / p)^2}{(n + 1)
        (\|S\|^2 - (\mathrm{tr}\,S)^2 / p) / p^2} \Bigr)

    This is the form of scikit-learn, which leaves out terms of order 1/p.
    """
    norm = moments.squared_norm
    structure = (moments.weight + 1) * _structure(moments, norm)
    return min((norm + moments.total_variance**2) / structure, 1.0) if structure > 0 else 1.0


def _structure(moments: Moments, norm: float) -> float:
    """Return the sum of squares of S about a multiple of the identity."""
    return norm - moments.total_variance**2 / moments.n_features


DECOUPLING = Correction(
    name="decoupling",
    kind="estimate",
    strengths=(0.0, 0.05, 0.1, 0.2, 0.4, 0.7),
    apply=decoupled,
    weakens="all correlations alike",
    how="At strength m every correlation loses the part m of itself; at 1 columns are independent.",
    price="It trusts that correlations are too large by chance. It weakens the strong ones as well.",
    colour="#7a6a58",
)
SHRINKAGE = Correction(
    name="shrinkage",
    kind="estimate",
    # Far apart where hardly anything is shrunk. Not 0: a covariance without an inverse might be chosen.
    strengths=(4**-8, 4**-6, 4**-5, 4**-4, 4**-3, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0),
    neutral=1.0,
    largest=np.inf,
    apply=shrunk,
    weakens="differences between the variances of directions",
    how="At strength 1 it is the shrinkage of Ledoit and Wolf; at strength s its odds are s times theirs.",
    price="It trusts that columns are comparable. It costs where they have different units.",
    colour="#4d6f8c",
)
