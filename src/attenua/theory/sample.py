"""One drawn sample under the theory: what leaks, how the subspace turns, what risk that predicts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory._checks import as_rows, as_strength
from attenua.theory.cutoff import Array, cut, excess_risk
from attenua.theory.expansion import expand_risk
from attenua.theory.population import Population


@dataclass(frozen=True)
class SampleAnatomy:
    r"""Leakage, rotation and risk of the attenuated subspace of one sample.

    Attributes
    ----------
    alpha : float
        Strength.
    population_leakage, sampling_leakage : ndarray of shape (p, p)
        :math:`-\alpha P_*^\perp D P_*` and :math:`P_*^\perp \{E_n - \alpha \operatorname{diag}(E_n)\} P_*`,
        with :math:`E_n = S_n - \Sigma` (eq. leakage-decomposition).
    a, b : ndarray of shape (d, p - d)
        Sample averages of the couplings :math:`a_{jk}` and of their diagonal parts :math:`b_{jk}`.
    rotation : ndarray of shape (p, p)
        First-order rotation :math:`X_{n,\alpha} = \mathcal L_\alpha^{-1} \bar Z_{n,\alpha}` away from the
        subspace that attenuation targets; :math:`P_*` itself where the target is preserved.
    bias : float
        Population cost :math:`B_{pop}(\alpha)`.
    predicted_risk : float
        `bias` plus the second-order expansion of the risk around the moved target. Where the target is
        preserved this is :math:`\langle X_{n,\alpha}, \mathcal H_\Sigma(X_{n,\alpha}) \rangle`, and with
        balanced marginals :math:`\sum_{jk} (\bar a_{jk} - \alpha \bar b_{jk})^2 / (\lambda_j - \lambda_k)`
        (Lemma balanced-coupling-risk).
    excess_risk : float
        Exact excess risk of the fitted subspace.
    """

    alpha: float
    population_leakage: Array
    sampling_leakage: Array
    a: Array
    b: Array
    rotation: Array
    bias: float
    predicted_risk: float
    excess_risk: float

    @property
    def leakage(self) -> Array:
        r"""The whole leakage :math:`P_*^\perp T_{n,\alpha} P_*` of the attenuated sample covariance."""
        return self.population_leakage + self.sampling_leakage

    @property
    def residual_couplings(self) -> Array:
        r""":math:`\bar a_{jk} - \alpha \bar b_{jk}`, retained in rows (eq. attenuated-cross-entry)."""
        return self.a - self.alpha * self.b


def dissect_sample(
    population: Population, X: ArrayLike, alpha: float, *, center: bool = False
) -> SampleAnatomy:
    r"""Split the leakage of a drawn sample and predict its risk from the first-order rotation.

    Parameters
    ----------
    population : Population
        The population the rows were drawn from.
    X : array-like of shape (n, p)
        Rows. Their population mean is zero, as in the paper, unless `center` is set.
    alpha : float
        Strength.
    center : bool, default=False
        Subtract the sample mean and divide by ``n - 1``: an unknown population mean.

    Returns
    -------
    SampleAnatomy

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population, dissect_sample, draw_rows
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> X = draw_rows(population.covariance, 500, random_state=0)
    >>> anatomy = dissect_sample(population, X, alpha=0.5)
    >>> round(anatomy.predicted_risk, 4), round(anatomy.excess_risk, 4)
    (0.0031, 0.0033)
    """
    strength = as_strength(alpha)
    unit, target = population.unit, population.cutoff
    rows = as_rows(X, population.n_features) / np.sqrt(unit)
    if center and len(rows) < 2:
        raise ValueError("X must hold at least 2 rows to be centred.")
    S = np.cov(rows, rowvar=False) if center else rows.T @ rows / len(rows)
    E = S - population.scaled
    e = np.diag(np.diag(E))
    F = E - strength * e
    moved = cut(population.path.matrix(strength), population.n_components)
    expansion = expand_risk(population.path.matrix(strength), population.scaled, F, population.n_components)
    fitted = cut(S - strength * np.diag(np.diag(S)), population.n_components)
    bias = excess_risk(target, moved.retained)
    return SampleAnatomy(
        alpha=strength,
        population_leakage=-strength * population.leakage,
        sampling_leakage=target.embed(target.cross_block(F)) * unit,
        a=target.cross_block(E).T * unit,
        b=target.cross_block(e).T * unit,
        rotation=expansion.Y1,
        bias=bias * unit,
        predicted_risk=(bias + expansion.prediction) * unit,
        excess_risk=excess_risk(target, fitted.retained) * unit,
    )
