"""What the page about a search shows, computed: its steps, what the accepted ones did, how sure that is."""

import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import polar
from sklearn.utils.validation import check_is_fitted

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._correct.corrections import CORRECTIONS, SEARCH_ORDER
from attenua._data.moments import in_data_units
from attenua._data.namespace import to_host
from attenua._data.opening import checked_matrix
from attenua._data.rows import HostRows
from attenua.report.compared import (
    Examples,
    angles_between,
    check_rows,
    column_names,
    held_out_examples,
    turned_towards,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Move:
    """What one correction did to the subspace of all rows.

    Attributes
    ----------
    correction : str
        The correction.
    strength : float
        Its strength.
    angle : float
        Largest principal angle, in degrees, to the subspace before it.
    gain : float
        Part of PCA's held-out risk that it and those before it remove; NaN where they were not compared.
    changes : ndarray of shape (n_features,)
        How far the weights of each column moved, after the components are turned to fit those before.
    """

    correction: str
    strength: float
    angle: float
    gain: float
    changes: Array


@dataclass(frozen=True)
class Choice:
    """Strengths that were chosen without some of the held-out parts (counted from 1)."""

    strengths: str
    parts: list[int]


@dataclass(frozen=True)
class SearchFindings:
    """Everything the page shows.

    ``strengths`` are those of the fit, ``search`` the fit itself or, where the strengths were given, one made
    for the page. ``other`` are the loadings of the fit, a row for each component, and ``pca`` those of PCA in
    the signs of the fit's.
    """

    search: CorrectedPCACV
    strengths: dict[str, float]
    chosen_by_cv: bool
    names: list[str]
    n_rows: int
    n_components: int
    n_splits: int
    grouped: bool
    pca: Array
    pca_ratio: Array
    other: Array
    angles: Array
    moves: list[Move]
    choices: list[Choice]
    gain_error: float
    left_out_error: float
    variances: Array
    examples: Examples | None

    @property
    def is_pca(self) -> bool:
        """Whether the fit is ordinary PCA: no correction, in none of the choices that are averaged."""
        averaged = self.search.choices_ if self.chosen_by_cv else [self.strengths]
        return not any(strength for choice in averaged for strength in choice.values())

    @property
    def expected(self) -> float | None:
        """Gain to expect of new rows; None where too few parts were held out to choose without one."""
        judged = len(self.search.choices_) > 1 or not any(self.search.corrections_.values())
        return self.search.left_out_gain_ if judged else None


def find_search(
    estimator: Any,
    X: Any,
    *,
    feature_names: Any = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> SearchFindings:
    """Compute what the page shows about a fitted estimator and the rows it was fitted to."""
    check_is_fitted(estimator)
    rows, names = checked_matrix(X)
    names = column_names(estimator, names, feature_names, rows.shape[1])
    moments = HostRows(rows, feature_names=names).moments()
    check_rows(estimator, moments, rows.shape)
    chosen_by_cv = isinstance(estimator, CorrectedPCACV)
    n, rank = rows.shape[0], int(estimator.n_components_)
    with warnings.catch_warnings():
        # A tie is the estimator's own, which has warned of it.
        warnings.filterwarnings("ignore", message="The cut at n_components")
        search = estimator if chosen_by_cv else _search_for(estimator, rows, groups)
        strengths = search.corrections_ if chosen_by_cv else _strengths_of(estimator)
        stages = _stages(estimator, strengths)
        fitted = [np.asarray(stage.fit(rows).components_, dtype=float) for stage in stages]
    gain_error, left_out_error = search._gain_errors()
    other = np.asarray(to_host(estimator.loadings_), dtype=float).T
    return SearchFindings(
        search=search,
        strengths=strengths,
        chosen_by_cv=chosen_by_cv,
        names=names,
        n_rows=n,
        n_components=rank,
        n_splits=len(search.cv_risk_folds_),
        grouped=groups is not None,
        pca=turned_towards(other, stages[0].loadings_.T),
        pca_ratio=stages[0].explained_variance_ratio_,
        other=other,
        angles=angles_between(fitted[0], np.asarray(to_host(estimator.components_), dtype=float)),
        moves=_moves(strengths, fitted, search),
        choices=_choices(search),
        gain_error=gain_error,
        left_out_error=left_out_error,
        variances=in_data_units(moments.variances * n / (n - 1), moments.unit),
        examples=_examples(rows, groups, stages, random_state),
    )


def in_words(strengths: Mapping[str, float]) -> str:
    """Return strengths as a text, PCA where all are 0."""
    taken = [f"{name.replace('_', ' ')} {strength:g}" for name, strength in strengths.items() if strength]
    return ", ".join(taken) or "PCA"


def _strengths_of(estimator: CorrectedPCA) -> dict[str, float]:
    return {name: float(getattr(estimator, name)) for name in CORRECTIONS}


def _search_for(estimator: CorrectedPCA, X: Any, groups: Any) -> CorrectedPCACV:
    """Return the search that an estimator with given strengths did not make."""
    model = CorrectedPCACV(
        int(estimator.n_components_),
        neighbours=estimator.neighbours,
        feature_groups=estimator.feature_groups,
    )
    return model.fit(X, groups=groups)


def _stages(estimator: Any, strengths: Mapping[str, float]) -> list[CorrectedPCA]:
    """Return PCA, and what it becomes by one correction after another."""
    common = {"neighbours": estimator.neighbours, "feature_groups": estimator.feature_groups}
    stages = [CorrectedPCA(int(estimator.n_components_), **common)]
    so_far: dict[str, Any] = {}
    for name in SEARCH_ORDER:
        if strengths[name]:
            so_far[name] = strengths[name]
            stages.append(CorrectedPCA(int(estimator.n_components_), **so_far, **common))
    return stages


def _moves(strengths: Mapping[str, float], fitted: list[Array], search: CorrectedPCACV) -> list[Move]:
    moves, so_far = [], dict.fromkeys(CORRECTIONS, 0.0)
    taken = [name for name in SEARCH_ORDER if strengths[name]]
    gains = 1 - _risks(search)
    for name, before, after in zip(taken, fitted[:-1], fitted[1:], strict=True):
        so_far[name] = strengths[name]
        place = _place(search, so_far)
        turn, _ = polar(after @ before.T)
        moves.append(
            Move(
                name,
                strengths[name],
                float(angles_between(before, after)[0]),
                float("nan") if place is None else float(gains[place]),
                np.linalg.norm(turn.T @ after - before, axis=0),
            )
        )
    return moves


def _place(search: CorrectedPCACV, strengths: Mapping[str, float]) -> int | None:
    """Return the place of some strengths among the candidates, or None."""
    wanted = [strengths[name] for name in CORRECTIONS]
    places = np.flatnonzero((to_host(search.candidates_) == wanted).all(axis=1))
    return int(places[0]) if places.size else None


def _risks(search: CorrectedPCACV) -> Array:
    """Return the held-out risks as parts of PCA's."""
    risk = np.asarray(to_host(search.cv_risk_), dtype=float)
    return risk / risk[0] if risk[0] > 0 else np.ones_like(risk)


def _choices(search: CorrectedPCACV) -> list[Choice]:
    """Return the different choices, the most frequent first."""
    parts = defaultdict(list)
    for number, choice in enumerate(search.choices_, start=1):
        parts[in_words(choice)].append(number)
    return [Choice(*item) for item in sorted(parts.items(), key=lambda item: (-len(item[1]), item[1]))]


def _examples(X: Any, groups: Any, stages: list[CorrectedPCA], random_state: int) -> Examples | None:
    return held_out_examples(X, groups, [stages[0], stages[-1]], random_state) if len(stages) > 1 else None
