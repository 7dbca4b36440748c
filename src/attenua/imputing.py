"""``impute`` of the estimators of a subspace: cells are filled under the whole covariance of the fitted rows.

A few components are too small a model to fill cells with. So the whole covariance is estimated, with
corrections of its own, when ``impute`` is first called; until then the rows are kept.
"""

import warnings
from copy import deepcopy
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from attenua._correct.correlations import MOST_COLUMNS
from attenua._data.checks import checked_weights
from attenua._data.completion import FactorLaw
from attenua._data.filled import impute_by
from attenua._data.missing import PartialRows
from attenua._data.opening import checked_rows, is_in_memory
from attenua._estimate.parameter_types import RandomState
from attenua._solve.gaussian import Factored
from attenua.covariance import CorrectedCovariance

# Rows of more bytes are not copied, and not pickled.
_MOST_KEPT = 16 * 2**20
_NO_ROWS = (
    "impute needs the rows that were fitted, and {why}. Fit CorrectedCovariance to rows in memory, and use "
    "its impute."
)
# Parameters of the estimator that its covariance has too.
_SHARED = ("scale", "neighbours", "reference", "cv", "n_jobs")


class Filling:
    """The rows that were fitted, and what fills cells once it is asked for.

    Few rows are copied, because the user may change them, and stay in a pickle until they are used.
    """

    def __init__(self, X: Any, n_cells: int, y: Any, groups: Any, sample_weight: Any):
        self.why = "they came in batches or are on a device"
        self._X = self._y = self._groups = self._weights = None
        self.fitted_law: CorrectedCovariance | FactorLaw | None = None
        if is_in_memory(X):
            self._is_small = 8 * n_cells <= _MOST_KEPT
            self._X = deepcopy(X) if self._is_small else X
            self._y, self._groups, self._weights = deepcopy((y, groups, sample_weight))
            self.why = "they are too large to be stored with the model"

    @classmethod
    def of_law(cls, law: CorrectedCovariance | FactorLaw) -> "Filling":
        """Return what fills cells by a fitted law, without rows."""
        filling = cls(None, 0, None, None, None)
        filling.fitted_law = law
        return filling

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        if self.fitted_law is not None or (self._X is not None and not self._is_small):
            state["_X"] = None
        return state

    def law(self, estimator: Any) -> CorrectedCovariance | FactorLaw:
        """Return the fitted covariance, or beyond 4,000 columns the law that completes rows; made once."""
        if self.fitted_law is None:
            if self._X is None:
                raise ValueError(_NO_ROWS.format(why=self.why))
            if estimator.n_features_in_ <= MOST_COLUMNS:
                given = estimator.get_params(deep=False)
                model = CorrectedCovariance(**{name: given[name] for name in _SHARED if name in given})
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # the first fit gave them
                    self.fitted_law = model.fit(self._X, self._y, self._groups, self._weights)
            else:
                rows = checked_rows(estimator, self._X)
                weights = checked_weights(self._weights, rows.shape[0])
                kept = slice(None) if weights is None else weights > 0
                rows = rows[kept].toarray() if sp.issparse(rows) else rows[kept]
                own = PartialRows(rows, None if weights is None else weights[kept])
                scale = own.deviations() if estimator.scale else None
                law, unit = own.complete(scale=scale).law, own.unit if scale is None else scale
                self.fitted_law = FactorLaw(
                    law.mean * unit, law.factors * unit, law.noise * unit**2, law.remainder * unit**2
                )
        return self.fitted_law


class ImputesByCovariance(BaseEstimator):  # type: ignore[misc]
    """Fills cells by a covariance that is fitted to the same rows."""

    n_samples_: int
    n_features_in_: int

    def _keep_rows(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> None:
        self._filling = Filling(X, self.n_samples_ * self.n_features_in_, y, groups, sample_weight)

    def impute(
        self,
        X: Any,
        *,
        return_std: bool = False,
        n_draws: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        r"""Return rows with their missing cells (NaN) filled, all others as they are.

        Cells are filled by :class:`CorrectedCovariance`, which the first call fits to the rows that were
        fitted, with the same `scale`, `neighbours`, `reference` and `cv`: a whole covariance, whatever
        ``n_components`` is. Beyond 4,000 columns it is a shrunk covariance of up to 24 factors.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``, fitted or new.
        return_std : bool, default=False
            Whether to return standard deviations of the filled cells, too.
        n_draws : int, default=None
            So many tables with drawn cells, for multiple imputation: as in
            :meth:`CorrectedCovariance.impute`.
        random_state : int, RandomState or None, default=None
            Draws them.

        Returns
        -------
        filled : of the type of X
            Missing cells have their mean given the seen cells of their row. With `n_draws`, an array of shape
            (n_draws, n_samples, n_features), or a list of frames, tables or sparse matrices.
        std : ndarray of shape (n_samples, n_features)
            If `return_std`: as in :meth:`CorrectedCovariance.impute`.
        """
        check_is_fitted(self)
        if "_filling" not in vars(self):
            why = "a model that was saved before its first impute has none"
            raise ValueError(_NO_ROWS.format(why=why))
        law = self._filling.law(self)
        wanted: dict[str, Any] = {"return_std": return_std, "n_draws": n_draws, "random_state": random_state}
        if isinstance(law, CorrectedCovariance):
            return law.impute(X, **wanted)
        factored = Factored(law.factors, law.noise)
        return impute_by(factored, X, checked_rows(self, X), law.mean, 1.0, **wanted)
