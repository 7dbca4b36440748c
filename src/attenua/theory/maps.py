r"""The corrections of a covariance as one smooth map :math:`T = \varphi(S)`, with its first two derivatives.

Tempering :math:`\gamma`, damping :math:`\beta` and attenuation :math:`\alpha` make every entry from itself
and its two variances,

.. math::

    F_{ij} = (1 - \alpha_{ij})\, S_{ij} |S_{ij}|^\beta (S_{ii} S_{jj})^{-h}, \qquad h = (\gamma + \beta) / 2,

with :math:`\alpha_{ij} = \alpha` where i and j are in one group (on the diagonal, without groups) and 0
elsewhere; on the diagonal that is :math:`(1 - \alpha) S_{ii}^{1 - \gamma}`. Smoothing is
:math:`T = K_h F K_h`. Row tempering is not a map of S: it is with the laws of the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct import attenuation, damping, smoothing, tempering
from attenua._correct.neighbours import Smoother
from attenua._correct.registry import Strengths
from attenua.theory.cutoff import Array
from attenua.theory.noise import RowNoise


@dataclass(frozen=True)
class SmoothCorrection:
    r"""Value and derivatives of a correction at the covariance :math:`\Sigma` that the rows fluctuate about.

    The linear part in the error :math:`E = S_n - \Sigma` is

    .. math::

        K \{A \circ E_m + \operatorname{diag}(e_m)\, Q + Q^\top \operatorname{diag}(e_m)\} K, \qquad
        E_m = G E G, \quad e_m = \operatorname{diag}(E_m) .

    Attributes
    ----------
    target : ndarray of shape (p, p)
        :math:`\varphi(\Sigma)`, whose leading subspace the estimate converges to.
    scales : ndarray of shape (p,)
        Diagonal of :math:`G`, a fixed rescaling of the columns.
    response : ndarray of shape (p, p)
        :math:`Q`: how the errors of the variances act on every entry.
    factors : ndarray of shape (p, p) or None
        :math:`A`: how far every entry passes its own error on; None where all do so entirely.
    drift : ndarray of shape (p, p) or None
        :math:`n` times the mean of the quadratic part; None when the correction is linear in S.
    kernel : callable or None
        Multiplies columns by the symmetric matrix :math:`K`; None for the identity.
    """

    target: Array
    scales: Array
    response: Array
    factors: Array | None = None
    drift: Array | None = None
    kernel: Callable[[Array], Array] | None = None

    def smooth(self, V: Array) -> Array:
        """Return ``K @ V``."""
        return V if self.kernel is None else self.kernel(V)

    def unsmoothed(self, E: Array) -> Array:
        """Return the linear part at a symmetric error E, before the kernel."""
        E = E * self.scales[:, None] * self.scales
        answer = np.diag(E)[:, None] * self.response
        return (E if self.factors is None else self.factors * E) + answer + answer.T

    def linear_part(self, E: Array) -> Array:
        """Return the linear part at a symmetric error E."""
        return self.smooth(self.smooth(self.unsmoothed(E)).T)


@dataclass(frozen=True)
class CorrectionMap:
    r"""The map :math:`\varphi` at some strengths.

    Parameters
    ----------
    strengths : Strengths
        Those of the corrections; row tempering is not looked at.
    labels : ndarray of shape (p,), optional
        Group of every column, for attenuation; each column is its own group if not given.
    smoother : Smoother, optional
        Multiplies by the kernel of the neighbours; needed where smoothing is not 0.
    """

    strengths: Strengths
    labels: NDArray[np.intp] | None = None
    smoother: Smoother | None = None

    @property
    def is_linear(self) -> bool:
        """Whether the map is linear in S."""
        return self.strengths.tempering == 0 and self.strengths.damping == 0

    def value(self, S: Array) -> Array:
        r"""Return :math:`\varphi(S)`."""
        return self._smoothed(self._entrywise(S)[0])

    def differential(self, S: Array, E: Array) -> Array:
        r"""Return :math:`D\varphi(S)[E]`, the derivative in the direction of a symmetric E."""
        return self._smoothed(self._entrywise(S, E)[1])

    def at(self, S: Array, noise: RowNoise) -> SmoothCorrection:
        r"""Return the derivatives at S; `noise` gives the mean of the quadratic part.

        The differential of the entries is known from two of its values. That of a matrix of ones with a zero
        diagonal holds every entry's response to itself; that of the variances holds its response to both
        variances, in relative terms, which are alike.
        """
        variances, unit = np.diag(S), np.eye(len(S))
        target, to_variances = self._entrywise(S, np.diag(variances))
        scales = tempering.powers(variances, -self.strengths.tempering / 2)
        tempered = variances * scales**2
        # A column without variance has no error: dividing by infinity gives it no response.
        response = to_variances / np.where(tempered > 0, 2 * tempered, np.inf)[:, None]
        has_factors = self.strengths.damping or (self.strengths.attenuation and self.labels is not None)
        factors = drift = None
        to_itself: Any = None  # where something depends on it
        if has_factors or not self.is_linear:
            to_itself = self._entrywise(S, 1 - unit)[1]
        if has_factors:
            products = np.outer(scales, scales)
            factors = np.divide(to_itself, products, out=np.zeros_like(S), where=products > 0) + unit
        response -= unit / 2
        if not self.is_linear:
            drift = self._smoothed(self._drift(S, target, to_itself, noise))
        kernel = None
        if self.smoother is not None and self.strengths.smoothing:
            kernel = partial(self.smoother.smooth, strength=self.strengths.smoothing)
        return SmoothCorrection(self._smoothed(target), scales, response, factors, drift, kernel)

    def _entrywise(self, S: Array, E: Array | None = None) -> tuple[Array, Any]:
        """Return F(S), and its derivative in the direction of E."""
        steps = (
            (self.strengths.tempering, tempering.tempered_matrix, tempering.differential, ()),
            (self.strengths.damping, damping.damped_matrix, damping.differential, ()),
            (
                self.strengths.attenuation,
                attenuation.attenuated_matrix,
                attenuation.differential,
                (self.labels,),
            ),
        )
        for strength, corrected, differential, extra in steps:
            if E is not None:
                E = differential(S, strength, E, *extra)
            S = corrected(S, strength, *extra)
        return S, E

    def _smoothed(self, T: Array) -> Array:
        width = self.strengths.smoothing
        return T if self.smoother is None else smoothing.smoothed_matrix(T, width, self.smoother)

    def _drift(self, S: Array, target: Array, to_itself: Array, noise: RowNoise) -> Array:
        r"""Return n times the mean of the quadratic part of F.

        With :math:`u = E_{ij} / S_{ij}` and :math:`e_i = E_{ii} / S_{ii}`, the entry is :math:`F_{ij} (1 +
        u)^{1 + \beta} \{(1 + e_i)(1 + e_j)\}^{-h}`, and its quadratic part

        .. math::

            F_{ij} \Bigl\{ \tfrac{\beta (1 + \beta)}{2} u^2 - h (1 + \beta) u (e_i + e_j)
            + \tfrac{h (h + 1)}{2} (e_i^2 + e_j^2) + h^2 e_i e_j \Bigr\} .

        A covariance of 0 has no quadratic part of this kind: its powers grow more slowly than any parabola
        where :math:`\beta < 1`, and their mean is 0 where errors are symmetric.
        """
        beta, gamma = self.strengths.damping, self.strengths.tempering
        h, moments = (gamma + beta) / 2, noise.entry_moments()
        inverse = tempering.powers(np.diag(S), -1.0)
        with_own = moments.entry_with_variance * inverse[:, None]
        own = np.diag(moments.variance_with_variance) * inverse**2
        both = moments.variance_with_variance * inverse[:, None] * inverse
        drift = target * (h * (h + 1) / 2 * (own[:, None] + own) + h**2 * both)
        # F_ij / S_ij, which is 0 / 0 where an entry is 0 but not its response.
        slopes = to_itself / (1 + beta)
        np.fill_diagonal(slopes, np.diag(target) * inverse)
        drift -= h * (1 + beta) * slopes * (with_own + with_own.T)
        if beta:
            quotients = np.divide(slopes, S, out=np.zeros_like(S), where=S != 0)
            drift += beta * (1 + beta) / 2 * quotients * moments.entry_with_entry
        return drift
