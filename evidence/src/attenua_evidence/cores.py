"""Work spread over all cores, with a bar of progress."""

from collections.abc import Callable, Iterable
from itertools import takewhile
from time import perf_counter
from typing import Any

from joblib import Parallel, parallel_config
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn


def on_all_cores(
    calls: Iterable[Any],
    total: int,
    *,
    jobs: int = -1,
    minutes: float | None = None,
    remark: Callable[[Any], str] = lambda result: "",
) -> int:
    """Make delayed calls in processes of one thread each, and return how many were made.

    Parameters
    ----------
    calls : iterable
        What ``joblib.delayed`` returns, in the order in which they are begun.
    total : int
        How many there are, for the bar.
    jobs : int, default=-1
        Processes; -1 is one for each core.
    minutes : float, optional
        No call begins after so many minutes.
    remark : callable, optional
        What to print of the result of a call, if anything.
    """
    if minutes is not None:
        end = perf_counter() + 60 * minutes
        calls = takewhile(lambda call: perf_counter() < end, calls)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    n_made = 0
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1), Progress(*columns) as progress:
        done = Parallel(return_as="generator_unordered")(calls)
        for result in progress.track(done, total=total, description="Cells"):
            n_made += 1
            if words := remark(result):
                progress.print(words)
    return n_made
