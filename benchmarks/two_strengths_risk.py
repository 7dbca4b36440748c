"""Does the expansion of the risk hold with both strengths? Monte Carlo of its coefficient.

For each covariance and pair of strengths: K of the theory, K without its drift term, and the simulated mean
of n (excess risk - B_pop) at growing n, which tends to K, with the standard error of the last. The pairs of
one covariance share their samples. Prints the table of the guide's page "The theory of two strengths".

python benchmarks/two_strengths_risk.py [--repeats 200000]
"""

import argparse
from dataclasses import replace

import numpy as np

from attenua.theory import Population, sampling_coefficient, two_strengths

SIZES = [25, 100, 400, 1600, 25600]
PAIRS = [(0.5, 0.0), (0.0, 0.5), (0.5, 0.5), (0.0, 1.0)]
BATCH = 20_000


def covariances() -> dict[str, tuple[np.ndarray, int]]:
    """Balanced, preserving and moving populations, each with its rank."""
    rng = np.random.default_rng(3)
    loadings = rng.standard_normal((6, 2))
    factors = loadings @ loadings.T + 0.5 * np.eye(6)
    s = np.sqrt(np.diag(factors))
    preserving = [[4, 2, 0.75, 0.25], [2, 4, 0.25, 0.75], [0.75, 0.25, 2.5, 1.5], [0.25, 0.75, 1.5, 2.5]]
    correlations = np.array([[1, 0.9, 0.8], [0.9, 1, 0.6], [0.8, 0.6, 1]])
    return {
        "flat spike": (np.eye(8) + 0.5, 1),
        "balanced": (factors / np.outer(s, s), 2),
        "preserving": (np.array(preserving), 2),
        "moving, unequal noise": (1 + np.diag(np.exp(np.linspace(-0.4, 0.4, 8))), 1),
        "moving, unequal signal": (correlations * np.outer([2, 1, 1], [2, 1, 1]), 1),
    }


def corrected(S: np.ndarray, alpha: float, tempering: float) -> np.ndarray:
    """T of one or many covariances, by definition: r_ij t_i t_j, and (1 - alpha) t_i^2 on the diagonal."""
    s = np.sqrt(np.diagonal(S, axis1=-2, axis2=-1))
    r, t = S / (s[..., :, None] * s[..., None, :]), s ** (1 - tempering)
    return np.where(np.eye(S.shape[-1], dtype=bool), 1 - alpha, r) * t[..., :, None] * t[..., None, :]


def risk(sigma: np.ndarray, S: np.ndarray, d: int, pair: tuple[float, float]) -> np.ndarray:
    """Exact excess risk of the subspaces fitted to the sample covariances `S`."""
    V = np.linalg.eigh(corrected(S, *pair))[1][..., -d:]
    kept = np.einsum("...ij,ik,...kj->...", V, sigma, V, optimize=True)
    return np.linalg.eigvalsh(sigma)[-d:].sum() - kept


def slopes(sigma: np.ndarray, d: int, pair: tuple[float, float], h: float = 1e-5) -> np.ndarray:
    """Gradient of the risk in S at the population: what the control variate, of mean zero, is made of."""
    gradient = np.zeros_like(sigma)
    for i, j in zip(*np.triu_indices(len(sigma)), strict=True):
        E = np.zeros_like(sigma)
        E[i, j] = E[j, i] = h
        above, below = risk(sigma, np.stack([sigma + E, sigma - E]), d, pair)
        gradient[i, j] = gradient[j, i] = (above - below) / (2 * h) / (1 + (i != j))
    return gradient


def draw(sigma: np.ndarray, n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Sample covariances of n Gaussian rows of known mean, by Bartlett's decomposition."""
    p = len(sigma)
    A = np.tril(rng.standard_normal((size, p, p)), -1)
    A[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(n - np.arange(p), (size, p)))
    L = np.linalg.cholesky(sigma) @ A / np.sqrt(n)
    return L @ np.swapaxes(L, 1, 2)


def simulate(
    sigma: np.ndarray, d: int, pair: tuple[float, float], n: int, repeats: int
) -> tuple[float, float]:
    """Mean and standard error of n (excess risk - B_pop), less the linear term of mean zero."""
    rng, limit, gradient = np.random.default_rng(n), risk(sigma, sigma, d, pair), slopes(sigma, d, pair)
    values = []
    for size in np.diff(np.append(np.arange(0, repeats, BATCH), repeats)):
        S = draw(sigma, n, size, rng)
        linear = np.sum(gradient * (S - sigma), axis=(1, 2))
        values.append(n * (risk(sigma, S, d, pair) - limit - linear))
    values = np.concatenate(values)
    return values.mean(), values.std(ddof=1) / np.sqrt(repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200_000, help="samples for each entry of the table")
    repeats = parser.parse_args().repeats
    columns = " | ".join(f"n = {n}" for n in SIZES)
    print(f"| covariance | strengths | K | without drift | {columns} | standard error | off by |")
    print("|---" * (len(SIZES) + 6) + "|")
    for name, (sigma, d) in covariances().items():
        population = Population(sigma, d)
        for alpha, tempering in PAIRS:
            correction = replace(two_strengths(population.scaled, alpha, tempering), drift=None)
            at = population.cut_at(alpha, tempering)
            without = population.unit * sampling_coefficient(correction, at, population.scaled)
            K = population.sampling_coefficient(alpha, tempering=tempering)
            found = [simulate(sigma, d, (alpha, tempering), n, repeats) for n in SIZES]
            means, (last, error) = " | ".join(f"{mean:.3f}" for mean, _ in found), found[-1]
            print(
                f"| {name} | {alpha:g}, {tempering:g} | {K:.3f} | {without:.3f} | {means} | {error:.3f} | "
                f"{(last - K) / error:+.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
