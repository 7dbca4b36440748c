"""Leading subspaces of the members of a family: which way they are found."""

import warnings
from contextlib import nullcontext

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from attenua._correct.family import MatrixFamily
from attenua._data.blas import blas_limit
from attenua._data.checks import caller_level
from attenua._data.namespace import beside, to_host
from attenua._solve.decompose import leading_of_matrix, small_eigh
from attenua._solve.look import SHORTFALL
from attenua._solve.shared_basis import SharedBasis
from attenua._solve.subspace import Subspace, cut, rounding

# Whole decompositions win up to this size, and are affordable up to the second.
_DIRECT_SIZE = 128
_DENSE_LIMIT = 5_000
# Where a product with a vector takes fewer multiplications than this, more threads than one are no faster,
# and much slower where cores are shared.
_ONE_THREAD = 2_000_000
# A gap of less than so many rounding errors is left to a whole decomposition, which may see it.
_CLEAR_GAP = 100
# Matrices that are decomposed in one call take no more than this.
_CALL_BYTES = 64 * 2**20


def leading_subspaces(family: MatrixFamily, rank: int, *, exact: bool = True) -> list[Subspace]:
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
    """
    size, n_members = family.size, len(family.strengths)
    if family.scale == 0 or rank == size:
        # Nothing varies, or nothing is cut off: the first coordinates are as good as any others.
        gap, tied = (0.0, True) if rank < size else (np.inf, False)
        frame = beside(family.moments.mean, np.eye(size, rank))
        return [Subspace(frame, None, np.zeros(rank), gap, tied)] * n_members
    if n_members > 1 and _is_constant(family):
        (first,) = leading_subspaces(_at(family, [0]), rank, exact=exact)
        shifts = (family.strengths - family.strengths[0]) * family.scale
        return [first._replace(values=first.values - shift) for shift in shifts]
    if size <= _DIRECT_SIZE or (3 * rank > size and _may_form(family)):
        return _directly(family, rank)
    with blas_limit(1) if family.moments.product_work <= _ONE_THREAD else nullcontext():
        subspaces = SharedBasis(family, rank, exact=exact).solve()
    return [_settled(family, k, subspace) for k, subspace in enumerate(subspaces)] if exact else subspaces


def _is_constant(family: MatrixFamily) -> bool:
    """Whether D is a multiple of the identity, so that all members have the same eigenvectors."""
    variances = to_host(family.moments.variances)
    return family.labels is None and bool(np.ptp(variances) <= rounding(family.size, family.scale))


def _at(family: MatrixFamily, members: list[int]) -> MatrixFamily:
    return MatrixFamily(family.moments, family.strengths[members], family.labels)


def _may_form(family: MatrixFamily) -> bool:
    return family.moments.forms_covariance or family.size <= _DENSE_LIMIT


def _directly(family: MatrixFamily, rank: int) -> list[Subspace]:
    """Decompose every member: small ones many at once, large ones one by one."""
    if family.size > _DIRECT_SIZE:
        return [_decomposed(family, k, rank) for k in range(len(family.strengths))]
    at_once = max(_CALL_BYTES // (8 * family.size**2), 1)
    # All share the axes as their frame, so that other rows are projected once for all of them.
    axes = beside(family.moments.mean, np.eye(family.size))
    found: list[Subspace] = []
    for start in range(0, len(family.strengths), at_once):
        members = list(range(len(family.strengths)))[start : start + at_once]
        pairs = zip(*small_eigh(_at(family, members).on_host()), strict=True)
        found += [cut(values, vectors, rank, family.scale) for values, vectors in pairs]
    return [subspace._replace(frame=axes, coordinates=subspace.frame) for subspace in found]


def _decomposed(family: MatrixFamily, k: int, rank: int) -> Subspace:
    subspace = leading_of_matrix(family.member(k), rank, family.scale)
    return subspace._replace(frame=beside(family.moments.mean, subspace.frame))


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
