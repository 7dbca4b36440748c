"""All simulations in one call."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from attenua_paper.studies.simulations.claims import claim_table
from attenua_paper.studies.simulations.monte_carlo import Array, Experiment, simulate_risks, stream
from attenua_paper.studies.simulations.panels import best_row, resampled_best, risk_curve
from attenua_paper.studies.simulations.paper_populations import (
    ANGLES,
    FINE_STRENGTHS,
    MOVING_SIZE,
    PRESERVED_SIZE,
    STRENGTHS,
    balanced_design,
    rotating_design,
    unequal_design,
)
from attenua_paper.theory import LAWS, Population, RiskCurve, draw_batches, moment_constants

Simulate = Callable[..., list[Array]]
# The files of the frames of `Simulations`.
FILES = {
    "preserved": "preserved-targets.csv",
    "moving": "moving-targets.csv",
    "audit": "non-gaussian.csv",
    "claims": "simulation-claims.csv",
}


@dataclass(frozen=True)
class Settings:
    """How much is simulated; the defaults are the paper's.

    Attributes
    ----------
    replicates : int
        Samples for each population of panels (a) to (c).
    audit_replicates : int
        Samples for each law and sample size of the audit beyond Gaussian rows.
    audit_sizes : tuple of int
        Its sample sizes.
    pilot_rows : int
        Rows of the pilot that estimates each law's moment constants.
    """

    replicates: int = 3_000
    audit_replicates: int = 5_000
    audit_sizes: tuple[int, ...] = (64, 256, 1024)
    pilot_rows: int = 150_000

    @property
    def total(self) -> int:
        """Number of samples in all."""
        audits = len(LAWS) * len(self.audit_sizes)
        return self.replicates * (2 + len(ANGLES)) + self.audit_replicates * audits

    def left_out(self) -> str:
        """Say what of the paper's simulations these settings leave out; nothing of the full ones."""
        full, words = Settings(), []
        if self.replicates < full.replicates:
            words.append(f"{self.replicates:,} samples per population instead of {full.replicates:,}")
        if self.audit_replicates < full.audit_replicates:
            words.append(
                f"{self.audit_replicates:,} samples per law beyond Gaussian rows instead of "
                f"{full.audit_replicates:,}"
            )
        if missing := sorted(set(full.audit_sizes) - set(self.audit_sizes)):
            words.append(f"no samples of {' and '.join(map(str, missing))} rows there")
        if self.pilot_rows < full.pilot_rows:
            words.append(f"pilots of {self.pilot_rows:,} rows instead of {full.pilot_rows:,}")
        return "; ".join(words)


FULL = Settings()
QUICK = Settings(replicates=300, audit_replicates=300, audit_sizes=(1024,), pilot_rows=15_000)


@dataclass(frozen=True)
class Simulations:
    """What the simulations gave.

    Attributes
    ----------
    settings, seed : Settings, int
        What was simulated.
    preserved : DataFrame
        Risk curves of panels (a) and (b), `design` "balanced" and "unequal".
    moving : DataFrame
        Best strengths of panel (c), by `angle` in degrees and `coupling`.
    audit : DataFrame
        Risk curves of the audit beyond Gaussian rows, by `law` and `n`.
    claims : DataFrame
        Our numbers for the paper's text.
    """

    settings: Settings
    seed: int
    preserved: pd.DataFrame
    moving: pd.DataFrame
    audit: pd.DataFrame
    claims: pd.DataFrame

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The frames by the names of their files."""
        return {file: getattr(self, name) for name, file in FILES.items()}


def run_simulations(
    settings: Settings = FULL,
    *,
    seed: int = 0,
    jobs: int = 1,
    advance: Callable[[int], Any] = lambda replicates: None,
) -> Simulations:
    """Simulate panels (a) to (c) and the audit beyond Gaussian rows.

    Parameters
    ----------
    settings : Settings
        How much to simulate.
    seed : int
        Seed of all of it; the answer does not depend on `jobs`.
    jobs : int
        Threads.
    advance : callable
        Called with a number of samples whenever so many more are done; they add up to `settings.total`.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1; got {jobs}.")
    simulate = partial(simulate_risks, jobs=jobs, advance=advance)
    preserved, preserved_best = _preserved_targets(settings.replicates, seed, simulate)
    audit = _audit(settings, seed, simulate)
    moving, largest_differences = _moving_targets(settings.replicates, seed, simulate)
    return Simulations(
        settings=settings,
        seed=seed,
        preserved=preserved,
        moving=moving,
        audit=audit,
        claims=claim_table(preserved_best, moving, largest_differences, audit),
    )


def _preserved_targets(replicates: int, seed: int, simulate: Simulate) -> tuple[pd.DataFrame, pd.DataFrame]:
    experiments = [
        Experiment(name, population, PRESERVED_SIZE, STRENGTHS, replicates)
        for name, population in (("balanced", balanced_design()), ("unequal", unequal_design()))
    ]
    curves, best = [], []
    for e, risks in zip(experiments, simulate(experiments, seed=seed), strict=True):
        theory = e.population.sampling_coefficient(e.strengths)
        curves.append(risk_curve(e, risks, theory, design=e.name))
        best.append(best_row(curves[-1], resampled_best(e, risks, seed=seed), design=e.name))
    return pd.concat(curves, ignore_index=True), pd.DataFrame(best)


def _moving_targets(replicates: int, seed: int, simulate: Simulate) -> tuple[pd.DataFrame, Array]:
    """Return best strengths, and resamples of the largest distance between those of theory and simulation."""
    experiments = [
        Experiment(f"moving {angle}", rotating_design(angle), MOVING_SIZE, FINE_STRENGTHS, replicates)
        for angle in ANGLES
    ]
    best, distances = [], []
    for angle, e, risks in zip(ANGLES, experiments, simulate(experiments, seed=seed), strict=True):
        theory = e.n * e.population.excess_risk(e.n, e.strengths)
        labels = {"angle": angle, "coupling": float(np.linalg.norm(e.population.leakage))}
        resampled = resampled_best(e, risks, seed=seed)
        best.append(best_row(risk_curve(e, risks, theory), resampled, **labels))
        distances.append(np.abs(resampled - best[-1]["theory_strength"]))
    return pd.DataFrame(best), np.max(distances, axis=0)


def _audit(settings: Settings, seed: int, simulate: Simulate) -> pd.DataFrame:
    population = balanced_design()
    experiments = [
        Experiment(f"audit {law} {n}", population, n, STRENGTHS, settings.audit_replicates, law)
        for law in LAWS
        for n in settings.audit_sizes
    ]
    pilots = {law: _pilot(population, law, settings.pilot_rows, seed) for law in LAWS}
    curves = []
    for e, risks in zip(experiments, simulate(experiments, seed=seed), strict=True):
        prediction = pilots[e.law].coefficient(STRENGTHS)
        error = pilots[e.law].coefficient_error(STRENGTHS)
        curves.append(risk_curve(e, risks, prediction, error, law=e.law))
    return pd.concat(curves, ignore_index=True)


def _pilot(population: Population, law: str, n_rows: int, seed: int) -> RiskCurve:
    random = np.random.RandomState(np.random.MT19937(stream(seed, f"pilot {law}")))
    with threadpool_limits(1):
        return moment_constants(
            population, draw_batches(population.covariance, n_rows, law=law, random_state=random)
        )
