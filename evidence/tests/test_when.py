"""Expected and observed gains, on a table small enough to check by hand."""

import numpy as np
import pandas as pd
import pytest

from attenua.expected import TRAITS, traits_of
from attenua_evidence import when
from attenua_evidence.draws import draw
from attenua_evidence.results import cell_means, fitted, read_lines
from attenua_evidence.run import run

from .sets import Entry, Table, spiked

ENTRIES = [
    Entry(name, Table(spiked(70, 12, seed=seed)), order="line" if seed % 2 else None, part=part)
    for seed, (name, part) in enumerate(
        {"one": "develop", "two": "develop", "three": "choose", "four": "choose", "five": "final"}.items()
    )
]


def table_of_cells(n_sets, seed=0):
    """Return cells whose gain is their spread, plus 100 where columns have an order."""
    random = np.random.default_rng(seed)
    lines = [
        {"part": "develop", "data": f"set {i}", "ordered": i % 2}
        | dict.fromkeys(TRAITS, 10.0)
        | {"spread": random.normal(), "rows": rows, "columns": random.integers(5, 50), "rank": rank}
        for i in range(n_sets)
        for rows in (16, 32, 64)
        for rank in (2, 5)
    ]
    frame = pd.DataFrame(lines).assign(tails=random.normal(size=len(lines)), gap=random.random(len(lines)))
    return frame.assign(gain=frame["spread"] + 100 * frame["ordered"])


def test_a_data_set_does_not_predict_itself():
    known = table_of_cells(30)
    odd = known["data"] == "set 0"
    predicted = when.left_out_predictions(known.assign(gain=known["gain"].mask(odd, 1e6)))
    assert len(predicted) == len(known)
    assert (predicted.loc[predicted["data"] == "set 0", "expected"].abs() < 10).all()


def test_errors_by_hand():
    frame = pd.DataFrame(
        {
            "data": ["a", "a", "b"],
            "ordered": [1, 1, 1],
            "gain": [0.0, 4.0, 10.0],
            "expected": [1.0, 1.0, 4.0],
            "by_order": [2.0, 2.0, 2.0],
            "constant": [0.0, 0.0, 0.0],
            "low": [0.0, 0.0, 0.0],
            "high": [2.0, 2.0, 12.0],
        }
    )
    # Errors of a are 1 and 3, of b 6: the mean over data sets is (2 + 6) / 2. Half of a and all of b are
    # inside.
    (row,) = when.error_table({"final": frame}).rows
    assert row == ("final", "in an order", "3", "6.0", "5.0", "4.0", "75%", "0.87")
    assert when.words({"final": frame}) == (
        "On the final part: where columns are in an order, `expected_gain` errs by 4.0 points on average, "
        "better than the median of such cells (5.0), and its rank correlation with the observed gain "
        "is 0.87.\n"
    )
    thirds = when.thirds_table({"final": frame}).rows
    assert [line[2:] for line in thirds[:1]] == [("1 to 1", "2.0", "2.0", "0 of 2")]


@pytest.mark.slow
def test_the_whole_command(tmp_path, monkeypatch):
    store, docs = tmp_path / "store", tmp_path / "docs"
    run(ENTRIES, tmp_path, store, draws=1, jobs=1, methods="core")
    monkeypatch.setattr(when, "TABLE", tmp_path / "cells.csv")
    cells = when.cells_with_traits(read_lines(store), ENTRIES, tmp_path)
    gains = cell_means(fitted(read_lines(store), "recommended"))
    found = cells.set_index(["data", "rows", "rank"])["gain"].to_dict()
    assert found == pytest.approx(gains.round(4).to_dict())
    first = cells.iloc[0]
    (entry,) = [entry for entry in ENTRIES if entry.name == first["data"]]
    X = draw(entry.read(tmp_path), entry.name, entry.unit, first["rows"], 0).X
    assert first["spread"] == pytest.approx(traits_of(X, int(first["rank"]))["spread"], abs=1e-4)
    when.main(ENTRIES, tmp_path, store, docs)
    table = pd.read_csv(tmp_path / "cells.csv")
    assert list(table) == ["data", "ordered", *TRAITS, "gain"]
    assert set(table["data"]) == {"one", "two", "three", "four"}
    text = (docs / "guide" / "_when_it_pays.md").read_text()
    assert text.startswith("On the final part:")
    assert f"| final | in no order | {(cells['part'] == 'final').sum()} |" in text
    assert (docs / "images" / "when-it-pays.png").exists()
