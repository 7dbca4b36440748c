r"""One growing basis for the leading subspaces of all members of a family.

The family is affine in the strength, so its projections on a basis are formed once and every member is a
small Rayleigh-Ritz problem. The basis grows by better vectors for the member that lacks most, and earlier
vectors are kept. This is a block Krylov method: the number of steps in which the explained variance becomes
accurate does not depend on a gap in the spectrum (Musco and Musco, 2015).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.family import MatrixFamily
from attenua._data.namespace import asarray_like
from attenua._solve.decompose import small_eigh
from attenua._solve.growth import growth_for
from attenua._solve.perturbation import nearby_subspace
from attenua._solve.ritz import ROUGH, SHORTFALL, Observer, RitzState
from attenua._solve.subspace import Subspace, rounding

Array = NDArray[np.float64]

# The sine of the angle to the exact subspace is reduced to this, as long as a round reduces the residual by
# this factor.
_SINE = 1e-7
_FAST = 5.0
# Up to this width of the basis every member is decomposed within it.
_NARROW = 100
# How far the members differ is seen well enough after so many looks.
_MEASUREMENTS = 2
# Rounds after which the basis is taken as it is.
_MOST_ROUNDS = 60


class SharedBasis:
    """The leading subspaces of a family, by Rayleigh-Ritz on one basis.

    Parameters
    ----------
    family : MatrixFamily
        The matrices; their size is above the rank, and something varies.
    rank : int
        Dimension of the wanted subspaces.
    exact : bool
        Whether every member must be as accurate as can be, or only enough to compare them.
    near : array of shape (size, rank), optional
        Orthonormal columns that may be close to what is wanted, such as those of another matrix that the
        members are compared with.

    Attributes
    ----------
    is_finished : bool
        Whether ``solve`` found what was asked for.
    """

    def __init__(self, family: MatrixFamily, rank: int, *, exact: bool, near: Any = None):
        self._family, self._rank, self._exact = family, rank, exact
        self._growth = growth_for(family, rank, near)
        fine = self._growth.fine if exact else None
        self._observer = Observer(family, rank, fine, near)
        self._basis = self._growth.start()
        self._looks: dict[int, RitzState] = {}
        self._measurements = 0
        self._has_constant_columns = False
        self.is_finished = False

    def solve(self, most_rounds: int | None = None) -> list[Subspace]:
        """Return the leading subspace of every member, after at most so many rounds in the end."""
        *first, last = self._stages()
        for members in first:
            # What is learnt at one member serves the others, but only for a while.
            self._improve(members, most_rounds=1)
        looks = self._improve(last, _MOST_ROUNDS if most_rounds is None else most_rounds)
        self.is_finished = self._is_enough(looks, np.inf)
        return self._subspaces(looks)

    def _stages(self) -> list[list[int]]:
        """Return the members that are looked at: the middle one, the ends too, and at last all if need be.

        What lies between members that are known is made of the same vectors, so that to compare candidates
        three of them are enough.
        """
        order = np.argsort(self._family.strengths, kind="stable").tolist()
        middle = order[(len(order) - 1) // 2]
        stages = [[middle], sorted({order[0], middle, order[-1]})]
        if self._exact:
            stages.append(sorted(order))
        return [stage for i, stage in enumerate(stages) if stage not in stages[:i]]

    def _improve(self, members: list[int], most_rounds: int) -> list[RitzState]:
        """Let the basis grow until some members lack nothing; return a last look at them."""
        before = np.inf
        for round_number in range(most_rounds):
            looks = self._look_at(members)
            if self._adds_constant_columns(looks):
                looks = self._look_at(members)
            if self._is_enough(looks, before) or self._basis.width >= self._family.size:
                break
            worst = max(looks, key=lambda look: look.worst)
            before = worst.worst
            self._growth.grow(self._basis, worst, looks, round_number)
            self._looks.clear()
        return self._look_at(members)

    def _adds_constant_columns(self, looks: list[RitzState]) -> bool:
        """Add the axes of columns that do not vary, where wanted eigenvalues are no better; say if so.

        S and D map nothing there, so that no growth would ever find them.
        """
        columns = self._family.constant_columns[: self._rank + 1]
        if self._has_constant_columns or not len(columns):
            return False
        if min(look.values[self._rank - 1] for look in looks) > 0:
            return False
        axes = np.zeros((self._family.size, len(columns)))
        axes[columns, np.arange(len(columns))] = 1.0
        self._basis.extend(asarray_like(self._basis.Q, axes))
        self._has_constant_columns = True
        self._looks.clear()
        return True

    def _look_at(self, members: list[int]) -> list[RitzState]:
        """Return a look at each of some members; what was seen on the present basis is kept."""
        new = [k for k in members if k not in self._looks]
        for found in zip(new, *self._ritz(new), strict=True) if new else ():
            if not self._exact and len(self._family.strengths) > 1 and self._measurements < _MEASUREMENTS:
                self._observer.measure_difference(self._basis, *found)
                self._measurements += 1
            self._looks[found[0]] = self._observer.look(self._basis, *found)
        return [self._looks[k] for k in members]

    def _ritz(self, members: list[int], turn: Array | None = None) -> tuple[Array, Array]:
        """Return the Ritz values and vectors of some members, in the basis or in combinations of it."""
        S, D = self._basis.S, self._basis.D
        if turn is not None:
            S, D = (turn.T @ matrix @ turn for matrix in (S, D))
        return small_eigh(S - self._family.strengths[members][:, None, None] * D)

    def _is_enough(self, looks: list[RitzState], before: float) -> bool:
        """Whether the members looked at lack nothing, the worst of which lacked `before` a round ago.

        Where the explained variance is accurate, angles are made accurate too as long as that goes fast.
        """
        worst = max(look.worst for look in looks)
        if worst <= 1 or not self._exact:
            return worst <= 1
        accurate = max(look.shortfall_of_rest for look in looks) <= SHORTFALL
        return accurate and (max(look.sine for look in looks) <= _SINE or worst > before / _FAST)

    def _subspaces(self, looks: list[RitzState]) -> list[Subspace]:
        """Return the subspaces of all members, from those that were looked at."""
        found = {look.member: self._subspace(look.values, look.coordinates, look.shortfall) for look in looks}
        others = [k for k in range(len(self._family.strengths)) if k not in found]
        count, width = self._growth.count, self._basis.width
        is_smaller = count * len(looks) < 0.8 * width
        if others and not is_smaller and width > _NARROW:
            found |= self._near(looks, others)
        elif others:
            # They are made of the leading vectors of the members that were looked at.
            leading = np.hstack([look.coordinates[:, :count] for look in looks])
            turn = np.linalg.qr(leading)[0] if is_smaller else np.eye(width)
            shortfall = max(look.shortfall for look in looks)
            for k, values, vectors in zip(others, *self._ritz(others, turn), strict=True):
                found[k] = self._subspace(values, turn @ vectors, shortfall)
        return [found[k] for k in range(len(found))]

    def _near(self, looks: list[RitzState], others: list[int]) -> dict[int, Subspace]:
        """Return the subspaces of members, each from the nearest one that was looked at."""
        strengths, found = self._family.strengths, {}
        nearest = {k: min(looks, key=lambda look: abs(strengths[look.member] - strengths[k])) for k in others}
        for look in looks:
            D = look.coordinates.T @ self._basis.D @ look.coordinates
            for k in (k for k in others if nearest[k] is look):
                change = (strengths[look.member] - strengths[k]) * D
                basis = nearby_subspace(look.values, change, self._rank, ROUGH)
                if basis is None:
                    (values,), (vectors,) = self._ritz([k])
                else:
                    values, vectors = look.values + np.diag(change), look.coordinates @ basis
                found[k] = self._subspace(values, vectors, look.shortfall)
        return found

    def _subspace(self, values: Array, coordinates: Array, shortfall: float) -> Subspace:
        rank = self._rank
        gap = float(values[rank - 1] - values[rank]) if len(values) > rank else np.inf
        tied = gap <= rounding(self._family.size, max(self._family.scale, np.abs(values).max()))
        return Subspace(self._basis.Q, coordinates[:, :rank], values[:rank], gap, tied, shortfall)
