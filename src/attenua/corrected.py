"""PCA with all corrections as scikit-learn estimators: at given strengths, and at ones that are chosen."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.corrections import CORRECTIONS, Strengths, checked_strength_of
from attenua._correct.damping import LARGEST_DAMPED, can_damp
from attenua._correct.feature_groups import column_labels
from attenua._correct.neighbours import column_smoother
from attenua._correct.row_tempering import row_tempered
from attenua._data.folds import checked_stream_folds
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._estimate.answer import Answer, given_answer
from attenua._estimate.fitting import RuleTransformer
from attenua._estimate.incremental import IncrementalFit
from attenua._estimate.options import Corrections, FeatureGroups, Folds, Neighbours, RandomState
from attenua._estimate.stepwise import StepwiseCV
from attenua._select.corrected_rule import CorrectedRule


class CorrectedPCA(IncrementalFit, RuleTransformer):
    r"""PCA of few rows, corrected by given strengths.

    The components span the leading eigenvectors (algebraically largest) of a corrected covariance

    .. math::

        T = K_h \{F - a\,\mathrm{diag}(F)\} K_h, \qquad
        F_{ij} = r_{ij} |r_{ij}|^b\, t_i t_j, \quad F_{ii} = t_i^2, \qquad t_i = s_i^{1-g},

    with the standard deviations :math:`s_i` and the correlations :math:`r_{ij}` of :math:`S_k`, a covariance
    in which long rows count less. Each correction weakens one kind of noise: `row_tempering` k long rows,
    `tempering` g the sample variances inside covariances, `attenuation` a those on the diagonal (the paper's
    correction), `damping` b small correlations, `smoothing` h differences between neighbouring columns. All
    at 0 is ordinary PCA. Only the estimate of the matrix changes: the subspace is one of the original
    coordinates, and rows are centred, projected and reconstructed as in PCA.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    attenuation : float, default=0.0
        Part a of the sample variances that is taken off the diagonal, from 0 to 1.
    tempering : float, default=0.0
        Strength g, from 0 to 1 (correlations instead of covariances).
    row_tempering : float, default=0.0
        Strength k, from 0 to 1 (rows, or differences of rows, of length one).
    damping : float, default=0.0
        Strength b, 0 or more; 1 turns a correlation r into r|r|. Up to 4,000 columns.
    smoothing : float, default=0.0
        Standard deviation h of the kernel, counted in columns; needs `neighbours`.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours: "line" (wavelengths, times), the shape of a grid such as (28, 28)
        (pixels), or a sparse matrix of weights between columns.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Partition of the columns. Given, the within-group blocks are attenuated instead of the diagonal.
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
        The same as a part of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the score vectors.
    noise_variance_ : float
        Mean variance of the directions left out.
    loadings_ : ndarray of shape (n_features, n_components)
        ``components_.T * sqrt(explained_variance_)``: covariances of the reconstructed columns with scores of
        unit variance.
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of fitted rows.
    shortfall_ : float
        What the subspace may lack: the best one at these strengths explains at most this part of the total
        of T more, provided that no leading direction was overlooked. 0 where LAPACK found it.
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
    Up to 1,000 rows, row tempering weighs every pair of rows by its distance; above that, every row by its
    distance from the mean. It reads the rows a second time, so an iterator cannot be given with it.

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
        """Add a batch of rows to those seen so far; not with row tempering, which reads the rows twice.

        The subspace of all rows so far is computed when it is next used, so many batches cost no more
        eigenproblems than one. A batch that is refused leaves the estimator as it was. After a ``fit`` to
        rows in memory, whose sums are not kept, this starts again and warns; after ``fit([X])`` it goes on.

        Parameters
        ----------
        X : array-like, sparse matrix or Arrow table of shape (n_samples, n_features)
            A batch; one row is enough. One on a device comes to the host, where the sums are kept, and the
            fitted arrays are numpy's.
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
                "row_tempering needs all rows at once, so that partial_fit needs row_tempering=0."
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
        strength = self._strengths().row_tempering
        if not strength:
            return data.moments.total
        if data.again is None:
            raise ValueError(
                "row_tempering reads the rows twice, but X is an iterator that can be read once; give a list "
                "of batches, a dataset or an array, or row_tempering=0."
            )
        (read,) = row_tempered(data.again, [strength])
        return read().total


class CorrectedPCACV(IncrementalFit, StepwiseCV):
    r"""PCA of few rows, with up to five corrections whose strengths held-out rows choose.

    PCA of few rows is noisy in several ways. Each correction weakens one of them by a strength; see
    :class:`CorrectedPCA`. From ordinary PCA on, one correction after another is tried (smoothing, row
    tempering, tempering, attenuation, damping). Its strengths are compared from 0 upwards, as long as rows
    that were held out are reconstructed better, and the best is taken if its gain clearly exceeds the noise
    of the comparison. PCA as the answer is normal.

    The choice is made once for every split, each time without it. Each choice is fitted to all rows, and the
    components span the leading subspace of the mean of their projectors. A choice that hangs on single rows
    is thereby taken in part.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, the same for every candidate; a fraction in (0, 1) asks for as many as ordinary
        PCA of all rows needs to explain that part of the variance; None keeps as many as every training
        set allows.
    corrections : "auto", list of str, or dict, default="auto"
        Which corrections are tried: all, those of a list of names, or those of a dict of names and strengths
        to compare (0 is always included).
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours: "line" (wavelengths, times), the shape of a grid such as (28, 28)
        (pixels), or a sparse matrix of weights between columns. Smoothing is tried only where this is given.
    cv : int, splitter or iterable, default=5
        A number of folds (row i is held out in fold ``i % cv``; whole groups are where ``fit`` is given
        groups), a splitter, or an iterable of (training rows, held-out rows).
    n_repeats : int, default=1
        Repetitions of the folds. More than one shuffles each, and makes the choice steadier, at their cost.
    guard : float, default=1.0
        How many standard errors a gain must exceed; 0 takes the least risk.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Partition of the columns, for block attenuation. The ``groups`` of ``fit`` are of rows.
    whiten : bool, default=False
        Scale the scores to unit variance.
    n_jobs : int or None, default=None
        Splits that run side by side, in threads. None spreads the threads of BLAS over the splits.
    random_state : int, RandomState or None, default=None
        Shuffles the repetitions.

    Attributes
    ----------
    corrections_ : dict of str to float
        Strength of each correction, chosen by all splits; all 0 is ordinary PCA.
    choices_ : list of dict
        The choice without each of the splits: what is averaged. Alike where the rows speak clearly.
    steps_ : Steps
        What each step compared: strengths, risks, gain, standard error, whether it was taken and why. It
        prints as a table, and ``pandas.DataFrame(steps_)`` is one.
    verdict_ : str
        What came out, in a sentence.
    gain_ : float
        Part of PCA's held-out risk that ``corrections_`` removes.
    left_out_gain_ : float
        The same, but with every split judged by the choice made without it: less flattering. With repeated
        folds it still flatters, since the rows of a split are held out in other repetitions too. Of two
        splits or fewer none can be left out, and this is ``gain_``.
    candidates_ : ndarray of shape (n_candidates, 5)
        Strengths of all candidates compared, in the order of ``corrections_``; PCA first.
    cv_risk_ : ndarray of shape (n_candidates,)
        Mean squared reconstruction error of each over all held-out rows.
    cv_risk_folds_ : ndarray of shape (n_splits, n_candidates)
        The same for each split.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores on each component, divided by n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as a part of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the score vectors.
    noise_variance_ : float
        Mean variance of the directions left out.
    loadings_ : ndarray of shape (n_features, n_components)
        ``components_.T * sqrt(explained_variance_)``: covariances of the reconstructed columns with scores of
        unit variance.
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of fitted rows.
    shortfall_ : float
        What the fitted choices may lack: the best subspace at the same strengths explains at most this part
        of the total more, provided that no leading direction was overlooked. 0 where LAPACK found them.
    folds_ : str
        Which rows were held out together, in words.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    CorrectedPCA : Given strengths.
    AttenuatedPCACV : The paper's correction alone.

    Notes
    -----
    Risks are always those of the held-out rows as they are, around the mean of the training rows. They fall
    with the number of components, so they must not be used to choose ``n_components``.

    Rows are divided into folds as by :class:`AttenuatedPCACV`. Row tempering reads the rows a second time.
    Rows that come from an iterator can be read once, so that it is left out, with a warning. Damping needs
    every correlation, and is left out above 4,000 columns. ``steps_`` says what was left out.

    Columns of different units are better divided by scales that do not come from these rows, such as those of
    the population, than by their own standard deviations; or leave them, and let tempering decide.

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
            A batch; one row is enough. One on a device comes to the host, where the sums are kept, and the
            fitted arrays are numpy's.
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
