"""What the page shows, computed: PCA beside attenuated PCA on the rows of a fit."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._correct.feature_groups import column_labels
from attenua._correct.strengths import NAMED_STRENGTHS
from attenua._data.moments import Moments, in_data_units
from attenua._data.opening import checked_matrix
from attenua._data.rows import HostRows
from attenua._estimate.axes import PrincipalAxes, principal_axes
from attenua._select.rule import AttenuationRule
from attenua._solve.family import MatrixFamily
from attenua.paired import PairedGain, paired_gain
from attenua.report.compared import (
    Examples,
    angles_between,
    check_rows,
    column_names,
    held_out_examples,
    turned_towards,
)
from attenua.report.leakage import Leakage, leakage
from attenua.theory import PlugInReport
from attenua.theory.plugin import plug_in_report

Array = NDArray[np.float64]

# The theory costs about p^3 for every strength and bootstrap sample: beyond these numbers of columns the
# page goes without a band, and then without the theory.
MOST_COLUMNS_BAND, MOST_COLUMNS_THEORY = 128, 400


@dataclass(frozen=True)
class Findings:
    """Everything the page shows.

    ``alpha`` is the strength of the fit. Where it is 0 there is nothing to compare, so that PCA is set beside
    the best of the other candidates; ``shown`` is the strength that is compared.
    """

    alpha: float
    shown: float
    names: list[str]
    n_rows: int
    n_components: int
    grouped: bool
    chosen_by_cv: bool
    validation: AttenuatedPCACV
    paired: PairedGain
    pca: PrincipalAxes
    attenuated: PrincipalAxes
    angles: Array
    spectrum_before: Array
    spectrum_after: Array
    variances: Array
    leakage: Leakage
    gap: float
    theory: PlugInReport | None
    theory_note: str
    examples: Examples

    @property
    def n_splits(self) -> int:
        """Held-out parts."""
        return self.paired.n_splits

    @property
    def loadings(self) -> tuple[Array, Array | None]:
        """Loadings of PCA and of the strength shown, where it is not PCA, a row for each component."""
        pca, other = (
            axes.components * np.sqrt(axes.explained_variance)[:, None]
            for axes in (self.pca, self.attenuated)
        )
        return pca, other if self.shown else None

    @property
    def n_parts_better(self) -> int:
        """Held-out parts that the strength shown reconstructs better than PCA does."""
        return self._of_shown.n_better

    @property
    def cost_of_shown(self) -> float:
        """What the strength shown adds to PCA's held-out risk, as a part of it."""
        return -self._of_shown.gain

    @property
    def _of_shown(self) -> PairedGain:
        return paired_gain(self.validation, self.shown)


def find(
    estimator: Any,
    X: Any,
    *,
    feature_names: Any = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Findings:
    """Compute what the page shows about a fitted estimator and the rows it was fitted to."""
    if not isinstance(estimator, AttenuatedPCA | AttenuatedPCACV):
        raise ValueError(
            "estimator must be a CorrectedPCACV, CorrectedPCA, AttenuatedPCACV or AttenuatedPCA; got "
            f"{type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    rows, names = checked_matrix(X)
    names = column_names(estimator, names, feature_names, rows.shape[1])
    moments = HostRows(rows, feature_names=names).moments()
    check_rows(estimator, moments, rows.shape)
    labels = column_labels(estimator.feature_groups, rows.shape[1])
    validation, paired = _validation(estimator, rows, groups)
    alpha = strength_of(estimator)
    shown = alpha or _best_but_pca(validation)
    rank = int(estimator.n_components_)
    pair = AttenuationRule(np.array([0.0, shown]), labels)
    found = dict(pair.subspaces(moments, rank))
    pca, attenuated = (principal_axes(moments, found[i]) for i in (0, 1))
    # The fit keeps its signs, which are those of its scores.
    if alpha:
        pca = replace(pca, components=turned_towards(attenuated.components, pca.components))
    else:
        attenuated = replace(attenuated, components=turned_towards(pca.components, attenuated.components))
    theory, note = _theory(rows, rank, labels, validation.alphas_, random_state)
    fits = [AttenuatedPCA(rank, alpha=a, feature_groups=estimator.feature_groups) for a in (0.0, shown)]
    n = rows.shape[0]
    spectrum = _spectra(pair, moments, rank, n)
    return Findings(
        alpha=alpha,
        shown=shown,
        names=names,
        n_rows=n,
        n_components=rank,
        grouped=groups is not None,
        chosen_by_cv=isinstance(estimator, AttenuatedPCACV),
        validation=validation,
        paired=paired,
        pca=pca,
        attenuated=attenuated,
        angles=angles_between(pca.components, attenuated.components),
        spectrum_before=spectrum[0],
        spectrum_after=spectrum[1],
        variances=in_data_units(moments.variances * n / (n - 1), moments.unit),
        leakage=leakage(moments, found[0].basis, labels),
        gap=float(in_data_units(found[0].gap, moments.unit)),
        theory=theory,
        theory_note=note,
        examples=held_out_examples(rows, groups, fits, random_state),
    )


def _validation(estimator: Any, X: Any, groups: Any) -> tuple[AttenuatedPCACV, PairedGain]:
    """Return the cross-validation of the fit, or one made for an estimator that had none."""
    if isinstance(estimator, AttenuatedPCACV):
        return estimator, paired_gain(estimator)
    model = AttenuatedPCACV(
        int(estimator.n_components_),
        alphas=np.append(NAMED_STRENGTHS["direct"], estimator.alpha),
        feature_groups=estimator.feature_groups,
    )
    with warnings.catch_warnings():
        # A tie is the estimator's own, which has warned of it.
        warnings.filterwarnings("ignore", message="The cut at n_components")
        model.fit(X, groups=groups)
    return model, paired_gain(model, strength_of(estimator))


def strength_of(estimator: Any) -> float:
    """Return the strength that an estimator chose or was given."""
    return float(estimator.alpha_ if isinstance(estimator, AttenuatedPCACV) else estimator.alpha)


def _best_but_pca(validation: AttenuatedPCACV) -> float:
    """Return the best strength other than 0, where there is one."""
    others = validation.cv_risk_[1:]
    return float(validation.alphas_[1 + np.argmin(others)]) if len(others) else 0.0


def _spectra(pair: AttenuationRule, moments: Moments, rank: int, n: int) -> list[Array]:
    """Return the leading eigenvalues of S and of T, some beyond the cut."""
    count = min(max(2 * rank, rank + 10), max(rank, 60), moments.n_features, max(n - 1, rank))
    if count < moments.n_features:
        values = [subspace.values for _, subspace in pair.subspaces(moments, count)]
    else:  # nothing is cut off, so that no subspace need be found, and none is
        family = MatrixFamily(moments, pair.strengths, pair.labels)
        values = [np.linalg.eigvalsh(family.member(k))[::-1] for k in range(2)]
    return [in_data_units(some * n / (n - 1), moments.unit) for some in values]


def _theory(
    X: Any, rank: int, labels: Any, alphas: Array, random_state: int
) -> tuple[PlugInReport | None, str]:
    n, p = X.shape
    if labels is not None:
        return None, "The theory covers attenuation of single variances, not of groups of columns."
    if p > MOST_COLUMNS_THEORY:
        return None, (
            f"Left out: with {p:,} columns the computation would take too long; it is made up to "
            f"{MOST_COLUMNS_THEORY}."
        )
    if rank >= p or n - 1 <= rank:
        return None, "The theory needs fewer components than columns, and more rows than components."
    samples = 0 if p > MOST_COLUMNS_BAND else 40 if p <= 64 else 20
    dense = X.toarray() if sp.issparse(X) else X
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            report = plug_in_report(
                dense,
                rank,
                alphas=alphas,
                n_bootstrap=samples,
                random_state=random_state,
            )
        except ValueError as error:
            return None, f"The theory does not apply to these data: {error}"
    note = "" if samples else (
        f"Without a band: with {p} columns its bootstrap would take too long; it is made up to "
        f"{MOST_COLUMNS_BAND}."
    )  # fmt: skip
    return report, note
