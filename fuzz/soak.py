"""Ask whether many random fits in one process leave memory, threads, files or children behind.

    python fuzz/soak.py --minutes 60 --seed 0 --out soak.csv

Problems are those of `problems.py` at larger sizes, up to about a second each, in all containers. Each is
fitted and dropped. Every minute (or `--every` seconds) the memory of the process is noted after a collection,
with the objects that Python's collector tracks, the threads, the open files and the children. The end says
whether any of them grows. It runs on Linux with glibc.

Problems of all sizes leave gaps in the allocator's pages, so that the resident memory creeps up for a long
time with nothing lost. What is judged is the memory in use, which the allocator counts; the resident one is
noted and told.

Memory and objects are said to grow if their Theil-Sen slope after the warm-up is above `ALLOWED` per hour
*and* above two of its standard errors: caches fill, so a few megabytes an hour mean nothing, and a short run
has a slope by chance. An hour has some ten thousand fits: one object left behind by
each of them is found. Threads, files and children must not be more at the end than they were after the
warm-up.
"""

import settings  # isort: skip  # before numpy

import argparse
import csv
import ctypes
import gc
import io
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from checks import fit
from containers import CONTAINERS, filled, is_installed
from problems import draw

# How much an hour may add.
ALLOWED = {"megabytes": 20.0, "objects": 2_000.0}
# Rows and columns at most: a fit takes up to about a second.
MOST = (500, 128)
# The part of the records that is warm-up: imports, pools of threads, buffers of allocators.
WARM_UP = 0.25
FIELDS = (
    "seconds",
    "fits",
    "resident",
    "megabytes",
    "objects",
    "python_threads",
    "threads",
    "files",
    "children",
)


class MallocInfo(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns: bytes in all arenas, and those mapped for large blocks alone."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def record(started, n_fits):
    """Return what the process holds now; ``megabytes`` are those in use."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = MallocInfo
    libc.malloc_trim(0)  # so that whole free pages are given back
    allocated = libc.mallinfo2()
    process = Path("/proc/self")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    tasks = list((process / "task").iterdir())
    children = sum(len((task / "children").read_text().split()) for task in tasks)
    return {
        "seconds": round(time.monotonic() - started, 1),
        "fits": n_fits,
        "resident": int(status["VmRSS"].split()[0]) / 1024,
        "megabytes": (allocated.uordblks + allocated.hblkhd) / 2**20,
        "objects": len(gc.get_objects()),
        "python_threads": threading.active_count(),
        "threads": len(tasks),
        "files": len(os.listdir(process / "fd")) - 1,  # less the folder that is listed
        "children": children,
    }


def slope_of(x, y):
    """Return the Theil-Sen slope, the median over all pairs, and its standard error.

    The error is that of the median's rank: half the distance between the slopes a standard deviation of
    Kendall's statistic to either side.
    """
    first, second = np.triu_indices(len(x), 1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    n, N = len(x), len(slopes)
    ranks = np.sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2
    low, high = (int(np.clip(N / 2 + side * ranks, 0, N - 1)) for side in (-1, 1))
    return float(np.median(slopes)), float(slopes[high] - slopes[low]) / 2


def grows(records):
    """Return what grew, in words."""
    after = records[int(WARM_UP * len(records)) :]
    if len(after) < 4:
        return ["nothing can be said: give it more minutes, or more records"]
    hours = np.array([row["seconds"] for row in after]) / 3600
    found = []
    print(
        f"resident: {after[0]['resident']:.1f} MB after the warm-up, {after[-1]['resident']:.1f} at the end"
    )
    for what, allowed in ALLOWED.items():
        slope, error = slope_of(hours, np.array([row[what] for row in after]))
        print(f"{what}: {slope:+.1f} an hour, standard error {error:.1f}; allowed are {allowed:g}")
        if slope > max(allowed, 2 * error):
            found.append(f"{what}, by {slope:.1f} an hour")
    for what in FIELDS[5:]:
        # The most in the first half: pools of threads reach their size sooner or later.
        before, last = max(row[what] for row in after[: len(after) // 2]), after[-1][what]
        print(f"{what}: at most {before} in the first half, {last} at the end")
        if last > before:
            found.append(f"{what}, from {before} to {last}")
    return found


def soak(seconds, seed, every):
    """Fit random problems for some seconds, and return the records."""
    for name in filter(is_installed, CONTAINERS):
        with tempfile.TemporaryDirectory() as folder:
            filled(name, np.eye(3), 0, folder)  # imports do not count as growth
    started, n_fits, records = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        while (now := time.monotonic() - started) < seconds or not records:
            problem = draw(seed, MOST)
            seed += 1
            if is_installed(problem.container):
                try:
                    with settings.strictly(dispatch=CONTAINERS[problem.container].is_device):
                        repr(fit(problem, folder).components_)
                except Exception as error:
                    error.add_note(f"at {problem}")
                    raise
                n_fits += 1
            if now >= every * len(records):
                records.append(record(started, n_fits))
                print(", ".join(f"{name} {value:g}" for name, value in records[-1].items()), flush=True)
    return records


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=float, default=60, help="seconds between records")
    parser.add_argument("--out", type=Path, default=Path("soak.csv"))
    given = parser.parse_args(arguments)
    records = soak(60 * given.minutes, given.seed, given.every)
    write(given.out, records)
    found = grows(records)
    print(f"{records[-1]['fits']} fits: " + (f"grows: {'; '.join(found)}" if found else "nothing grows"))
    return 1 if found else 0


def write(path, records):
    """Write the records as a table, whole or not at all."""
    from attenua._files import write_whole

    table = io.StringIO()
    rows = csv.DictWriter(table, FIELDS)
    rows.writeheader()
    rows.writerows(records)
    write_whole(path, table.getvalue().encode())


if __name__ == "__main__":
    sys.exit(main())
