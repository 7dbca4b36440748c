"""Texts as people have them: encodings, thousands, comments, blanks, True and False, columns of texts."""

import csv
import gzip
import io
import re
import sys

import numpy as np
import pandas as pd
import pytest

from attenua.cli.readers import TableError, read_table
from attenua.cli.readers.cells import plain_number

ROWS = np.random.default_rng(0).standard_normal((30, 4)).round(3) * 1000
NAMES = ["Größe", "b", "c", "d"]


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS, columns=NAMES)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.csv"


def read(path, **options):
    """Read a file that holds ROWS, and return its notes."""
    table = read_table(path, **options)
    np.testing.assert_allclose(table.X, ROWS, rtol=1e-14)
    assert table.names == NAMES
    return table.notes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_is_recognised(frame, path, encoding):
    frame.to_csv(path, index=False, encoding=encoding)
    assert read(path) == ()
    assert read(path, encoding=encoding) == ()


def test_western_windows_is_assumed_and_noted_with_a_word(frame, path):
    frame.to_csv(path, index=False, encoding="cp1252")
    (note,) = read(path)
    assert "is read as cp1252 (Western Windows), such as 'Größe'; --encoding names another" in note
    assert read(path, encoding="latin-1") == ()
    assert read_table(path, encoding="cp1250").names[0] == "Größe"
    assert read_table(path, encoding="cp437").names[0] != "Größe"


def test_a_long_word_in_western_windows_takes_no_time(path):
    path.write_bytes(b"x" * 100_000 + "\xe9,b\n1,2\n3,4\n".encode("cp1252"))
    assert read_table(path).X.shape == (2, 2)


def test_an_encoding_that_is_none_or_does_not_fit(frame, path):
    frame.to_csv(path, index=False, encoding="cp1252")
    for encoding, sentence in (
        ("utf-8", "line 1 is not utf-8 text; name the encoding with --encoding."),
        ("rot13", "--encoding 'rot13' is not a known encoding"),
        ("nonsense", "--encoding 'nonsense' is not a known encoding"),
        ("base64", "--encoding 'base64' is not a known encoding"),
    ):
        with pytest.raises(TableError, match=r"x\.csv: ") as refused:
            read_table(path, encoding=encoding)
        assert sentence in str(refused.value)
    np.save(path.with_suffix(".npy"), ROWS)
    with pytest.raises(TableError, match="--encoding needs a CSV file"):
        read_table(path.with_suffix(".npy"), encoding="utf-8")


def test_what_is_no_text_is_not_taken_for_western_windows(path):
    path.write_bytes(b"a,b\n1,2\n\x01\xff,3\n")
    with pytest.raises(TableError, match="line 3 is not UTF-8 text"):
        read_table(path)


def as_german(number, thousands):
    return f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", thousands)


@pytest.mark.parametrize("thousands", [".", "'", "\N{RIGHT SINGLE QUOTATION MARK}", "\u00a0", "\u202f", " "])
@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_thousands_with_decimal_commas(frame, path, thousands, delimiter):
    texts = frame.map(lambda number: as_german(number, thousands))
    texts.to_csv(path, index=False, sep=delimiter)
    (note,) = read(path)
    assert note.startswith("numbers have decimal commas (1,5 is one and a half, ")


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        *(("7.261,22", "7261.22"), ("-1.234.567", "-1234567"), ("7.261", "7261"), ("1 234", "1234")),
        *(("0.123", None), ("1.5", None), ("1.23.456", None), ("1.234 567", None), ("12.3456", None)),
        *(("True", "1"), ("FALSE", "0"), ("T", None), ("1,5e3", "1.5e3"), ("", None)),
    ],
)
def test_numbers_with_decimal_commas(cell, number):
    assert plain_number(cell, ",") == number


def test_where_the_sign_may_be_either_nothing_is_guessed(path):
    """1,234 and 1.234 could both have thousands; so the point stays decimal, and 1,234 is refused."""
    path.write_text("a;b\n1,234;1.234\n2,345;2.5\n3,456;4.5\n")
    with pytest.raises(TableError, match="column 'a' holds '1,234', which is not a number"):
        read_table(path)
    path.write_text("a;b\n1,234;1.234\n2,345;2.345\n")
    with pytest.raises(TableError, match="column 'a' holds '1,234', which is not a number"):
        read_table(path)
    path.write_text("a;b\n1,5;1.234\n2,345;2.345\n")
    np.testing.assert_array_equal(read_table(path).X, [[1.5, 1234], [2.345, 2345]])


def test_comments_are_left_out_and_lines_keep_their_numbers(frame, path):
    head, *lines = frame.to_csv(index=False).splitlines()
    text = ["# measured in May, by hand", "#", head, *lines[:3], "# a pause", "", *lines[3:]]
    path.write_text("\n".join(text))
    assert read(path) == ()
    path.write_text("\n".join([*text, "x,1,2,3"]))
    with pytest.raises(TableError, match=rf"row 31 \(line {len(text) + 1}\), column 'Größe' holds 'x'"):
        read_table(path)


def test_a_comment_with_the_names_of_the_columns_is_the_header(path):
    """As numpy.savetxt writes it."""
    for delimiter in (" ", ",", "\t"):
        np.savetxt(path, ROWS, delimiter=delimiter, header=delimiter.join(NAMES), encoding="utf-8")
        assert read(path) == ("the header is the comment above the rows: Größe, b, c, ....",)
        assert read_table(path, header=False).names is None
    path.write_text("# a, b\nu,v\n1,2\n3,4\n")
    assert read_table(path).names == ["u", "v"]


def test_rows_that_begin_with_the_sign_of_comments_are_rows(path):
    path.write_text('who,a,b\n#1,2,3\n#N/A,4,5\n"a\n# b",6,7\n# note\n')
    table = read_table(path, id_column="who")
    np.testing.assert_array_equal(table.X, [[2, 3], [4, 5], [6, 7]])
    path.write_text("#1,2\n#3,4\n")
    np.testing.assert_array_equal(read_table(path, columns=["2"], header=False).X, [[2], [4]])


@pytest.mark.parametrize("delimiter", ["|", " "])
def test_other_separators(frame, path, delimiter):
    frame.to_csv(path, index=False, sep=delimiter)
    assert read(path) == ()


def test_columns_between_blanks(frame, path):
    path.write_text(
        "\n".join(
            ["   ".join(NAMES), "", *("  {:10.3f} \t{:8.3f}  {:.3f} {:.3f} ".format(*row) for row in ROWS)]
        )
    )
    assert read(path) == ()


def test_row_names_of_r(frame, path):
    """R writes blanks between cells, and no name above the names of rows."""
    head = " ".join(f'"{name}"' for name in NAMES)
    rows = [f'"row {number}" ' + " ".join(map(str, row)) for number, row in enumerate(ROWS)]
    path.write_text("\n".join([head, *rows]))
    assert read(path) == ("the first column has no name and holds text, so it is used as row names.",)
    assert read_table(path).ids[3] == "row 3"


def test_blanks_in_names_separate_nothing(path):
    path.write_text("body mass,age of a,x\n1,2,3\n4,5,6\n")
    assert read_table(path).names == ["body mass", "age of a", "x"]
    path.write_text("body mass\n1.5\n2.5\n")
    assert read_table(path).names == ["body mass"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "npy"])
def test_true_and_false_are_1_and_0(frame, tmp_path, ending):
    flag = pd.Series(ROWS[:, 0] > 0, name="flag")
    path = tmp_path / f"x.{ending}"
    if ending == "npy":
        np.save(path, np.column_stack([flag, ~flag]))
    elif ending == "parquet":
        flag.to_frame().assign(no=~flag).to_parquet(path)
    else:
        getattr(flag.to_frame().assign(no=~flag), {"csv": "to_csv", "xlsx": "to_excel"}[ending])(
            path, index=False
        )
    table = read_table(path)
    np.testing.assert_array_equal(table.X, np.column_stack([flag, ~flag]))


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_labels_of_true_and_false_are_alike(frame, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    flagged = frame.assign(flag=ROWS[:, 0] > 0)
    getattr(flagged, {"csv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[ending])(
        path, index=False
    )
    assert set(read_table(path, group_column="flag").groups.astype(str)) == {"True", "False"}


def test_packed_standard_input(frame, path, monkeypatch):
    packed = gzip.compress(frame.to_csv(index=False).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert read("-") == ()
    path.write_bytes(packed)  # also under a name that does not say so
    assert read(path) == ()
    path.write_bytes(packed[:100])
    with pytest.raises(TableError, match="cannot be unpacked; it may be damaged or cut short"):
        read_table(path)


@pytest.fixture
def texts(frame, path):
    """Numbers, three columns of texts, and a slip in a column of numbers."""
    frame.insert(0, "id", [f"p{number}" for number in range(30)])
    frame.insert(2, "the site, really", "north")
    frame["b"] = frame["b"].astype(object)
    frame.loc[16, "b"] = "12a"
    return frame.assign(date="2020-01-01")


def test_one_error_names_all_columns_of_texts_with_the_finished_option(texts, path):
    texts.to_csv(path, index=False)
    with pytest.raises(TableError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path}: 3 columns hold no numbers: 'id' ('p0'), 'the site, really' ('north'), 'date' "
        "('2020-01-01'). Leave them out with --drop 'id,\"the site, really\",date' or --numeric-only, or use "
        "one as row names with --id-column id. Also, row 17 (line 18), column 'b' holds '12a', which is not "
        "a number, among numbers: mend it, or leave the column out with --drop b."
    )
    found = read_table(path, drop=['id,"the site, really",date', "b"])
    assert found.names == ["Größe", "c", "d"]


def test_only_columns_of_numbers(texts, path):
    for save, slip in (("to_csv", ("'12a' in row 17 (line 18), else numbers")), ("to_parquet", None)):
        table = texts if slip else texts.astype({"b": str})
        where = path if slip else path.with_suffix(".parquet")
        getattr(table, save)(where, index=False)
        found = read_table(where, numeric_only=True)
        np.testing.assert_array_equal(found.X, ROWS[:, [0, 2, 3]])
        of_slip = f" ({slip})" if slip else ""
        assert found.notes == (
            "4 columns hold something else than numbers and are left out: 'id', 'the site, really', "
            f"'b'{of_slip}, 'date'.",
        )
    texts[["id", "date"]].to_csv(path, index=False)
    with pytest.raises(TableError, match=r"2 columns hold no numbers: .* No column is left"):
        read_table(path, numeric_only=True)


def test_columns_without_names_are_dropped_by_position(path):
    path.write_text("u,1,x\nv,2,y\nw,3,z\n")
    with pytest.raises(TableError, match=r"hold no numbers: 1 \('u'\), 3 \('x'\)\. .* --drop 1,3 or"):
        read_table(path, header=False)


def test_a_stack_of_images_has_a_row_for_each(path):
    stack = ROWS.reshape(10, 4, 3)
    np.save(path.with_suffix(".npy"), stack)
    np.savez(path.with_suffix(".npz"), X=stack, y=np.arange(10))
    for ending in (".npy", ".npz"):
        table = read_table(path.with_suffix(ending))
        np.testing.assert_array_equal(table.X, ROWS.reshape(10, 12))
        assert table.grid == (4, 3)
        assert table.notes == ("a stack of 10 images of 4 x 3, read as a row for each image.",)
        assert read_table(path.with_suffix(ending), drop=["1"]).grid == ()


@pytest.mark.parametrize("number", ["{:,.2f}", "{:,.0f}"])
def test_commas_between_thousands(frame, path, number):
    """In quotes, also where no number shows that the comma is not the decimal sign, and without a header."""
    whole = (frame.abs() + 1000).round()
    whole.map(number.format).to_csv(path, index=False, header=False)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, whole)
    first = number.format(whole.iloc[0, 0])
    assert table.notes == (f"commas stand between thousands ({first} is {first.replace(',', '')}).",)


def test_the_minus_of_typography(frame, path):
    path.write_text(frame.to_csv(index=False).replace("-", "\N{MINUS SIGN}"), encoding="utf-8")
    assert read(path) == ()


@pytest.mark.parametrize("word", ["-", ".", "?", "#DIV/0!", "n.a."])
def test_signs_for_missing_cells(frame, path, word):
    frame.astype(object).mask(frame > 1500, word).to_csv(path, index=False)
    np.testing.assert_array_equal(read_table(path).X, frame.mask(frame > 1500))


@pytest.mark.parametrize(
    "above", ["Trial of March\r\n\r\n", '"Trial of March, 2024",,,\nby Ann,,,\n', "sep=,\n"]
)
def test_lines_above_the_table(frame, path, above):
    path.write_text(above + frame.to_csv(index=False), encoding="utf-8")
    titles = re.findall("[A-Za-z][A-Za-z, 0-9]+[a-z4]", above.replace("sep", ""))
    notes = (f"text above the table is left out: {', '.join(map(repr, titles))}.",) if titles else ()
    assert read(path) == notes


def test_filled_cells_stand_below_the_lines_above_the_table(path):
    path.write_text("sep=;\nTrial;;\n\na;b;c\n1;2;3\n4;;6\n7;8;9\n9;8;7\n")
    source, _ = read_table(path, keep_file=True).file
    assert source.text_with([1], [1], [5.5]) == b"sep=;\nTrial;;\n\na;b;c\n1;2;3\n4;5.5;6\n7;8;9\n9;8;7\n"


def test_a_header_between_blanks_above_decimal_commas_is_no_title(path):
    path.write_text('a b\n-1,5 20,25\n"4,5" NA\n2,0 3,125\n')
    table = read_table(path, missing="drop-rows")
    assert (table.names, table.X.tolist()) == (["a", "b"], [[-1.5, 20.25], [2, 3.125]])
    path.write_text("a b\nr1 1,5 2,5\nr2 4,5 2,25\n")
    table = read_table(path)
    assert (table.names, list(table.ids)) == (["a", "b"], ["r1", "r2"])


def test_a_first_cell_of_several_lines_or_a_number_is_no_title(path):
    path.write_text('"Length\n(cm)",b,c\n1,2,3\n4,5,6\n')
    assert read_table(path).names == ["Length\n(cm)", "b", "c"]
    path.write_text("1,,\n4,5,6\n7,8,9\n")
    assert read_table(path).X.shape == (3, 3)


@pytest.mark.parametrize("delimiter", [",", "\t", " "])
def test_row_names_without_a_heading_as_r_writes_them(frame, path, delimiter):
    text = frame.rename(lambda row: f"row {row}").to_csv(sep=delimiter, quoting=csv.QUOTE_NONNUMERIC)
    path.write_text(text.removeprefix(f'""{delimiter}'), encoding="utf-8")
    assert read(path) == ("the first column has no name and holds text, so it is used as row names.",)
    assert read_table(path).ids[1] == "row 1"


def test_a_header_without_the_delimiter_that_ends_the_rows(frame, path):
    header, *rows = frame.to_csv(index=False).splitlines()
    path.write_text("\n".join(["  ", header, *(f"{row}," for row in rows), "   ", ""]), encoding="utf-8")
    assert read(path) == ("without a number, and left out: column 5.",)


def test_columns_without_a_name_and_a_number_are_left_out(frame, path):
    path.write_text(
        "".join(f"{line},,\n" for line in frame.to_csv(index=False).splitlines()), encoding="utf-8"
    )
    assert read(path) == ("without a number, and left out: column 5, column 6.",)
    frame.assign(e=np.nan, f=np.nan).to_csv(path, index=False)
    with pytest.raises(
        TableError, match=r"column 'e' holds no number at all \(nor do 1 more\); .* --drop e,f"
    ):
        read_table(path)
    assert read(path, numeric_only=True) == ("without a number, and left out: column 'e', column 'f'.",)


def test_the_sheets_of_a_book_are_named_also_if_the_first_is_no_table(frame, tmp_path):
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        pd.DataFrame({"About": ["made by Ann"]}).to_excel(book, sheet_name="Read me", index=False)
        frame.to_excel(book, sheet_name="Data", index=False)
    with pytest.raises(TableError, match="made by Ann") as refused:
        read_table(tmp_path / "x.xlsx")
    (note,) = refused.value.__notes__
    assert note.endswith("x.xlsx: the sheet 'Read me' is read; --sheet reads another: 'Data'.")
    assert read(tmp_path / "x.xlsx", sheet="Data") == ()
