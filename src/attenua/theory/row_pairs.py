r"""Row tempering of pairs of rows: moments of the projection that its noise comes from.

With few rows the estimators weigh pairs: :math:`S_\kappa` is the mean over pairs of
:math:`h(x, x') = |x - x'|^{-2\kappa} (x - x')(x - x')^\top`. To first order such a mean has the noise of its
projection (Hoeffding, 1948): one row adds :math:`2 \{h_1(x) - \theta\}` with :math:`h_1(x) = E\, h(x, x')`
and :math:`\theta = E\, h_1(x)`.
"""

import numpy as np

from attenua.theory.cutoff import Array
from attenua.theory.quadrature import power_nodes

# Distance of the nodes of the double-exponential rule, and how many powers of e smaller than the rest is what
# it leaves out at either end. Nodes that add less than a part of the mean are left out as well. Together this
# is good for three digits or more.
_SPACING, _LOG_LEFT_OUT, _NEGLIGIBLE = 0.2, 24.0, 1e-5
# Parts of fourth moments that are left out.
_NEGLIGIBLE_PROFILE = 1e-10


def row_pair_moments(
    eigenvalues: Array, row_tempering: float, mixing: tuple[Array, Array]
) -> tuple[Array, Array, tuple[Array, Array]]:
    r"""Return the moments of :math:`h_1(x)` in the eigenbasis of the covariance of elliptical rows.

    Rows are :math:`x = \sqrt\tau\, g` with Gaussian g. Given the :math:`\tau'` of the other row, and with
    :math:`v_i = \tau' \lambda_i` and :math:`c_i = 1 / (1 + 2 t v_i)`,

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

    Parameters
    ----------
    eigenvalues : ndarray of shape (p,)
        :math:`\lambda_i \ge 0`, not all 0.
    row_tempering : float
        :math:`\kappa`, above 0.
    mixing : tuple of two ndarrays
        Values of :math:`\tau` and their weights.

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
        kept = np.flatnonzero(np.sqrt(weight) * share > _NEGLIGIBLE * mean.sum())
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
    large = sizes > _NEGLIGIBLE_PROFILE * sizes[-1]
    crossed = 2 * scale * np.sqrt(sizes[large])[:, None] * directions.T[large]
    weights, profiles = np.linalg.eigh(2 * scale**2 * (straight + straight.T) - 4 * np.outer(mean, mean))
    large = np.abs(weights) > _NEGLIGIBLE_PROFILE * np.abs(weights).max()
    return mean, crossed, (weights[large], profiles.T[large])


def _inner_nodes(values: Array, kappa: float, mixing: tuple[Array, Array]) -> tuple[Array, ...]:
    r"""Return :math:`c_i`, :math:`c_i v_i`, t in a column, and log weights at nodes :math:`(t, \tau')`."""
    log_t, log_weights = power_nodes(kappa, _SPACING, _LOG_LEFT_OUT)
    t = np.exp(np.repeat(log_t, len(mixing[0])))[:, None]
    v = np.tile(mixing[0], len(log_t))[:, None] * values
    c = 1 / (1 + 2 * t * v)
    logs = np.repeat(log_weights, len(mixing[0])) + np.log(np.tile(mixing[1], len(log_t)))
    return c, c * v, t, logs + np.log(c).sum(axis=1) / 2
