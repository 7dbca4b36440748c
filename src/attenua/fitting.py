"""The two ways an estimator is fitted to a rule: at one strength, or at one chosen by cross-validation."""

from abc import abstractmethod
from collections import Counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.base import SubspaceTransformer
from attenua.comparison import MOST_PARTS, Comparison, CrossValidation, FoldMoments, Rule, SplitMoments
from attenua.folds import check_repeats, consecutive_folds, is_number_of_folds, make_splits
from attenua.moments import Moments
from attenua.rank import resolve_rank

Array = NDArray[np.float64]
Folds = SplitMoments | FoldMoments


class RuleTransformer(SubspaceTransformer):
    """The subspace of a rule with one strength. A subclass says which rule its parameters stand for."""

    @abstractmethod
    def _rule(self, n_features: int) -> Rule:
        """Check the parameters and return a rule of one strength."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data. Sparse data are never made dense; float32 data give float32 results.
        y : ignored
            Here for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        self._settle(*self._read(X, sample_weight))
        return self

    def _read(self, X: Any, sample_weight: ArrayLike | None) -> tuple[FoldMoments, int, int]:
        """Return the moments of rows in memory and, twice, the number of rows: what ``_settle`` takes."""
        rows = self._open(X, sample_weight)
        self._rule(rows.n_features)  # refuses wrong parameters before the rows are read
        return FoldMoments([rows.moments()]), rows.n_samples, rows.n_samples

    def _settle(self, moments: Folds, n_samples: int, fewest_training_rows: int) -> None:
        """Find the subspace from the moments and set the fitted attributes."""
        total = moments.total
        rank = resolve_rank(self.n_components, total, n_samples)
        ((_, subspace),) = self._rule(total.n_features).subspaces(total, rank)
        self._store(total, subspace, n_samples)
        self.solvers_ = {subspace.solver: 1}
        self.certified_ = subspace.certified


class RuleTransformerCV(SubspaceTransformer):
    """The subspace of a rule at the strength that reconstructs held-out rows best, PCA among them.

    A subclass has the parameters ``cv``, ``n_repeats``, ``n_jobs`` and ``random_state``, names its
    strengths and says which rule they belong to.
    """

    cv: Any
    n_repeats: int
    n_jobs: int | None
    random_state: Any

    @abstractmethod
    def _strengths(self) -> Array:
        """Check and return the candidates to compare: increasing, the first PCA."""

    @abstractmethod
    def _rule(self, strengths: Array, n_features: int) -> Rule:
        """Check the other parameters and return the rule at some candidates."""

    def _compare(self, comparison: Comparison) -> CrossValidation:
        """Compare the strengths."""
        return comparison.of_all()

    @abstractmethod
    def _store_choice(self, result: CrossValidation) -> None:
        """Set the fitted attributes that hold candidates and their risks."""

    def fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Choose a strength by cross-validation and fit it to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data. Sparse data are never made dense; float32 data give float32 results.
        y : ignored
            Here for scikit-learn.
        groups : array-like of shape (n_samples,), optional
            Labels of the rows, such as subjects; rows of one group are never split.

        Returns
        -------
        self
        """
        self._settle(*self._read(X, y, groups))
        return self

    def _read(self, X: Any, y: Any, groups: ArrayLike | None) -> tuple[Folds, int, int]:
        """Return the moments of the splits, the number of rows, and that of the smallest training set."""
        strengths = self._strengths()
        rows = self._open(X)
        self._rule(strengths, rows.n_features)  # refuses wrong parameters before the rows are read
        n = rows.n_samples
        check_repeats(self.n_repeats)
        plain = groups is None and self.n_repeats == 1 and is_number_of_folds(self.cv)
        if plain and self.cv <= MOST_PARTS and rows.forms_scatter:
            # The folds that make_splits would give, without lists of row numbers as long as the data.
            folds = consecutive_folds(int(self.cv), n)
            longest = folds[0].stop
            if n - longest < 2:
                raise ValueError("split 0 of cv has one training row; a covariance needs at least two.")
            return FoldMoments([rows.moments(fold) for fold in folds]), n, n - longest
        splits = make_splits(
            self.cv,
            n,
            X=X,
            y=y,
            groups=groups,
            n_repeats=self.n_repeats,
            random_state=self.random_state,
        )
        return SplitMoments(rows, splits), n, min(len(train) for train, _ in splits)

    def _settle(self, moments: Folds, n_samples: int, fewest_training_rows: int) -> None:
        """Choose a strength and find its subspace from the moments, and set the fitted attributes."""
        total = moments.total
        rank = self._rank(total, fewest_training_rows)
        rule = self._rule(self._strengths(), total.n_features)
        result = self._compare(Comparison(moments, rule, rank, self.n_jobs))
        self._store_choice(result)
        self.gain_ = result.gain
        ((_, subspace),) = self._rule(result.chosen, total.n_features).subspaces(total, rank)
        self._store(total, subspace, n_samples)
        self.solvers_ = dict(result.solvers + Counter([subspace.solver]))
        self.certified_ = result.certified and subspace.certified

    def _rank(self, total: Moments, fewest_training_rows: int) -> int:
        rank = resolve_rank(self.n_components, total, int(total.weight))
        if self.n_components is None:
            return min(rank, fewest_training_rows)
        if rank > fewest_training_rows:
            raise ValueError(
                f"n_components={self.n_components} asks for {rank} components, but the smallest training set "
                f"of cv has only {fewest_training_rows} rows."
            )
        return rank
