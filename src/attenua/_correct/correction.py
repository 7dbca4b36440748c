"""What a correction is: one object that answers every question the rest of the package has about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from attenua._data.opening import FitData


class Limit(NamedTuple):
    """Why a strength cannot be used on some data, and whether the user should be warned."""

    why: str
    warn: bool = False


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A way to weaken one kind of noise by a strength; 0 changes nothing.

    Attributes
    ----------
    name : str
        Its key everywhere, and the parameter of :class:`attenua.CorrectedPCA`.
    kind : {"rows", "moments", "family", "estimate"}
        What it changes: the weights of rows, the moments, the member of the matrix family
        :math:`S - a D` that the solver decomposes, or the estimate of a whole covariance. At most one
        correction is of rows, and one of the family. The family comes last in the computation: moments of a
        correction that the registry lists after it must correct D as well (``part``), as those of smoothing
        do.
    strengths : tuple of float
        Strengths that the search compares, increasing.
    neutral : float
        One of them, which the search begins at: 0, unless something is always done.
    largest : float
        Largest strength: 1 for a fraction, infinity for the others.
    apply : callable or None
        For moments, ``apply(moments, strength, prepared)`` returns the corrected moments. For rows,
        ``apply(reweighter, strengths)`` returns the reweighted splits of each strength. For an estimate,
        ``apply(estimate, strength, sample)`` returns the corrected estimate, with what the sample says of
        itself. None for the family: the solver takes the strength as it is, and `prepared` as the groups of
        D.
    parameter : str
        Constructor parameter that it reads, or "".
    needs : str
        What to give as `parameter`, where it is required, or "".
    prepare : callable
        ``prepare(value, n_features)`` checks the value of `parameter`, if it is not None, and returns what
        is `prepared` above.
    check_names : callable
        ``check_names(prepared, names)`` raises if `prepared` has names of columns that are not those of the
        fitted data.
    stored : callable
        ``stored(value, n_features)`` returns what a model file holds for the value of `parameter`.
    limit : callable
        ``limit(strength, data, names)`` returns why a strength cannot be used on some rows, or None.
    about : callable
        ``about(strength, value)`` returns a sentence about a fit at a strength with a value of `parameter`,
        or "".
    weakens, how, price : str
        In words: what it weakens, how, and what that costs where it is wrong.
    colour : str
        Its colour in every picture.
    """

    name: str
    kind: Literal["rows", "moments", "family", "estimate"]
    strengths: tuple[float, ...]
    neutral: float = 0.0
    largest: float = 1.0
    apply: Callable[..., Any] | None = None
    parameter: str = ""
    needs: str = ""
    prepare: Callable[[Any, int], Any] = lambda value, n_features: None
    check_names: Callable[[Any, Any], None] = lambda prepared, names: None
    stored: Callable[[Any, int], Any] = lambda value, n_features: value
    limit: Callable[[float, FitData, Any], Limit | None] = lambda strength, data, names: None
    about: Callable[[float, Any], str] = lambda strength, value: ""
    weakens: str = ""
    how: str = ""
    price: str = ""
    colour: str = "#5a5a5a"

    @property
    def label(self) -> str:
        """The name as people write it."""
        return self.name.replace("_", " ")
