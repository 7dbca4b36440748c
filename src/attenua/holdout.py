"""A strength chosen on one independent validation set, without refitting, and what that guarantees.

Strengths are compared by the error with which they reconstruct the validation rows. Ordinary PCA is always
among them, and ties go to the smallest strength. For cross-validation see
:class:`attenua.AttenuatedPCACV`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import real_numbers
from attenua._data.moments import in_data_units
from attenua._data.namespace import asarray_like, to_host
from attenua._data.opening import open_for_fit
from attenua._estimate.html import result_html
from attenua._select.comparison import reconstruction_errors, smallest_strength_at_minimum
from attenua._solve.subspace import Subspace
from attenua.path import AttenuationPath, ColumnsSeen

Array = NDArray[np.float64]


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
        Bounds on its Frobenius and operator norms, instead of it.

    Returns
    -------
    FallbackCertificate
        With ``epsilon`` and the ``excess`` of two epsilons.

    Examples
    --------
    >>> from attenua import fallback_certificate
    >>> few, many = (fallback_certificate(n, 22, norms=(2.0, 1.0)) for n in (1_000, 100_000))
    >>> round(few.excess, 3), round(many.excess, 3)
    (0.686, 0.066)
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
        given = real_numbers(norms, "norms must be two real numbers")
        frobenius, operator = given.tolist() if given.shape == (2,) else (np.nan, np.nan)
        if not 0 <= operator <= frobenius < np.inf:
            raise ValueError(
                "norms must be (Frobenius norm, operator norm), finite, the second no larger than the first; "
                f"got {norms!r}."
            )
    t = np.log(2 * n_candidates / eta)
    epsilon = 2 * frobenius * np.sqrt(t / n_validation) + 2 * operator * t / n_validation
    return FallbackCertificate(eta, float(epsilon), n_candidates, n_validation)


def _norms(covariance: ArrayLike) -> tuple[float, float]:
    S = real_numbers(covariance, "covariance must be a symmetric matrix of real numbers")
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all() or not np.allclose(S, S.T):
        raise ValueError("covariance must be a finite symmetric matrix.")
    values = np.linalg.eigvalsh(S)
    if values[0] < -1e-8 * abs(values[-1]):
        raise ValueError(f"covariance must not have negative eigenvalues; the smallest is {values[0]:g}.")
    return float(np.linalg.norm(S)), float(values[-1])


@dataclass(frozen=True)
class ValidationSelection:
    """A strength chosen on an independent validation set, without refitting.

    Attributes
    ----------
    alpha : float
        Chosen strength.
    risk : ndarray of shape (n_alphas,)
        Validation risk of every strength of the path; the first is that of PCA.
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

    def _repr_html_(self) -> str:
        """Show the choice in a notebook."""
        change = 100 * (self.risk / self.risk[0] - 1) if self.risk[0] > 0 else 0 * self.risk
        return result_html(
            "Strength chosen on validation rows",
            [
                ("strength", f"{self.alpha:g}" if self.alpha else "0 (ordinary PCA)"),
                ("risk against PCA", f"{change.min():+.2f}%"),
                ("validation rows", f"{self.n_validation:,}"),
                ("components", f"{self.components.shape[0]}"),
            ],
            ["candidate", "risk", "change from PCA, %"],
            [(i, f"{r:.5g}", f"{c:+.2f}") for i, (r, c) in enumerate(zip(self.risk, change, strict=True))],
            curve=(np.arange(len(self.risk)), self.risk, "validation risk along the path"),
        )

    def certificate(
        self,
        eta: float = 0.05,
        *,
        covariance: ArrayLike | None = None,
        norms: tuple[float, float] | None = None,
    ) -> FallbackCertificate:
        """Return the guarantee against PCA; see :func:`fallback_certificate`."""
        p = self.mean.shape[0]
        if covariance is not None and np.shape(covariance) != (p, p):
            raise ValueError(f"covariance must be {p} x {p}, as the data are.")
        return fallback_certificate(
            self.n_validation - 1, len(self.risk), eta=eta, covariance=covariance, norms=norms
        )


def select_on_validation(path: AttenuationPath, X: Any) -> ValidationSelection:
    r"""Choose a strength of a fitted path, PCA among them, by its risk on independent rows.

    The validation risk is :math:`\operatorname{tr}\{(I - P_\alpha) S_v\}`, where :math:`S_v` is the
    covariance of the validation rows about their own mean, divided by :math:`n_v - 1`. For Gaussian rows it
    has exactly the law of the paper's :math:`\hat R_v` with :math:`n_v - 1` rows of known mean, so the
    guarantee of the certificate holds with that number.

    Parameters
    ----------
    path : AttenuationPath
        Candidates fitted on training rows, from :func:`attenua.attenuation_path`.
    X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
        Validation rows, independent of the training rows.

    Returns
    -------
    ValidationSelection
        The chosen strength and subspace; ``certificate`` says how much worse than PCA it can be.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import attenuation_path, select_on_validation
    >>> X = load_digits().data
    >>> chosen = select_on_validation(attenuation_path(X[:100], 5), X[100:600])
    >>> chosen.alpha, chosen.risk.shape
    (0.0, (22,))
    """
    columns = ColumnsSeen()
    data = open_for_fit(columns, X)
    _check_same_columns(columns, path)
    held = data.moments.total
    frames = [asarray_like(held.mean, np.asarray(U.T, dtype=float)) for U in to_host(path.components)]
    # About the held-out mean, a centre that adds nothing.
    candidates = [Subspace(frame, None, np.zeros(frame.shape[1]), np.nan, False) for frame in frames]
    risk = reconstruction_errors(held, candidates, held.mean)
    best = smallest_strength_at_minimum(risk, held.total_variance)
    risk = in_data_units(risk * held.weight / (held.weight - 1), held.unit)
    return ValidationSelection(
        alpha=float(path.alphas[best]),
        risk=risk,
        components=path.components[best, ...],
        mean=path.mean,
        n_validation=data.n_samples,
    )


def _check_same_columns(columns: ColumnsSeen, path: AttenuationPath) -> None:
    """Raise unless rows have the columns that a path was fitted to, in the same order."""
    n, fitted = columns.n_features_in_, path.mean.shape[0]
    if n != fitted:
        raise ValueError(f"X has {n} columns, but the path was fitted to {fitted}.")
    names = getattr(columns, "feature_names_in_", None)
    if names is None or path.feature_names is None:
        return
    for found, expected in zip(names, path.feature_names, strict=True):
        if found != expected:
            raise ValueError(f"X has the column {found!r} where the path was fitted to {expected!r}.")
