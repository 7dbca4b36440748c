r"""Many covariances at once as one operator: a stack of matrices, or of weights of shared rows.

A stack holds the covariances :math:`S_m` of several sets of rows, such as the training sets of all folds.
Blocks of vectors have the shape (matrices, features, strengths, vectors), so that one product serves every
fold and strength.
"""

from collections.abc import Sequence
from typing import Any

from attenua.array_api.moments import ScatterSums, WeightedRows, clipped
from attenua.array_api.namespace import device_of, on_device


class CovarianceStack:
    """Covariances that are formed.

    Parameters
    ----------
    xp : namespace
        Of the arrays.
    matrices : array of shape (n_matrices, n_features, n_features)
        The covariances S.
    means : array of shape (n_matrices, n_features)
        Means of the rows.
    within : array of shape (n_features, n_features), optional
        1 where two columns are of one group, 0 elsewhere: these blocks are attenuated, and not the diagonal.
    """

    def __init__(self, xp: Any, matrices: Any, means: Any, within: Any = None):
        self.xp, self.matrices, self.means, self.within = xp, matrices, means, within
        self.variances = clipped(xp, xp.linalg.diagonal(matrices))
        self._blocks = None if within is None else matrices * within

    @property
    def part_bound(self) -> Any:
        """No eigenvalue of D, the attenuated part, exceeds this; shape (n_matrices,)."""
        if self._blocks is None:
            return self.xp.max(self.variances, axis=-1)
        return self.xp.max(self.xp.sum(self.xp.abs(self._blocks), axis=-1), axis=-1)

    def take(self, positions: Any) -> "CovarianceStack":
        """Return some of the stack."""
        matrices, means = (self.xp.take(x, positions, axis=0) for x in (self.matrices, self.means))
        return CovarianceStack(self.xp, matrices, means, self.within)

    def multiply(self, V: Any) -> Any:
        """Return S V."""
        xp = self.xp
        return xp.reshape(xp.matmul(self.matrices, xp.reshape(V, (*V.shape[:2], -1))), V.shape)

    def shifted(self, V: Any, strengths: Any, centre: Any) -> Any:
        """Return (S - alpha D - centre) V for strengths and centres that broadcast against V."""
        if self._blocks is None:
            # One factor for both diagonal terms, so that V is read once for them.
            return self.multiply(V) - (self.variances[:, :, None, None] * strengths + centre) * V
        xp = self.xp
        part = xp.reshape(xp.matmul(self._blocks, xp.reshape(V, (*V.shape[:2], -1))), V.shape)
        return self.multiply(V) - strengths * part - centre * V

    def tempered(self, tempering: float) -> "CovarianceStack":
        r"""Return :math:`GSG` in the place of S, :math:`G = \mathrm{diag}(s_i^{-\gamma})`."""
        scale = _tempering_scale(self, tempering)
        matrices = scale[:, :, None] * self.matrices * scale[:, None, :]
        return CovarianceStack(self.xp, matrices, self.means, self.within)

    def dense(self, matrices: Any, strengths: Any) -> Any:
        """Return S - alpha D for pairs of a position in the stack and a strength, as matrices."""
        xp = self.xp
        S = xp.take(self.matrices, matrices, axis=0)
        if self._blocks is not None:
            return S - strengths[:, None, None] * xp.take(self._blocks, matrices, axis=0)
        return S - _diagonal(xp, strengths[:, None] * xp.take(self.variances, matrices, axis=0))


class RowStack:
    """Covariances of rows that are multiplied through: for more columns than a square matrix is formed of.

    Parameters
    ----------
    xp : namespace
        Of the arrays.
    rows : array of shape (n_rows, n_features) or (n_matrices, n_rows, n_features)
        Rows, shared by all or each matrix's own.
    weights : array of shape (n_matrices, n_rows)
        Weights, each set summing to 1.
    offsets, variances, means : array of shape (n_matrices, n_features)
        Means of the rows as they are given, diagonals of the covariances, and means in the data's frame.
    """

    def __init__(self, xp: Any, rows: Any, weights: Any, offsets: Any, variances: Any, means: Any):
        self.xp, self.rows, self.weights = xp, rows, weights
        self.offsets, self.variances, self.means = offsets, variances, means

    @property
    def part_bound(self) -> Any:
        """No eigenvalue of D, the attenuated part, exceeds this; shape (n_matrices,)."""
        return self.xp.max(self.variances, axis=-1)

    def take(self, positions: Any) -> "RowStack":
        """Return some of the stack."""
        xp = self.xp
        rows = self.rows if self.rows.ndim == 2 else xp.take(self.rows, positions, axis=0)
        parts = (self.weights, self.offsets, self.variances, self.means)
        return RowStack(xp, rows, *(xp.take(x, positions, axis=0) for x in parts))

    def multiply(self, V: Any) -> Any:
        """Return S V, through the rows and without centring them."""
        xp = self.xp
        flat = xp.reshape(V, (*V.shape[:2], -1))
        scores = xp.matmul(self.rows, flat) - xp.matmul(self.offsets[:, None, :], flat)
        scores = scores * self.weights[:, :, None]
        left = self.offsets[:, :, None] * xp.sum(scores, axis=1, keepdims=True)
        return xp.reshape(xp.matmul(xp.matrix_transpose(self.rows), scores) - left, V.shape)

    def shifted(self, V: Any, strengths: Any, centre: Any) -> Any:
        """Return (S - alpha D - centre) V for strengths and centres that broadcast against V."""
        return self.multiply(V) - (self.variances[:, :, None, None] * strengths + centre) * V

    def tempered(self, tempering: float) -> "RowStack":
        r"""Return :math:`GSG` in the place of S, :math:`G = \mathrm{diag}(s_i^{-\gamma})`."""
        scale = _tempering_scale(self, tempering)
        rows, offsets, variances = (
            self.rows * scale[:, None, :],
            self.offsets * scale,
            self.variances * scale**2,
        )
        return RowStack(self.xp, rows, self.weights, offsets, variances, self.means)

    def dense(self, matrices: Any, strengths: Any) -> Any:
        """Return S - alpha D for pairs of a position in the stack and a strength, as matrices."""
        xp = self.xp
        some = self.take(matrices)
        centred = (some.rows - some.offsets[:, None, :]) * xp.sqrt(some.weights)[:, :, None]
        S = xp.matmul(xp.matrix_transpose(centred), centred)
        return S - _diagonal(xp, strengths[:, None] * some.variances)


Stack = CovarianceStack | RowStack


def stack_of(moments: Sequence[ScatterSums | WeightedRows], labels: Any = None) -> Stack:
    """Return the covariances of several moments of one array as a stack; labels are the groups of columns."""
    first = moments[0]
    xp = first.xp
    means = xp.stack([m.mean for m in moments])
    if isinstance(first, WeightedRows):
        weights = xp.stack([m.weights / m.weight for m in moments])
        offsets, variances = (
            xp.stack(list(x)) for x in zip(*((m.offset, m.variances) for m in moments), strict=True)
        )
        return RowStack(xp, first.rows, weights, offsets, variances, means)
    within = None
    if labels is not None:
        within = on_device(xp, (labels[:, None] == labels).astype(float), means)
    return CovarianceStack(xp, xp.stack([m.covariance for m in moments]), means, within)


def _tempering_scale(stack: Stack, tempering: float) -> Any:
    r"""Return :math:`s_i^{-\gamma}` with the standard deviation :math:`s_i` of a column; 1 if that is 0."""
    variances = stack.variances
    return stack.xp.where(variances > 0, variances, stack.xp.ones_like(variances)) ** (-tempering / 2)


def _diagonal(xp: Any, entries: Any) -> Any:
    """Return diagonal matrices with the given entries."""
    eye = xp.eye(entries.shape[-1], dtype=entries.dtype, device=device_of(entries))
    return eye * entries[:, None, :]
