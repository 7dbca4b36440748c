"""The rule by which powers of the lengths of rows are integrated."""

import numpy as np
from scipy.special import gammaln

from attenua.theory.cutoff import Array


def power_nodes(s: float, spacing: float, log_left_out: float) -> tuple[Array, Array]:
    r"""Return logarithms of nodes and weights for :math:`\Gamma(s)^{-1} \int_0^\infty t^{s-1} f(t)\, dt`.

    The nodes are :math:`t = \exp(\tfrac{\pi}{2} \sinh y)` for equally spaced y, the double-exponential rule
    (Takahasi and Mori, 1974). Towards 0 the integrand falls like :math:`t^s`, towards infinity like
    :math:`t^{-1/2}` or faster. Logarithms neither overflow nor vanish.

    Parameters
    ----------
    s : float
        The power, above 0.
    spacing : float
        Distance of the y.
    log_left_out : float
        How many powers of e smaller than the rest is what the rule leaves out at either end.
    """
    ends = [np.arcsinh(2 / np.pi * log_left_out / rate) for rate in (s, 0.5)]
    y = np.arange(-ends[0], ends[1], spacing)
    log_t = np.pi / 2 * np.sinh(y)
    return log_t, s * log_t + np.log(np.pi / 2 * np.cosh(y) * spacing) - gammaln(s)
