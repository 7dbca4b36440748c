r"""Linear autoencoders with masked inputs: population maps and their cost (Theorem ordinary-linear-ae).

With masks that keep a coordinate with probability :math:`q = 1 - m` and :math:`V_q = q \Sigma + (1 - q) D`,
the full-output loss of a linear map `A` is (eq. ordinary-ae-square)

.. math:: \mathcal L_q(A) = \operatorname{tr} \Sigma - 2 q \operatorname{tr}(A \Sigma) + q \operatorname{tr}(A
V_q A^\top).
"""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua._data.checks import real_numbers
from attenua.theory.cutoff import Array, cut
from attenua.theory.population import Population


def masked_map_loss(population: Population, A: ArrayLike, mask_rate: float) -> float:
    r"""Return :math:`E\, E_W \|x - A W x\|^2` of a linear map under the population.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import masked_map_loss
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> round(masked_map_loss(population, population.projector, mask_rate=0.5), 3)
    4.75
    """
    A, q = _as_map(population, A), 1 - positive_mask_rate(mask_rate)
    sigma, V = population.scaled, _metric(population, q)
    loss = np.trace(sigma) - 2 * q * np.sum(A.T * sigma) + q * np.sum((A @ V) * A)
    return float(loss) * population.unit


def map_excess_risk(population: Population, A: ArrayLike) -> float:
    r"""Return :math:`\mathcal R_{map}(A) - \mathcal R(P_*)`, clean risk above PCA's (eq. clean-map-risk).

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import map_excess_risk
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> round(map_excess_risk(population, 0.5 * population.projector), 6)
    1.25
    """
    residual = np.eye(population.n_features) - _as_map(population, A)
    risk = np.sum((residual @ population.scaled) * residual)
    return float(risk - population.cutoff.omitted_values.sum()) * population.unit


def asymmetric_map(population: Population, mask_rate: float) -> Array:
    r"""Return the best map of rank `d`: :math:`P_M \Sigma V_q^{-1}` with :math:`M = \Sigma V_q^{-1} \Sigma`.

    (eqs. untied-ae-range and untied-ae-projector-form). All variances must be positive.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import asymmetric_map
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> A = asymmetric_map(population, mask_rate=0.5)
    >>> int(np.linalg.matrix_rank(A))
    1
    """
    regression = _regression(population, mask_rate)
    leading = cut(regression @ population.scaled, population.n_components)
    if leading.is_closed:
        raise ValueError(
            f"The asymmetric autoencoder's map is not unique: its singular values {population.n_components} "
            f"and {population.n_components + 1} tie."
        )
    return leading.projector @ regression


def tied_gains(population: Population, U: ArrayLike, mask_rate: float) -> Array:
    r"""Return the best multipliers :math:`u_r^\top \Sigma u_r / u_r^\top V_q u_r` (eq. tied-ae-gains).

    Parameters
    ----------
    population : Population
        The population.
    U : array-like of shape (p, d)
        Orthonormal columns.
    mask_rate : float
        Probability that a coordinate is hidden.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import tied_gains
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> tied_gains(population, np.full((4, 1), 0.5), mask_rate=0.5).round(3)
    array([1.429])
    """
    explained, metric = _quotients(population, U, mask_rate)
    return explained / metric


def tied_objective(population: Population, U: ArrayLike, mask_rate: float) -> float:
    r"""Return :math:`\sum_r (u_r^\top \Sigma u_r)^2 / u_r^\top V_q u_r`, which tied directions maximise.

    (eq. tied-ae-directions). The loss of the best tied map on these directions is
    :math:`\operatorname{tr} \Sigma` less :math:`q` times this.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import tied_objective
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> round(tied_objective(population, np.full((4, 1), 0.5), mask_rate=0.5), 3)
    7.143
    """
    explained, metric = _quotients(population, U, mask_rate)
    return float(np.sum(explained**2 / metric)) * population.unit


def balanced_gains(population: Population, mask_rate: float) -> Array:
    r"""Return the gains :math:`\lambda_j / \{q \lambda_j + (1 - q) \tau\}` of the asymmetric map.

    With marginals balanced at :math:`\tau` the map is diagonal in the leading eigenvectors (eq.
    balanced-ae-population-map): it has PCA's range, but is a projector only where :math:`\lambda_j = \tau`.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import balanced_gains
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> balanced_gains(population, mask_rate=0.5).round(3)
    array([1.429])
    """
    population.require_balance("The autoencoder's closed form")
    q, tau = 1 - positive_mask_rate(mask_rate), population.path.variances.mean()
    retained = population.cutoff.retained_values
    return retained / (q * retained + (1 - q) * tau)


def balanced_map_excess_risk(population: Population, mask_rate: float) -> float:
    r"""Return :math:`\sum_{j \le d} \lambda_j \{(1-q)(\tau - \lambda_j) / (q \lambda_j + (1-q) \tau)\}^2`.

    The clean excess risk of the asymmetric population map (eq. balanced-ae-population-bias).

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import balanced_map_excess_risk
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> round(balanced_map_excess_risk(population, mask_rate=0.5), 3)
    0.918
    """
    shortfall = 1 - balanced_gains(population, mask_rate)
    return float(population.cutoff.retained_values @ shortfall**2) * population.unit


def _as_map(population: Population, A: ArrayLike) -> Array:
    p = population.n_features
    A = real_numbers(A, f"A must be a finite {p} x {p} matrix of real numbers")
    if A.shape != (p, p) or not np.isfinite(A).all():
        raise ValueError(f"A must be a finite {p} x {p} matrix; got shape {A.shape}.")
    return A


def _metric(population: Population, q: float) -> Array:
    return q * population.scaled + (1 - q) * np.diag(population.path.variances)


def _regression(population: Population, mask_rate: float) -> Array:
    r"""Return :math:`\Sigma V_q^{-1}`, the best map of any rank."""
    q = 1 - positive_mask_rate(mask_rate)
    if population.path.variances.min() <= 0:
        raise ValueError(
            "covariance has a coordinate of variance 0; the autoencoder needs positive variances."
        )
    return np.linalg.solve(_metric(population, q), population.scaled).T.astype(float, copy=False)


def _quotients(population: Population, U: ArrayLike, mask_rate: float) -> tuple[Array, Array]:
    U, q = real_numbers(U, "U must hold columns of real numbers"), 1 - positive_mask_rate(mask_rate)
    if (
        U.ndim != 2
        or len(U) != population.n_features
        or not np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8)
    ):
        raise ValueError(f"U must hold orthonormal columns of length {population.n_features}.")
    metric = _metric(population, q)
    return (
        np.einsum("ar,ab,br->r", U, population.scaled, U, optimize=True),
        np.einsum("ar,ab,br->r", U, metric, U, optimize=True),
    )


def positive_mask_rate(mask_rate: Any) -> float:
    """Return a mask rate m with 0 < m < 1, the range of the masked objectives."""
    if not isinstance(mask_rate, Real) or isinstance(mask_rate, bool) or not 0 < float(mask_rate) < 1:
        raise ValueError(f"mask_rate must be a number strictly between 0 and 1; got {mask_rate!r}.")
    return float(mask_rate)
