"""PCA with all corrections as scikit-learn estimators: at strengths you give, or at chosen ones."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.corrections import CORRECTIONS, Strengths, checked_strength_of
from attenua._correct.damping import LARGEST_DAMPED, can_damp
from attenua._correct.feature_groups import column_labels
from attenua._correct.neighbours import column_smoother
from attenua._correct.row_tempering import row_tempered
from attenua._correct.tempering import NEEDS_VARIANCES
from attenua._data.folds import checked_stream_folds
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._data.range import check_not_vanishing
from attenua._estimate.fitting import RuleTransformer
from attenua._estimate.incremental import IncrementalFit
from attenua._estimate.options import Corrections, FeatureGroups, Folds, Neighbours, RandomState
from attenua._estimate.stepwise import StepwiseCV
from attenua._estimate.words import Answer, given_answer
from attenua._select.corrected_rule import CorrectedRule


class CorrectedPCA(IncrementalFit, RuleTransformer):
    r"""PCA of few rows, with corrections at strengths you give.

    The components span the leading eigenvectors (algebraically largest) of a corrected covariance

    .. math::

        T = K_h \{F - a\,\mathrm{diag}(F)\} K_h, \qquad
        F_{ij} = r_{ij} |r_{ij}|^b\, t_i t_j, \quad F_{ii} = t_i^2, \qquad t_i = s_i^{1-g},

    with the standard deviations :math:`s_i` and the correlations :math:`r_{ij}` of :math:`S_k`, a covariance
    in which long rows count less. Each correction weakens one kind of noise: `row_tempering` k long rows,
    `tempering` g the sample variances inside covariances, `attenuation` a those on the diagonal (the paper's
    correction), `damping` b small correlations, `smoothing` h differences between neighbouring columns. With
    all of them at 0 this is ordinary PCA. Only the estimated matrix changes: components are in the original
    coordinates, and rows are centred, projected and reconstructed as in PCA.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components. A fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance. None keeps ``min(n_samples, n_features)``.
    attenuation : float, default=0.0
        Strength a, from 0 to 1: the part of the sample variances that is taken off the diagonal.
    tempering : float, default=0.0
        Strength g, from 0 to 1; at 1, covariances become correlations.
    row_tempering : float, default=0.0
        Strength k, from 0 to 1; at 1, all rows (or differences of rows) count as if of length one.
    damping : float, default=0.0
        Strength b, 0 or more; at 1, a correlation r becomes r|r|. For up to 4,000 columns.
    smoothing : float, default=0.0
        Strength h, 0 or more: the standard deviation of the kernel, in columns. Needs `neighbours`.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours: "line" (wavelengths, times), the shape of a grid such as (28, 28)
        (pixels), or a symmetric matrix of weights between columns, sparse or dense.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Groups of columns. If given, attenuation weakens the covariances within groups, not only the diagonal.
    whiten : bool, default=False
        Scale the scores to unit variance.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores on each component, divided by n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same, as a part of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the score vectors.
    noise_variance_ : float
        Mean variance of the directions left out.
    loadings_ : ndarray of shape (n_features, n_components)
        ``components_.T * sqrt(explained_variance_)``: the covariances of the reconstructed columns with the
        scores scaled to unit variance.
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of fitted rows.
    shortfall_ : float
        Bound on what the solver may have missed: the exact subspace explains at most this part of the total
        of T more, unless a leading direction was overlooked. 0 where LAPACK was used.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    CorrectedPCACV : Chooses the strengths by held-out rows.
    AttenuatedPCA : The paper's correction alone.

    Notes
    -----
    Row tempering weighs every pair of rows by its distance, or, above 1,000 rows, every row by its distance
    from the mean. It reads the rows twice, so it cannot be used with an iterator.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCA
    >>> X = load_digits().data[:100]
    >>> CorrectedPCA(5, damping=0.25, smoothing=0.5, neighbours=(8, 8)).fit(X).components_.shape
    (5, 64)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        attenuation: float = 0.0,
        tempering: float = 0.0,
        row_tempering: float = 0.0,
        damping: float = 0.0,
        smoothing: float = 0.0,
        neighbours: Neighbours = None,
        feature_groups: FeatureGroups = None,
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.attenuation = attenuation
        self.tempering = tempering
        self.row_tempering = row_tempering
        self.damping = damping
        self.smoothing = smoothing
        self.neighbours = neighbours
        self.feature_groups = feature_groups
        self.whiten = whiten

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
            Data. Sparse data are never made dense; float32 data give float32 results. An iterable of batches
            or an Arrow table, reader or dataset is read in bounded memory; a dask array or data frame is
            summed up on its workers. ``partial_fit`` can go on from either.
        y : ignored
            Here for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies: a row of weight 2 counts as two rows. With batches also an iterable of arrays; with
            Arrow data or a dask data frame also the name of a column.

        Returns
        -------
        self
        """
        self._strengths()
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add a batch of rows to those seen so far. It works without row tempering only.

        The subspace of all rows so far is computed when it is next used, so many batches cost no more
        eigenproblems than one. A batch that is refused leaves the estimator as it was. After a ``fit`` to
        rows in memory, whose sums are not kept, this starts again and warns; after ``fit([X])`` it goes on.

        Parameters
        ----------
        X : array-like, sparse matrix or Arrow table of shape (n_samples, n_features)
            A batch; one row is enough. A batch on a device is copied to the host, where the sums are kept;
            the fitted arrays are then numpy's.
        y : ignored
            Here for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Frequencies of its rows.

        Returns
        -------
        self
        """
        if self._strengths().row_tempering:
            raise ValueError(
                "row_tempering reads the rows twice, which partial_fit cannot do; set row_tempering=0."
            )
        self._add_batch(X, 1, sample_weight=sample_weight)
        return self

    def _strengths(self) -> Strengths:
        return Strengths(*(checked_strength_of(name, getattr(self, name)) for name in CORRECTIONS))

    def _answer(self) -> Answer:
        return given_answer(self, self._strengths()._asdict())

    def _rule(self, n_features: int) -> CorrectedRule:
        strengths = self._strengths()
        smoother = column_smoother(self.neighbours, n_features)
        if strengths.smoothing and smoother is None:
            raise ValueError(
                "smoothing needs neighbours: 'line', the shape of a grid, or an adjacency matrix."
            )
        if strengths.damping and not can_damp(n_features):
            raise ValueError(
                f"damping needs every correlation, and works up to {LARGEST_DAMPED:,} columns; X has "
                f"{n_features:,}."
            )
        labels = column_labels(self.feature_groups, n_features)
        return CorrectedRule(np.array([strengths]), labels, smoother)

    def _moments(self, data: FitData) -> Moments:
        if self._strengths().tempering > NEEDS_VARIANCES:
            check_not_vanishing(data.moments.total, getattr(self, "feature_names_in_", None))
        strength = self._strengths().row_tempering
        if not strength:
            return data.moments.total
        if data.reweighter is None:
            raise ValueError(
                "row_tempering reads the rows twice, but X is an iterator that can be read once; give a list "
                "of batches, a dataset or an array, or row_tempering=0."
            )
        (read,) = row_tempered(data.reweighter, [strength])
        return read().total


class CorrectedPCACV(IncrementalFit, StepwiseCV):
    r"""PCA of few rows, with up to five corrections whose strengths held-out rows choose.

    PCA of few rows is noisy in several ways. Each correction weakens one of them by a strength; see
    :class:`CorrectedPCA`. Starting from ordinary PCA, the search tries one correction after another:
    smoothing, row tempering, tempering, attenuation, damping. It raises the strength from 0 as long as
    held-out rows are reconstructed better, and keeps the best one if its gain exceeds `guard` standard
    errors. Often no correction does, and the answer is PCA.

    The whole choice is made again without each split. Each of these choices is fitted to all rows, and the
    components span the leading subspace of the mean of their projectors. So a choice that hangs on a few rows
    is taken only in part.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, the same for every candidate. A fraction in (0, 1) asks for as many as ordinary
        PCA of all rows needs to explain that part of the variance. None keeps as many as every training set
        allows.
    corrections : "auto", list of str, or dict, default="auto"
        What to try: "auto" is all corrections, a list names some, and a dict also gives the strengths to
        compare, such as ``{"smoothing": [1, 3, 9]}``. 0 is always included.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours: "line" (wavelengths, times), the shape of a grid such as (28, 28)
        (pixels), or a symmetric matrix of weights between columns, sparse or dense. Smoothing is tried only
        if this is given.
    cv : int, None, splitter or iterable, default=5
        A number of folds (None means 5), a splitter, or an iterable of (training rows, held-out rows). With a
        number, row i is held out in fold ``i % cv``; if ``fit`` is given groups, whole groups are held out
        instead.
    n_repeats : int, default=1
        Repetitions of the folds. With more than one, each is shuffled: a steadier choice that costs more.
    guard : float, default=1.0
        How many standard errors a gain must exceed; 0 takes the least risk. Tempering and attenuation need
        less where sampling noise explains why the variances differ.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Groups of columns. If given, attenuation weakens the covariances within groups, not only the diagonal.
        (Groups of *rows* are the ``groups`` of ``fit``.)
    whiten : bool, default=False
        Scale the scores to unit variance.
    n_jobs : int or None, default=None
        How many splits run side by side, in threads. None spreads the threads of BLAS over the splits.
    random_state : int, RandomState or None, default=None
        Shuffles the repetitions.

    Attributes
    ----------
    corrections_ : dict of str to float
        Strength of each correction that all splits together choose; all 0 is ordinary PCA.
    choices_ : list of dict
        The choice without each split. These are averaged; if they differ, the rows do not speak clearly.
    steps_ : Steps
        What each step compared: strengths, risks, gain, standard error, whether it was taken and why. It
        prints as a table, and ``pandas.DataFrame(steps_)`` is one.
    verdict_ : str
        What came out, in a sentence.
    gain_ : float
        Part of PCA's held-out risk that ``corrections_`` removes. The same splits chose it, so it flatters.
    left_out_gain_ : float
        The same, with every split judged by the choice made without it: what to expect of new rows. With
        repeated folds it still flatters, since the rows of a split are held out in other repetitions too.
        With two splits or fewer it equals ``gain_``.
    candidates_ : ndarray of shape (n_candidates, 5)
        Strengths of all candidates that were compared, PCA first; columns in the order of ``corrections_``.
    cv_risk_ : ndarray of shape (n_candidates,)
        Risk of each candidate: its mean squared reconstruction error over all held-out rows.
    cv_risk_folds_ : ndarray of shape (n_splits, n_candidates)
        The same for each split.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores on each component, divided by n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same, as a part of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the score vectors.
    noise_variance_ : float
        Mean variance of the directions left out.
    loadings_ : ndarray of shape (n_features, n_components)
        ``components_.T * sqrt(explained_variance_)``: the covariances of the reconstructed columns with the
        scores scaled to unit variance.
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of fitted rows.
    shortfall_ : float
        Bound on what the solver may have missed: exact subspaces at the same strengths explain at most this
        part of the total more, unless a leading direction was overlooked. 0 where LAPACK was used.
    folds_ : str
        Which rows were held out together, in words.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    CorrectedPCA : The same corrections at strengths you give.
    AttenuatedPCACV : The paper's correction alone.
    choose_rank : Chooses the number of components, which must be done first.

    Notes
    -----
    Risks are those of the held-out rows as they are, around the mean of the training rows. They fall with
    every component, so they must not be used to choose ``n_components``.

    Rows are divided into folds as by :class:`AttenuatedPCACV`. Row tempering reads the rows twice, so it is
    left out, with a warning, if they come from an iterator. Damping needs every correlation, and is left out
    above 4,000 columns. ``steps_`` says what was left out.

    If columns have different units, divide them by scales that do not come from these rows, such as those of
    a population, rather than by their own standard deviations; or leave them, and let tempering decide.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCACV
    >>> pca = CorrectedPCACV(5, neighbours=(8, 8)).fit(load_digits().data[:30])
    >>> pca.verdict_
    "Smoothing 0.5 removes 2.2% of PCA's held-out risk."
    >>> [step.correction for step in pca.steps_ if step.taken]
    ['smoothing']
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        corrections: Corrections = "auto",
        neighbours: Neighbours = None,
        cv: Folds = 5,
        n_repeats: int = 1,
        guard: float = 1.0,
        feature_groups: FeatureGroups = None,
        whiten: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.n_components = n_components
        self.corrections = corrections
        self.neighbours = neighbours
        self.cv = cv
        self.n_repeats = n_repeats
        self.guard = guard
        self.feature_groups = feature_groups
        self.whiten = whiten
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Choose the strengths by cross-validation and fit them to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
            Data. Sparse data are never made dense; float32 data give float32 results. Batches, Arrow data
            and dask collections are read in bounded memory, twice where row tempering is tried. See
            :class:`AttenuatedPCACV` for the folds. ``partial_fit`` can go on from these.
        y : ignored
            Here for scikit-learn.
        groups : array-like of shape (n_samples,), optional
            Labels of the rows, such as subjects; rows of one group are never split. With batches also an
            iterable of arrays; with Arrow data or a dask data frame also the name of a column.

        Returns
        -------
        self
        """
        self._check_parameters()
        return super().fit(X, y, groups)

    def partial_fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Add a batch of rows to those seen so far.

        Nothing is chosen until a fitted attribute or method is next used: then cross-validation runs over all
        rows so far, as :meth:`fit` would, without row tempering. A batch that is refused leaves the estimator
        as it was. After a ``fit`` to rows in memory, whose sums are not kept, this starts again and warns;
        after ``fit([X])`` it goes on.

        Parameters
        ----------
        X : array-like, sparse matrix or Arrow table of shape (n_samples, n_features)
            A batch; one row is enough. A batch on a device is copied to the host, where the sums are kept;
            the fitted arrays are then numpy's.
        y : ignored
            Here for scikit-learn.
        groups : array-like of shape (n_samples,), optional
            Labels of its rows: with every batch or with none.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._add_batch(X, checked_stream_folds(self.cv, self.n_repeats), groups=groups)
        return self
