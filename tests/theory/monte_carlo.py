"""Monte Carlo of the coefficient K of the risk, for all corrections and several laws.

The simulated mean of n (excess risk - B_pop) tends to K as n grows. Corrected matrices, laws and risks are
written out here, by definition; only B_pop, K and K without drift are the library's. Covariances of Gaussian
rows without row tempering are drawn whole, others are made of rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import gamma, lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.linalg import expm

from attenua._correct.feature_groups import column_labels
from attenua._correct.neighbours import column_smoother
from attenua._correct.registry import Strengths
from attenua.theory import ContaminatedNormal, CorrectionMap, Population, StudentT, sampling_coefficient
from attenua.theory.cutoff import cut
from attenua.theory.laws import as_law

BLOCK, BATCH, AT_ONCE = 100, 20_000, 16


class Design(NamedTuple):
    """A covariance and a rank; neighbours as a matrix of weights, and groups, as one label per column."""

    covariance: np.ndarray
    rank: int
    neighbours: np.ndarray | None = None
    groups: tuple[int, ...] | None = None


def designs() -> dict[str, Design]:
    """Balanced, preserving and moving populations."""
    loadings = np.random.default_rng(3).standard_normal((6, 2))
    factors = loadings @ loadings.T + 0.5 * np.eye(6)
    s = np.sqrt(np.diag(factors))
    preserving = [[4, 2, 0.75, 0.25], [2, 4, 0.25, 0.75], [0.75, 0.25, 2.5, 1.5], [0.25, 0.75, 1.5, 2.5]]
    correlations = np.array([[1, 0.9, 0.8], [0.9, 1, 0.6], [0.8, 0.6, 1]])
    distances = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    scales = np.linspace(1, 1.6, 6)
    ring = np.array([1, 0.5, 0.2, 0.1])[np.minimum(distances, 6 - distances)]
    line_weights, ring_weights = (distances == 1) * 1.0, np.isin(distances, (1, 5)) * 1.0
    return {
        "balanced": Design(factors / np.outer(s, s), 2),
        "preserving": Design(np.array(preserving), 2, None, (0, 0, 1, 1)),
        "ring": Design(ring, 3, ring_weights),
        "unequal noise": Design(1 + np.diag(np.exp(np.linspace(-0.4, 0.4, 6))), 1),
        "unequal signal": Design(correlations * np.outer([2, 1, 1], [2, 1, 1]), 1),
        "curves": Design(
            np.exp(-distances / 2) * np.outer(scales, scales) + 0.3 * np.eye(6),
            2,
            line_weights,
            (0, 0, 1, 1, 2, 2),
        ),
    }


class RowLaw(NamedTuple):
    """How rows are drawn: sqrt(tau) times Gaussian rows, or independent latent coordinates.

    `theory` is the library's law, `mixing` draws tau, `mean_power` gives the mean of its powers.
    """

    theory: Any
    mixing: Callable[[np.random.Generator, tuple], np.ndarray] | None = None
    mean_power: Callable[[float], float] = lambda power: 1.0
    latent: Callable[[np.random.Generator, tuple], np.ndarray] | None = None


def student(df: int) -> RowLaw:
    """Multivariate t, scaled to its covariance."""
    return RowLaw(
        StudentT(df),
        lambda rng, size: (df - 2) / rng.chisquare(df, size),
        lambda power: ((df - 2) / 2) ** power * np.exp(lgamma(df / 2 - power) - lgamma(df / 2)),
    )


def contaminated(fraction: float, scale: float) -> RowLaw:
    """Gaussian rows of which a part is longer, scaled to their covariance."""
    total = 1 - fraction + fraction * scale**2
    return RowLaw(
        ContaminatedNormal(fraction, scale),
        lambda rng, size: np.where(rng.uniform(size=size) < fraction, scale**2, 1.0) / total,
        lambda power: (1 - fraction + fraction * scale ** (2 * power)) / total**power,
    )


LAWS = {
    "Gaussian": RowLaw("gaussian"),
    "t, 3 df": student(3),
    "t, 6 df": student(6),
    "t, 12 df": student(12),
    "contaminated": contaminated(0.1, 3.0),
    "t10": RowLaw("t10", latent=lambda rng, size: rng.standard_t(10, size) * np.sqrt(0.8)),
    "exponential": RowLaw("exponential", latent=lambda rng, size: rng.standard_exponential(size) - 1),
}


@dataclass(frozen=True)
class Setting:
    """What is simulated; `groups` says that attenuation is of groups of columns."""

    design: str
    law: str = "Gaussian"
    groups: bool = False
    attenuation: float = 0.0
    tempering: float = 0.0
    damping: float = 0.0
    smoothing: float = 0.0
    row_tempering: float = 0.0

    @property
    def strengths(self) -> dict[str, float]:
        """The strengths that are not 0, in the order in which they act."""
        names = ("row_tempering", "tempering", "damping", "attenuation", "smoothing")
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    @property
    def words(self) -> str:
        """The corrections, for the name of a test."""
        parts = [f"{name.replace('_', ' ')} {value:g}" for name, value in self.strengths.items()]
        words = ", ".join(parts) or "none"
        return words.replace("attenuation", "attenuation of groups") if self.groups else words

    @property
    def needs_rows(self) -> bool:
        """Whether the covariances must be made of rows."""
        return self.law != "Gaussian" or self.row_tempering > 0


def corrected(S: np.ndarray, setting: Setting, design: Design) -> np.ndarray:
    """T of one or many covariances: r |r|^b t_i t_j, times 1 - a within groups, smoothed."""
    p = len(design.covariance)
    s = np.sqrt(np.diagonal(S, axis1=-2, axis2=-1))
    r, t = S / (s[..., :, None] * s[..., None, :]), s ** (1 - setting.tempering)
    T = r * np.abs(r) ** setting.damping * t[..., :, None] * t[..., None, :]
    labels = np.array(design.groups) if setting.groups else np.arange(p)
    T = np.where(labels[:, None] == labels, 1 - setting.attenuation, 1.0) * T
    if setting.smoothing:
        W = design.neighbours
        K = expm(-(setting.smoothing**2) / 2 * (np.diag(W.sum(axis=0)) - W))
        T = K @ T @ K
    return T


def risk(S: np.ndarray, setting: Setting, design: Design) -> np.ndarray:
    """Exact excess risk of the subspaces fitted to the covariances `S`."""
    sigma, d = design.covariance, design.rank
    V = np.linalg.eigh(corrected(S, setting, design))[1][..., -d:]
    return np.linalg.eigvalsh(sigma)[-d:].sum() - np.sum(V * (sigma @ V), axis=(-2, -1))


def slopes(centre: np.ndarray, setting: Setting, design: Design, h: float = 1e-5) -> np.ndarray:
    """Gradient of the risk in S at `centre`: what the control variate, of mean zero, is made of."""
    gradient = np.zeros_like(centre)
    for i, j in zip(*np.triu_indices(len(centre)), strict=True):
        E = np.zeros_like(centre)
        E[i, j] = E[j, i] = h
        above, below = risk(np.stack([centre + E, centre - E]), setting, design)
        gradient[i, j] = gradient[j, i] = (above - below) / (2 * h) / (1 + (i != j))
    return gradient


def mean_moments(design: Design, law: RowLaw, kappa: float) -> np.ndarray:
    r"""E[y y'] of y = |x|^-k x: along an eigenvector, E tau^(1-k) times E[|g|^(-2k) g_i^2].

    The second factor is the integral over t of t^(k-1) / Gamma(k) times l_i / (1 + 2 t l_i), times the
    product of (1 + 2 t l)^(-1/2) over all eigenvalues l; here t = exp(u).
    """
    if kappa == 0:
        return design.covariance
    values, V = np.linalg.eigh(design.covariance)

    def integrand(u: float, value: float) -> float:
        t = np.exp(u)
        return np.exp(kappa * u) * value / (1 + 2 * t * value) / np.sqrt(np.prod(1 + 2 * t * values))

    options = {"limit": 500, "epsabs": 0, "epsrel": 1e-11}
    of_g = [quad(integrand, -40 / kappa, 60, args=(value,), **options)[0] for value in values]
    return law.mean_power(1 - kappa) / gamma(kappa) * (V * np.array(of_g)) @ V.T


def wisharts(design: Design, n: int, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield covariances of n Gaussian rows of known mean, by Bartlett's decomposition."""
    sigma, p = design.covariance, len(design.covariance)
    for size in np.diff(np.append(np.arange(0, count, BATCH), count)):
        A = np.tril(rng.standard_normal((size, p, p)), -1)
        A[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(n - np.arange(p), (size, p)))
        L = np.linalg.cholesky(sigma) @ A / np.sqrt(n)
        yield L @ np.swapaxes(L, 1, 2)


def from_rows(
    design: Design, law: RowLaw, kappa: float, n: int, count: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield means of y y' over n rows, shortened by row tempering."""
    for start in range(0, count, AT_ONCE):
        samples = min(AT_ONCE, count - start)
        sums = block_sums(design, law, kappa, samples * (n // BLOCK), rng)
        yield sums.reshape(-1, n // BLOCK, *sums.shape[1:]).sum(axis=1) / n


def block_sums(design: Design, law: RowLaw, kappa: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return sums of y y' over blocks of rows; axes (block, p, p)."""
    values, V = np.linalg.eigh(design.covariance)
    size = (count, BLOCK)
    if law.latent is not None:
        root = (V * np.sqrt(values)) @ V.T
        z = law.latent(rng, (*size, len(values)))
        return root @ (np.swapaxes(z, 1, 2) @ z) @ root
    # Along the eigenvectors, where Gaussian coordinates are independent.
    x = rng.standard_normal((*size, len(values))) * np.sqrt(values)
    if law.mixing is not None:
        x *= np.sqrt(law.mixing(rng, size))[:, :, None]
    if kappa:
        x *= np.sum(x**2, axis=2, keepdims=True) ** (-kappa / 2)
    return V @ (np.swapaxes(x, 1, 2) @ x) @ V.T


def simulate(setting: Setting, n: int, repeats: int) -> tuple[float, float]:
    """Mean and standard error of n (excess risk - B_pop), less the linear term of mean zero."""
    design, law, kappa = designs()[setting.design], LAWS[setting.law], setting.row_tempering
    seed = [list(designs()).index(setting.design), list(LAWS).index(setting.law)]
    if setting.needs_rows:
        samples = from_rows(design, law, kappa, n, repeats, np.random.default_rng([*seed, 0, 0]))
    else:
        samples = wisharts(design, n, repeats, np.random.default_rng([*seed, n, 0]))
    centre = mean_moments(design, law, kappa)
    limit, gradient = risk(centre, setting, design), slopes(centre, setting, design)
    values = np.concatenate(
        [
            n * (risk(S, setting, design) - limit - np.sum(gradient * (S - centre), axis=(1, 2)))
            for S in samples
        ]
    )
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def expected(setting: Setting) -> tuple[float, float, float]:
    """B_pop, K and K without its drift, by the library."""
    design, law = designs()[setting.design], LAWS[setting.law].theory
    groups = design.groups if setting.groups else None
    population = Population(
        design.covariance, design.rank, neighbours=design.neighbours, feature_groups=groups
    )
    p = population.n_features
    correction_map = CorrectionMap(
        Strengths(**setting.strengths), column_labels(groups, p), column_smoother(design.neighbours, p)
    )
    noise = as_law(law).noise(population.scaled, setting.row_tempering, population.unit)
    correction = replace(correction_map.at(noise.covariance, noise), drift=None)
    at = cut(correction.target, design.rank)
    return (
        population.bias(law=law, **setting.strengths),
        population.sampling_coefficient(law=law, **setting.strengths),
        population.unit * sampling_coefficient(correction, noise, at, population.scaled),
    )
