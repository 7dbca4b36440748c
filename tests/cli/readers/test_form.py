"""Headers of numbers are found, and rows of data are not taken for headers."""

from itertools import permutations

import numpy as np
import pytest
from sklearn import datasets

from attenua.cli.readers import TableError, read_table


def table(tmp_path, rows, above=None, **options):
    lines = [] if above is None else [",".join(map(str, above))]
    lines += [",".join(map(str, row)) for row in np.asarray(rows).tolist()]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    return read_table(tmp_path / "x.csv", **options)


def spectra(n=30, p=60, seed=0):
    """Smooth curves with peaks and a little noise, as of an instrument, with three decimals."""
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, 1, p)
    centres = rng.uniform(0, 1, (n, 4, 1))
    peaks = rng.uniform(0.2, 1, (n, 4, 1)) * np.exp(-(((axis - centres) / 0.1) ** 2))
    return np.round(peaks.sum(axis=1) + 0.01 * rng.standard_normal((n, p)), 3)


def growth(n=30, p=40, seed=0):
    """Curves that add up: every row increases."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.uniform(0.01, 1, (n, p)), axis=1)


REAL = {name: getattr(datasets, f"load_{name}") for name in ("iris", "wine", "digits")}


def real(name):
    return REAL[name]().data


MADE = {
    "spectra in counts": np.round(65_000 * spectra()),
    "slopes": np.linspace(0, 1, 50) * np.random.default_rng(1).uniform(1, 9, (20, 1)),
    "growth that ends in a plateau": np.minimum(growth(), 8.0),
    "sorted scores": np.sort(np.random.default_rng(2).integers(0, 30, (30, 8)), axis=1),
    "counting": np.arange(60).reshape(10, 6),
    "rankings": np.array(list(permutations(range(1, 6)))),
    "an outlier first": np.vstack([40 + growth(1, 40), spectra(30, 40)]),
}
HEADERS = {
    "wavelengths": 400 + 2 * np.arange(60),
    "wavenumbers that fall": np.round(3999.64 - 1.9285 * np.arange(60), 2),
    "wavelengths of a prism": np.round(345.17 + 0.2213 * np.arange(60) - 6e-5 * np.arange(60) ** 2, 2),
    "inverse wavenumbers": np.round(1e7 / (9000 - 50 * np.arange(60)), 3),
    "octaves": np.round(20 * 2 ** (np.arange(60) / 6), 2),
    "years": np.arange(1960, 2020),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_no_row_of_a_real_table_is_taken_for_a_header(tmp_path, name):
    rows = real(name)
    below = np.delete(rows, np.s_[201:], axis=0)
    for first in range(0, len(rows), 29):
        found = table(tmp_path, np.vstack([rows[first], below]))
        assert found.names is None
        assert found.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_no_row_of_a_made_table_is_taken_for_a_header(tmp_path, name):
    rows = MADE[name]
    for first in range(0, len(rows), 5):
        found = table(tmp_path, np.vstack([rows[first:], rows[:first]]))
        assert found.names is None
        assert found.X.shape == rows.shape


@pytest.mark.parametrize(("place", "name"), list(enumerate(HEADERS)))
def test_a_header_of_numbers_is_found_and_noted(tmp_path, place, name):
    rows = [spectra(), 3 + 0.1 * growth(30, 60)][place % 2]
    found = table(tmp_path, rows, HEADERS[name])
    assert found.names == [str(number) for number in HEADERS[name].tolist()]
    np.testing.assert_array_equal(found.X, rows)
    assert found.notes[0].startswith("the first row looks like a header of numbers: ")
    assert "--no-header reads it as data" in found.notes[0]
    as_data = table(tmp_path, rows, HEADERS[name], header=False)
    assert as_data.names is None
    assert as_data.notes == ()
    np.testing.assert_array_equal(as_data.X, np.vstack([HEADERS[name], rows]))


@pytest.mark.parametrize(("name", "start"), [("wine", 0), ("digits", 1)])
def test_the_numbers_that_pandas_writes_for_names(tmp_path, name, start):
    """Too few columns, as in iris, are not enough to tell."""
    rows = real(name)
    found = table(tmp_path, rows, np.arange(start, rows.shape[1] + start))
    assert found.names is not None
    np.testing.assert_array_equal(found.X, rows)


def test_a_doubtful_first_row_is_data_and_noted(tmp_path):
    masses = np.sort(np.random.default_rng(5).uniform(100, 900, 40)).round(2)
    counts = np.random.default_rng(6).poisson(500, (20, 40)) + 0.5
    found = table(tmp_path, counts, masses)
    assert found.names is None
    assert "is read as data; if it is a header of numbers, give --header" in found.notes[0]
    told = table(tmp_path, counts, masses, header=True)
    assert told.names == [str(mass) for mass in masses]
    assert told.notes == ()


@pytest.mark.parametrize("n_columns", [3, 8])
def test_a_count_of_the_columns_is_noted(tmp_path, n_columns):
    rows = np.random.default_rng(7).integers(-2000, 2000, (20, n_columns))
    found = table(tmp_path, rows, np.arange(n_columns))
    assert found.names is None
    assert found.notes[0].startswith("the first row, 0, 1, 2, ..., is read as data; ")


def test_a_row_of_text_and_numbers_is_a_header_but_noted(tmp_path):
    (tmp_path / "x.csv").write_text("s1,2.5,1.5,3\ns2,3.5,4.5,1\ns3,1.0,2.0,1\n")
    found = read_table(tmp_path / "x.csv", id_column="1")
    assert found.X.shape == (2, 3)
    assert found.notes == (
        "the first row is read as the header: s1, 2.5, 1.5, ...; --no-header reads it as data.",
    )
    assert read_table(tmp_path / "x.csv", id_column="1", header=False).X.shape == (3, 3)


@pytest.mark.parametrize("header", [None, False])
def test_a_first_row_of_data_that_lacks_a_cell_is_refused(tmp_path, header):
    path = tmp_path / "x.txt"
    path.write_text("2.5 3.5\n1.5 2.5 3.5\n4.5 5.1 6.1\n")
    with pytest.raises(TableError, match=r"row 2 \(line 2\) has 3 cells, but the first row has 2"):
        read_table(path, header=header)


def test_a_first_row_with_a_missing_cell_is_data(tmp_path):
    (tmp_path / "x.csv").write_text("1,NA,3\n4,5,6\n7,8,9\n")
    assert read_table(tmp_path / "x.csv", missing="drop-rows").X.tolist() == [[4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize(
    "first",
    [
        "-1.7e308,-1e308,-1e307,0,1e307,2e307,3e307,4e307,1e308,1.7e308",
        "1e-310,2e-310,4e-310,5e-310,6e-310,7e-310,8e-310,9e-310,95e-311,98e-311",
    ],
)
def test_a_first_row_beyond_what_can_be_judged_is_data(tmp_path, first):
    """Without a warning of numpy, which would be an error here."""
    (tmp_path / "x.csv").write_text(f"{first}\n" + "1,2,1,2,1,2,1,2,1,3\n" * 9)
    assert read_table(tmp_path / "x.csv").X.shape == (10, 10)
