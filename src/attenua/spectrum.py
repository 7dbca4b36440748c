"""Leading subspaces of the symmetric matrices ``S - alpha*D`` for many strengths ``alpha``.

Small problems go to LAPACK. Large ones, known only through products with S and D, share one growing basis
across the strengths (:mod:`attenua.shared_basis`). A strength that cannot be settled this way is solved by
LAPACK or ARPACK instead, and says so.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from attenua.affine import AffineFamily, Subspace, rounding
from attenua.shared_basis import SharedBasis

Array = NDArray[np.float64]

# Largest sine of the angle to the exact subspace.
SINE = 1e-9
# LAPACK wins up to this size, and is affordable up to the second.
_DIRECT_SIZE = 200
_DENSE_LIMIT = 5_000
# Eigenproblems up to this size are solved for all strengths in one batched call.
_BATCH_SIZE = 64


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
        for i, subspace in SharedBasis(family, rank, sine).solve(strengths):
            yield i, subspace or _solve_exactly(family, strengths[i], rank)


def _solve_exactly(family: AffineFamily, alpha: float, rank: int) -> Subspace:
    if family.size > _DENSE_LIMIT:
        return _arpack(family, alpha, rank)
    (T,) = family.stack([alpha])
    return dense_leading_subspace(T, rank, family.scale)


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
    return Subspace(vectors[:, :rank], values[:rank], gap, tied, "arpack", certified=False)
