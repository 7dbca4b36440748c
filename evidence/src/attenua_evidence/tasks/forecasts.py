"""What a user can learn before new rows come, by a pilot on the rows at hand."""

from collections.abc import Iterator

import numpy as np

from attenua import CorrectedPCACV
from attenua_evidence.outcome import call
from attenua_evidence.tasks.problem import Problem, Result

FORECAST = "forecast the gain"
PILOT = "left_out_gain_"
WHAT = {
    PILOT: "CorrectedPCACV(nested=True).left_out_gain_, in percent of the whole error",
}


def of_forecasts(problem: Problem) -> Iterator[Result]:
    """Yield what the pilot expects that the recommended setting removes, in percent."""
    rows = problem.rows

    def pilot(rank: int) -> float:
        model = CorrectedPCACV(rank, neighbours=rows.order, cv=rows.n_folds, nested=True)
        model.fit(rows.X, groups=rows.groups)
        return 100 * model.left_out_gain_

    for rank in problem.ranks:
        called = call(lambda rank=rank: pilot(rank), lambda found: True)
        result = Result(FORECAST, PILOT, rank, seconds=called.seconds)
        if called.failure:
            yield result._replace(status="failed", note=called.failure)
        elif np.isfinite(called.found):
            yield result._replace(value=float(called.found))
        else:
            yield result._replace(status="unsuited", note="too few rows or groups")
