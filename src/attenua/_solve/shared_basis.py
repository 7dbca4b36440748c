r"""One growing basis for the leading subspaces of all members of a family.

The family is affine in the strength, so its projections on a basis are formed once and every member is a
small Rayleigh-Ritz problem. The basis grows by better vectors for the least accurate member, and earlier
vectors are kept. This is a block Krylov method: the number of steps in which the explained variance becomes
accurate does not depend on a gap in the spectrum (Musco and Musco, 2015).
"""

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import asarray_like
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.growth import growth_for, random_columns
from attenua._solve.ritz import Observer, RitzState
from attenua._solve.subspace import Subspace, rounding, small_eigh

Array = NDArray[np.float64]


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
    """

    def __init__(self, family: MatrixFamily, rank: int, *, exact: bool):
        self._family, self._rank, self._exact = family, rank, exact
        self._size = family.moments.n_features
        self._growth = growth_for(family, rank)
        self._observer = Observer(family, rank, self._growth.fine if exact else None)
        self._basis = self._growth.start()
        self._states: dict[int, RitzState] = {}
        self._measurements = 0
        self._has_constant_columns = False

    def solve(self) -> list[Subspace]:
        """Return the leading subspace of every member."""
        *first, last = self._stages()
        for members in first:
            # Vectors found for one member serve the others, but only for a while.
            self._improve(members, most_rounds=1)
        states = self._improve(last, tuning.MOST_ROUNDS)
        return self._subspaces(self._tested(states) if self._exact else states)

    def _tested(self, states: list[RitzState]) -> list[RitzState]:
        """Look for leading directions that the basis overlooks; return the states, where a wrong bound is 1.

        Residuals bound what is missing only if nothing was overlooked. The basis began with what S favours;
        directions of little variance that a member far from S favours are found from random columns and
        their products with that member. They may raise the Ritz values by no more than the bound says.
        """
        strengths = self._family.strengths
        furthest = int(np.argmax(np.abs(strengths)))
        if strengths[furthest] == 0:
            return states
        wider = copy(self._basis)
        new = random_columns(self._family, tuning.PROBES, seed=1)
        for _ in range(tuning.PROBE_STEPS):
            new, _ = wider.extend(new)
            new = self._family.times(new, furthest)
        members = [state.member for state in states]
        values, _ = small_eigh(wider.S - strengths[members][:, None, None] * wider.D)
        indistinct = rounding(self._size, self._family.trace)
        tested = []
        for state, found in zip(states, values, strict=True):
            rise = found[: self._rank].sum() - state.values[: self._rank].sum()
            holds = rise <= state.shortfall * self._family.trace + indistinct
            tested.append(state if holds else replace(state, shortfall=1.0))
        return tested

    def _stages(self) -> list[list[int]]:
        """Return the members that are assessed: the middle one, then the ends too, and at last all if exact.

        Members between them are made of the same vectors, so three are enough to compare candidates.
        """
        order = np.argsort(self._family.strengths, kind="stable").tolist()
        middle = order[(len(order) - 1) // 2]
        stages = [[middle], sorted({order[0], middle, order[-1]})]
        if self._exact:
            stages.append(sorted(order))
        return [stage for i, stage in enumerate(stages) if stage not in stages[:i]]

    def _improve(self, members: list[int], most_rounds: int) -> list[RitzState]:
        """Let the basis grow until some members are accurate enough; return their last states."""
        before = np.inf
        for round_number in range(most_rounds):
            states = self._assess(members)
            if self._adds_constant_columns(states):
                states = self._assess(members)
            if self._is_enough(states, before) or self._basis.width >= self._size:
                break
            worst = max(states, key=lambda state: state.worst)
            before = worst.worst
            self._growth.grow(self._basis, worst, states, round_number)
            self._states.clear()
        return self._assess(members)

    def _adds_constant_columns(self, states: list[RitzState]) -> bool:
        """Add the axes of columns that do not vary, if wanted eigenvalues are no better; return if so.

        S and D map nothing there, so that no growth would ever find them.
        """
        columns = np.flatnonzero(self._family.variances == 0)[: self._rank + 1]
        if self._has_constant_columns or not len(columns):
            return False
        if min(state.values[self._rank - 1] for state in states) > 0:
            return False
        axes = np.zeros((self._size, len(columns)))
        axes[columns, np.arange(len(columns))] = 1.0
        self._basis.extend(asarray_like(self._basis.Q, axes))
        self._has_constant_columns = True
        self._states.clear()
        return True

    def _assess(self, members: list[int]) -> list[RitzState]:
        """Return the states of some members; those on the present basis are kept."""
        new = [k for k in members if k not in self._states]
        for found in zip(new, *self._ritz(new), strict=True) if new else ():
            if (
                not self._exact
                and len(self._family.strengths) > 1
                and self._measurements < tuning.MEASUREMENTS
            ):
                self._observer.measure_difference(self._basis, *found)
                self._measurements += 1
            self._states[found[0]] = self._observer.assess(self._basis, *found)
        return [self._states[k] for k in members]

    def _ritz(self, members: list[int], within: Array | None = None) -> tuple[Array, Array]:
        """Return the Ritz values and vectors of some members, in the basis or in combinations of it."""
        S, D = self._basis.S, self._basis.D
        if within is not None:
            S, D = (within.T @ matrix @ within for matrix in (S, D))
        return small_eigh(S - self._family.strengths[members][:, None, None] * D)

    def _is_enough(self, states: list[RitzState], before: float) -> bool:
        """Whether the assessed members are accurate enough; the worst excess was `before` a round ago.

        Once the explained variance is accurate, angles are made accurate too as long as that goes fast.
        """
        worst = max(state.worst for state in states)
        if worst <= 1 or not self._exact:
            return worst <= 1
        accurate = max(state.shortfall_of_rest for state in states) <= tuning.SHORTFALL
        return accurate and (
            max(state.sine for state in states) <= tuning.SINE or worst > before / tuning.FAST
        )

    def _subspaces(self, states: list[RitzState]) -> list[Subspace]:
        """Return the subspaces of all members, from the states of some."""
        found = {
            state.member: self._subspace(state.values, state.coordinates, state.shortfall) for state in states
        }
        others = [k for k in range(len(self._family.strengths)) if k not in found]
        count, width = self._growth.count, self._basis.width
        is_smaller = count * len(states) < 0.8 * width
        if others and not is_smaller and width > tuning.NARROW:
            found |= self._near(states, others)
        elif others:
            # They are made of the leading vectors of the assessed members.
            leading = np.hstack([state.coordinates[:, :count] for state in states])
            within = np.linalg.qr(leading)[0] if is_smaller else np.eye(width)
            shortfall = max(state.shortfall for state in states)
            for k, values, vectors in zip(others, *self._ritz(others, within), strict=True):
                found[k] = self._subspace(values, within @ vectors, shortfall)
        return [found[k] for k in range(len(found))]

    def _near(self, states: list[RitzState], others: list[int]) -> dict[int, Subspace]:
        """Return the subspaces of members, each from the nearest assessed one."""
        strengths, found = self._family.strengths, {}
        nearest = {
            k: min(states, key=lambda state: abs(strengths[state.member] - strengths[k])) for k in others
        }
        for state in states:
            D = state.coordinates.T @ self._basis.D @ state.coordinates
            for k in (k for k in others if nearest[k] is state):
                change = (strengths[state.member] - strengths[k]) * D
                basis = nearby_subspace(state.values, change, self._rank, tuning.ROUGH)
                if basis is None:
                    (values,), (vectors,) = self._ritz([k])
                else:
                    values, vectors = state.values + np.diag(change), state.coordinates @ basis
                found[k] = self._subspace(values, vectors, state.shortfall)
        return found

    def _subspace(self, values: Array, coordinates: Array, shortfall: float) -> Subspace:
        rank = self._rank
        gap = float(values[rank - 1] - values[rank]) if len(values) > rank else np.inf
        tied = gap <= rounding(self._size, max(self._family.scale, np.abs(values).max()))
        return Subspace(self._basis.Q, coordinates[:, :rank], values[:rank], gap, tied, shortfall)


def nearby_subspace(values: Array, change: Array, rank: int, tolerance: float) -> Array | None:
    r"""Return an orthonormal basis of the leading subspace of :math:`\mathrm{diag}(\lambda) + E`, or None.

    The subspace is the span of :math:`(I, X^\top)^\top`, where X solves the Riccati equation

    .. math::

        X \Lambda_1 - \Lambda_2 X = E_{21} + E_{22} X - X E_{11} - X E_{12} X,

    with the leading and the other eigenvalues in :math:`\Lambda_1` and :math:`\Lambda_2`. Its left side is
    solved again and again for the right side of the last X. That converges where E is small against the
    gap; several times as fast as an eigendecomposition. None is returned if it does not.

    The `change` E is in the basis of the eigenvectors, whose eigenvalues decrease; the last step may change X
    by at most the part `tolerance`.
    """
    distances = values[:rank] - values[rank:, None]
    if distances[0, -1] <= 0:
        return None
    upper, lower, coupling = change[:rank, :rank], change[rank:, rank:], change[rank:, :rank]
    X = coupling / distances
    before = np.inf
    for _ in range(tuning.MOST_STEPS):
        following = (coupling + lower @ X - X @ (upper + coupling.T @ X)) / distances
        step = float(np.linalg.norm(following - X))
        X = following
        if step <= tolerance * float(np.linalg.norm(X)):
            # Orthonormal columns with the same span.
            triangle = np.linalg.cholesky(np.eye(rank) + X.T @ X)
            return np.linalg.solve(triangle, np.hstack([np.eye(rank), X.T])).T
        if step > before / 2:
            return None
        before = step
    return None
