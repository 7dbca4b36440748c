r"""How far two right answers may be apart: bounds that follow from the machine's precision and the gap.

Sums of n products of centred numbers are off by at most n roundings. A column of values up to :math:`a_i` and
with the spread :math:`s_i` is centred to :math:`\epsilon a_i`, and sums may be taken about an origin up to
ten spreads from the mean (or, in a stream, about its first row). So the covariance is off by at most

.. math::

    D_{ij} = n \epsilon \{(100 + n) s_i s_j + a_i s_j + s_i a_j\}.

Row tempering adds what rounding does to a squared distance, by the inner products of two rows. Corrections
carry D to a bound :math:`\eta` of the error of T, to first order (there is none where rounding decides which
columns pooling joins), and an error of that size turns the leading
subspace by a sine of at most :math:`2 \eta / \mathrm{gap}` (Davis and Kahan). Where there is no gap, the
bound is 1 and nothing is claimed of the subspace; what it explains is off by no more than the rank times
:math:`2 \eta`, with a gap or without.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from tests.helpers import leading
from tests.literal import (
    NEIGHBOURS,
    At,
    centred,
    corrected_matrix,
    correlations,
    covariance_of_pairs,
    covariance_of_rows,
)

EPS = np.finfo(float).eps
# Squared distances below this part of the squared lengths are taken from differences of rows.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Estimate:
    """The leading subspace of a corrected matrix, and how well the rows determine it.

    Attributes
    ----------
    components : ndarray of shape (rank, n_features)
        Orthonormal rows.
    matrix : ndarray
        The corrected matrix T.
    doubt : float
        Bound of the error of T.
    gap : float
        Of its eigenvalues, at the cut.
    """

    components: np.ndarray
    matrix: np.ndarray
    doubt: float
    gap: float

    @property
    def sine(self):
        """Bound of the sine to the exact subspace."""
        return sine_within(self.doubt, self.gap)


def sine_within(doubt, gap):
    """Return the largest sine that an error of a matrix can turn its leading subspace by."""
    if gap == np.inf:
        return 0.0
    return min(1.0, 2 * doubt / gap) if gap > 0 else 1.0


def estimate(S, D, strengths, rank, *, adjacency=None, labels=None, reference=None):
    """Return the leading subspace of a corrected matrix by its definition.

    Parameters
    ----------
    S, D : ndarray of shape (n_features, n_features)
        A covariance, and a bound of the rounding error of its entries. Row tempering is in it.
    strengths : tests.literal.At
        By name.
    rank : int
        Dimension of the subspace.
    adjacency, labels : ndarray, optional
        Neighbours and groups of the columns.
    reference : ndarray, optional
        Other rows.
    """
    T = corrected_matrix(S, strengths, adjacency, labels, reference)
    if strengths["borrowing"]:
        S, D = borrowed(S, D, strengths["borrowing"], reference)
    values = np.linalg.eigvalsh(T)[::-1]
    gap = np.inf if rank == len(T) else values[rank - 1] - values[rank]
    solver = len(T) * EPS * np.abs(values).max()
    return Estimate(leading(T, rank), T, doubt_of_corrected(S, D, strengths) + solver, gap)


def borrowed(S, D, w, reference):
    """Return a covariance after borrowing, and a bound of the error of its entries."""
    R, doubt = covariance(reference, 0.0), doubt_of_covariance(reference)
    trace = np.trace(R)
    R, doubt = R / trace, (doubt + np.trace(doubt) * np.abs(R) / trace) / trace
    new = (1 - w) * S + w * np.trace(S) * R
    own = (1 - w) * D + w * (np.trace(D) * np.abs(R) + np.trace(S) * doubt)
    return new, own + 8 * EPS * np.abs(new)


def covariance(rows, row_tempering, weights=None):
    """Return the covariance by its definition, in which pairs of rows that are far apart may count less."""
    if row_tempering:
        return covariance_of_pairs(rows, row_tempering, weights)
    return covariance_of_rows(rows, weights)


def doubt_of_covariance(rows, row_tempering=0.0, weights=None):
    """Return a bound of the rounding error of every entry of a covariance."""
    n = len(rows)
    shares = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    from_mean = centred(rows, weights)
    sizes = np.abs(rows).max(axis=0)
    if row_tempering:
        first, second = np.array(list(combinations(range(n), 2))).T
        some, parts = rows[first] - rows[second], shares[first] * shares[second]
    else:
        some, parts = from_mean, shares
    squares = np.sum(some**2, axis=1)
    some, parts, squares = some[squares > 0], parts[squares > 0], squares[squares > 0]
    longest = 100 * np.sum(from_mean**2, axis=1).max(initial=0.0) + np.sum(sizes**2) * EPS
    off = 1 + row_tempering * np.minimum(longest / squares, 1 / _CLOSE)
    parts = parts * squares**-row_tempering if row_tempering else parts
    spreads = np.sqrt(parts @ some**2)
    products = (some.T * (parts * off)) @ np.abs(some) if row_tempering else 0.0
    unit = np.sqrt(parts.sum()) if row_tempering else 1.0
    cross = np.outer(sizes * unit, spreads)
    bound = (100 + n) * np.outer(spreads, spreads) + cross + cross.T + np.abs(products)
    return n * EPS * bound + np.outer(sizes, sizes) * (n * EPS * unit) ** 2


def doubt_of_corrected(S, D, strengths):
    """Return a bound of the error of a corrected matrix, from that of the entries of S."""
    tempering, damping, pooling, attenuation = (
        strengths[name] for name in ("tempering", "damping", "pooling", "attenuation")
    )
    s = np.sqrt(np.diag(S))
    varies = s > 1e-12 * s.max()
    if not (tempering or damping or pooling):
        return 2 * np.linalg.norm(D)
    s = np.where(varies, s, np.inf)
    relative = D / np.outer(s, s)
    own = np.diag(relative)
    t = np.where(varies, np.minimum(s, 1e300) ** (1 - tempering), 0.0)
    of_correlations = 2 * (2 + damping) * (relative + own + own[:, None])
    if not pooling:
        return (1 + attenuation) * np.linalg.norm(np.outer(t, t) * of_correlations)
    C = correlations(corrected_matrix(S, At(tempering=tempering, damping=damping)))
    if not neighbours_are_clear(C, of_correlations):
        return np.inf
    # No eigenvalue of the kernel is above 1. The last term is from the errors of t.
    of_pooled = np.linalg.norm(of_correlations) + 2 * own.max() * np.linalg.norm(C, 2)
    return (1 + attenuation) * t.max() ** 2 * of_pooled


def neighbours_are_clear(C, doubt):
    """Whether the columns that pooling joins are the same for all correlations that are so close to C.

    They are if all that are picked stay above the others, or tied with them, and above 0 or at 0.
    """
    low, high = (np.round(np.maximum(np.abs(C) + shift, 0.0), 8) for shift in (-doubt, doubt))
    sizes = np.round(np.abs(C), 8)
    for i in range(len(C)):
        order = [j for j in np.argsort(-sizes[i], kind="stable") if j != i]
        least, most = low[i, order[NEIGHBOURS:]], high[i, order[NEIGHBOURS:]]
        for j in order[:NEIGHBOURS]:
            is_tied = (least == low[i, j]) & (most == low[i, j]) & (low[i, j] == high[i, j])
            if not np.all(is_tied | (most < low[i, j])) or low[i, j] == 0 < high[i, j]:
                return False
    return True
