"""PCA, the paper's strength, and the corrections with parts of their search left out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua_evidence.outcome import Array, Fit, Outcome, attempt
from attenua_evidence.strengths import CORRECTIONS

Order = str | tuple[int, ...] | None

ORDERED = "smoothing"  # the correction that needs an order of the columns
CORE = ("PCA", "paper's strength", "default", "recommended")


class Rows(NamedTuple):
    """What a method may look at.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows to fit.
    groups : ndarray or None
        Group of each row; folds keep groups whole.
    order : None, "line" or tuple of int
        Which columns are neighbours, as in :class:`attenua.CorrectedPCA`.
    """

    X: Array
    groups: NDArray[Any] | None = None
    order: Order = None

    @property
    def n_folds(self) -> int:
        """Five folds, or one for each group where there are fewer groups."""
        return 5 if self.groups is None else min(5, len(np.unique(self.groups)))


class Method(NamedTuple):
    """How a method of ours is fitted, in words and as a function.

    Attributes
    ----------
    what : str
        What it is, for the store's settings.
    fit : callable
        ``(rows, rank) -> Fit``.
    """

    what: str
    fit: Callable[[Rows, int], Fit]


def pca(rows: Rows, rank: int) -> Fit:
    """Return ordinary PCA, to which all are compared."""
    model = CorrectedPCA(rank).fit(rows.X)
    return Fit(model.mean_, model.components_)


def papers_strength(rows: Rows, rank: int) -> Fit:
    """Return diagonal attenuation at the strength of the least held-out risk."""
    model = AttenuatedPCACV(rank, cv=rows.n_folds).fit(rows.X, groups=rows.groups)
    return Fit(model.mean_, model.components_, {"attenuation": float(model.alpha_)})


def corrected(rows: Rows, rank: int, **options: Any) -> Fit:
    """Return the corrections at strengths that held-out rows choose, with options of CorrectedPCACV."""
    model = CorrectedPCACV(rank, **{"cv": rows.n_folds, **options}).fit(rows.X, groups=rows.groups)
    # The strengths of the choice with the largest weight.
    return Fit(model.mean_, model.components_, model.choices_[0])


def recommended(rows: Rows, rank: int, **options: Any) -> Fit:
    """Return the corrections with the order of the columns, where they have one."""
    return corrected(rows, rank, neighbours=rows.order, **options)


def four_times(rows: Rows) -> list[Any]:
    """Return the splits of folds that are drawn four times, with groups kept whole."""
    labels = np.arange(rows.X.shape[0]) if rows.groups is None else rows.groups
    folds = (GroupKFold(rows.n_folds, shuffle=True, random_state=seed) for seed in range(4))
    return [split for some in folds for split in some.split(rows.X, groups=labels)]


def _without(name: str) -> Method:
    def fit(rows: Rows, rank: int) -> Fit:
        left_out = {name} if rows.order is not None else {name, ORDERED}
        return recommended(rows, rank, corrections=[other for other in CORRECTIONS if other not in left_out])

    return Method(f"recommended, {name} not tried", fit)


METHODS: dict[str, Method] = {
    "PCA": Method("CorrectedPCA, all strengths 0", pca),
    "paper's strength": Method("AttenuatedPCACV, all defaults", papers_strength),
    "default": Method("CorrectedPCACV, all defaults", corrected),
    "recommended": Method("CorrectedPCACV, neighbours where columns have an order", recommended),
    "repeated folds": Method(
        "recommended, folds drawn four times",
        lambda rows, rank: recommended(rows, rank, cv=four_times(rows)),
    ),
    "no share": Method(
        "recommended, no share of the votes for PCA", lambda rows, rank: recommended(rows, rank)
    ),
    **{f"without {name}": _without(name) for name in CORRECTIONS},
}


def same_by_definition(name: str, order: Order) -> str:
    """Return the method whose line is this one's too, or nothing: it need not be fitted twice."""
    if (name == "recommended" and order is None) or (name == f"without {ORDERED}" and order is not None):
        return "default"
    return ""


def fit_method(name: str, rows: Rows, rank: int) -> Outcome:
    """Fit a method of ours and say how it went."""
    if name == f"without {ORDERED}" and rows.order is None:
        return Outcome("unsuited", "columns have no order, so there is no smoothing to leave out")
    return attempt(lambda: METHODS[name].fit(rows, rank), rank)
