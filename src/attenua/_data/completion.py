r"""Missing cells of some rows, completed by these rows alone.

The rows are taken for draws of a Gaussian law with a few factors, whose covariance is
:math:`W^\top W + \sigma^2 I`. Expectation and maximisation alternate. Given the law, a row with the seen
cells o has factor scores of covariance :math:`\sigma^2 V_i` and of mean

.. math::

    t_i = V_i W_o z_o, \qquad V_i = (W_o W_o^\top + \sigma^2 I)^{-1}.

Missing cells are filled with their mean :math:`W^\top t_i`. Their covariance, given what was seen, is

.. math::

    C_i = \tau^2 I + \sigma^2 W^\top V_i W \quad\text{in the missing cells,}

with :math:`\tau^2` for the noise without what shrinkage adds to it.

Given the filled rows, the law follows from :math:`S = \frac1n \sum_i (\hat z_i \hat z_i^\top + C_i)`, shrunk
as by Ledoit and Wolf (2004): its leading eigenvectors are the factors, and the rest is noise. Without C, a
filled cell would count as if it had been measured, and correlations would be too large.

The noise is the same in all columns, so these must be comparable: a column whose standard deviation is more
than four times the median one, or less than a quarter of it, is scaled to that bound.

No p-by-p matrix is formed. Every three steps are extrapolated.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from attenua._data.checks import caller_level
from attenua._data.moments import Moments, ScatterMoments
from attenua._data.row_moments import RowMoments, inner_products
from attenua._data.sums import row_blocks

Array = NDArray[np.float64]

# More factors fill little better on real data, and cost their square.
_MOST_FACTORS = 24
_FEW_FACTORS = 6
# Steps end when filled cells move by less than this part of a standard deviation, up to so many rows. More
# rows tell more, in proportion to the root of their number.
_TOLERANCE = 5e-3
_ROWS_OF_TOLERANCE = 400
_MOST_STEPS = 100
# The part of the seen cells that is hidden to see whether factors fit noise.
_HIDDEN = 0.1
# Longest extrapolation, in steps.
_LONGEST = 8.0
# Products with random vectors that find the first factors.
_FIRST_PRODUCTS = 8
# A column does not vary if its standard deviation is below this part of its largest value.
_ROUNDING = 1e-12
# The noise is at least this part of the mean variance, so that rows can be solved for.
_LEAST_NOISE = 1e-9
# How far the standard deviations of columns may be from the median one.
_COMPARABLE = 4.0
# Shrinkage of the first step, before any row is filled.
_FIRST_SHRINKAGE = 0.1


class FactorLaw(NamedTuple):
    """A Gaussian law with a few factors: the covariance is ``factors.T @ factors + diag(noise)``.

    Cells are filled by it. `remainder` is the noise without the part that shrinkage adds.
    """

    mean: Array  # of shape (n_features,)
    factors: Array  # of shape (n_factors, n_features)
    noise: Array  # of shape (n_features,)
    remainder: Array  # of shape (n_features,)


def score_roots(seen: Array, law: FactorLaw) -> Array:
    r"""Return roots of the covariances of the factor scores of rows, given their seen cells.

    Parameters
    ----------
    seen : ndarray of shape (n_rows, n_features)
        1 where a cell was seen, 0 where it is missing.
    law : FactorLaw
        The law, with the factors W and the noise N.

    Returns
    -------
    ndarray of shape (n_rows, n_factors, n_factors)
        R with :math:`R_i R_i^\top = V_i = (I + W_o N_o^{-1} W_o^\top)^{-1}`.
    """
    q = len(law.factors)
    first, second = np.triu_indices(q)
    products = seen @ (law.factors[first] / law.noise * law.factors[second]).T
    inverse = np.empty((len(seen), q, q))
    inverse[:, first, second] = inverse[:, second, first] = products
    inverse[:, np.arange(q), np.arange(q)] += 1.0
    roots: Array = np.swapaxes(np.linalg.inv(np.linalg.cholesky(inverse)), 1, 2)
    return roots


def score_means(Z: Array, roots: Array, law: FactorLaw) -> Array:
    r"""Return the means :math:`V_i W_o N_o^{-1} z_o` of factor scores; Z is 0 where a cell is missing."""
    means: Array = np.einsum("nac,nbc,nb->na", roots, roots, Z @ (law.factors / law.noise).T, optimize=True)
    return means


@dataclass(frozen=True)
class Completion:
    """Rows whose missing cells are filled, and how sure that is.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Filled rows, in the frame of the data.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    is_missing : ndarray of bool of shape (n_rows, n_features)
        Which cells were filled.
    varies : ndarray of bool of shape (n_features,)
        Whether the seen cells of each column differ.
    law : FactorLaw
        What the cells were filled by.
    """

    rows: Array
    weights: Array
    is_missing: NDArray[np.bool_]
    varies: NDArray[np.bool_]
    law: FactorLaw
    known_roots: Array | None = None

    @property
    def missing(self) -> Array:
        """1 where a cell was filled."""
        return self.is_missing.astype(float)

    @property
    def roots(self) -> Array:
        """Roots of the covariances of the factor scores of each row.

        They are not kept: many completions may be.
        """
        return score_roots(1 - self.missing, self.law) if self.known_roots is None else self.known_roots

    @property
    def traces(self) -> Array:
        """Sum of the variances of the filled cells of each row."""
        first, second = np.triu_indices(len(self.law.factors))
        products = self.missing @ (self.law.factors[first] * self.law.factors[second]).T
        twice = np.where(first == second, 1.0, 2.0)
        roots = self.roots
        V = roots @ np.swapaxes(roots, 1, 2)
        return self.missing @ self.noise + np.sum(products * V[:, first, second] * twice, axis=1)

    @property
    def noise(self) -> Array:
        """Variances of filled cells that no factor explains; a column that does not vary has none.

        Shrinkage improves what is filled in, but it is not part of what is unknown.
        """
        return np.where(self.varies, self.law.remainder, 0.0)

    def spread(self, shares: Array) -> Array:
        r"""Return :math:`\sum_i c_i C_i` with the shares c of the rows, as a p-by-p matrix."""
        W, (n, p), missing, roots = self.law.factors, self.rows.shape, self.missing, self.roots
        matrix = np.diag(shares @ missing * self.noise)
        for block in row_blocks(n, W.size):
            parts = (np.swapaxes(roots[block], 1, 2) @ W) * missing[block, None, :]
            parts = (parts * np.sqrt(shares[block])[:, None, None]).reshape(-1, p)
            matrix += parts.T @ parts
        return matrix

    def spread_along(self, V: Array, shares: Array) -> Array:
        r"""Return the product of :math:`\sum_i c_i C_i`, less its noise, and a matrix of few columns."""
        W, missing, roots = self.law.factors, self.missing, self.roots
        (q, p), k = W.shape, V.shape[1]
        pairs = (W[:, None, :] * V.T).reshape(q * k, p)
        product = np.zeros((p, q * k))
        for block in row_blocks(len(missing), q * k):
            along = (missing[block] @ pairs.T).reshape(-1, q, k)
            scores = roots[block] @ (np.swapaxes(roots[block], 1, 2) @ along)
            product += missing[block].T @ (scores * shares[block, None, None]).reshape(-1, q * k)
        return np.einsum("ap,pak->pk", W, product.reshape(p, q, k))

    def spread_rows(self, shares: Array) -> Array:
        r"""Return rows E with :math:`E^\top E \approx \sum_i c_i C_i`, where a p-by-p matrix is too large.

        It is what lies within the factors, less the noise, which turns no direction where it is the same in
        all columns.
        """
        basis = np.linalg.qr(self.law.factors.T)[0]
        values, vectors = np.linalg.eigh(basis.T @ self.spread_along(basis, shares))
        rows: Array = np.sqrt(np.maximum(values, 0.0))[:, None] * (basis @ vectors).T * self.varies
        return rows

    @property
    def mean(self) -> Array:
        """Mean of the filled rows."""
        mean: Array = self.weights @ self.rows / self.weights.sum()
        return mean

    @property
    def centred(self) -> Array:
        """Filled rows less their mean; 0 in columns that do not vary but by rounding."""
        return np.where(self.varies, self.rows - self.mean, 0.0)

    def drawn(self, random: np.random.Generator) -> Array:
        """Return the rows with filled cells drawn from their law, not at its mean."""
        scores = self.roots @ random.standard_normal((*self.roots.shape[:2], 1))
        unknown = scores[:, :, 0] @ self.law.factors
        unknown += np.sqrt(self.noise) * random.standard_normal(self.rows.shape)
        rows: Array = self.rows + self.missing * unknown
        return rows

    def moments(self, unit: float, *, forms_scatter: bool, scale: Array | None = None) -> Moments:
        """Return the moments of the filled rows, which are in a unit, and of what is unknown of them."""
        weight, mean = float(self.weights.sum()), self.mean
        shares = self.weights / weight
        if not forms_scatter:
            return self.mixed_moments(np.diag(np.sqrt(shares)), shares, unit, scale)
        weighted = self.centred * np.sqrt(self.weights)[:, None]
        scatter = weighted.T @ weighted + weight * self.spread(shares)
        zeros = np.zeros_like(mean)
        return ScatterMoments(weight, zeros, scatter, mean, unit, owned=True, varies=self.varies, scale=scale)

    def mixed_moments(
        self, mixing: Array, shares: Array, unit: float, scale: Array | None = None
    ) -> RowMoments:
        r"""Return moments kept as rows, with :math:`S = (M Z)^\top M Z + \sum_i c_i C_i`.

        Z are the filled rows less their mean, M mixes them, and c are the shares.
        """
        extra, mean = self.spread_rows(shares), self.mean
        (m, n), q = mixing.shape, len(extra)
        whole = np.zeros((m + q, n + q))
        whole[:m, :n], whole[m:, n:] = mixing, np.eye(q)
        weights = np.concatenate([self.weights, np.zeros(q)])  # the further rows must not move the mean
        rows = np.vstack([self.centred, extra])
        return RowMoments(rows, weights, mean, unit, mixing=lambda: whole, scale=scale)

    def squared_lengths(self, centre: Array) -> Array:
        """Return the expected squared distance of each row from a centre."""
        Z = self.rows - centre
        return np.einsum("ij,ij->i", Z, Z) + self.traces

    def squared_distances(self) -> Array:
        """Return the expected squared distances between all rows."""
        # Less a row, since sums of squares of a large mean would lose the digits of distances.
        Z = self.rows - self.rows[0]
        products = inner_products(Z)
        lengths = np.diagonal(products) + self.traces
        squares = np.maximum(lengths[:, None] + lengths - 2 * products, 0.0)
        np.fill_diagonal(squares, 0.0)
        return squares


def moments_of_seen(rows: Array, weights: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return means and standard deviations of the seen cells of each column, and whether these differ."""
    is_seen = ~np.isnan(rows)
    known, shares = np.where(is_seen, rows, 0.0), weights / weights.sum()
    part_seen = np.maximum(shares @ is_seen, np.finfo(float).tiny)
    largest, mean = np.max(np.abs(known), axis=0), shares @ known / part_seen
    deviations = np.sqrt(shares @ np.where(is_seen, known - mean, 0.0) ** 2 / part_seen)
    return mean, deviations, deviations > _ROUNDING * largest


def complete(rows: Array, weights: Array) -> Completion:
    """Fill the missing cells of rows, which are NaN, by expectation and maximisation.

    A column of which these rows have seen nothing is 0 in them.
    """
    is_seen = ~np.isnan(rows)
    mean, deviations, varies = moments_of_seen(rows, weights)
    known = np.where(is_seen, rows - mean, 0.0)
    scale = _comparable_scale(deviations, varies)
    known = known / scale * varies
    found, is_settled = _completed(known, is_seen, weights, _number_of_factors(known, is_seen, weights))
    if not is_settled:
        warnings.warn(
            f"The missing cells still change after {_MOST_STEPS} steps of expectation and maximisation; the "
            "last values were taken. Columns with very few seen cells are the usual reason: drop them.",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
    law = FactorLaw(
        mean + scale * found.law.mean,
        found.law.factors * np.where(varies, scale, 0.0),
        found.law.noise * scale**2,
        found.law.remainder * scale**2,
    )
    filled = np.where(is_seen, rows, np.where(varies, found.rows * scale, 0.0) + mean)
    return Completion(filled, weights, ~is_seen, varies, law)


def _extrapolated(steps: Sequence[Array], shares: Array) -> Array:
    r"""Return where three steps of filled cells lead to, as SQUAREM does (Varadhan and Roland, 2008).

    With the step r, the change v of the next step and :math:`a = \|r\| / \|v\|`, it is
    :math:`x_1 + 2 a r + a^2 v`. At a = 1 that is the third. Steps may be far from straight, so a is bounded.
    """
    first, second, third = steps
    step = second - first
    change = third - second - step
    sizes = [shares @ np.sum(some**2, axis=1) for some in (step, change)]
    length = float(np.clip(np.sqrt(sizes[0] / sizes[1]), 1.0, _LONGEST)) if sizes[1] > 0 else 1.0
    return first + 2 * length * step + length**2 * change


def _comparable_scale(deviations: Array, varies: NDArray[np.bool_]) -> Array:
    """Return what columns are divided by: the median standard deviation, unless theirs is far from it.

    Columns that do not vary get the median too. Rounding leaves factors there, which must stay small in any
    unit.
    """
    if not varies.any():
        return np.ones_like(deviations)
    median = float(np.median(deviations[varies]))
    scale: Array = deviations / np.clip(deviations / median, 1 / _COMPARABLE, _COMPARABLE)
    return np.where(varies, scale, median)


def _number_of_factors(known: Array, is_seen: NDArray[np.bool_], weights: Array) -> int:
    """Return the number of factors, which hidden cells choose where columns are more than rows.

    Which cells are hidden depends on the order of the rows, and a weight of 2 does not hide a row twice.
    """
    most = max(min(_MOST_FACTORS, len(known) - 1, known.shape[1] - 1), 1)
    if known.shape[1] <= weights.sum():
        return most
    hidden = is_seen & (np.random.RandomState(0).random_sample(known.shape) < _HIDDEN)

    def error(n_factors: int) -> float:
        found, _ = _completed(np.where(hidden, 0.0, known), is_seen & ~hidden, weights, n_factors)
        return float(np.sum(weights[:, None] * (found.rows - known) ** 2, where=hidden))

    return min(sorted({most, min(most, _FEW_FACTORS), 1}, reverse=True), key=error)


def _completed(
    known: Array, is_seen: NDArray[np.bool_], weights: Array, n_factors: int
) -> tuple[Completion, bool]:
    """Return scaled rows, 0 where missing, with these cells filled; and whether they have settled."""
    seen, shares = is_seen.astype(float), weights / weights.sum()
    p = known.shape[1]
    state = _first_state(known, shares, np.maximum(shares @ seen, np.finfo(float).tiny), n_factors)
    tolerance = _TOLERANCE * min(1.0, np.sqrt(_ROWS_OF_TOLERANCE / weights.sum()))
    variance = float(np.sum(shares @ known**2)) / float(np.sum(shares @ seen) or 1.0) or 1.0
    filled, centre, varies = known, np.zeros(p), np.any(known != 0, axis=0)
    recent: list[Array] = []
    for _ in range(_MOST_STEPS):
        law = FactorLaw(centre, state.factors, np.full(p, state.noise), np.full(p, state.remainder))
        roots = score_roots(seen, law)
        means = score_means((known - centre) * seen, roots, law)
        before, filled = filled, np.where(is_seen, known, means @ law.factors + centre)
        moved = np.sqrt(shares @ np.sum((filled - before) ** 2, axis=1) / (p * variance))
        if moved <= tolerance:
            return Completion(filled, weights, ~is_seen, varies, law, roots), True
        recent.append(filled)
        if len(recent) == 3:
            filled = _extrapolated(recent, shares)
            recent = []
        completion = Completion(filled, weights, ~is_seen, varies, law, roots)
        centre = shares @ filled
        state = _next_state(state.basis, completion)
    return completion, False


class _State(NamedTuple):
    """Factors and noise of the next step, and an orthonormal basis of the factors to begin from."""

    factors: Array
    noise: float
    remainder: float
    basis: Array


def _first_state(known: Array, shares: Array, part_seen: Array, n_factors: int) -> _State:
    """Return the state of the covariances of cells that are seen together, of pairs of columns.

    With missing cells as 0, a covariance is too small by the parts of the cells that are seen. The factors
    are found from rows divided by these parts, whose variances alone are too large.
    """
    part_seen = np.where(np.any(known != 0, axis=0), part_seen, 1.0)
    rows, variances = known / part_seen, shares @ known**2 / part_seen
    excess = shares @ rows**2 - variances
    basis = np.random.RandomState(0).standard_normal((known.shape[1], n_factors))
    for _ in range(_FIRST_PRODUCTS):
        basis = np.linalg.qr(rows.T @ (shares[:, None] * (rows @ basis)) + _LEAST_NOISE * basis)[0]

    def image(V: Array) -> Array:
        product: Array = rows.T @ (shares[:, None] * (rows @ V))
        return product - excess[:, None] * V

    return _state(image, float(variances.sum()), basis, _FIRST_SHRINKAGE)


def _next_state(basis: Array, completion: Completion) -> _State:
    """Return the state that filled rows suggest."""
    shares = completion.weights / completion.weights.sum()
    Z = completion.rows - completion.mean
    weighted = Z * np.sqrt(shares)[:, None]
    diagonal = completion.noise * (shares @ completion.missing)

    def image(V: Array) -> Array:
        product: Array = weighted.T @ (weighted @ V) + completion.spread_along(V, shares)
        return product + diagonal[:, None] * V

    trace = float(np.sum(weighted**2) + shares @ completion.traces)
    return _state(image, trace, basis, _ledoit_wolf(Z, shares, float(completion.weights.sum())))


def _ledoit_wolf(Z: Array, shares: Array, n_rows: float) -> float:
    """Return the shrinkage of Ledoit and Wolf (2004) for filled and centred rows.

    What is unknown of the rows is left out here. With it, many missing cells would be taken for noise, until
    nothing but noise is left.
    """
    weighted = Z * np.sqrt(shares)[:, None]
    # The covariance and the inner products have the same eigenvalues.
    products = inner_products(weighted if len(Z) < Z.shape[1] else weighted.T)
    norm = float(np.sum(products**2))
    structure = n_rows * (norm - float(np.trace(products)) ** 2 / Z.shape[1])
    noise = float(shares @ np.einsum("ij,ij->i", Z, Z) ** 2) - norm
    return min(max(noise, 0.0) / structure, 1.0) if structure > 0 else 1.0


def _state(image: Callable[[Array], Array], trace: float, basis: Array, part: float) -> _State:
    r"""Return the factors and the noise of :math:`(1 - \lambda) S + \lambda v I`, from a product with S.

    :math:`\lambda` is `part`, and v the mean variance. One step of subspace iteration improves the basis for
    the next state.
    """
    p, q = basis.shape
    product = image(basis)
    values, rotation = np.linalg.eigh(basis.T @ product)
    values, rotation = np.maximum(values[::-1], 0.0), rotation[:, ::-1]
    rest = max(trace - float(values.sum()), 0.0) / max(p - q, 1)
    noise = max((1 - part) * rest + part * trace / p, _LEAST_NOISE * (trace or 1.0) / p)
    factors = np.sqrt(np.maximum((1 - part) * (values - rest), 0.0))[:, None] * (basis @ rotation).T
    return _State(factors, noise, rest, np.linalg.qr(product @ rotation)[0])
