r"""The two strengths as a smooth correction: :math:`T(\alpha, \gamma) = G (S - \alpha D) G`.

Here :math:`D = \operatorname{diag}(S)` and :math:`G = D^{-\gamma/2}`: attenuation `alpha` weakens the
diagonal, `tempering` :math:`\gamma` divides out a part of every sample standard deviation. (0, 0) is PCA,
:math:`(\alpha, 0)` the paper's path, :math:`(\alpha, 1)` the correlation matrix less a multiple of the
identity. The derivation of what is below is in the guide, "The theory of two strengths".
"""

import numpy as np

from attenua.theory.cutoff import Array
from attenua.theory.risk import SmoothCorrection


def temper(covariance: Array, tempering: float) -> Array:
    r"""Return :math:`G S G`, every covariance divided by :math:`(S_{ii} S_{jj})^{\gamma/2}`.

    A column without variance has none to divide by; it stays out, as zeros.
    """
    # An infinite variance to the power -0 is 1 and to any other negative power 0.
    variances = np.diag(covariance)
    scales = np.where(variances > 0, variances, np.inf) ** (-tempering / 2)
    return covariance * scales[:, None] * scales


def two_strengths(covariance: Array, alpha: float, tempering: float = 0.0) -> SmoothCorrection:
    r"""Return value, linear part and mean quadratic part of :math:`T(\alpha, \gamma)` at :math:`\Sigma`.

    With :math:`C = G \Sigma G` at the population, :math:`R` the correlation matrix and
    :math:`E_m = G (S_n - \Sigma) G`, whose diagonal is :math:`e_m`,

    .. math::

        T(\Sigma) = C - \alpha \operatorname{diag}(C), \qquad
        Q = -\tfrac{\gamma}{2} \operatorname{diag}(C)^{-1} C - \tfrac{\alpha (1 - \gamma)}{2} I,

        n\, E[\text{quadratic part}] = T(\Sigma) \circ
        \{\tfrac{\gamma^2}{2} (1 + R \circ R) - \gamma\},

    the linear part being :math:`E_m + \operatorname{diag}(e_m) Q + Q^\top \operatorname{diag}(e_m)` (see
    :class:`SmoothCorrection`) and the mean Gaussian.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
        :math:`\Sigma`.
    alpha, tempering : float
        The strengths :math:`\alpha` and :math:`\gamma`.

    Returns
    -------
    SmoothCorrection

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import two_strengths
    >>> correction = two_strengths(np.array([[4.0, 1.0], [1.0, 1.0]]), alpha=0.0, tempering=1.0)
    >>> correction.target  # the correlation matrix
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> correction.drift  # -r (1 - r^2) / 2, the bias of a sample correlation times n
    array([[ 0.    , -0.1875],
           [-0.1875,  0.    ]])
    """
    C = temper(covariance, tempering)
    variances, identity = np.diag(C), np.eye(len(C))
    target = C - alpha * np.diag(variances)
    if tempering == 0:
        return SmoothCorrection(target, fluctuation=C, response=-alpha / 2 * identity)
    # A column without variance does not fluctuate: dividing by infinity gives it no response.
    relative = C / np.where(variances > 0, variances, np.inf)[:, None]
    squared_correlations = relative * relative.T
    return SmoothCorrection(
        target=target,
        fluctuation=C,
        response=-tempering / 2 * relative - alpha * (1 - tempering) / 2 * identity,
        drift=target * (tempering**2 / 2 * (1 + squared_correlations) - tempering),
    )
