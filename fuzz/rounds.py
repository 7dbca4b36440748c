"""Seed after seed until the time is over: what the scripts of this folder share that check one thing each."""

import settings  # isort: skip  # before numpy

import argparse
import sys
import time
import traceback
from collections import Counter

import numpy as np


def go(script, words, draw, check, arguments=None):
    """Draw problems and check them; return 1 if one fails, which ends the run.

    Parameters
    ----------
    script : str
        Its name, to say how a failure is seen again.
    words : str
        What it does.
    draw, check : callable
        A seed to a problem; a problem to words that are counted. `check` raises where something is wrong.
    arguments : list of str, optional
        Of the command line.
    """
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--seed", type=int, default=0, help="of the first problem; the next has the next one")
    parser.add_argument("--minutes", type=float, default=np.inf, help="endless by default")
    parser.add_argument("--count", type=int, default=np.inf, help="problems at most")
    parser.add_argument("--keep-going", action="store_true", help="report failures and go on")
    given = parser.parse_args(arguments)
    end, tried, failed, seed = time.monotonic() + 60 * given.minutes, Counter(), 0, given.seed
    while seed < given.seed + given.count and time.monotonic() < end and (given.keep_going or not failed):
        problem = draw(seed)
        try:
            with settings.strictly(dispatch=False):
                tried.update(check(problem))
        except Exception:
            failed += 1
            print(f"FAILED at {problem}\n{traceback.format_exc(limit=-4)}")
            print(f"  again: python fuzz/{script}.py --seed {seed} --count 1", flush=True)
        seed += 1
    counted = ", ".join(f"{name} {count}" for name, count in tried.most_common())
    print(f"seeds {given.seed} to {seed - 1}: {counted}; {failed} failed")
    sys.stdout.flush()
    return 1 if failed else 0
