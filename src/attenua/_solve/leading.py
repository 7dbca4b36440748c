"""Leading subspaces of the members of a family: which way they are found."""

import warnings
from contextlib import nullcontext

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from attenua._correct.family import MatrixFamily
from attenua._data.blas import blas_limit
from attenua._data.checks import caller_level
from attenua._data.namespace import asarray_like
from attenua._solve.basis import orthonormal
from attenua._solve.decompose import leading_of_matrix, small_eigh
from attenua._solve.ritz import SHORTFALL
from attenua._solve.shared_basis import SharedBasis
from attenua._solve.subspace import Subspace, cut, rounding

# Whole decompositions win up to this size, and are affordable up to the second.
_DIRECT_SIZE = 128
# One or two exact ones win up to this size, where the matrix is at hand: no iteration is as accurate, and one
# towards a cut without a gap takes many times as long.
_EXACT_SIZE = 512
# One to compare shares no basis with others: up to this size, iterating is seldom faster and often slower.
_COMPARED_SIZE = 256
_DENSE_LIMIT = 5_000
# Where a product with a vector takes fewer multiplications than this, more threads than one are no faster,
# and much slower where cores are shared.
_ONE_THREAD = 2_000_000
# A gap of less than so many rounding errors is left to a whole decomposition, which may see it.
_CLEAR_GAP = 100
# Matrices that are decomposed in one call take no more than this.
_CALL_BYTES = 64 * 2**20


def leading_subspaces(
    family: MatrixFamily, rank: int, *, exact: bool = True, near: Subspace | None = None
) -> list[Subspace]:
    """Return the leading subspace of every member of a family.

    Parameters
    ----------
    family : MatrixFamily
        The matrices.
    rank : int
        Dimension of the subspaces.
    exact : bool
        Whether each explains all but ``SHORTFALL`` of what the best one explains, with angles as accurate as
        the gap allows; if not, they are only accurate enough to compare how they reconstruct other rows.
    near : Subspace, optional
        One that may be close to them, to begin with.
    """
    size, n_members = family.size, len(family.strengths)
    if family.scale == 0 or rank == size:
        # Nothing varies, or nothing is cut off: the first coordinates are as good as any others.
        gap, tied = (0.0, True) if rank < size else (np.inf, False)
        frame = asarray_like(family.moments.mean, np.eye(size, rank))
        return [Subspace(frame, None, np.zeros(rank), gap, tied)] * n_members
    if family.strengths.any() and family.is_constant(rounding(size, family.scale)):
        # All have the eigenvectors of S, and get the very same ones, so that no difference is seen in them.
        S = MatrixFamily(family.moments, np.zeros(1), family.labels)
        (first,) = leading_subspaces(S, rank, exact=exact, near=near)
        shifts = family.strengths * family.scale
        return [first._replace(values=first.values - shift) for shift in shifts]
    if size <= _DIRECT_SIZE or (3 * rank > size and _may_form(family)) or _are_few_and_small(family, exact):
        return _directly(family, rank)
    with blas_limit(1) if family.moments.product_work <= _ONE_THREAD else nullcontext():
        if exact:
            subspaces = SharedBasis(family, rank, exact=True).solve()
            return [_settled(family, k, subspace) for k, subspace in enumerate(subspaces)]
        return _to_compare(family, rank, near)


def _at(family: MatrixFamily, members: list[int]) -> MatrixFamily:
    return MatrixFamily(family.moments, family.strengths[members], family.labels)


def _may_form(family: MatrixFamily) -> bool:
    return family.moments.forms_covariance or family.size <= _DENSE_LIMIT


def _are_few_and_small(family: MatrixFamily, exact: bool) -> bool:
    """Whether there are so few members, and so small, that their decompositions cost little."""
    is_at_hand = family.moments.forms_covariance and family.moments.xp is np
    most, largest = (2, _EXACT_SIZE) if exact else (1, _COMPARED_SIZE)
    return len(family.strengths) <= most and family.size <= largest and is_at_hand


def _to_compare(family: MatrixFamily, rank: int, near: Subspace | None) -> list[Subspace]:
    """Return subspaces that are accurate enough to be compared, from nearby where one is known."""
    start, moments = None if near is None else near.basis, family.moments
    if not moments.has_few_rows:
        return SharedBasis(family, rank, exact=False, near=start).solve()
    # Inner products of the rows settle any spectrum. Where they are not known, they cost several products
    # with S, fewer of which may be enough from nearby; more of them where D has a part in it.
    has_part = len(family.strengths) > 1 or bool(family.strengths.any())
    if start is not None and not moments.knows_products:
        basis = SharedBasis(family, rank, exact=False, near=start)
        found = basis.solve(most_rounds=2 if has_part else 0)
        if basis.is_finished:
            return found
    subspace = None if has_part else _of_products(family, rank)
    return SharedBasis(family, rank, exact=False).solve() if subspace is None else [subspace]


def _of_products(family: MatrixFamily, rank: int) -> Subspace | None:
    """Return the leading subspace of S from the inner products of its few rows, if it has as many directions.

    Inner products square the ratio of singular values: good enough to compare, not more.
    """
    values = family.moments.spectrum()
    if len(values) <= rank or values[rank] <= rounding(family.size, max(family.scale, values[0])):
        return None
    frame = orthonormal(family.moments.row_space(0, rank))
    if frame.shape[1] < rank:
        return None
    gap = float(values[rank - 1] - values[rank])
    return Subspace(frame, None, values[:rank], gap, tied=False)


def _directly(family: MatrixFamily, rank: int) -> list[Subspace]:
    """Decompose every member: small ones many at once, large ones one by one."""
    if family.size > _DIRECT_SIZE:
        return [_decomposed(family, k, rank) for k in range(len(family.strengths))]
    at_once = max(_CALL_BYTES // (8 * family.size**2), 1)
    # All share the axes as their frame, so that other rows are projected once for all of them.
    axes = asarray_like(family.moments.mean, np.eye(family.size))
    found: list[Subspace] = []
    for start in range(0, len(family.strengths), at_once):
        members = list(range(len(family.strengths)))[start : start + at_once]
        pairs = zip(*small_eigh(_at(family, members).on_host()), strict=True)
        found += [cut(values, vectors, rank, family.scale) for values, vectors in pairs]
    return [subspace._replace(frame=axes, coordinates=subspace.frame) for subspace in found]


def _decomposed(family: MatrixFamily, k: int, rank: int) -> Subspace:
    subspace = leading_of_matrix(family.member(k), rank, family.scale)
    return subspace._replace(frame=asarray_like(family.moments.mean, subspace.frame))


def _settled(family: MatrixFamily, k: int, subspace: Subspace) -> Subspace:
    """Return a subspace; found again by a whole decomposition where it falls short or is nearly tied."""
    largest = max(family.scale, float(np.abs(subspace.values).max()))
    is_clear = subspace.gap > _CLEAR_GAP * rounding(family.size, largest)
    if is_clear and subspace.shortfall <= SHORTFALL:
        return subspace
    if _may_form(family):
        return _decomposed(family, k, len(subspace.values))
    if subspace.shortfall > SHORTFALL:
        warnings.warn(
            f"The subspace may explain up to {subspace.shortfall:.1g} of the total variance less than the "
            "best one; more iterations did not help.",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
    return subspace
