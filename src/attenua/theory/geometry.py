"""A population covariance at a rank: its target, and where the corrections lead it."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.feature_groups import column_labels
from attenua._correct.neighbours import column_smoother
from attenua._correct.registry import Strengths
from attenua.theory._checks import (
    INPUT_TOLERANCE,
    PRESERVATION_TOLERANCE,
    as_matrix,
    as_rank,
    as_strength,
    in_words,
    over_candidates,
)
from attenua.theory._threads import threads_for
from attenua.theory.cutoff import Array, Cutoff, cut, resolution
from attenua.theory.laws import Law, as_law
from attenua.theory.maps import CorrectionMap
from attenua.theory.movement import AttenuationPath
from attenua.theory.noise import RowNoise

# Noises of a few row temperings are kept: as many as the estimators compare, and one more.
_KEPT = 6


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
        feature_groups: Any = None,
        row_pairs: bool = False,
    ) -> None:
        self.covariance = as_matrix(covariance, "covariance")
        self.n_features = len(self.covariance)
        self.n_components = as_rank(n_components, self.n_features)
        self.unit = float(np.ldexp(1.0, np.frexp(np.abs(self.covariance).max())[1]))
        self.scaled = self.covariance / self.unit
        self.cutoff = cut(self.scaled, self.n_components)
        self.path = AttenuationPath(self.scaled, self.n_components)
        self._smoother = column_smoother(neighbours, self.n_features)
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
        if candidate.smoothing and self._smoother is None:
            raise ValueError(
                "smoothing needs neighbours: say which columns are, as in Population(neighbours=...)."
            )
        return self._noise(law, candidate.row_tempering), CorrectionMap(
            candidate, self._labels, self._smoother
        )

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
            T, U, U_omitted = self._matrix(candidate, law), self.cutoff.retained, self.cutoff.omitted
            gap = np.linalg.eigvalsh(U.T @ T @ U)[0] - np.linalg.eigvalsh(U_omitted.T @ T @ U_omitted)[-1]
            return float(gap) * self._unit_of(candidate)

        return self._over(strengths, law, block_gap)

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

        Parameters
        ----------
        law : str, law or array-like, default="gaussian"
            Law of the rows; it matters to row tempering only.
        tol : float, default=1e-8
            Numerical meaning of the two conditions: :math:`\|P_*^\perp T P_*\|_F \le` `tol`
            :math:`\|T\|_F`, and :math:`\delta >` `tol` :math:`\|T\|_F`.
        **strengths : float or array-like
            Strengths of the corrections by name.
        """

        def preserves(candidate: Strengths, law: Law) -> bool:
            T, at = self._matrix(candidate, law), self.cutoff
            inside, outside = (np.linalg.eigvalsh(U.T @ T @ U) for U in (at.retained, at.omitted))
            allowed = tol * np.linalg.norm(T)
            leak = np.linalg.norm(at.cross_block(T))
            return bool(leak <= allowed and inside[0] - outside[-1] > allowed)

        return self._over(strengths, law, preserves, dtype=bool)

    def moved_projector(self, *, law: Any = "gaussian", **strengths: ArrayLike) -> Array:
        r"""Return the projector that the correction estimates; shape of the strengths + (p, p)."""
        return self._over(strengths, law, lambda *at: self._corrected(*at).cutoff.projector)
