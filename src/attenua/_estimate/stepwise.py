"""Estimators whose strengths come from a search by steps, and what they say about it."""

import numbers
import warnings
from collections import Counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attenua._correct.corrections import SEARCH_ORDER, Strengths, checked_corrections
from attenua._correct.damping import LARGEST_DAMPED, can_damp
from attenua._correct.feature_groups import column_labels
from attenua._correct.neighbours import column_smoother
from attenua._correct.row_tempering import row_tempered
from attenua._correct.tempering import NEEDS_VARIANCES
from attenua._data.checks import caller_level
from attenua._data.folds import folds_per_repetition
from attenua._data.moments import Moments
from attenua._data.namespace import to_host
from attenua._data.opening import FitData
from attenua._data.range import vanishing_columns
from attenua._estimate.fitted import Kind, store
from attenua._estimate.fitting import CrossValidated
from attenua._estimate.words import (
    Answer,
    choices_in_words,
    chosen_answer,
    gain_in_words,
    size_of_fit,
    strengths_in_words,
    verdict,
)
from attenua._select.averaging import mean_subspace
from attenua._select.corrected_rule import CorrectedRule
from attenua._select.rule import pca_subspace
from attenua._select.same_subspace import same_subspace
from attenua._select.search import PCA, StepSearch
from attenua._select.split_errors import error_over_splits
from attenua._select.steps import Steps
from attenua._select.variance_noise import variance_noise
from attenua._solve.subspace import Subspace

_READ_ONCE = "the rows came from an iterator or from partial_fit, and it needs to read them twice"


class StepwiseCV(CrossValidated):
    """The average of the choices that a search for the strengths of corrections makes.

    A subclass has the parameters below and those of :class:`CrossValidated`.
    """

    corrections: Any
    neighbours: Any
    guard: float
    feature_groups: Any
    corrections_: dict[str, float]
    choices_: list[dict[str, float]]
    steps_: Steps
    left_out_gain_: float
    candidates_: NDArray[Any]
    _fitted: ClassVar[dict[str, Kind]] = CrossValidated._fitted | {
        "corrections_": Kind.STRENGTHS,
        "choices_": Kind.CHOICES,
        "steps_": Kind.STEPS,
        "verdict_": Kind.TEXT,
        "left_out_gain_": Kind.NUMBER,
        "candidates_": Kind.GRID,
        "cv_risk_": Kind.GRID,
        "cv_risk_folds_": Kind.GRID,
    }

    def _check_parameters(self) -> None:
        grids = checked_corrections(self.corrections)
        if self.neighbours is None and "smoothing" in grids and not _is_auto(self.corrections):
            raise ValueError(
                "corrections names smoothing, which needs neighbours: 'line', the shape of a grid, or an "
                "adjacency matrix."
            )
        is_number = isinstance(self.guard, numbers.Real) and not isinstance(self.guard, bool)
        if not is_number or not 0 <= self.guard < np.inf:
            raise ValueError(f"guard must be a finite number of at least 0; got {self.guard!r}.")

    def _fit_moments(self, data: FitData) -> None:
        """Choose the strengths, average their subspaces, and set the fitted attributes."""
        self._check_parameters()
        n_features, total = data.moments.n_features, data.moments.total
        labels = column_labels(self.feature_groups, n_features)
        rule = CorrectedRule(np.array([PCA]), labels, column_smoother(self.neighbours, n_features))
        rank = self._rank(data)
        search = StepSearch(
            data.moments,
            rule,
            rank,
            guard=float(self.guard),
            noise=variance_noise(to_host(total.variances), total.weight),
            n_jobs=self.n_jobs,
        )
        self._take_steps(search, data)
        result = search.result()
        counts = Counter(result.choices)
        fitted = {
            choice: _fitted(rule, choice, search.total(choice.row_tempering), rank) for choice in counts
        }
        subspace = mean_subspace([fitted[choice] for choice in counts], list(counts.values()))
        is_pca = set(counts) == {PCA}
        pca = fitted[PCA] if PCA in fitted else pca_subspace(total, rank)
        gives_pca = is_pca or same_subspace(subspace.basis, pca.basis)
        self._store(total, pca if gives_pca else subspace, data.n_samples, data.dtype)
        outcome = {
            "corrections_": (PCA if gives_pca else result.chosen)._asdict(),
            "choices_": [(PCA if gives_pca else choice)._asdict() for choice in result.choices],
            "steps_": result.steps,
            "verdict_": verdict(
                result.chosen._asdict(),
                [choice._asdict() for choice in result.choices],
                result.gain,
                gives_pca,
            ),
            "gain_": 0.0 if gives_pca else result.gain,
            "left_out_gain_": 0.0 if gives_pca else result.left_out_gain,
            "candidates_": result.candidates,
            "cv_risk_": result.risk,
            "cv_risk_folds_": result.risk_folds,
            "folds_": data.folds,
        }
        store(self, outcome, total.mean, data.dtype)

    def _without_lost_variances(self, strengths: tuple[float, ...], total: Moments) -> tuple[float, ...]:
        """Leave out strengths of tempering that would need variances which are lost, and say so."""
        usable = tuple(strength for strength in strengths if strength <= NEEDS_VARIANCES)
        if usable == strengths:
            return strengths
        columns, listed = vanishing_columns(total, getattr(self, "feature_names_in_", None))
        if not columns:
            return strengths
        warnings.warn(
            f"tempering is tried up to {usable[-1]:g} only: X holds numbers in {listed} that are too small "
            "beside the others, so that the variance is lost. Multiply these columns by a constant.",
            stacklevel=caller_level(),
        )
        return usable

    def _take_steps(self, search: StepSearch, data: FitData) -> None:
        """Take one step for each correction."""
        grids = checked_corrections(self.corrections)
        for correction in (name for name in SEARCH_ORDER if name in grids):
            strengths = grids[correction]
            if correction == "tempering":
                strengths = self._without_lost_variances(strengths, data.moments.total)
            if correction == "smoothing" and self.neighbours is None:
                search.leave_out(correction, "neighbours is not given")
            elif correction == "damping" and not can_damp(data.moments.n_features):
                search.leave_out(correction, f"it needs every correlation, up to {LARGEST_DAMPED:,} columns")
            elif correction != "row_tempering" or len(strengths) == 1:
                search.step(correction, strengths)
            elif data.reweighter is None:
                search.leave_out(correction, _READ_ONCE)
                warnings.warn(f"row_tempering is left out: {_READ_ONCE}.", stacklevel=caller_level())
            else:
                readers = dict(zip(strengths[1:], row_tempered(data.reweighter, strengths[1:]), strict=True))
                search.step(correction, strengths, readers)

    def _answer(self) -> Answer:
        """Return what was chosen and how sure its gain is."""
        words = strengths_in_words(self.corrections_)
        if not any(strength for choice in self.choices_ for strength in choice.values()):
            return Answer(words, self.verdict_, (size_of_fit(self),))
        if not any(self.corrections_.values()):
            words = "PCA averaged with corrections"
        gain_error, left_out_error = self._gain_errors()
        facts = [
            ("strengths", choices_in_words(self.choices_)),
            ("gain", gain_in_words(self.gain_, gain_error)),
        ]
        # A single choice was made by all splits: none was left out, so none tells what to expect.
        if len(self.choices_) > 1:
            facts.append(("to expect of new rows", gain_in_words(self.left_out_gain_, left_out_error)))
        return chosen_answer(self, words, facts)

    def _gain_errors(self) -> list[float]:
        """Return the standard errors of ``gain_`` and ``left_out_gain_``."""
        candidates, folds = to_host(self.candidates_).tolist(), to_host(self.cv_risk_folds_)
        n_splits = len(folds)
        chosen = candidates.index(list(self.corrections_.values()))
        own = [candidates.index(list(choice.values())) for choice in self.choices_]
        # Of two splits or fewer none can be left out, and there is one choice.
        places = np.broadcast_to(own, n_splits)
        risks = np.column_stack([folds[:, chosen], folds[np.arange(n_splits), places]])
        differences = (risks - folds[:, :1]) / (folds[:, 0].mean() or 1.0)
        return error_over_splits(differences, folds_per_repetition(self.cv, n_splits)).tolist()


def _is_auto(corrections: Any) -> bool:
    return isinstance(corrections, str) and corrections == "auto"


def _fitted(rule: CorrectedRule, choice: Strengths, moments: Moments, rank: int) -> Subspace:
    """Return the subspace of a choice, fitted to all rows, whose moments have its row tempering."""
    ((_, subspace),) = rule.with_strengths([choice]).subspaces(moments, rank)
    return subspace
