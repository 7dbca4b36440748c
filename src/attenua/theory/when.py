"""When is each correction expected to help, and how much: for a covariance, or for a sample."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, Strengths
from attenua._correct.row_tempering import MOST_ROWS
from attenua._data.checks import checked_random
from attenua.theory._checks import INPUT_TOLERANCE, as_rank, as_rows, as_sample_size
from attenua.theory.cutoff import Array, threads_for
from attenua.theory.expectations import Expectation, Expectations
from attenua.theory.geometry import NoGapError
from attenua.theory.laws import Law, as_law, square_root
from attenua.theory.population import Population
from attenua.theory.samples import blended_covariance, fitted_risks, simulated_gain, tail_law

# Order of the table.
ORDER = ("attenuation", "tempering", "damping", "row_tempering", "smoothing", "borrowing")
# Part of the largest strength, denser near 0, where the best strength of a large sample is.
_FINE = np.round(np.linspace(0, 1, 41) ** 1.5, 3)
# Sample sizes, as multiples of n, at which combinations are searched, and most sweeps over the corrections.
_SIZES, _SWEEPS = (1.0, 0.25, 8.0), 10
# The expansion is off where it differs from the simulation by more than this, and 3 standard errors.
_OFF = 0.1
# A sampling coefficient of PCA below this part of the total variance is rounding.
_NO_ERROR = 1e-12
# Samples with more values than this are not drawn: it would take long, and the expansion is exact enough.
_MOST_VALUES = 10_000_000
# Simulated samples from which the gains are estimated again: each costs as much as a few strengths.
_RETURNS = 20


def when(
    covariance: ArrayLike,
    n_components: int,
    n: float | None = None,
    *,
    law: Any = None,
    neighbours: Any = None,
    reference: Any = None,
    feature_groups: Any = None,
    corrections: Any = "auto",
    n_simulations: int = 100,
    random_state: Any = None,
    advance: Callable[[], object] | None = None,
) -> Expectations:
    r"""Say what is expected of each correction: best strength, gain, and up to which n it is worth it.

    To order 1/n the excess risk at strength s is :math:`B(s) + K(s)/n`, where neither part depends on n. So
    the gain, the share of PCA's excess risk that is removed, is

    .. math::

        1 - \frac{n B(s) + K(s)}{K(0)} .

    Parameters
    ----------
    covariance : array-like of shape (p, p), or (rows, p)
        The covariance of the population, with `n`; or a sample, without it. A sample is centred, which costs
        one row, and its population is estimated: some factors and a diagonal, blended with the sample
        covariance as far as its errors allow.
    n_components : int
        Rank.
    n : float, default=None
        Sample size; None where the first argument is a sample.
    law : str, law or array-like, default=None
        Law of the rows, as for :class:`Population`; or "sample", a Student t law (or the Gaussian) with the
        tails of the sample. By default Gaussian for a covariance and "sample" for a sample.
    neighbours : None, "line", tuple of int, or adjacency matrix, default=None
        Which columns are neighbours, for smoothing.
    reference : None, rows, fitted model, or covariance matrix, default=None
        What to borrow from, as in `CorrectedPCA`.
    feature_groups : None or array-like, default=None
        Groups of columns, for attenuation.
    corrections : "auto", sequence of str, or mapping of str to sequence of float, default="auto"
        All corrections that the law and the other arguments allow, some by name, or some with their
        strengths.
    n_simulations : int, default=100
        Samples of this size drawn from the population (or its estimate) to check the expansion; 0 for none.
        Laws that cannot be drawn from, such as rows, are not simulated, nor are samples of more than ten
        million values.
    random_state : int, RandomState or None
        Seed of the simulation.
    advance : callable, default=None
        Called after every strength and every simulated sample, for a progress bar: hundreds of columns take
        minutes.

    Returns
    -------
    Expectations
        Print it for a summary in words; its `trust` tells how far to trust the numbers.

    See Also
    --------
    attenua.expected_gain : What all corrections together did on real data that look like a sample.

    Notes
    -----
    Up to 1,000 rows row tempering is that of pairs of rows, and above of single rows, as in the estimators;
    for laws that are not elliptical, it is always of single rows.

    "together" starts from the best correction alone and goes through the strengths of the others that the
    estimators compare, one correction after another; it may miss the best combination. Corrections for which
    the expansion differs from the simulation by more than 10 points are left out of it; so is damping where
    the combination with it does.

    The estimates of a sample's covariance and law were chosen by how well they predict gains on known
    populations. The guide has their errors, in the page on theory.

    Time is of order :math:`d p^3`, and :math:`d^2 p^3` for damping, for each of up to 45 strengths of a
    correction.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import when
    >>> covariance = 1 + np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0])
    >>> print(when(covariance, 1, 30, corrections=["attenuation"], n_simulations=0)["attenuation"])
    attenuation 0.926 removes 34% of PCA's excess risk; worth it up to about 1,900 rows
    """
    if not isinstance(n_simulations, Integral) or n_simulations < 0 or n_simulations == 1:
        raise ValueError(f"n_simulations must be 0 or at least 2; got {n_simulations!r}.")
    is_sample, estimates_tails = n is None, isinstance(law, str) and law == "sample"
    if is_sample:
        estimates_tails |= law is None
        rows = _as_sample(covariance, n_components)
        n = len(rows) - 1
    elif estimates_tails:
        raise ValueError('law="sample" needs a sample: give its rows, and no n.')
    n = as_sample_size(n)
    law = tail_law(rows) if estimates_tails else as_law("gaussian" if law is None else law)
    row_pairs = n <= MOST_ROWS and law.can_temper_rows(row_pairs=True)
    options = {
        "neighbours": neighbours,
        "reference": reference,
        "feature_groups": feature_groups,
        "row_pairs": row_pairs,
    }
    if is_sample:
        population = _estimated(rows, n_components, n, options)
    else:
        population = Population(covariance, n_components, **options)
    grids = _grids(population, law, corrections)
    if n * population.n_features > _MOST_VALUES or not law.can_draw:
        n_simulations = 0
    seeds = checked_random(random_state).randint(2**31 - 1, size=n_simulations)
    with threads_for(population.n_features):
        search = _Search(population, law, n, grids, advance or (lambda: None))
        found = search.expectations(seeds)
        if is_sample and len(seeds):
            found = search.with_returns(found, seeds[:_RETURNS], options, estimates_tails)
    return Expectations(population, search.n, law, tuple(found), is_sample, len(seeds))


def _as_sample(X: ArrayLike, n_components: Any) -> Array:
    rows = as_rows(X)
    if rows.shape[0] == rows.shape[1]:
        skew = np.abs(rows - rows.T).max()
        if skew <= INPUT_TOLERANCE * np.abs(rows).max():
            raise ValueError(
                "without n the first argument is a sample, but this one is a symmetric matrix: give n if it "
                "is a covariance."
            )
    d = as_rank(n_components, rows.shape[1])
    if len(rows) <= d + 1:
        raise ValueError(f"a sample must have more than n_components + 1 = {d + 1} rows; got {len(rows)}.")
    varies = np.ptp(rows, axis=0) > 0
    if not varies.any():
        raise ValueError("a sample must have rows that differ; all of these are equal.")
    # The rounding errors of a mean do not count as variance.
    return np.where(varies, rows - rows.mean(axis=0), 0.0)


def _estimated(rows: Array, n_components: int, n: float, options: Mapping[str, Any]) -> Population:
    """Return the population estimated from rows of mean 0, whose sample size is `n`."""
    return Population(blended_covariance(rows.T @ rows / n, n_components, n), n_components, **options)


def _grids(population: Population, law: Law, corrections: Any) -> dict[str, Array]:
    """Return the strengths of each correction to compare, in the order of the table."""
    grids = population._offered(corrections, law)
    if not grids:
        raise ValueError("corrections must name at least one correction.")
    ordered = [name for name in ORDER if name in grids] + [name for name in grids if name not in ORDER]
    grids = {name: grids[name] for name in ordered}
    if isinstance(corrections, Mapping):
        return {name: np.array(grid) for name, grid in grids.items()}
    # Row tempering has no bias of its own, so that fewer strengths are enough.
    fine = {name: _FINE[:: 4 if name == "row_tempering" else 1] * max(grid) for name, grid in grids.items()}
    return {name: np.union1d(fine[name], grid) for name, grid in grids.items()}


class _Search:
    """Compares strengths, and keeps the bias and the sampling coefficient of each."""

    def __init__(
        self,
        population: Population,
        law: Law,
        n: float,
        grids: Mapping[str, Array],
        advance: Callable[[], object],
    ) -> None:
        self.population, self.law, self.n, self.grids = population, law, n, grids
        self._advance = advance
        self._parts: dict[Strengths, tuple[float, float]] = {}
        self.pca = self.parts(Strengths())[1]
        if self.pca <= _NO_ERROR * population.eigenvalues.sum():
            raise ValueError(
                f"PCA makes no error here: nothing varies beyond the n_components = "
                f"{population.n_components} leading directions, so that there is no excess risk to remove."
            )
        if not np.isfinite(self.pca):
            raise ValueError(
                f"law {law} has no fourth moments: PCA's excess risk falls more slowly than 1/n, and no "
                "share of it can be given. Row tempering is made for such rows."
            )

    def parts(self, candidate: Strengths) -> tuple[float, float]:
        """Return B and K; infinity where there is no gap."""
        found = self._parts.get(candidate)
        if found is None:
            found = self._parts[candidate] = _parts(self.population, self.law, candidate)
            self._advance()
        return found

    def risk(self, candidate: Strengths, n: float) -> float:
        """Return n times the excess risk, and infinity where it is negative, which it cannot be."""
        bias, coefficient = self.parts(candidate)
        risk = n * bias + coefficient
        return risk if risk >= 0 else np.inf

    def expectations(self, seeds: Sequence[int]) -> list[Expectation]:
        """Return what is expected of each correction, and of those together that the expansion describes."""
        alone = [self._best(name, self._candidates(name, grid)) for name, grid in self.grids.items()]
        alone = self._simulated(alone, seeds)
        sound = [e.correction for e in alone if e.is_sound]
        alone = [e if e.is_sound else self._by_simulation(e, seeds) for e in alone]
        if len(self.grids) == 1:
            return alone
        (together,) = self._simulated([self._together(sound)], seeds)
        if not together.is_sound and together.strengths.damping:
            # Among small correlations the expansion fails for damping first.
            rest = [name for name in sound if name != "damping"]
            (together,) = self._simulated([self._together(rest)], seeds)
        return [*alone, together]

    @staticmethod
    def _candidates(name: str, grid: Iterable[float]) -> list[Strengths]:
        return [Strengths(**{name: float(strength)}) for strength in grid]

    def _best(self, name: str, candidates: Sequence[Strengths]) -> Expectation:
        return self._at(name, min(candidates, key=lambda candidate: self.risk(candidate, self.n)), candidates)

    def _at(self, name: str, best: Strengths, candidates: Sequence[Strengths]) -> Expectation:
        biases, coefficients = np.array([self.parts(candidate) for candidate in candidates]).T
        bias, coefficient = self.parts(best)
        return Expectation(
            correction=name,
            strengths=best,
            n=self.n,
            bias=bias,
            sampling=coefficient / self.n,
            pca=self.pca / self.n,
            candidates=tuple(candidates),
            biases=biases,
            coefficients=coefficients,
        )

    def _together(self, names: Sequence[str]) -> Expectation:
        for size in _SIZES:
            self._sweep(names, self.n * size)
        used = [c for c in self._parts if dict(c.nonzero()).keys() <= set(names)]
        # Ties go to the smaller strengths.
        return self._best("together", sorted(used, key=lambda c: sum(c.values())))

    def _sweep(self, names: Sequence[str], n: float) -> None:
        """Go through the strengths that the estimators compare until no correction gains any more."""
        alone = [c for name in names for c in self._candidates(name, self.grids[name])]
        best = min([Strengths(), *alone], key=lambda candidate: self.risk(candidate, n))
        for _ in range(_SWEEPS):
            before = best
            for name in (name for name in SEARCH_ORDER if name in names):
                compared = np.intersect1d(self.grids[name], CORRECTIONS[name].strengths)
                strengths = compared if compared.size else self.grids[name]
                tried = [best, *(best.replace(**{name: s}) for s in strengths)]
                best = min(tried, key=lambda candidate: self.risk(candidate, n))
            if best == before:
                break

    # --- simulation ---------------------------------------------------------------------------------------

    def _risks(self, candidates: Sequence[Strengths], seeds: Sequence[int]) -> Array:
        """Return excess risks, PCA's first, in the samples drawn with these seeds."""
        risks = []
        for seed in seeds:
            risks.append(fitted_risks(self.population, self._sample(seed), [Strengths(), *candidates]))
            self._advance()
        return np.array(risks)

    def _sample(self, seed: int) -> Array:
        return self.law.draw(np.random.RandomState(seed), max(int(self.n), 1), self._root)

    @cached_property
    def _root(self) -> Array:
        return square_root(self.population.scaled)

    def _simulated(self, found: Sequence[Expectation], seeds: Sequence[int]) -> list[Expectation]:
        if not len(seeds):
            return list(found)
        risks = self._risks([e.strengths for e in found], seeds).T
        checked = []
        for e, corrected in zip(found, risks[1:], strict=True):
            gain, error = simulated_gain(risks[0], corrected)
            sound = abs(gain - e.gain) <= _OFF + 3 * error
            checked.append(replace(e, simulated_gain=gain, simulated_error=error, is_sound=bool(sound)))
        return checked

    def _by_simulation(self, off: Expectation, seeds: Sequence[int]) -> Expectation:
        """Choose among the strengths that the estimators compare by their simulated risk."""
        compared = CORRECTIONS[off.correction].strengths
        candidates = off.candidates
        if len(candidates) > len(compared):
            candidates = tuple(self._candidates(off.correction, compared))
        risks = self._risks(candidates, seeds)
        best = int(np.argmin(risks[:, 1:].mean(axis=0)))
        gain, error = simulated_gain(risks[:, 0], risks[:, 1 + best])
        chosen = self._at(off.correction, candidates[best], off.candidates)
        return replace(chosen, simulated_gain=gain, simulated_error=error, is_sound=False)

    def with_returns(
        self,
        found: Sequence[Expectation],
        seeds: Sequence[int],
        options: Mapping[str, Any],
        estimates_tails: bool,
    ) -> list[Expectation]:
        """Add the gains that are estimated from simulated samples, as from the sample itself."""
        gains = np.full((len(seeds), len(found)), np.nan)
        for row, seed in zip(gains, seeds, strict=True):
            rows = self._sample(seed)
            law = tail_law(rows) if estimates_tails else self.law
            try:
                again = _estimated(rows, self.population.n_components, self.n, options)
            except ValueError:
                continue  # no gap at the rank: this sample predicts nothing
            pca = _parts(again, law, Strengths())[1]
            for place, e in enumerate(found):
                bias, coefficient = _parts(again, law, e.strengths)
                row[place] = 1 - (self.n * bias + coefficient) / pca
            self._advance()
        kept = gains[np.isfinite(gains).all(axis=1)]
        return [replace(e, plug_in_gains=column) for e, column in zip(found, kept.T, strict=True)]


def _parts(population: Population, law: Law, candidate: Strengths) -> tuple[float, float]:
    """Return B and K, from one decomposition; infinity where there is no gap."""
    try:
        return population._parts(candidate, law)
    except NoGapError:
        return np.inf, np.inf
