"""A strength chosen from data: by cross-validation, or on one independent validation set.

Both compare rules of the form "moments in, one subspace per strength out" by the error with which they
reconstruct rows that they were not fitted to. Ordinary PCA is always the first candidate, and ties go to
the smallest strength.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from attenua.moments import Moments, Rows, ScatterMoments
from attenua.path import AttenuationPath
from attenua.spectrum import Subspace
from attenua.validation import checked_matrix

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

# Risks closer than this part of the total variance differ by rounding only.
_ROUNDING = 1e-12


class Rule(Protocol):
    """Moments in, one subspace per strength out."""

    strengths: Array

    def subspaces(self, moments: Moments, rank: int) -> Iterable[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""


class SplitMoments:
    """Moments of all rows and of both sides of every split, from as few readings of the rows as possible.

    Parameters
    ----------
    rows : Rows
        The data.
    splits : sequence of (training rows, held-out rows)
        Where every training set is what was not held out, its moments are those of all rows less those of
        the held-out ones; where the held-out sets partition the rows, all moments come from one pass.
    """

    def __init__(self, rows: Rows, splits: Sequence[Split]):
        self._rows = rows
        self._splits = splits
        self.n_splits = len(splits)
        self._held: dict[int, Any] = {}

    @cached_property
    def total(self) -> Any:
        """Moments of all rows."""
        parts = self._partition()
        if parts is None:
            return self._rows.moments()
        for number in parts:
            self._held[number] = self._rows.moments(self._splits[number][1])
        total = self._held[0]
        for number in parts[1:]:
            total = total + self._held[number]
        return total

    def pair(self, number: int) -> tuple[Any, Any]:
        """Return the moments of the training and the held-out rows of a split."""
        train, held_out = self._splits[number]
        total = self.total
        held = self._held.get(number)
        if held is None:
            held = self._rows.moments(held_out)
        counts = np.bincount(np.concatenate([train, held_out]), minlength=self._rows.n_samples)
        is_complement = (counts == 1).all()
        fitted = total - held if is_complement else self._rows.moments(train)
        return fitted.in_unit(total.unit), held.in_unit(total.unit)

    def _partition(self) -> range | None:
        """Return the leading splits whose held-out sets together are all rows, once each."""
        if not self._rows.reads_data:
            return None
        counts = np.zeros(self._rows.n_samples, dtype=int)
        for number, (_, held_out) in enumerate(self._splits):
            counts += np.bincount(held_out, minlength=len(counts))
            if counts.max() > 1:
                return None
            if counts.min() == 1:
                return range(number + 1)
        return None


class FoldMoments:
    """Moments of folds that hold every row once: what :class:`SplitMoments` is for rows that are gone.

    Parameters
    ----------
    held : sequence of ScatterMoments
        Moments of the rows of every fold.
    """

    def __init__(self, held: Sequence[ScatterMoments]):
        self._held = held
        self.n_splits = len(held)

    @cached_property
    def total(self) -> ScatterMoments:
        """Moments of all rows."""
        return sum(self._held[1:], start=self._held[0])

    def pair(self, number: int) -> tuple[ScatterMoments, ScatterMoments]:
        """Return the moments of the training and the held-out rows of a split."""
        held = self._held[number].in_unit(self.total.unit)
        return self.total - held, held


@dataclass(frozen=True)
class CrossValidation:
    """Held-out reconstruction risks of every strength.

    Attributes
    ----------
    risk : ndarray of shape (n_strengths,)
        Mean over all held-out rows.
    risk_folds : ndarray of shape (n_splits, n_strengths)
        Mean over the held-out rows of each split.
    best : int
        Position of the chosen strength.
    """

    risk: Array
    risk_folds: Array
    best: int


def cross_validate(
    moments: SplitMoments | FoldMoments, rule: Rule, rank: int, n_jobs: Any = None
) -> CrossValidation:
    """Compare the strengths of a rule by reconstruction of held-out rows."""
    total = moments.total  # before the threads start, so that it is read once
    results = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_held_out_risk)(moments, number, rule, rank) for number in range(moments.n_splits)
    )
    risk_folds = np.stack([risk for risk, _ in results])
    held_weight = np.array([weight for _, weight in results])
    risk = held_weight @ risk_folds / held_weight.sum()
    best = smallest_strength_at_minimum(risk, total.total_variance)
    return CrossValidation(risk * total.unit**2, risk_folds * total.unit**2, best)


def _held_out_risk(
    moments: SplitMoments | FoldMoments, number: int, rule: Rule, rank: int
) -> tuple[Array, float]:
    train, held = moments.pair(number)
    risk = np.empty(len(rule.strengths))
    for i, subspace in rule.subspaces(train, rank):
        risk[i] = held.reconstruction_error(subspace.basis, train.mean)
    return risk, held.weight


def smallest_strength_at_minimum(risk: Array, total_variance: float) -> int:
    """Return the first position whose risk is the least, up to rounding."""
    return int(np.argmax(risk <= risk.min() + _ROUNDING * total_variance))


@dataclass(frozen=True)
class FallbackCertificate:
    """How much worse than PCA a strength chosen on a validation set can be.

    Attributes
    ----------
    eta : float
        Probability with which the guarantee may fail.
    epsilon : float
        Uniform error of the validation risks.
    n_candidates : int
        Number of strengths compared, PCA among them.
    n_validation : int
        Number of validation rows.
    """

    eta: float
    epsilon: float
    n_candidates: int
    n_validation: int

    @property
    def excess(self) -> float:
        """The most by which the risk can exceed that of the best candidate, hence that of PCA."""
        return 2 * self.epsilon

    def __str__(self) -> str:
        return (
            f"With probability at least {1 - self.eta:g}, the clean risk of the chosen subspace exceeds that "
            f"of the best of {self.n_candidates} candidates, and so that of PCA, by at most "
            f"{self.excess:.4g} ({self.n_validation} Gaussian validation rows)."
        )


def fallback_certificate(
    n_validation: int,
    n_candidates: int,
    *,
    eta: float = 0.05,
    covariance: ArrayLike | None = None,
    norms: tuple[float, float] | None = None,
) -> FallbackCertificate:
    r"""Return the guarantee of the paper's Proposition "Independent-validation fallback guarantee".

    With :math:`t = \log(2M/\eta)` for :math:`M` candidates and :math:`n_v` independent Gaussian rows,

    .. math::

        \varepsilon = 2 \|\Sigma\|_F \sqrt{t / n_v} + 2 \|\Sigma\|_{op}\, t / n_v, \qquad
        R(\hat P_{\hat\alpha}) \le \min_\alpha R(\hat P_\alpha) + 2 \varepsilon \le R(\hat P_0) + 2\varepsilon

    with probability at least :math:`1 - \eta`. The rows are taken to have a known mean; rows that are
    centred on their own mean are worth one row less, so :func:`select_on_validation` passes ``n - 1``.

    Parameters
    ----------
    n_validation : int
        Number of validation rows.
    n_candidates : int
        Number of strengths compared.
    eta : float
        Probability with which the guarantee may fail, strictly between 0 and 1.
    covariance : array-like of shape (n_features, n_features), optional
        Population covariance.
    norms : (float, float), optional
        Bounds on its Frobenius and operator norms, in its place.

    Returns
    -------
    FallbackCertificate
        With ``epsilon`` and the ``excess`` of two epsilons.
    """
    if not 0 < eta < 1:
        raise ValueError(f"eta must be strictly between 0 and 1; got {eta!r}.")
    if n_validation < 1 or n_candidates < 1:
        raise ValueError(
            f"n_validation and n_candidates must be at least 1; got {n_validation!r} and {n_candidates!r}."
        )
    if (covariance is None) == (norms is None):
        raise ValueError("give either covariance or norms=(Frobenius norm, operator norm).")
    if covariance is not None:
        frobenius, operator = _norms(covariance)
    else:
        frobenius, operator = (float(norm) for norm in norms)  # type: ignore[union-attr]
        if not (np.isfinite([frobenius, operator]).all() and 0 <= operator <= frobenius):
            raise ValueError(
                "norms must be (Frobenius norm, operator norm), finite, the second no larger than the first; "
                f"got {norms!r}."
            )
    t = np.log(2 * n_candidates / eta)
    epsilon = 2 * frobenius * np.sqrt(t / n_validation) + 2 * operator * t / n_validation
    return FallbackCertificate(eta, float(epsilon), n_candidates, n_validation)


def _norms(covariance: ArrayLike) -> tuple[float, float]:
    S = np.asarray(covariance, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all() or not np.allclose(S, S.T):
        raise ValueError("covariance must be a finite symmetric matrix.")
    return float(np.linalg.norm(S)), float(np.abs(np.linalg.eigvalsh(S)).max())


@dataclass(frozen=True)
class ValidationSelection:
    """A strength chosen on an independent validation set, without refitting.

    Attributes
    ----------
    alpha : float
        Chosen strength.
    risk : ndarray of shape (n_alphas,)
        Validation risk of every strength of the path.
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows of the chosen subspace, fitted on the training rows only.
    mean : ndarray of shape (n_features,)
        Mean of the training rows.
    n_validation : int
        Number of validation rows.
    """

    alpha: float
    risk: Array
    components: Array
    mean: Array
    n_validation: int

    def certificate(
        self,
        eta: float = 0.05,
        *,
        covariance: ArrayLike | None = None,
        norms: tuple[float, float] | None = None,
    ) -> FallbackCertificate:
        """Return the guarantee against PCA; see :func:`fallback_certificate`."""
        return fallback_certificate(
            self.n_validation - 1, len(self.risk), eta=eta, covariance=covariance, norms=norms
        )


def select_on_validation(path: AttenuationPath, X: Any) -> ValidationSelection:
    r"""Choose a strength of a fitted path by its risk on independent rows.

    The validation risk is :math:`\operatorname{tr}\{(I - P_\alpha) S_v\}`, where :math:`S_v` is the
    covariance of the validation rows about their own mean, divided by :math:`n_v - 1`. For Gaussian rows it
    has exactly the law of the paper's :math:`\hat R_v` with :math:`n_v - 1` rows of known mean, so the
    guarantee of the certificate holds with that number.

    Parameters
    ----------
    path : AttenuationPath
        Candidates fitted on training rows, from :func:`attenua.attenuation_path`.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Validation rows, independent of the training rows.

    Returns
    -------
    ValidationSelection
        The chosen strength and subspace; ``certificate`` says how much worse than PCA it can be.
    """
    X, names = checked_matrix(X)
    if X.shape[1] != len(path.mean):
        raise ValueError(f"X has {X.shape[1]} columns, but the path was fitted to {len(path.mean)}.")
    held = Rows(X, feature_names=names).moments()
    # About the held-out mean, a centre that adds nothing.
    risk = np.array([held.reconstruction_error(U.T, held.mean) for U in path.components])
    best = smallest_strength_at_minimum(risk, held.total_variance)
    risk *= held.weight / (held.weight - 1) * held.unit**2
    return ValidationSelection(float(path.alphas[best]), risk, path.components[best], path.mean, X.shape[0])
