"""Does the expansion of the risk hold? Monte Carlo of its coefficient, for all corrections and several laws.

For every setting: K of the theory, K without its drift, and the simulated mean of n (excess risk - B_pop) at
growing n, which tends to K. "Standard error" and "off by", in standard errors, are those of the largest n.
Corrected matrices, laws and risks are written out here, by definition; only B_pop, K and K without drift are
the library's. Settings of one population and law share their samples. Rows are drawn in blocks of 100 whose
sums make up the larger samples; covariances of Gaussian rows without row tempering are drawn whole.

python benchmarks/corrections_risk.py [--repeats 160000] [--settings TEXT] [--quick]
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
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

SIZES = (100, 400, 1600)
# The largest size: where covariances are drawn whole, and where they are made of rows.
LARGEST, LARGEST_OF_ROWS = 25_600, 6400
BLOCK, BATCH = 100, 20_000
# Rows cost more than whole covariances: at the largest size there are so many times fewer samples of them.
FEWER = 8


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
    """One line of the table; `groups` says that attenuation is of groups of columns."""

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
        """The corrections as the table shows them."""
        parts = [f"{name.replace('_', ' ')} {value:g}" for name, value in self.strengths.items()]
        words = ", ".join(parts) or "none"
        return words.replace("attenuation", "attenuation of groups") if self.groups else words

    @property
    def needs_rows(self) -> bool:
        """Whether the covariances must be made of rows."""
        return self.law != "Gaussian" or self.row_tempering > 0


SETTINGS = [
    # One correction.
    Setting("balanced", attenuation=0.5),
    Setting("unequal noise", attenuation=0.6),
    Setting("preserving", attenuation=0.3, groups=True),
    Setting("curves", attenuation=0.6, groups=True),
    Setting("preserving", tempering=0.5),
    Setting("unequal noise", tempering=0.5),
    Setting("unequal signal", tempering=1.0),
    Setting("balanced", damping=0.5),
    Setting("ring", damping=1.0),
    Setting("unequal signal", damping=0.5),
    Setting("ring", smoothing=0.8),
    Setting("curves", smoothing=0.5),
    Setting("curves", smoothing=1.2),
    # Two.
    Setting("unequal signal", attenuation=0.5, tempering=0.5),
    Setting("preserving", attenuation=0.5, damping=0.25),
    Setting("unequal noise", attenuation=0.5, damping=0.5),
    Setting("curves", attenuation=0.6, smoothing=0.8),
    Setting("balanced", tempering=0.5, damping=0.5),
    Setting("unequal signal", tempering=0.5, damping=0.5),
    Setting("curves", tempering=0.5, smoothing=0.8),
    Setting("ring", damping=0.5, smoothing=0.5),
    Setting("curves", damping=0.5, smoothing=0.8),
    # Three and four.
    Setting("unequal noise", attenuation=0.5, tempering=0.5, damping=0.25),
    Setting("curves", tempering=0.5, damping=0.25, smoothing=0.5),
    Setting("curves", attenuation=0.5, tempering=0.5, damping=0.25, smoothing=0.5, groups=True),
    # Row tempering of Gaussian rows, alone and with others.
    Setting("unequal noise", row_tempering=0.5),
    Setting("unequal noise", row_tempering=0.5, attenuation=0.5),
    Setting("unequal noise", row_tempering=0.5, tempering=0.5),
    Setting("curves", row_tempering=1.0),
    Setting("curves", row_tempering=1.0, smoothing=0.8),
    Setting("curves", row_tempering=1.0, attenuation=0.3, tempering=0.5, damping=0.25, smoothing=0.5),
    # Heavier tails.
    Setting("unequal signal", "t, 3 df", row_tempering=0.75),
    Setting("unequal signal", "t, 3 df", row_tempering=0.75, tempering=0.5),
    Setting("unequal signal", "t, 3 df", row_tempering=0.75, damping=0.5),
    Setting("preserving", "t, 6 df", row_tempering=0.5),
    Setting("preserving", "t, 6 df", row_tempering=0.5, attenuation=0.5, damping=0.25),
    Setting("unequal noise", "t, 12 df"),
    Setting("unequal noise", "t, 12 df", tempering=0.5),
    Setting("unequal noise", "t, 12 df", attenuation=0.5, tempering=0.25),
    Setting("balanced", "contaminated", tempering=0.5),
    Setting("balanced", "contaminated", row_tempering=0.5, damping=0.5),
    Setting("curves", "contaminated", smoothing=0.8),
    Setting("curves", "contaminated", row_tempering=0.75, attenuation=0.5, smoothing=0.8, groups=True),
    # Independent latent coordinates.
    Setting("preserving", "t10", attenuation=0.5, tempering=0.5),
    Setting("preserving", "t10", damping=0.5),
    Setting("unequal signal", "exponential", tempering=0.5),
    Setting("unequal signal", "exponential", attenuation=0.5, damping=0.5),
]


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


def block_sums(
    design: Design, law: RowLaw, kappas: Sequence[float], count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return sums of y y' over blocks of rows, for every row tempering; axes (strength, block, p, p)."""
    values, V = np.linalg.eigh(design.covariance)
    size = (count, BLOCK)
    if law.latent is not None:
        root = (V * np.sqrt(values)) @ V.T
        z = law.latent(rng, (*size, len(values)))
        return (root @ (np.swapaxes(z, 1, 2) @ z) @ root)[None]
    # Along the eigenvectors, where Gaussian coordinates are independent.
    x = rng.standard_normal((*size, len(values))) * np.sqrt(values)
    if law.mixing is not None:
        x *= np.sqrt(law.mixing(rng, size))[:, :, None]
    logs = np.log(np.einsum("bni,bni->bn", x, x)) if any(kappas) else None
    sums = []
    for kappa in kappas:
        y = x * np.exp(-kappa / 2 * logs)[:, :, None] if kappa else x
        sums.append(V @ (np.swapaxes(y, 1, 2) @ y) @ V.T)
    return np.stack(sums)


def from_rows(
    design: Design, law: RowLaw, kappas: Sequence[float], largest: int, repeats: int, rng: np.random.Generator
) -> dict[int, np.ndarray]:
    """Covariances of each size for every strength of row tempering; axes (strength, sample, p, p).

    At most `repeats` of a size; at the largest, a part of that.
    """
    count, at_once = -(-repeats // FEWER), 16
    sizes = [n for n in SIZES if n < largest] + [largest]
    found, have = {n: [] for n in sizes}, dict.fromkeys(sizes, 0)
    for start in range(0, count, at_once):
        samples = min(at_once, count - start)
        sums = block_sums(design, law, kappas, samples * (largest // BLOCK), rng)
        for n in sizes:
            if have[n] < repeats:
                parts = sums.reshape(len(kappas), -1, n // BLOCK, *sums.shape[2:])
                found[n].append(parts.sum(axis=2) / n)
                have[n] += found[n][-1].shape[1]
    return {n: np.concatenate(batches, axis=1)[:, :repeats] for n, batches in found.items()}


def summary(
    samples: Iterator[np.ndarray], centre: np.ndarray, n: int, setting: Setting, design: Design
) -> tuple[float, float]:
    """Mean and standard error of n (excess risk - B_pop), less the linear term of mean zero."""
    limit, gradient = risk(centre, setting, design), slopes(centre, setting, design)
    values = [
        n * (risk(S, setting, design) - limit - np.sum(gradient * (S - centre), axis=(1, 2))) for S in samples
    ]
    values = np.concatenate(values)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def simulate(
    settings: list[Setting], repeats: int, largest: int | None = None, seed: int = 0
) -> list[list[tuple]]:
    """For every setting, all of one population and law: n, mean and standard error, for growing n."""
    first = settings[0]
    design, law = designs()[first.design], LAWS[first.law]
    words = list(designs()).index(first.design), list(LAWS).index(first.law)
    if not first.needs_rows:
        sizes, found = [*(n for n in SIZES if n < (largest or LARGEST)), largest or LARGEST], []
        for setting in settings:
            draws = {n: wisharts(design, n, repeats, np.random.default_rng([*words, n, seed])) for n in sizes}
            found.append([(n, *summary(S, design.covariance, n, setting, design)) for n, S in draws.items()])
        return found
    kappas = sorted({setting.row_tempering for setting in settings})
    rng = np.random.default_rng([*words, 0, seed])
    drawn = from_rows(design, law, kappas, largest or LARGEST_OF_ROWS, repeats, rng)
    found = []
    for setting in settings:
        at, centre = kappas.index(setting.row_tempering), mean_moments(design, law, setting.row_tempering)
        found.append([(n, *summary([S[at]], centre, n, setting, design)) for n, S in drawn.items()])
    return found


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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats",
        type=int,
        default=160_000,
        help=f"samples for each entry of the table; at the largest size of rows, 1/{FEWER} of them",
    )
    parser.add_argument(
        "--settings", default="", help='only those whose line holds this text, such as "curves" or "damping"'
    )
    parser.add_argument("--largest", type=int, help="largest number of rows, a multiple of 1,600")
    parser.add_argument("--seed", type=int, default=0, help="other samples")
    parser.add_argument("--quick", action="store_true", help="few samples, and 1,600 rows at most")
    options = parser.parse_args(arguments)
    repeats, largest = (2000, SIZES[-1]) if options.quick else (options.repeats, options.largest)
    if largest is not None and (largest < SIZES[-1] or largest % SIZES[-1]):
        parser.error(f"--largest must be a multiple of {SIZES[-1]}; got {largest}.")
    chosen = [s for s in SETTINGS if options.settings in f"{s.design} | {s.law} | {s.words}"]
    if not chosen:
        parser.error(f"no setting holds {options.settings!r}.")
    groups: dict[tuple, list[Setting]] = {}
    for setting in chosen:
        groups.setdefault((setting.design, setting.law, setting.needs_rows), []).append(setting)
    small = [n for n in SIZES if n != largest]
    columns = " | ".join(f"n = {n}" for n in small)
    print(
        f"| population | law | corrections | B_pop | K | without drift | {columns} | largest n | there "
        "| standard error | off by |"
    )
    print("|---" * (len(small) + 10) + "|")
    off = {}
    for members in groups.values():
        for setting, found in zip(members, simulate(members, repeats, largest, options.seed), strict=True):
            bias, K, without = expected(setting)
            *before, (n, last, error) = found
            off[setting] = (last - K) / error
            means = " | ".join(f"{mean:.3f}" for _, mean, _ in before)
            print(
                f"| {setting.design} | {setting.law} | {setting.words} | {bias:.4f} | {K:.3f} "
                f"| {without:.3f} | {means} | {n} | {last:.3f} | {error:.4f} | {off[setting]:+.1f} |",
                flush=True,
            )
    within = sum(abs(value) < 2 for value in off.values())
    worst = max(off, key=lambda setting: abs(off[setting]))
    print(
        f"\n{within} of {len(off)} settings lie within two standard errors; the largest deviation is "
        f"{off[worst]:+.1f} ({worst.design}, {worst.law}, {worst.words})."
    )


if __name__ == "__main__":
    main()
