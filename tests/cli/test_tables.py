"""Tables are read right, with the notes they deserve, or refused; and written with their cells filled."""

import csv
import io
import re
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attenua.cli.filled import filled_file
from attenua.cli.layout import TableError
from attenua.cli.tables import read_table
from tests.cli.table_files import ABC, BLOOD, HOLES, IDS, READ, REFUSED, UNSURE, columns, german, saved
from tests.cli.table_files import csv as blood


@pytest.fixture
def put(tmp_path):
    """Return a function that writes a file, and returns its path."""

    def put(name, content=None):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def same(X, holds):
    np.testing.assert_array_equal(X, np.column_stack(list(columns(holds).values())), strict=True)


def absent(words, text):
    return [word for word in words if not word.startswith("?") and not re.search(word, text)]


def filled(table, path, value=16 / 3):
    return filled_file(table, np.where(np.isnan(table.X), value, table.X), path)


@pytest.mark.parametrize(("file", "content", "options", "words", "holds", "rows"), READ)
def test_read_right_with_the_notes_that_the_file_deserves(put, file, content, options, words, holds, rows):
    table = read_table(put(file, content), **options)
    same(table.X, holds)
    assert (table.names, table.row_names) == (list(columns(holds)), rows)
    assert not absent(words, " ".join(table.notes)), table.notes
    # Missing cells may be counted in a note.
    known = [word.removeprefix("?") for word in words] + ["missing"] * bool(np.isnan(table.X).any())
    assert [note for note in table.notes if not any(re.search(word, note) for word in known)] == []


@pytest.mark.parametrize(("file", "content", "options", "words"), REFUSED)
def test_refused_with_the_place_and_the_option_that_settles_it(put, file, content, options, words):
    path = put(file, content)
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    assert str(caught.value).isprintable()
    assert not absent([re.escape(path.name), *words], str(caught.value)), str(caught.value)


@pytest.mark.parametrize(("file", "content", "options", "words", "holds", "rows"), UNSURE)
def test_what_has_no_sure_answer_is_not_taken_in_silence(put, file, content, options, words, holds, rows):
    try:
        table = read_table(put(file, content), **options)
    except TableError:
        return
    same(table.X, holds)
    assert not absent(words, " ".join(table.notes)), table.notes


def test_columns_have_the_roles_that_the_options_name(put):
    path = put("x.csv", blood("site,code,sex,age,dose,hb", "u,P1,1", "v,P2,0", "u,P2,0"))
    roles = {"group_column": "site", "id_column": "2", "colour_by": "sex"}
    table = read_table(path, **roles)
    same(table.X, BLOOD)
    assert (list(table.groups), table.row_names) == (["u", "v", "u"], ["P1", "P2", "P2"])
    assert (list(table.colours), table.notes) == ([1, 0, 0], [])
    assert read_table(path, columns=["hb,4:dose"]).names == ["hb", "age", "dose"]
    assert read_table(path, **roles, drop=["5:"]).names == ["age"]


@pytest.mark.parametrize("options", [{"columns": ["hb:age"]}, {"drop": ["7"]}, {"group_column": "town"}])
def test_columns_that_are_not_there(put, options):
    with pytest.raises(TableError, match=r"x\.csv.*(hb:age|7|town)"):
        read_table(put("x.csv", blood()), **options)


def test_new_rows_are_read_as_the_names_of_a_model_say(put):
    """In their order, without the other columns, and also if the names are numbers."""
    same(read_table(put("x.csv", blood("dose,hb,age")), names=["age", "dose", "hb"]).X[:, [1, 2, 0]], BLOOD)
    same(read_table(put("x.csv", blood("1,2,3")), names=["1", "2", "3"]).X, BLOOD)
    with pytest.raises(TableError, match="'mass'"):
        read_table(put("x.csv", blood()), names=["age", "mass"])


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(german(blood()).encode())))
    same(read_table("-").X, BLOOD)


@given(st.data())
@settings(max_examples=4 * settings().max_examples)
def test_what_the_csv_module_writes_is_read_back_or_refused(tmp_path_factory, data):
    decimal, sep, end = (data.draw(st.sampled_from(signs)) for signs in (".,", ",;\t| ", ["\n", "\r\n"]))
    thousands = data.draw(st.sampled_from(["", ",", ".", "'", "\xa0"]))
    # 1.200,2.300 is read with decimal points, as nearly all such files mean it.
    assume(thousands != decimal and not (sep == decimal == "," and thousands == "."))
    digits = data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=5))
    numbers = st.tuples(*(st.decimals(-99_999, 99_999, places=places) for places in digits))
    X, names = (
        data.draw(st.lists(numbers, min_size=3, max_size=6)),
        [f"x{place}" for place in range(len(digits))],
    )
    signs, stream = str.maketrans({",": thousands, ".": decimal}), io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=sep, quoting=data.draw(st.integers(0, 1)), lineterminator=end)
    writer.writerows([names, *([f"{x:,f}".translate(signs) for x in row] for row in X)])
    path = tmp_path_factory.mktemp("x") / "x.csv"
    path.write_bytes(stream.getvalue().encode())
    try:
        table = read_table(path)
    except TableError:
        return
    # Columns that count are left out.
    assert all(name in " ".join(table.notes) for name in names if name not in table.names)
    np.testing.assert_array_equal(table.X, np.array(X, float)[:, [names.index(name) for name in table.names]])


TEXTS = {
    "quoted decimal commas": 'age,hb\n58,"46,15"\n61,{"5,33"}\n47,"51,75"\n',
    "tabs, and no line end at the end": "age\tdose\r\n58\t4.25\r\n61\t{5.33}",
    "a title and comments": "Trial;;\n\n# by hand\nage;dose;hb\n58;4.25;46\n\n61;{5.33};41\n# end\n",
    "sep=;": "sep=;\nage;dose\n58;4.25\n61;{5.33}\n",
    "whole numbers": "a;b\n58;4\n61;{5}\n47;12\n",
    "blanks": "age dose\n58 4,25\n61 {5,33}\n47 3,75\n",
    "no header": "58,4.25\n61,{5.33}\n47,3.75\n",
    "row names and texts": ',site,age,dose\n17,"Oslo, N",58,4.25\n4,,61,{5.33}\n29,"""Rome""",47,3.75\n',
    "a counter": ",age,dose\n0,58,4.25\n1,61,{5.33}\n2,47,3.75\n",
    "units and a mean": "age;dose\nJahre;mg\n58;4,25\n61;{5,33}\n47;3,75\nMittelwert;4,00\n",
    "thousands": "oil;gas\n7.261,22;3,5\n812,5;{5,3}\n12.044;3.455,7\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("title", TEXTS)
def test_a_text_with_its_cells_filled_is_else_as_it_was(put, title, encoding):
    path = put("x.csv", re.sub("{.*}", "n.d.", TEXTS[title]).encode(encoding))
    assert filled(read_table(path, na=["n.d."]), path) == re.sub("[{}]", "", TEXTS[title]).encode(encoding)


def test_a_text_of_another_ending_has_the_same_signs(put):
    path = put("x.csv", "Größe;b\n58;4,25\n61;\n47;3,75\n".encode("cp1252"))
    table = read_table(path)
    assert filled(table, path) == "Größe;b\n58;4,25\n61;5,33\n47;3,75\n".encode("cp1252")
    tabs = filled(table, put("y.tsv")).decode("cp1252")
    assert tabs.partition("\n")[2].split() == ["58", "4,25", "61", "5,33", "47", "3,75"]


def test_digits_of_numbers_with_exponents(put):
    table = read_table(put("x.csv", "a,b\n0.5,4.1E+01\n1.5,\n3.5,2.2E+01\n"))
    assert re.search(rb"1\.5,(5|5\.3|5\.3[eE]\+?0+)\n", filled(table, put("y.csv")))


def test_a_book_keeps_its_other_cells_sheets_and_types(put):
    book = openpyxl.Workbook()
    for row in (["Trial 12"], [], ["who", *columns(HOLES)], *zip(ABC, *columns(HOLES).values(), strict=True)):
        book.active.append([None if cell != cell else cell for cell in row])
    book.active["B3"].font = openpyxl.styles.Font(bold=True)
    book.active["D5"].number_format = "0.000"
    book.create_sheet("Sums").append(["=1+1", True, pd.Timestamp("2024-03-01")])
    path = put("x.xlsx", saved(book.save))

    def cells(file):
        found = [cell for sheet in openpyxl.load_workbook(file) for row in sheet for cell in row]
        return {(c.parent.title, c.coordinate): (c.value, c.number_format, c.font.b) for c in found}

    after = cells(io.BytesIO(filled(read_table(path), path)))
    new = {("Sheet", "C4"): (5.33, "General", False), ("Sheet", "D5"): (5.33, "0.000", False)}
    assert after == cells(path) | new


def test_parquet_keeps_its_types_and_index(put):
    frame = pd.DataFrame(columns(HOLES), pd.Index(IDS, name="who")).astype(
        {"age": "int16", "dose": "float32"}
    )
    frame["n"], frame["site"] = pd.array([4, None, 12], "Int64"), pd.Categorical(["Oslo", "Rome", "Oslo"])
    path = put("x.parquet", saved(frame.to_parquet))
    found = pd.read_parquet(io.BytesIO(filled(read_table(path), path)))
    pd.testing.assert_frame_equal(found, frame.fillna({"dose": 16 / 3, "hb": 16 / 3, "n": 5}), atol=0.01)


@pytest.mark.parametrize("after", ["csv", "tsv", "xlsx", "parquet"])
@pytest.mark.parametrize("before", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize(
    "index", [pd.Index(ABC, name="who"), pd.Index([17, 4, 29])], ids=["texts", "numbers"]
)
def test_one_form_becomes_another(put, index, before, after):
    frame = pd.DataFrame(columns(HOLES), index).astype({"age": int})
    save = {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[before]
    content = filled(read_table(put(f"x.{before}", saved(save))), put(f"y.{after}"), 5.25)
    table = read_table(put(f"y.{after}", content))
    same(table.X, HOLES.replace("nan", "5.25"))
    assert (table.names, table.row_names) == (list(frame), [*map(str, index)])
    assert b"58.0" not in content


def test_parquet_cannot_hold_two_columns_with_one_name(put):
    table = read_table(put("x.csv", "a,a\n58,4.25\n61,\n47,3.5\n"), drop=["1"])
    with pytest.raises(TableError, match="one name"):
        filled(table, put("y.parquet"))


@pytest.mark.parametrize(
    "text",
    [
        'id,a,b,c\nu,True,1.50,"two\nlines"\nv,False,2.25,u\nw,True,4.75,u\nx,{True},{1.50},"two\nlines"\n',
        "id,a,b\n#1,2.25,1\n#2,{3.25},2\n#3,4.25,7\n",
    ],
)
def test_filled_cells_are_written_as_their_column_writes_them(put, text):
    """True stays a word, a line end stays in its cell, and names of rows may begin with #."""
    table = read_table(put("x.csv", re.sub("{.*?}", "", text)))
    X = np.where(np.isnan(table.X), [[0.9, 1.5]] if "True" in text else 3.25, table.X)
    assert filled_file(table, X, put("y.csv")) == re.sub("[{}]", "", text).encode()


def test_nullable_columns_of_parquet_become_text(put):
    frame = pd.DataFrame(
        {"a": pd.array([1, None, 3], "Int64"), "b": pd.array([True, False, None], "boolean")}
    )
    table = read_table(put("x.parquet", saved(frame.to_parquet)))
    text = filled_file(table, np.where(np.isnan(table.X), [[2, 1]], table.X), put("x.csv")).decode()
    np.testing.assert_array_equal(read_table(put("x.csv", text)).X, [[1, 1], [2, 0], [3, 1]])


def test_a_merged_cell_is_refused_and_not_written(put):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1.5, 2], [2.5, None], [4.5, 7]):
        book.active.append(row)
    book.active.merge_cells("A3:B3")
    table = read_table(put("x.xlsx", saved(book.save)))
    with pytest.raises(TableError, match="B3"):
        filled(table, put("y.xlsx"))
