"""Masked-target PCA: the projector that best predicts hidden coordinates from the visible ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.columns import column_labels
from attenua._data.checks import checked_count
from attenua._data.moments import Moments
from attenua._estimate.fitted import Kind
from attenua._estimate.fitting import CrossValidated, RuleTransformer
from attenua._select.comparison import CrossValidation
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace
from attenua_paper.rivals.manifold import (
    MAX_ITER,
    TOLERANCE,
    Minima,
    grassmann_tangent,
    minimise,
    polar_retraction,
)
from attenua_paper.rivals.masked_loss import MaskedTargetLosses, checked_mask_rate
from attenua_paper.rivals.rule_parts import (
    Convergence,
    StoresConvergence,
    checked_positive,
    formed_covariance,
    iterated,
    subspace_of_frame,
)

Array = NDArray[np.float64]

STARTS = ("pca", "attenuation")
# Angle by which a start is rotated, in case it is a saddle.
_TURN = 1e-4
# A start must win by more than this part of the total variance, or the first one is kept.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class MaskedTargetRule:
    """Moments in, one masked-target subspace per mask rate out; rate 0 is PCA.

    Parameters
    ----------
    strengths : ndarray
        Mask rates.
    labels : ndarray of shape (n_features,), optional
        Group of every column; hides whole groups instead of single columns.
    max_iter, tol : int, float
        When to stop; see :func:`attenua_paper.rivals.manifold.minimise`.
    """

    strengths: Array
    labels: NDArray[np.intp] | None = None
    max_iter: int = MAX_ITER
    tol: float = TOLERANCE

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``. All rates and starts are minimised as one batch."""
        masked = np.flatnonzero(self.strengths)
        rates = self.strengths[masked]
        alphas = np.append(0.0, rates / (1 + rates))
        spectral = leading_subspaces(MatrixFamily(moments, alphas, self.labels), rank, exact=exact)
        pca = spectral[0]
        for i in np.flatnonzero(self.strengths == 0):
            yield int(i), iterated(pca, Convergence(1, True, STARTS[0]))
        if not masked.size:
            return
        S = formed_covariance(moments, "masked-target PCA")
        losses = MaskedTargetLosses(S, np.tile(rates, 2), self.labels)
        frames = [pca.basis] * len(rates) + [spectral[1 + k].basis for k in range(len(rates))]
        starts = _turned(losses.to_inner(np.stack(frames)))
        minima = minimise(losses, starts, tolerance=self.tol, max_iter=self.max_iter)
        for k, i in enumerate(masked):
            best = _better(minima, k, k + len(rates), _ROUNDING * moments.total_variance)
            convergence = Convergence(
                int(minima.n_iter[best]), bool(minima.converged[best]), STARTS[best // len(rates)]
            )
            frame = losses.to_outer(minima.frames[best])
            yield int(i), iterated(subspace_of_frame(frame), convergence)

    def with_strengths(self, strengths: Any) -> "MaskedTargetRule":
        """Return the same rule at other mask rates."""
        return replace(self, strengths=np.asarray(strengths))


def _turned(frames: Array) -> Array:
    r"""Turn frames by a small fixed angle.

    PCA can be a stationary point but not a minimum, as in the paper's example with p = 2 and
    :math:`1 < \lambda_1 / \lambda_2 < 3`; a descent that starts exactly there would never leave.
    """
    noise = np.random.default_rng(0).standard_normal(frames.shape[1:])
    turn = grassmann_tangent(frames, np.broadcast_to(noise, frames.shape))
    size = np.linalg.norm(turn, axis=(1, 2), keepdims=True)
    return polar_retraction(frames, _TURN * turn / np.maximum(size, np.finfo(float).tiny))


def _better(minima: Minima, first: int, second: int, rounding: float) -> int:
    return second if minima.values[second] < minima.values[first] - rounding else first


class MaskedTargetPCA(StoresConvergence, RuleTransformer):
    r"""The projector that best reconstructs randomly hidden coordinates from the visible ones.

    It minimises, over orthogonal projectors :math:`P` of rank :math:`d`, the loss

    .. math::

        \frac1n \sum_{i=1}^n E_W \|(I - W)(x_i - P W x_i)\|^2

    of masks :math:`W` that hide every coordinate (or group) with probability `mask_rate`, averaged over all
    masks exactly (Proposition "Exact symmetric masked-target objective"; see
    :func:`attenua_paper.theory.masked_target_loss`). The loss is not convex. It is minimised on the Grassmann
    manifold by a preconditioned L-BFGS method, from PCA and from the leading subspace of
    :math:`S - \alpha \mathcal D(S)`, :math:`\alpha = m / (1 + m)`, and the better end is kept: a two-start
    optimisation, not a certified global minimum.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    mask_rate : float, default=0.5
        Probability that a coordinate or group is hidden, from 0 to below 1; 0 is PCA.
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Columns that are hidden together; None hides every column by itself.
    max_iter : int, default=800
        Cap on evaluations of the loss from each start.
    tol : float, default=1e-7
        Relative norm of the tangent gradient at which to stop: :math:`\|(I-P)\Gamma U\|/\|\Gamma U\|` with
        the derivative :math:`\Gamma` of eq. masked-target-gradient.
    whiten : bool, default=False
        Scale the scores to unit variance.

    Attributes
    ----------
    start_ : {"pca", "attenuation"}
        The start that led to the lower loss; "pca" where both did.
    n_iter_ : int
        Evaluations of the loss from that start.
    converged_ : bool
        Whether `tol` was reached before the cap; if not, a ``ConvergenceWarning`` was given.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_, explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_
        As in :class:`attenua.CorrectedPCACV`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    See Also
    --------
    MaskedTargetPCACV : Chooses the mask rate by cross-validation.

    Notes
    -----
    The covariance matrix is formed: wide or sparse data may have up to 5,000 columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua_paper.rivals import MaskedTargetPCA
    >>> MaskedTargetPCA(3, mask_rate=0.5).fit(load_digits().data[:100]).explained_variance_ratio_.round(3)
    array([0.179, 0.16 , 0.113])
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        mask_rate: float = 0.5,
        feature_groups: Any = None,
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.mask_rate = mask_rate
        self.feature_groups = feature_groups
        self.max_iter = max_iter
        self.tol = tol
        self.whiten = whiten

    def _rule(self, n_features: int) -> MaskedTargetRule:
        rate = np.array([checked_mask_rate(self.mask_rate)])
        return _checked_rule(self, rate, n_features)


class MaskedTargetPCACV(StoresConvergence, CrossValidated):
    r"""Masked-target PCA at the mask rate that reconstructs held-out rows best.

    Every rate is judged by the squared error with which the projector of :class:`MaskedTargetPCA`, fitted
    on the training rows of a split, reconstructs the whole of the rows held out. PCA (rate 0) is always
    among the candidates and wins ties. The chosen rate is refitted on all rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, the same for every rate; a fraction in (0, 1) asks for as many as ordinary
        PCA of all rows needs to explain that part of the variance; None keeps as many as every training
        set allows.
    mask_rates : array-like, default=(0, 0.25, 0.5, 0.75, 0.9)
        Mask rates to compare. 0 is always included.
    cv : int, None, splitter or iterable, default=5
        A number of folds (None means 5), a splitter, or an iterable of (training rows, held-out rows).
    feature_groups : None, array-like of labels, or list of lists of column indices, default=None
        Columns that are hidden together. The ``groups`` of ``fit`` are of rows.
    max_iter : int, default=800
        Cap on evaluations of the loss from each start.
    tol : float, default=1e-7
        Relative norm of the tangent gradient at which to stop.
    whiten : bool, default=False
        Scale the scores to unit variance.
    n_jobs : int or None, default=None
        Threads over splits.

    Attributes
    ----------
    mask_rate_ : float
        Chosen mask rate.
    mask_rates_ : ndarray of shape (n_rates,)
        Rates compared, increasing, 0 first.
    cv_risk_ : ndarray of shape (n_rates,)
        Mean squared reconstruction error over all held-out rows.
    cv_risk_folds_ : ndarray of shape (n_splits, n_rates)
        The same for each split.
    gain_ : float
        Part of PCA's cross-validated risk that the chosen rate removes.
    start_, n_iter_, converged_
        Of the final fit, as in :class:`MaskedTargetPCA`.
    components_, mean_, explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_
        As in :class:`attenua.CorrectedPCACV`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    See Also
    --------
    MaskedTargetPCA : One given mask rate.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.rivals import MaskedTargetPCACV
    >>> from attenua_paper.theory import draw_rows
    >>> X = draw_rows(np.eye(8) + 0.5 * np.ones((8, 8)), 40, random_state=0)
    >>> model = MaskedTargetPCACV(1).fit(X)
    >>> model.mask_rate_, round(model.gain_, 3)
    (0.9, 0.009)
    """

    _fitted: ClassVar[dict[str, Kind]] = CrossValidated._fitted | {
        "mask_rates_": Kind.GRID,
        "mask_rate_": Kind.NUMBER,
        "gain_": Kind.NUMBER,
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        mask_rates: ArrayLike = (0, 0.25, 0.5, 0.75, 0.9),
        cv: Any = 5,
        feature_groups: Any = None,
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        whiten: bool = False,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.mask_rates = mask_rates
        self.cv = cv
        self.feature_groups = feature_groups
        self.max_iter = max_iter
        self.tol = tol
        self.whiten = whiten
        self.n_jobs = n_jobs

    def _strengths(self) -> Array:
        try:
            rates = np.asarray(self.mask_rates, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"mask_rates must be an array of numbers; got {self.mask_rates!r}.") from None
        if rates.ndim != 1 or rates.size == 0:
            raise ValueError(
                f"mask_rates must be one-dimensional, with at least one rate; got {self.mask_rates!r}."
            )
        bad = rates[~((rates >= 0) & (rates < 1))]
        if bad.size:
            raise ValueError(f"mask_rates must be at least 0 and below 1; got {bad[0]:g}.")
        return np.unique(np.append(rates, 0.0))

    def _rule(self, n_features: int) -> MaskedTargetRule:
        return _checked_rule(self, self._strengths(), n_features)

    def _choice(self, result: CrossValidation, taken: int) -> dict[str, Any]:
        return {
            "mask_rates_": result.strengths,
            "mask_rate_": result.strengths[taken],
            "gain_": result.gains[taken],
        }


def _checked_rule(
    estimator: MaskedTargetPCA | MaskedTargetPCACV, rates: Array, n_features: int
) -> MaskedTargetRule:
    return MaskedTargetRule(
        rates,
        column_labels(estimator.feature_groups, n_features),
        checked_count(estimator.max_iter, "max_iter"),
        checked_positive(estimator.tol, "tol"),
    )
