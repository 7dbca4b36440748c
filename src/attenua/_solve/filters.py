"""Chebyshev filters: Ritz vectors with what is unwanted in them damped by a polynomial of the matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import array_namespace, asarray_like

Array = NDArray[np.float64]

# A vector may be amplified by this much over another before the other is taken out of it again.
_LARGEST_GROWTH = 1e10


def filtered(
    multiply: Callable[[Any], Any],
    vectors: Any,
    values: Array,
    wanted: NDArray[np.intp],
    damped: tuple[float, float],
    degree: int,
) -> Any:
    r"""Return some Ritz vectors, improved by a Chebyshev polynomial :math:`C_q` of the matrix T.

    .. math::

        v \mapsto C_q\{(T - c)/h\} v / C_q\{(\theta - c)/h\},

    with the centre c and half width h of the damped interval: what lies inside is at most 1 in
    :math:`C_q`, which grows fast outside. Ritz vectors of larger value grow faster still, and are taken out
    of the others before rounding errors along them matter.

    Parameters
    ----------
    multiply : callable
        Multiplies a tall matrix by T.
    vectors : array of shape (size, count)
        Ritz vectors, in decreasing order of their values.
    values : ndarray of shape (count,)
        Ritz values.
    wanted : ndarray of int
        Positions of those to be improved.
    damped : (float, float)
        Interval of the unwanted eigenvalues.
    degree : int
        Degree q of the polynomial.
    """
    xp = array_namespace(vectors)
    centre, half = (damped[1] + damped[0]) / 2, (damped[1] - damped[0]) / 2
    growth = np.maximum((values - centre) / half, 1.0)
    rate = np.arccosh(growth[0]) - np.arccosh(growth[wanted]).min()
    stride = max(int(np.log(_LARGEST_GROWTH) / rate), 1) if rate > 1e-9 else degree
    # Of every wanted vector, those before it.
    larger = asarray_like(vectors, (np.arange(len(values))[:, None] < wanted).astype(float))
    first = asarray_like(vectors, 1 / (half * growth[wanted]))
    fading = asarray_like(vectors, growth[wanted] ** -2)
    current = xp.take(vectors, asarray_like(vectors, wanted), axis=1)
    previous = xp.zeros_like(current)
    for step in range(degree):
        if step and step % stride == 0:
            current, previous = (V - vectors @ (larger * (vectors.T @ V)) for V in (current, previous))
        product = multiply(current)
        product -= centre * current
        product *= first if step == 0 else 2 * first
        previous *= fading
        product -= previous
        previous, current = current, product
    return current


def needed_degree(reduction: float, value: float, damped: tuple[float, float]) -> float:
    """Return the degree at which a filter reduces what is unwanted in a vector of some value by a factor."""
    centre, half = (damped[1] + damped[0]) / 2, (damped[1] - damped[0]) / 2
    rate = np.arccosh(max((value - centre) / half, 1.0))
    return float(np.log(2 * reduction) / rate) if rate > 0 else np.inf
