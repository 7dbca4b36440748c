"""Why attenuation helps or not: what it costs, what it does to the spectrum, what the theory expects."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._correct.columns import column_labels
from attenua._data.missing import has_missing
from attenua._data.moments import Moments, in_data_units
from attenua._select.steps import Step
from attenua.path import attenuation_path
from attenua.theory import PlugInReport
from attenua.theory.plugin import plug_in_report

Array = NDArray[np.float64]

# The theory takes about p^3 operations for every strength and bootstrap sample. With more columns than these
# the page has no band, and then no theory.
MOST_COLUMNS_BAND, MOST_COLUMNS_THEORY = 128, 400


@dataclass(frozen=True)
class Why:
    """What attenuation of a strength does, and what it costs."""

    alpha: float
    before: Array  # leading eigenvalues of S, some beyond the cut
    after: Array  # the same of the attenuated matrix
    leakage: "Leakage"
    gap: float  # the eigengap that resists the leakage
    theory: PlugInReport | None
    theory_note: str  # what is missing in the theory, and why


def find_why(estimator: Any, X: Any, moments: Moments, alpha: float, step: Step, random_state: int) -> Why:
    """Compute what attenuation of a strength does to the rows of a fit, and what the theory expects."""
    rank, groups = int(estimator.n_components_), estimator.feature_groups
    labels = column_labels(groups, X.shape[1])
    pca = attenuation_path(X, rank, alphas=[0.0])
    before, after = (_spectrum(X, moments, rank, strength, groups) for strength in (0.0, alpha))
    theory, note = _theory(X, rank, labels, np.array(step.strengths), random_state)
    return Why(
        alpha=alpha,
        before=before,
        after=after,
        leakage=leakage(moments, pca.components[0].T.astype(float), labels),
        gap=float(pca.gap[0]),
        theory=theory,
        theory_note=note,
    )


def _spectrum(X: Any, moments: Moments, rank: int, alpha: float, groups: Any) -> Array:
    """Return the leading eigenvalues of the attenuated matrix, divided by n - 1, some beyond the cut."""
    n, p = X.shape
    count = min(max(2 * rank, rank + 10), max(rank, 60), p, max(n - 1, rank))
    U = attenuation_path(X, count, alphas=[alpha], feature_groups=groups).components[-1].T.astype(float)
    # U spans the leading eigenvectors of T, so that U'TU has the leading eigenvalues.
    T = moments.compress(U) - alpha * U.T @ moments.part(column_labels(groups, p))(U)
    return in_data_units(np.linalg.eigvalsh(T)[::-1] * n / (n - 1), moments.unit)


def _theory(
    X: Any, rank: int, labels: Any, alphas: Array, random_state: int
) -> tuple[PlugInReport | None, str]:
    n, p = X.shape
    if labels is not None:
        return None, "The theory covers attenuation of single variances, not of groups of columns."
    if has_missing(X):
        return None, "The theory covers rows without missing cells."
    if p > MOST_COLUMNS_THEORY:
        too_many = f"Left out: with {p:,} columns it would take too long; the limit is {MOST_COLUMNS_THEORY}."
        return None, too_many
    if rank >= p or n - 1 <= rank:
        return None, "The theory needs fewer components than columns, and more rows than components."
    samples = 0 if p > MOST_COLUMNS_BAND else 40 if p <= 64 else 20
    dense = X.toarray() if sp.issparse(X) else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            report = plug_in_report(
                dense, rank, alphas=alphas, n_bootstrap=samples, random_state=random_state
            )
        except ValueError as error:
            return None, f"The theory does not apply to these data: {error}"
    no_band = (
        f"No band: with {p} columns its bootstrap would take too long; the limit is {MOST_COLUMNS_BAND}."
    )
    return report, "" if samples else no_band


@dataclass(frozen=True)
class Leakage:
    r"""The coupling :math:`L = P^\perp \mathcal D P` that attenuation adds, and the columns that cause it."""

    size: float  # Frobenius norm of L, in the unit of the variances
    shares: Array  # of each column in the squared norm; a negative share works against the others
    inside: Array  # P_ii, the part of each coordinate axis that lies in the subspace


def leakage(moments: Moments, basis: Array, labels: NDArray[np.intp] | None = None) -> Leakage:
    r"""Divide the leakage of a subspace among the coordinates.

    Attenuation subtracts :math:`\alpha \mathcal D`, the variances (or the within-group blocks) of
    :math:`S`. To first order it turns the subspace by :math:`L = P^\perp \mathcal D P` over the eigengaps.
    Since :math:`P^\perp P = 0`, equal variances do nothing: only their differences from their mean
    :math:`\bar d` count. With :math:`\operatorname{tr} L = 0`,

    .. math:: \|L\|_F^2 = \operatorname{tr}(\mathcal D L)
              = \sum_i \sum_j (\mathcal D - \bar d I)_{ij} L_{ji},

    and the inner sum is the share of coordinate :math:`i`; without groups it is
    :math:`(D_i - \bar d)(D_i P_{ii} - (P D P)_{ii})`.

    The columns of ``basis`` are orthonormal and span the subspace of PCA; ``labels`` are groups of columns.
    """
    U, variances = basis, moments.variances
    # Centred first, which keeps the digits of small differences between large variances.
    centre = variances.mean()
    within = moments.part(labels)
    DU = within(U) - centre * U
    LU = DU - U @ (U.T @ DU)  # L = LU @ U.T
    parts = np.einsum("ik,ik->i", U, within(LU) - centre * LU)
    total = float(np.sum(LU**2))
    negligible = total <= 1e-20 * float(np.sum(DU**2)) or total == 0
    return Leakage(
        size=0.0 if negligible else float(np.sqrt(total)) * moments.unit**2,
        shares=np.zeros_like(variances) if negligible else parts / total,
        inside=np.einsum("ij,ij->i", U, U),
    )
