"""Reading the store, and averages of cells and data sets by hand."""

import numpy as np
import pandas as pd
import pytest

from attenua_evidence.report import pieces
from attenua_evidence.results import (
    cell_means,
    cell_table,
    data_means,
    fitted,
    judged_part,
    pair,
    parts_of,
    read_lines,
    rivals_of,
)


def test_averages_of_draws_cells_and_data_sets(lines, store, tmp_path):
    # Draws cells and data sets.
    mine = fitted(lines, "recommended")
    assert cell_means(mine).to_dict() == {
        ("alpha", 16, 2): 15,
        ("alpha", 16, 5): 5,
        ("beta", 16, 2): -2,
        ("gamma", 16, 2): 2,
    }
    assert data_means(mine).to_dict() == {"alpha": 10, "beta": -2, "gamma": 2}
    assert data_means(mine, "centroid").to_dict() == pytest.approx({"alpha": 0.6, "beta": 0.4})
    # A draw with little excess risk counts for little.
    mine = fitted(lines, "recommended").loc[[("alpha", 16, 2, 0), ("alpha", 16, 2, 1)]]
    mine = mine.assign(reference=[9.0, 6.0], risk=[10.5, 9.0])  # gains of -50% of 1 and 25% of 4
    assert cell_means(mine).tolist() == [10]
    # A gain that is rounding is none.
    table = pd.read_csv(store / "beta-16-0.csv").assign(risk=10 - 1e-10)
    table.to_csv(tmp_path / "beta-16-0.csv", index=False)
    assert (cell_means(fitted(read_lines(tmp_path), "recommended")) == 0).all()


def test_pairs_parts_and_methods(final, lines, open_parts):
    # Pairs are of the same draws.
    robust, recommended = pair(final, "robust", "recommended")
    assert list(robust.index) == list(recommended.index) == [("alpha", 16, 2, 0)]
    assert recommended["gain"].tolist() == [10]
    # Parts and methods.
    assert list(parts_of(lines)) == ["final", "develop", "all"]
    assert (judged_part(lines), judged_part(open_parts)) == ("final", "all")
    assert rivals_of(lines) == ["robust"]


def test_published_cells(lines):
    cells = cell_table(lines).set_index(["data", "rank", "method"])
    robust = cells.xs("robust", level="method")
    assert robust.index.tolist() == [("gamma", 2), ("alpha", 2), ("alpha", 5)]
    assert robust["draws"].tolist() == [2, 2, 2]
    assert robust["fitted"].tolist() == [2, 1, 0]
    # Its own centre takes 1 of an excess risk of 5: 20 points.
    np.testing.assert_equal(robust["own_gain"].to_numpy(), [-80, 50, np.nan])
    assert cells["order"].loc[("beta", 2, "PCA")] == ""
    assert np.isnan(cells["own_gain"].loc[("beta", 2, "PCA")])


def test_a_store_may_be_older_than_a_correction(store, tmp_path):
    for file in store.glob("*.csv"):
        table = pd.read_csv(file)
        is_newer = table["method"] == "without damping"
        table[~is_newer].drop(columns="damping").to_csv(tmp_path / file.name, index=False)
    older = read_lines(tmp_path)
    assert (older["damping"] == 0).all()
    assert (fitted(older, "recommended").loc["alpha", "smoothing"] == 0.5).all()
    assert "without damping" not in pieces(older)["corrections"]


def test_bad_stores_are_refused(store, tmp_path):
    with pytest.raises(FileNotFoundError, match="no results"):
        read_lines(tmp_path)
    table = pd.read_csv(store / "alpha-16-0.csv")
    table.drop(columns=["risk", "seconds"]).to_csv(tmp_path / "alpha-16-0.csv", index=False)
    with pytest.raises(ValueError, match="has no columns risk, seconds"):
        read_lines(tmp_path)
    table.assign(risk=np.inf).to_csv(tmp_path / "alpha-16-0.csv", index=False)
    with pytest.raises(ValueError, match="fitted line without a finite risk: alpha, 16 rows, rank 2"):
        read_lines(tmp_path)
