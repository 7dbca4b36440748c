"""The numbers in the text of the paper's simulation sections, and ours."""

from typing import Any

import numpy as np
import pandas as pd

from attenua_paper.studies.published import SIMULATION_CLAIMS
from attenua_paper.studies.simulations.monte_carlo import Array


def claim_table(
    preserved_best: pd.DataFrame, moving_best: pd.DataFrame, largest_differences: Array, audit: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per printed number: the paper's, ours with its 95% Monte Carlo interval, and theory's.

    Parameters
    ----------
    preserved_best, moving_best : DataFrame
        Best strengths of panels (a), (b) and of panel (c).
    largest_differences : ndarray
        Bootstrap resamples of the largest distance between the best strengths of panel (c).
    audit : DataFrame
        Risk curves beyond Gaussian rows.

    Returns
    -------
    DataFrame
        Columns claim, paper, ours, low, high and theory, missing where there is none.
    """
    balanced, unequal = (preserved_best.iloc[i] for i in range(2))
    # Angles increase, and the best strength falls: the first row below 1/2 is where it enters the range.
    entering = moving_best[moving_best["strength"] < 0.5].iloc[0]
    distances = (moving_best["strength"] - moving_best["theory_strength"]).abs()
    rows = [
        _reduction("balanced_reduction", balanced),
        _reduction("unequal_reduction", unequal),
        {
            "claim": "unequal_strength",
            "ours": unequal["strength"],
            "low": unequal["strength_low"],
            "high": unequal["strength_high"],
            "theory": unequal["theory_strength"],
        },
        {
            "claim": "largest_strength_difference",
            "ours": distances.max(),
            "low": np.quantile(largest_differences, 0.025, method="nearest"),
            "high": np.quantile(largest_differences, 0.975, method="nearest"),
        },
        _reduction("preserved_reduction", moving_best.iloc[0]),
        _reduction("mask_entry_reduction", entering),
        _largest_difference(audit[audit["n"] == audit["n"].max()]),
    ]
    frame = pd.DataFrame(rows, columns=["claim", "ours", "low", "high", "theory"])
    frame.insert(1, "paper", frame["claim"].map(SIMULATION_CLAIMS))
    return frame


def _reduction(claim: str, best: pd.Series) -> dict[str, Any]:
    ours, half = best["reduction"], 1.96 * best["reduction_error"]
    return {
        "claim": claim,
        "ours": ours,
        "low": ours - half,
        "high": ours + half,
        "theory": best["theory_reduction"],
    }


def _largest_difference(audit: pd.DataFrame) -> dict[str, Any]:
    """Compare simulated and predicted risk where they are furthest apart; both have an error."""
    differences = (audit["scaled_risk"] - audit["theory"]).abs()
    row = audit.loc[differences.idxmax()]
    half = 1.96 * np.hypot(row["standard_error"], row["theory_error"])
    ours = differences.max()
    return {
        "claim": "non_gaussian_difference",
        "ours": ours,
        "low": max(ours - half, 0.0),
        "high": ours + half,
    }
