"""How the clean risk of a leading subspace responds to a perturbation (Lemma two-matrix-risk-expansion)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attenua.theory._checks import as_matrix, as_rank
from attenua.theory.cutoff import Array, Cutoff, cut


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
    >>> from attenua.theory import expand_risk
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
