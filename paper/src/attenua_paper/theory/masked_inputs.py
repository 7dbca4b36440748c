"""The loss that random input masks average to (Proposition "Exact mask marginalization").

A masked autoencoder hides every coordinate (or every group of coordinates) with probability ``m`` and
reconstructs the whole row from the rest. Averaged over the masks, its loss for an orthogonal projector
is that of PCA on an attenuated covariance.
"""

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.columns import column_labels
from attenua._data.checks import real_numbers
from attenua._data.moments import within_groups
from attenua._estimate.parameter_types import FeatureGroups
from attenua.masks import alpha_from_mask_rate
from attenua_paper.theory.checks import as_matrix


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
    >>> from attenua_paper.theory import full_output_loss
    >>> covariance = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> full_output_loss(np.array([[1.0, 0.0]]), covariance, mask_rate=0.0)
    2.0
    >>> full_output_loss(np.array([[1.0, 0.0]]), covariance, mask_rate=0.5)
    3.0
    """
    U = real_numbers(components, "components must be a matrix of real numbers")
    S = as_matrix(covariance, "covariance")
    if U.ndim != 2 or U.shape[1] != S.shape[0]:
        raise ValueError(f"components must have {S.shape[0]} columns, like covariance; got shape {U.shape}.")
    if not np.allclose(U @ U.T, np.eye(len(U)), atol=1e-6):
        raise ValueError("components must have orthonormal rows.")
    if np.ndim(mask_rate):
        raise ValueError("mask_rate must be one number.")
    alpha, q = alpha_from_mask_rate(mask_rate), 1 - mask_rate
    attenuated = S - alpha * within_groups(S, column_labels(feature_groups, len(S)))
    return float(np.trace(S) - q * (2 - q) * np.einsum("ij,jk,ik->", U, attenuated, U, optimize=True))
