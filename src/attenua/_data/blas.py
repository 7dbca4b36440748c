"""Threads of BLAS: how many there are, fewer of them for a while, and work that is spread over them.

Many small products and eigenproblems are slower on several threads than on one, and the threads of BLAS spin
while they wait, so that they take the cores from everybody else.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Job = TypeVar("Job")
Result = TypeVar("Result")


def blas_threads() -> int:
    """Return how many threads BLAS uses now."""
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


class _BlasLimits:
    """All limits that are in force in the process; the lowest counts, and the last to leave lifts it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._limits: Counter[int] = Counter()
        self._before: Any = None

    def enter(self, threads: int) -> bool:
        """Take a limit into force, unless BLAS keeps to it without; say whether it has to be left."""
        with self._lock:
            if not self._limits:
                if threads >= blas_threads():
                    return False
                self._before = _blas().limit(limits=blas_threads())
            # Also where a lower one is in force: that one may be left first, by another thread.
            self._limits[threads] += 1
            self._apply()
            return True

    def leave(self, threads: int) -> None:
        with self._lock:
            self._limits[threads] -= 1
            self._limits += Counter()  # drops what is zero
            if self._limits:
                self._apply()
            else:
                self._before.restore_original_limits()

    def _apply(self) -> None:
        lowest = min(self._limits)
        if lowest != blas_threads():
            for library in _blas().lib_controllers:
                library.set_num_threads(lowest)


_limits = _BlasLimits()


@contextmanager
def blas_limit(threads: int) -> Iterator[None]:
    """Let BLAS use no more than so many threads inside; limits may be nested, and the lowest counts."""
    entered = _limits.enter(threads)
    try:
        yield
    finally:
        if entered:
            _limits.leave(threads)


@cache
def _blas() -> ThreadpoolController:
    # To look for the libraries takes longer than a small fit; those of numpy and scipy are loaded by now.
    return ThreadpoolController().select(user_api="blas")


def in_order(function: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Iterator[Result]:
    """Yield ``function(job)`` for every job in turn, computed a few ahead by threads that share BLAS's.

    Blocks side by side keep all cores busy through reading, copying and multiplying; taking them in order
    makes the sums the same for any number of threads.
    """
    threads = blas_threads()
    workers = min(workers, threads)
    if workers <= 1:
        yield from map(function, jobs)
        return
    waiting: deque[Any] = deque()
    with blas_limit(threads // workers), ThreadPoolExecutor(workers) as pool:
        for job in jobs:
            waiting.append(pool.submit(function, job))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
