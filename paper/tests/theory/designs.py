"""Populations of the three kinds that the theory tells apart, and its definitions without its shortcuts."""

import itertools

import numpy as np


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
DESIGNS = {"balanced": (balanced(0), 2), "preserving": (preserving(1), 2), "moving": (moving(8), 2)}


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
    vectors = np.linalg.eigh(matrix)[1][..., -d:]
    return vectors @ np.swapaxes(vectors, -1, -2)


def attenuated(S, alpha):
    return S - alpha * S * np.eye(S.shape[-1])


def risk(covariance, S, d, alpha=0.0):
    """Excess risk of the subspaces fitted to sample covariances `S`, one or a stack."""
    P = leading_projector(attenuated(S, alpha), d)
    return np.linalg.eigvalsh(covariance)[-d:].sum() - np.sum(covariance * P, axis=(-2, -1))


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
    T = attenuated(covariance, alpha)
    P = leading_projector(T, d)
    N, total = np.eye(len(P)) - P, 0.0
    for x, weight in zip(*gaussian_cubature(covariance), strict=True):
        F = attenuated(np.outer(x, x) - covariance, alpha)
        Y1 = solve_sylvester_on_tangent(P, T, F)
        Y2 = solve_sylvester_on_tangent(P, T, N @ F @ N @ Y1 - Y1 @ P @ F @ P)
        H = Y1 @ P @ covariance @ P - N @ covariance @ N @ Y1
        total += weight * (np.sum(Y1 * H) - 2 * with_displacement * np.sum((N @ covariance @ P) * Y2))
    return total


def gaussian_fourth(C):
    """E[x_a x_b x_c x_d] of Gaussian rows (Isserlis)."""
    return np.einsum("ab,cd->abcd", C, C) + np.einsum("ac,bd->abcd", C, C) + np.einsum("ad,bc->abcd", C, C)


# Seven points of a second difference, exact for polynomials of degree seven.
STEPS, SECOND = np.arange(-3, 4), np.array([2, -27, 270, -490, 270, -27, 2]) / 180


def coefficient_by_differences(covariance, fourth, d, alpha):
    """K: half the contraction of the exact risk's second derivatives with the noise; no formula is used."""
    p = len(covariance)
    entries = list(zip(*np.triu_indices(p), strict=True))
    units = np.zeros((len(entries), p, p))
    for unit, (i, j) in zip(units, entries, strict=True):
        unit[i, j] = unit[j, i] = 1.0
    pairs = list(itertools.combinations(range(len(entries)), 2))
    directions = np.array([*units, *(units[a] + units[b] for a, b in pairs)])
    h = 0.003 * np.linalg.eigvalsh(covariance)[0] / np.linalg.norm(directions, axis=(1, 2))
    stack = covariance + (h[:, None] * STEPS)[:, :, None, None] * directions[:, None]
    curvatures = risk(covariance, stack, d, alpha) @ SECOND / h**2
    hessian = np.diag(curvatures[: len(entries)])
    for (a, b), both in zip(pairs, curvatures[len(entries) :], strict=True):
        hessian[a, b] = hessian[b, a] = (both - hessian[a, a] - hessian[b, b]) / 2
    i, j = np.transpose(entries)
    noise = fourth[i[:, None], j[:, None], i, j] - np.outer(covariance[i, j], covariance[i, j])
    return np.sum(hessian * noise) / 2


def sample_covariances(covariance, n, repeats, rng):
    """Sample covariances of n Gaussian rows of known mean, by Bartlett's decomposition."""
    p = len(covariance)
    A = np.tril(rng.standard_normal((repeats, p, p)), -1)
    A[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(n - np.arange(p), (repeats, p)))
    L = np.linalg.cholesky(covariance) @ A / np.sqrt(n)
    return L @ np.swapaxes(L, 1, 2)
