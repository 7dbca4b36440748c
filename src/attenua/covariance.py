"""The whole covariance of few rows, as a scikit-learn estimator."""

from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.validation import check_is_fitted

from attenua._correct.correlations import MOST_COLUMNS
from attenua._correct.registry import (
    COVARIANCE_CORRECTIONS,
    Strengths,
    check_needs,
    checked_grids,
    prepared,
)
from attenua._data.filled import impute_by
from attenua._data.missing import has_missing
from attenua._data.opening import FitData, check_in_memory, checked_rows, open_for_cv
from attenua._data.sums import row_blocks
from attenua._estimate.advice import AdvisesOnParameters
from attenua._estimate.fitted import Kind, fit_from_nothing, store
from attenua._estimate.fitting import WithReference
from attenua._estimate.html import ShowsAnswer
from attenua._estimate.parameter_types import Corrections, Folds, Neighbours, RandomState, Reference
from attenua._estimate.words import (
    LEDOIT_WOLF,
    Answer,
    advice_on_scale,
    choices_in_words,
    counted,
    covariance_verdict,
    largest_in_words,
)
from attenua._select.election import Expected
from attenua._select.likelihood import LEDOIT_WOLF as BASE
from attenua._select.likelihood import CovarianceChooser, negative_log_likelihood
from attenua._select.search import nothing_compared
from attenua._select.steps import Steps
from attenua._solve.gaussian import Formed, distances_of_seen, positive_definite

# Above this many columns, pooling costs more than all the rest.
_MOST_POOLED = 500


class CorrectedCovariance(
    AdvisesOnParameters,
    ShowsAnswer,
    WithReference,
    OneToOneFeatureMixin,
    TransformerMixin,
    EmpiricalCovariance,
):
    r"""The covariance of few rows, with corrections whose strengths held-out rows choose.

    Use it in place of scikit-learn's ``LedoitWolf``: for Mahalanobis distances and outliers, discriminant
    analysis, minimum-variance portfolios, filling cells, and whatever else needs a whole covariance. It is
    positive definite, with more columns than rows too, and in the units of the data. In a pipeline it is a
    step that fills missing cells.

    The estimate at some strengths is

    .. math::

        \Sigma = (1 - \lambda)\,\{(1 - m)\, c\,T + m\, c\,\mathrm{diag}(T)\} + \lambda v I,

    with the corrected covariance T of :class:`CorrectedPCA` (long rows, small correlations and differences
    between similar columns count less; variances are not weakened) and the mean variance v of the sample. The
    factor c gives cT the trace of the sample covariance. Two shrinkages follow. `decoupling` is m, the part
    that every correlation loses. `shrinkage` s multiplies the odds of Ledoit and Wolf's closed form
    :math:`\lambda_0`:

    .. math::

        \frac{\lambda}{1 - \lambda} = s\,\frac{\lambda_0}{1 - \lambda_0},

    so that s = 1 without any correction is their covariance. There the search begins. It judges candidates by
    the log-likelihood of held-out rows as rows of a Gaussian law. Then the held-out rows vote as in
    :class:`CorrectedPCACV`, and the mean of the matrices that they choose has eigenvalues
    :math:`\ell_1 \le \ell_2 \le \dots`. The fit has the same eigenvectors, with eigenvalues

    .. math::

        \sqrt{\ell_j \min\{16\,\ell_j, \max(h_j, \ell_j / 16)\}},

    where h is what held-out rows say: the mean of :math:`(u_j^\top (x - \mu))^2` over all of them, with the
    eigenvectors :math:`u_j` of the same mean of matrices fitted to their training rows, made increasing by
    isotonic regression. Where nothing is confirmed to be better, the fit is Ledoit and Wolf's.

    Parameters
    ----------
    corrections : "auto", list of str, or dict, default="auto"
        What to try. "auto" is all, except for pooling above 500 columns, where it is slow. A list names
        some of "row_tempering", "borrowing", "damping", "pooling", "smoothing", "decoupling" and "shrinkage".
        A dict also gives the strengths to compare, such as ``{"damping": [0.5, 1]}``. The strength that
        changes nothing is always compared: 1 for shrinkage, 0 for the others.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours, as in :class:`CorrectedPCACV`. Smoothing is tried only if this is given.
    reference : None, rows, fitted model, or covariance matrix, default=None
        Other rows with the columns of X, or what is known of their covariance, as in :class:`CorrectedPCA`.
        Borrowing is tried only if this is given.
    cv : int, None, splitter or iterable, default=5
        As in :class:`CorrectedPCACV`. With fewer rows or groups than folds, each is a fold; with three rows
        or two groups, nothing is held out and the fit is Ledoit and Wolf's.
    nested : bool, default=False
        Whether to measure what to expect of new rows (``left_out_gain_``), at about five times the cost, as
        in :class:`CorrectedPCACV`: by five blocks of rows, of which the other four are the folds inside.
    scale : bool, default=False
        Whether to divide the columns by their standard deviations before anything is estimated, in every
        training set by those of its own rows. So columns of different units are shrunk alike. The covariance
        and all results are in the units of the data.
    assume_centered : bool, default=False
        Whether the mean of the rows is known to be 0. Row tempering still weighs differences of rows: its
        covariance is about their mean, at the trace of that about 0. And `scale` still divides by standard
        deviations about the mean. Residuals from means of the same rows are not
        independent: those in a training set give away the held-out ones. Use contrasts instead (the guide
        has a recipe for discriminant analysis).
    n_jobs : int or None, default=None
        How many splits run in parallel, in threads. None spreads the threads of BLAS over the splits.

    Attributes
    ----------
    covariance_, precision_ : ndarray of shape (n_features, n_features)
        The covariance and its inverse.
    location_ : ndarray of shape (n_features,)
        Mean of the rows, or 0 with `assume_centered`.
    choices_, choice_weights_ : list
        Strengths that the votes choose, the largest weight first, and their weights.
    steps_ : Steps
        What each step compared. Gains are nats per row. Shrinkage is compared twice, first and last;
        ``steps_["shrinkage"]`` is the last.
    verdict_ : str
        What to expect of new rows, where that was measured, and what the fit is, in a sentence or two.
    left_out_gain_, left_out_gain_error_ : float
        Log-likelihood of new rows above that of Ledoit and Wolf's covariance, in nats per row, and its
        standard error: what choices made with four fifths of the rows gain on the others. NaN unless
        `nested`, or where rows are too few.
    candidates_ : list of dict
        Strengths of the candidates that all splits judged, by name, Ledoit and Wolf's first.
    cv_risk_ : ndarray of shape (n_candidates,)
        Negative log-likelihood of each candidate: mean over all held-out rows. NaN where nothing is held out.
    cv_risk_folds_ : ndarray of shape (n_splits, n_candidates)
        The same for each split.
    n_samples_, n_features_in_ : int
        Numbers of fitted rows and of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when fitted to a frame.

    See Also
    --------
    CorrectedPCACV : The leading directions only, which held-out reconstruction chooses.
    sklearn.covariance.LedoitWolf : The covariance that the search begins with.

    Notes
    -----
    X may have up to 4,000 columns. Above 500, eigenvalues stay as they are: eigenvectors of all training sets
    would take longer than the rest. Shrinkage is in the units of the data, unless ``scale=True``. For a row
    with missing cells, h takes the mean of its square given the seen ones.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices.
    Chen, Wiesel, Eldar and Hero (2010), Shrinkage algorithms for MMSE covariance estimation.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedCovariance
    >>> X = load_digits().data
    >>> model = CorrectedCovariance(neighbours=(8, 8)).fit(X[:60])
    >>> model.covariance_.shape
    (64, 64)
    >>> from sklearn.covariance import LedoitWolf
    >>> bool(model.score(X[60:]) > LedoitWolf().fit(X[:60]).score(X[60:]))
    True
    """

    store_precision = True  # read by scikit-learn's methods
    _fitted: ClassVar[dict[str, Kind]] = {
        # Doubles for all rows: rounded to float32, a covariance may lose its least eigenvalues.
        "covariance_": Kind.GRID,
        "precision_": Kind.GRID,
        "location_": Kind.GRID,
        "n_samples_": Kind.COUNT,
        "choices_": Kind.CHOICES,
        "choice_weights_": Kind.NUMBERS,
        "steps_": Kind.STEPS,
        "verdict_": Kind.TEXT,
        "left_out_gain_": Kind.MEASURED,
        "left_out_gain_error_": Kind.MEASURED,
        "candidates_": Kind.CHOICES,
        "cv_risk_": Kind.GRID,
        "cv_risk_folds_": Kind.GRID,
    }
    covariance_: NDArray[Any]
    precision_: NDArray[Any]
    location_: NDArray[Any]
    choices_: list[dict[str, float]]
    choice_weights_: list[float]
    steps_: Steps
    verdict_: str
    left_out_gain_: float
    left_out_gain_error_: float
    n_samples_: int
    n_features_in_: int

    def __init__(
        self,
        *,
        corrections: Corrections = "auto",
        neighbours: Neighbours = None,
        reference: Reference = None,
        cv: Folds = 5,
        nested: bool = False,
        scale: bool = False,
        assume_centered: bool = False,
        n_jobs: int | None = None,
    ):
        self.corrections = corrections
        self.neighbours = neighbours
        self.reference = reference
        self.cv = cv
        self.nested = nested
        self.scale = scale
        self.assume_centered = assume_centered
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose strengths by held-out rows, and fit the covariance to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table of shape (n_samples, n_features)
            Rows, in memory. Missing cells (NaN) are completed.
        y : ignored
            Here for scikit-learn.
        groups : array-like of shape (n_samples,), optional
            Labels of the rows, such as subjects; rows of one group are never split. Where rows follow each
            other in time, pass stretches, ``np.arange(n_samples) * 5 // n_samples``: the neighbours of a
            held-out row would give it away, and the fit would shrink far too little.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows of one group.

        Returns
        -------
        self
        """
        grids = checked_grids(self.corrections, COVARIANCE_CORRECTIONS)
        check_needs(self.corrections, vars(self))
        check_in_memory(X, type(self).__name__)
        with fit_from_nothing(self):
            data = open_for_cv(self, X, y, groups, sample_weight, fewer_folds=True)
            _check_data(data)
            if isinstance(self.corrections, str) and data.moments.n_features > _MOST_POOLED:
                del grids["pooling"]
            chooser = CovarianceChooser(
                grids,
                prepared(vars(self), data.moments.n_features),
                n_jobs=self.n_jobs,
                assume_centered=self.assume_centered,
            )
            self._fit_data(data.scaled() if self.scale else data, chooser)
        return self

    def _fit_data(self, data: FitData, chooser: CovarianceChooser) -> None:
        """Choose, and set the fitted attributes."""
        expected = Expected()
        if data.moments.n_splits == 0:
            covariance, choices, weights = chooser.ledoit_wolf(data), [BASE], [1.0]
            found = nothing_compared(BASE)
        else:
            election = chooser.elect(data, getattr(self, "feature_names_in_", None))
            covariance, found = election.fit, election.search
            choices, weights = list(election.choices), list(election.choices.values())
            expected = chooser.expected_gain(data) if self.nested else expected
        total = data.moments.total
        words = covariance_verdict(
            choices, weights, expected, nested=self.nested, chosen=data.moments.n_splits > 0
        )
        divisor = total.divisor
        matrix, factor = positive_definite(covariance.matrix)
        precision = cho_solve((factor, True), np.eye(len(matrix)))
        values = {
            "covariance_": _in_data_units(matrix, divisor),
            "precision_": _in_data_units((precision + precision.T) / 2, 1 / divisor),
            "location_": covariance.centre * divisor,
            "n_samples_": data.n_samples,
            "choices_": [_offered(choice) for choice in choices],
            "choice_weights_": weights,
            "steps_": found.steps.with_weights(choices, weights),
            "verdict_": words + advice_on_scale(self, total),
            "left_out_gain_": expected.gain,
            "left_out_gain_error_": expected.standard_error,
            "candidates_": [_offered(candidate) for candidate in found.candidates],
            "cv_risk_": found.risk,
            "cv_risk_folds_": found.risk_folds,
        }
        store(self, values, covariance.centre, data.dtype)

    def mahalanobis(self, X: Any) -> NDArray[np.float64]:
        r"""Return the squared Mahalanobis distance of every row from the location.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            :math:`(x - \mu)^\top \Sigma^{-1} (x - \mu)`; of a row with missing cells, that of the seen ones.
        """
        return self._squares(X)[0]

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        r"""Return the log-likelihood of every row under a Gaussian law of this covariance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually held out.

        Returns
        -------
        ndarray of shape (n_samples,)
            :math:`-\frac12 \{p \log 2\pi + \log\det\Sigma + (x - \mu)^\top \Sigma^{-1} (x - \mu)\}`; of a row
            with missing cells, that of the seen ones.
        """
        squares, log_det, n_cells = self._squares(X)
        scores: NDArray[np.float64] = -negative_log_likelihood(log_det, squares, n_cells)
        return scores

    def score(self, X_test: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of rows, as scikit-learn's covariances do; larger is better.

        Parameters
        ----------
        X_test : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually held out.
        y : ignored
            Here for scikit-learn.

        Returns
        -------
        float
            The mean of ``score_samples(X_test)``.
        """
        return float(self.score_samples(X_test).mean())

    def impute(
        self,
        X: Any,
        *,
        return_std: bool = False,
        n_draws: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        r"""Return rows with their missing cells (NaN) filled, all others as they are.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``, fitted or new. In a sparse matrix only stored NaN are
            missing.
        return_std : bool, default=False
            Whether to return how uncertain the filled cells are, too.
        n_draws : int, default=None
            For multiple imputation: so many filled tables instead of one. Their cells are not means, but
            drawn together from their Gaussian law given the seen cells of the row.
        random_state : int, RandomState or None, default=None
            Draws them.

        Returns
        -------
        filled : of the type of X
            A missing cell has its mean given the seen cells o of its row,
            :math:`\mu_j + \Sigma_{jo} \Sigma_{oo}^{-1} (x_o - \mu_o)`. A column of a frame that is not of
            floating-point numbers becomes one if a cell of it is filled; whole numbers beyond 2^53 stay, and
            the filled cell is rounded. With `n_draws`, an array of shape
            (n_draws, n_samples, n_features), or a list of frames, tables or sparse matrices. Their missing
            cells m have that mean and the covariance
            :math:`\Sigma_{mm} - \Sigma_{mo} \Sigma_{oo}^{-1} \Sigma_{om}`.
        std : ndarray of shape (n_samples, n_features)
            If `return_std`: standard deviations of the filled cells under a Gaussian law of this covariance,
            :math:`(\Sigma_{jj} - \Sigma_{jo} \Sigma_{oo}^{-1} \Sigma_{oj})^{1/2}`, and 0 for seen cells. They
            do not count that the covariance itself is estimated, and nor do draws.
        """
        check_is_fitted(self)
        law, scale, _ = self._law()
        return impute_by(
            law,
            X,
            checked_rows(self, X),
            self.location_,
            scale,
            return_std=return_std,
            n_draws=n_draws,
            random_state=random_state,
        )

    def transform(self, X: Any) -> Any:
        """Return rows with their missing cells filled, as a step of a pipeline.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Arrow table of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``, fitted or new.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
            What :meth:`impute` fills, as an array; ``set_output`` asks for a frame.
        """
        check_is_fitted(self)
        rows = checked_rows(self, X)
        law, scale, _ = self._law()
        return impute_by(law, rows, rows, self.location_, scale)

    def _squares(self, X: Any) -> tuple[NDArray[np.float64], Any, Any]:
        """Return the squared distances of rows, the logarithms of determinants, and numbers of cells.

        Of rows with missing cells they are those of the seen cells, one for each row.
        """
        check_is_fitted(self)
        X = checked_rows(self, X)
        law, scale, logs = self._law()
        if has_missing(X):
            X = X.toarray() if sp.issparse(X) else X
            seen = ~np.isnan(X)
            Z = np.where(seen, X - self.location_, 0.0) / scale
            squares, log_dets = distances_of_seen(law, Z, seen)
            return squares, log_dets + 2 * seen @ logs, seen.sum(axis=1)
        parts = []
        for block in row_blocks(*X.shape):
            rows = X[block].toarray() if sp.issparse(X) else X[block]
            parts.append(law.squares((rows - self.location_) / scale))
        return np.concatenate(parts), law.log_det + 2 * float(np.sum(logs)), len(scale)

    def _law(self) -> tuple[Formed, NDArray[np.float64], NDArray[np.float64]]:
        """Return the law of scaled columns, their scales, and the logarithms of these."""
        scale = np.sqrt(np.diagonal(self.covariance_))
        return Formed(self.covariance_ / scale[:, None] / scale), scale, np.log(scale)

    def _answer(self) -> Answer:
        """Return what was chosen and what it gains."""
        fitted = f"{counted(self.n_samples_, 'row')}, {counted(self.n_features_in_, 'column')}"
        facts = [
            ("averaged", choices_in_words(self.choices_, self.choice_weights_, LEDOIT_WOLF)),
            ("fitted", fitted),
        ]
        if not isfinite(self.cv_risk_[0]):
            facts = facts[-1:]
        if isfinite(self.left_out_gain_):
            gain, error = f"{self.left_out_gain_:.3g}", f"{self.left_out_gain_error_:.2g}"
            expected = f"{gain} nats per row above {LEDOIT_WOLF}, standard error {error}"
            facts.insert(0, ("to expect of new rows", expected))
        caption = largest_in_words(self.choices_, self.choice_weights_, LEDOIT_WOLF)
        return Answer(caption, self.verdict_, tuple(facts))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _in_data_units(matrix: NDArray[np.float64], divisor: Any) -> NDArray[np.float64]:
    """Return a covariance of divided columns in the data's own units, symmetric; beyond 1e308, infinity."""
    factors = np.broadcast_to(divisor, len(matrix))
    with np.errstate(over="ignore", under="ignore"):
        lower = np.tril(matrix * factors[:, None] * factors)
    whole: NDArray[np.float64] = lower + np.tril(lower, -1).T
    return whole


def _offered(strengths: Strengths) -> dict[str, float]:
    """Return the strengths of the corrections that a covariance has."""
    return {name: strengths[name] for name in COVARIANCE_CORRECTIONS}


def _check_data(data: FitData) -> None:
    """Raise for rows that this class has no covariance of."""
    n_features = data.moments.n_features
    if n_features > MOST_COLUMNS:
        raise ValueError(
            f"X has {n_features:,} columns; a whole covariance is estimated of up to {MOST_COLUMNS:,}. "
            "CorrectedPCACV estimates the leading directions of more."
        )
    if data.moments.total.total_variance == 0:
        raise ValueError("X must hold rows that differ; all are equal, so they have no covariance.")
