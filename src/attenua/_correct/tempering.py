r"""Tempering: :math:`t_i = s_i^{1-\gamma}` instead of the standard deviations inside every covariance."""

from typing import Any

import numpy as np

from attenua._correct.correction import Correction, Limit
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._data.range import vanishing_columns

# Above this strength, columns whose variances are lost to underflow would count. Below it, what is left of
# them (a power 1 - strength of a standard deviation below 1e-145) is less than the rounding of the others.
_NEEDS_VARIANCES = 0.85


def tempered(moments: Moments, strength: float, prepared: None = None) -> Moments:
    r"""Return the moments of the columns divided by :math:`s_i^\gamma`.

    Their covariance is :math:`G S G` with :math:`G = \mathrm{diag}(s_1^{-\gamma}, \dots, s_p^{-\gamma})`. A
    column that does not vary gets the factor 0, so that its rounding errors do not grow to a variance.
    """
    if strength == 0:
        return moments
    return moments.scaled(powers(moments.variances, -strength / 2, moments.varies))


def powers(variances: Any, exponent: float, varies: Any = None) -> Any:
    """Return powers of the variances of columns; 0 for those that do not vary, by default the zeros."""
    varies = variances > 0 if varies is None else varies
    return np.where(varies, np.where(varies, variances, 1.0) ** exponent, 0.0)


def _limit(strength: float, data: FitData, names: Any) -> Limit | None:
    if strength <= _NEEDS_VARIANCES:
        return None
    columns, listed = vanishing_columns(data.moments.total, names)
    if not columns:
        return None
    return Limit(
        f"X holds numbers in {listed} that are too small compared with the others, so that their variance is "
        "lost; look for wrong values, or multiply these columns by a constant",
        warn=True,
    )


TEMPERING = Correction(
    name="tempering",
    kind="moments",
    strengths=(0.0, 0.25, 0.5, 1.0),
    apply=tempered,
    limit=_limit,
    weakens="the sample variances inside covariances",
    how="At strength g a column counts with its standard deviation to the power 1 − g; at 1 that is PCA of "
    "the correlations.",
    price="It trusts that columns are comparable. It costs where their variances differ for a reason.",
    colour="#1d5a86",
)
