"""Retained-omitted pairs: moments of their couplings, and their sums under balanced marginals."""

from dataclasses import dataclass

import numpy as np

from attenua.theory.cutoff import Array, Cutoff


@dataclass(frozen=True)
class PairMoments:
    r"""Gaussian moments of the couplings of one observation (eq. single-observation-moments).

    For a retained eigenvector :math:`u_j` and an omitted :math:`u_k` of :math:`\Sigma`,
    :math:`a_{jk} = u_k^\top (x x^\top - \Sigma) u_j` and
    :math:`b_{jk} = u_k^\top \operatorname{diag}(x x^\top - \Sigma) u_j`. Every array has one row per retained
    and one column per omitted direction. Inside a repeated eigenvalue single entries depend on the basis
    that the solver picked; the sums over the pairs do not.

    Attributes
    ----------
    s : ndarray of shape (d, p - d)
        :math:`s_{jk} = \|u_j \circ u_k\|^2`, how strongly two directions load on the same coordinates.
    h : ndarray of shape (d, p - d)
        :math:`h_{jk} = 2 w^\top (\Sigma \circ \Sigma) w` with :math:`w = u_j \circ u_k`.
    gaps : ndarray of shape (d, p - d)
        :math:`\lambda_j - \lambda_k`.
    var_a : ndarray of shape (d, p - d)
        Variances :math:`\lambda_j \lambda_k` of the coupling.
    """

    s: Array
    h: Array
    gaps: Array
    var_a: Array

    @property
    def cov_ab(self) -> Array:
        r"""Covariances :math:`2 \lambda_j \lambda_k s_{jk}` of the coupling with its diagonal part."""
        return 2 * self.var_a * self.s

    @property
    def var_b(self) -> Array:
        r"""Variances :math:`h_{jk}` of the diagonal part."""
        return self.h


@dataclass(frozen=True)
class BalancedConstants:
    r"""What decides the risk under balanced marginals (eqs. ABconstants and balanced-risk-constant).

    Attributes
    ----------
    A, B : float
        :math:`A_\Sigma = \sum_{jk} \lambda_j \lambda_k s_{jk} / (\lambda_j - \lambda_k)` and
        :math:`B_\Sigma = \sum_{jk} h_{jk} / (\lambda_j - \lambda_k)`.
    G0 : float
        :math:`G(0) = \sum_{jk} \lambda_j \lambda_k / (\lambda_j - \lambda_k)`, ordinary PCA's coefficient.

    Notes
    -----
    :math:`G(\alpha) = G(0) - 2 \alpha C_\Sigma + \alpha^2 V_\Sigma` with `C` and `V` below.
    """

    A: float
    B: float
    G0: float

    @property
    def C(self) -> float:
        r""":math:`C_\Sigma = 2 A_\Sigma`: what a little attenuation saves."""
        return 2 * self.A

    @property
    def V(self) -> float:
        r""":math:`V_\Sigma = B_\Sigma`: what too much attenuation costs."""
        return self.B


def pair_moments(covariance: Array, target: Cutoff) -> PairMoments:
    """Return the moments of every retained-omitted pair."""
    squared = covariance * covariance
    h = np.empty((target.retained.shape[1], target.omitted.shape[1]))
    for j, u in enumerate(target.retained.T):
        w = u[:, None] * target.omitted
        h[j] = 2 * np.einsum("lk,lk->k", w, squared @ w)
    return PairMoments(
        s=(target.retained**2).T @ target.omitted**2,
        h=h,
        gaps=target.gaps.T,
        var_a=np.outer(target.retained_values, target.omitted_values),
    )


def balanced_constants(pairs: PairMoments, unit: float) -> BalancedConstants:
    """Add the pairs up, each over its gap; `unit` is that of the covariance they belong to."""
    return BalancedConstants(
        A=float(np.sum(pairs.var_a * pairs.s / pairs.gaps)) * unit,
        B=float(np.sum(pairs.h / pairs.gaps)) * unit,
        G0=float(np.sum(pairs.var_a / pairs.gaps)) * unit,
    )


def flat_spike_ratio(n_features: int, noise: float, spike: float) -> float:
    r"""Return :math:`(\sigma^2 + \theta) / (\sigma^2 + 2 \theta / p)` of a flat spike (eq. flat-spike-terms).

    This is :math:`C_\Sigma / V_\Sigma` for :math:`\Sigma = \sigma^2 I + \theta u u^\top` with :math:`u =
    p^{-1/2} (1, \dots, 1)` at rank one, and is at least 1: complete attenuation is the best strength of the
    direct path.

    Parameters
    ----------
    n_features : int
        Dimension :math:`p \ge 2`.
    noise, spike : float
        :math:`\sigma^2 > 0` and :math:`\theta > 0`.

    Examples
    --------
    >>> from attenua.theory import flat_spike_ratio
    >>> flat_spike_ratio(4, noise=1.0, spike=2.0)
    1.5
    """
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2; got {n_features!r}.")
    for name, value in (("noise", noise), ("spike", spike)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite; got {value!r}.")
    return (noise + spike) / (noise + 2 * spike / n_features)
