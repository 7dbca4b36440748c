"""Our numbers for the text of the paper's simulation sections."""

from typing import Any

import numpy as np
import pandas as pd

from attenua_paper.studies.simulations.monte_carlo import Array


def claim_table(
    preserved_best: pd.DataFrame, moving_best: pd.DataFrame, largest_differences: Array, audit: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per printed number: ours with its Monte Carlo error, and theory's.

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
        Columns claim, as in ``attenua_paper.studies.published.SIMULATION_CLAIMS``, ours, error and theory,
        missing where there is none.
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
            "error": unequal["strength_error"],
            "theory": unequal["theory_strength"],
        },
        {
            "claim": "largest_strength_difference",
            "ours": distances.max(),
            "error": largest_differences.std(),
        },
        _reduction("preserved_reduction", moving_best.iloc[0]),
        _reduction("mask_entry_reduction", entering),
        _largest_difference(audit[audit["n"] == audit["n"].max()]),
    ]
    return pd.DataFrame(rows, columns=["claim", "ours", "error", "theory"]).round(9)


def _reduction(claim: str, best: pd.Series) -> dict[str, Any]:
    ours, error, theory = (best[name] for name in ("reduction", "reduction_error", "theory_reduction"))
    return {"claim": claim, "ours": ours, "error": error, "theory": theory}


def _largest_difference(audit: pd.DataFrame) -> dict[str, Any]:
    """Compare simulated and predicted risk where they are furthest apart; both have an error."""
    differences = (audit["scaled_risk"] - audit["theory"]).abs()
    row = audit.loc[differences.idxmax()]
    error = np.hypot(row["standard_error"], row["theory_error"])
    return {"claim": "non_gaussian_difference", "ours": differences.max(), "error": error}
