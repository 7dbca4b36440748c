"""What a user can learn before new rows come: a look-up in a table, and a pilot on the rows at hand."""

from collections.abc import Iterator

import numpy as np

from attenua import CorrectedPCACV, expected_gain
from attenua_evidence.outcome import call
from attenua_evidence.tasks.problem import Problem, Result

FORECAST = "forecast the gain"
LOOK_UP, PILOT, OPTIMISTIC = "expected_gain", "left_out_gain_", "gain_"
WHAT = {
    LOOK_UP: "attenua.expected_gain, in percent of PCA's excess error",
    PILOT: "CorrectedPCACV(nested=True).left_out_gain_, in percent of PCA's whole error",
    OPTIMISTIC: "CorrectedPCACV().gain_, in percent of PCA's whole held-out error; optimistic",
}


def of_forecasts(problem: Problem) -> Iterator[Result]:
    """Yield what each way expects that the recommended setting removes, in percent."""
    rows = problem.rows

    def pilot(rank: int) -> tuple[float, float]:
        model = CorrectedPCACV(rank, neighbours=rows.order, cv=rows.n_folds, nested=True)
        model.fit(rows.X, groups=rows.groups)
        return 100 * model.left_out_gain_, 100 * model.gain_

    def look_up(rank: int) -> tuple[float]:
        return (expected_gain(rows.X, rank, neighbours=rows.order).gain,)

    for rank in problem.ranks:
        for names, ask in (((LOOK_UP,), look_up), ((PILOT, OPTIMISTIC), pilot)):
            called = call(lambda ask=ask, rank=rank: ask(rank), lambda found: True)
            for number, name in enumerate(names):
                result = Result(FORECAST, name, rank, seconds=called.seconds)
                if called.failure:
                    yield result._replace(status="failed", note=called.failure)
                elif np.isfinite(called.found[number]):
                    yield result._replace(value=float(called.found[number]))
                else:
                    yield result._replace(status="unsuited", note="too few rows or groups")
