r"""Leading subspaces of ``S_m - alpha*D_m`` for all matrices of a stack and all strengths at once.

Subspace iteration, filtered by Chebyshev polynomials: a block of vectors for every matrix and strength, one
batched product for all of them in every step, and small batched eigenproblems between. On a device launches
and transfers cost more than arithmetic, so nothing loops over folds or strengths. A subspace is accepted when
its residual is small against its eigengap; what cannot be settled so is decomposed as a whole, and says so.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from attenua.array_api.dense import Leading, all_pairs, decomposed, indistinct
from attenua.array_api.moments import clipped
from attenua.array_api.namespace import device_of, host_list, on_device, spans
from attenua.array_api.stacks import Stack
from attenua.spectrum import SINE
from attenua.validation import caller_level

# Whole decompositions win up to this size, and are affordable up to the second.
_DIRECT_SIZE = 64
_DENSE_LIMIT = 5_000
# One block of vectors for all matrices and strengths takes no more than this; about eight are held at once.
_BLOCK_BYTES = 256 * 2**20
# Vectors beyond the rank: the filter damps what lies below the last of them.
_GUARD = 6
# Degree of the first filter, when little is known of the spectrum, and the largest.
_FIRST_DEGREE = 3
_LARGEST_DEGREE = 40
# The first vector may be amplified by this much over the last; beyond it rounding errors drown the others.
_LARGEST_GROWTH = 1e13
# Rounds without progress after which the rest is decomposed, and rounds in all.
_PATIENCE = 6
_MOST_ROUNDS = 60
# How far from orthonormal a basis may be.
_ORTHONORMAL = 1e-11


def leading_subspaces(
    stack: Stack, strengths: Any, rank: int, *, sine: float = SINE, tempering: float = 0.0
) -> Leading:
    r"""Return the leading subspaces of :math:`G (S_m - \alpha D_m) G`, with shape (n_matrices, n_strengths).

    Parameters
    ----------
    stack : CovarianceStack or RowStack
        The covariances :math:`S_m`; :math:`D_m` is their diagonal or their blocks within groups.
    strengths : array of shape (n_strengths,)
        Values of alpha, float64, beside the stack.
    rank : int
        Dimension of the subspaces.
    sine : float
        Largest sine of the angle to the exact subspace, where it is found by iteration.
    tempering : float
        Exponent :math:`\gamma` of :math:`G = \mathrm{diag}(s_i^{-\gamma})` with the standard deviations
        :math:`s_i`.
    """
    xp = stack.xp
    stack = stack if tempering == 0 else stack.tempered(tempering)
    n_matrices, p = stack.variances.shape
    if p <= _DIRECT_SIZE or (10 * (rank + 5) > p and p <= _DENSE_LIMIT) or rank == p:
        return decomposed(stack, *all_pairs(xp, n_matrices, strengths), rank).shaped(xp, n_matrices, -1)
    width = min(rank + max(_GUARD, rank // 4), p)
    size = max(_BLOCK_BYTES // (8 * n_matrices * p * width), 1)
    parts = [
        _Iteration(stack, strengths[some], rank, width, sine).solve()
        for some in spans(strengths.shape[0], size)
    ]
    return Leading(*(xp.concat(list(field), axis=1) for field in zip(*parts, strict=True)))


class Ritz(NamedTuple):
    """Ritz vectors of every matrix and strength, and how far they are from what is wanted.

    Attributes
    ----------
    basis : array of shape (n_matrices, n_strengths, n_features, width)
        Orthonormal columns.
    values : array of shape (n_matrices, n_strengths, width)
        Ritz values, decreasing.
    excess : array of shape (n_matrices, n_strengths)
        Residual over what is allowed: settled up to 1.
    """

    basis: Any
    values: Any
    excess: Any


class _Iteration:
    """Filtered subspace iteration for all matrices of a stack and some strengths."""

    def __init__(self, stack: Stack, strengths: Any, rank: int, width: int, sine: float):
        self.xp, self.stack, self.strengths = stack.xp, stack, strengths
        self.rank, self.width, self.sine = rank, width, sine
        self.scale = self.xp.max(stack.variances, axis=-1)
        self.n_features = stack.variances.shape[-1]

    def solve(self) -> Leading:
        """Iterate until every pair is settled or nothing moves, and decompose what is left."""
        ritz = self._ritz(self.stack, self.strengths, self._start())
        degree = stride = spent = _FIRST_DEGREE
        best, waited = math.inf, 0
        for _ in range(_MOST_ROUNDS):
            is_open = ~(ritz.excess <= 1)  # so that NaN is open
            worst = float(self.xp.max(ritz.excess))
            if worst <= 1 or (waited >= _PATIENCE and self.n_features <= _DENSE_LIMIT):
                break
            ritz = self._improved(ritz, is_open, degree, stride)
            needed, stride = self._plan(ritz)
            # A vector is known as well as it was amplified so far; much more would let it drown the others.
            degree = min(needed, spent + stride, _LARGEST_DEGREE)
            spent += degree
            waited = 0 if worst < best / 2 else waited + 1
            best = min(best, worst)
        return self._finished(ritz)

    def _start(self) -> Any:
        """Return the same random vectors for all; a fixed seed: the same data give the same answer."""
        random = np.random.default_rng(0).standard_normal((self.n_features, self.width))
        V = on_device(self.xp, random, self.scale)[None, None, :, :]
        return self.xp.broadcast_to(V, (self.scale.shape[0], self.strengths.shape[0], *V.shape[2:]))

    def _ritz(self, stack: Stack, strengths: Any, V: Any) -> Ritz:
        """Return the Ritz vectors in the span of V, of shape (matrices, strengths, features, width)."""
        xp, rank = self.xp, self.rank
        Q = _orthonormalised(xp, V)
        TQ = _swapped(xp, stack.shifted(_swapped(xp, Q), strengths[:, None], 0.0))
        projected = xp.matmul(xp.matrix_transpose(Q), TQ)
        values, turn = xp.linalg.eigh((projected + xp.matrix_transpose(projected)) / 2)
        values, turn = xp.flip(values, axis=-1), xp.flip(turn, axis=-1)
        Q = xp.matmul(Q, turn)
        sizes = xp.linalg.vector_norm(xp.matmul(TQ, turn) - Q * values[:, :, None, :], axis=-2)
        gap = values[..., rank - 1] - values[..., rank]
        scale = xp.max(stack.variances, axis=-1)
        least = clipped(xp, indistinct(xp, self.n_features, scale[:, None], values), 1e-300)
        enough = _larger(xp, self.sine * gap, least)
        # The gap itself is known only as well as the next eigenvalue: its residual must be small too.
        excess = _larger(
            xp,
            xp.linalg.vector_norm(sizes[..., :rank], axis=-1) / enough,
            sizes[..., rank] / _larger(xp, gap / 8, enough),
        )
        defect = xp.matmul(xp.matrix_transpose(Q), Q) - xp.eye(self.width, dtype=Q.dtype, device=device_of(Q))
        return Ritz(Q, values, _larger(xp, excess, xp.max(xp.abs(defect), axis=(-2, -1)) / _ORTHONORMAL))

    def _improved(self, ritz: Ritz, is_open: Any, degree: int, stride: int) -> Ritz:
        """Return better Ritz vectors for the matrices and strengths that still have an open pair."""
        xp = self.xp
        rows, columns = (
            np.flatnonzero(host_list(xp.astype(xp.any(is_open, axis=axis), xp.int64))) for axis in (1, 0)
        )
        if len(rows) == is_open.shape[0] and len(columns) == is_open.shape[1]:
            return self._round(self.stack, self.strengths, ritz, degree, stride)
        where = [on_device(xp, positions, self.scale) for positions in (rows, columns)]
        some = Ritz(*(xp.take(xp.take(x, where[0], axis=0), where[1], axis=1) for x in ritz))
        new = self._round(self.stack.take(where[0]), xp.take(self.strengths, where[1]), some, degree, stride)
        # Back to their places: position k of the whole is position back[k] of the part, where it has one.
        for axis, positions in ((0, rows), (1, columns)):
            back = np.zeros(is_open.shape[axis], dtype=int)
            back[positions] = np.arange(len(positions))
            new = Ritz(*(xp.take(x, on_device(xp, back, self.scale), axis=axis) for x in new))
        taken = np.zeros(is_open.shape, dtype=bool)
        taken[np.ix_(rows, columns)] = True
        mask = on_device(xp, taken, self.scale)
        return Ritz(
            xp.where(mask[:, :, None, None], new.basis, ritz.basis),
            xp.where(mask[:, :, None], new.values, ritz.values),
            xp.where(mask, new.excess, ritz.excess),
        )

    def _round(self, stack: Stack, strengths: Any, ritz: Ritz, degree: int, stride: int) -> Ritz:
        return self._ritz(stack, strengths, self._filtered(stack, strengths, ritz, degree, stride))

    def _filtered(self, stack: Stack, strengths: Any, ritz: Ritz, degree: int, stride: int) -> Any:
        """Damp the unwanted part of Ritz vectors by a Chebyshev polynomial of their matrix."""
        xp = self.xp
        centre, half = _damped(xp, stack, strengths, ritz.values)
        centre, half = centre[:, None, :, None], half[:, None, :, None]
        growth = clipped(
            xp, (ritz.values[:, None, :, :] - centre) / half, 1.0
        )  # keeps columns from overflowing
        alphas, factor, fade = strengths[:, None], 1 / (half * growth), 1 / growth**2
        previous = _swapped(xp, ritz.basis)
        current = stack.shifted(previous, alphas, centre) * factor
        for step in range(1, degree):
            if step % stride == 0:
                previous, current = (self._without_larger(ritz.basis, V) for V in (previous, current))
            following = stack.shifted(current, alphas, centre) * (2 * factor) - previous * fade
            previous, current = current, following
        return _swapped(xp, current)

    def _without_larger(self, basis: Any, V: Any) -> Any:
        """Take out of filtered vectors what lies along Ritz vectors of larger value, which grows faster."""
        xp = self.xp
        V = _swapped(xp, V)
        before = on_device(xp, np.triu(np.ones((self.width, self.width)), 1), V)
        along = xp.matmul(xp.matrix_transpose(basis), V) * before
        return _swapped(xp, V - xp.matmul(basis, along))

    def _plan(self, ritz: Ritz) -> tuple[int, int]:
        """Return the degree that would settle all, and after how many steps rounding errors take over."""
        xp = self.xp
        centre, half = _damped(xp, self.stack, self.strengths, ritz.values)
        last, first = (
            clipped(xp, (ritz.values[..., k] - centre) / half, 1 + 1e-6) for k in (self.rank - 1, 0)
        )
        needed = xp.log(2 * clipped(xp, ritz.excess, 1.0)) / xp.acosh(last)
        needed = xp.where(ritz.excess <= 1, xp.zeros_like(needed), needed)
        steps, rate = host_list(xp.stack([xp.max(needed), xp.max(xp.acosh(first))]))
        enough = min(steps, _LARGEST_DEGREE) if math.isfinite(steps) else _LARGEST_DEGREE
        return math.ceil(enough) + 2, max(int(math.log(_LARGEST_GROWTH) / rate), 1)

    def _finished(self, ritz: Ritz) -> Leading:
        """Return the subspaces; what is tied or not settled is decomposed where that is affordable."""
        xp, rank, shape = self.xp, self.rank, ritz.excess.shape
        gap = ritz.values[..., rank - 1] - ritz.values[..., rank]
        tied = gap <= indistinct(xp, self.n_features, self.scale[:, None], ritz.values)
        found = Leading(
            ritz.basis[..., :rank], ritz.values[..., :rank], gap, tied, xp.zeros_like(tied)
        ).shaped(xp, -1)
        left = xp.reshape(tied | ~(ritz.excess <= 1), (-1,))
        if not bool(xp.any(left)):
            return found.shaped(xp, *shape)
        if self.n_features > _DENSE_LIMIT:
            _warn_unsettled(float(xp.max(ritz.excess)))
            return found.shaped(xp, *shape)
        positions = xp.nonzero(left)[0]
        matrices, alphas = (xp.take(x, positions) for x in all_pairs(xp, shape[0], self.strengths))
        exact = decomposed(self.stack, matrices, alphas, rank)
        back = xp.cumulative_sum(xp.astype(left, xp.int64)) - 1
        return found.merged(xp, exact, clipped(xp, back, 0), left).shaped(xp, *shape)


def _damped(xp: Any, stack: Stack, strengths: Any, values: Any) -> tuple[Any, Any]:
    """Return centre and half width of the interval of unwanted eigenvalues, up to the last guard."""
    low = -strengths[None, :] * stack.part_bound[:, None]
    edge = values[..., -1]
    scale = xp.max(stack.variances, axis=-1)[:, None]
    least = xp.where(scale > 0, 1e-3 * scale, xp.ones_like(scale))
    return (edge + low) / 2, _larger(xp, (edge - low) / 2, least)


def _orthonormalised(xp: Any, V: Any) -> Any:
    """Return an orthonormal basis of the last two dimensions, by small eigenproblems that run as one batch.

    One pass leaves errors of the squared condition number; three are enough for any that a filter leaves.
    (A. Stathopoulos and K. Wu, A block orthogonalization procedure with constant synchronization
    requirements, SIAM J. Sci. Comput., 2002.)
    """
    least = V.shape[-1] * 2.0**-52
    for _ in range(3):
        norms = xp.linalg.vector_norm(V, axis=-2, keepdims=True)
        V = V / clipped(xp, norms, 1e-300)
        values, vectors = xp.linalg.eigh(xp.matmul(xp.matrix_transpose(V), V))
        V = xp.matmul(V, vectors / xp.sqrt(clipped(xp, values, least))[..., None, :])
    return V


def _swapped(xp: Any, V: Any) -> Any:
    """Exchange the dimensions of strengths and features."""
    return xp.permute_dims(V, (0, 2, 1, 3))


def _larger(xp: Any, a: Any, b: Any) -> Any:
    """Return the elementwise maximum; NaN on the left stays, so that a failed residual is never settled."""
    return xp.where(a <= b, b, a)


def _warn_unsettled(excess: float) -> None:
    if excess > 1:
        warnings.warn(
            f"A subspace did not converge in {_MOST_ROUNDS} rounds: its residual is {excess:.3g} times what "
            "was wanted. The last iterate was kept.",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
