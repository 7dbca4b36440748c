"""Rules: moments in, one subspace for every candidate out. And two things to do with subspaces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from attenua._correct.attenuation import ATTENUATION
from attenua._correct.columns import column_labels
from attenua._correct.registry import CORRECTIONS, Strengths
from attenua._data.moments import Moments
from attenua._data.namespace import to_host
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from attenua._solve.ritz import orthonormal
from attenua._solve.subspace import Subspace

Array = NDArray[np.float64]

PCA = Strengths()
# Subspaces whose principal angles all have smaller sines reconstruct alike to twelve figures.
_LARGEST_SINE = 1e-6
# Variances are counted as this part of the largest at least.
_LEAST_VARIANCE = 1e-12


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
    r"""The leading subspaces of :math:`T - a \mathcal D(T)` with :math:`T = K_h F K_h`.

    Here :math:`F_{ij} = t_i t_j (P_q C P_q)_{ij}`, :math:`t_i = s_i^{1-g}` and
    :math:`C_{ij} = r_{ij} |r_{ij}|^b` off the diagonal, with the standard deviations :math:`s_i` and the
    correlations :math:`r_{ij}` of the covariance, and the kernel :math:`P_q` of the columns that correlate
    most. Corrections of rows are in the moments already. Candidates that differ only in a are solved
    together.
    """

    strengths: Sequence[Strengths]
    prepared: Mapping[str, Any] = field(default_factory=dict)  # what each correction made of its parameter
    near: Subspace | None = None  # that of a similar candidate, to begin from
    made: dict[str, "Made"] | None = None  # what each correction made last, if that is kept

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield ``(i, subspace at strengths[i])``, in any order."""
        moments = moments if exact else moments.compared
        families: dict[Strengths, list[int]] = {}
        for place, strengths in enumerate(self.strengths):
            families.setdefault(strengths.of_kind("moments"), []).append(place)
        (of_family,) = (name for name, correction in CORRECTIONS.items() if correction.kind == "family")
        for strengths, places in families.items():
            corrected = corrected_moments(moments, strengths, self.prepared, self.made)
            members = np.array([self.strengths[place][of_family] for place in places])
            family = MatrixFamily(corrected, members, self.prepared.get(of_family))
            yield from zip(places, leading_subspaces(family, rank, exact=exact, near=self.near), strict=True)

    def with_strengths(self, strengths: Sequence[Strengths]) -> "CorrectedRule":
        """Return the same rule with other candidates."""
        return replace(self, strengths=strengths)


class Made(NamedTuple):
    """The moments that a correction made of others."""

    base: Moments
    strength: float
    moments: Moments


def corrected_moments(
    moments: Moments,
    strengths: Strengths,
    prepared: Mapping[str, Any],
    made: dict[str, Made] | None = None,
) -> Moments:
    """Return moments with the corrections of moments, in the order of the registry.

    What each correction made last is kept in `made`: the next candidate may begin with the same corrections.
    """
    for name, strength in strengths.of_kind("moments").nonzero():
        last = None if made is None else made.get(name)
        if last is None or last.base is not moments or last.strength != strength:
            apply = CORRECTIONS[name].apply
            assert apply is not None
            last = Made(moments, strength, apply(moments, strength, prepared.get(name)))
            if made is not None:
                made[name] = last
        moments = last.moments
    return moments


def attenuation_rule(alphas: Iterable[float], n_features: int, feature_groups: Any = None) -> CorrectedRule:
    r"""Return the rule of the paper, the leading subspaces of :math:`S - \alpha \mathcal D(S)`."""
    labels = column_labels(feature_groups, n_features)
    return CorrectedRule(
        [Strengths(attenuation=alpha) for alpha in alphas],
        {} if labels is None else {ATTENUATION.name: labels},
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


def may_be_pca(U: Any, moments: Moments) -> bool:
    r"""Return whether a basis may span PCA's subspace, to the sine of :func:`same_subspace`.

    If :math:`\theta` is the largest angle to a subspace that S maps into itself,
    :math:`\|S U - U U^\top S U\| \le \sin\theta \, \|S\|`, and no norm of S is above its trace.
    """
    image = moments.apply(U)
    outside = image - U @ (U.T @ image)
    squares = np.linalg.eigvalsh(to_host(outside.T @ outside))
    return bool(squares[-1] <= (_LARGEST_SINE * moments.total_variance) ** 2)


def mean_subspace(subspaces: Sequence[Subspace], weights: Sequence[float], moments: Moments) -> Subspace:
    r"""Return the leading subspace of :math:`\sum_k w_k (P_k S P_k)^{1/2}`, with :math:`P_k = U_k U_k^\top`.

    S is the covariance of the moments: a direction counts by the standard deviation along it, as well as by
    the weights of the subspaces that hold it. With :math:`R_k R_k^\top = (U_k^\top S U_k)^{1/2}` and the
    matrices :math:`w_k^{1/2} U_k R_k` side by side as B, this mean is :math:`B B^\top`; its leading
    eigenvectors come from those of the small matrix :math:`B^\top B`.
    """
    if len(subspaces) == 1:
        return subspaces[0]
    rank = len(subspaces[0].values)
    pairs = zip(subspaces, weights, strict=True)
    B = np.hstack([sqrt(weight) * _by_deviation(subspace.basis, moments) for subspace, weight in pairs])
    values, vectors = np.linalg.eigh(B.T @ B)
    values, vectors = values[::-1], vectors[:, ::-1]
    return Subspace(
        orthonormal(B @ vectors[:, :rank], dependent=0.0),
        None,
        values[:rank],
        float(values[rank - 1] - values[rank]),
        all(subspace.tied for subspace in subspaces),
        max(subspace.shortfall for subspace in subspaces),
    )


def _by_deviation(basis: Any, moments: Moments) -> Any:
    r"""Return U R with :math:`R R^\top = (U^\top S U)^{1/2}`."""
    variances, rotation = np.linalg.eigh(moments.compress(basis))
    # Directions without variance must count a little, or nothing would define the subspace there.
    variances = np.maximum(variances, _LEAST_VARIANCE * variances[-1])
    return basis @ (rotation * variances**0.25)
