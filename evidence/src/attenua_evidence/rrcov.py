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

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

METHODS = ("PcaHubert", "PcaLocantore")
_SCRIPT = Path(__file__).with_name("rrcov_fits.R")
_START_LIMIT = 120.0  # seconds to load R and rrcov on a busy machine
LIMIT = 300.0  # seconds after which a fit is taken to hang


class RFitError(RuntimeError):
    """A fit that R gave up, with R's own words."""


class RrcovProcess:
    """An R process that fits one matrix after another.

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

    def __init__(self, command: str = "Rscript"):
        self.command = command
        self.notes = ""
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "RrcovProcess":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

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
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}; got {method!r}.")
        X, self.notes = np.asarray(X, dtype=float), ""
        folder = self._started()
        X.ravel(order="F").tofile(folder / "rows.bin")
        answer, *fields = self._ask(f"{method} {X.shape[0]} {X.shape[1]} {rank}", limit)
        if answer == "failed":
            raise RFitError(fields[0])
        n_found, self.notes = int(fields[0]), fields[1]
        numbers = np.fromfile(folder / "fit.bin")
        return numbers[: X.shape[1]], numbers[X.shape[1] :].reshape(n_found, X.shape[1])

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
            self._folder = tempfile.TemporaryDirectory(prefix="rrcov-")
            self._lines = queue.SimpleQueue()
            self._process = subprocess.Popen(
                [self.command, "--vanilla", str(_SCRIPT), self._folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=_forward, args=(self._process, self._lines), daemon=True).start()
            try:
                self._answer(_START_LIMIT)
            except RFitError:
                raise ModuleNotFoundError("R has no rrcov; r-cran-rrcov on Debian brings it.") from None
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
    return _process_of(os.getpid())


@cache
def _process_of(pid: int) -> RrcovProcess:
    process = RrcovProcess()
    atexit.register(process.close)
    return process
