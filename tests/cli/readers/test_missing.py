"""Missing cells: counted, and kept, refused, left out or filled; codes that may stand for them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer

from attenua.cli.readers import TableError, read_table

WORDS = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "#NA"]


@pytest.fixture
def rows():
    """Twelve rows; cells are missing in rows 3 and 7, columns 1 and 3."""
    X = np.random.default_rng(0).standard_normal((12, 4)).round(4)
    X[2, [0, 2]] = X[6, 2] = np.nan
    return X


def saved(X, path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".npz":
        sp.save_npz(path, sp.csr_matrix(np.where(X > 0, X, np.where(np.isnan(X), X, 0))))
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{path.suffix[1:]}")(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
def test_kept_refused_counted_dropped_and_filled(rows, tmp_path, ending):
    path = saved(rows, tmp_path / f"x.{ending}")
    rows = np.where(rows < 0, 0, rows) if ending == "npz" else rows
    line = r" \(line 4\)" if ending == "csv" else ""
    column = "column 1" if ending.startswith("np") else "column 'a'"
    with pytest.raises(
        TableError,
        match=f"3 cells are missing, in 2 of 12 rows and 2 of 4 columns; the first is row 3{line}, {column}. "
        "Use --missing drop-rows .*--missing mean .* attenua impute",
    ):
        read_table(path, missing="fail")
    assert read_table(path, columns=["2,4"]).X.shape == (12, 2)

    def dense(X):
        return X.toarray() if sp.issparse(X) else X

    kept = read_table(path)
    np.testing.assert_array_equal(dense(kept.X), rows)
    assert kept.notes == ("3 cells are missing, in 2 of 12 rows and 2 of 4 columns.",)
    dropped = read_table(path, missing="drop-rows")
    np.testing.assert_array_equal(dense(dropped.X), rows[~np.isnan(rows).any(axis=1)])
    assert dropped.notes == ("2 of 12 rows dropped because of 3 missing cells.",)
    filled = read_table(path, missing="mean")
    np.testing.assert_allclose(dense(filled.X), SimpleImputer().fit_transform(rows), rtol=1e-14)
    assert filled.notes == ("3 missing cells, in 2 of 12 rows, filled with the column means of these rows.",)
    given = dense(read_table(path, missing="mean", means=[10, 20, 30, 40]).X)
    assert (given[2, 0], given[2, 2], given[6, 2]) == (10, 30, 30)


def test_the_words_for_nothing(tmp_path):
    lines = [
        f"{number},{word}" for number, word in enumerate([*WORDS, *[f"   {word} " for word in WORDS], "1.5"])
    ]
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join([*lines, "0.5,2.5"]))
    with pytest.raises(TableError, match="24 cells are missing, in 24 of 26 rows and 1 of 2 columns"):
        read_table(tmp_path / "x.csv", missing="fail")
    np.testing.assert_array_equal(
        read_table(tmp_path / "x.csv", missing="drop-rows").X, [[24, 1.5], [0.5, 2.5]]
    )


def test_groups_names_and_colours_lose_the_same_rows(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame["who"] = [f"s{number}" for number in range(12)]
    frame["site"] = np.repeat(["x", "y", "z"], 4)
    frame["age"] = np.arange(12.0)
    # A row that goes anyway needs no label.
    frame.loc[2, ["who", "site", "age"]] = [None, None, np.nan]
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = read_table(
        tmp_path / "x.csv", id_column="who", group_column="site", colour_by="age", missing="drop-rows"
    )
    kept = frame.dropna()
    assert list(table.ids) == list(kept["who"])
    assert list(table.groups) == list(kept["site"])
    np.testing.assert_array_equal(table.colours, kept["age"])
    with pytest.raises(TableError, match=r"row 3 \(line 4\), column 'site' has no group label"):
        read_table(tmp_path / "x.csv", id_column="who", group_column="site", drop=["age"], missing="mean")


def test_what_cannot_be_filled_or_left_out(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,\n2,\n3,\n")
    for way in ("mean", "keep"):
        with pytest.raises(TableError, match="column 'b' holds no number at all; leave it out with --drop"):
            read_table(tmp_path / "x.csv", missing=way)
    # What a model was fitted to does not depend on new rows.
    assert np.isnan(read_table(tmp_path / "x.csv", means=[1, 2]).X[:, 1]).all()
    with pytest.raises(TableError, match="has 0 rows without missing cells; at least 2 are needed"):
        read_table(tmp_path / "x.csv", missing="drop-rows")
    with pytest.raises(ValueError, match="missing must be one of keep, fail, drop-rows, mean; got 'zero'"):
        read_table(tmp_path / "x.csv", missing="zero")


def test_cells_too_large_for_a_mean(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,1.7e308\n2,1.7e308\n3,\n")
    with pytest.raises(TableError, match="column 'b' holds numbers too large for a mean"):
        read_table(tmp_path / "x.csv", missing="mean")


def test_the_error_says_whose_means_would_be_taken(rows, tmp_path):
    path = saved(rows, tmp_path / "x.csv")
    with pytest.raises(TableError, match="mean to fill the cells with the column means of these rows"):
        read_table(path, missing="fail")
    with pytest.raises(TableError, match="mean to fill the cells with the means of the model"):
        read_table(path, means=[10, 20, 30, 40], missing="fail")


NOTE = "outside the range of the other values: if it stands for missing, give --na"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([0.5, 1, 2, -999, 3], "-999"),
        ([0.5, 1, 2, 9999.0, 3], "9999"),
        ([10, 20, 30, 99, 40], None),  # once
        ([1, 2, 3, 99, 99], "99"),
        ([1, 2, 60, 99, 99], None),  # near the others
        ([-3, 1, 2, -99, -99], "-99"),
        ([0, 7, 50, -1, -1], "-1"),  # below all others
        ([0, 7, 50, -1, 3], None),
        ([-2, 7, 50, -1, -1], None),
        ([1, 1, 1, -1, -1], None),  # labels
        ([1, 2, 3, -998, 4], None),
        ([1, np.nan, 3, -999, 4], "-999"),
    ],
)
def test_codes_are_suspected_where_they_stand_out(tmp_path, values, code):
    np.save(tmp_path / "x.npy", np.column_stack([values, [1.5, 2.5, 3.5, 2.5, 1]]))
    table = read_table(tmp_path / "x.npy")
    np.testing.assert_array_equal(table.X[:, 0], values)  # whatever is suspected
    n = values.count(float(code or 0))
    note = f"column 1 has {code} in {n} row{'s' * (n > 1)}, {NOTE} {code}."
    assert [note for note in table.notes if "--na" in note] == ([note] if code else [])


def test_codes_of_several_columns_are_one_note_each(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 4))
    X[:2, :3], X[5, 1] = -999, 9999
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "x.csv", index=False)
    assert read_table(tmp_path / "x.csv").notes == (
        f"column 'a' and 2 more columns have -999 in 6 cells, {NOTE} -999.",
        f"column 'b' has 9999 in 1 row, {NOTE} 9999.",
    )
    table = read_table(tmp_path / "x.csv", na=[-999])
    np.testing.assert_array_equal(table.X, np.where(X == -999, np.nan, X))
    assert table.notes == (
        "6 cells are missing, in 2 of 12 rows and 3 of 4 columns.",
        f"column 'b' has 9999 in 1 row, {NOTE} 9999.",
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_codes_in_matrices(tmp_path, dtype):
    X = np.array([[1, -9], [4, 2], [3, 5]], dtype)
    np.save(tmp_path / "x.npy", X)
    found = read_table(tmp_path / "x.npy", na=[-9.0])
    np.testing.assert_array_equal(found.X, [[1, np.nan], [4, 2], [3, 5]])
    assert found.X.dtype == (np.float32 if dtype is np.float32 else float)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)
    sp.save_npz(tmp_path / "x.npz", sp.csr_matrix(X))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npz", na=[-9]).X.toarray(), found.X)
    with pytest.raises(TableError, match="--na 0 needs a dense matrix"):
        read_table(tmp_path / "x.npz", na=[0])
