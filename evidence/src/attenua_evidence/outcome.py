"""Fits that say how they went. A fit that fails has no subspace, and no other takes its place."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Fit(NamedTuple):
    """A subspace: rows are reconstructed as ``mean + (x - mean) @ components.T @ components``.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        The method's own centre.
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows; there may be fewer than the rank.
    strengths : mapping of str to float
        Strength of each correction that the method chose.
    """

    mean: Array
    components: Array
    strengths: Mapping[str, float] = {}


@dataclass(frozen=True)
class Outcome:
    """What came of one fit.

    Attributes
    ----------
    status : {"fitted", "unsuited", "failed"}
        Only "fitted" has a subspace.
    note : str
        Why there is none, or what the method said: not converged, fewer components.
    fit : Fit or None
        The subspace.
    seconds : float
        Time of the fit.
    """

    status: str
    note: str = ""
    fit: Fit | None = field(default=None, repr=False)
    seconds: float = 0.0


def attempt(fit: Callable[[], Fit], rank: int) -> Outcome:
    """Call a fit and say how it went.

    Parameters
    ----------
    fit : callable
        Returns the subspace.
    rank : int
        Number of components.

    Raises
    ------
    ImportError, FileNotFoundError
        If the method's package is not installed, which does not count as a result.
    """
    called = call(fit, is_finite)
    if called.failure:
        return Outcome("failed", called.failure, seconds=called.seconds)
    said = called.said
    if len(called.found.components) < rank:
        said.append(f"{len(called.found.components)} of {rank} components")
    return Outcome("fitted", "; ".join(dict.fromkeys(said)), called.found, called.seconds)


class Called(NamedTuple):
    """What came of one call.

    Attributes
    ----------
    found : object
        What it returned; None where it failed.
    failure : str
        Why it failed, empty where it did not.
    error : Exception or None
        What it raised.
    warnings : list
        What it warned of.
    seconds : float
        How long it took.
    """

    found: Any
    failure: str
    error: Exception | None
    warnings: list[warnings.WarningMessage]
    seconds: float

    @property
    def said(self) -> list[str]:
        """First lines of warnings that are for users."""
        mine = [warning for warning in self.warnings if not _is_for_developers(warning)]
        return list(dict.fromkeys(_first_line(str(warning.message)) for warning in mine))


def call(function: Callable[[], Any], finite: Callable[[Any], bool]) -> Called:
    """Call a function of a package, whose errors are its answer.

    Parameters
    ----------
    function : callable
        What to call.
    finite : callable
        Says whether what it returns is finite; otherwise it failed.

    Raises
    ------
    ImportError, FileNotFoundError
        If the method's package is not installed, which does not count as a result.
    """
    start, found, raised = perf_counter(), None, None
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = function()
            failure = "" if finite(found) else "not finite"
        except (ImportError, FileNotFoundError):
            raise
        except Exception as error:  # whatever a package raises is its answer
            failure, raised = f"{type(error).__name__}: {_first_line(str(error))}", error
    return Called(None if failure else found, failure, raised, given, perf_counter() - start)


def is_finite(found: Fit) -> bool:
    """Say whether a subspace is finite."""
    return bool(np.isfinite(found.mean).all() and np.isfinite(found.components).all())


def _is_for_developers(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning)


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0]
