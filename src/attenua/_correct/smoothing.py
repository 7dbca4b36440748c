r"""Smoothing: :math:`K_h T K_h` instead of T, with the heat kernel of neighbouring columns."""

from collections.abc import Iterator
from functools import cached_property
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.columns import Smoother, column_smoother
from attenua._correct.correction import Correction
from attenua._data.moments import CONSTANT, Moments
from attenua._data.namespace import spans

Array = NDArray[np.float64]

# Unit vectors that are multiplied at once take no more than this.
_BLOCK_BYTES = 32 * 2**20
# Vectors of random signs that a trace is estimated from.
_SIGNS = 8
# Of so few columns, K S K costs no more than the estimate of its trace.
_FEW_COLUMNS = 128
# Inner products of more smoothed rows than this cost more than they save.
_FEW_ROWS = 600


def smoothed(moments: Moments, strength: float, smoother: Smoother) -> Moments:
    """Return the moments whose covariance is :math:`K_h S K_h`."""
    return moments if strength == 0 else SmoothedMoments(moments, smoother, strength)


def smoothed_matrix(T: Any, strength: float, smoother: Smoother) -> Any:
    """Return :math:`F = K_h T K_h`.

    As h grows, every entry goes to the mean of the entries of T between the two connected parts that its
    columns belong to.
    """
    if strength == 0:
        return T
    return smoother.smooth(smoother.smooth(T, strength).T, strength).T


class SmoothedMoments(Moments):
    r"""Moments whose covariance is :math:`K S K`, with the covariance S of others and a kernel K.

    The mean is that of the others: a kernel smooths what varies about it. Where `base` forms S, K S K is
    formed too; otherwise its image of V must be A V, with :math:`S = A^\top A`.
    """

    def __init__(self, base: Moments, smoother: Smoother, strength: float):
        self.weight = base.weight
        self.unit = base.unit
        self.forms_covariance = base.forms_covariance
        self._base = base
        self._smoother = smoother
        self._strength = strength

    def _smooth(self, V: Any) -> Any:
        return self._smoother.smooth(V, self._strength)

    @property
    def has_few_rows(self) -> bool:
        """Whether inner products of the smoothed rows cost less than they save."""
        return self._base.has_few_rows and self._n_rows <= _FEW_ROWS

    @property
    def mean(self) -> Any:
        """Mean of the rows, not smoothed."""
        return self._base.mean

    @property
    def floor(self) -> float:
        """A lower bound of the eigenvalues: no eigenvalue of K is above 1."""
        return self._base.floor

    @cached_property
    def variances(self) -> Any:
        """Diagonal of K S K."""
        if self.forms_covariance:
            return np.diagonal(self.covariance)
        if self._n_rows > self.n_features:
            parts = [self.image(units) for units in self._units(self.n_features)]
            return np.concatenate([np.sum(part**2, axis=0) for part in parts])
        return sum(np.sum(rows**2, axis=1) for rows in self._smoothed_rows())

    @cached_property
    def rough_variances(self) -> Any:
        r"""Numbers of the size of the variances: those of S, times the part of the trace that is left.

        The trace of K S K is the mean of :math:`z^\top K S K z` over random signs z (Hutchinson, 1990).
        """
        is_small = self.forms_covariance and self.n_features <= _FEW_COLUMNS
        if is_small or "covariance" in vars(self):
            return self.variances
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (self.n_features, _SIGNS))
        trace = float(np.sum(signs * self.apply(signs))) / _SIGNS
        base = self._base.rough_variances
        return base * (trace / max(float(np.sum(base)), float_info.min))

    @property
    def varies(self) -> Any:
        """Whether each column varies by more than rounding, by itself or with its neighbours."""
        return self._base.varies | (self.variances > CONSTANT * np.max(self.variances))

    @property
    def product_work(self) -> int:
        """Number of multiplications of a product of the covariance and a vector."""
        p = self.n_features
        return self._base.product_work + 20 * p * p.bit_length()

    @cached_property
    def covariance(self) -> Any:
        """The smoothed covariance as a p-by-p matrix."""
        return smoothed_matrix(self._base.covariance, self._strength, self._smoother)

    def image(self, V: Any) -> Any:
        """Return the image of ``K @ V`` under S."""
        return self._base.image(self._smooth(V))

    def lift(self, image: Any) -> Any:
        """Return ``K @ S @ K @ V`` from the image of V."""
        return self._smooth(self._base.lift(image))

    def apply(self, V: Any) -> Any:
        """Return ``K @ S @ K @ V``."""
        return self._smooth(self._base.apply(self._smooth(V)))

    def inner(self, V: Any, V_image: Any, W_image: Any) -> Any:
        """Return ``V.T @ K @ S @ K @ W`` from V and the images of V and W."""
        return self._base.inner(self._smooth(V) if self.forms_covariance else V, V_image, W_image)

    @cached_property
    def _n_rows(self) -> int:
        return self._base.image(self.mean[:, None]).shape[0]

    def _units(self, count: int) -> Iterator[Any]:
        """Yield the columns of the identity in blocks."""
        for block in spans(count, max(_BLOCK_BYTES // (8 * max(self.n_features, self._n_rows)), 1)):
            units = np.zeros((count, block.stop - block.start))
            units[np.arange(block.start, block.stop), np.arange(units.shape[1])] = 1.0
            yield units

    def _smoothed_rows(self) -> Iterator[Any]:
        """Yield the rows of A K, as columns, in blocks."""
        return (self.lift(units) for units in self._units(self._n_rows))

    def gram(self, factors: Any = None) -> tuple[Array, Array]:
        """Return eigenvalues (decreasing) and eigenvectors of the inner products of the rows of A K.

        With factors, of the rows whose columns are multiplied by them.
        """
        if factors is None:
            # Smoothing twice equals smoothing once, by a kernel of twice the variance.
            twice = np.sqrt(2) * self._strength
            rows = (self._base.lift(units) for units in self._units(self._n_rows))
            products = [self._base.image(self._smoother.smooth(some, twice)) for some in rows]
        else:
            products = [self.image(factors[:, None] ** 2 * some) for some in self._smoothed_rows()]
        values, vectors = np.linalg.eigh(np.hstack(products))
        return values[::-1], vectors[:, ::-1]

    def combined(self, vectors: Array) -> Any:
        """Return combinations of the rows of A K, as columns."""
        return self.lift(vectors)


SMOOTHING = Correction(
    name="smoothing",
    kind="moments",
    strengths=(0.0, 0.5, 0.8, 1.2, 2.0, 4.0),
    largest=np.inf,
    apply=smoothed,
    parameter="neighbours",
    needs="'line', the shape of a grid, or an adjacency matrix",
    prepare=column_smoother,
    weakens="differences between neighbouring columns",
    how="At strength h the matrix is averaged over neighbours, up to about h columns away.",
    price="It trusts that neighbours vary together, as in spectra, series and images. It blurs sharp "
    "features.",
    colour="#b8952f",
)
