"""How the risk of a leading subspace responds to a perturbation, and the same for one drawn sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory._checks import as_matrix, as_rank, as_rows, as_strength
from attenua.theory.cutoff import Array, Cutoff, cut, excess_risk
from attenua.theory.population import Population


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


def gap_operator(matrix: Array, at: Cutoff, X: Array) -> Array:
    r"""Return :math:`X (P M P) - (P^\perp M P^\perp) X` (eq. supp-two-operators).

    With the matrix that `at` decomposes this is :math:`\mathcal L`, which multiplies each coupling by its
    gap; with the population covariance it is :math:`\mathcal H_\Sigma`, the weight of a rotation in the risk.
    """
    P = at.projector
    complement = np.eye(len(P)) - P
    return X @ P @ matrix @ P - complement @ matrix @ complement @ X


def solve_gap_operator(at: Cutoff, Z: Array) -> Array:
    r"""Return :math:`\mathcal L^{-1}(P^\perp Z P)`: each coupling divided by its gap."""
    return at.embed(at.cross_block(Z) / at.gaps)


def expand_risk(A: ArrayLike, B: ArrayLike, F: ArrayLike, n_components: int) -> RiskExpansion:
    r"""Expand :math:`\operatorname{tr}\{B (P_A - P_{A+F})\}` to second order in `F`.

    With :math:`P = P_A` the leading projector of rank `n_components`,
    :math:`\mathcal L_A(X) = X (P A P) - (P^\perp A P^\perp) X` and :math:`\mathcal H_B` likewise,

    .. math::

        Y_1 = \mathcal L_A^{-1}(P^\perp F P), \qquad
        Y_2 = \mathcal L_A^{-1}\{P^\perp F P^\perp Y_1 - Y_1 P F P\},

        \operatorname{tr}\{B (P_A - P_{A+F})\} = -2 \langle P^\perp B P, Y_1 + Y_2 \rangle
        + \langle Y_1, \mathcal H_B(Y_1) \rangle + O(\|F\|^3)

    (Lemma two-matrix-risk-expansion). The remainder is visible as ``expand_risk(...).remainder``.

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
    for cutoff, name in ((before, "A"), (after, "A + F")):
        if cutoff.is_closed:
            raise ValueError(
                f"{name} has no gap at rank {d}: eigenvalues {d} and {d + 1} are both "
                f"{cutoff.omitted_values[0]:g}, so its leading subspace is not unique."
            )
    P, complement = before.projector, before.omitted @ before.omitted.T
    Y1 = solve_gap_operator(before, F)
    Y2 = solve_gap_operator(before, F @ Y1 - Y1 @ F)
    leak = complement @ B @ P
    return RiskExpansion(
        Y1=Y1,
        Y2=Y2,
        linear=-2 * float(np.sum(leak * Y1)),
        curvature=float(np.sum(Y1 * gap_operator(B, before, Y1))),
        displacement=-2 * float(np.sum(leak * Y2)),
        exact=float(np.sum(B * (P - after.projector))),
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
    >>> from attenua.theory import Population, draw_rows
    >>> from attenua_paper.theory import dissect_sample
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
