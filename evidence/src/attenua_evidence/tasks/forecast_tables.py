"""Whether a pilot on the rows at hand says what new rows will gain."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attenua_evidence.averages import decimals
from attenua_evidence.tasks.forecasts import FORECAST, PILOT
from attenua_evidence.tasks.new_rows import REBUILD
from attenua_evidence.tasks.results import DRAW, TASKS, by_draw
from attenua_paper.studies.tables import Table

# What each way forecasts: a part of PCA's excess error, or of its whole error. Two are of older stores:
# a look-up of cells of other data sets that were alike in rows, columns, rank, tails, spread and gap, and the
# gain on the held-out rows that made the choice.
LOOK_UP, OPTIMISTIC = "expected_gain", "gain_"
WAYS = {LOOK_UP: "excess", PILOT: "whole", OPTIMISTIC: "whole"}
WORDS = {
    LOOK_UP: "a look-up of similar data",
    PILOT: "`left_out_gain_`",
    OPTIMISTIC: "the gain on the rows that chose",
}
LOSS = 1.0  # percent


class Forecast(NamedTuple):
    """How well a way foretells the gain of a draw.

    Attributes
    ----------
    draws : int
        How many were foretold.
    expected, observed : float
        Mean over data sets of what was forecast and of what new rows gained, in percent.
    error : float
        Mean over data sets of the absolute difference.
    correlation : float
        Spearman's, over draws.
    slope : float
        Of the observed gain on the forecast one, by least squares; 1 is a calibrated forecast.
    losing, losing_if_more : float
        Part of the draws that lose over 1%: of those with a forecast of at most 0, and of those with more.
    """

    draws: int
    expected: float
    observed: float
    error: float
    correlation: float
    slope: float
    losing: float
    losing_if_more: float


def pairs(lines: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return the forecast and the observed gain of each draw, in percent."""
    task = TASKS[REBUILD]
    draws = by_draw(lines, task, task.ours)
    whole = draws["base"] if WAYS[way] == "whole" else draws["base"] - draws["reference"]
    observed = 100 * (draws["base"] - draws["value"]) / whole
    asked = lines[(lines["task"] == FORECAST) & (lines["method"] == way) & (lines["status"] == "fitted")]
    found = asked.set_index(DRAW)[["value"]].rename(columns={"value": "expected"})
    found = found.join(observed.rename("observed"), how="inner")
    return found[np.isfinite(found).all(axis=1)]


def judged(found: pd.DataFrame) -> Forecast:
    """Return how well gains were foretold."""
    expected, observed = found["expected"], found["observed"]
    more = expected > 0
    is_lost = 100 * (observed < -LOSS)
    varies = len(found) > 2 and np.ptp(expected) > 0 and np.ptp(observed) > 0
    return Forecast(
        draws=len(found),
        expected=_over_sets(expected),
        observed=_over_sets(observed),
        error=_over_sets((expected - observed).abs()),
        correlation=float(spearmanr(expected, observed).statistic) if varies else np.nan,
        slope=float(np.polyfit(expected, observed, 1)[0]) if varies else np.nan,
        losing=float(is_lost[~more].mean()),
        losing_if_more=float(is_lost[more].mean()),
    )


def forecasts(lines: pd.DataFrame) -> dict[str, Forecast]:
    """Return every way that forecast anything."""
    found = {way: pairs(lines, way) for way in WAYS}
    return {way: judged(of) for way, of in found.items() if len(of)}


def forecast_table(found: dict[str, Forecast]) -> Table:
    """Return how well each way foretells."""
    heading = (
        *("forecast", "percent of PCA's", "draws", "mean forecast", "mean observed", "mean absolute error"),
        *("rank correlation", "slope", "lost over 1%: forecast at most 0", "forecast above 0"),
    )
    rows = [
        (
            WORDS[way],
            f"{WAYS[way]} error",
            str(of.draws),
            *(decimals(value) for value in (of.expected, of.observed, of.error, of.correlation, of.slope)),
            *(f"{decimals(share, 0)}%" for share in (of.losing, of.losing_if_more)),
        )
        for way, of in found.items()
    ]
    return Table("What was forecast of a draw's rows, and what new rows gained", heading, rows)


def calibration_table(lines: pd.DataFrame) -> Table:
    """Return the observed gains where little, more and most was forecast."""
    rows = []
    for way in WAYS:
        found = pairs(lines, way)
        if len(found) < 3:
            continue
        third = np.searchsorted(np.quantile(found["expected"], [1 / 3, 2 / 3]), found["expected"])
        for number, words in enumerate(("lowest third", "middle third", "highest third")):
            part = found[third == number]
            if len(part):
                means = (part["expected"].mean(), part["observed"].mean(), part["observed"].median())
                rows.append((WORDS[way], words, str(len(part)), *map(decimals, means)))
    heading = ("forecast", "draws by forecast", "draws", "mean forecast", "mean observed", "median observed")
    return Table("Calibration: observed gains by what was forecast", heading, rows)


def forecast_words(found: dict[str, Forecast], lines: pd.DataFrame) -> str:
    """Say how well each way foretells, and where the look-up has seen the data."""
    sentences = [
        f"{_sentence(WORDS[way])} forecasts {decimals(of.expected)}% of PCA's {WAYS[way]} error on average "
        f"where new rows gain {decimals(of.observed)}%; over {of.draws} draws its rank correlation with the "
        f"gain is {decimals(of.correlation)} and its mean absolute error {decimals(of.error)} points."
        for way, of in found.items()
    ]
    if not sentences:
        return "No gain was forecast.\n"
    if LOOK_UP in found and (lines["part"] != "final").any():
        sentences.append("It looked at cells of the parts develop and choose, which flatters it there.")
    return " ".join(sentences) + "\n"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _over_sets(values: pd.Series) -> float:
    return float(values.groupby("data").mean().mean())
