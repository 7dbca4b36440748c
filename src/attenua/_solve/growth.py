"""How a basis grows: by Ritz vectors that a polynomial of the matrix filters, or by the space of few rows."""

from functools import partial
from sys import float_info
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._correct.family import MatrixFamily
from attenua._data.namespace import array_namespace, asarray_like, clipped
from attenua._solve.basis import Basis
from attenua._solve.filters import filtered, needed_degree
from attenua._solve.ritz import FINE, RitzState
from attenua._solve.subspace import rounding

# Where nearly the whole space of few rows is wanted, angles as accurate as elsewhere would cost more than all
# the rest; the explained variance is as accurate all the same.
_LESS_FINE = 3e-5
# From this rank on a look at a member is no longer cheap.
_HIGH_RANK = 64
# Vectors that lack so much less than the worst can wait.
_LACK_LESS = 100.0
# Vectors beyond the rank: the filter damps what lies below the last of them.
_LEAST_GUARD = 6
# The largest degree of a filter: higher where products cost little beside what comes after them, with so few
# multiplications or on a device.
_LARGEST_DEGREE, _LARGEST_DEGREE_CHEAP, _LARGEST_DEGREE_DEVICE = 10, 20, 30
_CHEAP_PRODUCT = 500_000
# Products that vectors from nearby begin with.
_PRODUCTS_FROM_NEAR = 4
# Memory for the basis and its image.
_BASIS_BYTES = 400 * 2**20
# Up to this many rows their whole space may be taken into the basis, whatever the rank.
_FEW_ROWS = 600
# Where residuals are at most so much too large, one block of new columns will do.
_ONE_BLOCK = 200.0
# A look at a basis of this many columns costs about as much as one new column.
_COLUMNS_PER_LOOK = 64
# New residuals that say nearly the same as others are left out.
_ALIKE = 1e-8


class Growth(Protocol):
    """A way in which a basis grows.

    Attributes
    ----------
    count : int
        Number of vectors to keep an eye on: the wanted ones and some beyond the rank.
    fine : float
        Largest residual, relative to the distance from the unwanted eigenvalues, that is worth its cost.
    """

    count: int
    fine: float

    def start(self) -> Basis:
        """Return a basis to begin with."""

    def grow(self, basis: Basis, worst: RitzState, looks: list[RitzState], round_number: int) -> None:
        """Extend a basis by better vectors for the member that lacks most of those looked at."""


def growth_for(family: MatrixFamily, rank: int, near: Any = None) -> "Growth":
    """Return the way in which the basis of a family grows fastest, from a basis nearby where there is one."""
    moments = family.moments
    # From nearby, a few products are cheaper than inner products of rows that are not known yet.
    if moments.has_few_rows and (near is None or moments.knows_products):
        rows = RowSpaceGrowth(family, rank)
        if rows.pays:
            return rows
    return FilteredGrowth(family, rank, near)


def _count(family: MatrixFamily, rank: int) -> int:
    """Return the number of vectors to keep an eye on: the wanted ones and some beyond the rank."""
    return min(rank + max(_LEAST_GUARD, rank // 4), family.size - 1)


def _random(family: MatrixFamily, count: int) -> Any:
    """Return random columns; from a fixed seed, so that the same data give the same answer."""
    return asarray_like(family.moments.mean, np.random.default_rng(0).standard_normal((family.size, count)))


def _wide_enough(basis: Basis, family: MatrixFamily, rank: int) -> Basis:
    """Return a basis of some columns more than the rank, also where S has left fewer that differ.

    On a device, where a round costs more than slower progress, half of them will do.
    """
    count = _count(family, rank)
    least = count + 1 if family.moments.xp is np else (rank + count) // 2
    if basis.width < least:
        basis.extend(_random(family, count + 1)[:, basis.width :])
    return basis


def _lacking(look: RitzState) -> NDArray[np.intp]:
    return np.flatnonzero(look.excess > max(1.0, look.worst / _LACK_LESS))


class FilteredGrowth:
    """New columns are Ritz vectors, filtered by a polynomial of the matrix: a block Krylov method.

    Parameters
    ----------
    family : MatrixFamily
        The matrices.
    rank : int
        Number of wanted vectors.
    near : array of shape (size, rank), optional
        Orthonormal columns that may be close to what is wanted.
    """

    def __init__(self, family: MatrixFamily, rank: int, near: Any = None):
        self._family, self._rank, self._near = family, rank, near
        self.count, self.fine = _count(family, rank), FINE
        moments = family.moments
        self._on_device = moments.xp is not np
        self._largest_degree = _LARGEST_DEGREE
        if self._on_device:
            self._largest_degree = _LARGEST_DEGREE_DEVICE
        elif moments.product_work <= _CHEAP_PRODUCT:
            self._largest_degree = _LARGEST_DEGREE_CHEAP
        wide = (12 if family.size > 20 * self.count else 6) * self.count
        affordable = _BASIS_BYTES // (16 * family.size)
        self._capacity = min(max(min(wide, affordable), 4 * self.count, 120), family.size)

    def start(self) -> Basis:
        """Return random columns, or those nearby with some that are random, multiplied a few times.

        Those that serve all members are multiplied by S, those from nearby by the first member itself.
        """
        products, member = min(self._largest_degree // 4, 5), None
        if self._near is None:
            columns = _random(self._family, self.count + 1)
        else:
            others = _random(self._family, self.count + 1 - self._rank)
            columns = array_namespace(others).concat([self._near, others], axis=1)
            products, member = min(products, _PRODUCTS_FROM_NEAR), 0
        for _ in range(products):
            columns = self._times(columns / self._family.scale, member)
        return _wide_enough(Basis(self._family, columns), self._family, self._rank)

    def grow(self, basis: Basis, worst: RitzState, looks: list[RitzState], round_number: int) -> None:
        """Add the filtered vectors of the worst member that lack something, and those beyond the rank.

        On a device a product costs less than a round, so there all members that lack something get their own.
        """
        members = [look for look in looks if look.worst > 1] if self._on_device else [worst]
        improved = [self._improved(basis, look) for look in members]
        new = array_namespace(basis.Q).concat(improved, axis=1)
        if basis.width + new.shape[1] > self._capacity:
            # A full basis is shrunk to the leading vectors of all members that are looked at.
            leading = np.hstack([look.coordinates[:, : self.count] for look in looks])
            kept = max(self._capacity - new.shape[1], self.count)
            basis.shrink(np.linalg.qr(leading)[0][:, :kept])
        basis.extend(new)

    def _improved(self, basis: Basis, look: RitzState) -> Any:
        family, lacking = self._family, _lacking(look)
        count = min(self.count, basis.width - 1)
        low = float(family.lowest[look.member])
        damped = (low, max(float(look.values[count]), low + 1e-3 * family.scale))
        needed = max(needed_degree(2 * look.excess[i], look.values[i], damped) for i in lacking)
        degree = int(np.clip(np.ceil(min(needed, self._largest_degree)), 2, self._largest_degree))
        vectors = basis.vectors(look.coordinates[:, :count])
        wanted = np.union1d(lacking, np.arange(self._rank, count))
        multiply = partial(self._times, member=look.member)
        return filtered(multiply, vectors, look.values[:count], wanted, damped, degree)

    def _times(self, V: Any, member: int | None) -> Any:
        """Return the product of a member, or of S alone, and some vectors."""
        product = self._family.moments.apply(V)
        strength = 0.0 if member is None else float(self._family.strengths[member])
        if strength:
            product -= strength * self._family.part(V)
        return product


class RowSpaceGrowth:
    """New columns are residuals and, step by step, the whole space of few rows.

    The inner products of few rows give the eigenvectors of S. S maps everything into their span, so that
    what a member needs beyond it is found by multiplying by D.

    Parameters
    ----------
    family : MatrixFamily
        The matrices; the rows of the moments are few.
    rank : int
        Number of wanted vectors.
    """

    def __init__(self, family: MatrixFamily, rank: int):
        self._family, self._rank = family, rank
        self.count = _count(family, rank)
        self._wants_nearly_all = rank > _HIGH_RANK
        self.fine = _LESS_FINE if self._wants_nearly_all else FINE
        values = family.moments.spectrum()
        self._row_rank = int(np.sum(values > rounding(family.size, max(family.scale, values[0]))))
        self._taken = 0

    @property
    def pays(self) -> bool:
        """Whether the rows are few enough for this rank."""
        return 0 < self._row_rank <= max(_FEW_ROWS, 4 * self._rank)

    def start(self) -> Basis:
        """Return the leading eigenvectors of S, and random columns, so that nothing is overlooked."""
        known = self._more(self.count)
        xp = array_namespace(known)
        columns = [known, _random(self._family, max(self.count + 1 - known.shape[1], 2))]
        if self._wants_nearly_all:
            columns.append(self._family.part(known))  # what every member needs next
        return _wide_enough(Basis(self._family, xp.concat(columns, axis=1)), self._family, self._rank)

    def grow(self, basis: Basis, worst: RitzState, looks: list[RitzState], round_number: int) -> None:
        """Add residuals of the worst member, after the first rounds together with more of the row space."""
        xp, lacking = array_namespace(basis.Q), _lacking(worst)
        columns = xp.take(worst.residuals, asarray_like(worst.residuals, lacking), axis=1)
        if round_number > 1 and self._taken < self._row_rank:
            more = self._more(max(basis.width // 2, 16))
            columns = columns / xp.linalg.vector_norm(columns, axis=0)
            basis.extend(xp.concat([columns, more], axis=1), _ALIKE)
            return
        # Of few vectors several blocks at once, since a look at a wide basis costs more than they do.
        two_blocks = 2 * len(lacking) if worst.worst > _ONE_BLOCK and len(lacking) <= _HIGH_RANK else 0
        target = basis.width + max(basis.width // _COLUMNS_PER_LOOK, two_blocks)
        strength = float(self._family.strengths[worst.member])
        new, image = basis.extend(columns, _ALIKE)
        while 0 < new.shape[1] <= target - basis.width:
            columns = self._family.moments.lift(image) - strength * self._family.part(new)
            new, image = basis.extend(columns, _ALIKE)

    def _more(self, count: int) -> Any:
        """Return the next leading eigenvectors of S."""
        start, self._taken = self._taken, min(self._taken + count, self._row_rank)
        columns = self._family.moments.row_space(start, self._taken)
        lengths = array_namespace(columns).linalg.vector_norm(columns, axis=0)
        return columns / clipped(lengths, float_info.min)
