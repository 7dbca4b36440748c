"""Candidates of a rule compared by cross-validation: how well each reconstructs rows it was not fitted to.

Ordinary PCA is always the first candidate, and ties go to the first.
"""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib import effective_n_jobs
from numpy.typing import NDArray

from attenua._data.blas import free_threads, in_order
from attenua._data.missing import PartlySeen
from attenua._data.moments import Moments, in_data_units
from attenua._data.namespace import to_host
from attenua._data.splits import SplitPair, Splits
from attenua._select.progress import in_parts
from attenua._select.rule import Rule
from attenua._solve import tuning
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]

# Risks closer than this part of the total variance differ by rounding only.
ROUNDING = 1e-13
# Up to this many columns, times the third root of the candidates, threads cost more than they save.
_SMALL_PROBLEM = 100
# The part of the splits that may show that a candidate is not worth the others.
_FIRST_PART = 0.4


@dataclass(frozen=True)
class CrossValidation:
    """Held-out reconstruction risks of every candidate; the first is PCA."""

    strengths: Sequence[Any] | Array  # the candidates
    risk: Array  # of each candidate: mean over all held-out rows
    risk_folds: Array  # of each split and candidate: mean over its held-out rows
    gains: Array  # part of PCA's risk that each candidate removes
    best: int  # position of the first candidate whose risk is the least, up to rounding
    held_out_ratio: float  # mean over the splits of held-out rows per training row
    n_tied: int  # training sets in which the cut falls on a tie for PCA


def cross_validate(moments: Splits, rule: Rule, rank: int, n_jobs: Any = None) -> CrossValidation:
    """Compare all candidates of a rule by how well they reconstruct held-out rows."""
    judge = partial(judge_subspaces, rule=rule, rank=rank)
    folds = held_out_risks(moments, judge, n_jobs, n_candidates=len(rule.strengths))
    risk_folds = np.stack([fold.risk for fold in folds])
    risk = np.average(risk_folds, axis=0, weights=[fold.held for fold in folds])
    return CrossValidation(
        rule.strengths,
        in_data_units(risk, moments.total.unit),
        in_data_units(risk_folds, moments.total.unit),
        1 - risk / risk[0] if risk[0] > 0 else np.zeros(len(risk)),
        smallest_strength_at_minimum(risk, moments.total.total_variance),
        held_out_ratio(folds),
        sum(fold.is_tied for fold in folds),
    )


class FoldRisk(NamedTuple):
    """What candidates lose on one split: one line for each held-out row, or one for all of them together."""

    number: int
    losses: Array  # a column for each candidate
    held: float  # weights of both sides
    training: float
    subspaces: Sequence[Subspace] = ()  # of the candidates, if kept
    is_tied: bool = False  # whether the cut falls on a tie for the first candidate
    weights: Array | None = None  # of the lines, if they differ
    at_rank: Array | None = None  # risks of candidates that the losses judge by the ranks around it as well

    @property
    def risk(self) -> Array:
        """Mean over the held-out rows of what each candidate loses."""
        return mean_loss(self.losses, self.weights)

    @property
    def reported(self) -> Array:
        """The risk that a user asked for: of PCA, that at the number of components."""
        return self.risk if self.at_rank is None else self.at_rank


def unequal_weights(rows: Any) -> Array | None:
    """Return the weights of held-out rows, or None if all are the same."""
    weights: Array = rows.weights_of_rows
    return weights if np.ptp(weights) > 0 else None


def mean_loss(losses: Array, weights: Array | None) -> Array:
    """Return the mean over held-out rows, which are the first axis."""
    mean: Array = losses.mean(axis=0) if weights is None else weights @ losses / weights.sum()
    return mean


def held_out_ratio(folds: Sequence[FoldRisk]) -> float:
    """Return the mean over splits of held-out rows per training row."""
    return float(np.mean([fold.held / fold.training for fold in folds]))


def held_out_risks(
    moments: Splits,
    judge: Callable[[SplitPair], FoldRisk],
    n_jobs: Any = None,
    n_candidates: int = 1,
    goes_on: Callable[[list[FoldRisk]], bool] | None = None,
) -> list[FoldRisk]:
    """Judge every split, several in parallel; return them in the order of the splits.

    After two fifths of the splits, ``goes_on(found)``, if given, says whether the others are worth it.

    BLAS would spread every small product over its threads, which costs more than it saves. So every split
    gets one of these threads, or a few.
    """
    n_parallel = min(_number_of_threads(n_jobs), moments.n_splits)
    is_small = moments.n_features * n_candidates ** (1 / 3) <= _SMALL_PROBLEM
    if n_jobs is None and (is_small or moments.on_device):
        n_parallel = 1  # a device is kept busy by one thread
    judge = partial(_in_worker, sklearn.get_config(), judge)
    pairs = iter(moments.pairs())
    if goes_on is not None or n_candidates > 1:  # not the base alone, which is no part of a search
        pairs = in_parts(pairs, moments.n_splits)
    n_first = moments.n_splits if goes_on is None else ceil(_FIRST_PART * moments.n_splits)
    found = list(in_order(judge, islice(pairs, n_first), n_parallel))
    if goes_on is not None and (tuning.EXACTLY or goes_on(found)):
        found += in_order(judge, pairs, n_parallel)
    return found


def _number_of_threads(n_jobs: Any) -> int:
    """Return how many splits may run in parallel."""
    if n_jobs is None:
        return free_threads()
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def _in_worker(config: dict[str, Any], judge: Callable[[SplitPair], FoldRisk], pair: SplitPair) -> FoldRisk:
    """Judge a split with the settings of scikit-learn that the caller has; each thread has its own."""
    with sklearn.config_context(**config):
        return judge(pair)


def judge_subspaces(pair: SplitPair, rule: Rule, rank: int) -> FoldRisk:
    """Judge every candidate of a rule by how well it reconstructs the held-out rows of a split."""
    training, held = pair.training, pair.held_out
    found = dict(rule.subspaces(training, rank, exact=tuning.EXACTLY))
    subspaces = [found[place] for place in range(len(rule.strengths))]
    if rank == training.n_features:  # nothing is cut off, so every candidate reconstructs every row
        losses = np.zeros(len(subspaces))
    elif isinstance(held, PartlySeen):
        losses = mean_loss(row_losses(held, subspaces, training.mean), unequal_weights(held))
    else:
        losses = reconstruction_errors(held, subspaces, training.mean)
    return FoldRisk(pair.number, losses[None, :], held.weight, training.weight, is_tied=subspaces[0].tied)


def row_losses(rows: Any, subspaces: Sequence[Subspace], centre: Any) -> Array:
    r"""Return :math:`\|(I - UU^\top)(x - c)\|^2` of every row (lines) for every subspace (columns).

    Of rows with missing cells, it is the error in the seen ones.
    """
    if isinstance(rows, PartlySeen):
        return np.column_stack([rows.squared_errors(subspace.basis, centre) for subspace in subspaces])
    squares = rows.row_squares(centre)
    scores: dict[int, Array] = {}
    losses = np.empty((len(squares), len(subspaces)))
    for i, subspace in enumerate(subspaces):
        key = id(subspace.frame)
        if key not in scores:
            scores[key] = rows.row_scores(subspace.frame, centre)
        own = scores[key] if subspace.coordinates is None else scores[key] @ subspace.coordinates
        losses[:, i] = np.maximum(squares - np.sum(own**2, axis=1), 0.0)
    return losses


def reconstruction_errors(rows: Moments, subspaces: Sequence[Subspace], centre: Any) -> Array:
    r"""Return the mean over rows of :math:`\|(I - UU^\top)(x - c)\|^2` for every subspace.

    The rows are projected once on a frame that several subspaces share.
    """
    total = rows.total_about(centre)
    within: dict[int, Array] = {}
    errors = np.empty(len(subspaces))
    for i, subspace in enumerate(subspaces):
        key = id(subspace.frame)
        if key not in within:
            within[key] = to_host(rows.compress_about(subspace.frame, centre))
        Y = subspace.coordinates
        captured = np.trace(within[key]) if Y is None else np.sum(Y * (within[key] @ Y))
        # The sums agree to rounding when the subspace holds everything; an error is never negative.
        errors[i] = max(total - captured, 0.0)
    return errors


def smallest_strength_at_minimum(risk: Array, total_variance: float) -> int:
    """Return the first position whose risk is the least, up to rounding."""
    return int(np.argmax(risk <= risk.min() + ROUNDING * total_variance))


def gain_error(differences: Array, held_out_ratio: float) -> Any:
    r"""Return the standard error of the mean of differences over splits (rows); NaN for one split.

    .. math::

        \mathrm{se}^2 = \Bigl(\frac1J + \frac{n_{\mathrm{held}}}{n_{\mathrm{training}}}\Bigr)\, s_d^2

    for :math:`J` differences of variance :math:`s_d^2`. The second term stands for the overlap of training
    sets, which the usual :math:`s_d/\sqrt J` ignores (Nadeau and Bengio, 2003).
    """
    n_splits = len(differences)
    if n_splits < 2:
        return np.full(differences.shape[1:], np.nan)[()]
    return np.sqrt(1 / n_splits + held_out_ratio) * differences.std(axis=0, ddof=1)


def chosen_elsewhere(risk_folds: Array) -> NDArray[np.intp]:
    """Return, for every split, the candidate that the other splits choose; of one split, the first."""
    if len(risk_folds) < 2:
        return np.zeros(len(risk_folds), dtype=np.intp)
    least: NDArray[np.intp] = np.argmin(risk_folds.sum(axis=0) - risk_folds, axis=1)
    return least


def crossed_gain(risk_folds: Array, chosen: NDArray[np.intp], held_out_ratio: float) -> tuple[float, float]:
    r"""Return the part of PCA's risk that new rows are spared, and its standard error.

    Every split judges the candidate that was chosen for it, on other splits. Training sets are smaller than
    all rows, and gains fall in proportion to the number of rows. So both numbers are multiplied by

    .. math::

        \frac{n_{\mathrm{training}}}{n} = \frac1{1 + n_{\mathrm{held}}/n_{\mathrm{training}}}.
    """
    of_pca = risk_folds[:, 0]
    gains = (of_pca - risk_folds[np.arange(len(risk_folds)), chosen]) / (of_pca.mean() or 1.0)
    part = 1 / (1 + held_out_ratio)
    return float(part * gains.mean()), float(part * gain_error(gains, held_out_ratio))
