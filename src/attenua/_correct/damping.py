r"""Damping: correlations :math:`r |r|^\beta` instead of r, so that the smallest lose the largest part."""

from functools import cached_property
from typing import Any

import numpy as np

from attenua._correct.correction import Correction
from attenua._correct.correlations import column_limit, lower_bound
from attenua._correct.tempering import powers
from attenua._data.moments import Moments, with_diagonal
from attenua._data.namespace import spans

# On the host a matrix is damped in tiles that stay in cache.
_TILE = 256


def damped(moments: Moments, strength: float, prepared: None = None) -> Moments:
    r"""Return the moments whose correlations are :math:`r |r|^\beta`, with the same variances.

    The damped matrix has no negative eigenvalues if :math:`\beta` is even: then it is made of Schur products
    of correlations. For other strengths, 1 included, it may have some that are small.
    """
    return moments if strength == 0 else DampedMoments(moments, strength)


class DampedMoments(Moments):
    r"""Moments whose covariance is that of others with its correlations damped, :math:`\beta > 0`."""

    forms_covariance = True

    def __init__(self, base: Moments, strength: float):
        self.weight = base.weight
        self.unit = base.unit
        self._base = base
        self._strength = strength

    @property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self._base.mean

    @property
    def variances(self) -> Any:
        """Diagonal of the covariance."""
        return self._base.variances

    @property
    def varies(self) -> Any:
        """Whether each column varies by more than rounding."""
        return self._base.varies

    @cached_property
    def covariance(self) -> Any:
        """The damped covariance as a p-by-p matrix."""
        inverse = powers(self.variances, -0.5, self.varies)
        return _damped(self._base.covariance, self.variances, inverse, self._strength)

    @cached_property
    def floor(self) -> float:
        """A lower bound of the eigenvalues, at most 0; it holds with high probability."""
        if self._strength % 2 == 0:
            return 0.0  # correlations multiplied by themselves
        return min(lower_bound(self), 0.0)


def _damped(T: Any, variances: Any, inverse: Any, strength: float) -> Any:
    """Return the damped matrix from T, its diagonal, and the inverses of the standard deviations."""
    new, inverse = np.empty_like(T), inverse.astype(T.dtype, copy=False)
    tiles = list(spans(len(T), _TILE))
    for number, rows in enumerate(tiles):
        for columns in tiles[number:]:
            some = T[rows, columns]
            sizes = np.abs(some)
            sizes *= inverse[rows, None]
            sizes *= inverse[None, columns]
            some = some * _power(sizes, strength)
            new[rows, columns] = some
            if columns != rows:
                new[columns, rows] = some.T
    return with_diagonal(new, variances)


def _power(sizes: Any, exponent: float) -> Any:
    """Return powers of numbers that are not negative; by roots where that is faster."""
    if exponent == 0.25:
        return np.sqrt(np.sqrt(sizes))
    if exponent == 0.5:
        return np.sqrt(sizes)
    return sizes if exponent == 1 else sizes**exponent


DAMPING = Correction(
    name="damping",
    kind="moments",
    strengths=(0.0, 0.1, 0.25, 0.5, 1.0),
    largest=np.inf,
    apply=damped,
    limit=column_limit,
    weakens="small correlations",
    how="At strength b a correlation r becomes r times |r| to the power b: small ones lose the largest part.",
    price="It trusts that most small correlations are noise. It costs where many small effects add up.",
    colour="#8a5a9e",
)
