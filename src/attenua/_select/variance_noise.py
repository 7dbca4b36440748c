"""How much of the spread of sample variances is noise."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def variance_noise(variances: Array, n: float) -> float:
    r"""Return the part of the spread of sample variances that their sampling noise explains, at most 1.

    .. math::

        \lambda = \min\Bigl\{1,\ \frac{\sum_i 2 v_i^2 / (n - 1)}{\sum_i (v_i - v_{\mathrm{median}})^2}\Bigr\},

    the intensity with which Opgen-Rhein and Strimmer (2007) shrink variances toward their median, with the
    noise of Gaussian rows, :math:`\mathrm{Var}(v_i) = 2 \sigma_i^4 / (n - 1)`, instead of an estimate from
    fourth moments. Variances that differ by no more than noise give 1: correcting them fully loses
    nothing. Clearly unequal ones give little, and a strong correction would move the target.

    Parameters
    ----------
    variances : ndarray of shape (n_features,)
        Sample variances, in any unit and with any divisor.
    n : float
        Number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua._select.variance_noise import variance_noise
    >>> variance_noise(np.array([1.0, 1.1, 0.9]), n=30), round(variance_noise(np.array([1.0, 2, 9]), n=30), 3)
    (1.0, 0.119)
    """
    spread = np.sum((variances - np.median(variances)) ** 2)
    noise = 2 * np.sum(variances**2) / (n - 1)
    return float(noise / spread) if noise < spread else 1.0
