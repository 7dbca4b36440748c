r"""The population along :math:`T_t = \Sigma - t D`: where its gap closes, what its movement costs."""

from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from attenua.theory._threads import threads_for
from attenua.theory.cutoff import Array, cut, resolution

# A closing strength is located to this accuracy.
STRENGTH_ACCURACY = 1e-10


class AttenuationPath:
    r"""The matrices :math:`T_t = \Sigma - t D`, :math:`D = \operatorname{diag}(\Sigma)`, at one cutoff.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
        :math:`\Sigma`.
    n_components : int
        Rank of the cutoff.
    """

    def __init__(self, covariance: Array, n_components: int) -> None:
        self.covariance, self.n_components = covariance, n_components
        self.variances = np.diag(covariance)

    def matrix(self, strength: float) -> Array:
        """Return :math:`T_t`."""
        return self.covariance - strength * np.diag(self.variances)

    def gap(self, strength: float) -> float:
        r"""Return the cutoff gap :math:`\lambda_d(T_t) - \lambda_{d+1}(T_t)`; 0 if it is not resolved."""
        values = np.linalg.eigvalsh(self.matrix(strength))[::-1]
        gap = float(values[self.n_components - 1] - values[self.n_components])
        return gap if gap > resolution(values) else 0.0

    def closing_strength(self, upper: float) -> float | None:
        r"""Return the first strength in [0, upper] at which the cutoff gap closes, or None if it stays open.

        The gap changes at a rate of at most :math:`\max D - \min D`, so the values at the ends of an interval
        can exclude a zero inside it; an interval where they cannot is halved, leftmost first.
        """
        # A little more than the bound, so that rounding cannot exclude a zero that is there.
        rate, slack = 1.0001 * float(np.ptp(self.variances)), 1e-13 * float(self.variances.max())
        with threads_for(len(self.variances)):
            waiting = [(0.0, upper, self.gap(0.0), self.gap(upper))]
            while waiting:
                left, right, gap_left, gap_right = waiting.pop()
                if gap_left == 0:
                    return left
                if gap_right > 0 and gap_left + gap_right > rate * (right - left) + slack:
                    continue
                if right - left <= STRENGTH_ACCURACY:
                    return right
                middle = (left + right) / 2
                gap_middle = self.gap(middle)
                waiting += [(middle, right, gap_middle, gap_right), (left, middle, gap_left, gap_middle)]
        return None

    def require_open(self, upper: float) -> None:
        """Raise an error that names the strength where the gap closes, if it does before `upper`."""
        closing = self.closing_strength(upper)
        if closing is not None:
            raise ValueError(
                f"The cutoff gap of covariance - alpha*diag(covariance) at rank {self.n_components} closes "
                f"at alpha = {closing:.10g}, so the leading subspace cannot be followed from 0 to {upper:g}; "
                "stay below that strength."
            )

    def smallest_gap(self, upper: float) -> float:
        r"""Return the smallest cutoff gap :math:`\underline g_\alpha` on [0, upper] (a grid, refined)."""
        return _smallest(self.gap, upper)

    def largest_leakage(self, upper: float) -> float:
        r"""Return the largest :math:`\|P_t^\perp D P_t\|_F^2` on [0, upper] (a grid, then refined)."""

        def minus_leakage(strength: float) -> float:
            at = cut(self.matrix(strength), self.n_components)
            return -float(np.sum(at.cross_block(np.diag(self.variances)) ** 2))

        return -_smallest(minus_leakage, upper)

    def movement_rate(self, strength: float) -> float:
        r"""Return :math:`B_{pop}'(t) = 2 t \sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)`."""
        at = cut(self.matrix(strength), self.n_components)
        return 2 * strength * float(np.sum(at.cross_block(np.diag(self.variances)) ** 2 / at.gaps))

    def bias_integral(self, left: float, right: float) -> float:
        r"""Integrate :math:`B_{pop}'` from `left` to `right` (eq. population-bias-path-identity)."""
        # In the units of `Population` variances are near 1, and 1e-20 is below the square of their rounding.
        return quad(self.movement_rate, left, right, epsabs=1e-20, epsrel=1e-9, limit=200)[0]


def _smallest(function: Callable[[float], float], upper: float) -> float:
    """Return the smallest value on [0, upper]: the best of 33 points, polished between its neighbours."""
    grid = np.linspace(0, upper, 33)
    values = [function(float(strength)) for strength in grid]
    best = int(np.argmin(values))
    if upper == 0:
        return values[0]
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, 32)]
    return min(values[best], minimize_scalar(function, bounds=bounds, method="bounded").fun)
