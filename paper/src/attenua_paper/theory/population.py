"""A population covariance and a rank: where attenuation moves its target, what it costs, what it saves."""

import warnings
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from attenua_paper.theory.checks import Array, as_answer, as_covariance, as_rank, as_sample_size, as_strengths
from attenua_paper.theory.expansion import expansion_terms
from attenua_paper.theory.laws import Law, as_law, square_root
from attenua_paper.theory.moments import PairMoments, RiskCurve, pair_moments, risk_curve
from attenua_paper.theory.spectrum import Cutoff, cut, excess_risk

# Leakage and unequal variances below this part of what they are compared with count as rounding.
PRESERVATION_TOLERANCE = 1e-8
# A closing strength is located to this accuracy.
_STRENGTH_ACCURACY = 1e-10


class Population:
    r"""A population covariance and a rank, with the paper's risk theory computed for them.

    For :math:`n` rows with covariance :math:`\Sigma` the subspace of PCA after attenuation by :math:`\alpha`
    has expected excess reconstruction risk

    .. math::

        E\, R_{ex}(\hat P_\alpha) = B_{pop}(\alpha) + K_{move}(\alpha) / n + O(n^{-3/2})

    (Theorem target-moving-risk): a population cost that no sample size removes, and a sampling coefficient.
    Methods take strengths :math:`\alpha` as a number or an array, and answer in its shape.

    Parameters
    ----------
    covariance : array-like of shape (p, p)
        :math:`\Sigma`: symmetric, without negative eigenvalues, with a gap at the rank. Asymmetry and
        negative eigenvalues below 1e-8 of the largest count as rounding.
    n_components : int
        Rank `d` of the target, ``1 <= d < p``.
    law : {"gaussian", "t10", "exponential"} or Law, default="gaussian"
        Law of the rows.

    Attributes
    ----------
    covariance, n_components, n_features, law
        As given, and `p`.
    cutoff : Cutoff
        The eigendecomposition of the covariance, split at the rank.

    Notes
    -----
    The rows have a known mean of zero. Centring costs Gaussian rows one observation: give ``n - 1`` as sample
    size for an estimator that centres.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> bool(population.preserves_target(0.5))
    True
    >>> population.excess_risk(50, [0.0, 0.5, 1.0]).round(4)
    array([0.075 , 0.0431, 0.0225])
    >>> round(population.oracle(50), 3)
    1.0
    """

    def __init__(self, covariance: ArrayLike, n_components: int, *, law: str | Law = "gaussian") -> None:
        self.covariance = as_covariance(covariance)
        self.n_features = len(self.covariance)
        self.n_components = as_rank(n_components, self.n_features)
        self.law = as_law(law)
        self.cutoff = cut(self.covariance, self.n_components)
        if self.cutoff.gap == 0:
            d, value = self.n_components, self.cutoff.omitted_values[0]
            raise ValueError(
                f"covariance has no gap at n_components = {d}: eigenvalues {d} and {d + 1} are {value:g}."
            )

    def __repr__(self) -> str:
        return f"Population(<{self.n_features} features>, n_components={self.n_components})"

    # --- geometry -----------------------------------------------------------------------------------------

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of the covariance, decreasing."""
        return np.concatenate([self.cutoff.retained_values, self.cutoff.omitted_values])

    @property
    def eigenvectors(self) -> Array:
        """Eigenvectors of the covariance in columns, in the order of `eigenvalues`."""
        return np.hstack([self.cutoff.retained, self.cutoff.omitted])

    @property
    def projector(self) -> Array:
        r"""The target :math:`P_*`: projector onto the leading `d` eigenvectors of :math:`\Sigma`."""
        return self.cutoff.projector

    @property
    def gap(self) -> float:
        r"""The cutoff gap :math:`\lambda_d - \lambda_{d+1}`."""
        return self.cutoff.gap

    @property
    def variances(self) -> Array:
        r"""The marginal variances, on the diagonal of :math:`\Sigma`."""
        return np.diag(self.covariance)

    @property
    def leakage(self) -> Array:
        r""":math:`P_*^\perp D P_*` with :math:`D = \operatorname{diag}(\Sigma)`.

        Attenuation by :math:`\alpha` creates the population leakage :math:`P_*^\perp T_\alpha P_* = -\alpha
        P_*^\perp D P_*` (eq. population-cross-block).
        """
        return self.cutoff.embed(self.cutoff.cross_block(np.diag(self.variances)))

    @property
    def is_balanced(self) -> bool:
        """Whether the marginal variances are equal to 1e-8 of the largest (Assumption balanced-marginals)."""
        return bool(np.ptp(self.variances) <= PRESERVATION_TOLERANCE * self.variances.max())

    def require_balance(self, what: str) -> None:
        """Raise an error that says what needs balanced marginals, if they are not balanced."""
        if not self.is_balanced:
            raise ValueError(
                f"{what} needs balanced marginals: the variances on covariance's diagonal must be equal; "
                f"they run from {self.variances.min():g} to {self.variances.max():g}."
            )

    def attenuated(self, alpha: float) -> Array:
        r"""Return :math:`T_\alpha = \Sigma - \alpha D` for one strength (eq. Tpopulation)."""
        return self.covariance - alpha * np.diag(self.variances)

    def _at(self, alpha: float) -> Cutoff:
        """Return the attenuated population split at the rank, or say that its gap closes there."""
        at = cut(self.attenuated(alpha), self.n_components)
        if at.gap == 0:
            raise ValueError(
                f"The attenuated covariance has no gap at rank {self.n_components} at alpha = {alpha:g}: its "
                "leading subspace is not unique."
            )
        return at

    def block_gap(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`\delta_\alpha` (eq. preserved-gap).

        The smallest Rayleigh quotient of :math:`T_\alpha` inside the target, less the largest one in its
        complement. Negative once attenuation has reversed their order.
        """

        def block_gap(strength: float) -> float:
            T = self.attenuated(strength)
            frames = self.cutoff.retained, self.cutoff.omitted
            inside, outside = (np.linalg.eigvalsh(U.T @ T @ U) for U in frames)
            return inside[0] - outside[-1]

        return over_strengths(alpha, block_gap)

    def cutoff_gap(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`\lambda_d(T_\alpha) - \lambda_{d+1}(T_\alpha)`; 0 where it is not resolved."""
        return over_strengths(alpha, lambda a: cut(self.attenuated(a), self.n_components).gap)

    def preserves_target(self, alpha: ArrayLike) -> Any:
        r"""Return whether :math:`P_*` is the unique leading projector of :math:`T_\alpha`.

        That is :math:`P_*^\perp T_\alpha P_* = 0` and :math:`\delta_\alpha > 0` (Proposition
        target-preservation), both to 1e-8 of the norm of :math:`\Sigma`.
        """
        allowed = PRESERVATION_TOLERANCE * np.linalg.norm(self.covariance)
        leaks = as_strengths(alpha) * np.linalg.norm(self.leakage)
        return as_answer((leaks <= allowed) & (np.asarray(self.block_gap(alpha)) > allowed))

    def moved_projector(self, alpha: ArrayLike) -> Array:
        r"""Return :math:`P_{T_\alpha}`, which attenuation estimates; shape of `alpha` + (p, p)."""
        return over_strengths(alpha, lambda strength: self._at(strength).projector)

    # --- population cost ----------------------------------------------------------------------------------

    def bias(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`B_{pop}(\alpha) = \operatorname{tr}\{\Sigma (P_* - P_{T_\alpha})\}`.

        (eq. population-attenuated-projector).
        """
        return over_strengths(alpha, lambda a: excess_risk(self.cutoff, self._at(a).retained))

    def closing_strength(self, upper: float = 1.0) -> float | None:
        r"""Return the first strength in [0, upper] at which the cutoff gap closes (to 1e-10), or None.

        The gap changes at a rate of at most :math:`\max D - \min D`, so the values at the ends of an interval
        can exclude a zero inside it; an interval where they cannot is halved, leftmost first.
        """
        # A little more than the bound, so that rounding cannot exclude a zero that is there.
        rate, slack = 1.0001 * np.ptp(self.variances), 1e-13 * self.variances.max()
        waiting = [(0.0, upper, self.gap, self.cutoff_gap(upper))]
        while waiting:
            left, right, gap_left, gap_right = waiting.pop()
            if gap_left == 0:
                return left
            if gap_right > 0 and gap_left + gap_right > rate * (right - left) + slack:
                continue
            if right - left <= _STRENGTH_ACCURACY:
                return right
            middle = (left + right) / 2
            gap_middle = self.cutoff_gap(middle)
            waiting += [(middle, right, gap_middle, gap_right), (left, middle, gap_left, gap_middle)]
        return None

    def _open_path(self, alpha: ArrayLike) -> Array:
        """Return strengths up to whose largest the gap stays open, or name the strength where it closes."""
        strengths = as_strengths(alpha)
        closing = self.closing_strength(float(strengths.max(initial=0.0)))
        if closing is not None:
            raise ValueError(
                f"The cutoff gap at rank {self.n_components} closes at alpha = {closing:.10g}, so the "
                "leading subspace cannot be followed that far; stay below that strength."
            )
        return strengths

    def _path_leakage(self, strength: float, power: int) -> float:
        r"""Return :math:`\sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)^{power}` at :math:`T_t`."""
        at = cut(self.attenuated(strength), self.n_components)
        return float(np.sum(at.cross_block(np.diag(self.variances)) ** 2 / at.gaps**power))

    def bias_along_path(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`B_{pop}` by integrating its derivative (eq. population-bias-path-identity).

        :math:`2 \int_0^\alpha t \sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)\, dt`, which needs
        the gap to stay open all the way.
        """
        strengths = self._open_path(alpha)
        stops, where = np.unique(strengths, return_inverse=True)

        def rate(t: float) -> float:
            return 2 * t * self._path_leakage(t, 1)

        smallest = 1e-20 * self.variances.max()  # below the square of rounding
        pieces = [
            quad(rate, *ends, epsabs=smallest, epsrel=1e-9, limit=200)[0] for ends in pairwise([0.0, *stops])
        ]
        return as_answer(np.cumsum(pieces)[where].reshape(strengths.shape))

    def bias_bound(self, alpha: ArrayLike) -> Any:
        r"""Return the upper bound of :math:`B_{pop}` (eq. population-bias-bound).

        :math:`(\alpha^2 / \underline g_\alpha) \sup_{t \le \alpha} \|P_t^\perp D P_t\|_F^2` with the smallest
        cutoff gap :math:`\underline g_\alpha` on :math:`[0, \alpha]`. The two extremes are searched on a grid
        and refined.
        """
        self._open_path(alpha)

        def bound(strength: float) -> float:
            largest_leakage = -_smallest(lambda t: -self._path_leakage(t, 0), strength)
            return strength**2 * largest_leakage / _smallest(self.cutoff_gap, strength)

        return over_strengths(alpha, bound)

    @property
    def local_bias_constant(self) -> float:
        r""":math:`C_D = \sum_{jk} (u_k^\top D u_j)^2 / (\lambda_j - \lambda_k)` (eq. moving-bias-local).

        The population cost of a little attenuation: :math:`B_{pop}(\alpha) = \alpha^2 C_D + O(\alpha^3)`.
        """
        return self._path_leakage(0.0, 1)

    # --- sampling -----------------------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> PairMoments:
        """Moments of the couplings of every retained-omitted pair."""
        return pair_moments(self.covariance, self.cutoff, self.law)

    @cached_property
    def constants(self) -> RiskCurve:
        r"""The sums over the pairs that decide the risk under balanced marginals: G(0), C and V.

        For Gaussian rows these are :math:`G(0)`, :math:`C_\Sigma = 2 A_\Sigma` and :math:`V_\Sigma =
        B_\Sigma` (eqs. ABconstants and balanced-risk-constant), for other laws those of eq. moment-constants.
        """
        return risk_curve(self.pairs)

    def balanced_coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`G(\alpha) = G(0) - 2 \alpha C + \alpha^2 V` (eqs. Galpha, moment-risk-quadratic).

        Under balanced marginals it equals `sampling_coefficient`.
        """
        self.require_balance("G(alpha)")
        return self.constants.coefficient(alpha)

    def sampling_coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`K_{move}(\alpha)` (eq. moving-risk-constant).

        .. math::

            K_{move} = E\bigl[\langle Y_1, \mathcal H_\Sigma(Y_1) \rangle - 2 \langle P_\alpha^\perp \Sigma
            P_\alpha, Y_2 \rangle\bigr]

        with the graph terms :math:`Y_1, Y_2` of one observation's fluctuation :math:`\Xi_\alpha(x)`. It
        equals :math:`K(\alpha)` of eq. general-risk-constant where the target is preserved; where it moves it
        may be negative. The bracket is a quadratic form in :math:`x x^\top - \Sigma = \sum_{ab} (z_a z_b -
        \delta_{ab}) r_a r_b^\top`, with the columns :math:`r_a` of :math:`\Sigma^{1/2}`, and the products of
        :math:`z` are uncorrelated: with :math:`q(M)` its value at M, excess kurtosis :math:`\kappa` and tail
        factor :math:`f`,

        .. math::

            K_{move} = f \Bigl[\sum_{a < b} q(r_a r_b^\top + r_b r_a^\top) + (2 + \kappa) \sum_a q(r_a
            r_a^\top)\Bigr].

        Time is of order :math:`d p^4` a strength.
        """
        return over_strengths(alpha, self._coefficient)

    def _coefficient(self, strength: float) -> float:
        at, roots = self._at(strength), square_root(self.covariance)
        total = 0.0
        for a in range(self.n_features):
            # The products of column a with those before it, and with itself.
            products = roots[:, a, None] * roots.T[: a + 1, None, :]
            M = products + np.swapaxes(products, 1, 2)
            weights = np.ones(a + 1)
            weights[a] = (2 + self.law.kurtosis) / 4  # twice the product with itself is in M
            F = M - strength * M * np.eye(self.n_features)
            terms = expansion_terms(at, self.covariance, F)
            total += float(weights @ (terms.curvature + terms.displacement))
        return self.law.tail * total

    @cached_property
    def local_saving(self) -> float:
        r""":math:`R_{move} = -K_{move}'(0)`: what a little attenuation saves, times `n`.

        At 0, where :math:`\Sigma` and :math:`T_0` share eigenvectors, only the residual couplings and the
        gaps move to first order (the cross-block of :math:`\Sigma` starts to move too, but meets a mean
        displacement of zero, unless coordinates have an excess kurtosis), which leaves

        .. math::

            R_{move} = 4 A_\Sigma - 2 \sum_{j \le d < k} \frac{\lambda_j \lambda_k}{(\lambda_j - \lambda_k)^2}
            (u_j^\top D u_j - u_k^\top D u_k).
        """
        if self.law.kurtosis:
            raise ValueError("The closed form of the local saving is for Gaussian and elliptical rows.")
        inside, outside = (self.variances @ U**2 for U in (self.cutoff.retained, self.cutoff.omitted))
        closing = np.sum(self.pairs.var_a / self.pairs.gaps**2 * (inside[:, None] - outside[None, :]))
        return float(2 * self.constants.C - 2 * closing)

    def excess_risk(self, n: float, alpha: ArrayLike) -> Any:
        r"""Return :math:`B_{pop} + K_{move} / n`, the expected excess risk of n rows to order 1/n."""
        n = as_sample_size(n)
        return as_answer(np.asarray(self.bias(alpha)) + np.asarray(self.sampling_coefficient(alpha)) / n)

    def benefit(self, n: float, alpha: ArrayLike) -> Any:
        r"""Return how far attenuation lowers the expected excess risk of PCA at `n` rows, to order 1/n.

        :math:`\{K(0) - K_{move}(\alpha)\}/n - B_{pop}(\alpha)`, which is positive exactly under the benefit
        condition (eq. moving-benefit-condition).
        """
        return as_answer(self.excess_risk(n, 0.0) - np.asarray(self.excess_risk(n, alpha)))

    # --- best strengths -----------------------------------------------------------------------------------

    def oracle(self, n: float, alphas: ArrayLike | None = None) -> float:
        """Return the strength with the smallest `excess_risk` at `n` rows, the smallest of several.

        Parameters
        ----------
        n : float
            Sample size.
        alphas : array-like, optional
            Strengths to choose from; by default the whole interval from 0 to 1. The gap must be open at each.

        Warns
        -----
        UserWarning
            When the smallest predicted risk on the interval is negative: the expansion fails at this `n`.
        """
        as_sample_size(n)
        if alphas is not None:
            grid = np.sort(as_strengths(alphas).ravel())
            return float(grid[np.argmin(self.excess_risk(n, grid))])
        best = _argmin(lambda strength: self.excess_risk(n, strength), np.linspace(0, 1, 33))
        if self.excess_risk(n, best) < 0:
            warnings.warn(
                f"The risk predicted at n = {n:g} is negative at alpha = {best:g}, as no risk can be. "
                "The gap there is too small for an expansion in 1/n.",
                stacklevel=2,
            )
        return best

    def asymptotic_oracle(self, upper: float = 1.0) -> float:
        r"""Return :math:`\min(C_\Sigma / V_\Sigma, 1)`, or up to 1/2 for masks (eq. two-oracles).

        The strength with the smallest leading risk under balanced marginals, at every sample size.
        """
        self.require_balance("The asymptotic oracle")
        return self.constants.oracle(upper)

    def local_oracle(self, n: float) -> float:
        r"""Return :math:`R_{move} / (2 C_D n)`, a moving target's leading oracle (eq. moving-local-oracle).

        It needs :math:`C_D > 0` and :math:`R_{move} > 0`, and describes large `n`; it is not clipped.
        """
        n = as_sample_size(n)
        if np.linalg.norm(self.leakage) <= PRESERVATION_TOLERANCE * np.linalg.norm(self.variances):
            raise ValueError("The local oracle needs a moving target; here C_D = 0.")
        if self.local_saving <= 0:
            raise ValueError(
                f"The local oracle needs R_move > 0; here it is {self.local_saving:g}: PCA is locally best."
            )
        return self.local_saving / (2 * self.local_bias_constant * n)


def over_strengths(alpha: ArrayLike, function: Callable[[float], Any]) -> Any:
    """Return a function of one strength at every strength, in the shape of `alpha`."""
    strengths = as_strengths(alpha)
    values = np.array([function(strength) for strength in strengths.ravel().tolist()])
    return as_answer(values.reshape(strengths.shape + values.shape[1:]))


def _argmin(function: Callable[[float], float], grid: Array) -> float:
    """Return where a function is smallest: the best point of a grid, refined between its neighbours."""
    values = [function(point) for point in grid.tolist()]
    best = int(np.argmin(values))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_scalar(function, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    # The bounded search never evaluates its end points, where a monotone curve has its minimum.
    return float(refined.x if refined.fun < values[best] else grid[best])


def _smallest(function: Callable[[float], float], upper: float) -> float:
    """Return the smallest value on [0, upper]."""
    return function(_argmin(function, np.linspace(0, upper, 33)))
