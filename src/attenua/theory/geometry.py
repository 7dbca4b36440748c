"""A population covariance at a rank: its target, and where the two strengths lead it."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory._checks import (
    INPUT_TOLERANCE,
    PRESERVATION_TOLERANCE,
    as_matrix,
    as_rank,
    as_strength,
    over_pairs,
)
from attenua.theory._threads import threads_for
from attenua.theory.cutoff import Array, Cutoff, cut, resolution
from attenua.theory.movement import AttenuationPath


class Geometry:
    """The geometry of :class:`Population`, which describes the arguments and attributes."""

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

    def path_at(self, tempering: float) -> AttenuationPath:
        r"""Return the matrices :math:`T(t, \gamma)` of the scaled population as a path in `t`."""
        return AttenuationPath(self.scaled, self.n_components, tempering) if tempering else self.path

    def _over_pairs(
        self,
        alpha: ArrayLike,
        tempering: ArrayLike,
        function: Callable[[float, float], Any],
        dtype: type = float,
    ) -> Any:
        """Evaluate `function`, which decomposes matrices of this size, at every pair of strengths."""
        with threads_for(self.n_features):
            return over_pairs(alpha, tempering, function, dtype)

    def block_gap(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return :math:`\delta` (eq. preserved-gap, there without tempering).

        The smallest Rayleigh quotient of :math:`T(\alpha, \gamma)` inside the target, less the largest one in
        its complement. Negative once the correction has reversed their order.
        """

        def block_gap(strength: float, tempering: float) -> float:
            T, U = self.path_at(tempering).matrix(strength), self.cutoff.retained
            U_omitted = self.cutoff.omitted
            gap = np.linalg.eigvalsh(U.T @ T @ U)[0] - np.linalg.eigvalsh(U_omitted.T @ T @ U_omitted)[-1]
            return float(gap) * self.unit ** (1 - tempering)

        return self._over_pairs(alpha, tempering, block_gap)

    def cutoff_gap(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Any:
        r"""Return :math:`\lambda_d - \lambda_{d+1}` of :math:`T(\alpha, \gamma)`; 0 where not resolved."""
        return self._over_pairs(
            alpha, tempering, lambda a, gamma: self.path_at(gamma).gap(a) * self.unit ** (1 - gamma)
        )

    def closing_strength(self, upper: float = 1.0, *, tempering: float = 0.0) -> float | None:
        """Return the first strength in [0, upper] where the cutoff gap closes (to 1e-10), or None."""
        path = self.path_at(as_strength(tempering, "tempering"))
        return path.closing_strength(as_strength(upper, "upper"))

    def population_leakage(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Array:
        r"""Return :math:`P_*^\perp T(\alpha, \gamma) P_*`; shape of the strengths + (p, p).

        Without tempering it is :math:`-\alpha` times `leakage` (eq. population-cross-block).
        """

        def leakage(strength: float, tempering: float) -> Array:
            couplings = self._couplings(strength, tempering)
            return self.cutoff.embed(couplings) * self.unit ** (1 - tempering)

        return self._over_pairs(alpha, tempering, leakage)

    def _couplings(self, strength: float, tempering: float) -> Array:
        if tempering == 0:
            return -strength * self._leakage_couplings
        return self.cutoff.cross_block(self.path_at(tempering).matrix(strength))

    def preserves_target(
        self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0, tol: float = PRESERVATION_TOLERANCE
    ) -> Any:
        r"""Return whether :math:`P_*` is the unique leading projector of :math:`T(\alpha, \gamma)`.

        That is :math:`P_*^\perp T P_* = 0` and :math:`\delta > 0` (Proposition target-preservation).

        Parameters
        ----------
        alpha, tempering : float or array-like
            Strengths. At (0, 0) the answer is always True.
        tol : float, default=1e-8
            Numerical meaning of the two conditions, with :math:`D` the diagonal of :math:`T(0, \gamma)`:
            :math:`\|P_*^\perp T P_*\|_F \le` `tol` :math:`\|D\|_F`, and :math:`\delta >` `tol` :math:`\max
            D`. Without tempering :math:`P_*^\perp T P_* = -\alpha P_*^\perp D P_*`, and the first condition
            is on :math:`P_*^\perp D P_*`, whatever the strength.
        """

        def preserves(strength: float, tempering: float) -> bool:
            if strength == tempering == 0:
                return True
            largest = self.path_at(tempering).variances.max() * self.unit ** (1 - tempering)
            gap = self.block_gap(strength, tempering=tempering)
            return not self._leaks(strength, tempering, tol) and gap > tol * largest

        return self._over_pairs(alpha, tempering, preserves, dtype=bool)

    def _leaks(
        self, strength: float = 1.0, tempering: float = 0.0, tol: float = PRESERVATION_TOLERANCE
    ) -> bool:
        couplings = self._couplings(strength, tempering) if tempering else self._leakage_couplings
        return bool(np.linalg.norm(couplings) > tol * np.linalg.norm(self.path_at(tempering).variances))

    def cut_at(self, strength: float, tempering: float = 0.0) -> Cutoff:
        """Return the scaled corrected population split at the rank, or say that its gap closes there."""
        return self.path_at(tempering).cut_at(strength)

    def moved_projector(self, alpha: ArrayLike, *, tempering: ArrayLike = 0.0) -> Array:
        r"""Return the projector that the correction estimates; shape of the strengths + (p, p)."""
        return self._over_pairs(alpha, tempering, lambda *pair: self.cut_at(*pair).projector)
