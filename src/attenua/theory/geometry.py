r"""A population covariance at a rank: its target, and where the corrections move it.

The paper's path of attenuation, :math:`T_t = \Sigma - t D` with :math:`D = \operatorname{diag}(\Sigma)`, has
formulas of its own: where its gap closes, and what its movement costs.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from attenua._correct.attenuation import NAMED_ALPHAS
from attenua._correct.columns import column_labels, column_smoother
from attenua._correct.reference import as_reference
from attenua._correct.registry import Strengths
from attenua.theory._checks import (
    INPUT_TOLERANCE,
    PRESERVATION_TOLERANCE,
    as_matrix,
    as_rank,
    as_strength,
)
from attenua.theory.corrected_map import CorrectionMap, in_words, over_candidates
from attenua.theory.cutoff import Array, Cutoff, cut, resolution, threads_for
from attenua.theory.laws import Law, as_law
from attenua.theory.noise import RowNoise

# The closure of the strengths that random masks reach, and of the direct path.
PATHS = {"direct": 1.0, "mask": 0.5}
# A closing strength is located to this accuracy.
STRENGTH_ACCURACY = 1e-10
# Noises of a few row temperings are kept: as many as the estimators compare, and one more.
_KEPT = 6


def upper_end(path: str) -> float:
    """Return the largest strength of a path, "direct" or (in the limit) "mask"."""
    if path not in PATHS:
        raise ValueError(f'path must be "direct" or "mask"; got {path!r}.')
    return PATHS[path]


def default_strengths(path: str = "direct") -> Array:
    """Return the paper's grid, {0, .05, ..., 1} with .49, up to the end of the path.

    Examples
    --------
    >>> from attenua.theory import default_strengths
    >>> len(default_strengths()), float(default_strengths("mask").max())
    (22, 0.49)
    """
    upper_end(path)
    return NAMED_ALPHAS[path].copy()


class CovariancePath:
    r"""The matrices :math:`T_t = \Sigma - t D` of a covariance :math:`\Sigma`, split at one rank."""

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

    def _leakage_over(self, strength: float, power: int) -> float:
        r"""Return :math:`\sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)^{power}` at :math:`T_t`."""
        at = cut(self.matrix(strength), self.n_components)
        return float(np.sum(at.cross_block(np.diag(self.variances)) ** 2 / at.gaps**power))

    def largest_leakage(self, upper: float) -> float:
        r"""Return the largest :math:`\|P_t^\perp D P_t\|_F^2` on [0, upper] (a grid, then refined)."""
        return -_smallest(lambda strength: -self._leakage_over(strength, 0), upper)

    def movement_rate(self, strength: float) -> float:
        r"""Return :math:`B_{pop}'(t) = 2 t \sum_{j \le d < k} (v_k^\top D v_j)^2 / (\mu_j - \mu_k)`."""
        return 2 * strength * self._leakage_over(strength, 1)

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


class NoGapError(ValueError):
    """A corrected population has no gap at the rank, so that its leading subspace is not unique."""


class Corrected(NamedTuple):
    """A corrected population: the noise of its rows, the correction, and its matrix split at the rank."""

    noise: RowNoise
    correction: CorrectionMap
    cutoff: Cutoff


class Geometry:
    """The geometry of :class:`Population`, which describes the arguments and attributes."""

    def __init__(
        self,
        covariance: ArrayLike,
        n_components: int,
        *,
        neighbours: Any = None,
        reference: Any = None,
        feature_groups: Any = None,
        row_pairs: bool = False,
    ) -> None:
        self.covariance = as_matrix(covariance, "covariance")
        self.n_features = len(self.covariance)
        self.n_components = as_rank(n_components, self.n_features)
        self.unit = float(np.ldexp(1.0, np.frexp(np.abs(self.covariance).max())[1]))
        self.scaled = self.covariance / self.unit
        self.cutoff = cut(self.scaled, self.n_components)
        self.path = CovariancePath(self.scaled, self.n_components)
        self._smoother = column_smoother(neighbours, self.n_features)
        self._reference = None if reference is None else as_reference(reference, self.n_features)
        self._labels = column_labels(feature_groups, self.n_features)
        self._row_pairs = bool(row_pairs)
        self._noises: dict[tuple[Law, float], RowNoise] = {}
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

    def require_balance(self, what: str) -> None:
        """Raise an error that says what needs balanced marginals, if they are not balanced."""
        if not self.is_balanced:
            variances = self.path.variances * self.unit
            raise ValueError(
                f"{what} needs balanced marginals: the variances on covariance's diagonal must be equal; "
                f"they run from {variances.min():g} to {variances.max():g}."
            )

    def closing_strength(self, upper: float = 1.0) -> float | None:
        """Return the first attenuation in [0, upper] where the cutoff gap closes (to 1e-10), or None."""
        return self.path.closing_strength(as_strength(upper, "upper"))

    # --- corrected populations ----------------------------------------------------------------------------

    def _over(
        self,
        strengths: Mapping[str, ArrayLike],
        law: Any,
        function: Callable[[Strengths, Law], Any],
        dtype: type = float,
    ) -> Any:
        """Evaluate `function`, which decomposes matrices of this size, at every candidate."""
        law = as_law(law)
        with threads_for(self.n_features):
            return over_candidates(strengths, lambda candidate: function(candidate, law), dtype)

    def _noise_and_map(self, candidate: Strengths, law: Law) -> tuple[RowNoise, CorrectionMap]:
        correction, noise = self._map(candidate), self._noise(law, candidate.row_tempering)
        if not candidate.borrowing or correction.reference is None:
            return noise, correction
        R = correction.reference.matrix(self.scaled)
        return noise.borrowed(candidate.borrowing, R), self._map(candidate.replace(borrowing=0))

    def _map(self, candidate: Strengths) -> CorrectionMap:
        return CorrectionMap(candidate, self._labels, self._smoother, self._reference)

    def _noise(self, law: Law, row_tempering: float) -> RowNoise:
        """Return the noise of the rows; the last few are kept, since many maps may follow one of them."""
        key = (law, row_tempering)
        if key not in self._noises:
            if len(self._noises) == _KEPT:
                self._noises.pop(next(iter(self._noises)))
            self._noises[key] = law.noise(self.scaled, row_tempering, self.unit, self._row_pairs)
        return self._noises[key]

    def _matrix(self, candidate: Strengths, law: Law) -> Array:
        noise, correction = self._noise_and_map(candidate, law)
        return correction.value(noise.covariance)

    def _corrected(self, candidate: Strengths, law: Law) -> Corrected:
        """Return the scaled corrected population split at the rank, or say that its gap closes there."""
        noise, correction = self._noise_and_map(candidate, law)
        at = cut(correction.value(noise.covariance), self.n_components)
        if at.is_closed:
            raise NoGapError(
                f"covariance, corrected with {in_words(candidate)}, has no gap at rank {self.n_components}: "
                "its leading subspace is not unique."
            )
        return Corrected(noise, correction, at)

    def _unit_of(self, candidate: Strengths) -> float:
        return self.unit ** (1 - candidate.tempering)

    def block_gap(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return :math:`\delta` (eq. preserved-gap, there for attenuation).

        The smallest Rayleigh quotient of the corrected matrix inside the target, less the largest one in its
        complement. Negative once the correction has reversed their order.
        """

        def block_gap(candidate: Strengths, law: Law) -> float:
            return self._block_gap(self._matrix(candidate, law)) * self._unit_of(candidate)

        return self._over(strengths, law, block_gap)

    def _block_gap(self, T: Array) -> float:
        inside, outside = (
            np.linalg.eigvalsh(U.T @ T @ U) for U in (self.cutoff.retained, self.cutoff.omitted)
        )
        return float(inside[0] - outside[-1])

    def cutoff_gap(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Any:
        r"""Return :math:`\lambda_d - \lambda_{d+1}` of the corrected matrix; 0 where not resolved."""

        def cutoff_gap(candidate: Strengths, law: Law) -> float:
            at = cut(self._matrix(candidate, law), self.n_components)
            return 0.0 if at.is_closed else at.gap * self._unit_of(candidate)

        return self._over(strengths, law, cutoff_gap)

    def population_leakage(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Array:
        r"""Return :math:`P_*^\perp T P_*` of the corrected matrix T; shape of the strengths + (p, p).

        For attenuation alone it is :math:`-\alpha` times `leakage` (eq. population-cross-block).
        """

        def leakage(candidate: Strengths, law: Law) -> Array:
            couplings = self.cutoff.cross_block(self._matrix(candidate, law))
            return self.cutoff.embed(couplings) * self._unit_of(candidate)

        return self._over(strengths, law, leakage)

    def preserves_target(
        self, *, law: Any = "gaussian", tol: float = PRESERVATION_TOLERANCE, **strengths: ArrayLike
    ) -> Any:
        r"""Return whether :math:`P_*` is the unique leading projector of the corrected matrix T.

        That is :math:`P_*^\perp T P_* = 0` and :math:`\delta > 0` (Proposition target-preservation).

        Numerically, :math:`\|P_*^\perp T P_*\|_F \le` `tol` :math:`\|T\|_F` and :math:`\delta >` `tol`
        :math:`\|T\|_F`.
        """

        def preserves(candidate: Strengths, law: Law) -> bool:
            T = self._matrix(candidate, law)
            allowed = tol * np.linalg.norm(T)
            leak = np.linalg.norm(self.cutoff.cross_block(T))
            return bool(leak <= allowed and self._block_gap(T) > allowed)

        return self._over(strengths, law, preserves, dtype=bool)

    def moved_projector(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Array:
        r"""Return the projector that the correction estimates; shape of the strengths + (p, p)."""
        return self._over(strengths, law, lambda *at: self._corrected(*at).cutoff.projector)
