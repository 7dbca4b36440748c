"""A whole covariance chosen by the log-likelihood of held-out rows, and averaged over the votes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log, pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from attenua._correct.registry import COVARIANCE_CORRECTIONS, COVARIANCE_ORDER, Strengths
from attenua._correct.shrinkage import (
    SHRINKAGE,
    Estimate,
    Sample,
    ledoit_wolf,
    oracle_approximating,
    strength_of,
    whole_covariance,
)
from attenua._data.missing import PartlySeen
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._data.splits import SplitPair, Splits
from attenua._select.comparison import FoldRisk, held_out_risks, unequal_weights
from attenua._select.election import Chooser, Election
from attenua._select.judges import GoesOn
from attenua._select.rule import corrected_moments
from attenua._select.search import StepSearch
from attenua._solve.gaussian import Formed, formed, gaussian, positive_definite

Array = NDArray[np.float64]

LEDOIT_WOLF = Strengths(shrinkage=1.0)

# Held-out variances count as at most this many times an eigenvalue, and at least this part of it.
_FARTHEST = 16.0
# Above this many columns, the eigenvectors of all training sets cost more than the search.
_MOST_COLUMNS_OF_EIGENVECTORS = 500
# Eigenvalues below this part of the largest are not exact enough to be changed one by one, and those that are
# closer than that have no eigenvectors of their own.
_RESOLVED = 1e-10


class Covariance(NamedTuple):
    """A covariance and the centre of its rows, in the unit of their moments."""

    matrix: Array
    centre: Array


class LikelihoodJudge:
    """Judges covariances by the negative log-likelihood of held-out rows, in nats and in data units.

    Parameters
    ----------
    data : FitData
        The rows, in memory.
    splits : Splits
        Their splits.
    prepared : mapping
        What the corrections made of their parameters, by the name of the correction.
    assume_centered : bool
        Whether the rows are centred on 0, and not on the mean of those fitted.
    n_jobs : int or None
        How many splits run in parallel.
    """

    base, least_gain, unit = LEDOIT_WOLF, 0.0, "nats"

    def __init__(
        self,
        data: FitData,
        splits: Splits,
        prepared: Mapping[str, Any],
        *,
        assume_centered: bool,
        n_jobs: Any = None,
    ):
        assert data.reweighter is not None
        self.prepared = prepared
        self.rounding_scale = float(splits.n_features)
        self._kept_at: Strengths | None = None  # strengths of the corrected moments that are kept, by split
        self._kept: dict[int, Moments] = {}
        self._is_centred, self._n_jobs = assume_centered, n_jobs
        self._splits = data.reweighter.splits
        self._total = self._sample(splits.total)
        oas = oracle_approximating(self._centred(splits.total))
        self.oas_strength = strength_of(oas, self._total.ledoit_wolf)
        self._samples = {
            pair.number: self._sample(pair.training, pair.number) for pair in splits.keep_pairs().pairs()
        }

    def _sample(self, moments: Moments, number: int | None = None) -> Sample:
        own = self._centred(moments)
        powers = self._splits.fourth_powers(number, moments, self.centre(moments))
        return Sample(own.total_variance, ledoit_wolf(own, powers))

    def centre(self, moments: Moments) -> Array:
        """Return what rows are centred on: 0, or the mean of some."""
        mean: Array = moments.mean
        return np.zeros_like(mean) if self._is_centred else mean

    def _centred(self, moments: Moments) -> Moments:
        """Return the moments about the centre."""
        return moments.about(self.centre(moments), moments.unit) if self._is_centred else moments

    def estimate(self, moments: Moments, strengths: Strengths, number: int | None = None) -> Estimate:
        """Return the estimate at some strengths, of the training rows of a split or of all rows."""
        sample = self._total if number is None else self._samples[number]
        estimate = whole_covariance(self._corrected(moments, strengths, number), sample)
        for name, strength in strengths.of_kind("estimate").nonzero():
            apply = COVARIANCE_CORRECTIONS[name].apply
            assert apply is not None
            estimate = apply(estimate, strength, sample)
        return estimate

    def _corrected(self, moments: Moments, strengths: Strengths, number: int | None) -> Moments:
        """Return the corrected moments, or those kept of the same ones."""
        kept = self._kept if _not_shrunk(strengths) == self._kept_at else {}
        if number in kept:
            return kept[number]
        if not strengths.of_kind("rows"):  # those stay about the mean: their size is not that of the rows
            moments = self._centred(moments)
        moments = corrected_moments(moments, strengths, self.prepared)
        if number is not None:
            kept[number] = moments
        return moments

    def judge(
        self, splits: Splits, candidate: Strengths, present: Strengths, goes_on: GoesOn | None
    ) -> list[FoldRisk]:
        """Return what a candidate loses on every split, or on the first ones if these are enough.

        One that differs from the present one in shrinkage only costs less.
        """
        corrections = _not_shrunk(candidate)
        if corrections == _not_shrunk(present) and corrections != self._kept_at:
            self._kept_at, self._kept = corrections, {}
        return held_out_risks(splits, partial(self._judge, candidate), self._n_jobs, goes_on=goes_on)

    def _judge(self, candidate: Strengths, pair: SplitPair) -> FoldRisk:
        training, held = pair.training, pair.held_out
        law = gaussian(*self.estimate(training, candidate, pair.number))
        centre = self.centre(training)
        if isinstance(held, PartlySeen):
            losses = _losses_of_seen(law, held, centre)
        else:
            squares = law.squares(held.centred(centre))
            losses = negative_log_likelihood(law.log_det, squares, held.n_features, held.log_divisor)
        return FoldRisk(
            pair.number, losses[:, None], held.weight, training.weight, weights=unequal_weights(held)
        )

    def forget_all_but(self, present: Strengths) -> None:
        """Free the moments of other candidates."""
        if self._kept_at != _not_shrunk(present):
            self._kept_at, self._kept = None, {}

    def reported(self, risks: Array) -> Array:
        """Return the risks, which are in data units."""
        return risks


def _losses_of_seen(law: Any, rows: PartlySeen, centre: Array) -> Array:
    """Return the negative log-likelihood of the seen cells of every row."""
    squares, log_dets = law.of_seen(rows.centred(centre), rows.seen)
    losses: Array = negative_log_likelihood(log_dets, squares, rows.seen.sum(axis=1), rows.log_divisor)
    return losses


def _not_shrunk(strengths: Strengths) -> Strengths:
    return strengths.replace(decoupling=0.0, shrinkage=0.0)


def negative_log_likelihood(log_det: Any, squares: Any, n_features: Any, log_divisor: Any = 0.0) -> Any:
    r"""Return :math:`\frac12 (p \log 2\pi + \log\det\Sigma + z^\top \Sigma^{-1} z)`, from its parts.

    They are of columns that were divided; with the sum of the logarithms of what they were divided by, the
    result is in the data's own units. Where rows have missing cells, these numbers differ by row.
    """
    return 0.5 * (squares + log_det + n_features * log(2 * pi)) + log_divisor


@dataclass(frozen=True, kw_only=True)
class CovarianceChooser(Chooser[Covariance]):
    """Chooses strengths for a whole covariance.

    Where the `grids` are the usual ones, the shrinkage of the oracle approximating estimator is among the
    strengths, besides that of Ledoit and Wolf.
    """

    assume_centered: bool
    _order = COVARIANCE_ORDER

    def _grids(self, judge: LikelihoodJudge) -> Mapping[str, Sequence[float]]:
        if self.grids.get(SHRINKAGE.name) != SHRINKAGE.strengths:
            return self.grids
        strengths = sorted({*SHRINKAGE.strengths, judge.oas_strength})
        return {**self.grids, SHRINKAGE.name: strengths}

    def ledoit_wolf(self, data: FitData) -> Covariance:
        """Return the base alone, where nothing is held out."""
        total, judge = data.moments.total, self._judge(data, data.moments)
        return Covariance(formed(*judge.estimate(total, LEDOIT_WOLF)), judge.centre(total))

    def _judge(self, data: FitData, splits: Splits) -> LikelihoodJudge:
        return LikelihoodJudge(
            data,
            splits,
            self.prepared,
            assume_centered=self.assume_centered,
            n_jobs=self.n_jobs,
        )

    def _fits(
        self, judge: LikelihoodJudge, search: StepSearch, choices: Mapping[Strengths, float]
    ) -> tuple[Covariance, Covariance]:
        total = search.total(LEDOIT_WOLF)
        centre, base = judge.centre(total), formed(*judge.estimate(total, LEDOIT_WOLF))
        average = np.zeros_like(base)
        for choice, weight in choices.items():
            average += weight * formed(*judge.estimate(search.total(choice), choice))
        if len(average) <= _MOST_COLUMNS_OF_EIGENVECTORS and list(choices) != [LEDOIT_WOLF]:
            average = _towards_variances(average, held_out_variances(judge, search, choices))
        return Covariance((average + average.T) / 2, centre), Covariance(base, centre)

    def _losses(self, rows: Any, election: Election[Covariance], unit: float) -> Array:
        laws = [Formed(covariance.matrix) for covariance in (election.base, election.fit)]
        if isinstance(rows, PartlySeen):
            return np.column_stack([_losses_of_seen(law, rows, election.fit.centre) for law in laws])
        Z = rows.centred(election.fit.centre)
        return np.column_stack(
            [
                negative_log_likelihood(law.log_det, law.squares(Z), Z.shape[1], rows.log_divisor)
                for law in laws
            ]
        )

    def _whole(self, of_base: Array, weight: float, part: float) -> float:
        return weight


def held_out_variances(
    judge: LikelihoodJudge, search: StepSearch, choices: Mapping[Strengths, float]
) -> Array:
    """Return the mean square of held-out rows along each eigenvector of the choices' mean, made monotone.

    The mean is that of the matrices which the choices make of the training rows of a split.
    """
    sums, weight = np.zeros(search.total(LEDOIT_WOLF).n_features), 0.0
    for plain, *of_choices in zip(search.pairs(LEDOIT_WOLF), *map(search.pairs, choices), strict=True):
        average: Any = 0.0
        for pair, (choice, share) in zip(of_choices, choices.items(), strict=True):
            average += share * formed(*judge.estimate(pair.training, choice, pair.number))
        matrix, _ = positive_definite(average)
        values, vectors = np.linalg.eigh(matrix)
        held, centre = plain.held_out, judge.centre(plain.training)
        if isinstance(held, PartlySeen):
            squares = Formed(matrix).squares_along(vectors, held.centred(centre), held.seen)
        else:
            squares = (held.centred(centre) @ vectors) ** 2
        sums += _mean_of_tied(values, held.weights_of_rows @ squares)
        weight += held.weight
    return isotonic_regression(sums / weight)


def _towards_variances(matrix: Array, variances: Array) -> Array:
    """Return a covariance whose eigenvalues are their geometric means with increasing variances."""
    values, vectors = np.linalg.eigh(positive_definite(matrix)[0])
    if values[0] < _RESOLVED * values[-1]:
        return matrix
    ratio = np.clip(_mean_of_tied(values, variances) / values, 1 / _FARTHEST, _FARTHEST)
    return (vectors * (values * np.sqrt(ratio))) @ vectors.T


def _mean_of_tied(values: Array, numbers: Array) -> Array:
    """Return numbers, one for each increasing eigenvalue, averaged over those that are tied."""
    block = np.cumsum(np.diff(values, prepend=values[0]) > _RESOLVED * values[-1])
    return (np.bincount(block, numbers) / np.bincount(block))[block]
