"""A strength chosen on independent rows, and how much worse than PCA it can be."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attenua._data.checks import real_numbers
from attenua._select.comparison import smallest_strength_at_minimum
from attenua.path import AttenuationPath
from attenua_paper.theory.checks import Array, as_covariance, as_rows


class ValidationSelection(NamedTuple):
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


def select_on_validation(path: AttenuationPath, X: ArrayLike) -> ValidationSelection:
    r"""Choose a strength of a fitted path, PCA among them, by its risk on independent rows.

    The validation risk (eq. validation-risk) is

    .. math::

        \operatorname{tr}\{(I - P_\alpha) S_v\}, \qquad
        S_v = \frac{1}{n_v - 1} \sum_i (v_i - \bar v)(v_i - \bar v)^\top .

    The centre is the mean of the validation rows, so a shift between the two sets does not count. For
    Gaussian rows the risk has exactly the law of the paper's :math:`\hat R_v` with :math:`n_v - 1` rows of
    known mean. Ties go to the smallest strength.

    Parameters
    ----------
    path : AttenuationPath
        Candidates fitted on training rows, from :func:`attenua.attenuation_path`.
    X : array-like of shape (n_samples, n_features)
        Validation rows, at least two, independent of the training rows.

    Returns
    -------
    ValidationSelection

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import attenuation_path
    >>> from attenua_paper.theory import select_on_validation
    >>> X = load_digits().data
    >>> chosen = select_on_validation(attenuation_path(X[:100], 5), X[100:600])
    >>> chosen.alpha, chosen.risk.shape
    (0.0, (22,))
    """
    rows = as_rows(X, len(path.mean))
    if len(rows) < 2:
        raise ValueError("X must hold at least 2 rows, to be centred.")
    held = np.atleast_2d(np.cov(rows, rowvar=False))
    captured = np.sum((path.components @ held) * path.components, axis=(1, 2))
    risk = np.trace(held) - captured
    best = smallest_strength_at_minimum(risk, float(np.trace(held)))
    return ValidationSelection(float(path.alphas[best]), risk, path.components[best], path.mean, len(rows))


class FallbackCertificate(NamedTuple):
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


def fallback_certificate(
    n_validation: int,
    n_candidates: int,
    *,
    eta: float = 0.05,
    covariance: ArrayLike | None = None,
    norms: tuple[float, float] | None = None,
) -> FallbackCertificate:
    r"""Return the guarantee of Proposition validation-fallback.

    With :math:`t = \log(2M/\eta)` for :math:`M` candidates and :math:`n_v` independent Gaussian rows,

    .. math::

        \varepsilon = 2 \|\Sigma\|_F \sqrt{t / n_v} + 2 \|\Sigma\|_{op}\, t / n_v, \qquad
        R(\hat P_{\hat\alpha}) \le \min_\alpha R(\hat P_\alpha) + 2 \varepsilon \le R(\hat P_0) + 2\varepsilon

    with probability at least :math:`1 - \eta`. The rows are taken to have a known mean; rows that are
    centred on their own mean are worth one row less: for a choice by :func:`select_on_validation`, pass
    ``n_validation - 1`` and ``len(risk)``.

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
        values = np.linalg.eigvalsh(as_covariance(covariance))
        frobenius, operator = float(np.linalg.norm(values)), float(values[-1])
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
