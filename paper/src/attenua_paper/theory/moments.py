"""Moments of the couplings between retained and omitted directions, and the risk curve they add up to.

Under balanced marginals the scaled risk is a quadratic in the strength (Theorems balanced-risk and
moment-extension). Its constants have closed forms for the laws of :mod:`attenua_paper.theory.laws`; rows of
any law estimate them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from attenua_paper.theory.checks import Array, as_answer, as_rows, as_strengths
from attenua_paper.theory.laws import Law, square_root
from attenua_paper.theory.spectrum import Cutoff

if TYPE_CHECKING:
    from attenua_paper.theory.population import Population

# Rows are worked through so many pair values at a time (about 16 MB).
_PAIR_VALUES_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class PairMoments:
    r"""Moments of the couplings of one observation (eq. single-observation-moments).

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
    var_a, cov_ab, var_b : ndarray of shape (d, p - d)
        Variances and covariances of the couplings and their diagonal parts; :math:`\lambda_j \lambda_k`,
        :math:`2 \lambda_j \lambda_k s_{jk}` and :math:`h_{jk}` for Gaussian rows.
    """

    s: Array
    h: Array
    gaps: Array
    var_a: Array
    cov_ab: Array
    var_b: Array


def pair_moments(covariance: Array, target: Cutoff, law: Law) -> PairMoments:
    r"""Return the moments of every retained-omitted pair.

    With the symmetric root :math:`R` of the covariance, coordinates of excess kurtosis :math:`\kappa` add
    :math:`\kappa \sum_l A_{ll} B_{ll}` to the covariance of :math:`z^\top A z` and :math:`z^\top B z`;
    elliptical rows multiply it by their tail factor :math:`f` and add :math:`(f - 1) \operatorname{tr} A
    \operatorname{tr} B`.
    """
    values = np.outer(target.retained_values, target.omitted_values)
    w = target.retained[:, :, None] * target.omitted[:, None, :]
    s = np.sum(w**2, axis=0)
    h = 2 * np.sum(w * np.tensordot(covariance**2, w, axes=1), axis=0)
    # The diagonals of R u_j u_k' R and of R diag(w) R.
    diagonal_a = np.sqrt(np.clip(values, 0, None)) * w
    diagonal_b = np.tensordot(square_root(covariance) ** 2, w, axes=1)
    kappa, tail = law.kurtosis, law.tail
    trace_b = np.tensordot(np.diag(covariance), w, axes=1)
    return PairMoments(
        s=s,
        h=h,
        gaps=target.gaps.T,
        var_a=tail * (values + kappa * np.sum(diagonal_a**2, axis=0)),
        cov_ab=tail * (2 * values * s + kappa * np.sum(diagonal_a * diagonal_b, axis=0)),
        var_b=tail * (h + kappa * np.sum(diagonal_b**2, axis=0)) + (tail - 1) * trace_b**2,
    )


@dataclass(frozen=True)
class RiskCurve:
    r"""The risk under balanced marginals, :math:`G(\alpha) = G(0) - 2 \alpha C + \alpha^2 V`.

    Attributes
    ----------
    G0, C, V : float
        :math:`\sum_{jk} \operatorname{var}(a_{jk}) / (\lambda_j - \lambda_k)`, and the same with
        :math:`\operatorname{cov}(a_{jk}, b_{jk})`, which a little attenuation saves, and with
        :math:`\operatorname{var}(b_{jk})`, which too much of it costs (eq. balanced-risk-constant).
    error_covariance : ndarray of shape (3, 3)
        Covariance of the errors of the three; zero for closed forms.
    """

    G0: float
    C: float
    V: float
    error_covariance: Array

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the three constants."""
        return np.sqrt(np.diag(self.error_covariance))

    def coefficient(self, alpha: ArrayLike) -> Any:
        r"""Return :math:`G(\alpha)`."""
        strengths = as_strengths(alpha)
        return as_answer(self.G0 - 2 * strengths * self.C + strengths**2 * self.V)

    def coefficient_error(self, alpha: ArrayLike) -> Any:
        r"""Return the standard error of `coefficient`."""
        strengths = as_strengths(alpha)
        weights = np.stack([np.ones_like(strengths), -2 * strengths, strengths**2], axis=-1)
        return as_answer(np.sqrt(np.sum(weights @ self.error_covariance * weights, axis=-1)))

    def oracle(self, upper: float = 1.0) -> float:
        r"""Return :math:`C / V` clipped to [0, upper]; 0 where :math:`V = 0` and no strength matters."""
        return float(np.clip(self.C / self.V, 0, upper)) if self.V > 0 else 0.0


def risk_curve(pairs: PairMoments) -> RiskCurve:
    """Add the pairs up, each over its gap."""
    G0, C, V = (float(np.sum(m / pairs.gaps)) for m in (pairs.var_a, pairs.cov_ab, pairs.var_b))
    return RiskCurve(G0, C, V, np.zeros((3, 3)))


def flat_spike_ratio(n_features: int, noise: float, spike: float) -> float:
    r"""Return :math:`(\sigma^2 + \theta) / (\sigma^2 + 2 \theta / p)` of a flat spike (eq. flat-spike-terms).

    This is :math:`C_\Sigma / V_\Sigma` for :math:`\Sigma = \sigma^2 I + \theta u u^\top` with :math:`u =
    p^{-1/2} (1, \dots, 1)` at rank one, and is at least 1: complete attenuation is the best strength of the
    direct path.

    Examples
    --------
    >>> from attenua_paper.theory import flat_spike_ratio
    >>> flat_spike_ratio(4, noise=1.0, spike=2.0)
    1.5
    """
    if n_features < 2 or not (0 < noise < np.inf and 0 < spike < np.inf):
        raise ValueError("n_features must be at least 2, noise and spike positive and finite.")
    return (noise + spike) / (noise + 2 * spike / n_features)


def moment_constants(population: "Population", rows: ArrayLike | Iterable[ArrayLike]) -> RiskCurve:
    r"""Estimate the constants of the risk curve from rows of any law, in one pass.

    The rows follow a law :math:`\nu` of mean zero with the covariance of `population`, which must have
    balanced marginals. Then

    .. math::

        C_\nu = \sum_{j \le d < k} \frac{\operatorname{cov}(a_{jk}, b_{jk})}{\lambda_j - \lambda_k}, \qquad
        V_\nu = \sum_{j \le d < k} \frac{\operatorname{var}(b_{jk})}{\lambda_j - \lambda_k}

    (eq. moment-constants), so each constant is the mean over the rows of one number per row.

    Parameters
    ----------
    population : Population
        Covariance and rank, balanced.
    rows : array of shape (n, p), or iterable of such arrays
        The sample, or its batches, as from :func:`attenua_paper.theory.draw_batches`.

    Returns
    -------
    RiskCurve
        With the errors of the constants, from the spread of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population, draw_batches, moment_constants
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> batches = draw_batches(population.covariance, 2_000, law="exponential", random_state=0)
    >>> moment_constants(population, batches).oracle()
    1.0
    """
    population.require_balance("The moment version")
    batches: Any = [rows] if isinstance(rows, np.ndarray) else rows
    values = np.hstack([np.empty((3, 0)), *(_row_values(population, batch) for batch in batches)])
    if values.shape[1] < 2:
        raise ValueError("rows must hold at least 2 rows, to estimate a spread.")
    G0, C, V = values.mean(axis=1).tolist()
    return RiskCurve(G0, C, V, np.cov(values) / values.shape[1])


def _row_values(population: "Population", rows: ArrayLike) -> Array:
    r"""Return :math:`\sum a^2/g`, :math:`\sum ab/g` and :math:`\sum b^2/g` over the pairs, for every row."""
    X, target = as_rows(rows, population.n_features, "rows"), population.cutoff
    overlaps = target.omitted[:, :, None] * target.retained[:, None, :]
    step = max(1, _PAIR_VALUES_AT_ONCE // target.gaps.size)
    values = []
    for start in range(0, len(X), step):
        x = X[start : start + step]
        a = (x @ target.omitted)[:, :, None] * (x @ target.retained)[:, None, :]
        b = np.tensordot(x**2 - population.variances, overlaps, axes=1)
        values.append([np.sum(product / target.gaps, axis=(1, 2)) for product in (a * a, a * b, b * b)])
    return np.concatenate(values, axis=1)
