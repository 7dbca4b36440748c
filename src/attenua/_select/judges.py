r"""Judges of the candidates of a search: what each loses on every split.

PCA with d components is judged by the ranks around d: a held-out row loses the mean of its squared errors
with q = 1 to 2d components, with weights proportional to :math:`\min(q/d, d/q)`. What suits d components
suits its neighbours, and their errors together are much less noisy than one.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import Strengths
from attenua._data.missing import PartlySeen
from attenua._data.moments import Moments, in_data_units
from attenua._data.splits import SplitPair, Splits
from attenua._select.comparison import FoldRisk, held_out_risks, mean_loss, unequal_weights
from attenua._select.rule import PCA, CorrectedRule, Made
from attenua._solve import tuning
from attenua._solve.subspace import Subspace, rounding

Array = NDArray[np.float64]
GoesOn = Callable[[list[FoldRisk]], bool]

# Subspaces of the present candidate are kept, to begin others from, where splits are no more than this.
_KEPT_SPLITS = 20
# Corrected moments of a candidate are kept where the covariances of all splits take no more than this.
_KEPT_BYTES = 200 * 2**20
# A step, and a vote, must gain this part of PCA's risk: less matters to nobody, and costs further steps.
_LEAST_GAIN = 2e-4
# Beyond eigenvalues of this part of the largest, components of a training set are rounding errors.
_LEAST_VARIANCE = 1e-10


class Judge(Protocol):
    """Judges candidates by held-out rows. Losses of all candidates are in one unit.

    Attributes
    ----------
    base : Strengths
        The first candidate, which the others are compared with.
    prepared : mapping
        What the corrections made of their parameters, by the name of the correction.
    rounding_scale : float
        Differences of risks are rounding errors if they are below 1e-13 of this.
    least_gain : float
        Smallest gain that a step or a vote is taken for, as a part of the risk of `base`.
    unit : str
        Unit of gains: "" for parts of the risk of `base`, or "nats".
    """

    base: Strengths
    prepared: Mapping[str, Any]
    rounding_scale: float
    least_gain: float
    unit: str

    def judge(
        self, splits: Splits, candidate: Strengths, present: Strengths, goes_on: GoesOn | None
    ) -> list[FoldRisk]:
        """Return what a candidate loses on every split; the present one is not far from it.

        Or on the first splits, if `goes_on` is given and, called with these, says that they are enough.
        """

    def forget_all_but(self, present: Strengths) -> None:
        """Free what was kept of other candidates."""

    def reported(self, risks: Array) -> Array:
        """Return risks in the data's own units."""


class SubspaceJudge:
    """Judges leading subspaces by the squared errors of reconstructed rows.

    Parameters
    ----------
    rule : CorrectedRule
        Its parameters of columns are used, not its strengths.
    rank : int
        Number of components d.
    most : int
        Components that every training set allows.
    total : Moments
        Moments of all rows.
    n_jobs : int or None
        How many splits run in parallel.
    """

    base, least_gain, unit = PCA, _LEAST_GAIN, ""

    def __init__(self, rule: CorrectedRule, rank: int, most: int, total: Moments, *, n_jobs: Any = None):
        self._rule, self._rank, self._n_jobs = rule, rank, n_jobs
        self._weights = weights_of_ranks(rank, min(2 * rank, most))
        self._unit = total.unit
        self.prepared = rule.prepared
        self.rounding_scale = total.total_variance
        self._subspaces: dict[Strengths, Sequence[Subspace]] = {}
        self._made: dict[int, dict[str, Made]] = defaultdict(dict)  # of every split

    def judge(
        self, splits: Splits, candidate: Strengths, present: Strengths, goes_on: GoesOn | None
    ) -> list[FoldRisk]:
        """Return what a candidate loses on every split, or on the first ones if these are enough."""
        judge = partial(
            _judge_near,
            rule=self._rule.with_strengths([candidate]),
            rank=self._rank,
            weights=self._weights,
            near=self._subspaces.get(present),
            made=self._made if self._can_keep(splits) else None,
        )
        found = held_out_risks(splits, judge, self._n_jobs, goes_on=goes_on)
        if candidate == PCA:
            weights = self._allowed_weights(found)
            if not np.array_equal(weights, self._weights):
                self._weights = weights
                return self.judge(splits, candidate, present, goes_on)
        if len(found) == splits.n_splits <= _KEPT_SPLITS:
            self._subspaces[candidate] = [fold.subspaces[0] for fold in found]
        return [fold._replace(subspaces=()) for fold in found]

    def _allowed_weights(self, of_pca: list[FoldRisk]) -> Array:
        """Return the weights of the ranks that PCA of every training set allows."""
        risk = np.average([fold.reported[0] for fold in of_pca], weights=[fold.held for fold in of_pca])
        if risk <= _LEAST_VARIANCE * self.rounding_scale:
            # PCA loses nothing, so whatever suits lower ranks better would only lose.
            return np.eye(self._rank)[-1]
        fewest = min(_n_directions(fold.subspaces[0]) for fold in of_pca)
        return weights_of_ranks(self._rank, min(len(self._weights), fewest))

    def _can_keep(self, splits: Splits) -> bool:
        """Whether corrected moments are kept: they are of use only if those they are made of are, too."""
        entry = 4 if splits.total.suits_single_precision else 8
        return splits.keeps_pairs and entry * splits.n_splits * splits.n_features**2 <= _KEPT_BYTES

    def forget_all_but(self, present: Strengths) -> None:
        """Free the subspaces of other candidates."""
        for candidate in set(self._subspaces) - {present}:
            del self._subspaces[candidate]

    def reported(self, risks: Array) -> Array:
        """Return risks in the data's own units."""
        # Where risks are rounding errors, one that is estimated from the first splits may be below 0.
        reported: Array = in_data_units(np.maximum(risks, 0.0), self._unit)
        return reported


def _judge_near(
    pair: SplitPair,
    rule: CorrectedRule,
    rank: int,
    weights: Array,
    near: Sequence[Subspace] | None,
    made: dict[int, dict[str, Made]] | None,
) -> FoldRisk:
    """Judge a split; `near` has a subspace to begin from for every split, `made` the last moments."""
    training, held = pair.training, pair.held_out
    rule = replace(
        rule,
        near=None if near is None else near[pair.number],
        made=None if made is None else made[pair.number],
    )
    ((_, subspace),) = rule.subspaces(training, len(weights), exact=tuning.EXACTLY)
    lines = unequal_weights(held)
    if isinstance(held, PartlySeen):
        deciding = at_rank = held.squared_errors(subspace.basis, training.mean)
    elif rank == training.n_features:  # nothing is cut off, so every candidate reconstructs every row
        deciding = at_rank = np.zeros(len(held.weights_of_rows))
    else:
        errors = errors_by_rank(held, subspace, training.mean)
        deciding, at_rank = errors @ weights, errors[:, rank - 1]
    return FoldRisk(
        pair.number,
        deciding[:, None],
        held.weight,
        training.weight,
        [subspace.compact()],
        _is_tied(subspace, rank),
        lines,
        mean_loss(at_rank[:, None], lines),
    )


def weights_of_ranks(rank: int, most: int) -> Array:
    r"""Return weights of the ranks from 1 to at least d, proportional to :math:`\min(q/d, d/q)`."""
    ranks = np.arange(1, max(rank, most) + 1)
    weights = np.minimum(ranks / rank, rank / ranks)
    return weights / weights.sum()


def errors_by_rank(rows: Any, subspace: Subspace, centre: Any) -> Array:
    """Return the squared error of every row (lines) with the first 1, 2, ... columns of a basis."""
    squares, scores = rows.row_squares(centre), rows.row_scores(subspace.basis, centre)
    return np.maximum(squares[:, None] - np.cumsum(scores**2, axis=1), 0.0)


def _is_tied(subspace: Subspace, rank: int) -> bool:
    """Whether a cut at a rank falls on a tie."""
    values = subspace.values
    if rank == len(values):
        return subspace.tied
    return bool(values[rank - 1] - values[rank] <= rounding(len(subspace.frame), values[0]))


def _n_directions(subspace: Subspace) -> int:
    """Return how many of the leading eigenvalues are more than rounding errors."""
    return int(np.sum(subspace.values > _LEAST_VARIANCE * subspace.values[0]))
