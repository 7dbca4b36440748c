r"""Tempering: :math:`t_i = s_i^{1-\gamma}` instead of the standard deviations inside every covariance."""

from attenua._data.moments import Moments


def tempered(moments: Moments, strength: float) -> Moments:
    r"""Return the moments of the columns divided by :math:`s_i^\gamma`.

    Their covariance is :math:`G S G` with :math:`G = \mathrm{diag}(s_1^{-\gamma}, \dots, s_p^{-\gamma})`. A
    column that does not vary gets the factor 0: its rounding errors are not to be blown up to a variance.

    Parameters
    ----------
    moments : Moments
        Moments of the columns as they are.
    strength : float
        :math:`\gamma`, from 0 (nothing changes) to 1 (correlations instead of covariances).
    """
    if strength == 0:
        return moments
    xp, varies = moments.xp, moments.varies
    variances = xp.where(varies, moments.variances, xp.ones_like(moments.variances))
    return moments.scaled(xp.where(varies, variances ** (-strength / 2), xp.zeros_like(variances)))
