"""Random input masks, and the strength of attenuation that each mask rate amounts to."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import real_numbers


def alpha_from_mask_rate(mask_rate: ArrayLike) -> Any:
    r"""Return the attenuation strength :math:`\alpha = m / (1 + m)` of a mask rate.

    Parameters
    ----------
    mask_rate : float or array-like
        Probability ``m`` that a coordinate is hidden, ``0 <= m < 1``.

    Returns
    -------
    float or ndarray
        Strengths in ``[0, 1/2)``, of the shape of `mask_rate`.

    Examples
    --------
    >>> from attenua import alpha_from_mask_rate
    >>> alpha_from_mask_rate(0.25)
    0.2
    """
    m = _checked(mask_rate, "mask_rate", upper=1.0)
    return _like_input(m / (1 + m))


def mask_rate_from_alpha(alpha: ArrayLike) -> Any:
    r"""Return the mask rate :math:`m = \alpha / (1 - \alpha)` of an attenuation strength.

    Parameters
    ----------
    alpha : float or array-like
        Strengths that masking can reach, ``0 <= alpha < 1/2``.

    Returns
    -------
    float or ndarray
        Mask rates in ``[0, 1)``, of the shape of `alpha`.

    Examples
    --------
    >>> from attenua import mask_rate_from_alpha
    >>> mask_rate_from_alpha(0.2)
    0.25
    """
    a = _checked(alpha, "alpha", upper=0.5)
    return _like_input(a / (1 - a))


def _checked(value: ArrayLike, name: str, upper: float) -> NDArray[np.float64]:
    array = real_numbers(value, f"{name} must be a number or an array of numbers")
    bad = array[~((array >= 0) & (array < upper))]
    if bad.size:
        raise ValueError(f"{name} must be at least 0 and below {upper:g}; got {bad.flat[0]:g}.")
    return array


def _like_input(array: NDArray[np.float64]) -> Any:
    return float(array) if array.ndim == 0 else array
