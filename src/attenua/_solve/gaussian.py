r"""A covariance :math:`c\,T + \mathrm{diag}(d)` as the law of Gaussian rows: its determinant and distances.

Where T is held as rows A that are few, :math:`T = A^\top A`, nothing p-by-p is formed. With the eigenvalues
:math:`e_k` and eigenvectors :math:`u_k` of :math:`A\,\mathrm{diag}(d)^{-1} A^\top`,

.. math::

    \log\det = \sum_j \log d_j + \sum_k \log(1 + c e_k), \qquad
    z^\top \Sigma^{-1} z = \sum_j \frac{z_j^2}{d_j}
    - \sum_k \frac{c\,(u_k^\top A\,\mathrm{diag}(d)^{-1} z)^2}{1 + c e_k}.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from attenua._data.moments import Moments

Array = NDArray[np.float64]

# A matrix that is not positive definite is lifted until its least eigenvalue is this part of its mean one.
_LEAST = 1e-6
# A smaller part of a variance is rounding errors.
_ROUNDING = 1e-13


class Formed:
    """A covariance that is a p-by-p matrix, by its Cholesky factor."""

    def __init__(self, matrix: Array):
        _, self._factor = positive_definite(matrix)
        self.log_det = 2 * float(np.sum(np.log(np.diagonal(self._factor))))

    def squares(self, Z: Array) -> Array:
        r"""Return :math:`z^\top \Sigma^{-1} z` of every row z."""
        white = solve_triangular(self._factor, Z.T, lower=True, check_finite=False)
        squares: Array = np.einsum("ij,ij->j", white, white)
        return squares

    def mean_square(self, second_moments: Array) -> float:
        r"""Return the mean of :math:`z^\top \Sigma^{-1} z` over rows, from their second moments."""
        half = solve_triangular(self._factor, second_moments, lower=True, check_finite=False)
        white = solve_triangular(self._factor, half.T, lower=True, check_finite=False)
        return float(np.trace(white))


class OfFewRows:
    """The same by the inner products of few rows, where T is not formed."""

    def __init__(self, T: Moments, scale: float, diagonal: Array):
        self._T, self._diagonal = T, diagonal
        values, self._vectors = T.gram(diagonal**-0.5)
        values = scale * np.maximum(values, 0.0)
        self._weights = scale / (1 + values)
        self.log_det = float(np.sum(np.log(diagonal)) + np.sum(np.log1p(values)))

    def squares(self, Z: Array) -> Array:
        r"""Return :math:`z^\top \Sigma^{-1} z` of every row z."""
        scaled = Z / self._diagonal
        along = self._vectors.T @ self._T.image(scaled.T)
        return np.maximum(np.sum(Z * scaled, axis=1) - self._weights @ along**2, 0.0)


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
