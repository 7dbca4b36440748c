r"""Rules that choose a pair of strengths from cross-validated risks, to be compared with each other.

With :math:`L(\gamma, \alpha)` the risk of a pair averaged over all held-out rows, a paired standard error
belongs to the difference :math:`d` of two pairs over the :math:`J` splits of :math:`K` folds,
:math:`\mathrm{se}^2 = \{1/J + 1/(K-1)\}\, \mathrm{var}(d)` (Nadeau and Bengio, 2003). PCA is the pair (0, 0).
The guard of a quarter of an error and the pessimistic rule came after a first look at three subsamples of the
further data sets, the bounded rules and the analytic pair beside PCA after eight; the others before.
Constants have their neighbours in the table.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._select.guard import variance_noise
from attenua.studies.hindsight import ALPHAS
from attenua.theory import Population
from research.surfaces import Surface

Array = NDArray[np.float64]
Pair = tuple[int, int]


class Case(NamedTuple):
    """What a rule may look at.

    Attributes
    ----------
    surface : Surface
        Risks; a rule reads ``held`` and ``weights``, never ``test``.
    temperings : ndarray
        Temperings of its rows.
    X : ndarray
        Rows of the subsample.
    rank : int
        Number of components.
    """

    surface: Surface
    temperings: Array
    X: Array
    rank: int

    def risk(self, n_repeats: int) -> Array:
        """Return the risk of every pair, averaged over the held-out rows of some repeats."""
        weights = self.surface.weights[:n_repeats]
        return np.tensordot(weights, self.surface.held[:n_repeats], axes=2) / weights.sum()

    def paired(self, n_repeats: int, reference: Pair) -> tuple[Array, Array]:
        """Return the mean difference of every pair to one of them, and its standard error."""
        held = self.surface.held[:n_repeats]
        risks = held.reshape(-1, *held.shape[2:])
        differences = risks - risks[:, reference[0], reference[1]][:, None, None]
        inflation = 1 / len(risks) + 1 / (held.shape[1] - 1)
        return differences.mean(axis=0), np.sqrt(inflation * differences.var(axis=0, ddof=1))

    @property
    def sizes(self) -> Array:
        """Sum of both strengths of every pair."""
        return self.temperings[:, None] + ALPHAS


class ChoiceRule(NamedTuple):
    """A rule and what it costs.

    Attributes
    ----------
    choose : callable
        Takes a :class:`Case` and a number of repeats, returns the positions of a tempering and an alpha.
    n_temperings : int
        Temperings that it compares, at most, each with every alpha.
    validates : bool
        Whether it needs held-out rows.
    n_pairs : int
        Pairs that it compares beside them.
    """

    choose: Callable[[Case, int], Pair]
    n_temperings: int = 9
    validates: bool = True
    n_pairs: int = 0

    def eigenproblems(self, n_folds: int, n_repeats: int) -> int:
        """Return how many leading subspaces one choice and the refit cost."""
        compared = self.n_temperings * len(ALPHAS) + self.n_pairs
        return compared * n_folds * n_repeats * self.validates + 1


def _at_least(values: Array) -> Pair:
    row, column = np.unravel_index(np.argmin(values), values.shape)
    return int(row), int(column)


def minimum(case: Case, n_repeats: int) -> Pair:
    """Take the pair of least risk."""
    return _at_least(case.risk(n_repeats))


def one_strength(case: Case, n_repeats: int) -> Pair:
    """Take the alpha of least risk, without tempering."""
    return 0, int(np.argmin(case.risk(n_repeats)[0]))


def coarse(case: Case, n_repeats: int) -> Pair:
    """Take the pair of least risk among temperings 0, 1/4, ..., 1."""
    row, column = _at_least(case.risk(n_repeats)[::2])
    return 2 * row, column


def coarse_to_fine(case: Case, n_repeats: int) -> Pair:
    """Search temperings 0, 1/4, ..., 1, then those 1/8 from the best: what tempering="auto" does."""
    risk = case.risk(n_repeats)
    best, _ = coarse(case, n_repeats)
    seen = np.zeros(len(risk), dtype=bool)
    seen[::2] = True
    seen[max(best - 1, 0) : best + 2] = True
    return _at_least(np.where(seen[:, None], risk, np.inf))


def smoothed(case: Case, n_repeats: int) -> Pair:
    """Take the least of the surface smoothed by a Gaussian of width 0.1 in alpha and 1/8 in tempering."""

    def weights(grid: Array, width: float) -> Array:
        kernel = np.exp(-0.5 * ((grid[:, None] - grid) / width) ** 2)
        return kernel / kernel.sum(axis=1, keepdims=True)

    smooth = weights(case.temperings, 0.125) @ case.risk(n_repeats) @ weights(ALPHAS, 0.1).T
    return _at_least(smooth)


def quadratic(case: Case, n_repeats: int) -> Pair:
    """Take the least of a polynomial, quadratic in alpha and in tempering, fitted to the surface."""
    alpha, tempering = (grid.ravel() for grid in np.meshgrid(ALPHAS, case.temperings))
    powers = np.stack([alpha**i * tempering**j for i in range(3) for j in range(3)], axis=1)
    risk = case.risk(n_repeats)
    return _at_least((powers @ np.linalg.lstsq(powers, risk.ravel(), rcond=None)[0]).reshape(risk.shape))


def averaged(case: Case, n_repeats: int) -> Pair:
    r"""Average both strengths over the surface, and round to the grid; PCA stays where it has the least risk.

    The weights are exp{-(L - min L) / (se/2)}, with the median standard error of a difference to the least.
    """
    risk = case.risk(n_repeats)
    best = _at_least(risk)
    errors = case.paired(n_repeats, best)[1]
    if best == (0, 0) or not errors.any():
        return best
    weights = np.exp(-(risk - risk[best]) / (0.5 * np.median(errors[errors > 0])))
    weights /= weights.sum()
    tempering, alpha = weights.sum(axis=1) @ case.temperings, weights.sum(axis=0) @ ALPHAS
    return int(np.argmin(np.abs(case.temperings - tempering))), int(np.argmin(np.abs(ALPHAS - alpha)))


def guarded(errors: float, choose: Callable[[Case, int], Pair] = minimum) -> Callable[[Case, int], Pair]:
    """Take the least risk, but PCA unless its paired gain exceeds so many standard errors."""

    def choice(case: Case, n_repeats: int) -> Pair:
        best = choose(case, n_repeats)
        difference, error = case.paired(n_repeats, (0, 0))
        return best if -difference[best] > errors * error[best] else (0, 0)

    return choice


def pessimistic(errors: float) -> Callable[[Case, int], Pair]:
    """Take the pair whose difference to PCA is least after so many standard errors are added to it."""

    def choice(case: Case, n_repeats: int) -> Pair:
        difference, error = case.paired(n_repeats, (0, 0))
        return _at_least(difference + errors * error)

    return choice


def nearest_to_pca(case: Case, n_repeats: int) -> Pair:
    """Take the weakest pair within one standard error of the least risk."""
    return _at_least(np.where(_within(case, n_repeats, 1.0), case.sizes, np.inf))


def strongest(errors: float) -> Callable[[Case, int], Pair]:
    """Take the strongest pair within so many standard errors of the least risk."""

    def choice(case: Case, n_repeats: int) -> Pair:
        return _at_least(np.where(_within(case, n_repeats, errors), -case.sizes, np.inf))

    return choice


def _within(case: Case, n_repeats: int, errors: float) -> NDArray[np.bool_]:
    best = minimum(case, n_repeats)
    difference, error = case.paired(n_repeats, best)
    within = difference <= errors * error
    within[best] = True
    return within


def variance_intensity(X: Array) -> float:
    r"""Return the analytic intensity with which variances are best shrunk toward their median.

    .. math::

        \lambda = \min\Bigl\{1,\ \frac{\sum_i \widehat{\mathrm{Var}}(v_i)}
        {\sum_i (v_i - v_{\mathrm{median}})^2}\Bigr\}, \qquad
        \widehat{\mathrm{Var}}(v_i) = \frac{n}{(n-1)^3} \sum_k (w_{ki} - \bar w_i)^2, \quad
        w_{ki} = (x_{ki} - \bar x_i)^2

    (Opgen-Rhein and Strimmer, 2007).
    """
    n = len(X)
    squares = (X - X.mean(axis=0)) ** 2
    variances = squares.sum(axis=0) / (n - 1)
    noise = n / (n - 1) ** 3 * np.sum((squares - squares.mean(axis=0)) ** 2, axis=0)
    spread = np.sum((variances - np.median(variances)) ** 2)
    return float(min(1.0, noise.sum() / spread)) if spread > 0 else 1.0


def analytic_tempering(case: Case, n_repeats: int) -> Pair:
    """Temper by the analytic intensity; choose alpha by least risk, PCA among the candidates."""
    row = int(np.argmin(np.abs(case.temperings - variance_intensity(case.X))))
    risk = case.risk(n_repeats)
    column = int(np.argmin(risk[row]))
    return (row, column) if risk[row, column] < risk[0, 0] else (0, 0)


def analytic(case: Case, n_repeats: int) -> Pair:
    """Set both strengths to the analytic intensity: no held-out rows at all."""
    intensity = variance_intensity(case.X)
    return int(np.argmin(np.abs(case.temperings - intensity))), int(np.argmin(np.abs(ALPHAS - intensity)))


def bounded(multiple: float) -> Callable[[Case, int], Pair]:
    """Take the least risk of strengths up to a multiple of what noise explains, guarded by 1/4 error."""

    def least(case: Case, n_repeats: int) -> Pair:
        bound = multiple * variance_noise(case.X.var(axis=0), len(case.X))
        within = (case.temperings <= bound)[:, None] & (bound >= ALPHAS)
        return _at_least(np.where(within, case.risk(n_repeats), np.inf))

    return guarded(0.25, least)


def analytic_or_pca(case: Case, n_repeats: int) -> Pair:
    """Take the pair of the analytic intensity or PCA, whichever has the least risk."""
    risk = case.risk(n_repeats)
    pair = analytic(case, n_repeats)
    return pair if risk[pair] < risk[0, 0] else (0, 0)


def plug_in(case: Case, n_repeats: int) -> Pair:
    """Take the least expected risk of the theory at the sample covariance: no held-out rows at all.

    Not among ``RULES``, because its cost grows with the fourth power of the number of columns.
    """
    population = Population(np.cov(case.X.T), case.rank)
    pairs = ALPHAS, case.temperings[:, None]
    return _at_least(population.excess_risk(pairs[0], len(case.X) - 1, tempering=pairs[1]))


RULES = {
    "one strength: least risk": ChoiceRule(one_strength, 1),
    "one strength: guarded, 1/4 error": ChoiceRule(guarded(0.25, one_strength), 1),
    "least risk": ChoiceRule(minimum),
    "least risk, temperings 0, 1/4, ..., 1": ChoiceRule(coarse, 5),
    'least risk, coarse to fine ("auto")': ChoiceRule(coarse_to_fine, 7),
    "smoothed surface": ChoiceRule(smoothed),
    "quadratic surface": ChoiceRule(quadratic),
    "averaged strengths": ChoiceRule(averaged),
    "guarded, 1/10 error": ChoiceRule(guarded(0.1)),
    "guarded, 1/4 error": ChoiceRule(guarded(0.25)),
    "guarded, 1/2 error": ChoiceRule(guarded(0.5)),
    "guarded, 1 error": ChoiceRule(guarded(1.0)),
    "pessimistic, 1/4 error": ChoiceRule(pessimistic(0.25)),
    "weakest within 1 error": ChoiceRule(nearest_to_pca),
    "strongest within 1/4 error": ChoiceRule(strongest(0.25)),
    "strongest within 1 error": ChoiceRule(strongest(1.0)),
    "bounded, guarded by 1/4 error": ChoiceRule(bounded(1.0)),
    "bounded by half, guarded by 1/4 error": ChoiceRule(bounded(0.5)),
    "bounded by double, guarded by 1/4 error": ChoiceRule(bounded(2.0)),
    "analytic tempering, alpha of least risk": ChoiceRule(analytic_tempering, 1),
    "analytic tempering and alpha": ChoiceRule(analytic, 0, validates=False),
    "the same or PCA, by least risk": ChoiceRule(analytic_or_pca, 0, n_pairs=2),
}
