"""Hotelling's T2 and Q residuals of rows, and the limits beyond which a row is unusual.

T2 is a row's distance from the centre inside the subspace, Q its distance from the subspace. The textbook's
limits come from the fitted rows themselves. A subspace lies closer to the rows it was fitted to than to new
ones, so with few rows these limits give too many false alarms. The limits here come from rows that the fit
has not seen.
"""

import numbers
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import chi2
from scipy.stats import f as fisher
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from attenua._data.folds import (
    DEFAULT_FOLDS,
    Split,
    checked_groups,
    is_number_of_folds,
    make_splits,
    resolve_cv,
)
from attenua._data.missing import has_missing
from attenua._data.namespace import array_namespace, is_foreign, to_host
from attenua._data.opening import checked_matrix, checked_rows
from attenua._estimate.transformer import SubspaceTransformer
from attenua._estimate.words import counted

Array = NDArray[np.float64]

# Held-out rows beyond the limit of this level, as the median or the quartiles put it, do not count: an
# outlier among the fitted rows would widen the limits so far that nothing is beyond them.
_FAR_OUT = 0.9999
# Least and most degrees of freedom that quartiles of Q can stand for.
_FREEDOM = (0.2, 1e5)


@dataclass(frozen=True)
class ControlLimits:
    r"""Limits of Hotelling's T2 and of Q, and where the fitted rows are.

    Made by ``control_limits`` of a fitted estimator with :math:`n` rows and :math:`k` components.

    Attributes
    ----------
    t2_rows, q_rows : ndarray of shape (n_samples,)
        T2 and Q of the fitted rows. If `held_out`, those of each row under a fit without it, so that a row
        which pulls the subspace towards itself is seen too; NaN for rows that no split holds out.
    held_out : bool
        Whether the limits come from rows that were held out, or from the fitted rows as in the textbook.
    n_samples, n_components : int
        Number of rows and of components.
    t2_scale : float
        Factor of the F distribution that T2 is taken to have.
    q_mean, q_freedom : float
        Mean of Q, and the degrees of freedom h of the chi-square distribution that it is taken to have.
    """

    t2_rows: Array = field(repr=False)
    q_rows: Array = field(repr=False)
    held_out: bool
    n_samples: int
    n_components: int
    t2_scale: float
    q_mean: float
    q_freedom: float

    def t2(self, level: float = 0.95) -> float:
        r"""Return the limit that T2 of a new row exceeds with probability ``1 - level``.

        Parameters
        ----------
        level : float
            Between 0 and 1, usually 0.95 or 0.99.

        Returns
        -------
        float
            :math:`c\,F_{k,\,n-k}(\mathrm{level})`. In the textbook :math:`c = k(n^2-1)/\{n(n-k)\}`, which is
            exact for Gaussian rows where the subspace is not estimated from them [1]_. From held-out rows,
            :math:`c` makes the mean of this law that of their T2; rows far out are left out.

        References
        ----------
        .. [1] Tracy, N. D., Young, J. C. and Mason, R. L. (1992). Multivariate control charts for individual
           observations. Journal of Quality Technology 24, 88-95.
        """
        k = self.n_components
        return float(self.t2_scale * fisher.ppf(_checked_level(level), k, self.n_samples - k))

    def q(self, level: float = 0.95) -> float:
        r"""Return the limit that Q of a new row exceeds with probability ``1 - level``.

        Parameters
        ----------
        level : float
            Between 0 and 1, usually 0.95 or 0.99.

        Returns
        -------
        float
            In the textbook :math:`g\,\chi^2_h(\mathrm{level})` with the first two moments of Q, :math:`gh =
            \theta_1` and :math:`h = \theta_1^2/\theta_2`, where :math:`\theta_i =
            \mathrm{tr}\{(I-P)S(I-P)\}^i` are sums of powers of the residual eigenvalues of the sample
            covariance S, which no correction changes [1]_. The limit of Jackson and Mudholkar [2]_
            approximates the same law, and differs by a few percent. From held-out rows, both moments are
            those of their Q, as in [3]_: :math:`m\,F_{h,\,nh}(\mathrm{level})` with the mean m and, for the
            variance v, :math:`h = 2m^2/v`. F stands for :math:`\chi^2_h/h` because m is itself a mean of n
            rows. Rows that are far out by the quartiles are left out of m and v.

        References
        ----------
        .. [1] Box, G. E. P. (1954). Some theorems on quadratic forms applied in the study of analysis of
           variance problems, I. Annals of Mathematical Statistics 25, 290-302.
        .. [2] Jackson, J. E. and Mudholkar, G. S. (1979). Control procedures for residuals associated with
           principal component analysis. Technometrics 21, 341-349.
        .. [3] Nomikos, P. and MacGregor, J. F. (1995). Multivariate SPC charts for monitoring batch
           processes. Technometrics 37, 41-59.
        """
        level, h = _checked_level(level), self.q_freedom
        if not np.isfinite(h):  # Q does not vary: with all components it is 0
            return self.q_mean
        factor = fisher.ppf(level, h, self.n_samples * h) if self.held_out else chi2.ppf(level, h) / h
        return float(self.q_mean * factor)

    def beyond(self, level: float = 0.95) -> NDArray[np.intp]:
        """Return the positions of the fitted rows that are beyond one of the limits, counted from 0.

        Parameters
        ----------
        level : float
            Between 0 and 1, usually 0.95 or 0.99.

        Returns
        -------
        ndarray of int
            About ``1 - level`` of the rows are beyond each limit by chance.
        """
        return np.flatnonzero((self.t2_rows > self.t2(level)) | (self.q_rows > self.q(level)))

    @property
    def sentence(self) -> str:
        """The limits of 99%, and how many of the fitted rows are beyond them."""
        found = f"{len(self.beyond(0.99))} of {counted(len(self.q_rows), 'fitted row')}"
        return (
            f"99% of new rows have a T2 below {self.t2(0.99):.3g}, and 99% a Q below {self.q(0.99):.3g}; "
            f"{found} are beyond one of the two: beyond(0.99)."
        )

    def __str__(self) -> str:
        return self.sentence

    def plot(self, ax: Any = None) -> Any:
        """Draw T2 against Q with the limits, as :func:`attenua.pictures.control_limits` does.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from attenua import pictures

        return pictures.control_limits(self, ax=ax)


class MonitorsRows(SubspaceTransformer):
    """Hotelling's T2 and Q of rows, and their limits."""

    def t2(self, X: Any) -> Any:
        r"""Return Hotelling's T2 of every row: how far it is from the centre, inside the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually new ones. Missing cells (NaN) are filled as in ``transform``.

        Returns
        -------
        array of shape (n_samples,)
            :math:`\sum_k t_k^2/\lambda_k` with the scores :math:`t_k` and the explained variances
            :math:`\lambda_k`, which are the variances of the scores of the fitted rows under all corrections.
        """
        check_is_fitted(self)
        variances = to_host(self.explained_variance_)
        rounding = float(np.finfo(variances.dtype).eps) * max(variances.max(initial=0.0), 0.0)
        if variances.min() <= rounding:
            raise ValueError(
                f"t2 needs variance in every component, and component {np.argmin(variances) + 1} has none; "
                f"choose n_components below {np.argmax(variances <= rounding) + 1}."
            )
        scores = self.transform(X)
        # Of data frames, as set_output makes them, and of lazy scores, an array.
        scores = scores if is_foreign(scores) else np.asarray(scores)
        xp = array_namespace(scores)
        scores = xp.astype(scores, xp.float64)
        if not self.whiten:
            scores = scores / xp.astype(self._scale(), xp.float64)
        with np.errstate(over="ignore"):  # of a row that is so far out, T2 is infinite
            return xp.sum(scores**2, axis=1)

    def q(self, X: Any) -> Any:
        r"""Return Q of every row, its squared distance from the subspace (also called SPE).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually new ones.

        Returns
        -------
        array of shape (n_samples,)
            :math:`\|(I - P)(x_i - \bar x)\|^2`, which is ``reconstruction_error(X)``. Of a row with missing
            cells (NaN) it is the error in the seen ones, times the number of columns over that of seen cells,
            so that all rows can be compared with one limit; NaN where no cell is seen.
        """
        errors = self.reconstruction_error(X)
        if is_foreign(X):
            return errors
        rows = checked_rows(self, X)
        if not has_missing(rows):
            return errors
        missing = np.isnan(rows.toarray() if sp.issparse(rows) else rows)
        seen = missing.shape[1] - missing.sum(axis=1)
        with np.errstate(over="ignore"):
            return np.where(seen > 0, errors * (missing.shape[1] / np.maximum(seen, 1)), np.nan)

    def control_limits(
        self, X: Any, *, held_out: bool = True, cv: Any = DEFAULT_FOLDS, groups: ArrayLike | None = None
    ) -> ControlLimits:
        """Return the limits of T2 and Q for new rows.

        With few rows the textbook's limits of Q, which come from the fitted rows, are too tight: a limit of
        95% may give false alarms for 10% to 40% of new rows. So parts of the rows are held out, the estimator
        is fitted without them, strengths and all, and the laws of T2 and Q are fitted to the rows held out.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows the estimator was fitted to, without weights. They may have missing cells (NaN).
        held_out : bool, default=True
            Whether the limits come from rows that were held out. If not, they are the textbook's, as other
            software has them: right for hundreds of rows with light tails.
        cv : int, splitter or iterable, default=5
            What is held out: a number of folds (row i is held out in fold ``i % cv``, or whole groups), a
            splitter, or pairs of (training rows, held-out rows).
        groups : array-like of shape (n_samples,), optional
            Labels of the rows, such as subjects or batches; rows of one group are held out together.

        Returns
        -------
        ControlLimits
            ``t2(level)`` and ``q(level)`` are the limits; ``beyond(level)`` are the fitted rows beyond them.
        """
        check_is_fitted(self)
        rows, _ = checked_matrix(X)
        fitted, least = (self.n_samples_, self.n_features_in_), self.n_components_ + 3
        if rows.shape != fitted:
            raise ValueError(
                f"X must be the rows the estimator was fitted to, {fitted[0]} x {fitted[1]}; got "
                f"{rows.shape[0]} x {rows.shape[1]}."
            )
        if rows.shape[0] < least:
            raise ValueError(
                f"control_limits needs at least 3 rows more than components, {least}; got {rows.shape[0]}."
            )
        labels = checked_groups(groups, rows.shape[0])
        splits = make_splits(cv, rows.shape[0], X=rows, groups=labels) if held_out else []
        with warnings.catch_warnings():
            # The fit gave them.
            warnings.simplefilter("ignore")
            return self._limits_of_held_out(rows, splits, labels) if held_out else self._textbook_limits(rows)

    def _limits_of_held_out(self, rows: Any, splits: list[Split], labels: Any) -> ControlLimits:
        """Return limits by the T2 and Q of rows under fits without them."""
        n, k = rows.shape[0], self.n_components_
        sums, times = np.zeros((2, n)), np.zeros(n)
        for train, held in splits:
            model = self._refitted(rows[train], None if labels is None else labels[train])
            sums[:, held] += model.t2(rows[held]), model.q(rows[held])
            times[held] += 1
        with np.errstate(invalid="ignore"):
            t2_rows, q_rows = sums / times
        q_mean, q_freedom = _law_of_q(q_rows[np.isfinite(q_rows)])
        return ControlLimits(
            t2_rows=t2_rows,
            q_rows=q_rows,
            held_out=True,
            n_samples=n,
            n_components=k,
            t2_scale=_scale_of_t2(t2_rows[np.isfinite(t2_rows)], k, n - k),
            q_mean=q_mean,
            q_freedom=q_freedom,
        )

    def _refitted(self, rows: Any, labels: Any) -> Any:
        """Return the same estimator fitted to some of the rows."""
        try:
            return refitted(self, rows, labels)
        except ValueError as error:
            raise ValueError(f"control_limits cannot fit the rows without those held out: {error}") from error

    def _textbook_limits(self, rows: Any) -> ControlLimits:
        """Return limits by the fitted rows themselves."""
        n, k = rows.shape[0], self.n_components_
        residuals = self._residuals(rows)
        smaller = residuals @ residuals.T if n <= rows.shape[1] else residuals.T @ residuals
        total, squares = float(np.trace(smaller)) / (n - 1), float(np.sum(smaller**2)) / (n - 1) ** 2
        return ControlLimits(
            t2_rows=self.t2(rows),
            q_rows=self.q(rows),
            held_out=False,
            n_samples=n,
            n_components=k,
            t2_scale=k * (n**2 - 1) / (n * (n - k)),
            q_mean=total,
            q_freedom=total**2 / squares if squares > 0 else np.inf,
        )

    def _residuals(self, rows: Any) -> Array:
        """Return what reconstruction misses of each cell, so that the squares of a row sum to its Q."""
        rows = rows.toarray() if sp.issparse(rows) else rows
        missed = rows - self.inverse_transform(self.transform(rows))
        missed = missed if self.scale_ is None else missed / self.scale_
        seen = ~np.isnan(missed)
        share = np.maximum(seen.mean(axis=1, keepdims=True), 1 / missed.shape[1])
        residuals: Array = np.where(seen, missed, 0.0).astype(float) / np.sqrt(share)
        return residuals


def refitted(estimator: Any, rows: Any, labels: Any) -> Any:
    """Return an estimator, fitted to some of its rows with as many components; `labels` are their groups."""
    model = clone(estimator).set_params(n_components=estimator.n_components_)
    parameters = model.get_params(deep=False)
    if "nested" in parameters:
        model.set_params(nested=False)
    is_search = "cv" in parameters
    # Pairs of indices are those of all rows.
    if is_search and not (is_number_of_folds(resolve_cv(model.cv)) or hasattr(model.cv, "split")):
        model.set_params(cv=DEFAULT_FOLDS)
    return model.fit(rows, groups=labels) if is_search else model.fit(rows)


def _scale_of_t2(t2: Array, k: int, others: int) -> float:
    """Return the factor of F with which its mean is that of T2, without the rows that are far out."""
    middle = np.median(t2) / fisher.median(k, others)
    return float(t2[t2 <= middle * fisher.ppf(_FAR_OUT, k, others)].mean() / fisher.mean(k, others))


def _law_of_q(q: Array) -> tuple[float, float]:
    """Return the mean and the degrees of freedom of Q, without the rows that are far out.

    The quartiles of Q, which a quarter of the rows cannot move, say which rows those are.
    """
    scale = float(q.max()) or 1.0  # squares of the largest Q would overflow
    q = q / scale
    low, middle, high = np.quantile(q, [0.25, 0.5, 0.75])
    if high > low:
        h = _freedom_of_quartiles((high - low) / middle)
        q = q[q <= middle * fisher.ppf(_FAR_OUT, h, len(q) * h) / fisher.median(h, len(q) * h)]
    mean, variance = float(q.mean()), float(q.var(ddof=1))
    # Of rows that all have the same Q up to rounding, the limit is their mean.
    varies = variance > (1e-12 * mean) ** 2
    return scale * mean, 2 * mean**2 / variance if varies else np.inf


def _freedom_of_quartiles(spread: float) -> float:
    """Return the degrees of freedom of chi-square whose quartiles differ by so many medians."""

    def difference(log_h: float) -> float:
        low, middle, high = chi2.ppf([0.25, 0.5, 0.75], np.exp(log_h))
        return float((high - low) / middle - spread)

    least, most = np.log(_FREEDOM)
    if difference(least) <= 0:
        return _FREEDOM[0]
    if difference(most) >= 0:
        return _FREEDOM[1]
    return float(np.exp(brentq(difference, least, most)))


def _checked_level(level: Any) -> float:
    if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise ValueError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}.")
    return float(level)
