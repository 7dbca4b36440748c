"""Leading subspaces of the members of a family: the choice between a decomposition and an iteration."""

import warnings
from contextlib import nullcontext

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from attenua._data.blas import blas_limit
from attenua._data.checks import caller_level
from attenua._data.moments import Moments
from attenua._data.namespace import asarray_like, spans, to_host
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.lanczos import compared_subspace
from attenua._solve.shared_basis import SharedBasis
from attenua._solve.subspace import Subspace, leading_of_matrix, leading_part, rounding, small_eigh


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
        Whether each explains all but ``tuning.SHORTFALL`` of what the best one explains, with angles as
        accurate as the gap allows; if not, they are only accurate enough to be compared on other rows.
    near : Subspace, optional
        One that may be close to them, to start from.
    """
    moments, size, n_members = family.moments, family.moments.n_features, len(family.strengths)
    if family.scale == 0 or rank == size:
        # Nothing varies, or nothing is cut off: the first coordinates are as good as any.
        gap, tied = (0.0, True) if rank < size else (np.inf, False)
        frame = asarray_like(moments.mean, np.eye(size, rank))
        return [Subspace(frame, None, np.zeros(rank), gap, tied)] * n_members
    indistinct = rounding(size, family.scale)
    if family.strengths.any() and moments.part_is_constant(family.labels, indistinct):
        # D is a multiple of the identity: all members get the very same eigenvectors, those of S.
        S = MatrixFamily(moments, np.zeros(1), family.labels)
        (first,) = leading_subspaces(S, rank, exact=exact, near=near)
        shifts = family.strengths * family.scale
        return [first._replace(values=first.values - shift) for shift in shifts]
    if (
        size <= tuning.DIRECT_SIZE
        or tuning.EXACTLY
        or (3 * rank > size and _may_form(family))
        or _are_few_and_small(family, exact)
    ):
        return _directly(family, rank)
    with blas_limit(1) if moments.product_work <= tuning.ONE_THREAD_PRODUCT else nullcontext():
        if exact:
            subspaces = SharedBasis(family, rank, exact=True).solve()
            return [_checked(family, k, subspace) for k, subspace in enumerate(subspaces)]
        return _to_compare(family, rank, near)


def _may_form(family: MatrixFamily) -> bool:
    return family.moments.forms_covariance or family.moments.n_features <= tuning.DENSE_LIMIT


def _are_few_and_small(family: MatrixFamily, exact: bool) -> bool:
    """Whether there are so few members, and so small, that their exact decompositions cost little."""
    size, work = family.moments.n_features, family.moments.product_work
    is_small = size <= tuning.EXACT_SIZE and work >= size**2  # of few rows, no matrix is formed
    return exact and is_small and len(family.strengths) <= tuning.EXACT_MEMBERS


def _to_compare(family: MatrixFamily, rank: int, near: Subspace | None) -> list[Subspace]:
    """Return subspaces that are accurate enough to be compared, from a nearby one if there is one."""
    if len(family.strengths) == 1:
        moments, found = family.moments, None
        is_cheap = moments.has_few_rows and (near is None or _have_cheap_products(moments))
        if is_cheap and not family.strengths.any():
            found = _from_products(family, rank)
        found = found or compared_subspace(family, rank, None if near is None else near.frame)
        if found is not None:
            return [found]
    return SharedBasis(family, rank, exact=False).solve()


def _have_cheap_products(moments: Moments) -> bool:
    """Whether inner products of rows, and their decomposition, cost less than Lanczos from nearby."""
    p, n = moments.n_features, moments.product_work / (2 * moments.n_features)
    to_form = 0.0 if moments.has_products else n * p / tuning.ROWS_FORMED
    return n**2 / tuning.ROWS_SQUARED_PER_COLUMN + to_form <= p


def _from_products(family: MatrixFamily, rank: int) -> Subspace | None:
    """Return the leading subspace of S from the inner products of its few rows, if it has as many directions.

    Inner products square the ratio of singular values: good enough to compare, not more.
    """
    moments = family.moments
    values = moments.spectrum()
    clear = int(np.sum(values > tuning.CLEAR_PRODUCTS * values[0]))
    count = min(tuning.tracked(rank, moments.n_features), clear)
    if count <= rank:
        return None
    columns = moments.row_space(0, count)
    columns /= moments.xp.linalg.vector_norm(columns, axis=0)
    # They are nearly orthonormal. A triangular factor leaves the first of them the leading ones.
    root = np.linalg.inv(np.linalg.cholesky(to_host(columns.T @ columns))).T
    gap = float(values[rank - 1] - values[rank])
    frame = columns @ asarray_like(columns, root)
    return Subspace(frame, np.eye(count, rank), values[:rank], gap, tied=False)


def _directly(family: MatrixFamily, rank: int) -> list[Subspace]:
    """Decompose every member: small ones many at once, large ones one by one."""
    size, n_members = family.moments.n_features, len(family.strengths)
    if size > tuning.DIRECT_SIZE:
        return [_decomposed(family, k, rank) for k in range(n_members)]
    # All share the axes as their frame, so that other rows are projected once for all of them.
    axes = asarray_like(family.moments.mean, np.eye(size))
    found: list[Subspace] = []
    for members in spans(n_members, max(tuning.CALL_BYTES // (8 * size**2), 1)):
        pairs = zip(*small_eigh(family.on_host(members)), strict=True)
        found += [leading_part(values, vectors, rank, family.scale) for values, vectors in pairs]
    return [subspace._replace(frame=axes, coordinates=subspace.frame) for subspace in found]


def _decomposed(family: MatrixFamily, k: int, rank: int) -> Subspace:
    subspace = leading_of_matrix(family.member(k), rank, family.scale)
    return subspace._replace(frame=asarray_like(family.moments.mean, subspace.frame))


def _checked(family: MatrixFamily, k: int, subspace: Subspace) -> Subspace:
    """Return a subspace, or that of a whole decomposition if it falls short or is nearly tied."""
    largest = max(family.scale, float(np.abs(subspace.values).max()))
    is_clear = subspace.gap > tuning.CLEAR_GAP * rounding(family.moments.n_features, largest)
    if is_clear and subspace.shortfall <= tuning.SHORTFALL:
        return subspace
    if _may_form(family):
        return _decomposed(family, k, len(subspace.values))
    if subspace.shortfall > tuning.SHORTFALL:
        warnings.warn(
            f"The subspace may explain up to {subspace.shortfall:.1g} of the total variance less than the "
            "best one; more iterations did not help.",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )
    return subspace
