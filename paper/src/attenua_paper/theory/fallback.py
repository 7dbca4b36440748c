"""How much worse than PCA a strength can be that independent rows chose (Proposition validation-fallback)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attenua._data.checks import real_numbers


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
    centred on their own mean are worth one row less: for a choice by
    :func:`attenua.select_on_validation`, pass ``n_validation - 1`` and ``len(risk)``.

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
    >>> from attenua_paper.theory import fallback_certificate
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
