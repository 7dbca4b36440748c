"""How the risk of a leading subspace responds to a perturbation, and the same for one drawn sample."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attenua_paper.theory.checks import Array, as_matrix, as_rank, as_rows, as_strengths
from attenua_paper.theory.spectrum import Cutoff, cut, excess_risk

if TYPE_CHECKING:
    from attenua_paper.theory.population import Population


class Terms(NamedTuple):
    """The terms of `expand_risk`, with Y1 and Y2 as couplings; stacks of them for a stack of F."""

    Y1: Array
    Y2: Array
    linear: Array
    curvature: Array
    displacement: Array


def expansion_terms(at: Cutoff, B: Array, F: Array) -> Terms:
    """Return the terms of Lemma two-matrix-risk-expansion at a matrix that is split at the rank.

    In its eigenvectors the inverse gap operator is a division by the gaps.
    """
    V1, V0 = at.retained, at.omitted
    # From the right: products with the few retained directions are small.
    FV1 = F @ V1
    Y1 = V0.T @ FV1 / at.gaps
    Y2 = (V0.T @ (F @ (V0 @ Y1)) - Y1 @ (V1.T @ FV1)) / at.gaps
    leak = at.cross_block(B)
    weighed = Y1 @ (V1.T @ B @ V1) - V0.T @ B @ V0 @ Y1

    def inner(left: Array, right: Array) -> Array:
        return np.sum(left * right, axis=(-2, -1))

    return Terms(Y1, Y2, -2 * inner(leak, Y1), inner(Y1, weighed), -2 * inner(leak, Y2))


def gap_operator(matrix: Array, projector: Array, X: Array) -> Array:
    r"""Return :math:`X (P M P) - (P^\perp M P^\perp) X` (eq. supp-two-operators).

    With a matrix whose projector P is, this is :math:`\mathcal L`, which multiplies each coupling by its gap;
    with the population covariance it is :math:`\mathcal H_\Sigma`, the weight of a rotation in the risk.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import gap_operator
    >>> gap_operator(np.diag([3.0, 1.0]), np.diag([1.0, 0.0]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    array([[0., 0.],
           [2., 0.]])
    """
    P, complement = projector, np.eye(len(projector)) - projector
    return X @ P @ matrix @ P - complement @ matrix @ complement @ X


@dataclass(frozen=True)
class RiskExpansion:
    r"""Second-order expansion of :math:`\operatorname{tr}\{B (P_A - P_{A+F})\}` in `F`.

    Attributes
    ----------
    Y1, Y2 : ndarray of shape (p, p)
        First and second graph term, maps from the range of :math:`P_A` to its complement.
    linear : float
        :math:`-2 \langle P^\perp B P, Y_1 \rangle`; zero when `A` and `B` share the leading subspace.
    curvature : float
        :math:`\langle Y_1, \mathcal H_B(Y_1) \rangle`.
    displacement : float
        :math:`-2 \langle P^\perp B P, Y_2 \rangle`.
    exact : float
        :math:`\operatorname{tr}\{B (P_A - P_{A+F})\}` itself.
    """

    Y1: Array
    Y2: Array
    linear: float
    curvature: float
    displacement: float
    exact: float

    @property
    def prediction(self) -> float:
        """The sum of the three terms (eq. supp-moving-two-matrix-expansion)."""
        return self.linear + self.curvature + self.displacement

    @property
    def remainder(self) -> float:
        """`exact - prediction`, which falls like the cube of the norm of `F`."""
        return self.exact - self.prediction


def expand_risk(A: ArrayLike, B: ArrayLike, F: ArrayLike, n_components: int) -> RiskExpansion:
    r"""Expand :math:`\operatorname{tr}\{B (P_A - P_{A+F})\}` to second order in `F`.

    With :math:`P = P_A` the leading projector of rank `n_components`,
    :math:`\mathcal L_A(X) = X (P A P) - (P^\perp A P^\perp) X` and :math:`\mathcal H_B` likewise,

    .. math::

        Y_1 = \mathcal L_A^{-1}(P^\perp F P), \qquad
        Y_2 = \mathcal L_A^{-1}\{P^\perp F P^\perp Y_1 - Y_1 P F P\},

        \operatorname{tr}\{B (P_A - P_{A+F})\} = -2 \langle P^\perp B P, Y_1 + Y_2 \rangle
        + \langle Y_1, \mathcal H_B(Y_1) \rangle + O(\|F\|^3)

    (Lemma two-matrix-risk-expansion).

    Parameters
    ----------
    A, B, F : array-like of shape (p, p)
        Symmetric matrices: the one whose subspace is taken, the one that defines the risk, the perturbation.
    n_components : int
        Rank of the projectors.

    Returns
    -------
    RiskExpansion

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import expand_risk
    >>> A = np.diag([3.0, 1.0])
    >>> F = 0.01 * np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> expansion = expand_risk(A, A, F, n_components=1)
    >>> print(f"{expansion.prediction:.1e}, exact {expansion.exact:.1e}")
    5.0e-05, exact 5.0e-05
    """
    A = as_matrix(A, "A")
    B, F = as_matrix(B, "B", len(A)), as_matrix(F, "F", len(A))
    d = as_rank(n_components, len(A))
    before, after = cut(A, d), cut(A + F, d)
    for at, name in ((before, "A"), (after, "A + F")):
        if at.gap == 0:
            raise ValueError(f"{name} has no gap at rank {d}, so its leading subspace is not unique.")
    terms = expansion_terms(before, B, F)
    return RiskExpansion(
        before.embed(terms.Y1),
        before.embed(terms.Y2),
        float(terms.linear),
        float(terms.curvature),
        float(terms.displacement),
        float(np.sum(B * (before.projector - after.projector))),
    )


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
        subspace that attenuation targets, which is that of :math:`P_*` where the target is preserved.
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


def dissect_sample(population: "Population", X: ArrayLike, alpha: float) -> SampleAnatomy:
    r"""Split the leakage of a drawn sample and predict its risk from the first-order rotation.

    Parameters
    ----------
    population : Population
        The population that the rows were drawn from.
    X : array-like of shape (n, p)
        Rows; their population mean is zero, as in the paper.
    alpha : float
        Strength.

    Returns
    -------
    SampleAnatomy

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import Population, dissect_sample, draw_rows
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> X = draw_rows(population.covariance, 500, random_state=0)
    >>> anatomy = dissect_sample(population, X, alpha=0.5)
    >>> round(anatomy.predicted_risk, 4), round(anatomy.excess_risk, 4)
    (0.0031, 0.0033)
    """
    strength, target = float(as_strengths(alpha)), population.cutoff
    rows = as_rows(X, population.n_features)
    S = rows.T @ rows / len(rows)
    E = S - population.covariance
    e = np.diag(np.diag(E))
    F = E - strength * e
    T = population.attenuated(strength)
    expansion = expand_risk(T, population.covariance, F, population.n_components)
    bias = population.bias(strength)
    return SampleAnatomy(
        alpha=strength,
        population_leakage=-strength * population.leakage,
        sampling_leakage=target.embed(target.cross_block(F)),
        a=target.cross_block(E).T,
        b=target.cross_block(e).T,
        rotation=expansion.Y1,
        bias=bias,
        predicted_risk=bias + expansion.prediction,
        excess_risk=excess_risk(target, cut(T + F, population.n_components).retained),
    )
