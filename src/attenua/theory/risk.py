r"""Expected excess risk of a corrected covariance, to order 1/n: the one implementation of :math:`K`.

A correction is a smooth map :math:`T = \varphi(S)` whose leading eigenvectors are the estimate. Around the
covariance that the rows fluctuate about, with :math:`E = S_n - \Sigma`, it is :math:`\varphi(\Sigma) + F(E) +
\text{(quadratic in } E) + \dots` (:class:`attenua.theory.SmoothCorrection`). The guide derives what is below
("The theory of all corrections").
"""

from typing import Any

import numpy as np

from attenua.theory.corrected_map import SmoothCorrection
from attenua.theory.cutoff import Array, Cutoff
from attenua.theory.noise import RowNoise, RowTerms

# Directions and rows are worked through so many values at a time (4 MB an array): large enough for few, big
# matrix products, small enough for memory.
VALUES_AT_ONCE = 500_000


def sampling_coefficient(
    correction: SmoothCorrection, noise: RowNoise, cutoff: Cutoff, covariance: Array
) -> float:
    r"""Return :math:`K` of a correction (:math:`K_{move}`, eq. moving-risk-constant, for any map and law).

    With :math:`\Xi = F(y y^\top - \Sigma_y)`, retained :math:`v_j` and omitted :math:`v_k` of the corrected
    matrix, :math:`Y_{kj} = v_k^\top \Xi v_j / (\mu_j - \mu_k)` and :math:`\Sigma_{00}, \Sigma_{11},
    \Sigma_{01}` the blocks of the rows' covariance :math:`\Sigma` in that basis,

    .. math::

        K = E \langle Y, Y \Sigma_{11} - \Sigma_{00} Y \rangle - 2 E \langle \Sigma_{01}, Y_2 \rangle,
        \qquad (\mu_j - \mu_k) (Y_2)_{kj} = (\Xi_{00} Y - Y \Xi_{11})_{kj} + v_k^\top N v_j,

    where :math:`N` is the correction's `drift`. Moving the inverse gaps of :math:`Y_2` onto :math:`W_{kj} =
    (\Sigma_{01})_{kj} / (\mu_j - \mu_k)` turns both terms into :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` with
    :math:`\phi` linear in :math:`\Xi`:

    .. math::

        \phi_{kj} = (Y \Sigma_{11} - \Sigma_{00} Y)_{kj} - 2 p_j^\top \Xi v_k + 2 q_k^\top \Xi v_j, \qquad
        p_j = \sum_k W_{kj} v_k, \quad q_k = \sum_j W_{kj} v_j.

    Every expectation is a sum over the parts of the noise. Time is of order :math:`d p^3` for a part, and
    :math:`d^2 p^3` where entries have factors of their own (damping, groups of columns); memory is of order
    :math:`d p^2`.

    Parameters
    ----------
    correction : SmoothCorrection
        The correction at the covariance that the noise is about.
    noise : RowNoise
        Moments of the rows, or of rows after row tempering.
    cutoff : Cutoff
        Eigendecomposition of ``correction.target``, with an open gap.
    covariance : ndarray of shape (p, p)
        Covariance :math:`\Sigma` of the rows as they are, which defines the risk.

    Returns
    -------
    float
        Infinity where the noise has no finite second moments.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import Population, SmoothCorrection, StudentT, sampling_coefficient
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> S = population.scaled
    >>> pca = SmoothCorrection(target=S, scales=np.ones(4), response=np.zeros((4, 4)))
    >>> K = sampling_coefficient(pca, StudentT(5).noise(S), population.cutoff, S)
    >>> round(K * population.unit, 2), round(population.sampling_coefficient(law=StudentT(5)), 2)
    (11.25, 11.25)
    """
    if not noise.is_finite:
        return np.inf
    frames = _Frames(correction, cutoff, covariance)
    total = sum(weight * _crossed_part(frames, C) for weight, C in noise.crossed)
    total += sum(weight * _matrix_part(frames, M) for weight, M in noise.matrices)
    if noise.rows is not None:
        total += _row_part(frames, noise.rows)
    if correction.drift is not None:
        total -= 2 * np.sum(frames.W * cutoff.cross_block(correction.drift))
    return float(total)


class _Frames:
    """The matrices of the formula: 1 marks retained directions, 0 omitted ones.

    The directions V1, V0, P and q are already smoothed, since the noise enters only through the kernel.
    """

    def __init__(self, correction: SmoothCorrection, cutoff: Cutoff, covariance: Array) -> None:
        self.correction = correction
        self.inverse_gaps = 1 / cutoff.gaps
        self.B11 = cutoff.retained.T @ covariance @ cutoff.retained
        self.B00 = cutoff.omitted.T @ covariance @ cutoff.omitted
        self.W = cutoff.cross_block(covariance) * self.inverse_gaps
        self.V1, self.V0 = correction.smooth(cutoff.retained), correction.smooth(cutoff.omitted)
        self.P, self.q = self.V0 @ self.W, self.V1 @ self.W.T
        Q = correction.response
        self.QV1, self.QV0, self.QP, self.Qq = (Q @ V for V in (self.V1, self.V0, self.P, self.q))

    def contract(self, coupling: Array, within: Array, toward_omitted: Array) -> Any:
        r"""Return :math:`\sum_{kj} Y_{kj} \phi_{kj}` of one matrix :math:`\Xi`, or of a stack of them.

        Parameters
        ----------
        coupling, within, toward_omitted : ndarray
            :math:`v_k^\top \Xi v_j`, :math:`v_i^\top \Xi v_j` and :math:`v_k^\top \Xi p_j`.
        """
        Y = coupling * self.inverse_gaps
        phi = Y @ self.B11 - self.B00 @ Y + 2 * (self.W @ within - toward_omitted)
        return np.sum(Y * phi, axis=(-2, -1))


def _matrix_part(f: _Frames, M: Array) -> float:
    r"""Return :math:`\sum_{kj} Y_{kj} \phi_{kj}` at :math:`\Xi = F(M)`."""
    F = f.correction.unsmoothed(M)
    FV1, FP = F @ f.V1, F @ f.P
    return float(f.contract(f.V0.T @ FV1, f.V1.T @ FV1, f.V0.T @ FP))


def _row_part(f: _Frames, terms: RowTerms) -> float:
    r"""Return the sum over rows of :math:`\sum_{kj} Y_{kj} \phi_{kj}` at :math:`\Xi = F(x x^\top - M)`."""
    p, d = f.V1.shape
    directions, responses = np.hstack([f.V1, f.P]), np.hstack([f.QV1, f.QP])
    A, Q = f.correction.factors, f.correction.response
    centre = f.correction.unsmoothed(terms.centre) @ directions
    total, step = 0.0, max(1, VALUES_AT_ONCE // (2 * d * p))
    for start in range(0, len(terms.rows), step):
        x = terms.rows[start : start + step] * f.correction.scales
        squares = x**2
        # Xi b for every row and every direction b: axes (row, direction, coordinate).
        loads = x[:, None, :] * directions.T
        sums = np.sum(loads, axis=2, keepdims=True) if A is None else loads @ A
        images = sums * x[:, None, :]
        images += squares[:, None, :] * responses.T + (squares[:, None, :] * directions.T) @ Q - centre.T
        couplings = np.swapaxes(images @ f.V0, 1, 2)
        within = np.swapaxes(images[:, :d] @ f.V1, 1, 2)
        total += float(np.sum(f.contract(couplings[:, :, :d], within, couplings[:, :, d:])))
    return terms.weight * total


def _crossed_part(f: _Frames, C: Array) -> float:
    r"""Return :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` for errors with the second moments of a Gaussian row.

    :math:`E[E_{ab} E_{cd}] = C_{ac} C_{bd} + C_{ad} C_{bc}` (Isserlis). Those among the entries, and
    those with the variances, are two sums.
    """
    C = C * f.correction.scales[:, None] * f.correction.scales
    p, d = f.V1.shape
    factors = f.correction.factors
    forms = _PlainForms(f, C) if factors is None else _WeightedForms(f, C, factors)
    step = max(1, VALUES_AT_ONCE // (p * (p - d)))
    squared = C * C
    chosen = (slice(start, start + step) for start in range(0, d, step))
    return forms.among_entries() + sum(_variance_part(f, forms, squared, some) for some in chosen)


class _PlainForms:
    r"""Moments of :math:`a^\top E b` where entries have no factors: products of vectors."""

    def __init__(self, f: _Frames, C: Array) -> None:
        self.f = f
        self.CV1, self.CV0, self.CP, self.Cq = (C @ V for V in (f.V1, f.V0, f.P, f.q))

    def among_entries(self) -> float:
        r"""Return the part of :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` that involves the entries alone."""
        f = self.f
        C11, C00 = f.V1.T @ self.CV1, f.V0.T @ self.CV0
        retained, omitted = np.diag(C11)[None, :], np.diag(C00)[:, None]
        coupling = f.V0.T @ self.CV1 * f.inverse_gaps
        curvature = (
            np.sum(omitted * f.inverse_gaps * (f.inverse_gaps @ (f.B11 * C11)))
            - np.sum(retained * f.inverse_gaps * ((f.B00 * C00) @ f.inverse_gaps))
            + np.sum(coupling * (coupling @ f.B11 - f.B00 @ coupling))
        )
        toward_omitted, toward_retained = f.V0.T @ self.CP, self.Cq.T @ f.V1
        displacement = np.sum(coupling * (toward_retained - toward_omitted)) + np.sum(
            f.inverse_gaps
            * (
                retained * np.einsum("lk,lk->k", f.V0, self.Cq)[:, None]
                - omitted * np.einsum("lj,lj->j", f.V1, self.CP)[None, :]
            )
        )
        return float(curvature + 2 * displacement)

    def coupling(self, chosen: slice) -> Array:
        r"""Return half the covariances of :math:`v_k^\top E v_j` with the variances, axes (those, j, k)."""
        return self.CV0[:, None, :] * self.CV1[:, chosen, None]

    def displacement(self, chosen: slice) -> Array:
        r"""Return half the covariances of :math:`q_k^\top E v_j - p_j^\top E v_k` with the variances."""
        retained = self.CV1[:, chosen, None] * self.Cq[:, None, :]
        return retained - self.CP[:, chosen, None] * self.CV0[:, None, :]


class _WeightedForms:
    r"""The same moments, of :math:`a^\top (A \circ E) b`, where entries have factors of their own.

    With :math:`R_b = A \operatorname{diag}(b) C`, the vectors :math:`f(b) = (A \circ E) b` have

    .. math::

        E[f(b) f(d)^\top] = C \circ (R_b \operatorname{diag}(d) A) + R_b \circ R_d^\top, \qquad
        E[f(b)_i E_{ll}] = 2 (C \circ R_b)_{il} .
    """

    def __init__(self, f: _Frames, C: Array, A: Array) -> None:
        self.f, self.C, self.A = f, C, A
        self.R1 = [self.A @ (v[:, None] * C) for v in f.V1.T]
        self.RP = [self.A @ (v[:, None] * C) for v in f.P.T]
        # Axes (variance, j, k).
        self.couplings = np.stack([(C * R).T @ f.V0 for R in self.R1], axis=1)

    def _products(self, R_b: Array, R_d: Array, d: Array) -> Array:
        return self.C * (R_b @ (d[:, None] * self.A)) + R_b * R_d.T

    def among_entries(self) -> float:
        r"""Return the part of :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` that involves the entries alone."""
        f, total = self.f, 0.0
        for j, (v, p, inverse) in enumerate(zip(f.V1.T, f.P.T, f.inverse_gaps.T, strict=True)):
            for i in range(j):
                images = self._products(self.R1[j], self.R1[i], f.V1[:, i]) @ f.V0
                weights = 2 * f.B11[i, j] * inverse * f.inverse_gaps[:, i]
                total += weights @ np.einsum("lk,lk->k", f.V0, images)
            own = self._products(self.R1[j], self.R1[j], v)
            moments = f.V0.T @ own @ f.V0
            total += f.B11[j, j] * inverse**2 @ np.diag(moments)
            total -= inverse @ (f.B00 * moments) @ inverse
            crossed = self._products(self.R1[j], self.RP[j], p) @ f.V0
            toward_retained = np.einsum("lk,lk->k", f.V0, own @ f.q)
            total += 2 * inverse @ (toward_retained - np.einsum("lk,lk->k", f.V0, crossed))
        return float(total)

    def coupling(self, chosen: slice) -> Array:
        r"""Return half the covariances of :math:`v_k^\top (A \circ E) v_j` with the variances."""
        return self.couplings[:, chosen]

    def displacement(self, chosen: slice) -> Array:
        r"""Return half the covariances of the displacement's forms with the variances."""
        toward_retained = [(self.C * R).T @ self.f.q for R in self.R1[chosen]]
        toward_omitted = [(self.C * R).T @ self.f.V0 for R in self.RP[chosen]]
        return np.stack(toward_retained, axis=1) - np.stack(toward_omitted, axis=1)


def _variance_part(f: _Frames, forms: Any, squared: Array, chosen: slice) -> float:
    r"""Return the part of :math:`\sum_{kj} E[Y_{kj} \phi_{kj}]` that involves the sample variances `e`.

    :math:`a^\top \Xi b` holds `e` with coefficients :math:`a \circ Qb + Qa \circ b`, and :math:`E[e e^\top] =
    2\, C \circ C`. The arrays below have axes (coordinate, chosen j, k).
    """
    v, Qv, P, QP = (M[:, chosen, None] for M in (f.V1, f.QV1, f.P, f.QP))
    V0, QV0, q, Qq = (M[:, None, :] for M in (f.V0, f.QV0, f.q, f.Qq))
    inverse = f.inverse_gaps.T[chosen]
    # (Y Sigma_11)_{kj} mixes the retained directions j' of one omitted k, with these weights (j', j, k).
    mix = f.B11[:, chosen, None] * f.inverse_gaps.T[:, None, :]
    # Y's coefficients of e, and half its covariance with e before the response; then those of phi.
    y = (V0 * Qv + QV0 * v) * inverse
    y_raw = forms.coupling(chosen) * inverse
    curved = V0 * _apply(f.QV1, mix) + QV0 * _apply(f.V1, mix) - _apply_last(y, f.B00)
    phi = curved + 2 * (v * Qq + Qv * q - P * QV0 - QP * V0)
    # Y -> Y Sigma_11 - Sigma_00 Y is symmetric: what it makes of y_raw meets y as `curved` meets y_raw, once
    # all retained directions are summed.
    total = np.vdot(phi, y_raw + _apply(squared, y)) + np.vdot(curved, y_raw)
    return float(2 * total + 4 * np.vdot(y, forms.displacement(chosen)))


def _apply(matrix: Array, stack: Array) -> Array:
    """Multiply the first axis of a stack by a matrix, in one product."""
    return (matrix @ stack.reshape(len(stack), -1)).reshape(len(matrix), *stack.shape[1:])


def _apply_last(stack: Array, matrix: Array) -> Array:
    """Multiply the last axis of a stack by a square matrix, in one product."""
    return (stack.reshape(-1, len(matrix)) @ matrix).reshape(stack.shape)
