"""What the page shows, computed: PCA beside attenuated PCA on the rows of a fit."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils.validation import check_is_fitted

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._correct.family import MatrixFamily
from attenua._correct.feature_groups import column_labels
from attenua._correct.strengths import NAMED_STRENGTHS
from attenua._data.checks import checked_matrix
from attenua._data.moments import Moments, in_data_units
from attenua._data.rows import HostRows
from attenua._estimate.axes import PrincipalAxes, principal_axes
from attenua._select.rule import AttenuationRule
from attenua.paired import PairedGain, paired_gain
from attenua.report.leakage import Leakage, leakage
from attenua.theory import PlugInReport
from attenua.theory.plugin import plug_in_report

Array = NDArray[np.float64]

# The theory costs about p^3 for every strength and bootstrap sample: beyond these numbers of columns the
# page goes without a band, and then without the theory.
MOST_COLUMNS_BAND, MOST_COLUMNS_THEORY = 128, 400
_EXAMPLES = 6


@dataclass(frozen=True)
class Examples:
    """Held-out rows and their reconstructions by fits that did not see them."""

    rows: NDArray[np.intp]
    original: Array
    pca: Array
    attenuated: Array
    pca_error: Array
    attenuated_error: Array
    n_held_out: int
    n_better: int


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
            f"estimator must be an AttenuatedPCA or an AttenuatedPCACV; got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    rows, names = checked_matrix(X)
    names = _names(estimator, names, feature_names, rows.shape[1])
    moments = HostRows(rows, feature_names=names).moments()
    _check_same_rows(estimator, moments, rows.shape)
    labels = column_labels(estimator.feature_groups, rows.shape[1])
    validation, paired = _validation(estimator, rows, groups)
    alpha = strength_of(estimator)
    shown = alpha or _best_but_pca(validation)
    rank = int(estimator.n_components_)
    pair = AttenuationRule(np.array([0.0, shown]), labels)
    found = dict(pair.subspaces(moments, rank))
    pca, attenuated = (principal_axes(moments, found[i]) for i in (0, 1))
    attenuated = _turned_towards(pca, attenuated)
    theory, note = _theory(rows, rank, labels, validation.alphas_, random_state)
    n = rows.shape[0]
    spectrum = _spectra(pair, moments, rank, n)
    outside = attenuated.components - (attenuated.components @ pca.components.T) @ pca.components
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
        angles=np.degrees(np.arcsin(np.clip(np.linalg.svd(outside, compute_uv=False), 0, 1))),
        spectrum_before=spectrum[0],
        spectrum_after=spectrum[1],
        variances=in_data_units(moments.variances * n / (n - 1), moments.unit),
        leakage=leakage(moments, found[0].basis, labels),
        gap=float(in_data_units(found[0].gap, moments.unit)),
        theory=theory,
        theory_note=note,
        examples=_examples(rows, groups, rank, shown, estimator.feature_groups, random_state),
    )


def _names(estimator: Any, from_data: list[str] | None, given: Any, p: int) -> list[str]:
    names = given if given is not None else getattr(estimator, "feature_names_in_", from_data)
    names = [f"column {number}" for number in range(1, p + 1)] if names is None else [str(n) for n in names]
    if len(names) != p:
        raise ValueError(f"feature_names must name each of the {p} columns; got {len(names)} names.")
    return names


def _check_same_rows(estimator: Any, moments: Moments, shape: tuple[int, int]) -> None:
    if shape != (estimator.n_samples_, estimator.n_features_in_):
        raise ValueError(
            f"X must be the rows the estimator was fitted on, {estimator.n_samples_} x "
            f"{estimator.n_features_in_}; got {shape[0]} x {shape[1]}."
        )
    mean, spread = moments.mean * moments.unit, np.sqrt(moments.variances.max()) * moments.unit
    tolerance = 1e-3 if estimator.mean_.dtype == np.float32 else 1e-6
    if not np.allclose(mean, estimator.mean_, rtol=tolerance, atol=tolerance * spread):
        raise ValueError("X must be the rows the estimator was fitted on; their mean is not its mean_.")


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


def _turned_towards(pca: PrincipalAxes, attenuated: PrincipalAxes) -> PrincipalAxes:
    """Give the attenuated components the signs that make them comparable with PCA's."""
    signs = np.where(np.einsum("ij,ij->i", pca.components, attenuated.components) < 0, -1.0, 1.0)
    return PrincipalAxes(
        attenuated.components * signs[:, None],
        attenuated.explained_variance,
        attenuated.explained_variance_ratio,
    )


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


def _examples(
    X: Any, groups: Any, rank: int, shown: float, feature_groups: Any, random_state: int
) -> Examples:
    """Reconstruct rows that were held out, from the most improved to the most worsened in equal steps."""
    splitter = (ShuffleSplit if groups is None else GroupShuffleSplit)(
        1, test_size=0.2, random_state=random_state
    )
    train, held = next(splitter.split(np.empty(X.shape[0]), groups=groups))
    rank = min(rank, len(train))
    rows = X[held].toarray() if sp.issparse(X) else np.asarray(X[held], dtype=float)
    rebuilt = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The cut at n_components")
        for alpha in (0.0, shown):
            model = AttenuatedPCA(rank, alpha=alpha, feature_groups=feature_groups).fit(X[train])
            rebuilt.append(model.inverse_transform(model.transform(rows)))
    errors = [np.sum((rows - image) ** 2, axis=1) for image in rebuilt]
    change = errors[1] - errors[0]
    places = np.linspace(0, len(held) - 1, min(_EXAMPLES, len(held))).round().astype(int)
    picked = np.argsort(change, kind="stable")[places]
    return Examples(
        rows=held[picked] + 1,
        original=rows[picked],
        pca=rebuilt[0][picked],
        attenuated=rebuilt[1][picked],
        pca_error=errors[0][picked],
        attenuated_error=errors[1][picked],
        n_held_out=len(held),
        n_better=int((change < 0).sum()),
    )
