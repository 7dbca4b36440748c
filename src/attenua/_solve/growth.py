"""How a basis grows: by Ritz vectors that a polynomial of the matrix filters, or by the space of few rows."""

from collections.abc import Callable
from functools import partial
from sys import float_info
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import array_namespace, asarray_like, clipped
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.ritz import Basis, RitzState
from attenua._solve.subspace import rounding

Array = NDArray[np.float64]


class Growth(Protocol):
    """A way in which a basis grows.

    Attributes
    ----------
    count : int
        Number of vectors that are tracked: the wanted ones and some beyond the rank.
    fine : float
        Largest residual, relative to the distance from the unwanted eigenvalues, that is worth its cost.
    """

    count: int
    fine: float

    def start(self) -> Basis:
        """Return a basis to begin with."""

    def grow(self, basis: Basis, worst: RitzState, states: list[RitzState], round_number: int) -> None:
        """Extend a basis by better vectors for the member that is worst among the assessed ones."""


def growth_for(family: MatrixFamily, rank: int) -> Growth:
    """Return the way in which the basis of a family grows fastest."""
    if family.moments.has_few_rows:
        rows = RowSpaceGrowth(family, rank)
        if rows.pays:
            return rows
    return FilteredGrowth(family, rank)


def random_columns(family: MatrixFamily, count: int, seed: int = 0) -> Any:
    """Return random columns; from a fixed seed, so that the same data give the same answer."""
    columns = np.random.default_rng(seed).standard_normal((family.moments.n_features, count))
    return asarray_like(family.moments.mean, columns)


def _wide_enough(basis: Basis, family: MatrixFamily, rank: int) -> Basis:
    """Return a basis with some columns beyond the rank: random ones if S left fewer that are independent.

    On a device, where a round costs more than slower progress, half of them are enough.
    """
    count = tuning.tracked(rank, family.moments.n_features)
    least = count + 1 if family.moments.xp is np else (rank + count) // 2
    if basis.width < least:
        basis.extend(random_columns(family, count + 1)[:, basis.width :])
    return basis


def _unconverged(state: RitzState) -> NDArray[np.intp]:
    return np.flatnonzero(state.excess > max(1.0, state.worst / tuning.SKIPPED_RESIDUAL))


class FilteredGrowth:
    """New columns are Ritz vectors, filtered by a polynomial of the matrix: a block Krylov method."""

    def __init__(self, family: MatrixFamily, rank: int):
        self._family, self._rank = family, rank
        self.count, self.fine = tuning.tracked(rank, family.moments.n_features), tuning.FINE
        moments, size = family.moments, family.moments.n_features
        self._on_device = moments.xp is not np
        self._largest_degree = tuning.LARGEST_DEGREE
        if self._on_device:
            self._largest_degree = tuning.LARGEST_DEGREE_DEVICE
        elif moments.product_work <= tuning.CHEAP_PRODUCT:
            self._largest_degree = tuning.LARGEST_DEGREE_CHEAP
        wide = (12 if size > 20 * self.count else 6) * self.count
        affordable = tuning.BASIS_BYTES // (16 * size)
        self._capacity = min(max(min(wide, affordable), 4 * self.count, 120), size)

    def start(self) -> Basis:
        """Return random columns, multiplied by S a few times, which serve all members."""
        family = self._family
        columns = random_columns(family, self.count + 1)
        for _ in range(min(self._largest_degree // 4, 5)):
            columns = family.moments.apply(columns / family.scale)
        return _wide_enough(Basis(self._family, columns), self._family, self._rank)

    def grow(self, basis: Basis, worst: RitzState, states: list[RitzState], round_number: int) -> None:
        """Add the filtered vectors of the worst member that are not accurate yet, and those beyond the rank.

        On a device a product costs less than a round: there every member that is not accurate adds its own.
        """
        members = [state for state in states if state.worst > 1] if self._on_device else [worst]
        improved = [self._improved(basis, state) for state in members]
        new = array_namespace(basis.Q).concat(improved, axis=1)
        if basis.width + new.shape[1] > self._capacity:
            # A full basis is shrunk to the leading vectors of all assessed members.
            leading = np.hstack([state.coordinates[:, : self.count] for state in states])
            kept = max(self._capacity - new.shape[1], self.count)
            basis.shrink(np.linalg.qr(leading)[0][:, :kept])
        basis.extend(new)

    def _improved(self, basis: Basis, state: RitzState) -> Any:
        family, unconverged = self._family, _unconverged(state)
        count = min(self.count, basis.width - 1)
        low = float(family.lowest[state.member])
        damped = (low, max(float(state.values[count]), low + 1e-3 * family.scale))
        needed = max(needed_degree(2 * state.excess[i], state.values[i], damped) for i in unconverged)
        degree = int(np.clip(np.ceil(min(needed, self._largest_degree)), 2, self._largest_degree))
        vectors = basis.vectors(state.coordinates[:, :count])
        wanted = np.union1d(unconverged, np.arange(self._rank, count))
        multiply = partial(family.times, member=state.member)
        return filtered(multiply, vectors, state.values[:count], wanted, damped, degree)


class RowSpaceGrowth:
    """New columns are residuals and, step by step, the whole space of few rows.

    The inner products of few rows give the eigenvectors of S. S maps everything into their span, so the rest
    of what a member needs is found by multiplying by D.
    """

    def __init__(self, family: MatrixFamily, rank: int):
        self._family, self._rank = family, rank
        self.count = tuning.tracked(rank, family.moments.n_features)
        self._wants_nearly_all = rank > tuning.HIGH_RANK
        self.fine = tuning.FINE_AT_HIGH_RANK if self._wants_nearly_all else tuning.FINE
        values = family.moments.spectrum()
        indistinct = rounding(family.moments.n_features, max(family.scale, values[0]))
        self._row_rank = int(np.sum(values > indistinct))
        self._taken = 0

    @property
    def pays(self) -> bool:
        """Whether the rows are few enough for this rank."""
        return 0 < self._row_rank <= max(tuning.FEW_ROWS, 4 * self._rank)

    def start(self) -> Basis:
        """Return the leading eigenvectors of S, and random columns, so that nothing is overlooked."""
        leading = self._more(self.count)
        xp = array_namespace(leading)
        columns = [leading, random_columns(self._family, max(self.count + 1 - leading.shape[1], 2))]
        if self._wants_nearly_all:
            columns.append(self._family.part(leading))  # what every member needs next
        return _wide_enough(Basis(self._family, xp.concat(columns, axis=1)), self._family, self._rank)

    def grow(self, basis: Basis, worst: RitzState, states: list[RitzState], round_number: int) -> None:
        """Add residuals of the worst member, after the first rounds together with more of the row space."""
        xp, unconverged = array_namespace(basis.Q), _unconverged(worst)
        columns = xp.take(worst.residuals, asarray_like(worst.residuals, unconverged), axis=1)
        if round_number > 1 and self._taken < self._row_rank:
            more = self._more(max(basis.width // 2, 16))
            columns = columns / xp.linalg.vector_norm(columns, axis=0)
            basis.extend(xp.concat([columns, more], axis=1), tuning.ALIKE)
            return
        # Few vectors add several blocks at once: to assess a wide basis costs more than they do.
        adds_two = worst.worst > tuning.ONE_BLOCK and len(unconverged) <= tuning.HIGH_RANK
        two_blocks = 2 * len(unconverged) if adds_two else 0
        target = basis.width + max(basis.width // tuning.COLUMNS_PER_CHECK, two_blocks)
        strength = float(self._family.strengths[worst.member])
        new, image = basis.extend(columns, tuning.ALIKE)
        while 0 < new.shape[1] <= target - basis.width:
            columns = self._family.moments.lift(image) - strength * self._family.part(new)
            new, image = basis.extend(columns, tuning.ALIKE)

    def _more(self, count: int) -> Any:
        """Return the next leading eigenvectors of S."""
        start, self._taken = self._taken, min(self._taken + count, self._row_rank)
        columns = self._family.moments.row_space(start, self._taken)
        lengths = array_namespace(columns).linalg.vector_norm(columns, axis=0)
        return columns / clipped(lengths, float_info.min)


def filtered(
    multiply: Callable[[Any], Any],
    vectors: Any,
    values: Array,
    wanted: NDArray[np.intp],
    damped: tuple[float, float],
    degree: int,
) -> Any:
    r"""Return some Ritz vectors, improved by a Chebyshev polynomial :math:`C_q` of the matrix T.

    .. math::

        v \mapsto C_q\{(T - c)/h\} v / C_q\{(\theta - c)/h\},

    with the centre c and half width h of the damped interval: what lies inside is at most 1 in
    :math:`C_q`, which grows fast outside. Ritz vectors of larger value grow faster still, and are taken out
    of the others before rounding errors along them matter.

    The Ritz vectors are in decreasing order of their values; those at the positions `wanted` are improved.
    `multiply` multiplies by T, `damped` is the interval of the unwanted eigenvalues, and `degree` is q.
    """
    xp = array_namespace(vectors)
    centre, half = (damped[1] + damped[0]) / 2, (damped[1] - damped[0]) / 2
    growth = np.maximum((values - centre) / half, 1.0)
    rate = np.arccosh(growth[0]) - np.arccosh(growth[wanted]).min()
    stride = max(int(np.log(tuning.LARGEST_GROWTH) / rate), 1) if rate > 1e-9 else degree
    # The vectors before each wanted one.
    larger = asarray_like(vectors, (np.arange(len(values))[:, None] < wanted).astype(float))
    first = asarray_like(vectors, 1 / (half * growth[wanted]))
    fading = asarray_like(vectors, growth[wanted] ** -2)
    current = xp.take(vectors, asarray_like(vectors, wanted), axis=1)
    previous = xp.zeros_like(current)
    for step in range(degree):
        if step and step % stride == 0:
            current, previous = (V - vectors @ (larger * (vectors.T @ V)) for V in (current, previous))
        product = multiply(current)
        product -= centre * current
        product *= first if step == 0 else 2 * first
        previous *= fading
        product -= previous
        previous, current = current, product
    return current


def needed_degree(reduction: float, value: float, damped: tuple[float, float]) -> float:
    """Return the degree at which a filter reduces the unwanted part of a Ritz vector by a factor."""
    centre, half = (damped[1] + damped[0]) / 2, (damped[1] - damped[0]) / 2
    rate = np.arccosh(max((value - centre) / half, 1.0))
    return float(np.log(2 * reduction) / rate) if rate > 0 else np.inf
