"""Which candidates are compared, and which is taken once their held-out risks are known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SELECTIONS = ("minimum", "guarded", "bounded")
# A gain over PCA must exceed this many standard errors; docs/guide/two_strengths.md shows its neighbours.
GUARD = 0.25


def checked_selection(selection: Any) -> str:
    """Return the name of a rule of choice."""
    if selection not in SELECTIONS:
        raise ValueError(f"selection must be 'minimum', 'guarded' or 'bounded'; got {selection!r}.")
    return selection


def guarded(best: int, risk_folds: Array, held_to_training: float) -> int:
    r"""Return the candidate of least risk, or PCA where its gain is lost in the noise of the splits.

    With :math:`d_1, \dots, d_J` the risks of the candidate less those of PCA on :math:`J` splits, PCA is
    taken unless

    .. math::

        -\bar d > \tfrac14\, \mathrm{se}, \qquad
        \mathrm{se}^2 = \Bigl(\frac1J + \frac{n_{\mathrm{held}}}{n_{\mathrm{training}}}\Bigr)\, s_d^2,

    where :math:`s_d^2` is the variance of the differences and the second term stands for the overlap of
    training sets (Nadeau and Bengio, 2003). One split has no variance, and the least risk is taken.

    Parameters
    ----------
    best : int
        Position of the candidate of least risk.
    risk_folds : ndarray of shape (n_splits, n_candidates)
        Held-out risks, PCA first.
    held_to_training : float
        Held-out rows of a split divided by its training rows.
    """
    differences = risk_folds[:, best] - risk_folds[:, 0]
    if best == 0 or len(differences) < 2:
        return best
    error = np.sqrt((1 / len(differences) + held_to_training) * differences.var(ddof=1))
    return best if -differences.mean() > GUARD * error else 0


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
    >>> from attenua._select.guard import variance_noise
    >>> variance_noise(np.array([1.0, 1.1, 0.9]), n=30), round(variance_noise(np.array([1.0, 2, 9]), n=30), 3)
    (1.0, 0.119)
    """
    spread = np.sum((variances - np.median(variances)) ** 2)
    noise = 2 * np.sum(variances**2) / (n - 1)
    return float(noise / spread) if noise < spread else 1.0


def within_noise(strengths: Array, variances: Array, n: float) -> NDArray[np.bool_]:
    """Return which candidates have every strength at most :func:`variance_noise`; PCA always has."""
    return (strengths <= variance_noise(variances, n)).all(axis=1)
