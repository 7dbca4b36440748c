"""How far a mean of differences over splits may be off."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def error_over_splits(differences: Array, n_folds: int) -> Array:
    r"""Return the standard error of the mean difference of each column.

    It is :math:`\sqrt{(1/J + 1/(K-1))\, s^2}` for :math:`J` differences of variance :math:`s^2` from
    :math:`K` folds. The second term stands for the overlap of training sets, which the usual
    :math:`s/\sqrt J` ignores (Nadeau and Bengio, 2003).

    Parameters
    ----------
    differences : ndarray of shape (n_splits, n_columns)
        One row for each split.
    n_folds : int
        Folds of one repetition.

    Returns
    -------
    ndarray of shape (n_columns,)
        The errors; NaN for one split.
    """
    n_splits = len(differences)
    if n_splits < 2:
        return np.full(differences.shape[1], np.nan)
    errors: Array = np.sqrt((1 / n_splits + 1 / (n_folds - 1)) * differences.var(axis=0, ddof=1))
    return errors
