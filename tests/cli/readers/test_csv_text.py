"""Texts: packed, with decimal commas, long and quoted; and sheets of Excel files."""

import bz2
import gzip
import lzma

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from attenua.cli.readers import TableError, read_table

ROWS = np.random.default_rng(0).standard_normal((50, 3))
PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("packing", "kind", "delimiter"),
    [("gz", "csv", ","), ("bz2", "tsv", "\t"), ("xz", "txt", ";"), ("zst", "csv", ",")],
)
def test_packed_texts(frame, tmp_path, packing, kind, delimiter):
    path = tmp_path / f"x.{kind}.{packing}"
    path.write_bytes(PACKERS[packing](frame.to_csv(index=False, sep=delimiter).encode()))
    table = read_table(path)
    np.testing.assert_array_equal(table.X, ROWS)
    assert table.names == ["a", "b", "c"]


@pytest.mark.parametrize("packing", PACKERS)
def test_a_packed_text_that_is_damaged_or_cut_short(frame, tmp_path, packing):
    path = tmp_path / f"x.csv.{packing}"
    packed = PACKERS[packing](frame.to_csv(index=False).encode())
    for content in (packed[: len(packed) // 2], b"nothing of the kind"):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"cannot be unpacked; it may be damaged or cut short: .*\.$"):
            read_table(path)
    (tmp_path / f"x.png.{packing}").touch()
    with pytest.raises(TableError, match="has the ending"):
        read_table(tmp_path / f"x.png.{packing}")


@pytest.mark.parametrize(("index", "names"), [(False, False), (True, True)])
def test_decimal_commas(frame, tmp_path, index, names):
    frame.round(3).to_csv(tmp_path / "x.csv", sep=";", decimal=",", index=index, header=names)
    table = read_table(tmp_path / "x.csv", columns=["2:"] if index else None)
    np.testing.assert_array_equal(table.X, ROWS.round(3))
    assert table.notes == ("numbers have decimal commas (1,5 is one and a half); --decimal . reads points.",)
    with pytest.raises(
        TableError, match=r"columns hold no numbers: .* look at the separator and the decimal sign"
    ):
        read_table(tmp_path / "x.csv", columns=["2:"], decimal=".", header=names)


def test_a_decimal_comma_that_is_given(tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n1;2,5\n3;x\n")
    with pytest.raises(TableError, match=r"row 2 \(line 3\), column 'b' holds 'x'"):
        read_table(tmp_path / "x.csv", decimal=",")
    (tmp_path / "x.csv").write_text("1\n2,5\n3,5\n")
    table = read_table(tmp_path / "x.csv", decimal=",")
    np.testing.assert_array_equal(table.X, [[1], [2.5], [3.5]])
    assert table.notes == ()


def test_semicolons_with_points_and_commas_in_texts(tmp_path):
    (tmp_path / "x.csv").write_text("who;a;b\nRoe, Jane;1.5;2\nDoe, John;3.5;4\n")
    table = read_table(tmp_path / "x.csv", id_column="who")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3.5, 4]])
    assert list(table.ids) == ["Roe, Jane", "Doe, John"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_empty_lines_quotes_and_signs(tmp_path, end):
    lines = ["", '"the ""a""",b', "", '"+1.5", 2e1 ', ".5,-3.", ""]
    (tmp_path / "x.csv").write_bytes(end.join(lines).encode())
    table = read_table(tmp_path / "x.csv")
    np.testing.assert_array_equal(table.X, [[1.5, 20], [0.5, -3]])
    assert table.names == ['the "a"', "b"]


def test_cells_with_line_ends_keep_the_count_of_lines(tmp_path):
    (tmp_path / "x.csv").write_text('note,"a\nb"\n"two\nlines",1\nplain,x\n')
    with pytest.raises(TableError, match=r"row 2 \(line 5\), column 'a\\nb' holds 'x'"):
        read_table(tmp_path / "x.csv", drop=["note"])


@pytest.mark.slow
def test_rows_longer_than_what_pyarrow_reads_at_once(tmp_path):
    wide = np.random.default_rng(1).standard_normal((3, 70_000))
    pd.DataFrame(wide).add_prefix("x").to_csv(tmp_path / "x.csv", index=False)
    assert (tmp_path / "x.csv").stat().st_size > 3 * 2**20
    np.testing.assert_array_equal(read_table(tmp_path / "x.csv").X, wide)


def test_one_row_with_or_without_a_header(tmp_path):
    for text, header in (("1,2,3\n", None), ("1,2,3", None), ("a,b,c\n1,2,3", True)):
        (tmp_path / "x.csv").write_text(text)
        assert read_table(tmp_path / "x.csv", header=header, least_rows=1).X.tolist() == [[1, 2, 3]]


def test_same_names_matter_only_if_used(tmp_path):
    (tmp_path / "x.csv").write_text("a,a,b\n1,2,3\n4,5,6\n")
    assert read_table(tmp_path / "x.csv", drop=["2"]).names == ["a", "b"]
    assert read_table(tmp_path / "x.csv", columns=["2:"]).X.tolist() == [[2, 3], [5, 6]]
    with pytest.raises(TableError, match=r"two columns are called 'a'; .* by position"):
        read_table(tmp_path / "x.csv", columns=["a"])
    with pytest.raises(TableError, match="two columns are called 'a'"):
        read_table(tmp_path / "x.csv", group_column="a")


def test_open_ranges(frame, tmp_path):
    frame.to_csv(tmp_path / "x.csv", index=False)
    for text, names in (
        (":2", ["a", "b"]),
        ("b:", ["b", "c"]),
        (":", ["a", "b", "c"]),
        ("3:,:1", ["c", "a"]),
    ):
        assert read_table(tmp_path / "x.csv", columns=[text]).names == names


def test_options_that_the_kind_of_file_does_not_have(frame, tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    frame.to_csv(tmp_path / "x.csv", index=False)
    for name, option in (("x.npy", "header"), ("x.npy", "decimal"), ("x.npy", "sheet"), ("x.csv", "sheet")):
        with pytest.raises(TableError, match=f"--{option} needs a"):
            read_table(tmp_path / name, **{option: "."})


@pytest.fixture
def book(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "measured"
    for row in (["name", "a", "b"], ["u", 1.25, 2], [], ["v", 3, True], ["w", 4, None]):
        book.active.append(row)
    book.active.cell(20, 20).number_format = "0.00"
    second = book.create_sheet("second")
    for row in ([400, 401], [5.5, 6.5], [7.5, "x"]):
        second.append(row)
    book.save(tmp_path / "x.xlsx")
    return tmp_path / "x.xlsx"


def test_sheets(book):
    table = read_table(book, id_column="name", missing="drop-rows")
    np.testing.assert_array_equal(table.X, [[1.25, 2], [3, 1]])
    assert list(table.ids) == ["u", "v"]
    assert table.names == ["a", "b"]
    with pytest.raises(TableError, match=r"the first is row 3 \(line 5\), column 'b'"):
        read_table(book, id_column="name", missing="fail")
    with pytest.raises(TableError, match=r"row 2 \(line 3\), column '401' holds 'x'"):
        read_table(book, sheet="second", header=True)
    with pytest.raises(TableError, match="no sheet 'third'; its sheets are 'measured', 'second'"):
        read_table(book, sheet="third")
    book.write_bytes(b"nothing of the kind")
    with pytest.raises(TableError, match=r"x.xlsx cannot be read as an Excel file"):
        read_table(book)
