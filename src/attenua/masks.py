"""Random input masks: the strength they are worth, and the loss that they average to.

A masked autoencoder hides every coordinate (or every group of coordinates) with probability ``m`` and
reconstructs the whole row from the rest. Averaged over the masks, its loss for an orthogonal projector
is that of PCA on an attenuated covariance (Proposition "Exact mask marginalization" of the paper).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.feature_groups import column_labels
from attenua._data.checks import real_numbers
from attenua._data.moments import within_groups
from attenua._estimate.options import FeatureGroups


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


def full_output_loss(
    components: ArrayLike, covariance: ArrayLike, mask_rate: float, *, feature_groups: FeatureGroups = None
) -> float:
    r"""Return the exact mask-averaged reconstruction loss of an orthogonal projector.

    With rows of mean zero and covariance :math:`S`, masks :math:`W` that keep a coordinate (or a whole
    group) with probability :math:`q = 1 - m`, and :math:`P = U U^\top`,

    .. math::

        \frac1n \sum_i E_W \|x_i - P W x_i\|^2
        = \operatorname{tr}(S) - q (2 - q) \operatorname{tr}\{P (S - \alpha \mathcal D(S))\},
        \qquad \alpha = \frac{m}{1 + m},

    where :math:`\mathcal D` keeps the diagonal, or the within-group blocks. So the best projector is
    the leading one of :math:`S - \alpha \mathcal D(S)`.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Orthonormal rows that span the subspace, as in ``components_``.
    covariance : array-like of shape (n_features, n_features)
        Covariance :math:`S` of the rows (for centred data, ``X.T @ X / n``).
    mask_rate : float
        Probability ``m`` that a coordinate or group is hidden, ``0 <= m < 1``.
    feature_groups : None, labels, or lists of column indices
        Columns that are hidden together; None hides every column by itself.

    Returns
    -------
    float
        The loss, averaged over all masks without sampling any.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.masks import full_output_loss
    >>> covariance = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> full_output_loss(np.array([[1.0, 0.0]]), covariance, mask_rate=0.0)
    2.0
    >>> full_output_loss(np.array([[1.0, 0.0]]), covariance, mask_rate=0.5)
    3.0
    """
    U = real_numbers(components, "components must be a matrix of real numbers")
    S = real_numbers(covariance, "covariance must be a square matrix of real numbers")
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"covariance must be a square matrix; got shape {S.shape}.")
    if U.ndim != 2 or U.shape[1] != S.shape[0]:
        raise ValueError(f"components must have {S.shape[0]} columns, like covariance; got shape {U.shape}.")
    if not np.allclose(U @ U.T, np.eye(len(U)), atol=1e-6):
        raise ValueError("components must have orthonormal rows.")
    m = _checked(mask_rate, "mask_rate", upper=1.0)
    if m.ndim:
        raise ValueError("mask_rate must be one number.")
    alpha, q = m / (1 + m), 1 - m
    labels = column_labels(feature_groups, len(S))
    attenuated = S - alpha * within_groups(S, labels)
    return float(np.trace(S) - q * (2 - q) * np.einsum("ij,jk,ik->", U, attenuated, U, optimize=True))


def _checked(value: ArrayLike, name: str, upper: float) -> NDArray[np.float64]:
    array = real_numbers(value, f"{name} must be a number or an array of numbers")
    bad = array[~((array >= 0) & (array < upper))]
    if bad.size:
        raise ValueError(f"{name} must be at least 0 and below {upper:g}; got {bad.flat[0]:g}.")
    return array


def _like_input(array: NDArray[np.float64]) -> Any:
    return float(array) if array.ndim == 0 else array
