"""Time and memory of calls, in a process of their own that is ended where one takes too long."""

import multiprocessing
import re
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def memory_of(call):
    """Return the bytes that a call adds to the memory in use, at its peak. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = peak_resident()
    call()
    return peak_resident() - before


def peak_resident():
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


class Bench:
    """A process with some calls; it is started again after one that took too long.

    `prepare` is called in the process and returns the calls by name. A call has `limit` seconds; `threads`
    are those of BLAS and OpenMP, None leaves them as they are.
    """

    def __init__(self, prepare, limit, threads):
        self._prepare, self._limit, self._threads = prepare, limit, threads
        self._process = None

    def close(self):
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def measure(self, measure, name):
        """Measure a call: infinite where it took too long, not a number where it failed."""
        try:
            if self._process is None:
                self._start()
            self._pipe.send((measure, name))
            if self._pipe.poll(self._limit):
                return self._pipe.recv()
        except (EOFError, ConnectionError):
            self.close()
            return np.nan
        self.close()
        return np.inf

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, self._prepare, self._threads)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()


def _serve(pipe, prepare, threads):
    warnings.simplefilter("ignore")
    with threadpool_limits(threads):
        calls = prepare()
        pipe.send("ready")
        while True:
            measure, name = pipe.recv()
            pipe.send(measure(calls[name]))
