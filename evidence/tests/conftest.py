"""A store with three small data sets, whose averages can be computed by hand.

PCA's risk is 10 and the reference 5 everywhere, so that a gain of g percent adds -g / 2 percent to the test
error. "robust" fits one draw of the cell (alpha, rank 2), fails in the other draws of alpha, is unsuited for
beta, and does harm on gamma.
"""

import pandas as pd
import pytest

from attenua_evidence.results import WITHOUT, read_lines
from attenua_evidence.store import COLUMNS
from attenua_evidence.strengths import CORRECTIONS
from attenua_evidence.summary import compared

KINDS = {
    "alpha": ("final", "spectra", "line"),
    "beta": ("final", "table", ""),
    "gamma": ("develop", "counts", ""),
}
CELLS = [("alpha", 2), ("alpha", 5), ("beta", 2), ("gamma", 2)]
# Gains in two draws of each cell, in their order; "" is unsuited, None failed.
RECOMMENDED = [(10, 20), (5, 5), (-4, 0), (1, 3)]
DEFAULT = [(6, 6), (6, 6), (-4, 0), (1, 3)]
GAINS = {
    "PCA": [(0, 0)] * 4,
    "paper's strength": [(2, 2), (2, 2), (-3, -3), (0, 0)],
    "default": DEFAULT,
    "recommended": RECOMMENDED,
    "repeated folds": [(11, 21), (6, 6), (-3, 1), (2, 4)],
    "no share": RECOMMENDED,
    **dict.fromkeys(WITHOUT, RECOMMENDED),
    "without attenuation": [(9, 19), (4, 4), (-2, 2), (1, 3)],
    "without smoothing": [(6, 6), (6, 6), ("", ""), ("", "")],
    "robust": [(30, None), (None, None), ("", ""), (-100, -100)],
}
# Accuracies (nearest centroid, logistic regression) of PCA and of all others; gamma has no labels.
ACCURACIES = {"alpha": [(0.5, 0.7), (0.6, 0.8)], "beta": [(0.5, 0.7), (0.4, 0.7)]}


def line(data, rank, draw, method, gain):
    """Return one line of the store."""
    part, kind, order = KINDS[data]
    row = {"part": part, "data": data, "kind": kind, "unit": "one", "order": order, "rows": 16, "columns": 12}
    row |= {"rank": rank, "draw": draw, "method": method, "pca_risk": 10.0, "reference": 5.0, "seconds": 0.5}
    if gain in ("", None):
        return row | {"status": "unsuited" if gain == "" else "failed"}
    risk = 10 - gain / 20
    row |= {"status": "fitted", "n_components": rank, "gain": gain, "added": -gain / 2, "risk": risk}
    row |= {"own_risk": risk - 1 if method == "robust" else risk}
    if data in ACCURACIES:
        row |= dict(zip(("centroid", "logistic"), ACCURACIES[data][method != "PCA"], strict=True))
    if method == "recommended":
        row |= dict.fromkeys(CORRECTIONS, 0.0)
        row |= {"smoothing": 0.5 * (data == "alpha"), "damping": 0.25 * (data == "alpha" and draw == 0)}
    return row


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    for data in KINDS:
        for draw in (0, 1):
            rows = [
                line(data, rank, draw, method, gains[i][draw])
                for method, gains in GAINS.items()
                for i, (name, rank) in enumerate(CELLS)
                if name == data
            ]
            pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / f"{data}-16-{draw}.csv", index=False)
    # A draw that the groups of rows do not allow leaves a heading.
    pd.DataFrame(columns=COLUMNS).to_csv(folder / "gamma-32-0.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def lines(store):
    return read_lines(store)


@pytest.fixture(scope="session")
def final(lines):
    return lines[lines["part"] == "final"]


@pytest.fixture(scope="session")
def open_parts(lines):
    """Return the lines as they are before the final part is run."""
    return lines[lines["part"] != "final"]


@pytest.fixture(scope="session")
def methods(final):
    """Return the summaries of all methods on the final part."""
    return compared(final)
