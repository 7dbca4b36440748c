r"""The corrections as the theory uses them: strengths by name, and one smooth map :math:`T = \varphi(S)`.

Tempering :math:`\gamma`, damping :math:`\beta` and attenuation :math:`\alpha` make every entry from itself
and its two variances,

.. math::

    F_{ij} = (1 - \alpha_{ij})\, S_{ij} |S_{ij}|^\beta (S_{ii} S_{jj})^{-h}, \qquad h = (\gamma + \beta) / 2,

with :math:`\alpha_{ij} = \alpha` where i and j are in one group (on the diagonal, without groups) and 0
elsewhere; on the diagonal that is :math:`(1 - \alpha) S_{ii}^{1 - \gamma}`. Smoothing is
:math:`T = K_h F K_h`. Borrowing comes before them and is linear, so that it changes S and its noise, and
nothing else (:meth:`attenua.theory.RowNoise.borrowed`). Row tempering is not a map of S; the laws of the rows
cover it. The formulas hold for these corrections only, so that a nonzero strength of any other is refused: of
pooling, whose graph depends on the rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.columns import Smoother
from attenua._correct.reference import Reference
from attenua._correct.registry import CORRECTIONS, Strengths, checked_grids, checked_strength
from attenua._correct.tempering import powers
from attenua._data.checks import real_numbers
from attenua.theory._checks import as_answer
from attenua.theory.cutoff import Array
from attenua.theory.noise import RowNoise

# What the formulas cover: maps of single entries, congruences of the whole matrix, a linear map before them,
# and weights of rows. The registry has the order in which they are applied.
ENTRYWISE, CONGRUENCES = ("tempering", "damping", "attenuation"), ("smoothing",)
BEFORE = ("borrowing",)
COVERED = {*BEFORE, *ENTRYWISE, *CONGRUENCES, "row_tempering"}


# --- strengths by name --------------------------------------------------------------------------------------


def check_covered(names: Iterable[str]) -> None:
    """Raise an error that names the first correction that the theory does not cover, if there is one."""
    for name in names:
        if name not in COVERED:
            raise ValueError(f"the theory does not cover {name}; set it to 0.")


def in_words(strengths: Strengths) -> str:
    """Return the strengths that are not 0, as a person would write them."""
    used = [f"{name} = {strength:.4g}" for name, strength in strengths.nonzero()]
    return ", ".join(used) if used else "no correction"


def as_candidates(strengths: Mapping[str, ArrayLike]) -> tuple[tuple[int, ...], list[Strengths]]:
    """Return the shape that strengths broadcast to, and one `Strengths` for each place in it."""
    unknown = [name for name in strengths if name not in CORRECTIONS]
    if unknown:
        raise TypeError(f"{unknown[0]!r} is not a correction; the corrections are {', '.join(CORRECTIONS)}.")
    arrays = {}
    for name, given in strengths.items():
        arrays[name] = real_numbers(given, f"{name} must be a number or an array of numbers")
        for value in arrays[name].ravel().tolist():
            checked_strength(name, value)
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"strengths must have shapes that broadcast, such as (3, 1) and (2,) for a surface; got {shapes}."
        ) from None
    flat = {name: np.broadcast_to(array, shape).ravel().tolist() for name, array in arrays.items()}
    places = range(int(np.prod(shape)))
    return shape, [Strengths(**{name: values[place] for name, values in flat.items()}) for place in places]


def over_candidates(
    strengths: Mapping[str, ArrayLike], function: Callable[[Strengths], Any], dtype: type = float
) -> Any:
    """Evaluate `function` at every candidate; the answer has the shape that the strengths broadcast to."""
    shape, candidates = as_candidates(strengths)
    answers: NDArray[Any] = np.array([function(candidate) for candidate in candidates], dtype=dtype)
    return as_answer(answers.reshape(shape + answers.shape[1:]))


def offered_strengths(
    corrections: Any, *, has_neighbours: bool, has_reference: bool, can_temper_rows: bool
) -> dict[str, tuple[float, ...]]:
    """Return the strengths to compare of "auto", of some names, or of a mapping with strengths.

    "auto" leaves out what the theory does not cover, and what the columns or the law do not allow.
    """
    grids = checked_grids(corrections)
    if not isinstance(corrections, str):
        check_covered(name for name, grid in grids.items() if any(grid))
        has_neighbours = has_reference = can_temper_rows = True  # errors name what is missing
    applies = {"smoothing": has_neighbours, "borrowing": has_reference, "row_tempering": can_temper_rows}
    return {name: grid for name, grid in grids.items() if name in COVERED and applies.get(name, True)}


# --- the map ------------------------------------------------------------------------------------------------


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
        :math:`A`: the part of its own error that every entry keeps; None where all keep it whole.
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
        Those of the corrections; row tempering is ignored here.
    labels : ndarray of shape (p,), optional
        Group of every column, for attenuation; each column is its own group if not given.
    smoother : Smoother, optional
        Multiplies by the kernel of the neighbours; needed where smoothing is not 0.
    reference : Reference, optional
        What is borrowed from; needed where borrowing is not 0.
    """

    strengths: Strengths
    labels: NDArray[np.intp] | None = None
    smoother: Smoother | None = None
    reference: Reference | None = None

    def __post_init__(self) -> None:
        check_covered(self._used)
        if self.strengths.smoothing and self.smoother is None:
            raise ValueError(
                "smoothing needs neighbours: say which columns are, as in Population(neighbours=...)."
            )
        if self.strengths.borrowing and self.reference is None:
            raise ValueError(
                "borrowing needs a reference: give other rows or their covariance, as in "
                "Population(reference=...)."
            )

    @cached_property
    def _used(self) -> dict[str, float]:
        return dict(self.strengths.nonzero())

    @property
    def is_linear(self) -> bool:
        """Whether the map is linear in S."""
        return self.strengths.tempering == 0 and self.strengths.damping == 0

    def value(self, S: Array) -> Array:
        r"""Return :math:`\varphi(S)`."""
        return self._smoothed(self._through((*BEFORE, *ENTRYWISE), S)[0])

    def differential(self, S: Array, E: Array) -> Array:
        r"""Return :math:`D\varphi(S)[E]`, the derivative in the direction of a symmetric E."""
        return self._through((*BEFORE, *ENTRYWISE, *CONGRUENCES), S, E)[1]

    def at(self, S: Array, noise: RowNoise) -> SmoothCorrection:
        r"""Return the derivatives at S; `noise` gives the mean of the quadratic part.

        Two values of the differential of the entries determine it. At a matrix of ones with a zero diagonal
        it gives every entry's response to itself; at the variances, its response to both of its variances,
        which have the same relative effect. Borrowing must be in S and in the noise already.
        """
        if self.strengths.borrowing:
            raise ValueError("borrowing is in S and its noise (RowNoise.borrowed); set it to 0 here.")
        variances, unit = np.diag(S), np.eye(len(S))
        target, to_variances = self._through(ENTRYWISE, S, np.diag(variances))
        scales = powers(variances, -self.strengths.tempering / 2)
        tempered = variances * scales**2
        # A column without variance has no error: dividing by infinity gives it no response.
        response = to_variances / np.where(tempered > 0, 2 * tempered, np.inf)[:, None] - unit / 2
        has_factors = self.strengths.damping or (self.strengths.attenuation and self.labels is not None)
        factors = drift = kernel = None
        if has_factors or not self.is_linear:
            to_itself = self._through(ENTRYWISE, S, 1 - unit)[1]
        if has_factors:
            products = np.outer(scales, scales)
            factors = np.divide(to_itself, products, out=np.zeros_like(S), where=products > 0) + unit
        if not self.is_linear:
            drift = self._smoothed(self._drift(S, target, to_itself, noise))
        if self.smoother is not None and self.strengths.smoothing:
            kernel = partial(self.smoother.smooth, strength=self.strengths.smoothing)
        return SmoothCorrection(self._smoothed(target), scales, response, factors, drift, kernel)

    def _through(self, names: Sequence[str], S: Array, E: Any = None) -> tuple[Array, Any]:
        """Return S after some of the corrections, and its derivative in the direction of E."""
        prepared = {
            "attenuation": self.labels,
            "smoothing": self.smoother,
            "borrowing": self.reference,
        }
        for name, strength in self._used.items():
            correction = CORRECTIONS[name]
            if name in names and correction.matrix is not None and correction.differential is not None:
                E = None if E is None else correction.differential(S, strength, E, prepared.get(name))
                S = correction.matrix(S, strength, prepared.get(name))
        return S, E

    def _smoothed(self, T: Array) -> Array:
        return self._through(CONGRUENCES, T)[0]

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
        inverse = powers(np.diag(S), -1.0)
        with_own = moments.entry_with_variance * inverse[:, None]
        own = np.diag(moments.variance_with_variance) * inverse**2
        both = moments.variance_with_variance * inverse[:, None] * inverse
        drift = target * (h * (h + 1) / 2 * (own[:, None] + own) + h**2 * both)
        # F_ij / S_ij, from the response, which is not 0 / 0 where an entry is 0.
        slopes = to_itself / (1 + beta)
        np.fill_diagonal(slopes, np.diag(target) * inverse)
        drift -= h * (1 + beta) * slopes * (with_own + with_own.T)
        if beta:
            quotients = np.divide(slopes, S, out=np.zeros_like(S), where=S != 0)
            drift += beta * (1 + beta) / 2 * quotients * moments.entry_with_entry
        return drift
