"""The entry to the theory: a covariance and a rank in, costs, savings and best strengths out."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, Strengths
from attenua.theory import risk
from attenua.theory._checks import PRESERVATION_TOLERANCE, as_answer, as_sample_size, as_strengths
from attenua.theory.balanced import BalancedConstants, PairMoments, balanced_constants, pair_moments
from attenua.theory.corrected_map import as_candidates, in_words, offered_strengths
from attenua.theory.cutoff import Cutoff, cut, excess_risk, threads_for
from attenua.theory.geometry import Corrected, Geometry, NoGapError, upper_end
from attenua.theory.laws import Law, as_law

# Damping is not to be trusted where more than this part of the correlations is smaller than their errors.
MANY_SMALL = 0.1
# Risks that differ by less than this part are equal: some strengths make no difference next to others.
_TIE = 1e-12
# A range is searched at this many points first. Sweeps over several corrections end when one gains less than
# this part of the risk.
_POINTS, _SWEEPS, _GAIN = 21, 20, 1e-6


class Population(Geometry):
    r"""A population covariance and a rank, with the risk theory computed for them.

    For :math:`n` rows with covariance :math:`\Sigma` the subspace of corrected PCA has expected excess
    reconstruction risk

    .. math::

        E\, R_{ex} = B_{pop} + K / n + o(1/n):

    a population cost that no sample size removes, and a sampling coefficient. For attenuation this is the
    paper's Theorem target-moving-risk and its :math:`K_{move}`; the guide derives it for all corrections
    ("The theory of all corrections").

    All methods take strengths by name: ``attenuation``, ``tempering``, ``damping``, ``smoothing``,
    ``borrowing`` and ``row_tempering``; those that are not given are 0. They are numbers or arrays that
    broadcast against each other, and the answer has the shape they broadcast to. Matrices and gaps of a
    corrected population are in units of variance to the power 1 - tempering; risks are in units of variance.
    The theory refuses other corrections unless their strength is 0.

    Parameters
    ----------
    covariance : array-like of shape (p, p)
        :math:`\Sigma`: symmetric, finite, without negative eigenvalues, with a gap at the rank. Asymmetry and
        negative eigenvalues below 1e-8 of the largest entry or eigenvalue count as rounding.
    n_components : int
        Rank `d` of the target, ``1 <= d < p``.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours, for smoothing, as in `CorrectedPCA`.
    reference : None, rows, fitted model, or covariance matrix, default=None
        What is borrowed from, as in `CorrectedPCA`. It does not change with the sample.
    feature_groups : None or array-like, default=None
        Groups of columns, for attenuation, as in `CorrectedPCA`.
    row_pairs : bool, default=False
        Whether row tempering weighs pairs of rows, as the estimators do up to 1,000 rows, or single rows, as
        they do above. Pairs need an elliptical law.

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
    scaled, cutoff, path : ndarray, Cutoff, CovariancePath
        That matrix, its eigendecomposition split at the rank, and the paper's path of attenuation.

    Notes
    -----
    The rows have a known mean. Centring costs Gaussian rows one observation: give ``n - 1`` as sample size
    for an estimator that centres.

    Every `law` is "gaussian", one of the paper's other two ("t10" and "exponential"), a law such as
    :class:`StudentT`, or an array of rows whose moments are used.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population, StudentT
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> bool(population.preserves_target(attenuation=0.5, damping=0.5))
    True
    >>> round(population.oracle(50, ["attenuation"]).attenuation, 3)
    1.0
    >>> population.excess_risk(50, attenuation=[0.0, 0.5, 1.0], tempering=0.5).round(4)
    array([0.0314, 0.0225, 0.0164])
    >>> population.excess_risk(50, row_tempering=[0.0, 0.5, 1.0], law=StudentT(5)).round(3)
    array([0.225, 0.099, 0.128])
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{self.n_features} features>, n_components={self.n_components})"

    # --- population cost ----------------------------------------------------------------------------------

    def bias(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return the cost :math:`B_{pop} = \operatorname{tr}\{\Sigma (P_* - P_T)\}`.

        :math:`P_T` is the leading projector of the corrected population (for attenuation eq.
        population-attenuated-projector), which must have a gap at these strengths. The law of the rows
        matters to row tempering only.
        """
        return self._over(strengths, law, lambda *at: self._bias(self._corrected(*at).cutoff))

    def _bias(self, at: Cutoff) -> float:
        return excess_risk(self.cutoff, at.retained) * self.unit

    def bias_along_path(self, alpha: ArrayLike) -> Any:
        r"""Return the cost of attenuation by integrating its derivative (eq. population-bias-path-identity).

        :math:`2 \int_0^\alpha t \sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)\, dt`, which needs
        the gap to stay open all the way. It equals ``bias(attenuation=alpha)``.
        """
        strengths = as_strengths(alpha)
        stops, where = np.unique(strengths, return_inverse=True)
        self.path.require_open(float(stops.max(initial=0.0)))
        with threads_for(self.n_features):
            pieces = [self.path.bias_integral(start, stop) for start, stop in pairwise([0.0, *stops])]
        return as_answer((np.cumsum(pieces) * self.unit)[where].reshape(strengths.shape))

    def bias_bound(self, alpha: ArrayLike) -> Any:
        r"""Return the upper bound of the cost of attenuation (eq. population-bias-bound).

        :math:`(\alpha^2 / \underline g_\alpha) \sup_{t \le \alpha} \|P_t^\perp D P_t\|_F^2`, where
        :math:`\underline g_\alpha` is the smallest cutoff gap on :math:`[0, \alpha]`, which must be open. The
        two extremes are searched on a grid and refined.
        """
        strengths = as_strengths(alpha)
        self.path.require_open(float(strengths.max(initial=0.0)))

        def bound(strength: float) -> float:
            return strength**2 * self.path.largest_leakage(strength) / self.path.smallest_gap(strength)

        with threads_for(self.n_features):
            bounds = np.array([bound(strength) for strength in strengths.ravel().tolist()]) * self.unit
        return as_answer(bounds.reshape(strengths.shape))

    @cached_property
    def local_bias_constant(self) -> float:
        r""":math:`C_D = \sum_{jk} (u_k^\top D u_j)^2 / (\lambda_j - \lambda_k)` (eq. moving-bias-local).

        The population cost of a little attenuation: :math:`B_{pop}(\alpha) = \alpha^2 C_D + O(\alpha^3)`.
        """
        return float(np.sum(self._leakage_couplings**2 / self.cutoff.gaps)) * self.unit

    # --- sampling -----------------------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> PairMoments:
        """Moments of every retained-omitted pair: s_jk, h_jk, var a, cov ab, var b, gaps."""
        return pair_moments(self.covariance, cut(self.covariance, self.n_components))

    @cached_property
    def constants(self) -> BalancedConstants:
        """The sums over the pairs that decide the risk under balanced marginals: A, B, C, V and G(0)."""
        return balanced_constants(pair_moments(self.scaled, self.cutoff), self.unit)

    def sampling_coefficient(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return :math:`K` (eq. moving-risk-constant, for all corrections and laws).

        The one general implementation is :func:`attenua.theory.sampling_coefficient`. For attenuation and
        Gaussian rows it is :math:`K_{move}(\alpha)`, which equals :math:`K(\alpha)` where the target is
        preserved and :math:`G(\alpha)` under balanced marginals; where the target moves it may be negative.
        The corrected population must have a gap at these strengths.
        """
        return self._over(strengths, law, lambda *at: self._coefficient(self._corrected(*at)))

    def _coefficient(self, at: Corrected) -> float:
        correction = at.correction.at(at.noise.covariance, at.noise)
        return self.unit * risk.sampling_coefficient(correction, at.noise, at.cutoff, self.scaled)

    def preserved_coefficient(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return :math:`K` of Theorem fixed-p: `sampling_coefficient` where the target stays.

        :math:`K = E \langle \mathcal L^{-1} Z, \mathcal H_\Sigma \mathcal L^{-1} Z \rangle` for the coupling
        :math:`Z` of the linear part (eq. general-risk-constant, there for attenuation). An error where the
        target moves, since the theorem does not cover that.
        """
        _, candidates = as_candidates(strengths)
        options: dict[str, Any] = {"law": law, **strengths}
        kept = np.ravel(self.preserves_target(**options))
        if not kept.all():
            raise ValueError(
                "this coefficient is defined where the target is preserved; it moves at "
                f"{in_words(candidates[int(np.argmin(kept))])}. sampling_coefficient covers that case."
            )
        return self.sampling_coefficient(law=law, **strengths)

    def balanced_coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`G(\alpha) = G(0) - 4 \alpha A_\Sigma + \alpha^2 B_\Sigma` (eq. Galpha)."""
        self.require_balance("G(alpha)")
        strengths, c = as_strengths(alpha), self.constants
        return as_answer(np.asarray(c.G0 - 2 * strengths * c.C + strengths**2 * c.V))

    def excess_risk(self, n: float, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return :math:`B_{pop} + K/n`, the expected excess risk of n rows to order 1/n."""
        return self._over(strengths, law, self._risk_at(n))

    def _risk_at(self, n: float) -> Callable[[Strengths, Law], float]:
        n = as_sample_size(n)

        def total(candidate: Strengths, law: Law) -> float:
            bias, coefficient = self._parts(candidate, law)
            return bias + coefficient / n

        return total

    def _parts(self, candidate: Strengths, law: Law) -> tuple[float, float]:
        """Return bias and sampling coefficient from one eigendecomposition."""
        at = self._corrected(candidate, law)
        return self._bias(at.cutoff), self._coefficient(at)

    def benefit(self, n: float, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return how far corrections lower the expected excess risk of PCA at `n` rows, to order 1/n.

        :math:`\{K(0) - K\}/n - B_{pop}`, positive exactly under the benefit condition (eq.
        moving-benefit-condition). NaN where neither risk is finite.
        """
        with np.errstate(invalid="ignore"):
            return self.excess_risk(n, law=law) - self.excess_risk(n, law=law, **strengths)

    def is_beneficial(self, n: float, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return whether :math:`n B_{pop} < K(0) - K` (eq. moving-benefit-condition)."""
        return as_answer(np.asarray(np.asarray(self.benefit(n, law=law, **strengths)) > 0))

    # --- strengths ----------------------------------------------------------------------------------------

    def oracle(self, n: float, corrections: Any = "auto", *, law: Any = "gaussian") -> Strengths:
        """Return the strengths with the smallest `excess_risk` at `n` rows.

        Parameters
        ----------
        n : float
            Sample size.
        corrections : "auto", sequence of str, or mapping of str to sequence of float, default="auto"
            All corrections, or some by name: each is searched between 0 and the largest strength that the
            estimators compare, one after another until none gains any more; with several this may find a
            local minimum. Or some with their own strengths: all combinations are compared, and ties go to the
            smallest. "auto" leaves out smoothing without neighbours, borrowing without a reference, row
            tempering for a law without moments of it, and corrections that the theory does not cover.
        law : str, law or array-like, default="gaussian"
            Law of the rows.

        Returns
        -------
        Strengths
            One number for each correction. Strengths at which the gap at the rank closes are left out.

        Warns
        -----
        UserWarning
            When the smallest predicted risk is negative, a sign that the expansion fails at this `n`. When
            damping is chosen and more than a tenth of the correlations are below their errors, about
            :math:`n^{-1/2}`: the expansion promises too much of a little damping there.
        """
        risk_at, law = self._risk_at(n), as_law(law)
        grids = self._offered(corrections, law)

        def risk_or_infinity(candidate: Strengths) -> float:
            try:
                return risk_at(candidate, law)
            except NoGapError:
                return np.inf

        with threads_for(self.n_features):
            if isinstance(corrections, Mapping):
                best = _best_on_grids(risk_or_infinity, grids)
            else:
                best = _best_on_ranges(risk_or_infinity, list(grids))
            least = risk_or_infinity(best)
        if least < 0:
            warnings.warn(
                f"The risk predicted at n = {n:g} is negative at {in_words(best)}, which no excess risk "
                "can be: the cutoff gap there is too small for an expansion in 1/n. Do not rely on it.",
                stacklevel=2,
            )
        small = self.share_of_small_correlations(n)
        if best.damping and small > MANY_SMALL:
            warnings.warn(
                f"{small:.0%} of the correlations are smaller than {n**-0.5:.2g}, their error at n = {n:g} "
                "rows. The expansion promises too much of damping there; do not rely on it.",
                stacklevel=2,
            )
        return best

    def _offered(self, corrections: Any, law: Law) -> dict[str, tuple[float, ...]]:
        """Return the strengths of the corrections that are named; of all, those that apply here."""
        return offered_strengths(
            corrections,
            has_neighbours=self._smoother is not None,
            has_reference=self._reference is not None,
            can_temper_rows=law.can_temper_rows(self._row_pairs),
        )

    def share_of_small_correlations(self, n: float) -> float:
        r"""Return the part of the correlations with :math:`|r| < n^{-1/2}`, those below their errors.

        The expansion of damping is in relative errors :math:`E_{ij} / \Sigma_{ij}`, which must be below 1.
        """
        n, varies = as_sample_size(n), self.path.variances > 0
        inverse = self.path.variances[varies] ** -0.5
        correlations = self.scaled[np.ix_(varies, varies)] * inverse[:, None] * inverse
        sizes = np.abs(correlations[np.triu_indices(len(inverse), 1)])
        return float(np.mean(sizes < n**-0.5)) if sizes.size else 0.0

    def asymptotic_oracle(self, path: str = "direct") -> float:
        r"""Return :math:`\min(C_\Sigma / V_\Sigma, 1)`, or 1/2 instead of 1 for "mask" (eq. two-oracles).

        The attenuation with the smallest leading risk under balanced marginals, at every sample size.
        """
        upper = upper_end(path)
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
        leak = np.linalg.norm(self._leakage_couplings)
        if leak <= PRESERVATION_TOLERANCE * np.linalg.norm(self.path.variances):
            raise ValueError(
                "The local oracle needs a moving target: here C_D = 0 and the bias is not local."
            )
        if self.local_saving <= 0:
            raise ValueError(
                f"The local oracle needs R_move > 0; here it is {self.local_saving:g}: PCA is locally best."
            )
        return self.local_saving / (2 * self.local_bias_constant * n)


def _best_on_grids(risk: Callable[[Strengths], float], grids: Mapping[str, Sequence[float]]) -> Strengths:
    """Return the best of all combinations; ties go to the smallest strengths, the last correction first."""
    candidates = [Strengths(**dict(zip(grids, some, strict=True))) for some in product(*grids.values())]
    risks = np.array([risk(candidate) for candidate in candidates])
    least = risks.min()
    return candidates[int(np.argmax(risks <= least + _TIE * abs(least)))]


def _best_on_ranges(risk: Callable[[Strengths], float], names: Sequence[str]) -> Strengths:
    """Return the best strengths between 0 and the largest that the estimators compare.

    One correction after another, in the order of their search, until none gains any more. For one correction
    this is the minimum to the accuracy of the points that it starts from; for several it may be a local one.
    """
    best = Strengths()
    least = risk(best)
    for _ in range(_SWEEPS):
        before = least
        for name in (name for name in SEARCH_ORDER if name in names):
            best, least = _best_along(risk, best, least, name)
        # A risk that is infinite at first has nothing to compare the gain with.
        if len(names) == 1 or (np.isfinite(before) and not before - least > _GAIN * abs(before)):
            break
    return best


def _best_along(
    risk: Callable[[Strengths], float], best: Strengths, least: float, name: str
) -> tuple[Strengths, float]:
    """Return the best strength of one correction, with the others as they are, and its risk."""
    grid = np.linspace(0, max(CORRECTIONS[name].strengths), _POINTS)
    values = [risk(best.replace(**{name: strength})) for strength in grid]
    lowest = int(np.argmin(values))
    if values[lowest] < least:
        best, least = best.replace(**{name: grid[lowest]}), values[lowest]
    bounds = grid[max(lowest - 1, 0)], grid[min(lowest + 1, _POINTS - 1)]
    polished = minimize_scalar(
        lambda strength: risk(best.replace(**{name: strength})),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-7 * grid[-1]},
    )
    # The bounded search never evaluates its end points, where a monotone curve has its minimum.
    if polished.fun < least:
        best, least = best.replace(**{name: polished.x}), float(polished.fun)
    return best, least
