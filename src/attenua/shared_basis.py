"""One growing basis for the leading subspaces of ``S - alpha*D`` at all strengths.

The family is affine in ``alpha``, so its projections on a basis are formed once, and every strength is a
small Rayleigh-Ritz problem. The ends and the middle are settled first; then most strengths between them are
too. Where the residual of a strength is too large for its eigengap, the basis grows by better vectors for it:
Ritz vectors filtered by a polynomial of the matrix where that is at hand, and otherwise residuals
preconditioned by the diagonal part (a block Davidson method).

A strength is settled when its residual is small against the distance to the next eigenvalue, which
:mod:`attenua.cut_bound` proves where it can. What cannot be settled is handed back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from attenua.affine import AffineFamily, Subspace, rounding
from attenua.cut_bound import CutBound
from attenua.filters import ChebyshevFilter, RitzVectors
from attenua.sums import blas_limit

Array = NDArray[np.float64]

# Memory for the shared basis and its products, unless the rank alone needs more; for Ritz vectors of several
# strengths at once.
_BASIS_BYTES = 400 * 2**20
_RITZ_BYTES = 64 * 2**20
# So many steps without halving the residual mean that the spectrum is too flat for the shared basis.
_PATIENCE = 6
# Degree of the polynomial filter of new columns, where the matrices are at hand; a lower one at first, when a
# high one would leave nothing but the few largest eigenvectors.
_DEGREE = 8
_FIRST_DEGREE = 4
# A filter reduces the sine of the angle by about this much. Single precision is enough for it as long as what
# is left is not below its rounding errors, relative to the largest eigenvalue.
_FILTER_GAIN = 1e-3
_SINGLE_ROUNDING = 2e-7
# New columns are left out where their squared part outside the basis and the other columns is smaller than
# this; residuals of neighbouring strengths much sooner, since they say nearly the same.
_DEPENDENT = 1e-12
_ALIKE = 1e-2


class SharedBasis:
    """A growing orthonormal basis Q with S Q and the projections of S and D on it.

    Parameters
    ----------
    family : AffineFamily
        The matrices; their size is above the rank, and something varies.
    rank : int
        Dimension of the wanted subspaces.
    sine : float
        Residuals are reduced to half this part of the gap; the sine of the angle is then below it.
    """

    def __init__(self, family: AffineFamily, rank: int, sine: float):
        self.family = family
        self.rank = rank
        self.sine = sine
        # At least room for the wanted vectors, as many residuals, and a few more to restart from.
        least = 2 * (rank + 3) + max(rank // 4, 16)
        affordable = _BASIS_BYTES // (16 * family.size)
        self.capacity = min(max(min(16 * (rank + 2), affordable), 120, least), family.size)
        self.Q, self.SQ = (np.empty((family.size, self.capacity), order="F") for _ in range(2))
        self.S_projected = np.empty((self.capacity, self.capacity))
        self.D_projected = np.empty((self.capacity, self.capacity))
        self.filled = 0
        self.bound = CutBound(family, rank)
        self._filter = ChebyshevFilter(family)
        self._is_random = family.start is None
        self._settled: list[Array] = []

    def solve(self, strengths: Sequence[float]) -> Iterator[tuple[int, Subspace | None]]:
        """Yield the leading subspace at every strength, or None where it could not be settled."""
        self._extend(self._start())
        # The ends and the middle, then what lies halfway between them, then the rest.
        order = _ends_first(strengths)
        stages = [order[:3], order[3:5], order[5:]]
        active = stages.pop(0)
        best, stalled = np.inf, 0
        while active:
            unsettled = {}
            for i, attempt, basis in self._tries(strengths, active):
                if attempt.excess <= 1:
                    if len(self._settled) < 3:
                        self._settled.append(basis.copy())
                    yield i, self._certified(attempt, basis)
                else:
                    unsettled[i] = attempt
            progress = len(unsettled) < len(active)
            active = [i for i in active if i in unsettled]
            if not active:
                active = stages.pop(0) if stages else []
                best, stalled = np.inf, 0
                continue
            worst = max(attempt.excess for attempt in unsettled.values())
            stalled = 0 if worst < best / 2 or progress else stalled + 1
            best = min(best, worst)
            if stalled >= _PATIENCE:
                yield from ((i, None) for i in sum(stages, active))
                return
            attempts = list(unsettled.values())
            # While nothing is known, what is learnt at one strength serves the others.
            self._grow(attempts[-1:] if self._is_random else _worst_apart(attempts))

    def _start(self) -> Array:
        # Random columns in any case: an eigenvector that the start knows nothing of must not be overlooked.
        # A fixed seed: the same data give the same answer.
        random = np.random.default_rng(0).standard_normal((self.family.size, self.rank + 5))
        if self.family.start is None:
            return random[:, : self.capacity]
        known = self.family.start(self.rank + 5)
        return np.hstack([known, random[:, :4] * np.linalg.norm(known[:, 0])])[:, : self.capacity]

    def _tries(
        self, strengths: Sequence[float], active: Sequence[int]
    ) -> "Iterator[tuple[int, _Attempt, Array]]":
        """Yield the Ritz approximation at strengths and its basis; a few strengths share each product."""
        m, count = self.filled, min(self.rank + 2, self.filled)
        together = max(_RITZ_BYTES // (16 * self.family.size * count), 1)
        for first in range(0, len(active), together):
            some = active[first : first + together]
            solved = self._ritz([strengths[i] for i in some], count)
            coordinates = np.vstack([vectors.T for _, vectors in solved])
            # Rows are vectors here, so that those of one strength lie together in memory.
            bases = coordinates @ self.Q[:, :m].T
            residuals = coordinates @ self.SQ[:, :m].T
            for k, i in enumerate(some):
                own = slice(k * count, (k + 1) * count)
                basis, residual = bases[own].T, residuals[own].T
                self._subtract(residual, basis, solved[k][0], strengths[i])
                sizes = np.sqrt(np.einsum("ij,ij->j", residual, residual))
                yield i, self._judged(strengths[i], *solved[k], sizes), basis[:, : self.rank]

    def _ritz(self, alphas: Sequence[float], count: int) -> list[tuple[Array, Array]]:
        """Return the leading eigenvalues and eigenvectors of the projected matrices at some strengths."""
        m = self.filled
        steps = np.array(alphas)[:, None, None] * self.D_projected[:m, :m]
        with blas_limit(1):  # more threads are slower than one on matrices of this size
            values, vectors = np.linalg.eigh(self.S_projected[:m, :m] - steps)
        leading = slice(-1, -count - 1, -1)
        return list(zip(values[:, leading], vectors[:, :, leading], strict=True))

    def _subtract(self, product: Array, basis: Array, values: Array, alpha: float | Array) -> None:
        """Make residuals ``S V - alpha D V - V diag(values)`` of products ``S V``."""
        product -= basis * values
        if np.any(alpha):
            product -= self.family.part(basis) * alpha

    def _judged(self, alpha: float, values: Array, coordinates: Array, sizes: Array) -> "_Attempt":
        """Say how far Ritz vectors are from what is wanted."""
        gap = float(values[self.rank - 1] - values[self.rank])
        indistinct = rounding(self.family.size, max(self.family.scale, np.abs(values).max()))
        enough = max(self.sine / 2 * gap, indistinct)
        size = float(np.linalg.norm(sizes[: self.rank]))
        # The gap itself is known only as well as the next eigenvalue: its residual must be small too.
        excess = max(size / enough, sizes[self.rank] / max(gap / 8, enough))
        is_open = sizes > enough / np.sqrt(self.rank)
        is_open[self.rank + 1 :] &= sizes[self.rank + 1 :] > gap / 8
        return _Attempt(
            alpha, values, coordinates, np.flatnonzero(is_open), gap, indistinct, size, float(excess)
        )

    def _certified(self, attempt: "_Attempt", basis: Array) -> Subspace | None:
        """Return the subspace with a bound of its angle, or None for a tie and where a proof failed."""
        if attempt.gap <= attempt.indistinct:
            return None
        values = attempt.values[: self.rank]
        last, size = float(values[-1]), max(attempt.size, attempt.indistinct)
        certified = size <= self.sine * (last - self.bound.at(attempt.alpha))
        if not certified and self.bound.can_prove:
            # A quarter of the gap above the next Ritz value, which is known to an eighth of it.
            above_next = float(attempt.values[self.rank]) + attempt.gap / 4
            certified = self.bound.prove(attempt.alpha, above_next, basis, values)
            if not certified:
                return None
        distance = last - self.bound.at(attempt.alpha) if certified else attempt.gap
        return Subspace(basis, values, attempt.gap, False, "shared-basis", None, size / distance, certified)

    def _grow(self, attempts: "list[_Attempt]") -> None:
        """Extend the basis by better vectors for some strengths: filtered ones where products are cheap."""
        room = self.capacity - min(self.rank + 2, self.capacity // 2)
        if self.family.at_hand:
            new = self._filtered(attempts)[:, :room]
        else:
            new = self._preconditioned(attempts)[:, :room]
        self._is_random = False
        self._make_room(new.shape[1], attempts)
        self._extend(new, _DEPENDENT if self.family.at_hand else _ALIKE)

    def _filtered(self, attempts: "list[_Attempt]") -> Array:
        Q = self.Q[:, : self.filled]
        groups = [RitzVectors(a.alpha, a.values, Q @ a.coordinates, a.open) for a in attempts]
        degree = _FIRST_DEGREE if self._is_random else _DEGREE
        return self._filter(groups, degree, single=all(self._can_be_single(a) for a in attempts))

    def _can_be_single(self, attempt: "_Attempt") -> bool:
        """Whether rounding errors of single precision are below what a filter is to leave."""
        left = max(self.sine, attempt.excess * self.sine * _FILTER_GAIN)
        return left * attempt.gap >= _SINGLE_ROUNDING * float(np.abs(attempt.values).max())

    def _preconditioned(self, attempts: "list[_Attempt]") -> Array:
        """Return residuals, preconditioned by the diagonal part.

        (theta + alpha D) is T - theta without its off-diagonal part, up to sign: exact for a diagonal D and a
        low-rank S, and plain block Lanczos at alpha = 0.
        """
        alphas = np.concatenate([np.full(len(a.open), a.alpha) for a in attempts])
        values = np.concatenate([a.values[a.open] for a in attempts])
        coordinates = np.hstack([a.coordinates[:, a.open] for a in attempts])
        residual = self.SQ[:, : self.filled] @ coordinates
        self._subtract(residual, self.Q[:, : self.filled] @ coordinates, values, alphas)
        least = 1e-3 * max(self.family.scale, np.abs(values).max())
        return residual / np.maximum(values + alphas * self.family.part_diagonal[:, None], least)

    def _make_room(self, columns: int, attempts: "list[_Attempt]") -> None:
        """Shrink a full basis to what the strengths that it still works on are made of."""
        if self.filled + columns <= self.capacity:
            return
        m, keep = self.filled, self.capacity - columns
        middle = np.mean([a.alpha for a in attempts])
        projected = self.S_projected[:m, :m] - middle * self.D_projected[:m, :m]
        general = scipy.linalg.eigh(projected, driver="evd")[1][:, ::-1]
        # What is wanted now first, then what the strengths between settled ones are made of.
        settled = [self.Q[:, :m].T @ basis for basis in self._settled]
        wanted = np.hstack([*(a.coordinates for a in attempts), *settled, general])
        coordinates = np.linalg.qr(wanted)[0][:, :keep]
        for block in (self.Q, self.SQ):
            block[:, :keep] = block[:, :m] @ coordinates
        for projected in (self.S_projected, self.D_projected):
            projected[:keep, :keep] = coordinates.T @ projected[:m, :m] @ coordinates
        self.filled = keep

    def _extend(self, new: Array, dependent: float = _DEPENDENT) -> None:
        """Append columns, orthonormalised against the basis, and update all products."""
        old = self.Q[:, : self.filled]
        # Twice is enough to be orthogonal to rounding.
        for _ in range(2):
            new = _orthonormal(new - old @ (old.T @ new), dependent)
        start, stop = self.filled, self.filled + new.shape[1]
        self.Q[:, start:stop] = new
        self.SQ[:, start:stop] = self.family.base(new)
        for products, projected in (
            (self.SQ[:, start:stop], self.S_projected),
            (self.family.part(new), self.D_projected),
        ):
            border = self.Q[:, :stop].T @ products
            projected[:stop, start:stop] = border
            projected[start:stop, :stop] = border.T
        self.filled = stop


@dataclass(frozen=True)
class _Attempt:
    """A Ritz approximation at one strength: the wanted vectors and two more, and what they lack."""

    alpha: float
    values: Array
    coordinates: Array
    open: NDArray[np.intp]
    gap: float
    indistinct: float
    size: float
    excess: float


def _orthonormal(columns: Array, dependent: float) -> Array:
    """Return an orthonormal basis of columns, nearly; those that depend on others are left out.

    By the eigenvectors of their inner products, several times as fast as a QR factorisation of tall columns.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    values, vectors = np.linalg.eigh(columns.T @ columns)
    kept = values > dependent * values[-1]
    return columns @ (vectors[:, kept] / np.sqrt(values[kept]))


def _worst_apart(attempts: list[_Attempt]) -> list[_Attempt]:
    """Return up to three attempts that lack most, at strengths apart: neighbours help each other."""
    distance = max(a.alpha for a in attempts) - min(a.alpha for a in attempts)
    chosen: list[_Attempt] = []
    for attempt in sorted(attempts, key=lambda a: -a.excess):
        if all(abs(attempt.alpha - other.alpha) > distance / 4 for other in chosen):
            chosen.append(attempt)
    return chosen[:3]


def _ends_first(strengths: Sequence[float]) -> list[int]:
    """Order positions so that each strength lies between ones already solved: 0, 1, 1/2, 1/4, ..."""
    ascending = list(np.argsort(strengths, kind="stable"))
    order = [ascending[0], ascending[-1]] if len(ascending) > 1 else ascending
    spans = [(0, len(ascending) - 1)]
    while spans:
        low, high = spans.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(ascending[middle])
            spans += [(low, middle), (middle, high)]
    return [int(i) for i in order]
