"""Populations of the three kinds the theory tells apart, and its definitions without its shortcuts."""

import itertools

import numpy as np

from tests.theory.definitions import risk


def random_orthogonal(rng, p):
    return np.linalg.qr(rng.standard_normal((p, p)))[0]


def moving(seed, p=5, spectrum=(7, 5, 1.5, 1, 0.5)):
    """Unequal variances that do not preserve the target."""
    Q = random_orthogonal(np.random.default_rng(seed), p)
    return (Q * np.asarray(spectrum, float)) @ Q.T


def balanced(seed, p=5, spectrum=(7, 5, 1.5, 1, 0.5)):
    """A correlation matrix times 2: every variance is 2."""
    S = moving(seed, p, spectrum)
    scale = np.sqrt(np.diag(S))
    return 2 * S / np.outer(scale, scale)


def preserving(seed, pairs=2):
    """Variances equal within pairs of coordinates only: span{e_1 + e_2, e_3 + e_4, ...} stays the target."""
    rng = np.random.default_rng(seed)
    A, B = (random_orthogonal(rng, pairs) for _ in range(2))
    A = (A * rng.uniform(5, 9, pairs)) @ A.T
    B = (B * rng.uniform(0.5, 2, pairs)) @ B.T
    sums, differences = np.zeros((2 * pairs, pairs)), np.zeros((2 * pairs, pairs))
    for i in range(pairs):
        sums[2 * i : 2 * i + 2, i] = np.sqrt(0.5)
        differences[2 * i : 2 * i + 2, i] = np.sqrt(0.5), -np.sqrt(0.5)
    return sums @ A @ sums.T + differences @ B @ differences.T


UNEQUAL = np.array([[4, 2, 0.75, 0.25], [2, 4, 0.25, 0.75], [0.75, 0.25, 2.5, 1.5], [0.25, 0.75, 1.5, 2.5]])


def moving_family(phi):
    """The paper's bivariate family, eq. moving-experiment-family."""
    angle = np.pi / 4 - phi
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return R @ np.diag([5.0, 1.0]) @ R.T


def gaussian_cubature(covariance):
    """Points and weights that integrate quartic polynomials of a Gaussian vector exactly."""
    p = len(covariance)
    nodes, weights = np.array([-np.sqrt(3), 0, np.sqrt(3)]), np.array([1, 4, 1]) / 6
    z = np.array(list(itertools.product(nodes, repeat=p)))
    w = np.prod(list(itertools.product(weights, repeat=p)), axis=1)
    return z @ np.linalg.cholesky(covariance).T, w


def leading_projector(matrix, d):
    vectors = np.linalg.eigh(matrix)[1][:, -d:]
    return vectors @ vectors.T


def solve_sylvester_on_tangent(P, A, Z):
    """L^{-1}(P_perp Z P) by one dense linear system, with L written out as a matrix on all of R^(p x p)."""
    p, N = len(P), np.eye(len(P)) - P
    # vec(X P A P - N A N X) for row-major vec, made invertible off the tangent space by the identity there.
    tangent = np.kron(N, P)
    L = np.kron(np.eye(p), P @ A @ P) - np.kron(N @ A @ N, np.eye(p))
    system = tangent @ L @ tangent + (np.eye(p * p) - tangent)
    return np.linalg.solve(system, (N @ Z @ P).ravel()).reshape(p, p)


def sampling_coefficient_by_definition(covariance, d, alpha, with_displacement=True):
    """K_move of eq. moving-risk-constant, its expectation taken by cubature."""
    D = np.diag(np.diag(covariance))
    T = covariance - alpha * D
    P = leading_projector(T, d)
    N = np.eye(len(P)) - P
    total = 0.0
    for x, weight in zip(*gaussian_cubature(covariance), strict=True):
        E = np.outer(x, x) - covariance
        F = E - alpha * np.diag(np.diag(E))
        Y1 = solve_sylvester_on_tangent(P, T, F)
        Y2 = solve_sylvester_on_tangent(P, T, N @ F @ N @ Y1 - Y1 @ P @ F @ P)
        H = Y1 @ P @ covariance @ P - N @ covariance @ N @ Y1
        total += weight * (np.sum(Y1 * H) - 2 * with_displacement * np.sum((N @ covariance @ P) * Y2))
    return total


def sample_covariances(covariance, n, repeats, rng):
    """Sample covariances of n Gaussian rows of known mean, by Bartlett's decomposition."""
    p = len(covariance)
    A = np.tril(rng.standard_normal((repeats, p, p)), -1)
    A[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(n - np.arange(p), (repeats, p)))
    L = np.linalg.cholesky(covariance) @ A / np.sqrt(n)
    return L @ np.swapaxes(L, 1, 2)


def simulated_coefficient(covariance, S, n, d, centre=None, **how):
    """Mean and standard error of n (excess risk - its limit), less a linear term of mean zero.

    `S` are sample covariances of n rows, which fluctuate about `centre` (the covariance, but for row
    tempering). Where the target moves the risk is linear in S - centre to first order, and that term, of size
    n^(1/2), would drown the coefficient.
    """
    centre = covariance if centre is None else centre
    limit = risk(covariance, centre, d, **how)
    linear = np.sum(risk_slopes(covariance, centre, d, **how) * (S - centre), axis=(1, 2))
    values = n * (risk(covariance, S, d, **how) - limit - linear)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(S))


def risk_slopes(covariance, centre, d, h=1e-5, **how):
    """Gradient in S of the exact risk at the centre, by central differences."""
    slopes = np.zeros_like(centre)
    for i, j in zip(*np.triu_indices(len(centre)), strict=True):
        E = np.zeros_like(centre)
        E[i, j] = E[j, i] = h
        both = risk(covariance, np.stack([centre + E, centre - E]), d, **how)
        slopes[i, j] = slopes[j, i] = (both[0] - both[1]) / (2 * h) / (1 + (i != j))
    return slopes


def simulated_excess_risk(covariance, d, n, repeats, seed, **how):
    """Mean and standard error of the exact excess risk of the corrected subspace, for Gaussian rows."""
    risks = risk(
        covariance, sample_covariances(covariance, n, repeats, np.random.default_rng(seed)), d, **how
    )
    return risks.mean(), risks.std(ddof=1) / np.sqrt(repeats)
