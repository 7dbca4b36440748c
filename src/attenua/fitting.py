"""The two ways an estimator is fitted to a rule: at one strength, or at one chosen by cross-validation."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.base import SubspaceTransformer
from attenua.folds import make_splits
from attenua.rank import resolve_rank
from attenua.selection import Rule, SplitMoments, cross_validate

Array = NDArray[np.float64]


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
        rows = self._open(X, sample_weight)
        rule = self._rule(rows.n_features)
        moments = rows.moments()
        rank = resolve_rank(self.n_components, moments, rows.n_samples)
        ((_, subspace),) = rule.subspaces(moments, rank)
        self._store(moments, subspace, rows.n_samples)
        return self


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
        """Check and return the strengths to compare: increasing, the first 0."""

    @abstractmethod
    def _rule(self, strengths: Array, n_features: int) -> Rule:
        """Check the other parameters and return the rule at some strengths."""

    @abstractmethod
    def _store_choice(self, strengths: Array, chosen: float) -> None:
        """Set the fitted attributes that hold strengths."""

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
        strengths = self._strengths()
        rows = self._open(X)
        rule = self._rule(strengths, rows.n_features)
        splits = make_splits(
            self.cv,
            rows.n_samples,
            X=X,
            y=y,
            groups=groups,
            n_repeats=self.n_repeats,
            random_state=self.random_state,
        )
        moments = SplitMoments(rows, splits)
        rank = self._rank(moments, min(len(train) for train, _ in splits))
        result = cross_validate(moments, rule, rank, self.n_jobs)
        chosen = strengths[[result.best]]
        self._store_choice(strengths, float(chosen[0]))
        self.cv_risk_ = result.risk
        self.cv_risk_folds_ = result.risk_folds
        self.gain_ = float(1 - result.risk[result.best] / result.risk[0]) if result.risk[0] > 0 else 0.0
        ((_, subspace),) = self._rule(chosen, rows.n_features).subspaces(moments.total, rank)
        self._store(moments.total, subspace, rows.n_samples)
        return self

    def _rank(self, moments: SplitMoments, fewest_training_rows: int) -> int:
        rank = resolve_rank(self.n_components, moments.total, int(moments.total.weight))
        if self.n_components is None:
            return min(rank, fewest_training_rows)
        if rank > fewest_training_rows:
            raise ValueError(
                f"n_components={self.n_components} asks for {rank} components, but the smallest training set "
                f"of cv has only {fewest_training_rows} rows."
            )
        return rank
