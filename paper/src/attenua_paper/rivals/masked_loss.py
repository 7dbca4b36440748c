r"""The masked-target losses that are minimised: fast, many at once, of frames.

The loss (eq. masked-target-objective) hides every coordinate, or every group of them, with probability
:math:`m`, reconstructs from the rest, and counts the error on what was hidden only. Averaged over masks it
is (Proposition "Exact symmetric masked-target objective"), with :math:`q = 1 - m`, :math:`P = UU^\top`,
:math:`\mathcal D` the diagonal or the within-group blocks and :math:`\mathcal O = I - \mathcal D`,

.. math::

    L(P) = m \operatorname{tr} S + m q\, \Phi(P), \qquad
    \Phi(P) = \langle \mathcal D(S) - (2 - q)\, \mathcal O(S), P \rangle
    - \langle \mathcal D(S), \mathcal D(P)^2 \rangle - 2 q \langle \mathcal O(S), \mathcal D(P) P \rangle .
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua_paper.rivals.manifold import transposed

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Curvatures below this part of their mean are lifted to it, so that the preconditioner is definite.
_CURVATURE_FLOOR = 0.02


class _Stack(NamedTuple):
    """Groups of one size, side by side: their rows, their number and size, their eigenvectors."""

    rows: slice
    shape: tuple[int, int]
    vectors: Array


class MaskedTargetLosses:
    r"""The losses :math:`\Phi` of one covariance at several mask rates, for frames U.

    Value and gradient cost :math:`O(p^2 d)`: products of :math:`\mathcal O(S)` with :math:`U` and with
    :math:`\mathcal D(P) U`, and work within groups. Everything is computed in the eigenbasis of the
    within-group blocks of S: an orthogonal map within groups commutes with the masks, so the loss does not
    change, and :math:`\mathcal D(S)` becomes diagonal. ``to_inner`` and ``to_outer`` carry frames there
    and back.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
        S.
    mask_rates : ndarray of shape (n_problems,)
        One mask rate for each problem.
    labels : ndarray of shape (p,), optional
        Group of every coordinate; None for groups of one.
    """

    def __init__(self, covariance: Array, mask_rates: Array, labels: Indices | None = None):
        self.keep_rates = 1 - np.asarray(mask_rates, dtype=float)
        self._stacks: list[_Stack] | None = None
        if labels is None:
            self.within = np.diag(covariance).copy()
            self.between = covariance - np.diag(self.within)
            return
        sizes = np.bincount(labels)
        # Groups of the same size lie together, so that each size is one stack of small matrices.
        self._order = np.lexsort((labels, sizes[labels]))
        labels = labels[self._order]
        S = covariance[np.ix_(self._order, self._order)]
        self._stacks, start = [], 0
        for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
            rows = slice(start, start + size * count)
            blocks = S[rows, rows].reshape(count, size, count, size)[np.arange(count), :, np.arange(count)]
            self._stacks.append(_Stack(rows, (count, size), np.linalg.eigh(blocks)[1]))
            start = rows.stop
        rotated = self._rotate(self._rotate(S).T)
        self.within = np.diag(rotated).copy()
        self.between = np.where(labels[:, None] == labels, 0.0, rotated)

    def to_inner(self, U: Array) -> Array:
        """Return frames (..., p, d) in the coordinates of the computation."""
        return U if self._stacks is None else self._rotate(U[..., self._order, :])

    def to_outer(self, U: Array) -> Array:
        """Return frames in the coordinates of the data."""
        if self._stacks is None:
            return U
        result = np.empty_like(U)
        result[..., self._order, :] = self._rotate(U, back=True)
        return result

    def _rotate(self, X: Array, back: bool = False) -> Array:
        result = np.empty_like(X)
        for rows, (count, size), vectors in self._stacks or ():
            turn = vectors if back else transposed(vectors)
            block = X[..., rows, :]
            result[..., rows, :] = (turn @ block.reshape(*X.shape[:-2], count, size, -1)).reshape(block.shape)
        return result

    def value_and_gradient(self, U: Array, which: Indices) -> tuple[Array, Array]:
        r"""Return :math:`\Phi` and its gradient in U for the problems `which`."""
        q = self.keep_rates[which]
        return self._coordinate_masks(U, q) if self._stacks is None else self._block_masks(U, q)

    def _coordinate_masks(self, U: Array, q: Array) -> tuple[Array, Array]:
        s, d = self.within, U.shape[-1]
        b = np.einsum("bij,bij->bi", U, U)  # diagonal of P
        products = self.between @ np.concatenate([U, b[:, :, None] * U], axis=-1)
        Y = products[..., :d]
        z = np.einsum("bij,bij->bi", U, Y)
        q = q[:, None]
        value = np.sum(s * b * (1 - b) + (q - 2 - 2 * q * b) * z, axis=1)
        # Γ U with Γ of eq. masked-target-gradient.
        gradient = (q - 2 - q * b)[:, :, None] * Y
        gradient -= q[:, :, None] * products[..., d:]
        gradient += (s * (1 - 2 * b) - 2 * q * z)[:, :, None] * U
        return value, 2 * gradient

    def _block_masks(self, U: Array, q: Array) -> tuple[Array, Array]:
        assert self._stacks is not None
        n, d = len(U), U.shape[-1]
        masked = np.empty_like(U)  # D(P) U
        grams = []
        for rows, shape, _ in self._stacks:
            part = U[:, rows].reshape(n, *shape, d)
            grams.append(transposed(part) @ part)
            masked[:, rows] = (part @ grams[-1]).reshape(n, -1, d)
        products = self.between @ np.concatenate([U, masked], axis=-1)
        q = q[:, None, None]
        value, gradient = np.zeros(n), (q - 2) * products[..., :d] - q * products[..., d:]
        gradient += self.within[:, None] * (U - masked)
        q = q[..., None]
        for (rows, shape, _), K in zip(self._stacks, grams, strict=True):
            part = U[:, rows].reshape(n, *shape, d)
            Y = products[:, rows, :d].reshape(n, *shape, d)
            M = transposed(part) @ Y
            N = transposed(part) @ (self.within[rows].reshape(*shape, 1) * part)
            value += np.einsum("bgii->b", N + (q - 2) * M) - np.einsum("bgij,bgji->b", K, N + 2 * q * M)
            correction = part @ (N + q * (M + transposed(M))) + q * (Y @ K)
            gradient[:, rows] -= correction.reshape(n, -1, d)
        return value, 2 * gradient

    def preconditioner(self, U: Array, gradient: Array, which: Indices) -> Callable[[Array], Array]:
        r"""Return the inverse of the dominant part of the Hessian.

        Along the tangent direction that replaces column j of U by an omitted direction k, the curvature is
        about :math:`2(\Gamma_{kk} - \Lambda_j)` with :math:`\Lambda` the eigenvalues of
        :math:`U^\top \Gamma U`. What is large in the omitted part of :math:`\Gamma` is
        :math:`\mathcal D(S)`, which is diagonal here.
        """
        inner = transposed(U) @ gradient
        values, vectors = np.linalg.eigh(-(inner + transposed(inner)) / 2)
        floor = _CURVATURE_FLOOR * np.abs(values).mean(axis=1, keepdims=True) + np.finfo(float).tiny
        curvature = 2 * self.within[:, None] + np.maximum(values, floor)[:, None, :]
        back = transposed(vectors)
        return lambda V: ((V @ vectors) / curvature) @ back


def checked_mask_rate(mask_rate: Any) -> float:
    """Return one mask rate as a float in [0, 1)."""
    if isinstance(mask_rate, bool) or not isinstance(mask_rate, (int, float, np.number)):
        raise ValueError(f"mask_rate must be a number from 0 to below 1; got {mask_rate!r}.")
    if not 0 <= mask_rate < 1:
        raise ValueError(f"mask_rate must be at least 0 and below 1; got {mask_rate!r}.")
    return float(mask_rate)
