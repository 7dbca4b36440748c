"""A growing orthonormal basis, and what S and D are within it.

Tall blocks of vectors stay where the moments are, on the host or on a device. Matrices as small as the basis
is wide are on the host.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.family import MatrixFamily
from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve.decompose import small_eigh

Array = NDArray[np.float64]

# New columns are left out where the square of what they add to the basis and to each other is below this.
_DEPENDENT = 1e-12


class Basis:
    """An orthonormal basis Q with its image and with Q'SQ and Q'DQ.

    Parameters
    ----------
    family : MatrixFamily
        The matrices.
    columns : array of shape (size, n_columns)
        What to begin with; need not be orthonormal.

    Attributes
    ----------
    Q : array of shape (size, width)
        Orthonormal columns.
    S, D : ndarray of shape (width, width)
        Q'SQ and Q'DQ, on the host.
    """

    def __init__(self, family: MatrixFamily, columns: Any):
        self._family = family
        self.Q = columns[:, :0]
        self._image: Any = None
        self.S, self.D = np.empty((0, 0)), np.empty((0, 0))
        self.extend(columns)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.Q.shape[1]

    def extend(self, columns: Any, dependent: float = _DEPENDENT) -> tuple[Any, Any]:
        """Append columns, made orthonormal; return what was appended, and its product with S."""
        xp, moments = array_namespace(self.Q), self._family.moments
        for tolerance in (dependent, _DEPENDENT):  # twice is enough to be orthogonal to rounding
            if self.width:
                columns = columns - self.Q @ (self.Q.T @ columns)
            columns = orthonormal(columns, tolerance)
        image = moments.image(columns)
        self.Q = xp.concat([self.Q, columns], axis=1)
        self._image = image if self._image is None else xp.concat([self._image, image], axis=1)
        self.S = _bordered(self.S, to_host(moments.inner(self.Q, self._image, image)), self.width)
        # Where no member has a strength, D is never asked for, and may be dear.
        border = to_host(self.Q.T @ self._family.part(columns)) if self._family.strengths.any() else 0.0
        self.D = _bordered(self.D, border, self.width)
        return columns, image

    def vectors(self, coordinates: Array) -> Any:
        """Return combinations of the columns."""
        return self.Q @ asarray_like(self.Q, coordinates)

    def times_S(self, coordinates: Array) -> Any:
        """Return S times combinations of the columns."""
        return self._family.moments.lift(self._image @ asarray_like(self.Q, coordinates))

    def shrink(self, coordinates: Array) -> None:
        """Keep orthonormal combinations of the columns only."""
        turn = asarray_like(self.Q, coordinates)
        self.Q, self._image = self.Q @ turn, self._image @ turn
        self.S, self.D = (coordinates.T @ matrix @ coordinates for matrix in (self.S, self.D))


def _bordered(old: Array, border: Array | float, width: int) -> Array:
    """Return a symmetric matrix with the last columns (and rows) given and the rest as before."""
    known = len(old)
    new = np.empty((width, width))
    new[:known, :known] = old
    new[:, known:] = border
    new[known:, :] = np.transpose(border)
    return new


def orthonormal(columns: Any, dependent: float = _DEPENDENT) -> Any:
    """Return an orthonormal basis of columns, nearly; those that depend on others are left out.

    By the eigenvectors of their inner products, several times as fast as a QR factorisation of tall columns.
    """
    products = to_host(columns.T @ columns)
    lengths = np.sqrt(np.diag(products))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    values, vectors = small_eigh(products * scale * scale[:, None])
    kept = values > max(dependent * values[0], 0.0) if len(values) else values > 0
    turn = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    return columns @ asarray_like(columns, turn)
