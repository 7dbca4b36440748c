"""What the page shows, computed: the search of a fit, what its corrections did, and PCA next to it."""

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import polar
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils.validation import check_is_fitted

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._correct.registry import SEARCH_ORDER
from attenua._data.missing import PartialSplits, has_missing, partial_rows
from attenua._data.moments import Moments, in_data_units
from attenua._data.opening import checked_matrix
from attenua._data.rows import HostRows
from attenua._data.sums import divided
from attenua._estimate.words import Evidence, Recommendation, recommend, strengths_in_words
from attenua.report.choice import Search, Strengths, search_of, shared_parameters, strengths_of
from attenua.report.missing import MissingCells, find_missing
from attenua.report.spectra import Spectra, find_spectra

Array = NDArray[np.float64]

# Held-out rows that are shown.
_EXAMPLES = 6


@dataclass(frozen=True)
class Move:
    """What one correction did to the subspace of all rows."""

    correction: str
    strength: float
    angle: float  # largest principal angle, in degrees, to the subspace before it
    changes: Array  # how far the weights of each column moved, after rotating to match those before

    def most_moved(self, names: Sequence[str], count: int = 4) -> list[str]:
        """Return the names of the columns that moved most."""
        return [names[i] for i in np.argsort(-self.changes, kind="stable")[:count]]


@dataclass(frozen=True)
class Examples:
    """Held-out rows and their reconstructions by fits that did not see them: PCA, and another."""

    rows: NDArray[np.intp]
    original: Array  # NaN where a cell is missing
    pca: Array
    other: Array
    pca_error: Array
    other_error: Array
    n_held_out: int
    n_better: int


@dataclass(frozen=True)
class Findings:
    """Everything the page shows.

    ``strengths`` are those of the fit: given, or chosen by all held-out rows together. ``compared`` are the
    strengths that the page sets next to PCA: these or, where they are 0, those of the largest weight in the
    fit or, where it is PCA, those of the best other candidate. ``pca`` and ``other`` are the loadings
    of both, a row for each component, in the signs of the fit's; ``other`` is None where there is nothing to
    compare. ``spectra`` are there for attenuation alone.
    """

    kind: str
    search: Search
    strengths: dict[str, float]
    compared: dict[str, float]
    chosen_by_cv: bool
    is_pca: bool
    names: list[str]
    n_rows: int
    n_components: int
    grouped: bool
    pca: Array
    pca_ratio: Array
    other: Array | None
    angles: Array
    moves: list[Move]
    variances: Array
    missing: MissingCells | None
    examples: Examples | None
    spectra: Spectra | None

    @property
    def label(self) -> str:
        """What the subspace next to PCA's is called."""
        return strengths_in_words(self.compared) if self.is_pca else self.kind

    @property
    def corrections(self) -> list[str]:
        """Corrections in the fit."""
        averaged = _averaged(self.strengths, self.search, self.chosen_by_cv)
        return [name for name in self.strengths if any(choice[name] for choice in averaged)]

    @property
    def choices(self) -> list[tuple[str, float]]:
        """The choices that are averaged, in words, and the weight of each; the largest first."""
        words = map(strengths_in_words, self.search.choices)
        return list(zip(words, self.search.weights, strict=True))

    @property
    def recommendation(self) -> Recommendation:
        """Whether to use the fit on these data."""
        search = self.search
        return recommend(
            Evidence(
                verdict=search.verdict,
                is_pca=self.is_pca,
                turn=self.angles[0],
                expected=search.expected,
                is_clear=search.is_clear,
                chosen_otherwise=search.judged != self.strengths,
            )
        )


def find(
    estimator: Any,
    X: Any,
    *,
    feature_names: Any = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Findings:
    """Compute what the page shows about a fitted estimator and the rows it was fitted to."""
    if not isinstance(estimator, CorrectedPCA | CorrectedPCACV | AttenuatedPCA | AttenuatedPCACV):
        raise ValueError(
            "estimator must be a CorrectedPCACV, CorrectedPCA, AttenuatedPCACV or AttenuatedPCA; got "
            f"{type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    rows, names = checked_matrix(X)
    names = column_names(estimator, names, feature_names, rows.shape[1])
    n, rank = rows.shape[0], int(estimator.n_components_)
    with warnings.catch_warnings():
        # The fit has warned of ties, and of what missing cells leave open.
        warnings.simplefilter("ignore")
        moments = _moments_of(rows, names)
        check_rows(estimator, moments, rows.shape)
        search = search_of(estimator, rows, groups)
        strengths = strengths_of(estimator)
        chosen_by_cv = isinstance(estimator, CorrectedPCACV | AttenuatedPCACV)
        averaged = _averaged(strengths, search, chosen_by_cv)
        is_pca = not any(strength for choice in averaged for strength in choice.values())
        compared = _next_to_pca(strengths, averaged, search)
        stages = _stages(estimator, compared)
        fitted = [np.asarray(stage.fit(rows).components_, dtype=float) for stage in stages]
        pca, other = _loadings(estimator, stages, is_pca)
        end = fitted[-1] if is_pca else np.asarray(estimator.components_, dtype=float)
        examples, spectra = None, None
        # Errors are those of columns as the fit scaled them.
        scale = estimator.scale_
        scaled = rows if scale is None else divided(rows, scale)
        if len(stages) > 1:
            examples = held_out_examples(scaled, groups, [stages[0], stages[-1]], random_state)
        if isinstance(estimator, AttenuatedPCA | AttenuatedPCACV):
            own = moments if scale is None else moments.divided(scale)
            spectra = find_spectra(estimator, scaled, own, compared["attenuation"])
    return Findings(
        kind="attenuated" if spectra else "corrected",
        search=search,
        strengths=strengths,
        compared=compared,
        chosen_by_cv=chosen_by_cv,
        is_pca=is_pca,
        names=names,
        n_rows=n,
        n_components=rank,
        grouped=groups is not None,
        pca=pca,
        pca_ratio=stages[0].explained_variance_ratio_,
        other=other,
        angles=angles_between(fitted[0], end),
        moves=_moves(compared, fitted),
        variances=in_data_units(moments.variances * n / (n - 1), moments.unit),
        missing=find_missing(rows),
        examples=examples,
        spectra=spectra,
    )


def _moments_of(rows: Any, names: list[str]) -> Moments:
    """Return the moments of all rows, completed where cells are missing."""
    if has_missing(rows):
        return PartialSplits(partial_rows(rows, None, names), []).total
    return HostRows(rows, feature_names=names).moments()


def column_names(estimator: Any, from_data: list[str] | None, given: Any, p: int) -> list[str]:
    """Return the names of the columns: those given, else of the estimator, of the data, or numbers."""
    names = given if given is not None else getattr(estimator, "feature_names_in_", from_data)
    names = [f"column {number}" for number in range(1, p + 1)] if names is None else [str(n) for n in names]
    if len(names) != p:
        raise ValueError(f"feature_names must name each of the {p} columns; got {len(names)} names.")
    return names


def check_rows(estimator: Any, moments: Moments, shape: tuple[int, int]) -> None:
    """Raise an error where rows cannot be those that the estimator was fitted to."""
    if shape != (estimator.n_samples_, estimator.n_features_in_):
        raise ValueError(
            f"X must be the rows the estimator was fitted on, {estimator.n_samples_} x "
            f"{estimator.n_features_in_}; got {shape[0]} x {shape[1]}."
        )
    mean, spread = moments.mean * moments.unit, np.sqrt(moments.variances.max()) * moments.unit
    tolerance = 1e-3 if estimator.mean_.dtype == np.float32 else 1e-6
    if not np.allclose(mean, estimator.mean_, rtol=tolerance, atol=tolerance * spread):
        raise ValueError("X must be the rows the estimator was fitted on; their mean is not its mean_.")


def angles_between(components: Array, others: Array) -> Array:
    """Return the principal angles between two subspaces in degrees, decreasing."""
    outside = others - (others @ components.T) @ components
    return np.degrees(np.arcsin(np.clip(np.linalg.svd(outside, compute_uv=False), 0, 1)))


def held_out_examples(X: Any, groups: Any, pair: Sequence[Any], random_state: int) -> Examples | None:
    """Reconstruct held-out rows by PCA and another fit, from the most improved to the most worsened.

    The two estimators of ``pair`` are fitted to four fifths of the rows, of whole groups where rows have
    groups. The rows shown are spread evenly over the order of improvement. Errors are those of the seen
    cells. The result is None where a column has no cells in the rows that are fitted.
    """
    splitter = (ShuffleSplit if groups is None else GroupShuffleSplit)(
        1, test_size=0.2, random_state=random_state
    )
    train, held = next(splitter.split(np.empty(X.shape[0]), groups=groups))
    rows = X[held].toarray() if sp.issparse(X) else np.asarray(X[held], dtype=float)
    missing = find_missing(X[train])
    if missing is not None and missing.by_column.max() == 1:
        return None
    rebuilt = []
    for estimator in pair:
        rank = min(estimator.n_components, len(train))
        model = copy(estimator).set_params(n_components=rank).fit(X[train])
        rebuilt.append(model.inverse_transform(model.transform(rows)))
    errors = [np.nansum((rows - image) ** 2, axis=1) for image in rebuilt]
    change = errors[1] - errors[0]
    places = np.linspace(0, len(held) - 1, min(_EXAMPLES, len(held))).round().astype(int)
    picked = np.argsort(change, kind="stable")[places]
    return Examples(
        rows=held[picked] + 1,
        original=rows[picked],
        pca=rebuilt[0][picked],
        other=rebuilt[1][picked],
        pca_error=errors[0][picked],
        other_error=errors[1][picked],
        n_held_out=len(held),
        n_better=int((change < 0).sum()),
    )


def _averaged(strengths: Strengths, search: Search, chosen_by_cv: bool) -> list[Strengths]:
    """Return the choices that the fit averages; its own strengths, where it has one choice."""
    return search.choices if chosen_by_cv and search.choices else [strengths]


def _next_to_pca(strengths: Strengths, averaged: Sequence[Strengths], search: Search) -> Strengths:
    """Return the strengths that the page compares with PCA."""
    found = [each for each in (strengths, *averaged, search.best_but_pca or {}) if any(each.values())]
    return found[0] if found else strengths


def _stages(estimator: Any, strengths: Mapping[str, float]) -> list[CorrectedPCA]:
    """Return PCA, and what it becomes by one correction after another."""
    stages = [CorrectedPCA(int(estimator.n_components_), **shared_parameters(estimator))]
    for name in _taken(strengths):
        stage = copy(stages[-1])
        setattr(stage, name, strengths[name])
        stages.append(stage)
    return stages


def _taken(strengths: Mapping[str, float]) -> list[str]:
    return [name for name in SEARCH_ORDER if strengths.get(name)]


def _loadings(estimator: Any, stages: list[CorrectedPCA], is_pca: bool) -> tuple[Array, Array | None]:
    """Return the loadings of PCA and of what is compared with it, in the signs of the fit."""
    fit = np.asarray(estimator.loadings_, dtype=float).T
    if not is_pca:
        return _turned_towards(fit, stages[0].loadings_.T), fit
    return fit, _turned_towards(fit, stages[-1].loadings_.T) if len(stages) > 1 else None


def _turned_towards(components: Array, others: Array) -> Array:
    """Return the other components with the signs that make them comparable."""
    signs = np.where(np.einsum("ij,ij->i", components, others) < 0, -1.0, 1.0)
    return others * signs[:, None]


def _moves(strengths: Mapping[str, float], fitted: list[Array]) -> list[Move]:
    moves = []
    for name, before, after in zip(_taken(strengths), fitted[:-1], fitted[1:], strict=True):
        turn, _ = polar(after @ before.T)
        angle = float(angles_between(before, after)[0])
        changes = np.linalg.norm(turn.T @ after - before, axis=0)
        moves.append(Move(name, strengths[name], angle, changes))
    return moves
