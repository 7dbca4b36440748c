"""PCA with all corrections as scikit-learn estimators: at strengths you give, or at chosen ones."""

from math import isfinite
from typing import ClassVar

from attenua._correct.registry import (
    CORRECTIONS,
    Strengths,
    check_needs,
    checked_grids,
    checked_strength,
    needed,
    parameter_is_missing,
    prepared,
)
from attenua._data.moments import Moments
from attenua._data.opening import FitData
from attenua._estimate.fitted import Kind, store
from attenua._estimate.fitting import CrossValidated, RuleTransformer, WithReference
from attenua._estimate.parameter_types import (
    Corrections,
    Folds,
    Neighbours,
    Reference,
)
from attenua._estimate.words import (
    Answer,
    advice_on_scale,
    choices_in_words,
    gain_in_words,
    given_answer,
    largest_in_words,
    percent_of,
    size_of_fit,
    verdict,
)
from attenua._select.election import Expected, SubspaceChooser
from attenua._select.rule import PCA, CorrectedRule, same_subspace
from attenua._select.steps import Steps
from attenua.imputing import ImputesByCovariance
from attenua.monitoring import MonitorsRows


class CorrectedPCA(ImputesByCovariance, MonitorsRows, WithReference, RuleTransformer):
    r"""PCA of few rows, with corrections at strengths you give.

    The components span the leading eigenvectors (algebraically largest) of :math:`T - a\,\mathrm{diag}(T)`
    with a corrected covariance

    .. math::

        T = K_h F K_h, \qquad
        F_{ij} = (P_q C P_q)_{ij}\, t_i t_j, \quad
        t_i = s_i^{1-g}, \qquad C_{ij} = r_{ij} |r_{ij}|^b, \quad C_{ii} = 1,

    with the standard deviations :math:`s_i` and the correlations :math:`r_{ij}` of

    .. math::

        (1 - w)\, S_k / \mathrm{tr}\,S_k + w\, R / \mathrm{tr}\,R,

    where :math:`S_k` is a covariance in which rows far from each other count less, and R that of a reference.
    Each correction weakens one kind of noise: `row_tempering` k long rows, `borrowing` w the noise of few
    rows, `tempering` g the sample variances inside covariances, `damping` b small correlations, `pooling` q
    differences between columns that correlate most, by the heat kernel :math:`P_q` of a graph that C gives,
    `smoothing` h differences between neighbouring columns, by the heat kernel :math:`K_h` of a graph that you
    give, and `attenuation` a the sample variances on the diagonal (the paper's correction), last. With all of
    them at 0 this is ordinary PCA. Only the estimated matrix changes: components are in the original
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
        Strength k, from 0 to 1; at 1, all differences of rows count as if of length one. For up to 1,000
        rows.
    damping : float, default=0.0
        Strength b, 0 or more; at 1, a correlation r becomes r|r|. For up to 4,000 columns.
    smoothing : float, default=0.0
        Strength h, 0 or more: the standard deviation of the kernel, in columns. Needs `neighbours`.
    pooling : float, default=0.0
        Strength q, 0 or more: each column is joined to the three that it correlates most with, and the kernel
        is :math:`\exp(-\tfrac{q^2}{2} L)` with the Laplacian L of this graph. For up to 4,000 columns.
    borrowing : float, default=0.0
        Strength w, from 0 to 1: the weight of the reference; at 1, only the reference counts. Needs
        `reference`.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours: "line" (wavelengths, times), the shape of a grid such as (28, 28)
        (pixels), or a symmetric matrix of weights between columns, sparse or dense.
    reference : None, rows, fitted model, or covariance matrix, default=None
        What to borrow from: other rows with the columns of X (array, data frame, Arrow table or sparse
        matrix), which are centred on their own mean; a fitted `CorrectedPCA`, scikit-learn's ``PCA`` or
        another model with ``covariance_``; or a covariance matrix, which is any square symmetric array.
        Only its directions and their relative variances count. Columns with names must have the names of X,
        in the same order. A row of X that is in the reference too is an error, unless all its cells are
        equal.
    whiten : bool, default=False
        Scale the scores to unit variance.
    scale : bool, default=False
        Divide the columns by their standard deviations, as ``StandardScaler`` does in front of PCA. A column
        that does not vary is left as it is. Scores, components, variances, errors are those of divided
        columns; ``mean_``, ``inverse_transform``, ``impute``, ``score`` and ``get_covariance`` are in the
        units of the data.

    Attributes
    ----------
    components_, mean_, scale_, explained_variance_, explained_variance_ratio_ : ndarray
    singular_values_, loadings_, feature_names_in_ : ndarray
    noise_variance_, shortfall_ : float
    n_components_, n_samples_, n_features_in_ : int
        As in :class:`CorrectedPCACV`.

    See Also
    --------
    CorrectedPCACV : Chooses the strengths by held-out rows.
    AttenuatedPCA : The paper's correction alone.

    Notes
    -----
    Rows must be in memory: the corrections are for few rows. :class:`AttenuatedPCA` takes batches, Dask
    collections and arrays on a device.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCA
    >>> X = load_digits().data[:100]
    >>> CorrectedPCA(5, damping=0.25, smoothing=0.5, neighbours=(8, 8)).fit(X).components_.shape
    (5, 64)
    """

    _needs_memory: ClassVar[bool] = True
    _takes_missing: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        attenuation: float = 0.0,
        tempering: float = 0.0,
        row_tempering: float = 0.0,
        damping: float = 0.0,
        smoothing: float = 0.0,
        pooling: float = 0.0,
        borrowing: float = 0.0,
        neighbours: Neighbours = None,
        reference: Reference = None,
        whiten: bool = False,
        scale: bool = False,
    ):
        self.n_components = n_components
        self.attenuation = attenuation
        self.tempering = tempering
        self.row_tempering = row_tempering
        self.damping = damping
        self.smoothing = smoothing
        self.pooling = pooling
        self.borrowing = borrowing
        self.neighbours = neighbours
        self.reference = reference
        self.whiten = whiten
        self.scale = scale

    def _check_parameters(self) -> None:
        self._strengths()

    def _strengths(self) -> Strengths:
        given = vars(self)
        return Strengths(
            **{name: checked_strength(name, given[name]) for name in CORRECTIONS if name in given}
        )

    def _answer(self) -> Answer:
        return given_answer(self, self._strengths())

    def _rule(self, n_features: int) -> CorrectedRule:
        strengths = self._strengths()
        for name, _ in strengths.nonzero():
            if parameter_is_missing(name, vars(self)):
                raise ValueError(f"{name} needs {needed(name)}.")
        return CorrectedRule([strengths], prepared(vars(self), n_features))

    def _moments(self, data: FitData) -> Moments:
        moments = data.moments.total
        for name, strength in self._strengths().nonzero():
            correction = CORRECTIONS[name]
            limit = correction.limit(strength, data, getattr(self, "feature_names_in_", None))
            if limit is not None:
                raise ValueError(f"{name}={strength:g} cannot be used: {limit.why}.")
            if correction.kind == "rows":
                assert correction.apply is not None
                (splits,) = correction.apply(data.reweighter, [strength])
                moments = splits.total
        return moments


class CorrectedPCACV(ImputesByCovariance, MonitorsRows, WithReference, CrossValidated):
    r"""PCA of few rows, with corrections whose strengths held-out rows choose.

    PCA of few rows is noisy in several ways. Each correction weakens one of them by a strength; see
    :class:`CorrectedPCA`. Starting from ordinary PCA, a search tries one correction after another. It raises
    the strength from 0 as long as held-out rows are reconstructed better, and goes on from the best one.

    Candidates are judged by the ranks around the number of components d: what a held-out row loses is the
    mean of its squared errors with :math:`q = 1, \dots, 2d` components, with weights :math:`\min(q/d, d/q)`
    (fewer where the rows or columns do not allow them; rows with missing cells are judged at d alone). What
    suits d components suits its neighbours, and their errors together are less noisy than one.

    Then the held-out rows vote. A vote is a bootstrap sample of them, or of whole groups; it chooses the best
    of all candidates on its rows, and counts for PCA unless the rows that it did not draw confirm that the
    choice is better. The components span the leading subspace of :math:`\sum_k w_k (P_k S P_k)^{1/2}` over
    the choices, with their weights :math:`w_k`, their projectors and the covariance S. So a choice that a few
    rows decide counts only in part. If nothing is confirmed, the answer is PCA.

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
    reference : None, rows, fitted model, or covariance matrix, default=None
        Other rows with the columns of X, or what is known of their covariance, as in :class:`CorrectedPCA`.
        Borrowing is tried only if this is given. Where rows have groups, none of these groups should be in
        the reference: only rows that are equal are found there, and refused.
    cv : int, None, splitter or iterable, default=5
        A number of folds (None means 5), a splitter, or an iterable of (training rows, held-out rows). With a
        number, row i is held out in fold ``i % cv``; if ``fit`` is given groups, whole groups are held out
        instead, and each of fewer groups is a fold.
    nested : bool, default=False
        Whether to measure what to expect of new rows (``left_out_gain_``). The whole choice is then made
        again without each of five blocks of rows, with the other four blocks as its folds, whatever `cv` is,
        and judged by that block: about five times the cost. The blocks are rows i % 5, or whole groups, or
        the folds of a splitter that holds out every row once; with another splitter, rows that follow each
        other in time need groups.
    whiten : bool, default=False
        Scale the scores to unit variance.
    scale : bool, default=False
        Divide the columns by their standard deviations, in every training set by those of its own rows, as
        ``StandardScaler`` in front of PCA does where a whole pipeline is cross-validated. A column that does
        not vary is left as it is. Risks, errors, scores, components and variances are those of divided
        columns; ``mean_``, ``inverse_transform``, ``impute``, ``score`` and ``get_covariance`` are in the
        units of the data.
    n_jobs : int or None, default=None
        How many splits run in parallel, in threads. None spreads the threads of BLAS over the splits.

    Attributes
    ----------
    choices_ : list of dict
        Strengths that the votes choose, PCA among them, the largest weight first. Their subspaces are
        averaged; many choices mean that the rows do not agree.
    choice_weights_ : list of float
        Weight of each, its part of the votes; they sum to 1.
    steps_ : Steps
        What each step compared: strengths, risks, gain and standard error by the ranks around `n_components`,
        and the weight of the choices that have this correction; also by name: ``steps_["smoothing"]``. It
        prints as a table, and ``pandas.DataFrame(steps_)`` is one.
    verdict_ : str
        What to expect of new rows, where that was measured, and what the fit is, in a sentence or two.
    left_out_gain_ : float
        Part of PCA's risk that the fit is expected to remove on new rows: what choices made without some
        rows gain on these, times 4/5 for the smaller training sets. NaN unless `nested`, or where rows are
        too few.
    left_out_gain_error_ : float
        Its standard error.
    candidates_ : list of dict
        Strengths of the candidates that all splits judged, by name, PCA first. A candidate that is clearly
        worse on the first two fifths of the splits is in ``steps_`` only.
    cv_risk_ : ndarray of shape (n_candidates,)
        Risk of each candidate: its mean squared reconstruction error over all held-out rows.
    cv_risk_folds_ : ndarray of shape (n_splits, n_candidates)
        The same for each split.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows.
    scale_ : ndarray of shape (n_features,) or None
        With `scale`, what the columns were divided by: standard deviations, or 1 where a column does not
        vary. None without.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of the scores on each component, divided by n - 1, and the same as a part of the total.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the score vectors.
    noise_variance_ : float
        Mean variance of the directions left out.
    loadings_ : ndarray of shape (n_features, n_components)
        ``components_.T * sqrt(explained_variance_)``.
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components, of fitted rows and of columns.
    shortfall_ : float
        Bound on what the solver may have missed: exact subspaces at the same strengths explain at most this
        part of the total more, unless a leading direction was overlooked. 0 where LAPACK was used.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the fitted data had names.

    See Also
    --------
    CorrectedPCA : The same corrections at strengths you give.
    AttenuatedPCACV : The paper's correction alone.
    choose_rank : Chooses the number of components, which must be done first.

    Notes
    -----
    Rows must be in memory: the corrections are for few rows. :class:`AttenuatedPCACV` takes batches, Dask
    collections and arrays on a device.

    Risks are those of the held-out rows as they are, around the mean of the training rows. They fall with
    every component, so they must not be used to choose ``n_components``. All but those of ``steps_`` are at
    ``n_components``.

    Rows are divided into folds as by :class:`AttenuatedPCACV`. Row tempering weighs all pairs of rows, and is
    left out above 1,000 of them; damping and pooling need every correlation, and are left out above 4,000
    columns. ``steps_`` says what was left out.

    If columns have different units, set ``scale=True``. Every training set is then divided by the standard
    deviations of its own rows; after StandardScaler on all rows, the held-out ones would be in them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCACV
    >>> X = np.random.default_rng(0).permutation(load_digits().data)[:30]
    >>> pca = CorrectedPCACV(10, neighbours=(8, 8), nested=True).fit(X)
    >>> print(pca.verdict_)  # doctest: +NORMALIZE_WHITESPACE
    Expect about PCA's error on new rows (6.9% less, standard error 4.3%). The fit is as safe as PCA: it
    averages row tempering 1, damping 1 and smoothing 0.5 (34%), other choices (60%) and PCA (6%).
    >>> pca.steps_["smoothing"].best
    0.5
    """

    choices_: list[dict[str, float]]
    choice_weights_: list[float]
    steps_: Steps
    left_out_gain_: float
    left_out_gain_error_: float
    candidates_: list[dict[str, float]]
    _needs_memory: ClassVar[bool] = True
    _takes_missing: ClassVar[bool] = True
    _fitted: ClassVar[dict[str, Kind]] = CrossValidated._fitted | {
        "choices_": Kind.CHOICES,
        "choice_weights_": Kind.NUMBERS,
        "steps_": Kind.STEPS,
        "verdict_": Kind.TEXT,
        "left_out_gain_": Kind.MEASURED,
        "left_out_gain_error_": Kind.MEASURED,
        "candidates_": Kind.CHOICES,
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        corrections: Corrections = "auto",
        neighbours: Neighbours = None,
        reference: Reference = None,
        cv: Folds = 5,
        nested: bool = False,
        whiten: bool = False,
        scale: bool = False,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.corrections = corrections
        self.neighbours = neighbours
        self.reference = reference
        self.cv = cv
        self.nested = nested
        self.whiten = whiten
        self.scale = scale
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        checked_grids(self.corrections)
        check_needs(self.corrections, vars(self))

    def _fit_moments(self, data: FitData) -> None:
        """Choose the strengths, average their subspaces, and set the fitted attributes."""
        rank = self._rank(data)
        chooser = SubspaceChooser(
            checked_grids(self.corrections),
            prepared(vars(self), data.moments.n_features),
            self.n_jobs,
            fewest_rows=max(rank, 2),
            rank=rank,
        )
        election = chooser.elect(data, getattr(self, "feature_names_in_", None))
        found, total = election.search, election.total
        choices, weights = list(election.choices), list(election.choices.values())
        subspace, expected = election.fit, Expected()
        gives_pca = same_subspace(subspace.basis, election.base.basis)
        if self.nested and not gives_pca:
            expected = chooser.expected_gain(data)
        words = verdict(choices, weights, expected, gives_pca=gives_pca, nested=self.nested)
        if gives_pca:
            subspace, choices, weights, expected = election.base, [PCA], [1.0], Expected(0.0, 0.0)
        self._store(total, subspace, data.n_samples, data.dtype)
        self._warn_of_ties(found.n_tied, len(found.risk_folds), subspace)
        outcome = {
            "choices_": choices,
            "choice_weights_": weights,
            "steps_": found.steps.with_weights(choices, weights),
            "verdict_": words + advice_on_scale(self, total),
            "left_out_gain_": expected.gain,
            "left_out_gain_error_": expected.standard_error,
            "candidates_": found.candidates,
            "cv_risk_": found.risk,
            "cv_risk_folds_": found.risk_folds,
        }
        store(self, outcome, total.mean, data.dtype)

    def _answer(self) -> Answer:
        """Return what was chosen, and what to expect of it."""
        caption = largest_in_words(self.choices_, self.choice_weights_)
        if not any(strength for choice in self.choices_ for strength in choice.values()):
            return Answer(caption, self.verdict_, (size_of_fit(self),))
        facts = [("averaged", choices_in_words(self.choices_, self.choice_weights_))]
        if isfinite(self.left_out_gain_):
            expected = gain_in_words(self.left_out_gain_, self.left_out_gain_error_)
            facts.insert(0, ("to expect of new rows", expected))
            caption = f"{caption}, gain {percent_of(self.left_out_gain_)} expected"
        return Answer(caption, self.verdict_, (*facts, size_of_fit(self)))
