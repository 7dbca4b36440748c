"""The corrections, laws and risks by definition, without the shortcuts of the theory."""

import itertools
from math import gamma

import numpy as np
from scipy.linalg import expm
from scipy.special import roots_legendre

# Seven points of a second difference, exact for polynomials of degree seven.
STEPS, SECOND = np.arange(-3, 4), np.array([2, -27, 270, -490, 270, -27, 2]) / 180


def line(p):
    """Weights of the edges of a line of p columns."""
    distances = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    return (distances == 1).astype(float)


def kernel(weights, width):
    """exp(-h^2 L / 2) with the Laplacian L of the neighbours."""
    return expm(-(width**2) / 2 * (np.diag(weights.sum(axis=0)) - weights))


def corrected(
    S,
    *,
    attenuation=0.0,
    tempering=0.0,
    damping=0.0,
    smoothing=0.0,
    borrowing=0.0,
    groups=None,
    weights=None,
    other=None,
):
    """T of one or many S by correlations r and t = s^(1 - g), after borrowing from another matrix."""
    p = S.shape[-1]
    if borrowing:
        traces = np.trace(S, axis1=-2, axis2=-1)[..., None, None]
        S = traces * ((1 - borrowing) * S / traces + borrowing * other / np.trace(other))
    s = np.sqrt(np.diagonal(S, axis1=-2, axis2=-1))
    r, t = S / (s[..., :, None] * s[..., None, :]), s ** (1 - tempering)
    T = np.sign(r) * np.abs(r) ** (1 + damping) * t[..., :, None] * t[..., None, :]
    labels = np.arange(p) if groups is None else np.asarray(groups)
    T = T * (1 - attenuation * (labels[:, None] == labels))
    if smoothing:
        K = kernel(weights, smoothing)
        T = K @ T @ K
    return T


def risk(covariance, S, d, **how):
    """Excess risk of the subspaces fitted to sample covariances `S`, one or a stack."""
    V = np.linalg.eigh(corrected(S, **how))[1][..., -d:]
    return np.linalg.eigvalsh(covariance)[-d:].sum() - np.sum(V * (covariance @ V), axis=(-2, -1))


def second_derivatives(function, S, directions):
    """Second derivative of a function of a stack of matrices at S, along every direction."""
    directions = np.asarray(directions)
    h = 0.003 * np.linalg.eigvalsh(S)[0] / np.linalg.norm(directions, axis=(1, 2))
    stack = S + (h[:, None] * STEPS)[:, :, None, None] * directions[:, None]
    values = function(stack.reshape(-1, *S.shape)).reshape(len(h), len(STEPS), -1)
    return np.squeeze(np.einsum("s,dsv->dv", SECOND, values) / h[:, None] ** 2, axis=1)


def coefficient(covariance, centre, fourth, d, **how):
    """K: half the contraction of the exact risk's second derivatives with the noise; no formula is used.

    `centre` and `fourth` are the second and fourth moments of the rows that the estimate is made of.
    """
    p = len(centre)
    entries = list(zip(*np.triu_indices(p), strict=True))
    units = np.zeros((len(entries), p, p))
    for unit, (i, j) in zip(units, entries, strict=True):
        unit[i, j] = unit[j, i] = 1.0
    pairs = list(itertools.combinations(range(len(entries)), 2))
    directions = [*units, *(units[a] + units[b] for a, b in pairs)]
    curvatures = second_derivatives(lambda S: risk(covariance, S, d, **how), centre, directions)
    hessian = np.diag(curvatures[: len(entries)])
    for (a, b), both in zip(pairs, curvatures[len(entries) :], strict=True):
        hessian[a, b] = hessian[b, a] = (both - hessian[a, a] - hessian[b, b]) / 2
    i, j = np.transpose(entries)
    noise = fourth[i[:, None], j[:, None], i, j] - np.outer(centre[i, j], centre[i, j])
    return np.sum(hessian * noise) / 2


def gaussian_fourth(C):
    """E[x_a x_b x_c x_d] of Gaussian rows (Isserlis)."""
    return np.einsum("ab,cd->abcd", C, C) + np.einsum("ac,bd->abcd", C, C) + np.einsum("ad,bc->abcd", C, C)


def noise_tensor(noise):
    """E[E_ab E_cd] as a full p^4 tensor, from the definition of the parts of the noise."""
    p = len(noise.covariance)
    tensor = np.zeros((p, p, p, p))
    for weight, C in noise.crossed:
        tensor += weight * (np.einsum("ac,bd->abcd", C, C) + np.einsum("ad,bc->abcd", C, C))
    for weight, M in noise.matrices:
        tensor += weight * np.einsum("ab,cd->abcd", M, M)
    if noise.rows is not None:
        for x in noise.rows.rows:
            E = np.outer(x, x) - noise.rows.centre
            tensor += noise.rows.weight * np.einsum("ab,cd->abcd", E, E)
    return tensor


def sphere(p):
    """Points and weights of an accurate mean over the unit sphere in two or three dimensions."""
    angles = 2 * np.pi * (np.arange(400) + 0.5) / 400
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if p == 2:
        return circle, np.full(400, 1 / 400)
    heights, weights = roots_legendre(200)
    radii = np.sqrt(1 - heights**2)
    flat = np.broadcast_to(heights[:, None, None], (200, 400, 1))
    points = np.concatenate([radii[:, None, None] * circle, flat], axis=2)
    return points.reshape(-1, 3), np.repeat(weights / 2 / 400, 400)


def shortened_moments(covariance, kappa, mean_power=lambda power: 1.0):
    """E[y y'] and E[y (x) y (x) y (x) y] of y = |x|^-k x, x = sqrt(tau) g, in polar coordinates.

    With g = r A u, A A' = covariance, u on the sphere: y = tau^((1-k)/2) r^(1-k) |A u|^-k A u.
    """
    p, s = len(covariance), 1 - kappa
    u, weights = sphere(p)
    x = u @ np.linalg.cholesky(covariance).T
    y = x * np.linalg.norm(x, axis=1, keepdims=True) ** -kappa

    def radius(power):
        return 2**power * gamma(p / 2 + power) / gamma(p / 2) * mean_power(power)

    second = radius(s) * (y * weights[:, None]).T @ y
    products = (y[:, :, None] * y[:, None, :]).reshape(len(y), -1)
    fourth = radius(2 * s) * (products * weights[:, None]).T @ products
    return second, fourth.reshape(p, p, p, p)


def moments_of_rows(rows, kappa):
    """The same of given rows."""
    y = rows * np.linalg.norm(rows, axis=1, keepdims=True) ** -kappa
    products = (y[:, :, None] * y[:, None, :]).reshape(len(y), -1)
    return y.T @ y / len(y), (products.T @ products / len(y)).reshape([rows.shape[1]] * 4)


def rows_with_covariance(rng, m, covariance):
    """Skewed rows, long tails, whose second moments are exactly the covariance."""
    X = rng.standard_exponential((m, len(covariance))) - 1
    values, vectors = np.linalg.eigh(X.T @ X / m)
    return X @ (vectors / np.sqrt(values)) @ vectors.T @ np.linalg.cholesky(covariance).T


def student_powers(df):
    """E tau^s of tau = (df - 2) / chi^2."""
    return lambda s: ((df - 2) / 2) ** s * gamma(df / 2 - s) / gamma(df / 2)


def contaminated_powers(fraction, scale):
    """E tau^s of tau = 1 or scale^2, divided by its mean."""
    total = 1 - fraction + fraction * scale**2
    return lambda s: (1 - fraction + fraction * scale ** (2 * s)) / total**s
