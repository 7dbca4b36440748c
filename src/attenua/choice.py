"""Which candidate is taken once all held-out risks are known: the least, or PCA where that is unsure."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SELECTIONS = ("minimum", "guarded")
# So many standard errors must a gain over PCA exceed; see docs/guide/two_strengths.md for its neighbours.
GUARD = 0.25


def checked_selection(selection: Any) -> str:
    """Return the name of a rule of choice."""
    if selection not in SELECTIONS:
        raise ValueError(f"selection must be 'minimum' or 'guarded'; got {selection!r}.")
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
