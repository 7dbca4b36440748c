"""Threads of BLAS: how many there are, fewer of them for a while, and work that is spread over them.

Many small products and eigenproblems are slower on several threads than on one, and the threads of BLAS spin
while they wait, for some 30 ms after a call, which takes the cores from other work. So a small fit has one of
them from beginning to end, and spreads its splits over the cores by threads of its own.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from threading import RLock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

# A fit whose covariance takes no more multiplications than this is small.
_SMALL_FIT = 3_000_000_000

Job = TypeVar("Job")
Result = TypeVar("Result")


def blas_threads() -> int:
    """Return how many threads BLAS uses now."""
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


def free_threads() -> int:
    """Return how many threads BLAS would use without the limits of this module."""
    return _limits.before or blas_threads()


class _BlasLimits:
    """All limits in force in the process: the lowest counts, and the last to leave restores the threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._limits: dict[object, int] = {}
        self._before: list[tuple[Any, int]] = []
        if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
            self._register_at_fork()

    @property
    def before(self) -> int:
        """Threads that BLAS had before the first limit in force; 0 without limits."""
        return max((threads for _, threads in self._before), default=0)

    def enter(self, key: object, threads: int) -> None:
        """Take a limit into force, unless BLAS keeps to it without."""
        self._alone(partial(self._add, key, threads))

    def leave(self, key: object) -> None:
        """Take a limit out of force; one that is not in force may be left, too."""
        self._alone(partial(self._remove, key))

    def _alone(self, change: Callable[[], None]) -> None:
        """Make a change that no other thread may see half done.

        From Python 3.14 on, an interrupt may come between ``with lock`` and its block, and leave the lock
        behind. Here the lock is taken and noted within one call of C, which lets none in.
        """
        taken: list[bool] = []
        try:
            taken.extend(map(self._lock.acquire, (True,)))
            change()
        finally:
            if taken:
                self._lock.release()

    def _add(self, key: object, threads: int) -> None:
        if not self._limits:
            if threads >= blas_threads():
                return
            self._before = [(library, library.num_threads) for library in _blas().lib_controllers]
        # Also where a lower one is in force: that one may be left first, by another thread.
        self._limits[key] = threads
        self._apply()

    def _remove(self, key: object) -> None:
        self._limits.pop(key, None)
        self._apply()
        if not self._limits:
            self._before = []

    def _apply(self) -> None:
        for library, threads in self._before:
            _set_threads(library, min([threads, *self._limits.values()]))

    def _register_at_fork(self) -> None:
        """Lift all limits around a fork, so that the child, where nothing would lift them, starts without.

        Not in the child: there BLAS may wait for a lock that a thread of the parent held.
        """
        os.register_at_fork(before=self._lift, after_in_parent=self._apply, after_in_child=self._forget)
        # What is registered last is called first before a fork, and last after it. Python lets interrupts in
        # where a function of its own begins; these are C's, so that the lock cannot be left behind.
        os.register_at_fork(
            before=self._lock.acquire,
            after_in_parent=self._lock.release,
            after_in_child=self._lock._at_fork_reinit,  # type: ignore[attr-defined]
        )

    def _lift(self) -> None:
        for library, threads in self._before:
            _set_threads(library, threads)

    def _forget(self) -> None:
        self._limits, self._before = {}, []


def _set_threads(library: Any, threads: int) -> None:
    """Set the number of threads of the process, from any thread.

    From threadpoolctl 3.8 on, the first thread to set that of OpenBLAS is the only one that may, while it
    lives. Calls from other threads would be ignored silently, even those that lift a limit.
    """
    if library.num_threads != threads:
        allow_this_thread = getattr(library, "clear_controlling_thread", lambda force: None)
        allow_this_thread(force=True)
        library.set_num_threads(threads)
        allow_this_thread(force=True)


_limits = _BlasLimits()


@contextmanager
def blas_limit(threads: int) -> Iterator[None]:
    """Limit the threads of BLAS inside; limits may be nested, and the lowest counts."""
    key = object()
    try:
        _limits.enter(key, threads)
        yield
    finally:
        try:
            _limits.leave(key)
        finally:
            _limits.leave(key)  # again: an interrupt may have ended the first


def limit_for_fit(n_samples: int, n_features: int) -> AbstractContextManager[None]:
    """Return a limit to one thread for a fit of few rows and columns, or none."""
    work = n_samples * n_features * min(n_samples, n_features)
    return blas_limit(1) if work <= _SMALL_FIT else nullcontext()


@cache
def _blas() -> ThreadpoolController:
    # To look for the libraries takes longer than a small fit; those of numpy and scipy are loaded by now.
    return ThreadpoolController().select(user_api="blas")


def in_order(function: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Iterator[Result]:
    """Yield ``function(job)`` for every job in turn, computed a few ahead by threads that share BLAS's.

    Jobs side by side keep all cores busy through reading, copying and multiplying; taking them in order
    makes sums the same for any number of threads.
    """
    with blas_limit(max(free_threads() // workers, 1)):
        if workers <= 1:
            yield from map(function, jobs)
            return
        waiting: deque[Any] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for job in jobs:
                waiting.append(pool.submit(function, job))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
