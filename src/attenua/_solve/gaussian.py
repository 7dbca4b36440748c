r"""A covariance :math:`c\,T + \mathrm{diag}(d)` as the law of Gaussian rows: its determinant and distances.

Where T is held as rows A that are few, :math:`T = A^\top A`, nothing p-by-p is formed. With the eigenvalues
:math:`e_k` and eigenvectors :math:`u_k` of :math:`A\,\mathrm{diag}(d)^{-1} A^\top`,

.. math::

    \log\det = \sum_j \log d_j + \sum_k \log(1 + c e_k), \qquad
    z^\top \Sigma^{-1} z = \sum_j \frac{z_j^2}{d_j}
    - \sum_k \frac{c\,(u_k^\top A\,\mathrm{diag}(d)^{-1} z)^2}{1 + c e_k}.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from attenua._data.moments import Moments

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# A matrix that is not positive definite is lifted until its least eigenvalue is this part of its mean one.
_LEAST = 1e-6
# A smaller part of a variance is rounding errors.
_ROUNDING = 1e-13


class Formed:
    """A covariance that is a p-by-p matrix, by its Cholesky factor."""

    def __init__(self, matrix: Array):
        self._matrix, self._factor = positive_definite(matrix)
        self.log_det = _log_det(self._factor)

    @cached_property
    def _precision(self) -> Array:
        inverse: Array = cho_solve((self._factor, True), np.eye(len(self._factor)), check_finite=False)
        return inverse

    def squares(self, Z: Array) -> Array:
        r"""Return :math:`z^\top \Sigma^{-1} z` of every row z."""
        return _squares(self._factor, Z)

    def of_seen(self, Z: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
        r"""Return :math:`z_o^\top \Sigma_{oo}^{-1} z_o` and :math:`\log\det\Sigma_{oo}` of the seen cells o.

        Z is 0 where a cell is missing. With the inverse K of the covariance and the missing cells m, these
        are :math:`z^\top K z - (Kz)_m^\top K_{mm}^{-1} (Kz)_m` and :math:`\log\det\Sigma + \log\det K_{mm}`,
        which cost less where few cells are missing.
        """
        squares, log_dets = np.empty(len(Z)), np.empty(len(Z))
        for rows, o, m in patterns(seen):
            if len(o) <= len(m):
                factor: Any = np.linalg.cholesky(self._matrix[np.ix_(o, o)])
                squares[rows] = _squares(factor, Z[np.ix_(rows, o)])
                log_dets[rows] = _log_det(factor)
                continue
            scaled = Z[rows] @ self._precision
            factor = np.linalg.cholesky(self._precision[np.ix_(m, m)])
            squares[rows] = np.sum(scaled * Z[rows], axis=1) - _squares(factor, scaled[:, m])
            log_dets[rows] = self.log_det + _log_det(factor)
        return np.maximum(squares, 0.0), log_dets

    def fill(self, Z: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
        r"""Return rows with missing cells at their mean given the seen ones, and their standard deviations.

        The mean is :math:`\Sigma_{mo} \Sigma_{oo}^{-1} z_o = -K_{mm}^{-1} (Kz)_m`, and the covariance
        :math:`\Sigma_{mm} - \Sigma_{mo} \Sigma_{oo}^{-1} \Sigma_{om} = K_{mm}^{-1}`. Seen cells deviate by 0.
        """
        filled, deviations = Z.copy(), np.zeros_like(Z)
        for rows, o, m in patterns(seen):
            if len(o) <= len(m):
                factor = np.linalg.cholesky(self._matrix[np.ix_(o, o)])
                along = solve_triangular(factor, self._matrix[np.ix_(o, m)], lower=True, check_finite=False)
                white = solve_triangular(factor, Z[np.ix_(rows, o)].T, lower=True, check_finite=False)
                means = white.T @ along
                variances = np.diagonal(self._matrix)[m] - np.sum(along**2, axis=0)
            else:
                factor = np.linalg.cholesky(self._precision[np.ix_(m, m)])
                inverse = cho_solve((factor, True), np.eye(len(m)), check_finite=False)
                means = -(Z[rows] @ self._precision[:, m]) @ inverse
                variances = np.diagonal(inverse)
            filled[np.ix_(rows, m)] = means
            deviations[np.ix_(rows, m)] = np.sqrt(np.maximum(variances, 0.0))
        return filled, deviations

    def sample(self, n: int, random: np.random.RandomState) -> Array:
        """Return rows of this law, with mean 0."""
        rows: Array = random.standard_normal((n, len(self._factor))) @ self._factor.T
        return rows

    def squares_along(self, vectors: Array, Z: Array, seen: NDArray[np.bool_]) -> Array:
        r"""Return the mean of :math:`(u^\top z)^2` given the seen cells, for each row and vector (column).

        It is that of the filled row, and :math:`u_m^\top K_{mm}^{-1} u_m` for what the fill does not know.
        """
        squares = (self.fill(Z, seen)[0] @ vectors) ** 2
        for rows, _, m in patterns(seen):
            unknown = np.linalg.solve(self._precision[np.ix_(m, m)], vectors[m])
            squares[rows] += np.sum(vectors[m] * unknown, axis=0)
        return squares


class Factored:
    r"""A covariance :math:`W^\top W + \mathrm{diag}(d)` with a few factors W, as rows."""

    def __init__(self, factors: Array, diagonal: Array):
        self._factors, self._diagonal = factors, diagonal

    def fill(self, Z: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
        r"""Return filled rows and standard deviations, as :meth:`Formed.fill` does.

        The mean is :math:`W_m^\top t` with :math:`t = V W_o d_o^{-1} z_o` and
        :math:`V = (I + W_o d_o^{-1} W_o^\top)^{-1}`, and the variances those of :math:`W_m^\top V W_m + d_m`.
        """
        W, d = self._factors, self._diagonal
        filled, deviations = Z.copy(), np.zeros_like(Z)
        for rows, o, m in patterns(seen):
            weighted = W[:, o] / d[o]
            V = np.linalg.inv(np.eye(len(W)) + weighted @ W[:, o].T)
            filled[np.ix_(rows, m)] = Z[np.ix_(rows, o)] @ weighted.T @ V @ W[:, m]
            deviations[np.ix_(rows, m)] = np.sqrt(np.sum(W[:, m] * (V @ W[:, m]), axis=0) + d[m])
        return filled, deviations

    def sample(self, n: int, random: np.random.RandomState) -> Array:
        """Return rows of this law, with mean 0."""
        rows: Array = random.standard_normal((n, len(self._factors))) @ self._factors
        return rows + random.standard_normal(rows.shape) * np.sqrt(self._diagonal)

    def of_seen(self, Z: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
        r"""Return :math:`z_o^\top \Sigma_{oo}^{-1} z_o` and :math:`\log\det\Sigma_{oo}` of the seen cells o.

        Z is 0 where a cell is missing. With the means t of the factors given the seen cells, as in
        :meth:`fill`, the first is :math:`(z_o - W_o^\top t)^\top d_o^{-1} (z_o - W_o^\top t) + t^\top t`,
        and the second :math:`\log\det(I + W_o d_o^{-1} W_o^\top) + \sum_o \log d_o`.
        """
        W, d = self._factors, self._diagonal
        squares, log_dets = np.empty(len(Z)), np.empty(len(Z))
        for rows, o, _ in patterns(seen):
            weighted, some = W[:, o] / d[o], Z[np.ix_(rows, o)]
            inner = np.eye(len(W)) + weighted @ W[:, o].T
            means = np.linalg.solve(inner, weighted @ some.T).T
            squares[rows] = np.sum((some - means @ W[:, o]) ** 2 / d[o], axis=1) + np.sum(means**2, axis=1)
            log_dets[rows] = np.linalg.slogdet(inner)[1] + np.sum(np.log(d[o]))
        return squares, log_dets


def distances_of_seen(
    law: "Formed | Factored | OfFewRows", Z: Array, seen: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return what ``of_seen`` of a law does; distances that are too large for doubles are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares, log_dets = law.of_seen(Z, seen)
    return np.where(np.isnan(squares), np.inf, squares), log_dets  # NaN is a difference of two of them


def patterns(seen: NDArray[np.bool_]) -> Iterator[tuple[Indices, Indices, Indices]]:
    """Yield the rows with the same missing cells, and the numbers of their seen and missing cells."""
    packed = np.packbits(seen, axis=1)
    _, first, of_row = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    by_pattern = np.split(
        np.argsort(of_row.ravel(), kind="stable"), np.cumsum(np.bincount(of_row.ravel()))[:-1]
    )
    for place, rows in zip(first, by_pattern, strict=True):
        yield rows, np.flatnonzero(seen[place]), np.flatnonzero(~seen[place])


def _log_det(factor: Array) -> float:
    return 2 * float(np.sum(np.log(np.diagonal(factor))))


def _squares(factor: Array, Z: Array) -> Array:
    white = solve_triangular(factor, Z.T, lower=True, check_finite=False)
    squares: Array = np.einsum("ij,ij->j", white, white)
    return squares


class OfFewRows:
    """The same by the inner products of few rows, where T is not formed."""

    def __init__(self, T: Moments, scale: float, diagonal: Array):
        self._T, self._scale, self._diagonal = T, scale, diagonal
        values, self._vectors = T.gram(diagonal**-0.5)
        values = scale * np.maximum(values, 0.0)
        self._weights = scale / (1 + values)
        self.log_det = float(np.sum(np.log(diagonal)) + np.sum(np.log1p(values)))

    def squares(self, Z: Array) -> Array:
        r"""Return :math:`z^\top \Sigma^{-1} z` of every row z."""
        scaled = Z / self._diagonal
        along = self._vectors.T @ self._T.image(scaled.T)
        return np.maximum(np.sum(Z * scaled, axis=1) - self._weights @ along**2, 0.0)

    def of_seen(self, Z: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
        r"""Return :math:`z_o^\top \Sigma_{oo}^{-1} z_o` and :math:`\log\det\Sigma_{oo}` of the seen cells o.

        Z is 0 where a cell is missing. The formulas are those of whole rows, in the seen columns of A.
        """
        A = np.sqrt(self._scale) * self._T.combined(np.eye(len(self._vectors))).T
        scaled = A / self._diagonal
        whole = np.eye(len(A)) + scaled @ A.T
        squares, log_dets = np.empty(len(Z)), np.empty(len(Z))
        for rows, o, m in patterns(seen):
            few = len(m) < len(o)
            inner = whole - scaled[:, m] @ A[:, m].T if few else np.eye(len(A)) + scaled[:, o] @ A[:, o].T
            factor = np.linalg.cholesky(inner)
            along = _squares(factor, Z[rows] @ scaled.T)
            squares[rows] = np.sum(Z[rows] ** 2 / self._diagonal, axis=1) - along
            log_dets[rows] = _log_det(factor) + np.sum(np.log(self._diagonal[o]))
        return np.maximum(squares, 0.0), log_dets


def gaussian(T: Moments, scale: float, diagonal: Array) -> Formed | OfFewRows:
    r"""Return the law of covariance :math:`c\,T + \mathrm{diag}(d)`, in the form that costs less."""
    if T.has_few_rows and not T.forms_covariance and diagonal.min() > 0:
        return OfFewRows(T, scale, diagonal)
    return Formed(formed(T, scale, diagonal))


def formed(T: Moments, scale: float, diagonal: Array) -> Array:
    r"""Return :math:`c\,T + \mathrm{diag}(d)` as a p-by-p matrix."""
    matrix: Array = scale * T.covariance
    matrix[np.diag_indices_from(matrix)] += diagonal
    return matrix


def positive_definite(matrix: Any) -> tuple[Any, Array]:
    """Return a symmetric matrix and its lower Cholesky factor; lifted if it is not positive definite.

    Damped correlations may have negative eigenvalues, and very few rows leave a singular matrix.
    """
    try:
        factor: Array = np.linalg.cholesky(matrix)
        # What is left of the variance of each column given those before it.
        left = np.diagonal(factor) ** 2
        if (left > _ROUNDING * np.diagonal(matrix)).all():
            return matrix, factor
    except np.linalg.LinAlgError:
        pass
    lift = _LEAST * (np.trace(matrix) / len(matrix) or 1.0) - min(np.linalg.eigvalsh(matrix)[0], 0.0)
    lifted = matrix + lift * np.eye(len(matrix))
    return lifted, np.linalg.cholesky(lifted)
