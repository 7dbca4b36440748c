r"""Linear autoencoders with masked inputs: the best maps and what they cost (Theorem ordinary-linear-ae).

Masks keep a coordinate with probability :math:`q = 1 - m`. With :math:`V = q S + (1 - q)
\operatorname{diag}(S)` (eq. ae-metric) the full-output loss of a linear map `A` is (eq. ordinary-ae-square)

.. math::

    \mathcal L_q(A) = \operatorname{tr} S - 2 q \operatorname{tr}(A S) + q \operatorname{tr}(A V A^\top) .
"""

import numpy as np
from numpy.typing import ArrayLike

from attenua._data.checks import real_numbers
from attenua_paper.theory.checks import Array, as_mask_rate, as_matrix
from attenua_paper.theory.population import Population


def masked_map_loss(A: ArrayLike, covariance: ArrayLike, mask_rate: float) -> float:
    r"""Return the mask-averaged loss :math:`\frac1n \sum_i E_W \|x_i - A W x_i\|^2` (eq. ordinary-ae-loss).

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import masked_map_loss
    >>> masked_map_loss(np.full((4, 4), 0.25), np.eye(4) + np.ones((4, 4)), mask_rate=0.5)
    4.75
    """
    A, S = _map_and_covariance(A, covariance)
    m = as_mask_rate(mask_rate)
    return float(np.trace(S) + (1 - m) * np.sum(A * (A @ _metric(S, m) - 2 * S)))


def map_risk(A: ArrayLike, covariance: ArrayLike) -> float:
    r"""Return the clean reconstruction risk :math:`\operatorname{tr}\{(I-A)^\top (I-A) S\}`.

    This is eq. clean-map-risk; for an orthogonal projector it is the reconstruction risk of PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import map_risk
    >>> map_risk(np.diag([1.0, 0.0]), np.diag([3.0, 2.0]))
    2.0
    """
    A, S = _map_and_covariance(A, covariance)
    error = np.eye(len(A)) - A
    return float(np.sum((error @ S) * error))


def asymmetric_map(covariance: ArrayLike, n_components: int, mask_rate: float) -> tuple[Array, Array]:
    r"""Return decoder and encoder, p x d, of the best map of rank at most `d`.

    The map is :math:`P_M S V^{-1}` with :math:`M = S V^{-1} S`, whose leading eigenvectors are the decoder
    (eqs. untied-ae-range and untied-ae-projector-form). On columns without variance it is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import asymmetric_map
    >>> decoder, encoder = asymmetric_map(np.eye(4) + np.ones((4, 4)), 1, mask_rate=0.5)
    >>> (decoder @ encoder.T).round(3)[0]
    array([0.357, 0.357, 0.357, 0.357])
    """
    S, m = as_matrix(covariance, "covariance"), as_mask_rate(mask_rate)
    scale = np.sqrt(np.diag(S))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    # V = D^{1/2} (q C + m I) D^{1/2} with the correlations C: well conditioned whatever the scales.
    values, vectors = np.linalg.eigh(inverse[:, None] * S * inverse)
    values = np.maximum(values, 0.0)
    metric = (1 - m) * values + m
    outward, inward = scale[:, None] * vectors, inverse[:, None] * vectors
    # S V^{-1} S = G G'.
    decoder = np.linalg.svd(outward * (values / np.sqrt(metric)))[0][:, :n_components]
    return decoder, (inward * (values / metric)) @ (outward.T @ decoder)


def tied_gains(U: Array, covariance: Array, mask_rate: float) -> Array:
    r"""Return the best multipliers :math:`u_r^\top S u_r / u_r^\top V u_r` (eq. tied-ae-gains).

    Parameters
    ----------
    U : ndarray of shape (p, d)
        Orthonormal columns.
    covariance : ndarray of shape (p, p)
        S.
    mask_rate : float
        Probability that a coordinate is hidden.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import tied_gains
    >>> tied_gains(np.full((4, 1), 0.5), np.eye(4) + np.ones((4, 4)), mask_rate=0.5).round(3)
    array([1.429])
    """
    return np.sum(U * (covariance @ U), axis=0) / np.sum(U * (_metric(covariance, mask_rate) @ U), axis=0)


def tied_objective(U: Array, covariance: Array, mask_rate: float) -> float:
    r"""Return :math:`\sum_r (u_r^\top S u_r)^2 / u_r^\top V u_r`, which tied directions maximise.

    (eq. tied-ae-directions). The loss of the best tied map on these directions is :math:`\operatorname{tr} S`
    less :math:`q` times this.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import tied_objective
    >>> round(tied_objective(np.full((4, 1), 0.5), np.eye(4) + np.ones((4, 4)), mask_rate=0.5), 3)
    7.143
    """
    return float(tied_gains(U, covariance, mask_rate) @ np.sum(U * (covariance @ U), axis=0))


def balanced_gains(population: Population, mask_rate: float) -> Array:
    r"""Return the gains :math:`\lambda_j / \{q \lambda_j + (1 - q) \tau\}` of the asymmetric map.

    With marginals balanced at :math:`\tau` the map is diagonal in the leading eigenvectors (eq.
    balanced-ae-population-map): it has PCA's range, but is a projector only where :math:`\lambda_j = \tau`.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population, balanced_gains
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> balanced_gains(population, mask_rate=0.5).round(3)
    array([1.429])
    """
    population.require_balance("The autoencoder's closed form")
    m, retained = as_mask_rate(mask_rate), population.cutoff.retained_values
    return retained / ((1 - m) * retained + m * population.variances.mean())


def balanced_map_excess_risk(population: Population, mask_rate: float) -> float:
    r"""Return :math:`\sum_{j \le d} \lambda_j \{(1-q)(\tau - \lambda_j) / (q \lambda_j + (1-q) \tau)\}^2`.

    The clean excess risk of the asymmetric population map (eq. balanced-ae-population-bias).

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population, balanced_map_excess_risk
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> round(balanced_map_excess_risk(population, mask_rate=0.5), 3)
    0.918
    """
    shortfall = 1 - balanced_gains(population, mask_rate)
    return float(population.cutoff.retained_values @ shortfall**2)


def _metric(S: Array, m: float) -> Array:
    return (1 - m) * S + m * np.diag(np.diag(S))


def _map_and_covariance(A: ArrayLike, covariance: ArrayLike) -> tuple[Array, Array]:
    S, A = as_matrix(covariance, "covariance"), real_numbers(A, "A must be a matrix of real numbers")
    if A.shape != S.shape:
        raise ValueError(f"A must have the shape of covariance, {S.shape}; got {A.shape}.")
    return A, S
