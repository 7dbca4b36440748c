"""How much of what is seen is noise: the standard error of a gain, and the noise in sample variances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gain_error(differences: Array, held_out_ratio: float) -> Any:
    r"""Return the standard error of the mean of differences over splits, for each column.

    .. math::

        \mathrm{se}^2 = \Bigl(\frac1J + \frac{n_{\mathrm{held}}}{n_{\mathrm{training}}}\Bigr)\, s_d^2

    for :math:`J` differences of variance :math:`s_d^2`. The second term stands for the overlap of training
    sets, which the usual :math:`s_d/\sqrt J` ignores (Nadeau and Bengio, 2003).

    Parameters
    ----------
    differences : ndarray of shape (n_splits,) or (n_splits, n_columns)
        One entry or row for each split.
    held_out_ratio : float
        Mean over the splits of held-out rows per training row.

    Returns
    -------
    float, or ndarray of shape (n_columns,)
        NaN for one split.
    """
    n_splits = len(differences)
    if n_splits < 2:
        return np.full(differences.shape[1:], np.nan)[()]
    return np.sqrt(1 / n_splits + held_out_ratio) * differences.std(axis=0, ddof=1)


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
    >>> from attenua._select.noise import variance_noise
    >>> variance_noise(np.array([1.0, 1.1, 0.9]), n=30), round(variance_noise(np.array([1.0, 2, 9]), n=30), 3)
    (1.0, 0.119)
    """
    spread = np.sum((variances - np.median(variances)) ** 2)
    noise = 2 * np.sum(variances**2) / (n - 1)
    return float(noise / spread) if noise < spread else 1.0
