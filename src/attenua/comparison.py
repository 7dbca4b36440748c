"""Candidates of a rule compared by cross-validation: how well each reconstructs rows it was not fitted to.

Rules have the form "moments in, one subspace per candidate out". Ordinary PCA is always the first candidate,
and ties go to the first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from attenua.affine import Subspace
from attenua.axes import in_data_units
from attenua.moments import Moments, Rows, ScatterMoments
from attenua.sums import blas_limit, blas_threads

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

# Risks closer than this part of the total variance differ by rounding only.
ROUNDING = 1e-13
# Accuracy of the subspaces of the folds where they are found by iteration.
_ROUGH_SINE = 1e-5
# Bases that are judged together.
_BASES_BYTES = 64 * 2**20
# Up to this many columns, threads cost more than they save.
_SMALL_PROBLEM = 64
# Folds of rows in memory beyond this many are not all held at once; nor are so many added for every split.
MOST_PARTS = 20


class Rule(Protocol):
    """Moments in, one subspace per candidate out.

    A candidate is an entry of ``strengths``: a number, or a row of them (such as alpha and tempering).

    A rule that iterates may also have ``at(strengths, sine)``: the same rule at other strengths and another
    accuracy. Cross-validation then compares rough subspaces first and settles close calls exactly.
    """

    strengths: Array

    def subspaces(self, moments: Moments, rank: int) -> Iterable[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""


class SplitMoments:
    """Moments of all rows and of both sides of every split, from as few readings of the rows as possible.

    Where consecutive splits hold out every row once, as folds do, each row is read once for all of them, and
    a training set is the sum of the other parts. Elsewhere it is all rows less those held out, if it is that.

    Parameters
    ----------
    rows : Rows
        The data.
    splits : sequence of (training rows, held-out rows)
        The splits.
    """

    def __init__(self, rows: Rows, splits: Sequence[Split]):
        self._rows = rows
        self._splits = splits
        self.n_splits = len(splits)
        self._partitions = self._find_partitions() if rows.forms_scatter else []
        self._lock = Lock()
        self._parts_of: tuple[range, list[Any]] | None = None

    @cached_property
    def total(self) -> Any:
        """Moments of all rows."""
        if not self._partitions:
            return self._rows.moments()
        parts = self._parts(self._partitions[0])
        return type(parts[0]).sum(parts)

    def pair(self, number: int) -> tuple[Any, Any]:
        """Return the moments of the training and the held-out rows of a split."""
        unit = self.total.unit
        for partition in self._partitions:
            if number in partition:
                parts = self._parts(partition)
                position = partition.index(number)
                return _all_but(parts, position).in_unit(unit), parts[position].in_unit(unit)
        train, held_out = self._splits[number]
        held = self._rows.moments(held_out)
        counts = np.bincount(np.concatenate([train, held_out]), minlength=self._rows.n_samples)
        is_complement = (counts == 1).all()
        fitted = self.total - held if is_complement else self._rows.moments(train)
        return fitted.in_unit(unit), held.in_unit(unit)

    def _parts(self, partition: range) -> list[Any]:
        """Return the moments of the held-out sets of a partition; one partition is kept at a time."""
        with self._lock:
            if self._parts_of is None or self._parts_of[0] != partition:
                parts = [self._rows.moments(self._splits[number][1]) for number in partition]
                self._parts_of = (partition, parts)
            return self._parts_of[1]

    def _find_partitions(self) -> list[range]:
        """Return the runs of splits whose held-out sets are all rows, once each, and training the rest."""
        partitions, start = [], 0
        counts = np.zeros(self._rows.n_samples, dtype=int)
        for number, (train, held_out) in enumerate(self._splits):
            counts += np.bincount(held_out, minlength=len(counts))
            if len(train) + len(held_out) != len(counts) or counts.max() > 1:
                return []
            if counts.min() == 1:
                partitions.append(range(start, number + 1))
                start, counts = number + 1, np.zeros_like(counts)
        runs = [partition for partition in partitions if len(partition) <= MOST_PARTS]
        return runs if len(runs) == len(partitions) and start == len(self._splits) else []


class FoldMoments:
    """Moments of folds that hold every row once: what :class:`SplitMoments` is for rows that are gone.

    Parameters
    ----------
    held : sequence of Moments
        Moments of the rows of every fold.
    """

    def __init__(self, held: Sequence[Any]):
        self._held = list(held)
        self.n_splits = len(held)

    @cached_property
    def total(self) -> Any:
        """Moments of all rows."""
        return type(self._held[0]).sum(self._held) if self.n_splits > 1 else self._held[0]

    def pair(self, number: int) -> tuple[ScatterMoments, ScatterMoments]:
        """Return the moments of the training and the held-out rows of a split."""
        unit = self.total.unit
        held = self._held[number].in_unit(unit)
        if self.n_splits > MOST_PARTS:
            return self.total - held, held
        return _all_but(self._held, number).in_unit(unit), held


def _all_but(parts: Sequence[ScatterMoments], position: int) -> ScatterMoments:
    """Add up the other parts. To subtract this one would leave the rounding of its outliers behind."""
    others = [*parts[:position], *parts[position + 1 :]]
    return type(others[0]).sum(others)


@dataclass(frozen=True)
class CrossValidation:
    """Held-out reconstruction risks of every candidate.

    Attributes
    ----------
    strengths : ndarray of shape (n_candidates, ...)
        The candidates that were compared.
    risk : ndarray of shape (n_candidates,)
        Mean over all held-out rows.
    risk_folds : ndarray of shape (n_splits, n_candidates)
        Mean over the held-out rows of each split.
    held_to_training : float
        Held-out rows of a split divided by its training rows, on average.
    best : int
        Position of the chosen candidate.
    gains : ndarray of shape (n_candidates,)
        The part of the risk of PCA, the first candidate, that each removes.
    solvers : Counter
        How many subspaces each solver found.
    certified : bool
        Whether the accuracy of every one of them is proven.
    """

    strengths: Array
    risk: Array
    risk_folds: Array
    held_to_training: float
    best: int
    gains: Array
    solvers: Counter[str]
    certified: bool

    @property
    def chosen(self) -> Array:
        """The chosen candidate, as the only one of an array."""
        return self.strengths[[self.best]]

    @property
    def gain(self) -> float:
        """The part of the risk of PCA that the chosen candidate removes."""
        return float(self.gains[self.best])


class Comparison:
    """Candidates of a rule, compared by reconstruction of held-out rows: all at once, or in rounds.

    Rounds are for a rule that has ``at``.

    Parameters
    ----------
    moments : SplitMoments or FoldMoments
        Moments of both sides of every split.
    rule : Rule
        All candidates that may be compared; the first is ordinary PCA.
    rank : int
        Dimension of the subspaces.
    n_jobs : int, optional
        Splits that run side by side.
    """

    def __init__(self, moments: SplitMoments | FoldMoments, rule: Rule, rank: int, n_jobs: Any = None):
        self._moments = moments
        self._rule = rule
        self._rank = rank
        self._n_jobs = n_jobs
        self._total = moments.total  # before the threads start, so that it is read once
        self._risk_folds = np.full((moments.n_splits, len(rule.strengths)), np.inf)
        self._doubt_folds = np.zeros_like(self._risk_folds)
        self._settled = np.zeros(len(rule.strengths), dtype=bool)
        self._weights = np.ones(moments.n_splits)
        self._solvers: Counter[str] = Counter()
        self._certified = True

    @property
    def strengths(self) -> Array:
        """All candidates that may be compared."""
        return self._rule.strengths

    @property
    def variances(self) -> Array:
        """Variances of the columns over all rows."""
        return self._total.variances

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return self._total.weight

    @property
    def risk(self) -> Array:
        """Mean over all held-out rows, for every candidate; infinite for those not compared yet."""
        return self._weights @ self._risk_folds / self._weights.sum()

    @property
    def best(self) -> int:
        """Position of the first candidate whose risk is the least, up to rounding."""
        return smallest_strength_at_minimum(self.risk, self._total.total_variance)

    def add(self, places: NDArray[np.intp]) -> None:
        """Compare the candidates at some positions with those that came before."""
        if not len(places):
            return
        rule, iterates = self._rule, hasattr(self._rule, "at")
        self._measure(places, rule.at(rule.strengths[places], _ROUGH_SINE) if iterates else rule)
        doubt = self._weights @ self._doubt_folds / self._weights.sum()
        close = self.risk - doubt <= np.min(self.risk + doubt)
        rough = np.flatnonzero(close & ~self._settled & (doubt > 0))
        if iterates and close.sum() > 1 and len(rough):
            # The choice among these must not hang on how far their subspaces were iterated.
            self._measure(rough, rule.at(rule.strengths[rough]))
            self._settled[rough] = True

    def of_all(self) -> CrossValidation:
        """Compare all candidates at once and return what came out."""
        self.add(np.arange(len(self.strengths)))
        return self.result()

    def _measure(self, places: NDArray[np.intp], rule: Rule) -> None:
        folds = _held_out_risks(self._moments, rule, self._rank, self._n_jobs)
        self._risk_folds[:, places] = np.stack([fold.risk for fold in folds])
        self._doubt_folds[:, places] = np.stack([fold.doubt for fold in folds])
        self._weights = np.array([fold.weight for fold in folds])
        self._solvers = sum((fold.solvers for fold in folds), self._solvers)
        self._certified &= all(fold.certified for fold in folds)

    def result(self) -> CrossValidation:
        """Return the risks of the candidates compared so far, and the choice among them."""
        risk, total = self.risk, self._total
        compared = np.flatnonzero(risk != np.inf)
        return CrossValidation(
            self._rule.strengths[compared],
            in_data_units(risk[compared], total),
            in_data_units(self._risk_folds[:, compared], total),
            float(np.mean(self._weights) / (total.weight - np.mean(self._weights))),
            int(np.searchsorted(compared, self.best)),
            1 - risk[compared] / risk[0] if risk[0] > 0 else np.zeros(len(compared)),
            self._solvers,
            self._certified,
        )


class _Fold(NamedTuple):
    """What one split says: the risk of every candidate, a bound of its error, and the held-out weight."""

    risk: Array
    doubt: Array
    weight: float
    solvers: Counter[str]
    certified: bool


def _held_out_risks(moments: SplitMoments | FoldMoments, rule: Rule, rank: int, n_jobs: Any) -> list[_Fold]:
    """Judge the strengths on every split, several splits side by side.

    Left to itself BLAS spreads every small product over its threads, which costs more than it saves; the same
    threads, one or a few for each split, are used better. The last splits, if fewer, share all of them.
    """
    threads, n_splits = blas_threads(), moments.n_splits
    side_by_side = min(threads, n_splits) if n_jobs is None else effective_n_jobs(n_jobs)
    if n_jobs is None and moments.total.n_features <= _SMALL_PROBLEM:
        threads = side_by_side = 1
    whole = n_splits - n_splits % side_by_side
    folds = []
    for numbers in (range(whole), range(whole, n_splits)):
        at_once = max(min(side_by_side, len(numbers)), 1)
        with blas_limit(max(threads // at_once, 1)):
            folds += Parallel(n_jobs=at_once, prefer="threads")(
                delayed(_held_out_risk)(moments, number, rule, rank) for number in numbers
            )
    return folds


def _held_out_risk(moments: SplitMoments | FoldMoments, number: int, rule: Rule, rank: int) -> _Fold:
    r"""Judge every strength by the held-out rows of a split.

    A subspace whose angle to the exact one has a sine of at most :math:`\varepsilon` gives a risk that is off
    by at most :math:`2\varepsilon \|(I - UU^\top) M U\|_F + 2\varepsilon^2 \operatorname{tr} M`, where M is
    the second moment of the held-out rows about the training mean.
    """
    train, held = moments.pair(number)
    risk, doubt = np.empty(len(rule.strengths)), np.empty(len(rule.strengths))
    solvers, certified = Counter(), True
    offset = held.mean - train.mean
    second_moment = held.total_variance + float(offset @ offset)
    for some in _few_at_once(rule.subspaces(train, rank), train.n_features * rank):
        positions, subspaces = zip(*some, strict=True)
        risk[list(positions)], coupling = held.reconstruction_errors([s.basis for s in subspaces], train.mean)
        sine = np.array([s.sine for s in subspaces])
        doubt[list(positions)] = 2 * sine * coupling + 2 * sine**2 * second_moment
        solvers.update(s.solver for s in subspaces)
        certified &= all(s.certified for s in subspaces)
    return _Fold(risk, doubt, held.weight, solvers, certified)


def _few_at_once(
    subspaces: Iterable[tuple[int, Subspace]], entries: int
) -> Iterator[list[tuple[int, Subspace]]]:
    """Yield lists of subspaces whose bases together take little memory."""
    left = iter(subspaces)
    while some := list(islice(left, max(_BASES_BYTES // (8 * entries), 1))):
        yield some


def smallest_strength_at_minimum(risk: Array, total_variance: float) -> int:
    """Return the first position whose risk is the least, up to rounding."""
    return int(np.argmax(risk <= risk.min() + ROUNDING * total_variance))
