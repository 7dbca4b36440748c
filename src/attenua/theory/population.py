"""The one door to the theory: a covariance and a rank in, costs, savings and best strengths out."""

import warnings
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory import oracle, risk
from attenua.theory._checks import as_pairs, as_sample_size, as_strengths
from attenua.theory._threads import threads_for
from attenua.theory.cutoff import Array, Cutoff, cut, excess_risk
from attenua.theory.family import two_strengths
from attenua.theory.geometry import Geometry
from attenua.theory.pairs import (
    BalancedConstants,
    PairMoments,
    balanced_constants,
    balanced_quadratic,
    pair_moments,
    tempering_weights,
)
from attenua.theory.surface import RiskSurface


class Population(Geometry):
    r"""A population covariance and a rank, with the risk theory computed for them.

    For :math:`n` Gaussian rows with covariance :math:`\Sigma` the subspace of diagonal-attenuation PCA has
    expected excess reconstruction risk

    .. math::

        E\, R_{ex}(\hat P_{\alpha, \gamma}) = B_{pop}(\alpha, \gamma) + K(\alpha, \gamma) / n + O(n^{-3/2}):

    a population cost that no sample size removes, and a sampling coefficient. With `tempering`
    :math:`\gamma = 0`, the default, this is the paper's Theorem target-moving-risk and its :math:`K_{move}`;
    the guide derives it for both strengths ("The theory of two strengths").

    Everywhere `alpha` and `tempering` are numbers or arrays in [0, 1] that broadcast against each other, and
    the answer has the shape they broadcast to: that of `alpha` for one tempering, a surface for
    ``alpha[:, None]`` and a vector of temperings. Matrices built from :math:`T(\alpha, \gamma)`, gaps among
    them, are in units of variance to the power :math:`1 - \gamma`; risks are in units of variance.

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
    >>> population.excess_risk([0.0, 0.5, 1.0], n=50, tempering=0.5).round(4)
    array([0.0314, 0.0225, 0.0164])
    """

    # --- population cost --------------------------------------------------------------------------------

    def bias(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0, method: str = "direct") -> Any:
        r"""Return the cost :math:`B_{pop} = \operatorname{tr}\{\Sigma (P_* - P_{T(\alpha, \gamma)})\}`.

        Parameters
        ----------
        alpha, tempering : float or array-like
            Strengths.
        method : {"direct", "path"}
            "direct": from the projectors (eq. population-attenuated-projector); needs a gap at `alpha` only.
            "path": by integrating its derivative from 0 (eq. population-bias-path-identity),
            :math:`2 \int_0^\alpha t \sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)\, dt`, which
            needs the gap to stay open all the way, and no tempering.
        """
        if method == "direct":
            return self._over_pairs(alpha, tempering, lambda *pair: self._bias(self.cut_at(*pair)))
        if method != "path":
            raise ValueError(f'method must be "direct" or "path"; got {method!r}.')
        strengths, temperings = as_pairs(alpha, tempering)
        if temperings.any():
            raise ValueError('method="path" follows alpha only; with tempering use method="direct".')
        stops, where = np.unique(strengths, return_inverse=True)
        self.path.require_open(float(stops.max(initial=0.0)))
        with threads_for(self.n_features):
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
        return self._over_pairs(
            alpha,
            0.0,
            lambda strength, _: (
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
        """The sums over the pairs that decide the risk under balanced marginals: A, B, C, V, G(0), ..."""
        weights = tempering_weights(self.cutoff).T
        return balanced_constants(pair_moments(self.scaled, self.cutoff), weights, self.unit)

    def sampling_coefficient(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return :math:`K(\alpha, \gamma)` under Gaussian sampling (eq. moving-risk-constant, extended).

        The one general implementation, :func:`attenua.theory.sampling_coefficient`, at
        :func:`attenua.theory.two_strengths`. Without tempering it is :math:`K_{move}(\alpha)`, which equals
        :math:`K(\alpha)` where the target is preserved and :math:`G(\alpha)` under balanced marginals; where
        the target moves it may be negative. It needs a gap at each pair asked for.
        """
        return self._over_pairs(alpha, tempering, lambda *pair: self._coefficient(*pair, self.cut_at(*pair)))

    def _coefficient(self, strength: float, tempering: float, at: Cutoff) -> float:
        correction = two_strengths(self.scaled, strength, tempering)
        return self.unit * risk.sampling_coefficient(correction, at, self.scaled)

    def preserved_coefficient(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return :math:`K(\alpha)` of Theorem fixed-p: `sampling_coefficient` where the target stays.

        :math:`K = E \langle \mathcal L^{-1} Z, \mathcal H_\Sigma \mathcal L^{-1} Z \rangle` for the coupling
        :math:`Z` of the linear part (eq. general-risk-constant, there without tempering). An error where the
        target moves, since the theorem says nothing there.
        """
        strengths, temperings = as_pairs(alpha, tempering)
        moved = ~np.asarray(self.preserves_target(strengths, tempering=temperings))
        if moved.any():
            where = f"alpha = {strengths[moved].flat[0]:g}"
            where += f", tempering = {temperings[moved].flat[0]:g}" if temperings.any() else ""
            raise ValueError(
                f"K(alpha) is defined where the target is preserved; it moves at {where}. "
                "sampling_coefficient covers that case."
            )
        return self.sampling_coefficient(strengths, tempering=temperings)

    def balanced_coefficient(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return :math:`G(\alpha) = G(0) - 4 \alpha A_\Sigma + \alpha^2 B_\Sigma` (eq. Galpha).

        With tempering every retained-omitted pair has a strength of its own in place of :math:`\alpha`,
        :math:`w_{jk} = \alpha (1 - \gamma) + \gamma (\lambda_j + \lambda_k) / (2 v)`, where :math:`v` is the
        common variance: :math:`G(\alpha, \gamma) = \sum_{jk} \operatorname{var}(a_{jk} - w_{jk} b_{jk}) /
        (\lambda_j - \lambda_k)`.
        """
        self.require_balance("G(alpha)")
        return self._over_pairs(alpha, tempering, lambda *pair: balanced_quadratic(self.constants, *pair))

    def require_balance(self, what: str) -> None:
        """Raise an error that says what needs balanced marginals, if they are not balanced."""
        if not self.is_balanced:
            variances = self.path.variances * self.unit
            raise ValueError(
                f"{what} needs balanced marginals: the variances on covariance's diagonal must be equal; "
                f"they run from {variances.min():g} to {variances.max():g}."
            )

    def excess_risk(self, alpha: ArrayLike, n: float, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return :math:`B_{pop}(\alpha, \gamma) + K(\alpha, \gamma)/n`, the expected risk to order 1/n."""
        n = as_sample_size(n)

        def total(*pair: float) -> float:
            bias, coefficient = self._parts(*pair)
            return bias + coefficient / n

        return self._over_pairs(alpha, tempering, total)

    def _parts(self, strength: float, tempering: float) -> tuple[float, float]:
        """Return bias and sampling coefficient from one eigendecomposition."""
        at = self.cut_at(strength, tempering)
        return self._bias(at), self._coefficient(strength, tempering, at)

    def benefit(self, alpha: ArrayLike, n: float, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return how far the correction lowers the expected excess risk of PCA at `n` rows, to order 1/n.

        :math:`\{K(0, 0) - K(\alpha, \gamma)\}/n - B_{pop}(\alpha, \gamma)`, positive exactly under the
        benefit condition (eq. moving-benefit-condition).
        """
        return self.excess_risk(0.0, n) - self.excess_risk(alpha, n, tempering=tempering)

    def is_beneficial(self, alpha: ArrayLike, n: float, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return whether :math:`n B_{pop} < K(0, 0) - K(\alpha, \gamma)` (eq. moving-benefit-condition)."""
        beneficial = np.asarray(self.benefit(alpha, n, tempering=tempering)) > 0
        return beneficial.item() if beneficial.ndim == 0 else beneficial

    # --- strengths --------------------------------------------------------------------------------------

    def oracle(
        self,
        n: float,
        path: str = "direct",
        *,
        strengths: ArrayLike | None = None,
        tempering: ArrayLike = 0.0,
    ) -> float | tuple[float, float]:
        """Return the strength, or the pair of strengths, with the smallest `excess_risk` at `n` rows.

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
        tempering : float or array-like, default=0.0
            A number: the tempering at which to search. An array: the temperings among which to choose as
            well; ties go to the smallest.

        Returns
        -------
        float or (float, float)
            `alpha` for one tempering; `(alpha, tempering)` where several were given.

        Warns
        -----
        UserWarning
            When the smallest predicted risk is negative, a sign that the expansion fails at this `n`.
        """
        upper, temperings = oracle.upper_end(path), as_strengths(tempering, "tempering")
        if temperings.size == 0:
            raise ValueError("tempering must hold at least one number.")
        with threads_for(self.n_features):
            pairs = [(self._best_strength(n, upper, strengths, t), t) for t in np.unique(temperings).tolist()]
            risks = [self.excess_risk(alpha, n, tempering=t) for alpha, t in pairs]
        alpha, tempered = pairs[int(np.argmin(risks))]
        if min(risks) < 0:
            where = f"alpha = {alpha:.3g}" + (f", tempering = {tempered:.3g}" if tempered else "")
            warnings.warn(
                f"The risk predicted at n = {n:g} is negative at {where}, which no excess risk "
                "can be: the cutoff gap there is too small for an expansion in 1/n. Do not rely on it.",
                stacklevel=2,
            )
        return (alpha, tempered) if temperings.ndim else alpha

    def _best_strength(self, n: float, upper: float, strengths: ArrayLike | None, tempering: float) -> float:
        def curve(alpha: Array) -> Array:
            return self.excess_risk(alpha, n, tempering=tempering)

        if strengths is not None:
            return oracle.on_grid(curve, strengths, upper)
        if tempering == 1:
            return 0.0  # strengths do not change the eigenvectors of a correlation matrix
        self.path_at(tempering).require_open(upper)
        return oracle.on_range(curve, upper)

    def risk_surface(
        self,
        n: float,
        *,
        alphas: ArrayLike | None = None,
        temperings: ArrayLike | None = None,
        advance: Callable[[], object] | None = None,
    ) -> RiskSurface:
        """Return bias and sampling part at every pair of a strength and a tempering.

        Parameters
        ----------
        n : float
            Sample size.
        alphas, temperings : array-like, default=None
            The two axes of the surface; by default the paper's 22 strengths, and 0, 0.1, ..., 1.
        advance : callable, default=None
            Called after every pair, for a progress bar: hundreds of columns take minutes.

        Examples
        --------
        >>> import numpy as np
        >>> from attenua.theory import Population
        >>> surface = Population(np.eye(4) + np.ones((4, 4)), n_components=1).risk_surface(n=50)
        >>> surface.risk.shape, surface.oracle()
        ((22, 11), (0.0, 1.0))
        """
        n = as_sample_size(n)
        strengths = oracle.default_strengths() if alphas is None else as_strengths(alphas, "alphas")
        grid = oracle.default_temperings() if temperings is None else as_strengths(temperings, "temperings")
        strengths, grid = np.unique(strengths), np.unique(grid)
        if strengths.size == 0 or grid.size == 0:
            raise ValueError("alphas and temperings must each hold at least one number.")

        def parts(*pair: float) -> tuple[float, float]:
            found = self._parts(*pair)
            if advance is not None:
                advance()
            return found

        bias, coefficients = np.moveaxis(self._over_pairs(strengths[:, None], grid, parts), -1, 0)
        return RiskSurface(
            n=n,
            alphas=strengths,
            temperings=grid,
            bias=bias,
            sampling=coefficients / n,
            pca_risk=self.excess_risk(0.0, n),
        )

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
