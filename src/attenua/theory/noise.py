r"""The noise of a covariance that is a mean over rows: the only part of a law that the risk depends on.

The estimate starts from :math:`S_n = \frac1n \sum_i y_i y_i^\top`, where :math:`y_i` is a row, or a row made
shorter by row tempering. With :math:`\Sigma = E[y y^\top]`, the errors :math:`E = y y^\top - \Sigma` of one
row have second moments of the form

.. math::

    E[E_{ab} E_{cd}] = \sum_r c_r (C^r_{ac} C^r_{bd} + C^r_{ad} C^r_{bc}) + \sum_m c_m M^m_{ab} M^m_{cd}
    + \sum_i c_i (x_i x_i^\top - M)_{ab} (x_i x_i^\top - M)_{cd} :

crossed products, as Gaussian rows have them; products of matrices; and products of single rows. Borrowing is
linear, so the noise after it has this form too.

Row tempering by :math:`\kappa` replaces the row x by :math:`y = |x|^{-\kappa} x`, or weighs pairs of rows.
For *elliptical* rows, :math:`x = \sqrt\tau\, g` with Gaussian g and an independent :math:`\tau \ge 0`, it
keeps the eigenvectors of the covariance, and the moments in that basis are one-dimensional integrals.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from attenua.theory.cutoff import Array

# Rules for the integrals of single rows and of pairs: distance of the nodes, and how many powers of e smaller
# than the rest the parts left out at either end are. The rule for pairs also leaves out nodes that add less
# than a part of the mean; it is good for three digits or more.
_SPACING, _LOG_LEFT_OUT = 0.05, 36.0
_PAIR_SPACING, _PAIR_LOG_LEFT_OUT, _PAIR_NEGLIGIBLE = 0.2, 24.0, 1e-5
# Parts of fourth moments that are left out.
_NEGLIGIBLE_PROFILE, _NEGLIGIBLE_PAIR_PROFILE = 1e-13, 1e-10


class EntryMoments(NamedTuple):
    r"""Second moments of the errors of entry (i, j) and its two variances, as p x p matrices.

    Attributes
    ----------
    entry_with_entry : ndarray
        :math:`E[E_{ij}^2]`.
    entry_with_variance : ndarray
        :math:`E[E_{ij} E_{ii}]`.
    variance_with_variance : ndarray
        :math:`E[E_{ii} E_{jj}]`.
    """

    entry_with_entry: Array
    entry_with_variance: Array
    variance_with_variance: Array


@dataclass(frozen=True)
class RowTerms:
    r"""Rows whose products are part of the noise, each with a weight.

    Attributes
    ----------
    rows : ndarray of shape (m, p)
        :math:`x_i`.
    weight : float
        :math:`c_i`, the same for all.
    centre : ndarray of shape (p, p)
        :math:`M`.
    """

    rows: Array
    weight: float
    centre: Array


@dataclass(frozen=True)
class RowNoise:
    r"""Mean and second moments of :math:`y y^\top`.

    Attributes
    ----------
    covariance : ndarray of shape (p, p)
        :math:`\Sigma = E[y y^\top]`.
    crossed, matrices : tuple of (float, ndarray)
        Weights and matrices :math:`C^r`, and :math:`M^m`.
    rows : RowTerms or None
        Products of single rows.
    is_finite : bool
        Whether the second moments exist; if not, the risk falls more slowly than 1/n.
    """

    covariance: Array
    crossed: tuple[tuple[float, Array], ...] = ()
    matrices: tuple[tuple[float, Array], ...] = ()
    rows: RowTerms | None = None
    is_finite: bool = True

    def entry_moments(self) -> EntryMoments:
        """Return the second moments that the mean of a quadratic function of single entries needs."""
        p = len(self.covariance)
        entry, mixed, variances = np.zeros((3, p, p))
        for weight, C in self.crossed:
            v = np.diag(C)
            entry += weight * (np.outer(v, v) + C**2)
            mixed += weight * 2 * v[:, None] * C
            variances += weight * 2 * C**2
        for weight, M in self.matrices:
            v = np.diag(M)
            entry += weight * M**2
            mixed += weight * v[:, None] * M
            variances += weight * np.outer(v, v)
        if self.rows is not None:
            for total, some in zip((entry, mixed, variances), self._moments_of_rows(self.rows), strict=True):
                total += some
        return EntryMoments(entry, mixed, variances)

    def with_trace(self) -> Array:
        r"""Return :math:`E[E\, \mathrm{tr} E]`, a p x p matrix; its trace is :math:`E[(\mathrm{tr} E)^2]`."""
        total = np.zeros_like(self.covariance)
        for weight, C in self.crossed:
            total += 2 * weight * C @ C
        for weight, M in self.matrices:
            total += weight * np.trace(M) * M
        if self.rows is not None:
            x, M = self.rows.rows, self.rows.centre
            traces = np.sum(x**2, axis=1) - np.trace(M)
            total += self.rows.weight * ((x.T * traces) @ x - traces.sum() * M)
        return total

    def borrowed(self, strength: float, R: Array) -> "RowNoise":
        r"""Return the noise of :math:`(1 - w) S + w\, \mathrm{tr}(S) R`, with R of trace one.

        Its errors are :math:`(1 - w) E + w\, \mathrm{tr}(E) R`. With :math:`M = E[E\, \mathrm{tr} E]` the
        products of both parts are :math:`w (1 - w) (M_{ab} R_{cd} + R_{ab} M_{cd})`, which is half of
        :math:`w (1 - w)` times the difference between the squares of :math:`M + R` and of :math:`M - R`. The
        square of R has the weight :math:`w^2\, \mathrm{tr} M`.
        """
        own, M = (1 - strength) ** 2, self.with_trace()
        size = float(np.linalg.norm(M)) or 1.0  # of the same size as R, so that no digits are lost
        mixed = size * strength * (1 - strength) / 2
        return replace(
            self,
            covariance=(1 - strength) * self.covariance + strength * np.trace(self.covariance) * R,
            crossed=tuple((own * weight, C) for weight, C in self.crossed),
            matrices=(
                *((own * weight, some) for weight, some in self.matrices),
                (mixed, M / size + R),
                (-mixed, M / size - R),
                (strength**2 * float(np.trace(M)), R),
            ),
            rows=None if self.rows is None else replace(self.rows, weight=own * self.rows.weight),
        )

    @staticmethod
    def _moments_of_rows(terms: RowTerms) -> tuple[Array, Array, Array]:
        x, squares = terms.rows, terms.rows**2
        fourth, third = squares.T @ squares, (x * squares).T @ x
        M, second, count = terms.centre, x.T @ x, len(x)
        v, sums = np.diag(M), np.diag(second)
        entry = fourth - 2 * second * M + count * M**2
        mixed = third - second * v[:, None] - sums[:, None] * M + count * v[:, None] * M
        variances = fourth - np.outer(sums, v) - np.outer(v, sums) + count * np.outer(v, v)
        return terms.weight * entry, terms.weight * mixed, terms.weight * variances


# --- row tempering of elliptical rows -----------------------------------------------------------------------


def power_nodes(s: float, spacing: float, log_left_out: float) -> tuple[Array, Array]:
    r"""Return logarithms of nodes and weights for :math:`\Gamma(s)^{-1} \int_0^\infty t^{s-1} f(t)\, dt`.

    The nodes are :math:`t = \exp(\tfrac{\pi}{2} \sinh y)` for equally spaced y, the double-exponential rule
    (Takahasi and Mori, 1974). Towards 0 the integrand falls like :math:`t^s`, towards infinity like
    :math:`t^{-1/2}` or faster. Logarithms neither overflow nor vanish.

    `spacing` is the distance of the y; `log_left_out` says how many powers of e smaller than the rest the
    parts left out at either end are.
    """
    ends = [np.arcsinh(2 / np.pi * log_left_out / rate) for rate in (s, 0.5)]
    y = np.arange(-ends[0], ends[1], spacing)
    log_t = np.pi / 2 * np.sinh(y)
    return log_t, s * log_t + np.log(np.pi / 2 * np.cosh(y) * spacing) - gammaln(s)


def shortened_gaussian(eigenvalues: Array, row_tempering: float) -> tuple[Array, Array]:
    r"""Return second and fourth moments of :math:`y = |g|^{-\kappa} g` in the eigenbasis of g's covariance.

    With :math:`|g|^{-2s} = \Gamma(s)^{-1} \int_0^\infty t^{s-1} e^{-t |g|^2} dt` and
    :math:`a_i(t) = \lambda_i / (1 + 2 t \lambda_i)`, which is a Gaussian variance again,

    .. math::

        E[|g|^{-2s} g_i^2] = \int \omega_s a_i\, dt, \qquad E[|g|^{-2s} g_i^2 g_j^2] = (1 + 2 \delta_{ij})
        \int \omega_s a_i a_j\, dt, \qquad
        \omega_s(t) = \frac{t^{s-1}}{\Gamma(s)} \prod_l (1 + 2 t \lambda_l)^{-1/2},

    with :math:`s = \kappa` for the second moments and :math:`s = 2 \kappa` for the fourth. So these are sums
    of Gaussian fourth moments, and since :math:`a(t)` varies slowly, of few.

    The second moments, of shape (p,), are scaled to the sum of the eigenvalues. The fourth are profiles
    :math:`a^r` at that scale, of shape (r, p): :math:`E[y_i^2 y_j^2] = (1 + 2 \delta_{ij}) \sum_r a^r_i
    a^r_j`.
    """
    total = eigenvalues.sum()
    relative = eigenvalues / total
    second = np.sum(_integrand(relative, row_tempering), axis=0)
    profiles = _integrand(relative, 2 * row_tempering, squared=True)
    _, sizes, directions = np.linalg.svd(profiles, full_matrices=False)
    kept = sizes**2 > _NEGLIGIBLE_PROFILE * sizes[0] ** 2
    return second / second.sum() * total, sizes[kept, None] * directions[kept] / second.sum() * total


def _integrand(values: Array, s: float, *, squared: bool = False) -> Array:
    r"""Return :math:`\omega_q a_i(t_q)`, nodes q in rows, or :math:`\sqrt{\omega_q} a_i(t_q)`."""
    log_t, logs = power_nodes(s, _SPACING, _LOG_LEFT_OUT)
    shrunk = 1 + 2 * np.exp(log_t)[:, None] * values
    logs = logs - np.log(shrunk).sum(axis=1) / 2
    return np.exp(logs / 2 if squared else logs)[:, None] * values / shrunk


def row_pair_moments(
    eigenvalues: Array, row_tempering: float, mixing: tuple[Array, Array]
) -> tuple[Array, Array, tuple[Array, Array]]:
    r"""Return the moments of :math:`h_1(x)` in the eigenbasis of the covariance of elliptical rows.

    With few rows the estimators weigh pairs: :math:`S_\kappa` is the mean over pairs of :math:`h(x, x') =
    |x - x'|^{-2\kappa} (x - x')(x - x')^\top`. To first order such a mean has the noise of its projection
    (Hoeffding, 1948): one row adds :math:`2 \{h_1(x) - \theta\}` with :math:`h_1(x) = E\, h(x, x')` and
    :math:`\theta = E\, h_1(x)`.

    Given the :math:`\tau'` of the other row, and with :math:`v_i = \tau' \lambda_i` and :math:`c_i = 1 / (1 +
    2 t v_i)`,

    .. math::

        E[h(x, x')_{ij} \mid x] = \int \frac{t^{\kappa-1}}{\Gamma(\kappa)} \prod_l c_l^{1/2}
        e^{-t \sum_l c_l x_l^2} (c_i x_i\, c_j x_j + \delta_{ij} c_i v_i)\, dt,

    so that every moment of :math:`h_1` is an integral over two such t, called t and s, and the three
    :math:`\tau`, of moments of a Gaussian with variances :math:`V_i = \tau \lambda_i / \{1 + 2 \tau \lambda_i
    (t c_i + s c_i')\}`:

    .. math::

        E[h_{1,ab} h_{1,cd}] = \int \alpha_a \alpha_b (\delta_{ac} \delta_{bd} + \delta_{ad} \delta_{bc})
        + \int u_a u'_c\, \delta_{ab} \delta_{cd}, \qquad
        \alpha_i = c_i c'_i V_i, \quad u_i = c_i^2 V_i + c_i v_i .

    `mixing` holds values of :math:`\tau` and their weights.

    Returns
    -------
    mean : ndarray of shape (p,)
        :math:`\theta_{ii}`, scaled to the sum of the eigenvalues.
    crossed : ndarray of shape (r, p)
        Profiles :math:`\alpha^r` of the noise of one row at that scale.
    straight : tuple of ndarrays of shape (s,) and (s, p)
        Weights and profiles of the rest, less :math:`\theta \theta^\top`.
    """
    total = eigenvalues.sum()
    values = eigenvalues / total
    c, b, t, logs = _inner_nodes(values, row_tempering, mixing)
    mean = np.zeros_like(values)
    products, straight = np.zeros((2, len(values), len(values)))
    shares = []
    for tau, weight in zip(*mixing, strict=True):
        shrunk = 1 + 2 * tau * values * (t * c)
        terms = np.exp(logs - np.log(shrunk).sum(axis=1) / 2)[:, None] * (c**2 * tau * values / shrunk + b)
        mean += weight * terms.sum(axis=0)
        shares.append(terms.sum(axis=1))
    for tau, weight, share in zip(*mixing, shares, strict=True):
        kept = np.flatnonzero(np.sqrt(weight) * share > _PAIR_NEGLIGIBLE * mean.sum())
        for count, one in enumerate(kept):
            others = kept[: count + 1]
            shrunk = 1 + 2 * tau * values * (t[one] * c[one] + t[others] * c[others])
            V = tau * values / shrunk
            w = weight * np.exp(logs[one] + logs[others] - np.log(shrunk).sum(axis=1) / 2)
            w[:-1] *= 2  # the other order of the two nodes
            alpha = c[one] * c[others] * V
            products += (w[:, None] * alpha).T @ alpha
            straight += (w[:, None] * (c[one] ** 2 * V + b[one])).T @ (c[others] ** 2 * V + b[others])
    scale = total / mean.sum()
    mean *= scale
    sizes, directions = np.linalg.eigh(products)
    large = sizes > _NEGLIGIBLE_PAIR_PROFILE * sizes[-1]
    crossed = 2 * scale * np.sqrt(sizes[large])[:, None] * directions.T[large]
    weights, profiles = np.linalg.eigh(2 * scale**2 * (straight + straight.T) - 4 * np.outer(mean, mean))
    large = np.abs(weights) > _NEGLIGIBLE_PAIR_PROFILE * np.abs(weights).max()
    return mean, crossed, (weights[large], profiles.T[large])


def _inner_nodes(values: Array, kappa: float, mixing: tuple[Array, Array]) -> tuple[Array, ...]:
    r"""Return :math:`c_i`, :math:`c_i v_i`, t in a column, and log weights at nodes :math:`(t, \tau')`."""
    log_t, log_weights = power_nodes(kappa, _PAIR_SPACING, _PAIR_LOG_LEFT_OUT)
    t = np.exp(np.repeat(log_t, len(mixing[0])))[:, None]
    v = np.tile(mixing[0], len(log_t))[:, None] * values
    c = 1 / (1 + 2 * t * v)
    logs = np.repeat(log_weights, len(mixing[0])) + np.log(np.tile(mixing[1], len(log_t)))
    return c, c * v, t, logs + np.log(c).sum(axis=1) / 2
