"""The one door to the theory: a covariance and a rank in, costs, savings and best strengths out."""

import warnings
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory import oracle, risk
from attenua.theory._checks import (
    INPUT_TOLERANCE,
    PRESERVATION_TOLERANCE,
    as_matrix,
    as_rank,
    as_sample_size,
    as_strengths,
    over_strengths,
)
from attenua.theory.cutoff import Array, Cutoff, cut, excess_risk, resolution
from attenua.theory.movement import AttenuationPath
from attenua.theory.pairs import BalancedConstants, PairMoments, balanced_constants, pair_moments


class Population:
    r"""A population covariance and a rank, with the paper's risk theory computed for them.

    For :math:`n` Gaussian rows with covariance :math:`\Sigma` the subspace of diagonal-attenuation PCA has
    expected excess reconstruction risk

    .. math:: E\, R_{ex}(\hat P_\alpha) = B_{pop}(\alpha) + K_{move}(\alpha) / n + O(n^{-3/2})

    (Theorem target-moving-risk): a population cost that no sample size removes, and a sampling coefficient.
    Everywhere `alpha` is a number or an array of strengths in [0, 1], and the answer has its shape.

    Parameters
    ----------
    covariance : array-like of shape (p, p)
        :math:`\Sigma`: symmetric, finite, without negative eigenvalues, with a gap at the rank. Asymmetry and
        negative eigenvalues below 1e-8 of the largest entry or eigenvalue count as rounding.
    n_components : int
        Rank `d` of the target, ``1 <= d < p``.

    Attributes
    ----------
    covariance, n_components, n_features
        As given, and `p`.
    eigenvalues : ndarray of shape (p,)
        Decreasing.
    eigenvectors : ndarray of shape (p, p)
        In columns, in that order.
    unit : float
        A power of two near the largest entry of the covariance. All computing happens on
        ``scaled = covariance / unit``, so that squares of covariances neither overflow nor vanish; a power of
        two changes no digit.
    scaled, cutoff, path : ndarray, Cutoff, AttenuationPath
        That matrix, its eigendecomposition split at the rank, and its attenuation path.

    Notes
    -----
    Centring the rows costs one observation: give ``n - 1`` as sample size for an estimator that centres.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> bool(population.preserves_target(0.5))
    True
    >>> round(population.oracle(n=50), 3)
    1.0
    """

    def __init__(self, covariance: ArrayLike, n_components: int) -> None:
        self.covariance = as_matrix(covariance, "covariance")
        self.n_features = len(self.covariance)
        self.n_components = as_rank(n_components, self.n_features)
        self.unit = float(np.ldexp(1.0, np.frexp(np.abs(self.covariance).max())[1]))
        self.scaled = self.covariance / self.unit
        self.cutoff = cut(self.scaled, self.n_components)
        self.path = AttenuationPath(self.scaled, self.n_components)
        self._check_spectrum()

    def _check_spectrum(self) -> None:
        values, d = self._eigenvalues, self.n_components
        if values[-1] < -INPUT_TOLERANCE * max(values[0], -values[-1]):
            raise ValueError(
                "covariance must have no negative eigenvalue; "
                f"its smallest is {values[-1] * self.unit:g} and its largest {values[0] * self.unit:g}."
            )
        if self.cutoff.is_closed:
            tied = np.flatnonzero(np.abs(values - values[d]) <= resolution(values)) + 1
            raise ValueError(
                f"covariance has no gap at n_components = {d}: eigenvalues {tied[0]} to {tied[-1]} tie "
                f"at {values[d] * self.unit:g}. Choose a rank outside {tied[0]} to {tied[-1] - 1}."
            )

    # --- geometry ---------------------------------------------------------------------------------------

    @property
    def _eigenvalues(self) -> Array:
        return np.concatenate([self.cutoff.retained_values, self.cutoff.omitted_values])

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of the covariance, decreasing."""
        return self._eigenvalues * self.unit

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
        return self.cutoff.gap * self.unit

    @property
    def leakage(self) -> Array:
        r"""Population leakage :math:`P_*^\perp D P_*` with :math:`D = \operatorname{diag}(\Sigma)`, p x p."""
        return self.cutoff.embed(self._leakage_couplings) * self.unit

    @cached_property
    def _leakage_couplings(self) -> Array:
        return self.cutoff.cross_block(np.diag(self.path.variances))

    @property
    def is_balanced(self) -> bool:
        """Whether the marginal variances are equal to 1e-8 of the largest (Assumption balanced-marginals)."""
        variances = self.path.variances
        return bool(np.ptp(variances) <= PRESERVATION_TOLERANCE * variances.max())

    def block_gap(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`\delta_\alpha` (eq. preserved-gap).

        The smallest Rayleigh quotient of :math:`T_\alpha = \Sigma - \alpha D` inside the target, less the
        largest one in its complement. Negative once attenuation has reversed their order.
        """

        def block_gap(strength: float) -> float:
            T, U, U_omitted = self.path.matrix(strength), self.cutoff.retained, self.cutoff.omitted
            smallest_inside = np.linalg.eigvalsh(U.T @ T @ U)[0]
            return float(smallest_inside - np.linalg.eigvalsh(U_omitted.T @ T @ U_omitted)[-1]) * self.unit

        return over_strengths(alpha, block_gap)

    def cutoff_gap(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`\lambda_d(T_\alpha) - \lambda_{d+1}(T_\alpha)`; 0 where rounding hides it."""
        return over_strengths(alpha, lambda strength: self.path.gap(strength) * self.unit)

    def closing_strength(self, upper: float = 1.0) -> float | None:
        """Return the first strength in [0, upper] where the cutoff gap closes (to 1e-10), or None."""
        return self.path.closing_strength(float(as_strengths(upper, "upper")))

    def preserves_target(self, alpha: ArrayLike, *, tol: float = PRESERVATION_TOLERANCE) -> Any:
        r"""Return whether :math:`P_*` is the unique leading projector of :math:`T_\alpha`.

        By Proposition target-preservation that is :math:`P_*^\perp D P_* = 0` and :math:`\delta_\alpha > 0`.

        Parameters
        ----------
        alpha : float or array-like
            Strengths. At 0 the answer is always True.
        tol : float, default=1e-8
            Numerical meaning of the two conditions: :math:`\|P_*^\perp D P_*\|_F \le` `tol` :math:`\|D\|_F`,
            and :math:`\delta_\alpha >` `tol` :math:`\max D`.
        """
        leaks = self._leaks(tol)
        smallest = tol * float(self.path.variances.max()) * self.unit
        return over_strengths(
            alpha,
            lambda strength: strength == 0 or (not leaks and self.block_gap(strength) > smallest),
            dtype=bool,
        )

    def _leaks(self, tol: float = PRESERVATION_TOLERANCE) -> bool:
        size = np.linalg.norm(self._leakage_couplings)
        return bool(size > tol * np.linalg.norm(self.path.variances))

    def cut_at(self, strength: float) -> Cutoff:
        """Return the scaled attenuated population split at the rank, or say that its gap closes there."""
        at = cut(self.path.matrix(strength), self.n_components)
        if at.is_closed:
            raise ValueError(
                f"The cutoff gap of covariance - alpha*diag(covariance) at rank {self.n_components} closes "
                f"at alpha = {strength:.10g}: its leading subspace is not unique there."
            )
        return at

    def moved_projector(self, alpha: ArrayLike) -> Array:
        r"""Return :math:`P_{T_\alpha}`, the target that attenuation estimates; shape of `alpha` + (p, p)."""
        return over_strengths(alpha, lambda strength: self.cut_at(strength).projector)

    # --- population cost --------------------------------------------------------------------------------

    def bias(self, alpha: ArrayLike, *, method: str = "direct") -> Any:
        r"""Return the cost :math:`B_{pop}(\alpha) = \operatorname{tr}\{\Sigma (P_* - P_{T_\alpha})\}`.

        Parameters
        ----------
        alpha : float or array-like
            Strengths.
        method : {"direct", "path"}
            "direct": from the projectors (eq. population-attenuated-projector); needs a gap at `alpha` only.
            "path": by integrating its derivative from 0 (eq. population-bias-path-identity),
            :math:`2 \int_0^\alpha t \sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)\, dt`, which
            needs the gap to stay open all the way.
        """
        if method == "direct":
            return over_strengths(alpha, lambda strength: self._bias(self.cut_at(strength)))
        if method != "path":
            raise ValueError(f'method must be "direct" or "path"; got {method!r}.')
        strengths = as_strengths(alpha)
        stops, where = np.unique(strengths, return_inverse=True)
        self.path.require_open(float(stops.max(initial=0.0)))
        pieces = [self.path.bias_integral(start, stop) for start, stop in pairwise([0.0, *stops])]
        costs = (np.cumsum(pieces) * self.unit)[where].reshape(strengths.shape)
        return costs.item() if costs.ndim == 0 else costs

    def _bias(self, at: Cutoff) -> float:
        return excess_risk(self.cutoff, at.retained) * self.unit

    def bias_bound(self, alpha: ArrayLike) -> Any:
        r"""Return the upper bound of the population cost (eq. population-bias-bound).

        :math:`(\alpha^2 / \underline g_\alpha) \sup_{t \le \alpha} \|P_t^\perp D P_t\|_F^2`, where
        :math:`\underline g_\alpha` is the smallest cutoff gap on :math:`[0, \alpha]`, which must be open. The
        two extremes are searched on a grid and refined.
        """
        strengths = as_strengths(alpha)
        self.path.require_open(float(strengths.max(initial=0.0)))
        return over_strengths(
            alpha,
            lambda strength: (
                self.unit
                * strength**2
                * self.path.largest_leakage(strength)
                / self.path.smallest_gap(strength)
            ),
        )

    @cached_property
    def local_bias_constant(self) -> float:
        r""":math:`C_D = \sum_{jk} (u_k^\top D u_j)^2 / (\lambda_j - \lambda_k)` (eq. moving-bias-local).

        The population cost of a little attenuation: :math:`B_{pop}(\alpha) = \alpha^2 C_D + O(\alpha^3)`.
        """
        return float(np.sum(self._leakage_couplings**2 / self.cutoff.gaps)) * self.unit

    # --- sampling ---------------------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> PairMoments:
        """Moments of every retained-omitted pair: s_jk, h_jk, var a, cov ab, var b, gaps."""
        return pair_moments(self.covariance, cut(self.covariance, self.n_components))

    @cached_property
    def constants(self) -> BalancedConstants:
        """The sums A, B, C, V and G(0) over the pairs, which decide the risk under balanced marginals."""
        return balanced_constants(pair_moments(self.scaled, self.cutoff), self.unit)

    def sampling_coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`K_{move}(\alpha)` under Gaussian sampling (eq. moving-risk-constant).

        The one general implementation, :func:`attenua.theory.risk.sampling_coefficient`. It equals
        :math:`K(\alpha)` where the target is preserved and :math:`G(\alpha)` under balanced marginals; where
        the target moves it may be negative. It needs a gap at each strength asked for.
        """
        return over_strengths(alpha, lambda strength: self._coefficient(strength, self.cut_at(strength)))

    def _coefficient(self, strength: float, at: Cutoff) -> float:
        correction = risk.attenuation(self.scaled, strength)
        return self.unit * risk.sampling_coefficient(correction, at, self.scaled)

    def preserved_coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`K(\alpha)` of Theorem fixed-p: `sampling_coefficient` where the target stays.

        :math:`K(\alpha) = E \langle \mathcal L_\alpha^{-1} Z_\alpha, \mathcal H_\Sigma \mathcal L_\alpha^{-1}
        Z_\alpha \rangle` (eq. general-risk-constant). An error where the target moves, since the theorem says
        nothing there.
        """
        strengths = as_strengths(alpha)
        moved = strengths[~np.asarray(self.preserves_target(strengths))]
        if moved.size:
            raise ValueError(
                f"K(alpha) is defined where the target is preserved; it moves at alpha = {moved.flat[0]:g}. "
                "sampling_coefficient covers that case."
            )
        return self.sampling_coefficient(strengths)

    def balanced_coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`G(\alpha) = G(0) - 4 \alpha A_\Sigma + \alpha^2 B_\Sigma` (eq. Galpha)."""
        self.require_balance("G(alpha)")
        c = self.constants
        return over_strengths(alpha, lambda strength: c.G0 - 2 * strength * c.C + strength**2 * c.V)

    def require_balance(self, what: str) -> None:
        """Raise an error that says what needs balanced marginals, if they are not balanced."""
        if not self.is_balanced:
            variances = self.path.variances * self.unit
            raise ValueError(
                f"{what} needs balanced marginals: the variances on covariance's diagonal must be equal; "
                f"they run from {variances.min():g} to {variances.max():g}."
            )

    def excess_risk(self, alpha: ArrayLike, n: float) -> Any:
        r"""Return :math:`B_{pop}(\alpha) + K_{move}(\alpha)/n`, the expected excess risk to order 1/n."""
        n = as_sample_size(n)

        def total(strength: float) -> float:
            at = self.cut_at(strength)
            return self._bias(at) + self._coefficient(strength, at) / n

        return over_strengths(alpha, total)

    def benefit(self, alpha: ArrayLike, n: float) -> Any:
        r"""Return how far attenuation lowers the expected excess risk of PCA at `n` rows, to order 1/n.

        :math:`\{K(0) - K_{move}(\alpha)\}/n - B_{pop}(\alpha)`: positive exactly under the benefit condition
        (eq. moving-benefit-condition).
        """
        return self.excess_risk(0.0, n) - self.excess_risk(alpha, n)

    def is_beneficial(self, alpha: ArrayLike, n: float) -> Any:
        r"""Return whether :math:`n B_{pop} < K(0) - K_{move}(\alpha)` (eq. moving-benefit-condition)."""
        return over_strengths(alpha, lambda strength: self.benefit(strength, n) > 0, dtype=bool)

    # --- strengths --------------------------------------------------------------------------------------

    def oracle(self, n: float, path: str = "direct", *, strengths: ArrayLike | None = None) -> float:
        """Return the strength with the smallest `excess_risk` at `n` rows.

        Parameters
        ----------
        n : float
            Sample size.
        path : {"direct", "mask"}
            Range: [0, 1], or the closure [0, 1/2] of the strengths that masks reach.
        strengths : array-like, default=None
            Search these (up to the end of the path; ties go to the smallest) instead of the whole range. The
            range is searched on a grid and then continuously around the best point; it needs a cutoff gap
            that stays open, the grid one that is open at its points.

        Warns
        -----
        UserWarning
            When the smallest predicted risk is negative, a sign that the expansion fails at this `n`.
        """
        upper = oracle.upper_end(path)

        def curve(alpha: Array) -> Array:
            return self.excess_risk(alpha, n)

        if strengths is not None:
            best = oracle.on_grid(curve, strengths, upper)
        else:
            self.path.require_open(upper)
            best = oracle.on_range(curve, upper)
        if self.excess_risk(best, n) < 0:
            warnings.warn(
                f"The risk predicted at n = {n:g} is negative at alpha = {best:.3g}, which no excess risk "
                "can be: the cutoff gap there is too small for an expansion in 1/n. Do not rely on it.",
                stacklevel=2,
            )
        return best

    def asymptotic_oracle(self, path: str = "direct") -> float:
        r"""Return :math:`\min(C_\Sigma / V_\Sigma, 1)`, or 1/2 in place of 1 for "mask" (eq. two-oracles).

        The minimiser of the leading risk under balanced marginals, the same for every sample size.
        """
        upper = oracle.upper_end(path)
        self.require_balance("The asymptotic oracle")
        return min(self.constants.C / self.constants.V, upper)

    @cached_property
    def local_saving(self) -> float:
        r""":math:`R_{move} = -K_{move}'(0)`: what a little attenuation saves, times `n`.

        Differentiating eq. moving-risk-constant at 0, where :math:`\Sigma` and :math:`T_0` share
        eigenvectors, only the residual couplings and the gaps move to first order (the cross-block of
        :math:`\Sigma` starts to move too, but meets a mean displacement of zero under Gaussian sampling),
        which leaves

        .. math::

            R_{move} = 4 A_\Sigma - 2 \sum_{j \le d < k} \frac{\lambda_j \lambda_k}{(\lambda_j - \lambda_k)^2}
            (u_j^\top D u_j - u_k^\top D u_k).
        """
        at, variances = self.cutoff, self.path.variances
        inside, outside = variances @ at.retained**2, variances @ at.omitted**2
        products = np.outer(at.omitted_values, at.retained_values)
        closing = np.sum(products / at.gaps**2 * (inside[None, :] - outside[:, None]))
        return 2 * self.constants.C - 2 * float(closing) * self.unit

    def local_oracle(self, n: float) -> float:
        r"""Return :math:`R_{move} / (2 C_D n)`, a moving target's leading oracle (eq. moving-local-oracle).

        It needs :math:`C_D > 0` and :math:`R_{move} > 0`, and describes large `n`; it is not clipped to [0,
        1].
        """
        n = as_sample_size(n)
        if not self._leaks():
            raise ValueError(
                "The local oracle needs a moving target: here C_D = 0 and the bias is not local."
            )
        if self.local_saving <= 0:
            raise ValueError(
                f"The local oracle needs R_move > 0; here it is {self.local_saving:g}: PCA is locally best."
            )
        return self.local_saving / (2 * self.local_bias_constant * n)
