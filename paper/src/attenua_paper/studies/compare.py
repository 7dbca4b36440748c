"""One comparison for all methods: the same rows, the same folds, the same refit, one table."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from attenua._data.folds import make_splits
from attenua._data.opening import checked_matrix
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCACV
from attenua_paper.rivals import (
    CorrelationPCA,
    HeteroPCA,
    MaskedTargetPCACV,
)
from attenua_paper.studies.gain import excess_risk_removed

_COLUMNS = (
    "method",
    "strength",
    "fallback",
    "converged",
    "cv_risk",
    "test_risk",
    "excess_removed",
    "seconds",
)
# Fitted attributes that hold a strength.
_STRENGTHS = ("alpha_", "mask_rate_")


@dataclass(frozen=True)
class Setting:
    """What every method of a comparison is given.

    Attributes
    ----------
    n_components : int
        Rank.
    splits : list of (training rows, held-out rows)
        The folds of every method that chooses a strength.
    feature_groups : None, labels, or lists of column indices
        Columns that block masks hide together.
    """

    n_components: int
    splits: list[Any]
    feature_groups: Any = None


@dataclass(frozen=True)
class Method:
    """One row of the table: a name, and how to make the estimator for a setting.

    Attributes
    ----------
    name : str
        Shown in the table.
    make : callable
        Takes a :class:`Setting`, returns an unfitted estimator with ``transform`` and
        ``inverse_transform``.
    by_groups : bool
        Whether it needs ``feature_groups``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from attenua_paper.studies import Method, compare
    >>> theirs = Method("scikit-learn's", lambda setting: PCA(setting.n_components))
    >>> list(compare(load_digits().data[:100], 3, methods=["PCA", theirs]).method)
    ['PCA', "scikit-learn's"]
    """

    name: str
    make: Callable[[Setting], Any]
    by_groups: bool = False


METHODS = (
    Method("PCA", lambda s: AttenuatedPCA(s.n_components, alpha=0.0)),
    Method("mask-derived attenuation", lambda s: AttenuatedPCACV(s.n_components, alphas="mask", cv=s.splits)),
    Method("direct attenuation", lambda s: AttenuatedPCACV(s.n_components, alphas="direct", cv=s.splits)),
    Method("correlation PCA", lambda s: CorrelationPCA(s.n_components)),
    Method("HeteroPCA", lambda s: HeteroPCA(s.n_components)),
    Method("coordinate masked-target", lambda s: MaskedTargetPCACV(s.n_components, cv=s.splits)),
    Method(
        "block masked-target",
        lambda s: MaskedTargetPCACV(s.n_components, cv=s.splits, feature_groups=s.feature_groups),
        by_groups=True,
    ),
)


def compare(
    X: Any,
    n_components: int | float,
    *,
    methods: Iterable[str | Method] | Mapping[str, Any] | None = None,
    X_test: Any = None,
    feature_groups: Any = None,
    groups: ArrayLike | None = None,
    cv: Any = 5,
) -> pd.DataFrame:
    r"""Fit several methods to the same rows with the same folds, and judge them on the same test rows.

    Every method that has a strength chooses it by reconstruction of held-out rows on the common folds, PCA
    among its candidates, and is refitted on all rows. With test rows, the percentage of PCA's excess risk
    that a method removes is (eq. real-data-gain)

    .. math::

        G = 100\, \frac{R^{\mathrm{PCA}} - R}{R^{\mathrm{PCA}} - R^{(d)}},

    where :math:`R` is the mean squared reconstruction error of a test row and :math:`R^{(d)}` that of the
    best affine subspace of dimension :math:`d` for the test rows themselves.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to fit.
    n_components : int or float
        Rank of all methods; a fraction in (0, 1) is resolved once, by PCA of X.
    methods : None, iterable of names or Method, or mapping of names to estimators, default=None
        None: all of ``METHODS`` that apply. Names: some of them. A mapping: any estimators with
        ``transform`` and ``inverse_transform``; their ``n_components``, and their ``cv`` where they have
        one, are set to the common ones.
    X_test : array-like or sparse matrix of shape (n_test, n_features), optional
        Rows that nothing was fitted to.
    feature_groups : None, labels, or lists of column indices
        Columns that block masks hide together; without it, block methods are left out.
    groups : array-like of shape (n_samples,), optional
        Labels of the rows, such as subjects; rows of one group are never split.
    cv : int, None, splitter or iterable, default=5
        The folds, as in :class:`attenua.AttenuatedPCACV`.

    Returns
    -------
    pandas.DataFrame
        One row a method, in the order given, with the columns

        - ``method``: its name;
        - ``strength``: the strength or mask rate chosen, NaN where there is none;
        - ``fallback``: whether cross-validation fell back on PCA;
        - ``converged``: whether its final fit did (instead of a warning);
        - ``cv_risk``: mean squared error of held-out rows on the common folds, at the chosen strength (so a
          little optimistic for a method that chose one);
        - ``test_risk``: mean squared error of a test row (NaN without test rows);
        - ``excess_removed``: percentage of PCA's excess test risk removed (NaN without test rows);
        - ``seconds``: to choose the strength and refit.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.studies import compare
    >>> from attenua_paper.theory import draw_rows
    >>> X = draw_rows(np.eye(8) + 0.5 * np.ones((8, 8)), 1_000, random_state=0)
    >>> table = compare(X[:40], 1, X_test=X[40:], methods=["PCA", "direct attenuation"])
    >>> table.excess_removed.round(1).tolist()
    [0.0, 19.6]
    """
    X, _ = checked_matrix(X)
    splits = make_splits(cv, X.shape[0], X=X, groups=groups)
    pca = AttenuatedPCA(n_components, alpha=0.0).fit(X)
    setting = Setting(pca.n_components_, splits, feature_groups)
    judge = Judge(pca, X_test, X.shape[1])
    records = []
    for name, estimator in resolved_methods(methods, setting).items():
        model, record = fit_and_judge(name, estimator, X, judge)
        records.append(record | {"cv_risk": _cv_risk(model, X, splits)})
    return pd.DataFrame(records)[list(_COLUMNS)]


def resolved_methods(methods: Any, setting: Setting) -> dict[str, Any]:
    """Return the unfitted estimators by name."""
    if isinstance(methods, Mapping):
        return {name: _with_common_settings(estimator, setting) for name, estimator in methods.items()}
    table = {method.name: method for method in METHODS}
    if methods is None:
        kept = [method for method in METHODS if setting.feature_groups is not None or not method.by_groups]
    elif isinstance(methods, str) or not hasattr(methods, "__iter__"):
        raise ValueError(f"methods must be a list of names or a mapping to estimators; got {methods!r}.")
    else:
        kept = []
        for method in methods:
            if not isinstance(method, Method) and method not in table:
                known = ", ".join(repr(name) for name in table)
                raise ValueError(f"methods names {method!r}, which is none of {known}.")
            kept.append(method if isinstance(method, Method) else table[method])
    for method in kept:
        if method.by_groups and setting.feature_groups is None:
            raise ValueError(f"methods names {method.name!r}, which needs feature_groups.")
    return {method.name: method.make(setting) for method in kept}


def _with_common_settings(estimator: Any, setting: Setting) -> Any:
    common = {"n_components": setting.n_components, "cv": setting.splits}
    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(**{key: value for key, value in common.items() if key in known})


class Judge:
    """Test risks, and the part of PCA's excess that they remove."""

    def __init__(self, pca: AttenuatedPCA, X_test: Any, n_features: int):
        self.X_test = self.pca_risk = self.reference = None
        if X_test is None:
            return
        self.X_test, _ = checked_matrix(X_test)
        if self.X_test.shape[1] != n_features:
            raise ValueError(f"X_test has {self.X_test.shape[1]} columns, but X has {n_features}.")
        best = AttenuatedPCA(min(pca.n_components_, *self.X_test.shape)).fit(self.X_test)
        self.reference = _risk(best, self.X_test)
        self.pca_risk = _risk(pca, self.X_test)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the test risk of a fitted model and the percentage of PCA's excess that it removes."""
        if self.X_test is None:
            return {"test_risk": np.nan, "excess_removed": np.nan}
        risk = _risk(model, self.X_test)
        has_excess = self.pca_risk > self.reference
        removed = excess_risk_removed(self.pca_risk, risk, self.reference) if has_excess else np.nan
        return {"test_risk": risk, "excess_removed": removed}


def fit_and_judge(
    name: str, estimator: Any, X: Any, judge: Callable[[Any], dict[str, float]]
) -> tuple[Any, dict[str, Any]]:
    """Fit an estimator; return it and its line of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the column "converged" says it
        began = time.perf_counter()
        model = estimator.fit(X)
        seconds = time.perf_counter() - began
    strength = next((float(getattr(model, key)) for key in _STRENGTHS if hasattr(model, key)), np.nan)
    return model, {
        "method": name,
        "strength": strength,
        "fallback": hasattr(model, "cv_risk_") and strength == 0,
        "converged": bool(getattr(model, "converged_", True)),
        **judge(model),
        "seconds": seconds,
    }


def chosen_together(model: CorrectedPCACV) -> dict[str, float]:
    """Return the strengths that all held-out rows together choose, all 0 where the answer is PCA."""
    pca = model.candidates_[0]
    if model.choices_ == [pca]:
        return pca
    return pca | {step.correction: step.best for step in model.steps_}


def _cv_risk(model: Any, X: Any, splits: list[Any]) -> float:
    """Return the held-out risk on the common folds: what the method found, or refits of its settings."""
    if hasattr(model, "gain_"):
        return float(model.cv_risk_[0] * (1 - model.gain_))
    if hasattr(model, "candidates_"):
        return float(model.cv_risk_[model.candidates_.index(chosen_together(model))])
    if "cv" in model.get_params(deep=False):
        return np.nan  # it chose by some other measure, and its folds do not fit inside a fold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        held = [(clone(model).fit(X[train]), X[rows]) for train, rows in splits]
    total = sum(_risk(fold, rows) * rows.shape[0] for fold, rows in held)
    return total / sum(rows.shape[0] for _, rows in held)


def _risk(model: Any, X: Any) -> float:
    """Return the mean squared reconstruction error of a row."""
    if hasattr(model, "reconstruction_error"):
        return float(model.reconstruction_error(X).mean())
    rows = X.toarray() if hasattr(X, "toarray") else X
    return float(np.mean(np.sum((rows - model.inverse_transform(model.transform(X))) ** 2, axis=1)))
