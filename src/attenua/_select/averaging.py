"""The average of some subspaces: the leading subspace of the mean of their projectors."""

from collections.abc import Sequence

import numpy as np

from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve.subspace import Subspace


def mean_subspace(subspaces: Sequence[Subspace], counts: Sequence[int]) -> Subspace:
    r"""Return the leading subspace of :math:`\sum_k c_k U_k U_k^\top / \sum_k c_k`.

    With the bases side by side, each times the root of its share, as the matrix B, this mean is
    :math:`B B^\top`; its leading eigenvectors come from those of the small matrix :math:`B^\top B`.

    Parameters
    ----------
    subspaces : sequence of Subspace
        With bases :math:`U_k`, all of one rank.
    counts : sequence of int
        How often each counts.
    """
    if len(subspaces) == 1:
        return subspaces[0]
    rank, shares = len(subspaces[0].values), np.array(counts) / sum(counts)
    xp = array_namespace(subspaces[0].frame)
    roots = np.sqrt(shares).tolist()
    B = xp.concat([root * subspace.basis for root, subspace in zip(roots, subspaces, strict=True)], axis=1)
    values, vectors = np.linalg.eigh(to_host(B.T @ B))
    values, vectors = values[::-1], vectors[:, ::-1]
    frame = B @ asarray_like(B, vectors[:, :rank] / np.sqrt(values[:rank]))
    return Subspace(
        frame,
        None,
        values[:rank],
        float(values[rank - 1] - values[rank]),
        all(subspace.tied for subspace in subspaces),
        max(subspace.shortfall for subspace in subspaces),
    )
