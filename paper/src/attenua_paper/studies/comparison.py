"""Each number that the paper prints against ours: how many standard errors apart, and whether they agree."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from attenua_paper.studies.published import (
    ABOVE_HALF,
    CAPPED,
    CELLS,
    GAINS,
    N_SUBSAMPLES,
    SIMULATION_CLAIMS,
    STRENGTHS,
)

Cell = tuple[str, int]
# Value, error and number of fits by measure, method, data and budget.
Found = dict[Any, tuple[float, float, int]]
Rows = Iterator[dict[str, Any]]
# Beyond so many standard errors of their difference, two numbers differ.
MOST = 1.96


def compare_study(study: pd.DataFrame) -> pd.DataFrame:
    """Compare one seed of the study with the paper: gains, strengths, fallbacks, and the numbers in the text.

    The paper gives intervals of gains. For its other numbers the errors are ours, for as many subsamples as
    it has; those of a share are at least the binomial errors of the pooled share, as ours may be 0 of 100.

    Parameters
    ----------
    study : DataFrame
        From ``attenua_paper.studies.study_summary.summary_table``. What it does not have is not compared.

    Returns
    -------
    DataFrame
        Columns part ("gain", "strength", "fallback_percent" or "text"), data, budget, method, what, paper,
        paper_error, ours, error, apart (in standard errors of the difference) and verdict: "agree",
        "differ", or "same" where both are equal and have no error.
    """
    found = {
        (row.measure, row.method, row.data, row.budget): (row.value, row.error, row.n)
        for row in study.itertuples()
    }
    rows = []
    for method, cells in GAINS.items():
        for cell, published in cells.items():
            if (key := ("gain", method, *cell)) in found:
                half = (published.high - published.low) / 2
                rows.append(_row("gain", cell, method, published.mean, half / 1.96, *found[key][:2]))
    for method, pairs in STRENGTHS.items():
        for cell, (strength, fallback) in zip(CELLS, pairs, strict=True):
            if (key := ("strength", method, *cell)) in found:
                rows.append(_same_draws("strength", cell, method, strength, *found[key]))
                ours = found["fallback_percent", method, *cell]
                row = _same_draws("fallback_percent", cell, method, fallback, *ours)
                rows.append(row | _shares(fallback, N_SUBSAMPLES[cell[0]], *ours))
    if all(("gain", method, *cell) in found for method in GAINS for cell in CELLS):
        rows += [row for part in (_leads, _above_half, _above_zero, _caps) for row in part(found)]
    return _judged(rows)


def compare_simulations(claims: pd.DataFrame) -> pd.DataFrame:
    """Compare the numbers in the text of the simulations, which have as many samples there as here.

    Parameters
    ----------
    claims : DataFrame
        From ``attenua_paper.studies.simulations.claims.claim_table``.

    Returns
    -------
    DataFrame
        As of `compare_study`, with part "simulations" and the column theory.
    """
    return _judged(
        {
            "part": "simulations",
            "what": row.claim,
            "paper": SIMULATION_CLAIMS[row.claim],
            "paper_error": row.error,
            "ours": row.ours,
            "error": row.error,
            "theory": row.theory,
        }
        for row in claims.itertuples()
    )


def _leads(found: Found) -> Rows:
    """How far the method that is best in the paper leads the next; ours may be below 0."""
    for cell in CELLS:
        gains = {method: cells[cell].mean for method, cells in GAINS.items()}
        second, best = sorted(gains, key=gains.__getitem__)[-2:]
        row = _same_draws("text", cell, best, gains[best] - gains[second], *found["lead", best, *cell])
        yield row | {"what": "lead of the paper's best method"}


def _above_half(found: Found) -> Rows:
    method = "direct attenuation"
    for name, (cells, least, most) in ABOVE_HALF.items():
        ours = {cell: found["above_half_percent", method, *cell] for cell in cells}
        for words, paper, extreme in (("least", least, min), ("most", most, max)):
            cell = extreme(ours, key=ours.__getitem__)
            row = _same_draws("text", cell, method, paper, *ours[cell])
            row |= _shares(paper, N_SUBSAMPLES[cell[0]], *ours[cell])
            yield row | {"what": f"above 1/2 in {name}, {words} %"}


def _above_zero(found: Found) -> Rows:
    """Cells in which the interval of a path is above 0; the paper says all of both."""
    paths = ("mask-derived attenuation", "direct attenuation")
    gains = [found["gain", method, *cell] for method in paths for cell in CELLS]
    ours = sum(gain > 1.96 * error for gain, error, _ in gains)
    yield {"part": "text", "what": "intervals of both paths above 0", "paper": len(gains), "ours": ours}


def _caps(found: Found) -> Rows:
    """Shares of fits that iterate, which are those that are not PCA, and of these at the cap."""
    n_all = sum(N_SUBSAMPLES[data] for data, _ in CELLS)
    for method, (paper_capped, paper_fits) in CAPPED.items():
        n = np.array([found["gain", method, *cell][2] for cell in CELLS])
        pca = [found.get(("fallback_percent", method, *cell), (0.0, 0.0, 0)) for cell in CELLS]
        shares, errors, _ = np.transpose(pca)
        ours, error = 100 - n @ shares / n.sum(), np.linalg.norm(n * errors) / n.sum()
        if paper_fits < n_all:
            row = _shares(100 * paper_fits / n_all, n_all, ours, error, n.sum())
            yield row | {"part": "text", "method": method, "what": "not PCA, %"}
        fits, capped = n.sum() * ours / 100, sum(found["capped", method, *cell][0] for cell in CELLS)
        row = _shares(100 * paper_capped / paper_fits, paper_fits, 100 * capped / fits, 0.0, fits)
        yield row | {"part": "text", "method": method, "what": "of these at the cap on iterations, %"}


def _row(
    part: str, cell: Cell, method: str, paper: float, paper_error: float, ours: float, error: float
) -> dict[str, Any]:
    labels = {
        "part": part,
        "data": cell[0],
        "budget": cell[1],
        "method": method,
        "what": part.replace("_percent", ", %"),
    }
    return labels | {"paper": paper, "paper_error": paper_error, "ours": ours, "error": error}


def _same_draws(
    part: str, cell: Cell, method: str, paper: float, ours: float, error: float, n: int
) -> dict[str, Any]:
    """Return a row whose error in the paper is ours for as many subsamples as it has."""
    return _row(part, cell, method, paper, error * np.sqrt(n / N_SUBSAMPLES[cell[0]]), ours, error)


def _shares(paper: float, n_paper: int, ours: float, error: float, n: float) -> dict[str, float]:
    """Return two shares in percent with their errors, at least those of independent fits of one share."""
    pooled = (n * ours + n_paper * paper) / (n + n_paper) / 100
    spread = 100 * np.sqrt(pooled * (1 - pooled))
    return {
        "paper": paper,
        "paper_error": max(error * np.sqrt(n / n_paper), spread / np.sqrt(n_paper)),
        "ours": ours,
        "error": max(error, spread / np.sqrt(n)),
    }


def _judged(rows: Any) -> pd.DataFrame:
    columns = ["part", "data", "budget", "method", "what"]
    numbers = ["paper", "paper_error", "ours", "error"]
    frame = pd.DataFrame(rows)
    frame = frame.reindex(columns=[*columns, *numbers, *frame.columns.difference(columns + numbers)])
    frame[numbers] = frame[numbers].astype(float)
    differences = frame["ours"] - frame["paper"]
    errors = np.hypot(frame["error"], frame["paper_error"]).fillna(0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        frame["apart"] = np.where(differences == 0, 0.0, differences / errors)
    same = (errors == 0) & (differences == 0)
    frame["verdict"] = np.where(same, "same", np.where(frame["apart"].abs() <= MOST, "agree", "differ"))
    return frame
