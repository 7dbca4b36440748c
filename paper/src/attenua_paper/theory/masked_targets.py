r"""Masked-target reconstruction: the exact loss, its gradient, and what it does at the PCA subspace.

The masked-target loss hides every coordinate, or every group of them, with probability :math:`m = 1 - q` and
counts the error on what was hidden only (eq. masked-target-objective). Without its constant
:math:`m \operatorname{tr} S` and its factor :math:`m q` it is

.. math::

    \Phi_q(P; S) = -2 \langle S, \mathcal O(P) \rangle
    + \langle S, D_P - D_P^2 + q\, \mathcal O(P - D_P P - P D_P) \rangle, \qquad D_P = \mathcal D(P),

where :math:`\mathcal D` keeps the diagonal, or the within-group blocks, and :math:`\mathcal O` the rest (eqs.
masked-target-general-correction and masked-target-normalized-loss). Unlike attenuation it is not a spectral
problem, and the PCA subspace need not even be a stationary point of its population version.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.columns import column_labels
from attenua._data.checks import real_numbers
from attenua_paper.theory.checks import Array, as_mask_rate, as_matrix, as_rows
from attenua_paper.theory.population import PRESERVATION_TOLERANCE, Population


def masked_target_loss(
    components: ArrayLike, covariance: ArrayLike, mask_rate: float, *, feature_groups: Any = None
) -> float:
    r"""Return the exact mask-averaged error on hidden coordinates of an orthogonal projector.

    This is :math:`\frac1n \sum_i E_W \|(I - W)(x_i - P W x_i)\|^2 = m \operatorname{tr} S + m q\, \Phi_q(P;
    S)` (eq. masked-target-general-reduction).

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Orthonormal rows that span the subspace, as in ``components_``.
    covariance : array-like of shape (n_features, n_features)
        Covariance S of the rows.
    mask_rate : float
        Probability that a coordinate or group is hidden, ``0 < mask_rate < 1``.
    feature_groups : None, labels, or lists of column indices
        Columns that are hidden together; None hides every column by itself.

    Returns
    -------
    float
        The loss, averaged over all masks without sampling any.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import masked_target_loss
    >>> components, covariance = np.array([[0.6, 0.8]]), np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> round(masked_target_loss(components, covariance, mask_rate=0.5), 4)
    1.7504
    """
    U = real_numbers(components, "components must be a matrix of real numbers")
    S, m = as_matrix(covariance, "covariance"), as_mask_rate(mask_rate)
    if U.ndim != 2 or U.shape[1] != len(S):
        raise ValueError(f"components must have {len(S)} columns, like covariance; got shape {U.shape}.")
    loss = normalised_target_loss(U.T @ U, S, m, feature_groups=feature_groups)
    return float(m * np.trace(S) + m * (1 - m) * loss)


def normalised_target_loss(
    projector: ArrayLike, covariance: ArrayLike, mask_rate: float, *, feature_groups: Any = None
) -> float:
    r"""Return :math:`\Phi_q(P; S)` (eq. masked-target-normalized-loss).

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import normalised_target_loss
    >>> projector, covariance = np.full((2, 2), 0.5), np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> round(normalised_target_loss(projector, covariance, mask_rate=0.5), 6)
    -1.0
    """
    P, S, q, within = _checked(projector, covariance, mask_rate, feature_groups)
    D = P * within
    correction = (D - D @ D) + q * ~within * (P - D @ P - P @ D)
    return float(np.sum(S * (correction - 2 * ~within * P)))


def normalised_target_gradient(
    projector: ArrayLike, covariance: ArrayLike, mask_rate: float, *, feature_groups: Any = None
) -> Array:
    r"""Return :math:`\Gamma_q(P; S)`, the gradient of :math:`\Phi_q` in `P` (eq. masked-target-gradient).

    For masks of single coordinates

    .. math::

        [\Gamma_q]_{ab} = \{-2 + q (1 - P_{aa} - P_{bb})\} S_{ab} \quad (a \ne b), \qquad
        [\Gamma_q]_{aa} = (1 - 2 P_{aa}) S_{aa} - 2 q \sum_{c \ne a} S_{ac} P_{ac},

    and for groups :math:`D_S - \mathcal D(D_P D_S + D_S D_P) - (2 - q) O_S - q (D_P O_S + O_S D_P) - q\,
    \mathcal D(O_S P + P O_S)` with :math:`D_S = \mathcal D(S)` and :math:`O_S = \mathcal O(S)`.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import normalised_target_gradient
    >>> normalised_target_gradient(np.full((2, 2), 0.5), np.array([[2.0, 1.0], [1.0, 2.0]]), mask_rate=0.5)
    array([[-0.5, -2. ],
           [-2. , -0.5]])
    """
    P, S, q, within = _checked(projector, covariance, mask_rate, feature_groups)
    D, inner, outer = P * within, S * within, S * ~within

    def both_orders(A: Array, B: Array) -> Array:
        return A @ B + (A @ B).T

    blocks = inner - both_orders(D, inner) - q * within * both_orders(P, outer)
    return blocks - (2 - q) * outer - q * both_orders(D, outer)


def _checked(
    projector: ArrayLike, covariance: ArrayLike, mask_rate: float, feature_groups: Any
) -> tuple[Array, Array, float, NDArray[np.bool_]]:
    """Return P, S, q and which entries lie within a group."""
    S = as_matrix(covariance, "covariance")
    P = as_matrix(projector, "projector", len(S))
    labels = column_labels(feature_groups, len(S))
    labels = np.arange(len(S)) if labels is None else labels
    return P, S, 1 - as_mask_rate(mask_rate), labels[:, None] == labels


def one_direction_path(population: Population, j: int, k: int, s: float) -> Array:
    r"""Return :math:`P_{jk}(s)`, in which :math:`u_j + s u_k` replaces :math:`u_j` (eq. one-direction-path).

    Parameters
    ----------
    population : Population
        Covariance and rank.
    j, k : int
        Retained and omitted direction, each counted from 0 among its own.
    s : float
        Tangent of the angle of rotation.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population, one_direction_path
    >>> one_direction_path(Population(np.diag([2.0, 1.0]), 1), 0, 0, s=1.0)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    frame = population.cutoff.retained.copy()
    frame[:, j] = (frame[:, j] + s * population.cutoff.omitted[:, k]) / np.sqrt(1 + s**2)
    return frame @ frame.T


def one_direction_risk(population: Population, s: float) -> Array:
    r"""Return :math:`(\lambda_j - \lambda_k) s^2 / (1 + s^2)`, the exact cost of :math:`P_{jk}(s)`.

    (eq. one-direction-clean-risk). One row per retained direction j, one column per omitted k.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population, one_direction_risk
    >>> one_direction_risk(Population(np.diag([3.0, 2.0, 1.0]), 1), s=1.0)
    array([[0.5, 1. ]])
    """
    return population.cutoff.gaps.T * s**2 / (1 + s**2)


class MaskedTarget:
    r"""Local theory of the masked-target loss at a population's PCA subspace (Prop. masked-target-slopes).

    Arrays have one row per retained direction :math:`u_j` and one column per omitted :math:`u_k`; the pair
    (j, k) stands for the rotation :math:`P_{jk}(s)`. The joint quantities have these two axes twice: along
    the frames :math:`(u_j + \sum_k x_{jk} u_k)_j`, made orthonormal, coordinates :math:`x` rotate all at
    once. Masks hide single coordinates, and rows are Gaussian.

    Parameters
    ----------
    population : Population
        Covariance and rank.
    mask_rate : float
        Probability ``0 < m < 1`` that a coordinate is hidden.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import MaskedTarget, Population
    >>> population = Population(np.array([[5.0, 3.0], [3.0, 5.0]]), n_components=1)
    >>> local = MaskedTarget(population, mask_rate=0.5)
    >>> local.is_stationary
    True
    >>> local.curvatures.round(6)
    array([[4.]])
    """

    def __init__(self, population: Population, mask_rate: float) -> None:
        self.population, self.mask_rate = population, as_mask_rate(mask_rate)
        self.gradient = normalised_target_gradient(population.projector, population.covariance, mask_rate)
        d, p = population.n_components, population.n_features
        self._shape = (d, p - d)

    @property
    def slopes(self) -> Array:
        r"""Slopes :math:`2 u_k^\top \Gamma_q(P_*; \Sigma) u_j` (eq. masked-target-directional-slope)."""
        return 2 * self.population.cutoff.cross_block(self.gradient).T

    @property
    def _negligible(self) -> float:
        return PRESERVATION_TOLERANCE * float(np.linalg.norm(self.gradient))

    @property
    def is_stationary(self) -> bool:
        r"""Whether :math:`P_*^\perp \Gamma_q P_* = 0` (eq. masked-target-stationarity), to 1e-8."""
        return bool(np.linalg.norm(self.slopes) <= self._negligible)

    @cached_property
    def hessian(self) -> Array:
        r"""Second derivatives of :math:`\Phi_q(P; \Sigma)` in all rotations, of shape (d, p - d, d, p - d).

        With :math:`H_{jk} = u_j u_k^\top + u_k u_j^\top` the projectors are :math:`P_* + \sum x_{jk} H_{jk} +
        \sum_{jkl} x_{jk} x_{jl} u_k u_l^\top - \sum_{ijk} x_{ik} x_{jk} u_i u_j^\top + O(x^3)`, so that the
        entry at (j, k), (i, l) is

        .. math::

            2 \delta_{ij} u_k^\top \Gamma u_l - 2 \delta_{kl} u_j^\top \Gamma u_i - 2 \sum_a S_{aa}
            (H_{jk})_{aa} (H_{il})_{aa} - 2 q \sum_{a \ne b} S_{ab} \{(H_{jk})_{aa} (H_{il})_{ab} +
            (H_{il})_{aa} (H_{jk})_{ab}\} .
        """
        at, q, S = self.population.cutoff, 1 - self.mask_rate, self.population.covariance
        (d, omitted), variances = self._shape, self.population.variances
        H = self._directions
        diagonals = np.diagonal(H, axis1=1, axis2=2)
        crossed = 2 * q * diagonals @ np.sum((S - np.diag(variances)) * H, axis=2).T
        bent = -2 * (diagonals * variances) @ diagonals.T - crossed - crossed.T
        inside, outside = (U.T @ self.gradient @ U for U in (at.retained, at.omitted))
        turned = np.einsum("ij,kl->jkil", np.eye(d), outside)
        turned -= np.einsum("ij,kl->jkil", inside, np.eye(omitted))
        return 2 * turned + bent.reshape(self._shape * 2)

    @property
    def _directions(self) -> Array:
        """The tangent directions, one matrix for each pair."""
        at = self.population.cutoff
        outer = np.einsum("aj,bk->jkab", at.retained, at.omitted)
        outer = outer + np.swapaxes(outer, 2, 3)
        return outer.reshape(-1, *self.gradient.shape)

    @property
    def curvatures(self) -> Array:
        r"""Profile curvatures :math:`\kappa_{jk,q}` (eq. masked-target-profile-curvature)."""
        return self._of_pairs(self.hessian)

    def _of_pairs(self, joint: Array) -> Array:
        """Return the entries of a joint quantity that belong to one pair alone."""
        n = np.prod(self._shape)
        return np.diag(joint.reshape(n, n)).reshape(self._shape)

    @cached_property
    def _slope_forms(self) -> Array:
        r"""Symmetric M with :math:`2 u_k^\top \Gamma_q(P_*; S) u_j = \langle M, S \rangle`, for each pair."""
        P, q, H = self.population.projector, 1 - self.mask_rate, self._directions
        diagonal, w = np.diag(P), np.diagonal(H, axis1=1, axis2=2)
        forms = (-2 + q * (1 - diagonal[:, None] - diagonal)) * H - q * P * (w[:, :, None] + w[:, None, :])
        a = np.arange(len(P))
        forms[:, a, a] = w * (1 - 2 * diagonal)
        return forms

    def observation_slopes(self, X: ArrayLike) -> Array:
        r"""Return :math:`\psi_{jk,q}(x)` for every row, shape (n, d, p - d).

        :math:`\psi_{jk,q}(x) = 2 u_k^\top \{\Gamma_q(P_*; x x^\top) - \Gamma_q(P_*; \Sigma)\} u_j`; the
        population mean is zero (eq. masked-target-profile-score).
        """
        rows = as_rows(X, self.population.n_features)
        values = np.einsum("ra,mab,rb->rm", rows, self._slope_forms, rows, optimize=True)
        return values.reshape(-1, *self._shape) - self.slopes

    @cached_property
    def slope_covariance(self) -> Array:
        r"""Covariances of :math:`\psi` of two pairs, :math:`2 \operatorname{tr}(M \Sigma M' \Sigma)`."""
        weighted = self._slope_forms @ self.population.covariance
        n = len(weighted)
        flipped = np.swapaxes(weighted, 1, 2).reshape(n, -1)
        return (2 * weighted.reshape(n, -1) @ flipped.T).reshape(self._shape * 2)

    @property
    def slope_variances(self) -> Array:
        r"""Variances of :math:`\psi_{jk,q}`."""
        return self._of_pairs(self.slope_covariance)

    @property
    def limit_variances(self) -> np.ma.MaskedArray:
        r"""Limit variances :math:`\operatorname{var}(\psi) / \kappa^2` of :math:`\sqrt n\, \hat s_{jk}`.

        (eq. masked-target-profile-limit). Masked are the pairs that the proposition does not cover: the
        population slope is not zero, or the curvature not positive.
        """
        covered = (np.abs(self.slopes) <= self._negligible) & (self.curvatures > self._negligible)
        return np.ma.masked_array(self.slope_variances / np.where(covered, self.curvatures, 1) ** 2, ~covered)

    @property
    def limit_risks(self) -> np.ma.MaskedArray:
        r"""Factors :math:`(\lambda_j - \lambda_k) \operatorname{var}(\psi) / \kappa^2` of the limiting risk.

        The limit of n times the excess risk is the factor times a chi-squared variable with one degree of
        freedom, so the factor is its mean (eq. masked-target-profile-risk). Masked where `limit_variances`
        is.
        """
        return self.population.cutoff.gaps.T * self.limit_variances

    @property
    def joint_limit_covariance(self) -> Array:
        r"""Limit covariance of :math:`\sqrt n\, \hat x` for the joint minimiser, (d, p - d, d, p - d).

        :math:`K^{-1} C K^{-1}` with the `hessian` K and the `slope_covariance` C: the limits of the
        proposition, where the Hessian of the full tangent space replaces the scalar curvatures. The limit of
        n times the excess risk then has the mean :math:`\sum_{jk} (\lambda_j - \lambda_k)` times the variance
        of (j, k).
        """
        n = np.prod(self._shape)
        hessian = self.hessian.reshape(n, n)
        if not self.is_stationary or np.linalg.eigvalsh(hessian)[0] <= self._negligible:
            raise ValueError("The PCA subspace is not a stationary point with a positive definite Hessian.")
        inverse = np.linalg.inv(hessian)
        return (inverse @ self.slope_covariance.reshape(n, n) @ inverse).reshape(self._shape * 2)


class TwoCoordinateSolution(NamedTuple):
    r"""Masked-target reconstruction of two exchangeable coordinates at rank one, in closed form.

    Attributes
    ----------
    curvature : float
        :math:`\kappa_{12,q} = 2 (\lambda_1 - 3 \lambda_2)` (eq. masked-target-p2-curvature), for every mask
        rate.
    off_diagonal : float
        Entry :math:`P_{12}` of the population solution: :math:`(\lambda_1 - \lambda_2)/(\lambda_1 +
        \lambda_2)`, at most 1/2.
    is_pca : bool
        Whether PCA's direction is the solution: :math:`\lambda_1 / \lambda_2 \ge 3`.
    """

    curvature: float
    off_diagonal: float
    is_pca: bool


def two_coordinate_solution(leading: float, trailing: float) -> TwoCoordinateSolution:
    r"""Solve :math:`\Sigma = \lambda_1 u u^\top + \lambda_2 v v^\top`, two exchangeable coordinates.

    Here :math:`u = (1, 1)^\top / \sqrt 2` and :math:`v = (1, -1)^\top / \sqrt 2`, at rank one.

    Parameters
    ----------
    leading, trailing : float
        :math:`\lambda_1 > \lambda_2 > 0`.

    Examples
    --------
    >>> from attenua_paper.theory import two_coordinate_solution
    >>> two_coordinate_solution(4, 1).is_pca, two_coordinate_solution(2, 1).is_pca
    (True, False)
    """
    if not (np.isfinite(leading) and leading > trailing > 0):
        raise ValueError(f"leading must exceed trailing > 0; got {leading!r} and {trailing!r}.")
    return TwoCoordinateSolution(
        curvature=2 * (leading - 3 * trailing),
        off_diagonal=min((leading - trailing) / (leading + trailing), 0.5),
        is_pca=leading >= 3 * trailing,
    )
