"""Rows that must not be fitted, found again by a number for each of them.

The rows of a reference must not be among those fitted, where they would be held out as if nobody had seen
them. One number of 64 bits stands for each row, the same for dense and sparse rows: two different rows share
it with a probability of 5e-20.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.sums import row_blocks

Digests = NDArray[np.uint64]

# Multipliers of splitmix64 (Steele, Lea and Flood, 2014).
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class KnownRows(NamedTuple):
    """Rows that were seen elsewhere.

    Attributes
    ----------
    argument : str
        What holds them, for the error.
    n_features : int
        Number of their columns.
    digests : ndarray of uint64
        One number for each row, sorted, without repeats.
    """

    argument: str
    n_features: int
    digests: Digests

    def refuse(self, rows: Any) -> None:
        """Raise if some of the rows are known. A row whose cells are all equal, such as 0, never is."""
        if rows.shape[1] != self.n_features:
            return  # an error about the columns will follow
        found = np.flatnonzero(np.isin(row_digests(rows), self.digests))
        found = found[_vary(rows, found)]
        if len(found):
            some = "1 row of X is" if len(found) == 1 else f"{len(found)} rows of X are"
            raise ValueError(
                f"{some} in {self.argument} too, the first is row {found[0]}. When held out, they would "
                f"be known already; leave them out of {self.argument}. If they are different rows that "
                "happen to be equal, give the covariance matrix of its rows instead."
            )


def known_to(estimator: Any) -> KnownRows | None:
    """Return the rows that an estimator must not be fitted to, if it has any."""
    find = getattr(estimator, "_known_rows", None)
    return None if find is None else find()


def known_rows(rows: Any, argument: str) -> KnownRows:
    """Return what is known of dense or sparse rows, to find them among others."""
    return KnownRows(argument, rows.shape[1], np.unique(row_digests(rows)))


def row_digests(rows: Any) -> Digests:
    r"""Return :math:`\sum_j k_j\, h(x_{ij}) \bmod 2^{64}` of every row.

    :math:`k_j` are random odd numbers, and h mixes the 64 bits of a double. A cell of 0 adds nothing, so that
    sparse rows need their stored cells only.
    """
    keys = np.random.default_rng(0).integers(2**64, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
    if sp.issparse(rows):
        rows = sp.csr_array(rows)
        if not rows.has_canonical_format:
            rows = rows.copy()  # the caller's matrix stays as it is
            rows.sum_duplicates()
        sums = np.concatenate([[np.uint64(0)], np.cumsum(keys[rows.indices] * _mixed(rows.data))])
        return np.diff(sums[rows.indptr])
    digests = np.empty(rows.shape[0], dtype=np.uint64)
    for block in row_blocks(*rows.shape):
        digests[block] = _mixed(rows[block]) @ keys
    return digests


def _mixed(cells: Any) -> Digests:
    """Return numbers whose bits all depend on all bits of the cells, as doubles; 0 stays 0."""
    bits = (np.asarray(cells, dtype=np.float64) + 0.0).view(np.uint64)  # -0 becomes 0
    for shift, factor in zip((30, 27), _MIX, strict=True):
        bits = (bits ^ (bits >> np.uint64(shift))) * factor
    return bits ^ (bits >> np.uint64(31))


def _vary(rows: Any, numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether the cells of some rows differ."""
    some = sp.csr_array(rows)[numbers].toarray() if sp.issparse(rows) else rows[numbers]
    return np.ptp(np.asarray(some, dtype=np.float64), axis=1) > 0
