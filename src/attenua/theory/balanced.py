"""Balanced marginals, where a quadratic in the strength gives the risk: its constants, exact or from rows.

Gaussian rows have moments of every retained-omitted pair in closed form; rows of any other law estimate them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory._checks import as_answer, as_rows, as_strengths
from attenua.theory.cutoff import Array, Cutoff
from attenua.theory.geometry import Geometry, upper_end

# Rows are worked through so many pair values at a time (about 16 MB).
PAIR_VALUES_AT_ONCE = 2_000_000


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


@dataclass(frozen=True)
class MomentConstants:
    r"""Estimates of :math:`G_\nu(0)`, :math:`C_\nu` and :math:`V_\nu` (Theorem moment-extension).

    Attributes
    ----------
    G0, C, V : float
        :math:`\sum_{jk} \operatorname{var}(a_{jk}) / (\lambda_j - \lambda_k)`, and the same with
        :math:`\operatorname{cov}(a_{jk}, b_{jk})` and :math:`\operatorname{var}(b_{jk})`.
    error_covariance : ndarray of shape (3, 3)
        Covariance of the errors of the three constants, in the order above, from the spread of the rows.
    n_rows : int
        Rows used.
    """

    G0: float
    C: float
    V: float
    error_covariance: Array
    n_rows: int

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the three constants."""
        return np.sqrt(np.diag(self.error_covariance))

    def coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`G_\nu(0) - 2 \alpha C_\nu + \alpha^2 V_\nu` (eq. moment-risk-quadratic)."""
        strengths = as_strengths(alpha)
        return as_answer(np.asarray(self.G0 - 2 * strengths * self.C + strengths**2 * self.V))

    def coefficient_error(self, alpha: ArrayLike) -> Any:
        r"""Return the standard error of `coefficient`."""
        strengths = as_strengths(alpha)
        weights = np.stack([np.ones_like(strengths), -2 * strengths, strengths**2], axis=-1)
        variances = np.einsum("...i,ij,...j->...", weights, self.error_covariance, weights)
        return as_answer(np.asarray(np.sqrt(variances)))

    def asymptotic_oracle(self, path: str = "direct") -> float:
        r"""Return :math:`C_\nu / V_\nu` clipped to the path; 0 where :math:`V_\nu = 0` and none matters."""
        upper = upper_end(path)
        return float(np.clip(self.C / self.V, 0, upper)) if self.V > 0 else 0.0


def moment_constants(
    population: Geometry, rows: ArrayLike | Iterable[ArrayLike] | Callable[[], Iterable[ArrayLike]]
) -> MomentConstants:
    r"""Estimate the constants of the moment risk curve in one pass over rows of any law.

    The rows follow a law :math:`\nu` of mean zero with the covariance of `population`, which must have
    balanced marginals. With :math:`a_{jk} = u_k^\top (x x^\top - \Sigma) u_j` and :math:`b_{jk} = u_k^\top
    \operatorname{diag}(x x^\top - \Sigma) u_j`, both of mean zero,

    .. math::

        C_\nu = \sum_{j \le d < k} \frac{\operatorname{cov}(a_{jk}, b_{jk})}{\lambda_j - \lambda_k}, \qquad
        V_\nu = \sum_{j \le d < k} \frac{\operatorname{var}(b_{jk})}{\lambda_j - \lambda_k}

    (eq. moment-constants), so each constant is the mean over the rows of one number per row.

    Parameters
    ----------
    population : Population
        Covariance and rank, balanced.
    rows : array-like of shape (n, p), iterable of such arrays, or function that returns such an iterable
        The sample, or its batches (a generator, or :func:`attenua.theory.draw_batches`). Batches are used one
        at a time and forgotten; memory does not grow with their number.

    Returns
    -------
    MomentConstants

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population, draw_batches, moment_constants
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> batches = draw_batches(population.covariance, 2_000, law="exponential", random_state=0)
    >>> constants = moment_constants(population, batches)
    >>> constants.n_rows, constants.asymptotic_oracle()
    (2000, 1.0)
    """
    population.require_balance("The moment version")
    batches: Any = rows() if callable(rows) else rows
    if hasattr(batches, "ndim") or (isinstance(batches, (list, tuple)) and np.ndim(batches[0]) == 1):
        batches = [batches]
    count, mean, scatter = 0, np.zeros(3), np.zeros((3, 3))
    for batch in batches:
        # In the population's unit no square overflows; its covariance then is population.scaled.
        unitless = as_rows(batch, population.n_features, "rows") / np.sqrt(population.unit)
        values = _row_values(population.cutoff, population.path.variances, unitless)
        size, batch_mean = values.shape[1], values.mean(axis=1)
        shift, total = batch_mean - mean, count + size
        # Chan's update: exact merging of means and scatters, without the cancellation of raw squares.
        centred = values - batch_mean[:, None]
        scatter += centred @ centred.T + np.outer(shift, shift) * count * size / total
        mean += shift * size / total
        count = total
    if count < 2:
        raise ValueError(f"rows must hold at least 2 rows to estimate a spread; got {count}.")
    unit = population.unit
    first, second, third = (mean * unit).tolist()
    return MomentConstants(first, second, third, scatter / (count - 1) / count * unit**2, count)


def _row_values(target: Cutoff, variances: Array, rows: Array) -> Array:
    r"""Return three sums over the pairs for every row, in the order of `MomentConstants`.

    :math:`\sum a^2/g`, :math:`\sum ab/g` and :math:`\sum b^2/g`.
    """
    n_pairs = target.gaps.size
    overlaps = (target.omitted[:, :, None] * target.retained[:, None, :]).reshape(len(variances), n_pairs)
    inverse_gaps = 1 / target.gaps.ravel()
    step = max(1, PAIR_VALUES_AT_ONCE // n_pairs)
    values = []
    for start in range(0, len(rows), step):
        x = rows[start : start + step]
        a = ((x @ target.omitted)[:, :, None] * (x @ target.retained)[:, None, :]).reshape(len(x), n_pairs)
        b = (x**2 - variances) @ overlaps
        values.append([(a * a) @ inverse_gaps, (a * b) @ inverse_gaps, (b * b) @ inverse_gaps])
    return np.concatenate(values, axis=1)
