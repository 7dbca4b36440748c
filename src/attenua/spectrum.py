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
_RESIDUAL_TO_GAP = 1e-9
# LAPACK wins up to these sizes, with the matrices at hand and without, and is affordable up to the third.
_DIRECT_SIZE_AT_HAND = 1_000
_DIRECT_SIZE = 320
_DENSE_LIMIT = 5_000
# Eigenproblems up to this size are solved for all strengths in one batched call.
_BATCH_SIZE = 64
# Memory for the shared basis and its products, unless the rank alone needs more.
_BASIS_BYTES = 400 * 2**20
# So many steps without halving the residual mean that the spectrum is too flat for the shared basis.
_PATIENCE = 12


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
    family: AffineFamily, strengths: Sequence[float], rank: int
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
    """
    affordable = family.at_hand or family.size <= _DENSE_LIMIT
    direct_size = _DIRECT_SIZE_AT_HAND if family.at_hand else _DIRECT_SIZE
    if affordable and (family.size <= direct_size or 10 * (rank + 5) > family.size):
        yield from _solve_directly(family, strengths, rank)
    elif family.scale == 0 or rank == family.size:
        # Nothing varies, or nothing is cut off: the first coordinates are as good as any others.
        gap, tied = (0.0, True) if rank < family.size else (np.inf, False)
        for i in range(len(strengths)):
            yield i, Subspace(np.eye(family.size, rank), np.zeros(rank), gap, tied, "lapack")
    else:
        yield from SharedBasis(family, rank).solve(strengths)


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
    """

    def __init__(self, family: AffineFamily, rank: int):
        self.family = family
        self.rank = rank
        # At least room for the wanted vectors, as many residuals, and a few more to restart from.
        least = 2 * (rank + 3) + max(rank // 4, 16)
        affordable = _BASIS_BYTES // (16 * family.size)
        self.capacity = min(max(min(24 * (rank + 1), affordable), 160, least), family.size)
        self.Q, self.SQ = (np.empty((family.size, self.capacity), order="F") for _ in range(2))
        self.S_projected = np.empty((self.capacity, self.capacity))
        self.D_projected = np.empty((self.capacity, self.capacity))
        self.filled = 0
        # A fixed seed: the same data give the same answer.
        self._random = np.random.default_rng(0)

    def solve(self, strengths: Sequence[float]) -> Iterator[tuple[int, Subspace]]:
        """Yield the leading subspace at every strength, ends first so that the rest lie between."""
        width = min(self.rank + 5, self.family.size)
        start = self.family.start
        self._extend(self._random_columns(width) if start is None else start(width))
        for i in _ends_first(strengths):
            yield i, self._solve_one(strengths[i])

    def _random_columns(self, count: int) -> Array:
        return self._random.standard_normal((self.family.size, count))

    def _solve_one(self, alpha: float) -> Subspace:
        # A fresh direction keeps an eigenvector that the basis knows nothing of from being overlooked.
        self._make_room(1, alpha)
        self._extend(self._random_columns(1))
        best, stalled = np.inf, 0
        while stalled < _PATIENCE:
            values, coordinates = self._ritz(alpha, self.rank + 2)
            basis, residual = self._residual(alpha, values, coordinates)
            sizes = np.linalg.norm(residual, axis=0)
            gap = values[self.rank - 1] - values[self.rank]
            wanted = np.linalg.norm(sizes[: self.rank])
            indistinct = rounding(self.family.size, max(self.family.scale, np.abs(values).max()))
            enough = max(_RESIDUAL_TO_GAP * gap, indistinct)
            # The gap itself is known only as well as the next eigenvalue: its residual must be small too.
            if wanted <= enough and sizes[self.rank] <= max(gap / 8, enough):
                if gap <= indistinct:
                    break
                leading = slice(0, self.rank)
                return Subspace(basis[:, leading], values[leading], float(gap), False, "shared-basis")
            stalled = 0 if wanted < best / 2 else stalled + 1
            best = min(best, wanted)
            open_pairs = np.flatnonzero(sizes > enough / np.sqrt(self.rank))
            self._grow(alpha, values[open_pairs], residual[:, open_pairs])
        return self._solve_exactly(alpha)

    def _solve_exactly(self, alpha: float) -> Subspace:
        if self.family.size <= _DENSE_LIMIT:
            (T,) = self.family.stack([alpha])
            return dense_leading_subspace(T, self.rank, self.family.scale)
        return _arpack(self.family, alpha, self.rank)

    def _ritz(self, alpha: float, count: int) -> tuple[Array, Array]:
        m = self.filled
        projected = self.S_projected[:m, :m] - alpha * self.D_projected[:m, :m]
        values, vectors = scipy.linalg.eigh(projected, subset_by_index=[max(m - count, 0), m - 1])
        return values[::-1], vectors[:, ::-1]

    def _residual(self, alpha: float, values: Array, coordinates: Array) -> tuple[Array, Array]:
        m = self.filled
        basis = self.Q[:, :m] @ coordinates
        residual = self.SQ[:, :m] @ coordinates - basis * values
        if alpha:
            residual -= alpha * self.family.part(basis)
        return basis, residual

    def _grow(self, alpha: float, values: Array, residual: Array) -> None:
        # (theta + alpha D) is T - theta without its off-diagonal part, up to sign: exact for a diagonal D
        # and a low-rank S, and plain block Lanczos at alpha = 0.
        shifted = values + alpha * self.family.part_diagonal[:, None]
        shifted = np.maximum(shifted, 1e-3 * max(self.family.scale, np.abs(values).max()))
        self._make_room(residual.shape[1], alpha)
        self._extend(residual / shifted)

    def _make_room(self, columns: int, alpha: float) -> None:
        """Shrink a full basis to the leading Ritz vectors at this strength."""
        if self.filled + columns <= self.capacity:
            return
        keep = min(max(self.capacity // 2, self.rank + 2), self.capacity - columns)
        _, coordinates = self._ritz(alpha, keep)
        m = self.filled
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
