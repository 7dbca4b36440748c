r"""How components of other samples compare with those of a fit: matching, angles, and which hold singly.

Components are told apart by their variances only. Where two variances are nearly equal, another sample gives
other components in the same plane. So what can be read is decided by cuts: a cut after m components holds if
the first m of other samples span nearly the same subspace.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]

# A cut holds if, in this part of the samples, the first components turn by no more than an angle of this
# tangent. For two components of equal variance the turn of a sample is half the angle of a Gaussian vector in
# a plane. With a tangent of 1/2, such a pair is told apart by mistake with probability
# exp(-(1.96 / 0.8)^2 / 2) = 5%, since sin(2 arctan(1/2)) = 0.8.
HOLDS = 0.95
LARGEST_TANGENT = 0.5
LARGEST_ANGLE = float(np.degrees(np.arctan(LARGEST_TANGENT)))


class Block(NamedTuple):
    """Components that can be read together only, or singly if it is one; numbers from 1."""

    first: int
    last: int
    is_stable: bool

    @property
    def is_single(self) -> bool:
        """Whether this is one component."""
        return self.first == self.last

    @property
    def span(self) -> str:
        """The numbers in words."""
        if self.is_single:
            return str(self.first)
        return f"{self.first} {'and' if self.last == self.first + 1 else 'to'} {self.last}"


def matched(fitted: Array, other: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return components in the order and with the signs of fitted ones, and which of them each is.

    The order is that of the largest sum of absolute cosines. Nothing is turned.
    """
    cosines = fitted @ other.T
    _, places = linear_sum_assignment(-np.abs(cosines))
    signs = np.where(np.take_along_axis(cosines, places[:, None], axis=1) < 0, -1.0, 1.0)
    return other[places] * signs, places


def angles_of_components(fitted: Array, other: Array) -> Array:
    """Return the angle of each component to its match, in degrees."""
    cosines = np.abs(np.einsum("ij,ij->i", fitted, other))
    return np.degrees(np.arccos(np.minimum(cosines, 1.0)))


def angles_of_leading(fitted: Array, other: Array) -> Array:
    r"""Return the largest principal angle between the first m of both, for every m, in degrees.

    Its cosine is the least singular value of :math:`A_m B_m^\top`.
    """
    overlap = fitted @ other.T
    least = [np.linalg.svd(overlap[:m, :m], compute_uv=False)[-1] for m in range(1, len(overlap) + 1)]
    return np.degrees(np.arccos(np.minimum(least, 1.0)))


def blocks_of(leading_angles: Array) -> list[Block]:
    """Return what can be read singly and what together, from the angles of each sample (row) and cut."""
    holds = np.mean(leading_angles <= LARGEST_ANGLE, axis=0) >= HOLDS
    blocks, first = [], 1
    for m in np.flatnonzero(holds) + 1:
        blocks.append(Block(first, int(m), True))
        first = int(m) + 1
    if first <= len(holds):
        blocks.append(Block(first, len(holds), False))
    return blocks


def draw_units(
    units: NDArray[np.intp] | None, n_samples: int, random: np.random.RandomState
) -> NDArray[np.intp]:
    """Return the numbers of the rows of a bootstrap sample; rows of one unit are drawn together."""
    if units is None:
        return random.randint(n_samples, size=n_samples, dtype=np.intp)
    drawn = random.randint(units.max() + 1, size=units.max() + 1, dtype=np.intp)
    members = np.split(np.argsort(units, kind="stable"), np.cumsum(np.bincount(units))[:-1])
    return np.concatenate([members[unit] for unit in drawn])
