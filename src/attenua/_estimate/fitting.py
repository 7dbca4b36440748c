"""The two ways an estimator is fitted to a rule: at one strength, or at one chosen by cross-validation."""

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from attenua._correct.reference import reference_rows
from attenua._data.checks import caller_level
from attenua._data.known_rows import KnownRows
from attenua._data.moments import Moments
from attenua._data.opening import FitData, check_in_memory, open_for_cv, open_for_fit
from attenua._data.range import overshadowing_columns
from attenua._estimate.fitted import SUBSPACE, Kind, fit_from_nothing, store, warn_of_tie
from attenua._estimate.transformer import SubspaceTransformer
from attenua._select.comparison import CrossValidation, cross_validate
from attenua._select.rank import resolve_rank
from attenua._select.rule import Rule, may_be_pca, same_subspace
from attenua._solve.subspace import Subspace


class WithReference(BaseEstimator):
    """What estimators do with the parameter ``reference``."""

    reference: Any

    def _known_rows(self) -> KnownRows | None:
        """Return the rows of the reference, which must not be among those fitted."""
        return reference_rows(self.reference)

    def __sklearn_clone__(self) -> Self:
        """Keep the reference: scikit-learn would copy its rows, and forget that a model is fitted."""
        copy: Self = super().__sklearn_clone__()
        copy.reference = self.reference
        return copy


class RuleTransformer(SubspaceTransformer):
    """The subspace of a rule with one strength. A subclass returns the rule of its parameters."""

    @abstractmethod
    def _rule(self, n_features: int) -> Rule:
        """Check the parameters and return a rule of one strength."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
            Data. Sparse data are never made dense; float32 data give float32 results. Missing cells (NaN) of
            rows in memory are completed; sparse rows with such become dense. The attenuated estimators also
            take batches, dask collections and arrays on a device: an iterable of batches or an Arrow reader
            or dataset is read in bounded memory, and a dask array or data frame is summed up on its workers.
        y : ignored
            Here for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows. With batches also an iterable of arrays; with
            Arrow data or a dask data frame also the name of a column.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self._needs_memory:
            check_in_memory(X, type(self).__name__)
        with fit_from_nothing(self):
            self._fit_data(open_for_fit(self, X, sample_weight))
            self._keep_rows(X, sample_weight=sample_weight)
        return self

    def _fit_moments(self, data: FitData) -> None:
        """Find the subspace from the moments and set the fitted attributes."""
        rule = self._rule(data.moments.n_features)
        rank = resolve_rank(self.n_components, data.moments, data.n_samples)
        ((_, subspace),) = rule.subspaces(self._moments(data), rank)
        self._store(data.moments.total, subspace, data.n_samples, data.dtype)

    def _moments(self, data: FitData) -> Moments:
        """Return the moments that the subspace is found from."""
        return data.moments.total


class CrossValidated(SubspaceTransformer):
    """The subspace of a rule at the strength that reconstructs held-out rows best, PCA among them.

    A subclass has the parameters ``cv`` and ``n_jobs``. It returns the rule of its parameters, or chooses in
    its own way by overriding ``_fit_moments``.
    """

    cv: Any
    n_jobs: int | None
    cv_risk_: NDArray[Any]
    cv_risk_folds_: NDArray[Any]
    verdict_: str
    _fitted: ClassVar[dict[str, Kind]] = SUBSPACE | {
        "cv_risk_": Kind.GRID,
        "cv_risk_folds_": Kind.GRID,
    }

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose by cross-validation and fit the choice to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
            Data. Sparse data are never made dense; float32 data give float32 results. Missing cells (NaN) of
            rows in memory are completed; sparse rows with such become dense. The attenuated estimators also
            take batches, dask collections and arrays on a device: an iterable of batches or an Arrow reader
            or dataset is read in bounded memory, and a dask array or data frame is summed up on its workers.
        y : ignored
            Here for scikit-learn.
        groups : array-like of shape (n_samples,), optional
            Labels of the rows, such as subjects; rows of one group are never split. With batches also an
            iterable of arrays; with Arrow data or a dask data frame also the name of a column.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows of one group, where it is fitted and where it is
            held out. A row of weight 0 is left out before rows are counted for folds. With batches, as
            `groups`; ``fit`` to batches takes one of the two.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self._needs_memory:
            check_in_memory(X, type(self).__name__)
        with fit_from_nothing(self):
            self._fit_data(open_for_cv(self, X, y, groups, sample_weight))
            self._keep_rows(X, y, groups, sample_weight)
        return self

    def _rank(self, data: FitData) -> int:
        """Return the number of components, which every training set must allow."""
        rank = resolve_rank(self.n_components, data.moments, data.n_samples)
        fewest = data.fewest_training_rows
        if self.n_components is None:
            return max(min(rank, fewest - 1), 1)  # n centred rows span at most n - 1 directions
        if rank > fewest:
            raise ValueError(
                f"n_components={self.n_components} asks for {rank} components, but the smallest training set "
                f"of cv has only {fewest} rows."
            )
        columns = overshadowing_columns(data.moments.total, rank, getattr(self, "feature_names_in_", None))
        if columns:
            warnings.warn(
                f"X varies so much more in {columns} than in the other columns that held-out risks are lost "
                "to rounding, so that the choice means little. Drop columns that are not measurements, such "
                "as IDs and timestamps, or scale the columns (CorrectedPCACV with scale=True).",
                stacklevel=caller_level(),
            )
        return rank

    def _warn_of_ties(self, n_tied: int, n_splits: int, subspace: Subspace) -> None:
        """Warn of training sets in which the cut falls on a tie, such as those of too few different rows."""
        if n_tied and not subspace.tied and self.n_components is not None:
            warn_of_tie(self.n_components_, f" in {n_tied} of the {n_splits} training sets")

    def _rule(self, n_features: int) -> Rule:
        """Check the parameters and return the rule with all candidates, the first PCA."""
        raise NotImplementedError

    def _choice(self, result: CrossValidation, taken: int) -> dict[str, Any]:
        """Return the fitted attributes of a choice by name.

        ``taken`` is the position of the candidate taken: ``result.best``, or 0 where that gives PCA's
        subspace.
        """
        raise NotImplementedError

    def _fit_moments(self, data: FitData) -> None:
        """Choose a strength, find its subspace from the moments, and set the fitted attributes."""
        rule = self._rule(data.moments.n_features)
        rank = self._rank(data)
        result = cross_validate(data.moments, rule, rank, self.n_jobs)
        taken, total = result.best, data.moments.total
        ((_, subspace),) = rule.with_strengths([rule.strengths[taken]]).subspaces(total, rank)
        if taken and may_be_pca(subspace.basis, total):
            ((_, of_pca),) = rule.with_strengths([rule.strengths[0]]).subspaces(total, rank)
            if same_subspace(of_pca.basis, subspace.basis):
                taken, subspace = 0, of_pca
        self._store(total, subspace, data.n_samples, data.dtype)
        self._warn_of_ties(result.n_tied, len(result.risk_folds), subspace)
        choice = self._choice(result, taken) | {
            "cv_risk_": result.risk,
            "cv_risk_folds_": result.risk_folds,
        }
        store(self, choice, total.mean, data.dtype)
