"""From simulated risks to the curves and best strengths that the paper shows, as tidy frames."""

from typing import Any

import numpy as np
import pandas as pd

from attenua_paper.studies.simulations.monte_carlo import Array, Experiment, stream

RESAMPLES = 400


def risk_curve(
    experiment: Experiment, risks: Array, theory: Array, theory_error: Array | float = 0.0, **labels: Any
) -> pd.DataFrame:
    """Return one row per strength: simulated n-scaled mean risk, theory, and reductions relative to PCA.

    Parameters
    ----------
    experiment : Experiment
        What was drawn.
    risks : ndarray of shape (replicates, n_strengths)
        Excess risks.
    theory : ndarray of shape (n_strengths,)
        Predicted n-scaled risks.
    theory_error : ndarray of shape (n_strengths,) or float
        Standard errors of the prediction, where it was itself estimated.
    **labels
        Columns to put first.
    """
    scaled = experiment.n * risks
    mean = scaled.mean(axis=0)
    ratio = mean / mean[0]
    # All strengths share the samples: the error of the ratio is that of the paired residual.
    residuals = scaled - ratio * scaled[:, :1]
    return pd.DataFrame(
        labels
        | {
            "n": experiment.n,
            "strength": experiment.strengths,
            "scaled_risk": mean,
            "standard_error": _standard_error(scaled),
            "theory": theory,
            "theory_error": theory_error,
            "reduction": 100 * (1 - ratio),
            "reduction_error": 100 * _standard_error(residuals) / mean[0],
            "theory_reduction": 100 * (1 - theory / theory[0]),
        }
    )


def _standard_error(values: Array) -> Array:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def resampled_best(experiment: Experiment, risks: Array, *, seed: int) -> Array:
    """Return the strengths of smallest mean risk in bootstrap resamples of the samples.

    Their spread says how far the simulation pins its own minimiser down. Ties go to the smallest strength.
    """
    random = np.random.default_rng(stream(seed, f"bootstrap {experiment.name}"))
    replicates = len(risks)
    counts = random.multinomial(replicates, np.full(replicates, 1 / replicates), size=RESAMPLES)
    return experiment.strengths[np.argmin(counts @ risks, axis=1)]


def best_row(curve: pd.DataFrame, resampled: Array, **labels: Any) -> dict[str, Any]:
    """Return the best strengths of a curve by theory and by simulation, and what they save.

    Parameters
    ----------
    curve : DataFrame
        From `risk_curve`.
    resampled : ndarray
        From `resampled_best`.
    **labels
        Columns to put first.
    """
    by_theory, simulated = (curve.loc[curve[name].idxmin()] for name in ("theory", "scaled_risk"))
    return labels | {
        "theory_strength": by_theory["strength"],
        "strength": simulated["strength"],
        "strength_error": resampled.std(),
        "theory_reduction": by_theory["theory_reduction"],
        "reduction": simulated["reduction"],
        "reduction_error": simulated["reduction_error"],
    }
