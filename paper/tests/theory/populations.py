"""Populations with and without equal variances, and moments of Gaussian rows."""

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
