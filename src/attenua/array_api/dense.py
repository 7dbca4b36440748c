"""Leading subspaces by whole eigendecompositions, many in one call, and what to do where the cut is tied."""

from typing import Any, NamedTuple

from attenua.affine import rounding
from attenua.array_api.namespace import host_list, on_device, spans
from attenua.array_api.stacks import Stack

# Matrices that are decomposed in one call take no more than this, and are no more: cuSOLVER fails on 110,000.
_CALL_BYTES = 2**30
_CALL_MATRICES = 2**15
# Batched calls use Jacobi rotations on some devices, which are slow beyond this size.
_BATCHED_SIZE = 128


class Leading(NamedTuple):
    """The leading subspaces of several matrices.

    Attributes
    ----------
    basis : array of shape (..., n_features, rank)
        Orthonormal columns, in decreasing order of eigenvalue.
    values : array of shape (..., rank)
        The leading eigenvalues.
    gap : array of shape (...)
        Distance from the last of them to the next; infinite if the rank is the number of columns.
    tied : array of bool of shape (...)
        Whether the gap is zero to rounding.
    exact : array of bool of shape (...)
        Whether the matrix was decomposed as a whole, and not its subspace iterated.
    """

    basis: Any
    values: Any
    gap: Any
    tied: Any
    exact: Any

    def merged(self, xp: Any, other: "Leading", positions: Any, is_new: Any) -> "Leading":
        """Return these (flat) with those of `other` at ``positions`` put where ``is_new``."""
        merged = []
        for old, new in zip(self, other, strict=True):
            mask = xp.reshape(is_new, (-1, *(1 for _ in old.shape[1:])))
            merged.append(xp.where(mask, xp.take(new, positions, axis=0), old))
        return Leading(*merged)

    def shaped(self, xp: Any, *shape: int) -> "Leading":
        """Return the same with other leading dimensions."""
        kept = (2, 1, 0, 0, 0)  # trailing dimensions of every field
        return Leading(
            *(xp.reshape(x, (*shape, *x.shape[x.ndim - k :])) for x, k in zip(self, kept, strict=True))
        )


def indistinct(xp: Any, size: int, scale: Any, values: Any) -> Any:
    """Return the distance below which eigenvalues of each matrix cannot be told apart."""
    largest = xp.max(xp.abs(values), axis=-1)
    return float(rounding(size, 1.0)) * xp.where(scale > largest, scale, largest)


def decomposed(stack: Stack, matrices: Any, strengths: Any, rank: int) -> Leading:
    """Return the leading subspaces of ``S - alpha D`` for pairs of a position in the stack and a strength."""
    xp, p = stack.xp, stack.variances.shape[-1]
    size = min(max(_CALL_BYTES // (8 * p * p), 1), _CALL_MATRICES)
    scale = xp.take(xp.max(stack.variances, axis=-1), matrices)
    parts = []
    for some in spans(matrices.shape[0], size):
        values, vectors = _eigh(xp, stack.dense(matrices[some], strengths[some]))
        parts.append(_cut(xp, xp.flip(values, axis=-1), xp.flip(vectors, axis=-1), rank, scale[some]))
    return Leading(*(xp.concat(list(field)) for field in zip(*parts, strict=True)))


def _eigh(xp: Any, T: Any) -> tuple[Any, Any]:
    """Decompose matrices: small ones in one call, large ones one by one, as devices do best."""
    if T.shape[-1] <= _BATCHED_SIZE:
        return xp.linalg.eigh(T)
    each = [xp.linalg.eigh(T[i, ...]) for i in range(T.shape[0])]
    return xp.stack([e[0] for e in each]), xp.stack([e[1] for e in each])


def _cut(xp: Any, values: Any, vectors: Any, rank: int, scale: Any) -> Leading:
    """Keep the leading part of decreasing eigendecompositions."""
    p = values.shape[-1]
    exact = xp.full_like(scale, True, dtype=xp.bool)
    if rank == p:
        return Leading(vectors, values, xp.full_like(scale, float("inf")), ~exact, exact)
    gap = values[:, rank - 1] - values[:, rank]
    limit = indistinct(xp, p, scale, values)
    tied = gap <= limit
    basis = vectors[:, :, :rank]
    if bool(xp.any(tied)):
        found = [
            _canonical_in_tie(xp, values[i, :], vectors[i, ...], rank, limit[i]) if is_tied else basis[i, ...]
            for i, is_tied in enumerate(host_list(xp.astype(tied, xp.int64)))
        ]
        basis = xp.stack(found)
    return Leading(basis, values[:, :rank], gap, tied, exact)


def _canonical_in_tie(xp: Any, values: Any, vectors: Any, rank: int, limit: Any) -> Any:
    """Rotate a tied eigenspace so that its first vectors do not depend on rounding.

    The projections of the coordinate axes that lie closest to the eigenspace come first.
    """
    is_tied = xp.astype(xp.abs(values - values[rank - 1]) <= limit, xp.int64)
    first = int(xp.argmax(is_tied))
    count = int(xp.sum(is_tied))
    E = vectors[:, first : first + count]
    columns = [vectors[:, :first]]
    for _ in range(rank - first):
        lengths = xp.round(xp.sum(E**2, axis=1) * 1e6)  # the rounding lets equal lengths tie exactly
        axis = E[int(xp.argmax(lengths)), :]
        axis = axis / xp.linalg.vector_norm(axis)
        along = E @ axis
        columns.append(along[:, None])
        E = E - along[:, None] * axis[None, :]
    return xp.concat(columns, axis=1)


def all_pairs(xp: Any, n_matrices: int, strengths: Any) -> tuple[Any, Any]:
    """Return the positions and the strengths of every pair of a matrix and a strength, matrix by matrix."""
    n_strengths = strengths.shape[0]
    matrices = on_device(xp, [m for m in range(n_matrices) for _ in range(n_strengths)], strengths)
    return matrices, xp.tile(strengths, (n_matrices,))
