"""The simulations' tables: what the paper prints, our numbers, and the curves behind its figures."""

import pandas as pd

from attenua_paper.studies.comparison import compare_simulations
from attenua_paper.studies.simulations.simulate import Simulations
from attenua_paper.studies.tables import Table, numbers_table

LAW_TITLES = {"gaussian": "Gaussian", "t10": "Student t, 10 df", "exponential": "centred exponential"}

_CLAIMS = {
    "balanced_reduction": "Balanced design: best reduction of PCA's risk, %",
    "unequal_reduction": "Unequal design: best reduction of PCA's risk, %",
    "unequal_strength": "Unequal design: strength of the best reduction",
    "largest_strength_difference": "13 angles: largest distance between best strengths",
    "preserved_reduction": "Exact preservation: reduction of PCA's risk, %",
    "mask_entry_reduction": "Best strength first below 1/2: reduction, %",
    "non_gaussian_difference": "Other laws, largest n: largest distance from prediction",
}


def simulation_tables(simulations: Simulations) -> dict[str, Table]:
    """Return the tables by the names of their files, the printed claims first."""
    return {
        "simulation-claims": claims_table(simulations.claims),
        "preserved-targets": preserved_table(simulations.preserved),
        "moving-targets": moving_table(simulations.moving),
        "non-gaussian": audit_table(simulations.audit),
    }


def claims_table(claims: pd.DataFrame) -> Table:
    """Numbers in the text of the paper and ours."""
    compared = compare_simulations(claims)
    return numbers_table(
        "Numbers in the paper's text on the simulations", compared.replace({"what": _CLAIMS})
    )


def preserved_table(curves: pd.DataFrame) -> Table:
    """Scaled risk of the two designs that preserve the target, by strength (figure 2, a and b)."""
    parts = {name: part.set_index("strength") for name, part in curves.groupby("design", sort=False)}
    rows = []
    for strength in curves["strength"].unique():
        cells = [_pair(part.loc[strength]) for part in parts.values()]
        rows.append((f"{strength:.2f}", *(cell for pair in cells for cell in pair)))
    heading = ("Strength", *(f"{name} {kind}" for name in parts for kind in ("simulated (s.e.)", "theory")))
    return Table(f"Scaled excess risk where the target stays, n = {curves['n'].iloc[0]}", heading, rows)


def moving_table(best: pd.DataFrame) -> Table:
    """Best strengths along the rotating family by theory and by simulation (figure 2, c)."""
    rows = [
        (
            f"{row.angle:g}",
            f"{row.coupling:.3f}",
            f"{row.theory_strength:.3f}",
            f"{row.strength:.3f} ({row.strength_error:.3f})",
            f"{row.theory_reduction:.1f}%",
            f"{row.reduction:.1f}% ({row.reduction_error:.1f})",
        )
        for row in best.itertuples()
    ]
    heading = (
        "Angle, degrees",
        "coupling",
        "strength, theory",
        "strength, simulated (s.e.)",
        "reduction, theory",
        "reduction, simulated (s.e.)",
    )
    return Table("Best strength as the target moves, and what it saves of PCA's risk", heading, rows)


def audit_table(audit: pd.DataFrame) -> Table:
    """Where simulated and predicted risk are furthest apart, for every law and sample size."""
    rows = []
    for (law, n), curve in audit.groupby(["law", "n"], sort=False):
        furthest = curve.loc[(curve["scaled_risk"] - curve["theory"]).abs().idxmax()]
        pca = curve.iloc[0]
        difference = furthest["scaled_risk"] - furthest["theory"]
        errors = f"{furthest['standard_error']:.2f}, {furthest['theory_error']:.2f}"
        rows.append(
            (
                f"{LAW_TITLES[law]}, n = {n}",
                *_pair(pca),
                f"{furthest['strength']:.2f}",
                f"{difference:.2f} ({errors})",
            )
        )
    heading = (
        "Latent law and sample size",
        "PCA simulated (s.e.)",
        "PCA predicted",
        "furthest at strength",
        "difference there (s.e., of the pilot)",
    )
    return Table("Scaled excess risk beyond Gaussian rows against the moment prediction", heading, rows)


def _pair(row: pd.Series) -> tuple[str, str]:
    return f"{row['scaled_risk']:.2f} ({row['standard_error']:.2f})", f"{row['theory']:.2f}"
