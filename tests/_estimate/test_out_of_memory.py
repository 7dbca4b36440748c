"""Memory that truly runs out, in numpy and in Python: all of a fit happened, or nothing did."""

import json
import os
import subprocess
import sys

import pytest

# A child with less and less memory to spare. It prints, for every model and call, how often memory ran out
# before the call came through, and what was found wrong.
SCRIPT = """
import json, resource
import joblib, numpy as np
from sklearn.base import clone
from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua._data.blas import blas_threads

X = np.random.default_rng(0).standard_normal((120, 400))
FIRST, SECOND = X[:60], X[60:]
state = lambda model: joblib.hash(vars(model))

def runs_out(call, room):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, -1))
    try:
        call()
    except MemoryError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return False

def until_done(call, model, refused, done):
    failures, room = 0, 1 << 19
    while runs_out(call, room):
        assert state(model) == refused, f"changed with {room} bytes to spare"
        failures, room = failures + 1, room * 3 // 2
    assert state(model) == done, f"wrong with {room} bytes to spare"
    return failures

found, threads = [], blas_threads()
attenuated = AttenuatedPCACV(2, alphas=[0, 0.5])
corrected = CorrectedPCACV(2, corrections={"tempering": [0.5]})
for model, rows in ((attenuated, [FIRST, SECOND]), (attenuated, X), (corrected, X)):
    after = state(clone(model).fit(rows))
    one = clone(model).fit(FIRST)
    found.append(until_done(lambda: one.fit(rows), one, state(one), after))
assert blas_threads() == threads
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits and tells the memory of a process")
def test_memory_that_runs_out_changes_nothing():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        # One thread: a thread that cannot start is another error. Every array from the system, none from what
        # earlier fits gave back.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert min(json.loads(done.stdout)) >= 1
