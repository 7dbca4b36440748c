"""Minimisation over orthonormal frames, many problems at once, by a preconditioned Riemannian L-BFGS.

Points are p-by-d matrices U with orthonormal columns. A loss that depends on ``U @ U.T`` alone lives on the
Grassmann manifold, one that depends on the columns themselves on the Stiefel manifold; the two differ only
in their tangent projection. Steps are retracted by the polar factor, which turns the frame no more than it
must, and remembered steps are carried along by the tangent projection.

All problems of a batch advance together, one evaluation each per round, so that small problems share the
cost of the interpreter and large ones share their matrix products. A problem leaves the batch when it is
solved.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

TOLERANCE = 1e-7
MAX_ITER = 800

_MEMORY = 5
_SUFFICIENT_DECREASE = 1e-4
# Differences of the loss below this part of the gradient's norm are rounding: no reason to refuse a step.
_ROUNDING = 1e-13


class Problems(Protocol):
    """A stack of losses of orthonormal frames."""

    def value_and_gradient(self, U: Array, which: Indices) -> tuple[Array, Array]:
        """Return the losses and their Euclidean gradients at the frames of the problems `which`."""

    def preconditioner(self, U: Array, gradient: Array, which: Indices) -> Callable[[Array], Array]:
        """Return a positive definite approximation of the inverse Hessians at U."""


class Minima(NamedTuple):
    """What was found, one entry a problem.

    Attributes
    ----------
    frames : ndarray of shape (n_problems, p, d)
        Last points.
    values : ndarray of shape (n_problems,)
        Their losses.
    n_iter : ndarray of int
        Evaluations of the loss.
    converged : ndarray of bool
        Whether the relative tangent gradient reached the tolerance.
    """

    frames: Array
    values: Array
    n_iter: Indices
    converged: NDArray[np.bool_]


def transposed(stack: Array) -> Array:
    """Transpose every matrix of a stack."""
    return stack.swapaxes(-1, -2)


def grassmann_tangent(U: Array, V: Array) -> Array:
    r"""Return :math:`(I - UU^\top) V`."""
    return V - U @ (transposed(U) @ V)


def stiefel_tangent(U: Array, V: Array) -> Array:
    r"""Return :math:`V - U\,\mathrm{sym}(U^\top V)`."""
    inner = transposed(U) @ V
    return V - U @ (inner + transposed(inner)) / 2


def polar_retraction(U: Array, V: Array) -> Array:
    """Return the orthonormal frames closest to ``U + V``."""
    W = U + V
    values, vectors = np.linalg.eigh(transposed(W) @ W)
    return W @ ((vectors / np.sqrt(values)[:, None, :]) @ transposed(vectors))


def minimise(
    problems: Problems,
    starts: Array,
    tangent: Callable[[Array, Array], Array] = grassmann_tangent,
    *,
    tolerance: float = TOLERANCE,
    max_iter: int = MAX_ITER,
) -> Minima:
    r"""Minimise every loss of a stack from its start.

    A problem is solved when its relative tangent-gradient norm

    .. math::

        \|\operatorname{grad} f(U)\|_F \,/\, \|\nabla f(U)\|_F

    (the tangent part of the Euclidean gradient over the whole of it) is at most the tolerance. For a loss
    of :math:`P = UU^\top` with derivative :math:`\Gamma` this is
    :math:`\|(I - P)\Gamma U\|_F / \|\Gamma U\|_F`, the relative residual of the eigenvalue problem
    :math:`\Gamma(P) U = U \Lambda` that stationarity means: free of the units of the data, and of the
    choice of basis.

    Parameters
    ----------
    problems : Problems
        The losses.
    starts : ndarray of shape (n_problems, p, d)
        Orthonormal frames.
    tangent : callable
        Tangent projection of the manifold.
    tolerance, max_iter : float, int
        When to stop.

    Returns
    -------
    Minima
        Frames no worse than the starts.
    """
    n = len(starts)
    found = Minima(starts.copy(), np.empty(n), np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool))
    state = _State(problems, starts, tangent)
    for iteration in range(1, max_iter + 1):
        solved = state.gradient_size <= tolerance * state.euclidean_size
        leaving = solved if iteration < max_iter else np.ones_like(solved)
        if leaving.any():
            done = state.which[leaving]
            found.frames[done], found.values[done] = state.U[leaving], state.value[leaving]
            found.n_iter[done], found.converged[done] = iteration, solved[leaving]
            state.keep(~leaving)
        if not state.which.size:
            break
        state.advance()
    return found


class _State:
    """Where the problems that are still open stand; every array has them along its first axis."""

    def __init__(self, problems: Problems, U: Array, tangent: Callable[[Array, Array], Array]):
        self.problems, self.tangent = problems, tangent
        self.which = np.arange(len(U))
        self.U = U
        self.value, self.euclidean = problems.value_and_gradient(U, self.which)
        self.gradient = tangent(U, self.euclidean)
        self.steps: list[Array] = []
        self.changes: list[Array] = []
        self.weights: list[Array] = []  # 1 / <step, change>; zero switches a pair off
        self._set_direction(np.ones(len(U), dtype=bool))

    @property
    def gradient_size(self) -> Array:
        return _norm(self.gradient)

    @property
    def euclidean_size(self) -> Array:
        return _norm(self.euclidean)

    def keep(self, open_: NDArray[np.bool_]) -> None:
        """Let the other problems go."""
        for name in ("which", "U", "value", "euclidean", "gradient", "direction", "slope", "step"):
            setattr(self, name, getattr(self, name)[open_])
        for memory in (self.steps, self.changes, self.weights):
            memory[:] = [entry[open_] for entry in memory]

    def advance(self) -> None:
        """Try one step in every problem; where it does not descend enough, a shorter one comes next."""
        move = self.step[:, None, None] * self.direction
        U = polar_retraction(self.U, move)
        value, euclidean = self.problems.value_and_gradient(U, self.which)
        aim = self.value + _SUFFICIENT_DECREASE * self.step * self.slope
        good = value <= aim + _ROUNDING * self.euclidean_size
        if not good.all():
            self._shorten(~good, value)
            U, euclidean = (_where(good, new, old) for new, old in ((U, self.U), (euclidean, self.euclidean)))
            value = np.where(good, value, self.value)
        gradient = self.tangent(U, euclidean)
        self._remember(self.tangent(U, move), gradient - self.tangent(U, self.gradient), U, good)
        self.U, self.value, self.euclidean, self.gradient = U, value, euclidean, gradient
        self._set_direction(good)

    def _shorten(self, bad: NDArray[np.bool_], value: Array) -> None:
        """Go to the minimum of the parabola through what is known, within safe bounds."""
        step, slope = self.step[bad], self.slope[bad]
        excess = value[bad] - self.value[bad] - step * slope
        self.step[bad] = np.clip(-slope * step**2 / (2 * excess), 0.1 * step, 0.5 * step)

    def _remember(self, move: Array, change: Array, U: Array, good: NDArray[np.bool_]) -> None:
        curvature = _inner(move, change)
        trusted = good & (curvature > 1e-10 * _norm(move) * _norm(change))
        weight = np.where(trusted, 1 / np.where(trusted, curvature, 1), 0.0)
        for memory in (self.steps, self.changes):
            memory[:] = [self.tangent(U, entry) for entry in memory[-_MEMORY + 1 :]]
        self.steps.append(move)
        self.changes.append(change)
        self.weights = [*self.weights[-_MEMORY + 1 :], weight]

    def _set_direction(self, fresh: NDArray[np.bool_]) -> None:
        """Find new directions where the last step was taken; elsewhere the old one stands."""
        precondition = self.problems.preconditioner(self.U, self.euclidean, self.which)
        direction = -self.tangent(self.U, self._two_loops(precondition))
        slope = _inner(direction, self.gradient)
        uphill = slope >= 0
        if uphill.any():
            # Forget what led there; the preconditioned gradient always descends.
            for weight in self.weights:
                weight[uphill] = 0.0
            plain = -self.tangent(self.U, precondition(self.gradient))
            direction = _where(uphill, plain, direction)
            slope = _inner(direction, self.gradient)
        # At most an eighth of a turn at a time.
        step = 1 / np.maximum(_norm(direction), 1.0)
        if fresh.all():
            self.direction, self.slope, self.step = direction, slope, step
        else:
            self.direction = _where(fresh, direction, self.direction)
            self.slope, self.step = np.where(fresh, slope, self.slope), np.where(fresh, step, self.step)

    def _two_loops(self, precondition: Callable[[Array], Array]) -> Array:
        """Return the L-BFGS approximation of the inverse Hessian times the gradient."""
        result = self.gradient
        pairs = list(zip(self.steps, self.changes, self.weights, strict=True))
        taken = []
        for step, change, weight in reversed(pairs):
            taken.append(weight * _inner(step, result))
            result = result - taken[-1][:, None, None] * change
        scale = self._scale(precondition)
        result = scale[:, None, None] * precondition(self.tangent(self.U, result))
        for (step, change, weight), amount in zip(pairs, reversed(taken), strict=True):
            result = result + (amount - weight * _inner(change, result))[:, None, None] * step
        return result

    def _scale(self, precondition: Callable[[Array], Array]) -> Array:
        """Return the factor that gives the preconditioner the curvature seen in the last step."""
        scale = np.ones(len(self.which))
        if self.weights:
            seen = self.weights[-1] > 0
            product = self.weights[-1] * _inner(self.changes[-1], precondition(self.changes[-1]))
            scale[seen] = 1 / product[seen]
        return scale


def _inner(A: Array, B: Array) -> Array:
    return np.einsum("bij,bij->b", A, B)


def _norm(A: Array) -> Array:
    return np.sqrt(_inner(A, A))


def _where(condition: NDArray[np.bool_], A: Array, B: Array) -> Array:
    return np.where(condition[:, None, None], A, B)
