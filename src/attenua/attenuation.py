"""Attenuated PCA as scikit-learn estimators: at given strengths, and at ones chosen by cross-validation."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.attenuation import pairs
from attenua._correct.feature_groups import column_labels
from attenua._correct.strengths import (
    AUTO_TEMPERINGS,
    checked_strength,
    checked_strengths,
    checked_temperings,
)
from attenua._data.folds import checked_stream_folds
from attenua._data.namespace import to_host
from attenua._estimate.fitted import Kind
from attenua._estimate.fitting import RuleTransformer, RuleTransformerCV
from attenua._estimate.incremental import IncrementalFit
from attenua._select.comparison import Comparison, CrossValidation
from attenua._select.guard import checked_selection, guarded, within_noise
from attenua._select.rule import AttenuationRule

Array = NDArray[np.float64]


class AttenuatedPCA(IncrementalFit, RuleTransformer):
    r"""PCA with the sample variances weakened by given strengths.

    The components span the leading eigenvectors (algebraically largest) of

    .. math::

        T(\alpha, \gamma) = G \{S - \alpha\,\mathrm{diag}(S)\} G, \qquad
        G = \mathrm{diag}(s_1^{-\gamma}, \dots, s_p^{-\gamma}), \qquad 0 \le \alpha, \gamma \le 1,

    where :math:`S` is the sample covariance and :math:`s_i` are its standard deviations. With correlations
    :math:`r_{ij}` and :math:`t_i = s_i^{1-\gamma}` its entries are :math:`T_{ij} = r_{ij} t_i t_j` off the
    diagonal and :math:`T_{ii} = (1 - \alpha) t_i^2` on it: attenuation :math:`\alpha` weakens the variances
    on the diagonal, tempering :math:`\gamma` those inside every covariance. :math:`(0, 0)` is ordinary PCA,
    :math:`(1, 0)` is hollowed PCA, and :math:`(0, 1)` takes the eigenvectors of the correlation matrix as
    they are. Nothing is mapped back: the subspace is one of the original coordinates. Inside it the
    components are turned so that scores are uncorrelated and ordered by variance, as a user of PCA expects.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    alpha : float, default=0.5
        Strength of attenuation. That of a mask rate is given by :func:`attenua.alpha_from_mask_rate`.
    tempering : float, default=0.0
        Strength of tempering, from 0 (none) to 1 (the correlation matrix instead of the covariance).
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Partition of the columns. Given, the within-group blocks of S are attenuated instead of its
        diagonal.
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
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of fitted rows.
    shortfall_ : float
        What the subspace may lack: the best one at these strengths explains at most this part of the total
        variance more, provided that no leading direction was overlooked. 0 where LAPACK found it.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    AttenuatedPCACV : Chooses the strengths by cross-validation.

    Notes
    -----
    A column that does not vary gets the factor 0 where it is tempered.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import AttenuatedPCA
    >>> X = load_digits().data[:100]
    >>> AttenuatedPCA(2, alpha=0.5).fit(X).transform(X).shape
    (100, 2)
    >>> AttenuatedPCA(2, alpha=0.3, tempering=0.5).fit(X).components_.shape
    (2, 64)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        alpha: float = 0.5,
        tempering: float = 0.0,
        feature_groups: Any = None,
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.tempering = tempering
        self.feature_groups = feature_groups
        self.whiten = whiten

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
            Data. Sparse data are never made dense; float32 data give float32 results. An iterable of batches
            or an Arrow table, reader or dataset is read once, in bounded memory; a dask array or data frame
            is summed up on its workers. ``partial_fit`` can go on from either.
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
        """Add a batch of rows to those seen so far.

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
        self._strengths()
        self._add_batch(X, 1, sample_weight=sample_weight)
        return self

    def _strengths(self) -> Array:
        return np.array([[checked_strength(self.alpha), checked_strength(self.tempering, "tempering")]])

    def _rule(self, n_features: int) -> AttenuationRule:
        return AttenuationRule(self._strengths(), column_labels(self.feature_groups, n_features))


class AttenuatedPCACV(IncrementalFit, RuleTransformerCV):
    r"""PCA with the sample variances weakened by strengths that cross-validation chooses.

    Every attenuation :math:`\alpha` and tempering :math:`\gamma` is judged by the squared error with which
    the leading subspace of

    .. math::

        T(\alpha, \gamma) = G \{S - \alpha\,\mathrm{diag}(S)\} G, \qquad
        G = \mathrm{diag}(s_1^{-\gamma}, \dots, s_p^{-\gamma}),

    with the covariance :math:`S` and the standard deviations :math:`s_i` of the training rows of a split,
    reconstructs the rows held out; see :class:`AttenuatedPCA`. Ordinary PCA :math:`(0, 0)` is always among
    the candidates. Ties go to the smallest tempering, then to the smallest attenuation. The chosen pair is
    refitted on all rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, the same for every strength; a fraction in (0, 1) asks for as many as ordinary
        PCA of all rows needs to explain that part of the variance; None keeps as many as every training
        set allows.
    alphas : {"direct", "mask"} or array-like, default="direct"
        Strengths to compare: "direct" is 0, 0.05, ..., 1 with 0.49; "mask" is the part up to 0.49 that random
        input masks can reach. 0 is always included.
    tempering : float, array-like or "auto", default=0
        Temperings to compare, each with every strength of `alphas`. 0 alone compares strengths of
        attenuation only; any other number or array is compared with 0, which is always included. "auto"
        goes from coarse to fine: 0, 1/4, 1/2, 3/4 and 1 first, then the neighbours of the best at a distance
        of 1/8.
    cv : int, splitter or iterable, default=5
        A number of folds (row i is held out in fold ``i % cv``; whole groups are where ``fit`` is given
        groups), a splitter, or an iterable of (training rows, held-out rows).
    n_repeats : int, default=1
        Repetitions of the folds, averaged before choosing. More than one shuffles each.
    selection : {"minimum", "guarded", "bounded"}, default="minimum"
        "minimum" takes the candidate of least cross-validated risk. "guarded" takes it only where its gain
        over PCA exceeds a quarter of its standard error over the splits, and PCA elsewhere; it is meant for
        repeated folds, where it spares losses and costs next to no gain. "bounded" is guarded and compares
        only strengths up to the part of the spread of the sample variances that is noise: the most careful.
        See the guide on two strengths.
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
    alpha_ : float
        Chosen strength of attenuation.
    tempering_ : float
        Chosen tempering.
    alphas_ : ndarray of shape (n_alphas,)
        Strengths compared, increasing, 0 first.
    temperings_ : ndarray of shape (n_temperings,)
        Temperings compared, increasing, 0 first.
    cv_risk_ : ndarray of shape (n_alphas,) or (n_temperings, n_alphas)
        Mean squared reconstruction error over all held-out rows: a curve where one tempering is compared, a
        surface where there are more. PCA comes first.
    cv_risk_folds_ : ndarray of shape (n_splits, n_alphas) or (n_splits, n_temperings, n_alphas)
        The same for each split.
    gain_ : float
        Part of PCA's cross-validated risk that the chosen pair removes.
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
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of fitted rows.
    shortfall_ : float
        What the subspace may lack: the best one at these strengths explains at most this part of the total
        variance more, provided that no leading direction was overlooked. 0 where LAPACK found it.
    folds_ : str
        Which rows were held out together, in words.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    AttenuatedPCA : Given strengths.
    attenuation_path : The subspaces of all strengths.

    Notes
    -----
    The cross-validated error always falls with the number of components, so it must not be used to choose
    ``n_components``.

    A number of folds means the same in every container: row i (from 0, over all batches or partitions in
    order) is held out in fold ``i % cv``. It needs no count of the rows beforehand, and sorted rows are
    spread over all folds. Neighbouring rows then fall in different folds: where they depend on each other,
    as in time series, give groups (such as the day), or ``cv=KFold(5)`` for consecutive folds. Groups of rows
    in memory are dealt out evenly, as by GroupKFold. Rows that come in batches or in dask partitions are
    seen once: there the fold of a group is a fixed hash of its label, ``cv`` must be a number and
    ``n_repeats`` 1. ``folds_`` says which of these was done.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import AttenuatedPCACV
    >>> pca = AttenuatedPCACV(5).fit(load_digits().data[:100])
    >>> round(pca.alpha_, 2), pca.cv_risk_.shape
    (0.05, (22,))
    >>> AttenuatedPCACV(5, tempering=[0, 0.5, 1]).fit(load_digits().data[:100]).cv_risk_.shape
    (3, 22)
    """

    _fitted: ClassVar[dict[str, Kind]] = RuleTransformerCV._fitted | {
        "alpha_": Kind.NUMBER,
        "tempering_": Kind.NUMBER,
        "alphas_": Kind.GRID,
        "temperings_": Kind.GRID,
        "cv_risk_": Kind.GRID,
        "cv_risk_folds_": Kind.GRID,
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        alphas: str | ArrayLike = "direct",
        tempering: str | float | ArrayLike = 0,
        cv: Any = 5,
        n_repeats: int = 1,
        selection: str = "minimum",
        feature_groups: Any = None,
        whiten: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.alphas = alphas
        self.tempering = tempering
        self.cv = cv
        self.n_repeats = n_repeats
        self.selection = selection
        self.feature_groups = feature_groups
        self.whiten = whiten
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Choose a strength by cross-validation and fit it to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
            Data. Sparse data are never made dense; float32 data give float32 results. An iterable of batches
            or an Arrow table, reader or dataset is read once, in bounded memory; a dask array or data frame
            is summed up on its workers. See Notes for the folds. ``partial_fit`` can go on from either.
        y : ignored
            Here for scikit-learn.
        groups : array-like of shape (n_samples,), optional
            Labels of the rows, such as subjects; rows of one group are never split. With batches also an
            iterable of arrays; with Arrow data or a dask data frame also the name of a column.

        Returns
        -------
        self
        """
        self._strengths()
        return super().fit(X, y, groups)

    def partial_fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Add a batch of rows to those seen so far.

        Nothing is chosen until a fitted attribute or method is next used: then cross-validation runs over all
        rows so far, as :meth:`fit` would. A batch that is refused leaves the estimator as it was. After a
        ``fit`` to rows in memory, whose sums are not kept, this starts again and warns; after ``fit([X])`` it
        goes on.

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
        self._strengths()
        self._add_batch(X, checked_stream_folds(self.cv, self.n_repeats), groups=groups)
        return self

    def _strengths(self) -> Array:
        checked_selection(self.selection)
        return pairs(checked_strengths(self.alphas), checked_temperings(self.tempering))

    def _rule(self, n_features: int) -> AttenuationRule:
        return AttenuationRule(self._strengths(), column_labels(self.feature_groups, n_features))

    def _compare(self, comparison: Comparison) -> CrossValidation:
        strengths = comparison.strengths
        allowed = np.ones(len(strengths), dtype=bool)
        if self.selection == "bounded":
            allowed = within_noise(strengths, to_host(comparison.total.variances), comparison.total.weight)
        if isinstance(self.tempering, str):
            temperings = strengths[:, 1]
            comparison.add(np.flatnonzero(allowed & np.isin(temperings, AUTO_TEMPERINGS[::2])))
            distance = np.abs(temperings - temperings[comparison.best])
            comparison.add(np.flatnonzero(allowed & (distance == AUTO_TEMPERINGS[1])))
        else:
            comparison.add(np.flatnonzero(allowed))
        result = comparison.result()
        if self.selection == "minimum":
            return result
        return replace(result, best=guarded(result.best, result.risk_folds, result.held_to_training))

    def _choice(self, result: CrossValidation) -> dict[str, Any]:
        alphas, temperings = (np.unique(column) for column in result.strengths.T)
        shape = (len(temperings), len(alphas)) if len(temperings) > 1 else (len(alphas),)
        return {
            "alpha_": result.chosen[0, 0],
            "tempering_": result.chosen[0, 1],
            "alphas_": alphas,
            "temperings_": temperings,
            "cv_risk_": result.risk.reshape(shape),
            "cv_risk_folds_": result.risk_folds.reshape(-1, *shape),
        }
