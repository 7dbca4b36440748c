"""Leading subspaces of the symmetric matrices ``S - alpha*D`` for many strengths ``alpha``.

Small problems go to LAPACK. Large ones, known only through products with S and D, share one growing basis
across the strengths: since the family is affine in ``alpha``, its projections on the basis are formed once
and every strength is a small Rayleigh-Ritz problem. Where the residual of a strength is too large for its
eigengap, the basis grows by that residual, preconditioned by the diagonal part (a block Davidson method).
A strength that cannot be settled this way is solved by LAPACK or ARPACK instead, and says so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

Array = NDArray[np.float64]

# The residual may be at most this part of the gap at the cut; the sine of the angle is then no larger.
SINE = 1e-9
# LAPACK wins up to this size, and is affordable up to the second.
_DIRECT_SIZE = 200
_DENSE_LIMIT = 5_000
# Eigenproblems up to this size are solved for all strengths in one batched call.
_BATCH_SIZE = 64
# Memory for the shared basis and its products, unless the rank alone needs more.
_BASIS_BYTES = 400 * 2**20
# So many steps without halving the residual mean that the spectrum is too flat for the shared basis.
_PATIENCE = 6
# Degree of the polynomial filter of new columns, where the matrices are at hand.
_FILTER_DEGREE = 8


class Convergence(NamedTuple):
    """How an iteration ended.

    Attributes
    ----------
    n_iter : int
        Iterations done.
    converged : bool
        Whether its own criterion was met, rather than the cap on iterations.
    start : str or None
        The start that won, where there were several.
    """

    n_iter: int
    converged: bool
    start: str | None = None


class Subspace(NamedTuple):
    """The leading subspace of one matrix, or the subspace that a rival of it chose.

    Attributes
    ----------
    basis : ndarray of shape (size, rank)
        Orthonormal columns, in decreasing order of eigenvalue.
    values : ndarray of shape (rank,)
        The leading eigenvalues; of a subspace that no eigenvalues define, what orders components that
        explain the same variance.
    gap : float
        Distance from the last of them to the next eigenvalue; infinite if the rank is the size, NaN for a
        subspace that no eigenvalues define.
    tied : bool
        Whether the gap is zero to rounding, so that the subspace is one choice among many.
    solver : str
        ``"lapack"``, ``"shared-basis"`` or ``"arpack"``, or what else found it.
    convergence : Convergence or None
        How the iteration ended, where there was one that may fail.
    """

    basis: Array
    values: Array
    gap: float
    tied: bool
    solver: str
    convergence: Convergence | None = None


@dataclass(frozen=True)
class AffineFamily:
    r"""The symmetric matrices :math:`S - \alpha D`, known by products.

    Parameters
    ----------
    size : int
        Number of rows and columns.
    base, part : callable
        Multiply a tall matrix by S and by D.
    part_diagonal : ndarray of shape (size,)
        Diagonal of D, nonnegative; preconditions the iteration.
    matrices : callable
        Return S and D as matrices (D as a vector if it is diagonal). May be costly.
    at_hand : bool
        Whether `matrices` costs nothing.
    scale : float
        Largest entry of S: what rounding errors are relative to, whatever the strength.
    start : callable, optional
        Return a few columns whose span is close to the leading eigenvectors of S.
    """

    size: int
    base: Callable[[Array], Array]
    part: Callable[[Array], Array]
    part_diagonal: Array
    matrices: Callable[[], tuple[Array, Array]]
    at_hand: bool
    scale: float
    start: Callable[[int], Array] | None = None

    def stack(self, strengths: Sequence[float]) -> Iterator[Array]:
        """Yield the matrix at every strength."""
        S, D = self.matrices()
        for alpha in strengths:
            if D.ndim == 2:
                yield S - alpha * D
            else:
                T = S.copy()
                T[np.diag_indices_from(T)] -= alpha * D
                yield T


def leading_subspaces(
    family: AffineFamily, strengths: Sequence[float], rank: int, sine: float = SINE
) -> Iterator[tuple[int, Subspace]]:
    """Yield ``(i, leading subspace at strengths[i])`` for all strengths, in the order they are solved.

    Parameters
    ----------
    family : AffineFamily
        The matrices.
    strengths : sequence of float
        Values of alpha.
    rank : int
        Dimension of the subspaces.
    sine : float
        Largest sine of the angle to the exact subspace, where it is found by iteration.
    """
    affordable = family.at_hand or family.size <= _DENSE_LIMIT
    if affordable and (family.size <= _DIRECT_SIZE or 10 * (rank + 5) > family.size):
        yield from _solve_directly(family, strengths, rank)
    elif family.scale == 0 or rank == family.size:
        # Nothing varies, or nothing is cut off: the first coordinates are as good as any others.
        gap, tied = (0.0, True) if rank < family.size else (np.inf, False)
        for i in range(len(strengths)):
            yield i, Subspace(np.eye(family.size, rank), np.zeros(rank), gap, tied, "lapack")
    else:
        yield from SharedBasis(family, rank, sine).solve(strengths)


def rounding(size: int, scale: float) -> float:
    """Return the distance below which two eigenvalues cannot be told apart in double precision."""
    return 8 * np.finfo(float).eps * np.sqrt(max(size, 16)) * scale


def _solve_directly(
    family: AffineFamily, strengths: Sequence[float], rank: int
) -> Iterator[tuple[int, Subspace]]:
    if family.size <= _BATCH_SIZE:
        stack = np.stack(list(family.stack(strengths)))
        for i, (values, vectors) in enumerate(zip(*np.linalg.eigh(stack), strict=True)):
            yield i, _cut(values, vectors, rank, family.scale)
    else:
        for i, T in enumerate(family.stack(strengths)):
            yield i, dense_leading_subspace(T, rank, family.scale)


def dense_leading_subspace(T: Array, rank: int, scale: float) -> Subspace:
    """Return the leading subspace of a symmetric matrix, known up to rounding at a scale, by LAPACK."""
    size = len(T)
    if 4 * (rank + 1) < size:
        values, vectors = scipy.linalg.eigh(T, subset_by_index=[size - rank - 1, size - 1], driver="evr")
        if values[1] - values[0] > rounding(size, max(scale, np.abs(values).max())):
            return _cut(values, vectors, rank, scale)
    # A tie needs the whole tied eigenspace, to choose from it in a way that rounding cannot change.
    return _cut(*np.linalg.eigh(T), rank, scale)


def _cut(values: Array, vectors: Array, rank: int, scale: float) -> Subspace:
    """Keep the leading part of an ascending eigendecomposition."""
    values, vectors = values[::-1], vectors[:, ::-1]
    if rank == len(values):
        return Subspace(vectors, values, np.inf, False, "lapack")
    gap = float(values[rank - 1] - values[rank])
    indistinct = rounding(len(vectors), max(scale, np.abs(values).max()))
    tied = gap <= indistinct
    if tied:
        vectors = _canonical_in_tie(values, vectors, rank, indistinct)
    return Subspace(vectors[:, :rank], values[:rank], gap, tied, "lapack")


def _canonical_in_tie(values: Array, vectors: Array, rank: int, indistinct: float) -> Array:
    """Rotate a tied eigenspace so that its first vectors do not depend on rounding.

    The projections of the coordinate axes that lie closest to the eigenspace come first.
    """
    tied = np.flatnonzero(np.abs(values - values[rank - 1]) <= indistinct)
    E = vectors[:, tied].copy()
    chosen: list[Array] = []
    for _ in range(rank - tied[0]):
        lengths = np.round(np.sum(E**2, axis=1), 6)  # the rounding lets equal lengths tie exactly
        axis = E[np.argmax(lengths)]
        axis = axis / np.linalg.norm(axis)
        chosen.append(E @ axis)
        E = E - np.outer(E @ axis, axis)
    return np.column_stack([vectors[:, : tied[0]], *chosen])


class SharedBasis:
    """A growing orthonormal basis Q with S Q and the projections of S and D on it.

    Parameters
    ----------
    family : AffineFamily
        The matrices; their size is above the rank, and something varies.
    rank : int
        Dimension of the wanted subspaces.
    sine : float
        Residuals are reduced to this part of the gap; the sine of the angle is then no larger.
    """

    def __init__(self, family: AffineFamily, rank: int, sine: float = SINE):
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
        self._settled: list[Array] = []

    def solve(self, strengths: Sequence[float]) -> Iterator[tuple[int, Subspace]]:
        """Yield the leading subspace at every strength.

        The ends and the middle come first: once they are settled, most strengths between them are too.
        """
        self._extend(self._start())
        waiting = _ends_first(strengths)
        active, waiting = waiting[:3], waiting[3:]
        best, stalled = np.inf, 0
        while active:
            tries = {i: self._try(strengths[i]) for i in active}
            settled = {i: attempt for i, attempt in tries.items() if attempt.excess <= 1}
            for i, attempt in settled.items():
                if len(self._settled) < 3:
                    self._settled.append(attempt.basis[:, : self.rank])
                yield i, self._accept(attempt)
            unsettled = [tries[i] for i in active if i not in settled]
            active = [i for i in active if i not in settled]
            if not active:
                active, waiting = waiting, []
                best, stalled = np.inf, 0
                continue
            worst = max(attempt.excess for attempt in unsettled)
            stalled = 0 if worst < best / 2 or settled else stalled + 1
            best = min(best, worst)
            if stalled < _PATIENCE:
                self._grow(sorted(unsettled, key=lambda attempt: -attempt.excess)[:3])
                continue
            for i in active + waiting:
                yield i, self._solve_exactly(strengths[i])
            return

    def _start(self) -> Array:
        # Random columns in any case: an eigenvector that the start knows nothing of must not be overlooked.
        # A fixed seed: the same data give the same answer.
        random = np.random.default_rng(0).standard_normal((self.family.size, self.rank + 5))
        if self.family.start is None:
            return random[:, : self.capacity]
        known = self.family.start(self.rank + 5)
        return np.hstack([known, random[:, :4] * np.linalg.norm(known[:, 0])])[:, : self.capacity]

    def _try(self, alpha: float) -> "_Attempt":
        """Return the Ritz vectors at a strength, and how far their residual is from what is wanted."""
        m = self.filled
        projected = self.S_projected[:m, :m] - alpha * self.D_projected[:m, :m]
        count = min(self.rank + 2, m)
        values, coordinates = scipy.linalg.eigh(projected, subset_by_index=[m - count, m - 1])
        values, coordinates = values[::-1], coordinates[:, ::-1]
        basis = self.Q[:, :m] @ coordinates
        residual = self.SQ[:, :m] @ coordinates - basis * values
        if alpha:
            residual -= alpha * self.family.part(basis)
        sizes = np.linalg.norm(residual, axis=0)
        gap = float(values[self.rank - 1] - values[self.rank])
        indistinct = rounding(self.family.size, max(self.family.scale, np.abs(values).max()))
        enough = max(self.sine * gap, indistinct)
        # The gap itself is known only as well as the next eigenvalue: its residual must be small too.
        excess = max(np.linalg.norm(sizes[: self.rank]) / enough, sizes[self.rank] / max(gap / 8, enough))
        is_open = sizes > enough / np.sqrt(self.rank)
        is_open[self.rank + 1 :] &= sizes[self.rank + 1 :] > gap / 8
        return _Attempt(
            alpha, values, basis, residual, np.flatnonzero(is_open), gap, indistinct, float(excess)
        )

    def _accept(self, attempt: "_Attempt") -> Subspace:
        if attempt.gap <= attempt.indistinct:
            return self._solve_exactly(attempt.alpha)
        leading = slice(0, self.rank)
        return Subspace(
            attempt.basis[:, leading], attempt.values[leading], attempt.gap, False, "shared-basis"
        )

    def _solve_exactly(self, alpha: float) -> Subspace:
        if self.family.size <= _DENSE_LIMIT:
            (T,) = self.family.stack([alpha])
            return dense_leading_subspace(T, self.rank, self.family.scale)
        return _arpack(self.family, alpha, self.rank)

    def _grow(self, attempts: "list[_Attempt]") -> None:
        """Extend the basis by better vectors for some strengths: filtered ones where products are cheap."""
        room = self.capacity - min(self.rank + 2, self.capacity // 2)
        alphas = np.concatenate([np.full(len(a.open), a.alpha) for a in attempts])[:room]
        values = np.concatenate([a.values[a.open] for a in attempts])[:room]
        if self.family.at_hand:
            edges = np.concatenate([np.full(len(a.open), a.values[-1]) for a in attempts])[:room]
            vectors = np.hstack([a.basis[:, a.open] for a in attempts])[:, :room]
            new = self._filtered(vectors, alphas, values, edges)
        else:
            # (theta + alpha D) is T - theta without its off-diagonal part, up to sign: exact for a diagonal
            # D and a low-rank S, and plain block Lanczos at alpha = 0.
            shifted = values + alphas * self.family.part_diagonal[:, None]
            least = 1e-3 * max(self.family.scale, np.abs(values).max())
            new = np.hstack([a.residual[:, a.open] for a in attempts])[:, :room] / np.maximum(shifted, least)
        self._make_room(new.shape[1], attempts)
        self._extend(new)

    def _filtered(self, V: Array, alphas: Array, values: Array, edges: Array) -> Array:
        """Damp the unwanted part of Ritz vectors by a Chebyshev polynomial of their matrix.

        Column j belongs to the matrix at ``alphas[j]``, whose unwanted eigenvalues lie between
        ``-alphas[j] * max(D)`` and ``edges[j]``.
        """
        low = -alphas * self.family.part_diagonal.max()
        centre, half = (edges + low) / 2, np.maximum((edges - low) / 2, 1e-3 * self.family.scale)
        growth = np.maximum((values - centre) / half, 1.0)  # keeps the columns from overflowing
        previous, current = np.zeros_like(V), V
        for step in range(_FILTER_DEGREE):
            product = self.family.base(current) - alphas * self.family.part(current) - centre * current
            factor = (1 if step == 0 else 2) / (half * growth)
            previous, current = current, factor * product - previous / growth**2
        return current

    def _make_room(self, columns: int, attempts: "list[_Attempt]") -> None:
        """Shrink a full basis to what the strengths that it still works on are made of."""
        if self.filled + columns <= self.capacity:
            return
        m, keep = self.filled, self.capacity - columns
        middle = np.mean([a.alpha for a in attempts])
        projected = self.S_projected[:m, :m] - middle * self.D_projected[:m, :m]
        general = scipy.linalg.eigh(projected, driver="evd")[1][:, ::-1]
        # What is wanted now first, then what the strengths between settled ones are made of.
        wanted = self.Q[:, :m].T @ np.hstack([*(a.basis for a in attempts), *self._settled])
        coordinates = np.linalg.qr(np.hstack([wanted, general]))[0][:, :keep]
        for block in (self.Q, self.SQ):
            block[:, :keep] = block[:, :m] @ coordinates
        for projected in (self.S_projected, self.D_projected):
            projected[:keep, :keep] = coordinates.T @ projected[:m, :m] @ coordinates
        self.filled = keep

    def _extend(self, new: Array) -> None:
        """Append columns, orthonormalised against the basis, and update all products."""
        old = self.Q[:, : self.filled]
        # Twice is enough to be orthogonal to rounding.
        for _ in range(2):
            new = np.linalg.qr(new - old @ (old.T @ new))[0]
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


class _Attempt(NamedTuple):
    """Ritz vectors at one strength: the wanted ones and two more, and what they lack."""

    alpha: float
    values: Array
    basis: Array
    residual: Array
    open: NDArray[np.intp]
    gap: float
    indistinct: float
    excess: float


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


def _arpack(family: AffineFamily, alpha: float, rank: int) -> Subspace:
    def multiply(v: Array) -> Array:
        V = v.reshape(family.size, -1)
        return family.base(V) - alpha * family.part(V)

    operator = LinearOperator((family.size, family.size), matvec=multiply, matmat=multiply, dtype=float)
    first = np.random.default_rng(0).standard_normal(family.size)
    width = min(family.size - 1, max(2 * rank + 20, 60))
    values, vectors = eigsh(operator, k=rank + 1, which="LA", v0=first, ncv=width)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    gap = float(values[rank - 1] - values[rank])
    tied = gap <= rounding(family.size, max(family.scale, np.abs(values).max()))
    return Subspace(vectors[:, :rank], values[:rank], gap, tied, "arpack")
