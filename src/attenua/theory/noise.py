r"""The noise of a covariance that is a mean over rows: all that the risk needs to know of a law.

The estimate starts from :math:`S_n = \frac1n \sum_i y_i y_i^\top`, where :math:`y_i` is a row, or a row made
shorter by row tempering. With :math:`\Sigma = E[y y^\top]`, the errors :math:`E = y y^\top - \Sigma` of one
row have second moments of the form

.. math::

    E[E_{ab} E_{cd}] = \sum_r c_r (C^r_{ac} C^r_{bd} + C^r_{ad} C^r_{bc}) + \sum_m c_m M^m_{ab} M^m_{cd}
    + \sum_i c_i (x_i x_i^\top - M)_{ab} (x_i x_i^\top - M)_{cd} :

crossed products, as Gaussian rows have them; products of matrices; and products of single rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attenua.theory.cutoff import Array


class EntryMoments(NamedTuple):
    r"""Second moments of the errors of entry (i, j) and its two variances, as p x p matrices.

    Attributes
    ----------
    entry_with_entry : ndarray
        :math:`E[E_{ij}^2]`.
    entry_with_variance : ndarray
        :math:`E[E_{ij} E_{ii}]`.
    variance_with_variance : ndarray
        :math:`E[E_{ii} E_{jj}]`.
    """

    entry_with_entry: Array
    entry_with_variance: Array
    variance_with_variance: Array


@dataclass(frozen=True)
class RowTerms:
    r"""Rows whose products are part of the noise, each with a weight.

    Attributes
    ----------
    rows : ndarray of shape (m, p)
        :math:`x_i`.
    weight : float
        :math:`c_i`, the same for all.
    centre : ndarray of shape (p, p) or None
        :math:`M`; None for 0.
    """

    rows: Array
    weight: float
    centre: Array | None = None


@dataclass(frozen=True)
class RowNoise:
    r"""Mean and second moments of :math:`y y^\top`.

    Attributes
    ----------
    covariance : ndarray of shape (p, p)
        :math:`\Sigma = E[y y^\top]`.
    crossed, matrices : tuple of (float, ndarray)
        Weights and matrices :math:`C^r`, and :math:`M^m`.
    rows : RowTerms or None
        Products of single rows.
    is_finite : bool
        Whether the second moments exist; if not, the risk falls more slowly than 1/n.
    """

    covariance: Array
    crossed: tuple[tuple[float, Array], ...] = ()
    matrices: tuple[tuple[float, Array], ...] = ()
    rows: RowTerms | None = None
    is_finite: bool = True

    def entry_moments(self) -> EntryMoments:
        """Return the second moments that the mean of a quadratic function of single entries needs."""
        p = len(self.covariance)
        entry, mixed, variances = np.zeros((3, p, p))
        for weight, C in self.crossed:
            v = np.diag(C)
            entry += weight * (np.outer(v, v) + C**2)
            mixed += weight * 2 * v[:, None] * C
            variances += weight * 2 * C**2
        for weight, M in self.matrices:
            v = np.diag(M)
            entry += weight * M**2
            mixed += weight * v[:, None] * M
            variances += weight * np.outer(v, v)
        if self.rows is not None:
            for total, some in zip((entry, mixed, variances), self._moments_of_rows(self.rows), strict=True):
                total += some
        return EntryMoments(entry, mixed, variances)

    @staticmethod
    def _moments_of_rows(terms: RowTerms) -> tuple[Array, Array, Array]:
        x, squares = terms.rows, terms.rows**2
        fourth, third = squares.T @ squares, (x * squares).T @ x
        if terms.centre is None:
            return terms.weight * fourth, terms.weight * third, terms.weight * fourth
        M, second, count = terms.centre, x.T @ x, len(x)
        v, sums = np.diag(M), np.diag(second)
        entry = fourth - 2 * second * M + count * M**2
        mixed = third - second * v[:, None] - sums[:, None] * M + count * v[:, None] * M
        variances = fourth - np.outer(sums, v) - np.outer(v, sums) + count * np.outer(v, v)
        return terms.weight * entry, terms.weight * mixed, terms.weight * variances
