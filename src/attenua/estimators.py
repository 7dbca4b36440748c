"""Attenuated PCA as scikit-learn estimators: at a given strength, and at one chosen by cross-validation."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.feature_groups import column_labels
from attenua.fitting import RuleTransformer, RuleTransformerCV
from attenua.rules import AttenuationRule
from attenua.validation import checked_strength, checked_strengths

Array = NDArray[np.float64]


class AttenuatedPCA(RuleTransformer):
    r"""PCA with the sample variances weakened by a given strength.

    The components span the leading eigenvectors (algebraically largest) of

    .. math::

        T_\alpha = S - \alpha\,\mathrm{diag}(S), \qquad 0 \le \alpha \le 1,

    where :math:`S` is the sample covariance. :math:`\alpha = 0` is ordinary PCA, :math:`\alpha = 1` is
    hollowed PCA. Inside the subspace the components are turned so that scores are uncorrelated and ordered
    by variance, as a user of PCA expects.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    alpha : float, default=0.5
        Strength. The strength of a mask rate is given by :func:`attenua.alpha_from_mask_rate`.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Partition of the columns. Given, the within-group blocks of S are attenuated in the place of its
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
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    AttenuatedPCACV : Chooses the strength by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import AttenuatedPCA
    >>> X = load_digits().data[:100]
    >>> AttenuatedPCA(2, alpha=0.5).fit(X).transform(X).shape
    (100, 2)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        alpha: float = 0.5,
        feature_groups: Any = None,
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.feature_groups = feature_groups
        self.whiten = whiten

    def _rule(self, n_features: int) -> AttenuationRule:
        strength = np.array([checked_strength(self.alpha)])
        return AttenuationRule(strength, column_labels(self.feature_groups, n_features))


class AttenuatedPCACV(RuleTransformerCV):
    r"""PCA with the sample variances weakened by a strength that cross-validation chooses.

    Every strength :math:`\alpha` is judged by the squared error with which the leading subspace of
    :math:`S - \alpha\,\mathrm{diag}(S)`, fitted on the training rows of a split, reconstructs the rows held
    out. Ordinary PCA (:math:`\alpha = 0`) is always among the candidates and wins ties. The chosen strength
    is refitted on all rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, the same for every strength; a fraction in (0, 1) asks for as many as ordinary
        PCA of all rows needs to explain that part of the variance; None keeps as many as every training
        set allows.
    alphas : {"direct", "mask"} or array-like, default="direct"
        Strengths to compare: "direct" is 0, 0.05, ..., 1 with 0.49; "mask" is the part up to 0.49 that random
        input masks can reach. 0 is always included.
    cv : int, splitter or iterable, default=5
        A number of folds (of consecutive rows, as everywhere in scikit-learn; of whole groups where ``fit``
        is given groups), a splitter, or an iterable of (training rows, held-out rows).
    n_repeats : int, default=1
        Repetitions of the folds, averaged before choosing. More than one shuffles each.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Partition of the columns, for block attenuation. The ``groups`` of ``fit`` are of rows.
    whiten : bool, default=False
        Scale the scores to unit variance.
    n_jobs : int or None, default=None
        Threads over splits. Small problems and multi-threaded BLAS gain little.
    random_state : int, RandomState or None, default=None
        Shuffles the repetitions.

    Attributes
    ----------
    alpha_ : float
        Chosen strength.
    alphas_ : ndarray of shape (n_alphas,)
        Strengths compared, increasing, 0 first.
    cv_risk_ : ndarray of shape (n_alphas,)
        Mean squared reconstruction error over all held-out rows.
    cv_risk_folds_ : ndarray of shape (n_splits, n_alphas)
        The same for each split.
    gain_ : float
        Part of PCA's cross-validated risk that the chosen strength removes,
        ``1 - cv_risk_[chosen] / cv_risk_[0]``.
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
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    AttenuatedPCA : One given strength.
    attenuation_path : The subspaces of all strengths.

    Notes
    -----
    The cross-validated error always falls with the number of components, so it must not be used to choose
    ``n_components``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import AttenuatedPCACV
    >>> pca = AttenuatedPCACV(5).fit(load_digits().data[:100])
    >>> bool(pca.gain_ >= 0)
    True
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        alphas: str | ArrayLike = "direct",
        cv: Any = 5,
        n_repeats: int = 1,
        feature_groups: Any = None,
        whiten: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.alphas = alphas
        self.cv = cv
        self.n_repeats = n_repeats
        self.feature_groups = feature_groups
        self.whiten = whiten
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _strengths(self) -> Array:
        return checked_strengths(self.alphas)

    def _rule(self, strengths: Array, n_features: int) -> AttenuationRule:
        return AttenuationRule(strengths, column_labels(self.feature_groups, n_features))

    def _store_choice(self, strengths: Array, chosen: float) -> None:
        self.alphas_ = strengths
        self.alpha_ = chosen
