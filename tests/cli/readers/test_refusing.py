"""Damage that the readers once met with a traceback, a crash, or all of the memory."""

import gzip
import io
import tracemalloc
import warnings
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather, parquet

from attenua.cli.readers import TableError, read_table, source

ROWS = np.random.default_rng(0).standard_normal((6, 3))


def refused(path):
    """Return the sentence that refuses a file."""
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()
    return str(caught.value)


def with_header(path, header):
    head = header.encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    return path


def test_a_name_that_no_file_can_have(tmp_path):
    assert "cannot be read: " in refused(tmp_path / f"{'x' * 300}.csv")


@pytest.mark.parametrize("header", ["(" * 3_000, "{[]: 1}\n"])
def test_a_header_of_npy_that_is_not_python(tmp_path, header):
    assert "cannot be read as npy: " in refused(with_header(tmp_path / "x.npy", header))


def test_a_matrix_in_npz_that_claims_more_than_there_is(tmp_path):
    claim = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4)}\n"
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(with_header(tmp_path / "x.npy", claim), "X.npy")
    assert refused(tmp_path / "x.npz").endswith("x.npz does not fit in memory.")


def test_only_the_matrix_of_npz_is_unpacked(tmp_path, monkeypatch):
    """A small file can hold any number of compressed zeros next to the matrix."""
    np.savez_compressed(tmp_path / "x.npz", ROWS, more=np.zeros(2**23))
    monkeypatch.setattr(source, "memory_limit", lambda: 2**20)
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(read_table(tmp_path / "x.npz").X, ROWS)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_names_of_arrays_may_be_many_and_steer_no_terminal(tmp_path):
    np.savez(tmp_path / "x.npz", **{f"\x1b[31m{number}{'a' * 99}": ROWS for number in range(20)})
    assert refused(tmp_path / "x.npz").endswith(" and 12 more.")


@pytest.mark.parametrize("form", ["csr", "bsr"])
def test_sparse_indices_beyond_the_shape(tmp_path, form):
    X = sp.csr_array(ROWS).asformat(form)
    X.indices[1] = 10**6
    sp.save_npz(tmp_path / "x.npz", X)
    assert "cannot be read as npz: " in refused(tmp_path / "x.npz")


@pytest.mark.parametrize("shape", [(10**13, 2), (2, 10**13)])
def test_a_sparse_matrix_of_too_many_rows_or_columns(tmp_path, shape):
    sp.save_npz(tmp_path / "x.npz", sp.coo_array(([1.0], ([0], [0])), shape=shape))
    assert "does not fit in memory" in refused(tmp_path / "x.npz")


def test_what_is_too_large_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "memory_limit", lambda: 10**6)
    text = b"1,2\n" * 10**6
    (tmp_path / "x.csv").write_bytes(text)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text))
    np.savez_compressed(tmp_path / "x.npz", np.ones((10**5, 2)))
    parquet.write_table(pa.table({"a": np.ones(10**6)}), tmp_path / "x.parquet")
    for name in ("x.csv", "x.csv.gz", "x.npz", "x.parquet"):
        assert "does not fit in memory: it needs more than 0.001 GB" in refused(tmp_path / name)


def test_a_packed_text_of_zeros_is_not_unpacked_to_its_end(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(bytes(2**20)) + b"damaged")
    assert "zero bytes" in refused(tmp_path / "x.csv.gz")


def test_offsets_of_feather_beyond_the_data(tmp_path):
    offsets = pa.py_buffer(np.array([0, 10**6, 2], dtype=np.int32))
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    feather.write_feather(pa.table({"who": texts, "a": [1.0, 2.0]}), tmp_path / "x.feather", "uncompressed")
    assert "cannot be read as feather: " in refused(tmp_path / "x.feather")


def test_feather_of_version_1(tmp_path):
    (tmp_path / "x.feather").write_bytes(b"FEA1" + bytes(20) + b"FEA1")
    assert "feather version 1, which is no longer supported" in refused(tmp_path / "x.feather")


@pytest.mark.parametrize("metadata", [b"\xff", b'{"index_columns": 3}'])
def test_what_pandas_writes_into_parquet_may_be_broken(tmp_path, metadata):
    table = pa.table({"a": [1.0, 2.0]}).replace_schema_metadata({"pandas": metadata})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert "cannot be read as parquet: " in refused(tmp_path / "x.parquet")


def sheet(tmp_path, cells, dimension="A1:B3"):
    """Return an Excel file whose only sheet is written by hand."""
    openpyxl.Workbook().save(whole := io.BytesIO())
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = (
        f'<worksheet xmlns="{space}"><dimension ref="{dimension}"/><sheetData>{cells}</sheetData></worksheet>'
    )
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "x.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == "xl/worksheets/sheet1.xml" else old.read(name))
    return tmp_path / "x.xlsx"


def row(number, *values):
    places = [f"{column}{number}" for column in "AB"]
    cells = [f'<c r="{place}"><v>{value}</v></c>' for place, value in zip(places, values, strict=True)]
    return f'<row r="{number}">{"".join(cells)}</row>'


def test_a_sheet_that_claims_to_be_as_large_as_can_be(tmp_path):
    path = sheet(tmp_path, row(1, 1, 2) + row(3, 3, 4), dimension="A1:XFD1048576")
    np.testing.assert_array_equal(read_table(path).X, [[1, 2], [3, 4]])


def test_a_row_beyond_the_last_of_excel(tmp_path, monkeypatch):
    monkeypatch.setattr("attenua.cli.readers.excel._MOST_ROWS", 2**10)
    path = sheet(tmp_path, row(1, 1, 2) + row(10**12, 3, 4))
    assert "has a row beyond 1,024, the last row in Excel" in refused(path)


def test_a_sheet_that_is_not_xml_to_its_end(tmp_path):
    assert "cannot be read as an Excel file: " in refused(sheet(tmp_path, row(1, 1, 2) + "<row"))


def test_what_openpyxl_warns_of_is_not_shown(tmp_path):
    path = sheet(tmp_path, row(1, 1, 2) + row(2, 3, 4))
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "y.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, b"<styleSheet/>" if name == "xl/styles.xml" else content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(tmp_path / "y.xlsx").X.shape == (2, 2)


def test_a_first_row_with_more_digits_than_python_takes_for_an_int(tmp_path):
    (tmp_path / "x.csv").write_text(f"1e{'0' * 5_000},3,5,7,9\n" + "90,80,90,70,90\n70,80,70,90,80\n" * 3)
    assert read_table(tmp_path / "x.csv", header=False).X.shape == (7, 5)
    assert read_table(tmp_path / "x.csv").X.shape == (6, 5)


def test_a_nan_that_signals_is_a_missing_cell_without_a_warning(tmp_path):
    X = np.arange(18.0).reshape(6, 3)
    X.view(np.uint64)[0, 1] = 0x7FF0000000000001
    np.save(tmp_path / "x.npy", X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notes = read_table(tmp_path / "x.npy").notes
    assert notes == ("1 cell is missing, in 1 of 6 rows and 1 of 3 columns.",)


def test_long_names_of_columns_are_cut(tmp_path):
    (tmp_path / "x.csv").write_text(f"{'a' * 999},b\n1,2\n3,4\n")
    with pytest.raises(TableError, match=r"no column 'c'; its columns are 'a{60}\.\.\.', 'b'\.$"):
        read_table(tmp_path / "x.csv", columns=["c"])


def test_a_table_without_columns(tmp_path):
    feather.write_feather(pa.table({}), tmp_path / "x.feather")
    assert "has no column left to use as numbers" in refused(tmp_path / "x.feather")


def test_a_broken_quote_between_tabs(tmp_path):
    (tmp_path / "x.tsv").write_text('a\tb\n1\t"2"3\n4\t5\n')
    assert "line 2 is not valid CSV" in refused(tmp_path / "x.tsv")
