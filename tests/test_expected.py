"""What is expected before fitting: traits by hand, the nearest cells by brute force."""

import numpy as np
import pytest

from attenua import expected_gain
from attenua.expected import MOST_OF_ONE, N_SIMILAR, TRAITS, Cells, _cells_of_the_collection, traits_of


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((40, 12)) * np.linspace(1, 3, 12)


def test_traits_by_hand():
    # Column one has +-1, column two +-2 and zeros: variances 1 and 2, kurtosis 1 and 2.
    X = np.array([[1, 2], [-1, 2], [1, -2], [-1, -2], [1, 0], [-1, 0], [1, 0], [-1, 0]], float)
    traits = traits_of(np.column_stack([X, np.full(8, 7.0)]), 1)
    assert traits == pytest.approx(
        {
            "rows": 8,
            "columns": 3,
            "rank": 1,
            "tails": np.log(1.5),
            "spread": np.log(2) / 2,
            "gap": 0.5,
        }
    )


def test_traits_where_fewer_directions_vary_than_are_kept():
    X = np.zeros((9, 6))
    X[:, 0] = np.arange(9)
    assert traits_of(X, 3)["gap"] == 1
    with pytest.raises(ValueError, match="no column that varies"):
        traits_of(np.ones((9, 6)), 3)


@pytest.mark.parametrize("factor", [1e-160, 1e160])
def test_traits_do_not_depend_on_the_unit(rows, factor):
    assert traits_of(rows * factor, 3) == pytest.approx(traits_of(rows, 3))


def random_cells(n, seed=0):
    random = np.random.default_rng(seed)
    return [
        {"data": f"set {random.integers(12)}", "ordered": str(random.integers(2)), "gain": random.normal()}
        | {trait: np.exp(random.normal()) for trait in TRAITS}
        for _ in range(n)
    ]


def place(traits):
    return [traits[t] if t in ("tails", "spread", "gap") else np.log(traits[t]) for t in TRAITS]


def test_similar_cells_by_brute_force():
    records = random_cells(200)
    asked = random_cells(1, seed=1)[0]
    places, own = np.array([place(record) for record in records]), np.array(place(asked))
    distance = (((places - own) / places.std(axis=0)) ** 2).sum(axis=1)
    wanted, names = [], []
    for cell in sorted(range(200), key=lambda i: distance[i]):
        name = records[cell]["data"]
        if records[cell]["ordered"] == "1" and names.count(name) < MOST_OF_ONE and len(wanted) < N_SIMILAR:
            wanted.append(records[cell]["gain"])
            names.append(name)
    expected = Cells(records).expected(asked, ordered=True)
    assert expected.n_cells == len(wanted) == N_SIMILAR
    assert expected.gain == pytest.approx(np.median(wanted))
    assert expected.quartiles == pytest.approx(tuple(np.percentile(wanted, [25, 75])))
    assert expected.n_losses == sum(gain < -1 for gain in wanted)
    assert expected.like == tuple(dict.fromkeys(names))


def test_the_table_is_whole():
    cells = _cells_of_the_collection()
    assert len(cells.gains) > 300
    assert len(set(cells.data)) >= 40
    assert np.isfinite(cells.gains).all()


def test_only_cells_with_the_same_order_are_looked_at(rows):
    cells = _cells_of_the_collection()
    ordered = {name for name, is_so in zip(cells.data, cells.ordered, strict=True) if is_so}
    assert set(expected_gain(rows, 3, neighbours="line").like) <= ordered
    assert not set(expected_gain(rows, 3).like) & ordered


def test_words(rows):
    expected = expected_gain(rows, 3)
    assert str(expected).startswith("On the 20 most similar cells, the corrections removed ")
    assert f"{expected.n_losses} of them lost more than 1%" in str(expected)
    assert not expected.beyond
    far = expected_gain(np.random.default_rng(0).standard_normal((4_000, 6)), 2)
    assert far.beyond == ("rows",)
    assert "No cell comes near yours in rows" in str(far)


@pytest.mark.parametrize("rank", [0, 12, 2.5, "3", True])
def test_a_rank_that_cannot_be(rows, rank):
    with pytest.raises(ValueError, match="n_components must be a whole number from 1 to 11 for 40 rows"):
        expected_gain(rows, rank)


def test_neighbours_that_do_not_fit_are_refused(rows):
    with pytest.raises(ValueError, match="neighbours"):
        expected_gain(rows, 3, neighbours=(3, 5))


def test_frames_and_bad_rows(rows):
    import pandas as pd

    assert str(expected_gain(pd.DataFrame(rows), 3)) == str(expected_gain(rows, 3))
    rows[3, 4] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        expected_gain(rows, 3)
