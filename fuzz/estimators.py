"""Random problems against the definitions: all containers, all estimators, all options.

    python fuzz/estimators.py --seed 0 --minutes 10

Without `--minutes` it goes on until it is stopped. Problem after problem is drawn from the seeds that follow,
fitted, compared with the brute-force definitions in `tests/literal.py`, and changed in a way whose effect is
known. What may differ by rounding is bounded by `rounding.py`. The first failure ends the run with exit code
1; it prints the seed and the smallest problem of its kind that fails as well. `--count 1` runs one seed.
"""

import settings  # isort: skip  # before numpy

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace

import numpy as np

from attenua._correct.registry import CORRECTIONS
from checks import Expected, Found, check_axes, check_methods, check_subspace, fit, same
from choices import check_attenuated, check_corrected
from containers import CONTAINERS, is_installed
from problems import draw
from relations import strengths_of, that_apply

# Seconds between lines of progress.
EVERY = 30.0


def check(problem, folder):
    """Fit a problem and check everything; return whether rounding left its choice open."""
    expected, found = Expected(problem), Found(fit(problem, folder), problem)
    same(found.rank in expected.ranks(), True, f"n_components_ = {found.rank} among {expected.ranks()}")
    is_open = False
    if problem.estimator == "AttenuatedPCACV":
        is_open = check_attenuated(found, expected)
    elif problem.estimator == "CorrectedPCACV":
        is_open = check_corrected(found, expected)
    else:
        check_subspace(found, expected.at(strengths_of(problem), found.rank))
    check_axes(found, expected)
    check_methods(found, problem, folder)
    return is_open


def run(problem, folder):
    """Check a problem and one relation that it is in; return whether rounding left its choice open."""
    with settings.strictly(dispatch=CONTAINERS[problem.container].is_device):
        is_open = check(problem, folder)
        random = np.random.default_rng(problem.seed)
        relations = that_apply(problem)
        if relations:
            relations[random.integers(len(relations))](problem, random, folder)
    return is_open


def failure_of(problem, folder):
    """Return what is wrong with a problem, or None."""
    try:
        run(problem, folder)
    except Exception as error:
        return error
    return None


def shrunk(problem, folder):
    """Return the simplest problem that fails too: options left out, rows in an array, fewer of them."""
    going_on = True
    while going_on:
        going_on = False
        for simpler in simpler_ones(problem):
            if failure_of(simpler, folder) is not None:
                problem, going_on = simpler, True
                break
    return problem


def simpler_ones(problem):
    """Yield problems with one thing less."""
    if problem.scale != 1:
        yield replace(problem, scale=1.0)
    if problem.container != "C array" and problem.groups is None:  # of streams, groups are other folds
        yield replace(problem, container="C array")
    if problem.keeps_rows:
        yield replace(problem, keeps_rows=False)
    if problem.weights is not None:
        yield replace(problem, weights=None)
    without = {"whiten": False, "feature_groups": None} | dict.fromkeys(CORRECTIONS, 0.0)
    for name, value in without.items():
        if problem.options.get(name):
            yield replace(problem, options=problem.options | {name: value})
    if not problem.chooses and problem.weights is None and len(problem.rows) > 5:
        yield replace(problem, rows=problem.rows[: len(problem.rows) // 2 + 1])
        yield replace(problem, rows=problem.rows[1:])


def snippet(problem):
    """Return code that fits a problem without this folder."""
    given = {"sample_weight": problem.weights, "groups": problem.groups}
    given = "".join(f", {name}=np.{value!r}" for name, value in given.items() if value is not None)
    options = ", ".join(f"{name}={value!r}" for name, value in problem.options.items())
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return (
            "import attenua\nimport numpy as np\nfrom numpy import array\n"
            f"X = np.{problem.rows!r} * {problem.scale!r}  # in a container: {problem.container}\n"
            f"model = attenua.{problem.estimator}({options}).fit(X{given})"
        )


def report(problem, error, folder):
    """Print what failed, and how to see it again."""
    print(f"FAILED at {problem}\n  {type(error).__name__}: {error}")
    print(f"  again: python fuzz/estimators.py --seed {problem.seed} --count 1")
    simple = shrunk(problem, folder)
    print(f"the simplest that fails: {failure_of(simple, folder)}\n\n{snippet(simple)}\n", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first problem; the next has the next one")
    parser.add_argument("--minutes", type=float, default=np.inf, help="endless by default")
    parser.add_argument("--count", type=int, default=None, help="problems at most")
    parser.add_argument("--keep-going", action="store_true", help="report failures and go on")
    given = parser.parse_args(arguments)
    started, shown, tried, failed = time.monotonic(), 0.0, Counter(), 0
    seed, last = given.seed, np.inf if given.count is None else given.seed + given.count
    with tempfile.TemporaryDirectory() as folder:
        while seed < last and (now := time.monotonic() - started) < 60 * given.minutes:
            problem = draw(seed)
            seed += 1
            if not is_installed(problem.container):
                tried["left out"] += 1
                continue
            try:
                is_open = run(problem, folder)
            except Exception as error:
                report(problem, error, folder)
                failed += 1
                if not given.keep_going:
                    break
                continue
            tried.update(["problems", problem.container, problem.estimator])
            tried["left open by rounding"] += is_open
            if now > shown + EVERY:
                shown = now
                print(f"{now:.0f} s: {told(tried)}", flush=True)
    print(f"seeds {given.seed} to {seed - 1}: {told(tried)}; {failed} failed")
    return 1 if failed else 0


def told(tried):
    return ", ".join(f"{name} {count}" for name, count in tried.most_common())


if __name__ == "__main__":
    sys.exit(main())
