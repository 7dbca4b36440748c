r"""Masked-target reconstruction at the PCA subspace: slopes, curvature, and what they do to the risk.

The masked-target loss scores a projector on the hidden coordinates only. Without its constant and its factor
:math:`m q` (:math:`m` the mask rate, :math:`q = 1 - m`) it is

.. math::

    \Phi_q(P; S) = -2 \langle S, \operatorname{off}(P) \rangle
    + \langle S, D_P - D_P^2 + q \operatorname{off}(P - D_P P - P D_P) \rangle, \qquad D_P =
    \operatorname{diag}(P)

(eq. masked-target-normalized-loss). Unlike attenuation it is not a spectral problem, and the PCA subspace
need not even be a stationary point of its population version.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory._checks import PRESERVATION_TOLERANCE, as_matrix, as_rows
from attenua.theory.cutoff import Array
from attenua.theory.population import Population
from attenua_paper.theory.linear_autoencoders import positive_mask_rate


def normalised_target_loss(projector: ArrayLike, covariance: ArrayLike, mask_rate: float) -> float:
    r"""Return :math:`\Phi_q(P; S)` (eq. masked-target-normalized-loss).

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import normalised_target_loss
    >>> projector, covariance = np.full((2, 2), 0.5), np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> round(normalised_target_loss(projector, covariance, mask_rate=0.5), 6)
    -1.0
    """
    S = as_matrix(covariance, "covariance")
    P = as_matrix(projector, "projector", len(S))
    q, diagonal = 1 - positive_mask_rate(mask_rate), np.diag(P)
    off = ~np.eye(len(S), dtype=bool)
    correction = np.diag(diagonal - diagonal**2)
    correction = correction + q * off * (P - diagonal[:, None] * P - P * diagonal)
    return float(np.sum(S * (correction - 2 * off * P)))


def normalised_target_gradient(projector: ArrayLike, covariance: ArrayLike, mask_rate: float) -> Array:
    r"""Return :math:`\Gamma_q(P; S)`, the gradient of :math:`\Phi_q` in `P` (eq. masked-target-gradient).

    .. math::

        [\Gamma_q]_{ab} = \{-2 + q (1 - P_{aa} - P_{bb})\} S_{ab} \quad (a \ne b), \qquad
        [\Gamma_q]_{aa} = (1 - 2 P_{aa}) S_{aa} - 2 q \sum_{c \ne a} S_{ac} P_{ac}.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import normalised_target_gradient
    >>> normalised_target_gradient(np.full((2, 2), 0.5), np.array([[2.0, 1.0], [1.0, 2.0]]), mask_rate=0.5)
    array([[-0.5, -2. ],
           [-2. , -0.5]])
    """
    S = as_matrix(covariance, "covariance")
    P = as_matrix(projector, "projector", len(S))
    q, diagonal = 1 - positive_mask_rate(mask_rate), np.diag(P)
    gradient = (-2 + q * (1 - diagonal[:, None] - diagonal)) * S
    hidden = np.sum(S * P, axis=1) - np.diag(S) * diagonal
    np.fill_diagonal(gradient, (1 - 2 * diagonal) * np.diag(S) - 2 * q * hidden)
    return gradient


class MaskedTarget:
    r"""Local theory of the masked-target loss at a population's PCA subspace (Prop. masked-target-slopes).

    Every array has one row per retained direction :math:`u_j` and one column per omitted :math:`u_k`; the
    pair (j, k) stands for the rotation :math:`u_j \to (u_j + s u_k) / \sqrt{1 + s^2}`.

    Parameters
    ----------
    population : Population
        Covariance and rank.
    mask_rate : float
        Probability ``0 < m < 1`` that a coordinate is hidden.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population
    >>> from attenua_paper.theory import MaskedTarget
    >>> population = Population(np.array([[5.0, 3.0], [3.0, 5.0]]), n_components=1)
    >>> local = MaskedTarget(population, mask_rate=0.5)
    >>> local.is_stationary()
    True
    >>> local.curvatures.round(6)
    array([[4.]])
    """

    def __init__(self, population: Population, mask_rate: float) -> None:
        self.population = population
        self.mask_rate = positive_mask_rate(mask_rate)
        self._at, self._unit = population.cutoff, population.unit
        self._gradient = normalised_target_gradient(self._at.projector, population.scaled, self.mask_rate)

    @property
    def gradient(self) -> Array:
        r""":math:`\Gamma_q(P_*; \Sigma)`, a p x p matrix."""
        return self._gradient * self._unit

    @property
    def slopes(self) -> Array:
        r"""Slopes :math:`2 u_k^\top \Gamma_q(P_*; \Sigma) u_j` (eq. masked-target-directional-slope)."""
        return 2 * self._at.cross_block(self._gradient).T * self._unit

    def is_stationary(self, *, tol: float = PRESERVATION_TOLERANCE) -> bool:
        r"""Return whether :math:`P_*^\perp \Gamma_q P_* = 0`, to `tol` times the norm of :math:`\Gamma_q`."""
        leak = np.linalg.norm(self._at.cross_block(self._gradient))
        return bool(leak <= tol * np.linalg.norm(self._gradient))

    @property
    def curvatures(self) -> Array:
        r"""Profile curvatures :math:`\kappa_{jk,q}`, second derivatives along each rotation at 0.

        With :math:`H = u_j u_k^\top + u_k u_j^\top`, the path is :math:`P_* + s H + s^2 (u_k u_k^\top - u_j
        u_j^\top) + O(s^3)`, so :math:`\kappa = 2 (u_k^\top \Gamma u_k - u_j^\top \Gamma u_j) + D^2 \Phi[H,
        H]` with :math:`D^2 \Phi[H, H] = -2 \sum_a S_{aa} H_{aa}^2 - 4 q \sum_{a \ne b} S_{ab} H_{aa} H_{ab}`.
        """
        U, U0, q = self._at.retained, self._at.omitted, 1 - self.mask_rate
        off = self.population.scaled - np.diag(self.population.path.variances)
        along = np.einsum("ak,ab,bk->k", U0, self._gradient, U0, optimize=True)[None, :]
        against = np.einsum("aj,ab,bj->j", U, self._gradient, U, optimize=True)[:, None]
        own = (U**2 * self.population.path.variances[:, None]).T @ U0**2
        # H_aa = 2 u_ja u_ka, and the sum over b of S_ab H_ab is u_ja (off u_k)_a + u_ka (off u_j)_a.
        crossed = (U**2).T @ (U0 * (off @ U0)) + (U * (off @ U)).T @ U0**2
        return (2 * (along - against) - 8 * own - 8 * q * crossed) * self._unit

    def observation_slopes(self, X: ArrayLike) -> Array:
        r"""Return :math:`\psi_{jk,q}(x)` for every row of `X`, shape (n, d, p - d).

        :math:`\psi_{jk,q}(x) = 2 u_k^\top \{\Gamma_q(P_*; x x^\top) - \Gamma_q(P_*; \Sigma)\} u_j`; the
        population mean is zero.
        """
        rows = as_rows(X, self.population.n_features) / np.sqrt(self._unit)
        values = [
            self._at.cross_block(
                normalised_target_gradient(self._at.projector, np.outer(x, x), self.mask_rate)
                - self._gradient
            ).T
            for x in rows
        ]
        return 2 * np.array(values) * self._unit

    @property
    def slope_variances(self) -> Array:
        r"""Variances of :math:`\psi_{jk,q}` under Gaussian sampling.

        :math:`\psi_{jk,q}(x) = x^\top M x - \operatorname{tr}(M \Sigma)` for a symmetric :math:`M`, of
        variance :math:`2 \operatorname{tr}(M \Sigma M \Sigma)`. One p x p product per pair.
        """
        sigma = self.population.scaled
        variances = np.empty((self._at.retained.shape[1], self._at.omitted.shape[1]))
        for j, u in enumerate(self._at.retained.T):
            for k, v in enumerate(self._at.omitted.T):
                weighted = self._slope_form(u, v) @ sigma
                variances[j, k] = 2 * np.sum(weighted * weighted.T)
        return variances * self._unit**2

    def _slope_form(self, u: Array, v: Array) -> Array:
        r"""Return the symmetric :math:`M` with :math:`2 v^\top \Gamma_q(P_*; S) u = \langle M, S \rangle`."""
        P, q, w = self._at.projector, 1 - self.mask_rate, u * v
        diagonal = np.diag(P)
        form = (-2 + q * (1 - diagonal[:, None] - diagonal)) * (np.outer(u, v) + np.outer(v, u))
        form -= 2 * q * P * (w[:, None] + w)
        np.fill_diagonal(form, 2 * w * (1 - 2 * diagonal))
        return form

    @property
    def limit_variances(self) -> np.ma.MaskedArray:
        r"""Limit variances :math:`\operatorname{var}(\psi) / \kappa^2` of :math:`\sqrt n\, \hat s_{jk}`.

        (eq. masked-target-profile-limit). A masked array: masked are the pairs the proposition does not
        cover, where the population slope is not zero or the curvature not positive.
        """
        curvatures = self.curvatures
        smallest = PRESERVATION_TOLERANCE * np.linalg.norm(self._gradient) * self._unit
        covered = (np.abs(self.slopes) <= smallest) & (curvatures > smallest)
        return np.ma.masked_array(self.slope_variances / np.where(covered, curvatures, 1) ** 2, ~covered)

    @property
    def limit_risks(self) -> np.ma.MaskedArray:
        r"""Factors :math:`(\lambda_j - \lambda_k) \operatorname{var}(\psi) / \kappa^2` of the limiting risk.

        The limit of n times the excess risk is the factor times a chi-squared variable with one degree of
        freedom, so the factor is its mean (eq. masked-target-profile-risk). Masked where `limit_variances`
        is.
        """
        return self._at.gaps.T * self._unit * self.limit_variances


@dataclass(frozen=True)
class TwoCoordinateSolution:
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
