"""Robust PCA of R's rrcov: one R process fits many matrices, each within a time limit.

``apt-get install --no-install-recommends r-cran-rrcov`` brings R and the package on Debian. Python writes the
rows to a binary file, asks for a fit in one line and reads one line back; ``rrcov_fits.R`` is the other side.
"""

import atexit
import os
import queue
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

METHODS = ("PcaHubert", "PcaLocantore")
_START_LIMIT = 120.0  # seconds to load R and its package on a busy machine
LIMIT = 300.0  # seconds after which a fit is taken to hang


P = TypeVar("P", bound="RProcess")


class RFitError(RuntimeError):
    """A fit that R gave up, with R's own words."""


class RProcess:
    """An R process that fits one matrix after another, by a script of ours that loads one package.

    It starts with the first fit, and again with the next one after it crashed or ran past a limit.

    Parameters
    ----------
    command : str, default="Rscript"
        How R's script runner is called.

    Attributes
    ----------
    notes : str
        The warnings that R gave in the last fit.
    """

    package: ClassVar[str]
    debian: ClassVar[str]  # the package that brings it on Debian
    script: ClassVar[str]  # beside this file
    methods: ClassVar[tuple[str, ...]]

    def __init__(self, command: str = "Rscript"):
        self.command = command
        self.notes = ""
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def numbers(self, method: str, X: Array, rank: int, limit: float) -> tuple[int, Array]:
        """Return how many components R found, and all the numbers that its script wrote.

        Raises
        ------
        RFitError
            If R reports an error, or dies.
        TimeoutError
            If the limit has passed.
        FileNotFoundError, ModuleNotFoundError
            If there is no R, or not the package.
        """
        if method not in self.methods:
            raise ValueError(f"method must be one of {self.methods}; got {method!r}.")
        X, self.notes = np.asarray(X, dtype=float), ""
        folder = self._started()
        X.ravel(order="F").tofile(folder / "rows.bin")
        answer, *fields = self._ask(f"{method} {X.shape[0]} {X.shape[1]} {rank}", limit)
        if answer == "failed":
            raise RFitError(fields[0])
        n_found, self.notes = int(fields[0]), fields[1]
        return n_found, np.fromfile(folder / "fit.bin")

    def close(self) -> None:
        """End the process, if there is one, and remove its files."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._process = self._folder = None

    def _started(self) -> Path:
        """Return the folder of a process that runs, started if need be."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._folder = tempfile.TemporaryDirectory(prefix=f"{self.package}-")
            self._lines = queue.SimpleQueue()
            self._process = subprocess.Popen(
                [self.command, "--vanilla", str(Path(__file__).with_name(self.script)), self._folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=_forward, args=(self._process, self._lines), daemon=True).start()
            try:
                self._answer(_START_LIMIT)
            except RFitError:
                message = f"R has no {self.package}; {self.debian} on Debian brings it."
                raise ModuleNotFoundError(message) from None
        assert self._folder is not None
        return Path(self._folder.name)

    def _ask(self, request: str, limit: float) -> list[str]:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it died between two fits; the answer says so
        return self._answer(limit)

    def _answer(self, limit: float) -> list[str]:
        """Return the fields of the next answer; a process without one is ended, since it may be stuck."""
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise TimeoutError(f"R did not answer within {limit:g} seconds.") from None
        except BaseException:  # an interrupt: the answer to come would be taken for the next one's
            self.close()
            raise
        if not line:
            self.close()
            raise RFitError("R ended without an answer.")
        return line.rstrip("\n").split("\t")[1:]


class RrcovProcess(RProcess):
    """The process that loads rrcov."""

    package, debian, script, methods = "rrcov", "r-cran-rrcov", "rrcov_fits.R", METHODS

    def fit(self, method: str, X: Array, rank: int, *, limit: float = LIMIT) -> tuple[Array, Array]:
        """Fit one matrix.

        Parameters
        ----------
        method : {"PcaHubert", "PcaLocantore"}
            The function of rrcov.
        X : ndarray of shape (n_samples, n_features)
            The rows.
        rank : int
            Number of components; R may find fewer.
        limit : float, default=LIMIT
            Seconds after which R is stopped; its start does not count.

        Returns
        -------
        centre : ndarray of shape (n_features,)
            R's robust centre.
        components : ndarray of shape (n_found, n_features)
            R's loadings, as rows.

        Raises
        ------
        RFitError
            If R reports an error, or dies.
        TimeoutError
            If the limit has passed.
        FileNotFoundError, ModuleNotFoundError
            If there is no R, or no rrcov.
        """
        n_found, numbers = self.numbers(method, X, rank, limit)
        return numbers[: X.shape[1]], numbers[X.shape[1] :].reshape(n_found, X.shape[1])


def _forward(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str]") -> None:
    """Pass on the answers among the lines of a process, and an empty one at its end."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("answer\t"):
                lines.put(line)
    except ValueError:  # closed meanwhile
        pass
    lines.put("")


def shared_process() -> RrcovProcess:
    """Return the R process of this Python process, ended with it; a fork gets its own."""
    return process_of(RrcovProcess, os.getpid())


@cache
def process_of(kind: type[P], pid: int) -> P:
    """Return the process of a kind that a Python process shares."""
    process = kind()
    atexit.register(process.close)
    return process
