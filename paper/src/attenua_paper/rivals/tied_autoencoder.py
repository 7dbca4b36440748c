"""The linear autoencoder whose decoder is its encoder: gains in closed form, directions by descent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from attenua._data.checks import checked_count
from attenua._data.moments import Moments
from attenua._solve.subspace import leading_of_matrix
from attenua_paper.rivals.autoencoder import LinearAutoencoder, LinearMap, MapRule, column_signs
from attenua_paper.rivals.manifold import (
    MAX_ITER,
    TOLERANCE,
    grassmann_tangent,
    minimise,
    stiefel_tangent,
    transposed,
)
from attenua_paper.rivals.rule_parts import (
    Convergence,
    checked_positive,
    formed_covariance,
    store_convergence,
)
from attenua_paper.theory import asymmetric_map, tied_gains

Array = NDArray[np.float64]

# Curvatures are lifted to this part of their scale, so that a flat direction is not overstepped.
_CURVATURE_FLOOR = 1e-3

# Losses closer than this, relatively, are one minimum; the first start that reached it is named.
_SAME_LOSS = 1e-10

NAMED_STARTS = ("pca", "attenuation", "asymmetric")


class TiedLosses:
    r"""Minus the objective of eq. tied-ae-directions, for frames U of nonconstant columns.

    .. math::

        f(U) = -\sum_r \frac{(u_r^\top S u_r)^2}{u_r^\top V u_r}, \qquad V = qS + (1 - q)\,\mathrm{diag}(S)
    """

    def __init__(self, covariance: Array, mask_rate: float):
        self.S = covariance
        self.q = 1 - mask_rate
        self.diagonal = np.diag(covariance)

    def _parts(self, U: Array) -> tuple[Array, Array, Array, Array]:
        SU = self.S @ U
        VU = self.q * SU + (1 - self.q) * self.diagonal[:, None] * U
        return SU, VU, np.sum(U * SU, axis=-2), np.sum(U * VU, axis=-2)

    def value_and_gradient(self, U: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the losses and their Euclidean gradients."""
        SU, VU, signal, metric = self._parts(U)
        gain = (signal / metric)[..., None, :]
        return -np.sum(signal**2 / metric, axis=-1), 2 * gain**2 * VU - 4 * gain * SU

    def preconditioner(self, U: Array, gradient: Array, which: NDArray[np.intp]) -> Callable[[Array], Array]:
        """Return a division by curvatures: of turning two columns into each other, and one out of the frame.

        The first are the exact second derivatives, in magnitude; the second keep what does not vanish for
        directions of little variance.
        """
        SU, VU, signal, metric = self._parts(U)
        N, M, back = transposed(U) @ SU, transposed(U) @ VU, transposed(U)
        gain, worth = (signal / metric)[..., None], (signal**2 / metric)[..., None]
        replaced = 2 * gain * (2 * signal[:, None] - gain * metric[:, None])
        replaced += 8 / metric[..., None] * (N - gain * M) ** 2
        inside = np.abs(2 * (worth + transposed(worth)) - replaced - transposed(replaced))
        scale = worth + transposed(worth) + np.finfo(float).tiny
        inside = np.maximum(inside, _CURVATURE_FLOOR * scale)
        outside = 2 * transposed(worth) + 2 * (1 - self.q) * transposed(gain) ** 2 * self.diagonal[:, None]
        outside = np.maximum(outside, _CURVATURE_FLOOR * outside.max(axis=-2, keepdims=True))

        def divide(V: Array) -> Array:
            inner = back @ V
            normal = grassmann_tangent(U, (V - U @ inner) / outside)
            return U @ ((inner - transposed(inner)) / inside) + normal

        return divide

    def gains(self, U: Array) -> tuple[Array, Array]:
        """Return the gains of eq. tied-ae-gains and what each direction adds to the objective."""
        gains = tied_gains(U, self.S, 1 - self.q)
        return gains, gains * np.sum(U * (self.S @ U), axis=0)


@dataclass(frozen=True)
class TiedRule(MapRule):
    """The best symmetric map found from several starts.

    Parameters
    ----------
    strengths : ndarray
        Mask rates, strictly between 0 and 1.
    n_random : int
        Random starts, besides the three named ones.
    seed : int
        Of the random starts.
    max_iter, tol : int, float
        When to stop; see :func:`attenua_paper.rivals.manifold.minimise`.
    """

    n_random: int = 5
    seed: int = 0
    max_iter: int = MAX_ITER
    tol: float = TOLERANCE

    def maps(self, moments: Moments, rank: int) -> Iterator[tuple[int, LinearMap]]:
        """Yield ``(i, map at strengths[i])``."""
        S = formed_covariance(moments, "the tied autoencoder")
        varying = np.flatnonzero(moments.variances > 0)
        inner_rank = min(rank, len(varying))
        for i, m in enumerate(self.strengths):
            U, gains, convergence = self._solve(S[np.ix_(varying, varying)], m, inner_rank)
            # Where there are fewer columns that vary than components, the rest are axes with gain zero.
            spare = np.setdiff1d(np.arange(len(S)), varying)[: rank - inner_rank]
            frame = np.zeros((len(S), rank))
            frame[varying, :inner_rank] = U
            frame[spare, np.arange(inner_rank, rank)] = 1.0
            half = frame * np.sqrt(np.append(gains, np.zeros(len(spare))))
            yield i, LinearMap(half, half, frame, convergence)

    def _solve(self, S: Array, m: float, rank: int) -> tuple[Array, Array, Convergence]:
        if rank == 0:
            return np.zeros((0, 0)), np.zeros(0), Convergence(1, True, NAMED_STARTS[0])
        losses = TiedLosses(S, m)
        found = minimise(
            losses, self._starts(S, m, rank), stiefel_tangent, tolerance=self.tol, max_iter=self.max_iter
        )
        lowest = found.values.min()
        best = int(np.argmax(found.values <= lowest + _SAME_LOSS * abs(lowest)))
        start = NAMED_STARTS[best] if best < len(NAMED_STARTS) else "random"
        gains, worth = losses.gains(found.frames[best])
        order = np.argsort(-worth, kind="stable")
        U = found.frames[best][:, order]
        convergence = Convergence(int(found.n_iter[best]), bool(found.converged[best]), start)
        return U * column_signs(U), gains[order], convergence

    def _starts(self, S: Array, m: float, rank: int) -> Array:
        D = np.diag(np.diag(S))
        named = [
            leading_of_matrix(S, rank, D.max()).basis,
            leading_of_matrix(S - m / (1 + m) * D, rank, D.max()).basis,
            asymmetric_map(S, rank, m)[0],
        ]
        random = np.random.default_rng(self.seed).standard_normal((self.n_random, len(S), rank))
        return np.concatenate([np.stack(named), np.linalg.qr(random)[0]])


class TiedAutoencoder(LinearAutoencoder):
    r"""The best symmetric (weight-tied) linear autoencoder for masked inputs.

    Among the maps :math:`A = B B^\top` of rank at most :math:`d` it minimises
    :math:`\frac1n \sum_i E_W \|x_i - A W x_i\|^2`. Such a map is
    :math:`A = \sum_r a_r u_r u_r^\top`; with :math:`m` the mask rate, :math:`q = 1 - m` and
    :math:`V = qS + m\,\mathrm{diag}(S)`, the best gains (eq. tied-ae-gains) and the directions
    (eq. tied-ae-directions) are

    .. math::

        a_r = \frac{u_r^\top S u_r}{u_r^\top V u_r}, \qquad
        \max_{U^\top U = I} \sum_r \frac{(u_r^\top S u_r)^2}{u_r^\top V u_r} .

    The directions are found on the Stiefel manifold from several starts: those of PCA, of attenuation with
    :math:`\alpha = m/(1+m)`, of the asymmetric autoencoder, and random ones. The best end is kept, so the
    loss is never above that of PCA's directions.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Rank; a fraction in (0, 1) asks for as many components as ordinary PCA needs to explain that part of
        the variance; None keeps ``min(n_samples, n_features)``.
    mask_rate : float, default=0.5
        Probability that a coordinate is hidden in training, strictly between 0 and 1.
    n_random_starts : int, default=5
        Random starts, besides the three named ones.
    max_iter : int, default=800
        Cap on evaluations of the loss from each start.
    tol : float, default=1e-7
        Relative norm of the tangent gradient at which to stop.
    random_state : int, RandomState or None, default=0
        Of the random starts.

    Attributes
    ----------
    gains_ : ndarray of shape (n_components,)
        What the map multiplies each direction by.
    components_ : ndarray of shape (n_components, n_features)
        The directions: orthonormal rows, ordered by what they take off the loss.
    encoder_, decoder_ : ndarray of shape (n_components, n_features)
        Both the directions times the square roots of the gains.
    map_ : ndarray of shape (n_features, n_features)
        The end-to-end map.
    start_ : {"pca", "attenuation", "asymmetric", "random"}
        The start that led to the lowest loss.
    n_iter_, converged_ : int, bool
        Evaluations from that start, and whether `tol` was reached; if not, a ``ConvergenceWarning`` was
        given.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    Notes
    -----
    A constant column has no variance to reconstruct: the map is zero on it, and it is predicted by its mean.
    The covariance matrix is formed: wide or sparse data may have up to 5,000 columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua_paper.rivals import TiedAutoencoder
    >>> X = load_digits().data[:100]
    >>> TiedAutoencoder(3, mask_rate=0.2).fit(X).predict(X).shape
    (100, 64)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        mask_rate: float = 0.5,
        n_random_starts: int = 5,
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        random_state: Any = 0,
    ):
        self.n_components = n_components
        self.mask_rate = mask_rate
        self.n_random_starts = n_random_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _rule(self, mask_rate: float) -> TiedRule:
        return TiedRule(
            np.array([mask_rate]),
            checked_count(self.n_random_starts, "n_random_starts", least=0),
            int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            checked_count(self.max_iter, "max_iter"),
            checked_positive(self.tol, "tol"),
        )

    def _store_map(self, found: LinearMap) -> None:
        assert found.convergence is not None
        self.gains_ = np.sum(self.encoder_ * self.decoder_, axis=1)
        store_convergence(self, found.convergence)
