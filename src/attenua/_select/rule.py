"""Rules: moments in, one subspace for every candidate out. And two things to do with subspaces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import CORRECTIONS, Strengths, prepared
from attenua._data.moments import Moments
from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]

PCA = Strengths()
# Subspaces whose principal angles all have smaller sines reconstruct alike to twelve figures.
_LARGEST_SINE = 1e-6


class Rule(Protocol):
    """Moments in, one subspace for every candidate out.

    A candidate is an entry of ``strengths``. The first is ordinary PCA.
    """

    @property
    def strengths(self) -> Sequence[Any] | Array:
        """The candidates."""

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterable[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order.

        ``exact=False`` is accurate enough to compare candidates by rows that were held out.
        """

    def with_strengths(self, strengths: Sequence[Any]) -> "Rule":
        """Return the same rule with other candidates."""


@dataclass(frozen=True)
class CorrectedRule:
    r"""The leading subspaces of :math:`K_h \{t_i t_j (P_q C P_q)_{ij} - a\,\mathcal D(\cdot)\} K_h`.

    :math:`t_i = s_i^{1-g}` and :math:`C_{ij} = r_{ij} |r_{ij}|^b` off the diagonal, with the standard
    deviations :math:`s_i` and the correlations :math:`r_{ij}` of the covariance, and the kernel :math:`P_q`
    of the columns that correlate most. Corrections of rows are in the moments already. Candidates that differ
    only in their place in the matrix family :math:`S - a D` are solved together.
    """

    strengths: Sequence[Strengths]
    prepared: Mapping[str, Any] = field(default_factory=dict)  # what each correction made of its parameter
    near: Subspace | None = None  # that of a similar candidate, to begin from

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        families: dict[Strengths, list[int]] = {}
        for place, strengths in enumerate(self.strengths):
            families.setdefault(strengths.of_kind("moments"), []).append(place)
        (of_family,) = (name for name, correction in CORRECTIONS.items() if correction.kind == "family")
        for strengths, places in families.items():
            corrected = moments
            for name, strength in strengths.nonzero():
                apply = CORRECTIONS[name].apply
                assert apply is not None
                corrected = apply(corrected, strength, self.prepared.get(name))
            members = np.array([self.strengths[place][of_family] for place in places])
            family = MatrixFamily(corrected, members, self.prepared.get(of_family))
            yield from zip(places, leading_subspaces(family, rank, exact=exact, near=self.near), strict=True)

    def with_strengths(self, strengths: Sequence[Strengths]) -> "CorrectedRule":
        """Return the same rule with other candidates."""
        return replace(self, strengths=strengths)


def attenuation_rule(alphas: Iterable[float], n_features: int, feature_groups: Any = None) -> CorrectedRule:
    r"""Return the rule of the paper, the leading subspaces of :math:`S - \alpha \mathcal D(S)`."""
    return CorrectedRule(
        [Strengths(attenuation=alpha) for alpha in alphas],
        prepared({"feature_groups": feature_groups}, n_features),
    )


def pca_subspace(moments: Moments, rank: int) -> Subspace:
    """Return the subspace of ordinary PCA."""
    ((_, subspace),) = CorrectedRule([PCA]).subspaces(moments, rank)
    return subspace


def same_subspace(U: Any, V: Any) -> bool:
    r"""Return whether two bases span one subspace: whether the largest sine of their angles is below 1e-6.

    The sines are the singular values of :math:`V - U U^\top V`. Cosines, those of :math:`U^\top V`, would not
    tell angles below 1e-8 from 0.
    """
    outside = V - U @ (U.T @ V)
    # The eigenvalues of this small matrix are squared sines.
    squares = np.linalg.eigvalsh(to_host(outside.T @ outside))
    return bool(squares[-1] < _LARGEST_SINE**2)


def mean_subspace(subspaces: Sequence[Subspace], counts: Sequence[int]) -> Subspace:
    r"""Return the leading subspace of :math:`\sum_k c_k U_k U_k^\top / \sum_k c_k`, with counts :math:`c_k`.

    With the bases side by side, each times the root of its share, as the matrix B, this mean is
    :math:`B B^\top`; its leading eigenvectors come from those of the small matrix :math:`B^\top B`.
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
