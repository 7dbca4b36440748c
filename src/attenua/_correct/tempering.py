r"""Tempering: :math:`t_i = s_i^{1-\gamma}` instead of the standard deviations inside every covariance."""

from typing import Any

from attenua._correct.correction import Correction, Limit
from attenua._data.moments import Moments
from attenua._data.namespace import array_namespace
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


def tempered_matrix(T: Any, strength: float, prepared: None = None) -> Any:
    r"""Return :math:`F_{ij} = T_{ij} (T_{ii} T_{jj})^{-\gamma/2}`; 0 in a row or column without variance."""
    if strength == 0:
        return T
    factors = powers(array_namespace(T).linalg.diagonal(T), -strength / 2)
    return T * factors[:, None] * factors[None, :]


def differential(T: Any, strength: float, E: Any, prepared: None = None) -> Any:
    r"""Return the derivative of :func:`tempered_matrix` at T in the direction of a symmetric E.

    .. math::

        \mathrm dF_{ij} = (T_{ii} T_{jj})^{-\gamma/2} \Bigl\{ E_{ij} - \frac{\gamma}{2} T_{ij}
        \Bigl( \frac{E_{ii}}{T_{ii}} + \frac{E_{jj}}{T_{jj}} \Bigr) \Bigr\}

    Rows and columns without variance are 0.
    """
    if strength == 0:
        return E
    variances = array_namespace(T).linalg.diagonal(T)
    factors, sums = powers(variances, -strength / 2), relative_changes(T, E)
    return (E - strength / 2 * T * sums) * factors[:, None] * factors[None, :]


def relative_changes(T: Any, E: Any) -> Any:
    r"""Return the matrix of :math:`E_{ii} / T_{ii} + E_{jj} / T_{jj}`; 0 stands for a quotient by 0."""
    diagonal = array_namespace(T).linalg.diagonal
    quotients = diagonal(E) * powers(diagonal(T), -1.0)
    return quotients[:, None] + quotients[None, :]


def powers(variances: Any, exponent: float, varies: Any = None) -> Any:
    """Return powers of the variances of columns; 0 for those that do not vary, by default the zeros."""
    xp = array_namespace(variances)
    varies = variances > 0 if varies is None else varies
    ones = xp.ones_like(variances)
    return xp.where(varies, xp.where(varies, variances, ones) ** exponent, xp.zeros_like(variances))


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
    matrix=tempered_matrix,
    differential=differential,
    limit=_limit,
    weakens="the sample variances inside covariances",
    how="At strength g a column counts with its standard deviation to the power 1 − g; at 1 that is PCA of "
    "the correlations.",
    price="It trusts that columns are comparable. It costs where their variances differ for a reason.",
    colour="#1d5a86",
)
