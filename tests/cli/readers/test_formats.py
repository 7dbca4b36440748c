"""Every format gives the same table, and every error names the file, the row and the column."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from attenua.cli.readers import TableError, read_table

NAMES = ["age", "height", "weight"]


@pytest.fixture
def frame():
    return pd.DataFrame(np.random.default_rng(0).standard_normal((6, 3)), columns=NAMES)


def saved(frame, path):
    if path.suffix == ".npy":
        np.save(path, frame.to_numpy())
    elif path.suffix == ".npz":
        np.savez(path, frame.to_numpy())
    elif path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    else:
        write = {".csv": frame.to_csv, ".parquet": frame.to_parquet, ".feather": frame.to_feather}
        write[path.suffix](path, **({"index": False} if path.suffix == ".csv" else {}))
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".feather", ".npy", ".npz"])
def test_every_format_gives_the_same_numbers(frame, tmp_path, ending):
    path = saved(frame, tmp_path / f"x{ending}")
    table = read_table(path)
    np.testing.assert_array_equal(table.X, frame.to_numpy())
    assert table.names == (None if ending in (".npy", ".npz") else NAMES)
    assert table.groups is None
    assert table.source == str(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_by_name_position_and_range_and_groups_by_name(frame, tmp_path, ending):
    frame["subject"] = list("aabbcc")
    path = saved(frame, tmp_path / f"x{ending}")
    table = read_table(path, group_column="subject")
    assert table.names == NAMES
    assert list(table.groups) == list("aabbcc")
    assert read_table(path, columns=["weight,age"]).names == ["weight", "age"]
    assert read_table(path, columns=["height:weight", "1"]).names == ["height", "weight", "age"]
    assert read_table(path, columns=["1:3"]).names == NAMES
    np.testing.assert_array_equal(read_table(path, columns=["weight"]).X[:, 0], frame["weight"])
    with pytest.raises(TableError, match="labels groups; take it out of --columns"):
        read_table(path, columns=["age,subject"], group_column="subject")
    with pytest.raises(TableError, match=r"column 'subject'"):
        read_table(path)


def test_positions_and_groups_of_a_matrix_without_names(frame, tmp_path):
    labelled = np.column_stack([[0, 0, 1, 1, 2, 2], frame])
    np.save(tmp_path / "x.npy", labelled)
    table = read_table(tmp_path / "x.npy", group_column="1")
    np.testing.assert_array_equal(table.X, frame)
    assert list(table.groups) == [0, 0, 1, 1, 2, 2]
    with pytest.raises(TableError, match="no column '5'; it has 4 columns without names, 1 to 4"):
        read_table(tmp_path / "x.npy", columns=["5"])


def test_sparse_npz_stays_sparse_and_names_its_bad_cell(tmp_path):
    X = sp.random(8, 5, density=0.4, format="csr", random_state=0)
    sp.save_npz(tmp_path / "x.npz", X)
    table = read_table(tmp_path / "x.npz", columns=["2:4"])
    assert sp.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), X.toarray()[:, 1:4])
    X = X.tolil()
    X[5, 3] = np.nan
    sp.save_npz(tmp_path / "bad.npz", X.tocsr())
    with pytest.raises(TableError, match=r"bad.npz: 1 cell is missing, .*the first is row 6, column 4\."):
        read_table(tmp_path / "bad.npz", missing="fail")


def test_npz_with_several_arrays_needs_one_called_x(frame, tmp_path):
    np.savez(tmp_path / "two.npz", a=frame.to_numpy(), b=frame.to_numpy())
    with pytest.raises(TableError, match="it holds 'a', 'b'"):
        read_table(tmp_path / "two.npz")
    np.savez(tmp_path / "x.npz", X=frame.to_numpy(), b=frame.to_numpy()[:2])
    assert read_table(tmp_path / "x.npz").X.shape == (6, 3)


def test_csv_without_header_with_semicolons_quotes_and_a_byte_order_mark(tmp_path):
    (tmp_path / "plain.csv").write_text("1,2\n3,4\n\n5,6\n")
    table = read_table(tmp_path / "plain.csv")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])
    assert table.names is None
    (tmp_path / "quoted.csv").write_text('\ufeff"a;b";c\n1;2\n3;4\n', encoding="utf-8")
    assert read_table(tmp_path / "quoted.csv").names == ["a;b", "c"]
    (tmp_path / "comma.csv").write_text('"a,b",c:d,e\n1,2,3\n4,5,6\n')
    assert read_table(tmp_path / "comma.csv", columns=['"a,b"', "c:d"]).names == ["a,b", "c:d"]
    assert read_table(tmp_path / "comma.csv", columns=["c:d:e"]).names == ["c:d", "e"]


def test_csv_on_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,x\n")))
    with pytest.raises(TableError, match=r"^standard input: row 2 \(line 3\), column 'b' holds 'x'"):
        read_table("-")


def rows_with(cell, at=17, n=5_000):
    lines = ["age,height"] + [f"{row},1.5" for row in range(1, n + 1)]
    lines[at] = f"{cell},1.5"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (rows_with("low"), r"row 17 \(line 18\), column 'age' holds 'low', which is not a number"),
        (rows_with('"1\n"'), r"row 17 \(line 19\), column 'age' holds '1\\n', which is not a number"),
        (rows_with("1_000"), r"row 17 \(line 18\), column 'age' holds '1_000', which is not a number"),
        (rows_with("nan"), r"1 cell is missing, .* the first is row 17 \(line 18\), column 'age'\."),
        (rows_with("inf"), r"row 17 \(line 18\), column 'age' is inf, which is not a finite number"),
        ("a,b\n1,2\n3\n", r"row 2 \(line 3\) has 1 cell, but the first row has 2"),
        (
            "a,a\n1,2\n3,4\n",
            "2 columns are called 'a'; rename them, or leave some out by their positions: --drop 2.",
        ),
        ("a,b,\n1,2,3\n4,5,x\n", r"row 2 \(line 3\), column 3 holds 'x'"),
        (
            "a/b\n1/2\n3/4\n",
            r"separated by commas, semicolons, tabs, \| or blanks; here each row is one cell",
        ),
        ("a," + "b" * 140_000 + "\n1,2\n3,4\n", "the first row is not valid CSV: field larger than"),
        ("", "is empty"),
        ("a,b\n", "has 0 rows; at least 2 are needed"),
        ('a,b\n1,"2\n3,4\n', r"line \d is not valid CSV"),
        ("a,b\n1,2\0\n", "zero bytes"),
    ],
)
def test_a_bad_csv_is_told_by_file_row_and_column(tmp_path, text, problem):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=problem) as caught:
        read_table(path, missing="fail")
    assert str(path) in str(caught.value)


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,2\n\x81,3\n")
    with pytest.raises(
        TableError, match="line 3 is not UTF-8 text, nor cp1252; name the encoding with --encoding"
    ):
        read_table(tmp_path / "x.csv")


def test_groups_without_a_label(tmp_path):
    (tmp_path / "x.csv").write_text("g,a\nu,1\n,2\n")
    with pytest.raises(TableError, match=r"row 2 \(line 3\), column 'g' has no group label"):
        read_table(tmp_path / "x.csv", group_column="g")
    with pytest.raises(TableError, match="no column 'h' for --group-column; its columns are 'g', 'a'"):
        read_table(tmp_path / "x.csv", group_column="h")
    pd.DataFrame({"g": ["u", None], "a": [1, 2]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(TableError, match="row 2, column 'g' has no group label"):
        read_table(tmp_path / "x.parquet", group_column="g")


def test_a_missing_cell_and_a_text_column_of_arrow_files(tmp_path):
    path = tmp_path / "x.feather"
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": ["x", "y", "z"]})
    frame.to_feather(path)
    with pytest.raises(TableError, match=r"1 cell is missing, .* the first is row 2, column 'a'\."):
        read_table(path, columns=["a"], missing="fail")
    with pytest.raises(TableError, match=r"column 'b' holds .*string, not numbers"):
        read_table(path, columns=["b"])


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("size", "no column 'size'; its columns are 'age', 'height', 'weight'"),
        ("age,age", "names column 'age' twice"),
        ("weight:age", "runs backwards"),
        ("0", "no column '0'"),
        ("", "names no column"),
    ],
)
def test_columns_that_cannot_be_chosen(frame, tmp_path, columns, problem):
    with pytest.raises(TableError, match=problem):
        read_table(saved(frame, tmp_path / "x.csv"), columns=[columns])


def test_files_that_are_not_there_or_not_what_they_say(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    (tmp_path / "x.docx").touch()
    with pytest.raises(TableError, match=r"ending '.docx'; supported are .csv, .*compressed as .csv.gz"):
        read_table(tmp_path / "x.docx")
    for ending in ("parquet", "feather", "npy", "npz"):
        path = tmp_path / f"bad.{ending}"
        path.write_bytes(b"nothing of the kind")
        with pytest.raises(TableError, match=f"bad.{ending} cannot be read as {ending}") as caught:
            read_table(path)
        assert "pickle" not in str(caught.value)


def test_arrays_of_the_wrong_kind(tmp_path):
    for name, array, problem in (
        ("flat", np.arange(3.0), "must hold a matrix"),
        ("complex", np.eye(2) * 1j, "must hold real numbers"),
        ("bad", np.array([[1.0, 2.0], [3.0, -np.inf]]), "row 2, column 2 is -inf"),
    ):
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(TableError, match=problem):
            read_table(tmp_path / f"{name}.npy")
    np.save(tmp_path / "pickle.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="cannot be read as npy"):
        read_table(tmp_path / "pickle.npy")


@pytest.mark.parametrize(
    ("module", "ending"),
    [("pyarrow", "parquet"), ("pyarrow", "csv"), ("anndata", "h5ad"), ("openpyxl", "xlsx")],
)
def test_a_missing_library_is_named(tmp_path, monkeypatch, module, ending):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"x.{ending}").touch()
    with pytest.raises(TableError, match=f"need {module}: pip install"):
        read_table(tmp_path / f"x.{ending}")
