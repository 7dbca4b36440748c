r"""Expected excess risk of a smooth correction of the sample covariance, to order 1/n.

A *correction* is a smooth function :math:`T(S)` of the sample covariance whose leading eigenvectors are the
estimate. Around the population, with :math:`E = S_n - \Sigma` and :math:`e = \operatorname{diag}(E)`,

.. math::

    T(S_n) = T(\Sigma) + F(E) + (\text{quadratic in } E) + \dots, \qquad
    F(E) = E_m + \operatorname{diag}(e_m) Q + Q^\top \operatorname{diag}(e_m),

where :math:`E_m` is the fluctuation of the rows after a fixed rescaling of the coordinates, :math:`e_m` its
diagonal, and :math:`Q` says how the sample variances act on every entry. Diagonal attenuation is
:math:`T = S - \alpha \operatorname{diag}(S)`: no rescaling, :math:`Q = -(\alpha/2) I`, nothing quadratic.
With a second strength all three are there (:func:`attenua.theory.two_strengths`). Any such correction has
expected excess risk :math:`B_{pop} + K/n + O(n^{-3/2})`; this file holds the one implementation of :math:`K`.
"""

from dataclasses import dataclass

import numpy as np

from attenua.theory.cutoff import Array, Cutoff

# Retained directions are worked through so many values at a time (4 MB an array): large enough for few, big
# matrix products, small enough for memory of order p^2.
VALUES_AT_ONCE = 500_000


@dataclass(frozen=True)
class SmoothCorrection:
    r"""Value and derivatives at :math:`\Sigma` of a correction of the sample covariance.

    Attributes
    ----------
    target : ndarray of shape (p, p)
        :math:`T(\Sigma)`, whose leading subspace the estimate converges to.
    fluctuation : ndarray of shape (p, p)
        Covariance :math:`C` of the (rescaled) rows whose sample covariance fluctuates.
    response : ndarray of shape (p, p)
        :math:`Q`: the response of the entries to the fluctuations of the sample variances.
    drift : ndarray of shape (p, p) or None
        :math:`n` times the mean of the quadratic part; None when the correction is linear in `S`.
    """

    target: Array
    fluctuation: Array
    response: Array
    drift: Array | None = None


def sampling_coefficient(correction: SmoothCorrection, cutoff: Cutoff, covariance: Array) -> float:
    r"""Return :math:`K` of a correction under Gaussian sampling (:math:`K_{move}`, eq. moving-risk-constant).

    With :math:`\Xi = F(x x^\top - \Sigma)`, retained :math:`v_j` and omitted :math:`v_k` of the corrected
    matrix, :math:`Y_{kj} = v_k^\top \Xi v_j / (\mu_j - \mu_k)` and :math:`\Sigma_{00}, \Sigma_{11},
    \Sigma_{01}` the blocks of :math:`\Sigma` in that basis,

    .. math::

        K = E \langle Y, Y \Sigma_{11} - \Sigma_{00} Y \rangle - 2 E \langle \Sigma_{01}, Y_2 \rangle,
        \qquad (\mu_j - \mu_k) (Y_2)_{kj} = (\Xi_{00} Y - Y \Xi_{11})_{kj} + v_k^\top N v_j,

    where :math:`N` is the correction's `drift`, which the paper's linear correction does not have.
    Moving the inverse gaps of :math:`Y_2` onto :math:`W_{kj} = (\Sigma_{01})_{kj} / (\mu_j - \mu_k)` turns
    both terms into :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` with :math:`\phi` linear in :math:`\Xi`:

    .. math::

        \phi_{kj} = (Y \Sigma_{11} - \Sigma_{00} Y)_{kj} - 2 p_j^\top \Xi v_k + 2 q_k^\top \Xi v_j, \qquad
        p_j = \sum_k W_{kj} v_k, \quad q_k = \sum_j W_{kj} v_j.

    Isserlis' identity then gives each expectation: :math:`E[(a^\top E b)(c^\top E d)] = a^\top C c\, b^\top C
    d + a^\top C d\, b^\top C c`, :math:`E[(a^\top E b) e] = 2 (Ca) \circ (Cb)` and :math:`E[e e^\top] = 2\, C
    \circ C`. It costs `3 d` products of p x p matrices and memory of order p^2.

    Parameters
    ----------
    correction : SmoothCorrection
        The correction at the population.
    cutoff : Cutoff
        Eigendecomposition of ``correction.target``, with an open gap.
    covariance : ndarray of shape (p, p)
        Population covariance :math:`\Sigma` that defines the risk.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population, sampling_coefficient, two_strengths
    >>> from attenua.theory.cutoff import cut
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> round(population.sampling_coefficient(0.0), 6)  # the way to it for the two strengths
    3.75
    >>> pca = two_strengths(population.covariance, alpha=0.0)
    >>> round(sampling_coefficient(pca, cut(pca.target, 1), population.covariance), 6)
    3.75
    """
    frames = _Frames(correction, cutoff, covariance)
    p, d = frames.V1.shape
    step = max(1, VALUES_AT_ONCE // (p * (p - d)))
    total = _rowwise_part(frames)
    total += sum(_variance_part(frames, slice(start, start + step)) for start in range(0, d, step))
    if correction.drift is not None:
        total -= 2 * np.sum(frames.W * cutoff.cross_block(correction.drift))
    return float(total)


class _Frames:
    """Everything `sampling_coefficient` contracts: 1 stands for retained directions, 0 for omitted ones."""

    def __init__(self, correction: SmoothCorrection, cutoff: Cutoff, covariance: Array) -> None:
        C, Q = correction.fluctuation, correction.response
        self.V1, self.V0 = cutoff.retained, cutoff.omitted
        self.inverse_gaps = 1 / cutoff.gaps
        self.B11 = self.V1.T @ covariance @ self.V1
        self.B00 = self.V0.T @ covariance @ self.V0
        self.W = cutoff.cross_block(covariance) * self.inverse_gaps
        self.P, self.q = self.V0 @ self.W, self.V1 @ self.W.T
        self.squared = C * C
        self.CV1, self.CV0, self.CP, self.Cq = (C @ V for V in (self.V1, self.V0, self.P, self.q))
        self.QV1, self.QV0, self.QP, self.Qq = (Q @ V for V in (self.V1, self.V0, self.P, self.q))


def _rowwise_part(f: _Frames) -> float:
    r"""Return the part of :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` that involves :math:`E` alone."""
    C11, C00 = f.V1.T @ f.CV1, f.V0.T @ f.CV0
    retained, omitted = np.diag(C11)[None, :], np.diag(C00)[:, None]
    coupling = f.V0.T @ f.CV1 * f.inverse_gaps
    curvature = (
        np.sum(omitted * f.inverse_gaps * (f.inverse_gaps @ (f.B11 * C11)))
        - np.sum(retained * f.inverse_gaps * ((f.B00 * C00) @ f.inverse_gaps))
        + np.sum(coupling * (coupling @ f.B11 - f.B00 @ coupling))
    )
    toward_omitted, toward_retained = f.V0.T @ f.CP, f.Cq.T @ f.V1
    displacement = np.sum(coupling * (toward_retained - toward_omitted)) + np.sum(
        f.inverse_gaps
        * (
            retained * np.einsum("lk,lk->k", f.V0, f.Cq)[:, None]
            - omitted * np.einsum("lj,lj->j", f.V1, f.CP)[None, :]
        )
    )
    return float(curvature + 2 * displacement)


def _variance_part(f: _Frames, chosen: slice) -> float:
    r"""Return the part of :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` that involves the sample variances `e`.

    :math:`a^\top \Xi b` holds `e` with coefficients :math:`a \circ Qb + Qa \circ b` and covaries with it,
    before the response, as :math:`2\, Ca \circ Cb`. The arrays below have axes (coordinate, chosen j, k).
    """
    v, Cv, Qv, P, CP, QP = (M[:, chosen, None] for M in (f.V1, f.CV1, f.QV1, f.P, f.CP, f.QP))
    V0, CV0, QV0, q, Cq, Qq = (M[:, None, :] for M in (f.V0, f.CV0, f.QV0, f.q, f.Cq, f.Qq))
    inverse = f.inverse_gaps.T[chosen]
    # (Y Sigma_11)_{kj} mixes the retained directions j' of one omitted k, with these weights (j', j, k).
    mix = f.B11[:, chosen, None] * f.inverse_gaps.T[:, None, :]
    # Y's coefficients of e, and half its covariance with e before the response; then the same of phi.
    y = (V0 * Qv + QV0 * v) * inverse
    y_raw = CV0 * Cv * inverse
    phi = V0 * _apply(f.QV1, mix) + QV0 * _apply(f.V1, mix) - _apply_last(y, f.B00)
    phi += 2 * (v * Qq + Qv * q - P * QV0 - QP * V0)
    phi_raw = CV0 * _apply(f.CV1, mix) - _apply_last(y_raw, f.B00) + 2 * (Cv * Cq - CP * CV0)
    return float(2 * np.sum(phi * (y_raw + _apply(f.squared, y))) + 2 * np.sum(y * phi_raw))


def _apply(matrix: Array, stack: Array) -> Array:
    """Multiply the first axis of a stack by a matrix, in one product."""
    return (matrix @ stack.reshape(len(stack), -1)).reshape(len(matrix), *stack.shape[1:])


def _apply_last(stack: Array, matrix: Array) -> Array:
    """Multiply the last axis of a stack by a square matrix, in one product."""
    return (stack.reshape(-1, len(matrix)) @ matrix).reshape(stack.shape)
