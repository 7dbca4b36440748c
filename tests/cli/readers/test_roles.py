"""Columns that are not measurements: index columns, IDs, groups and colours."""

import numpy as np
import pandas as pd
import pytest

from attenua.cli.readers import TableError, read_table

ROWS = np.random.default_rng(0).standard_normal((8, 3))


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS, columns=["a", "b", "c"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.csv"


@pytest.mark.parametrize(("start", "named"), [(0, True), (1, False)])
def test_the_index_that_pandas_and_r_write_is_dropped_and_noted(frame, path, start, named):
    """Also over columns that are only numbered, whose header then is one blank and numbers."""
    frame = frame if named else frame.set_axis(range(3), axis=1)
    frame.index += start
    frame.to_csv(path)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, ROWS)
    assert table.names == [str(name) for name in frame.columns]
    assert table.ids is None
    assert table.notes == (
        "the first column has no name and counts the rows, so it is dropped (--columns keeps it).",
    )
    assert read_table(path, columns=["1:2"]).X.shape == (8, 2)
    assert read_table(path, columns=["1:2"]).notes == ()
    assert list(read_table(path, id_column="").ids) == [str(number + start) for number in range(8)]


def test_a_first_column_of_texts_without_a_name_names_the_rows(frame, path):
    frame.index = [f"s{number}" for number in range(8)]
    frame.to_csv(path)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, ROWS)
    assert (list(table.ids), table.id_name) == (list(frame.index), "id")
    assert "so it is used as row names" in table.notes[0]


def test_a_first_column_without_a_name_that_does_not_count_is_data(frame, path):
    frame.rename(columns={"a": ""}).to_csv(path, index=False)
    assert read_table(path).X.shape == (8, 3)


@pytest.mark.parametrize(
    ("name", "values", "suspected"),
    [
        ("patient_id", [7, 3, 99, 12, 5, 41, 8, 23], True),
        ("x", range(101, 109), True),
        ("x", [7, 3, 99, 12, 5, 41, 8, 23], False),
        ("id", [7, 3, 7, 12, 5, 41, 8, 23], False),
        ("width", [7, 3, 99, 12, 5, 41, 8, 23], False),
    ],
)
def test_ids_among_the_numbers_are_suspected_but_kept(frame, path, name, values, suspected):
    frame.insert(1, name, list(values))
    frame.to_csv(path, index=False)
    table = read_table(path)
    assert table.X.shape == (8, 4)
    sentence = (
        f"column {name!r} is used as numbers but looks like an ID; use --id-column to take it as row names, "
        "or --drop to leave it out."
    )
    assert table.notes == ((sentence,) if suspected else ())
    # Who names the columns has decided.
    assert read_table(path, columns=[":"]).notes == ()
    np.testing.assert_array_equal(read_table(path, drop=[name]).X, ROWS)


@pytest.mark.parametrize(
    ("name", "values", "suspected"),
    [
        ("subject", [1, 1, 2, 2, 3, 3, 4, 4], True),
        ("Patient ID", [1, 1, 2, 2, 3, 3, 4, 4], True),
        ("batches", [1, 1, 2, 2, 3, 3, 4, 4], False),
        ("subject", [1.5, 1, 2, 2, 3, 3, 4, 4], False),
        ("subject", [7, 3, 99, 12, 5, 41, 8, 23], False),
    ],
)
def test_labels_of_groups_among_the_numbers_are_suspected_but_kept(frame, path, name, values, suspected):
    frame.insert(1, name, values)
    frame.to_csv(path, index=False)
    table = read_table(path)
    assert table.X.shape == (8, 4)
    assert any("use --group-column to keep them in one fold" in note for note in table.notes) == suspected
    assert not any("--group-column" in note for note in read_table(path, group_column=name).notes)


def test_a_table_that_counts_everywhere_has_no_ids(path):
    np.savetxt(path, np.arange(8)[:, None] + [0, 10, 30], delimiter=",")
    assert read_table(path).notes == ()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_by_name_or_position(frame, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    frame["code"] = [f"s{number}" for number in range(8)]
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    for wanted in ("code", "4"):
        table = read_table(path, id_column=wanted)
        assert table.names == ["a", "b", "c"]
        assert (list(table.ids), table.id_name) == (list(frame["code"]), "code")
    with pytest.raises(TableError, match="column 'code' names the rows; take it out of --columns"):
        read_table(path, id_column="code", columns=["a,code"])
    with pytest.raises(TableError, match="no column 'who' for --id-column; its columns are 'a'"):
        read_table(path, id_column="who")


def test_ids_of_a_matrix_without_names(tmp_path):
    np.save(tmp_path / "x.npy", np.column_stack([np.arange(8) ** 2, ROWS]))
    table = read_table(tmp_path / "x.npy", id_column="1")
    np.testing.assert_array_equal(table.X, ROWS)
    assert (list(table.ids)[:3], table.id_name) == (["0.0", "1.0", "4.0"], "column_1")


@pytest.mark.parametrize(("name", "called"), [("sample", "sample"), (None, "index")])
def test_the_index_of_parquet_names_the_rows(frame, tmp_path, name, called):
    frame.index = pd.Index(list("stuvwxyz"), name=name)
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    assert (list(table.ids), table.id_name, table.notes) == (list("stuvwxyz"), called, ())
    assert table.names == ["a", "b", "c"]
    frame.reset_index(drop=True).to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").ids is None


def test_drop_is_all_but(frame, path):
    frame["who"] = "me"
    frame.to_csv(path, index=False)
    assert read_table(path, drop=["who", "b"]).names == ["a", "c"]
    assert read_table(path, drop=["2:"]).names == ["a"]
    assert read_table(path, columns=["a:c"], drop=["1"]).names == ["b", "c"]
    with pytest.raises(TableError, match="no column 'd'"):
        read_table(path, drop=["d"])
    with pytest.raises(TableError, match="--drop names column 'a' twice"):
        read_table(path, drop=["a,a"])
    with pytest.raises(TableError, match="has no column left to use as numbers"):
        read_table(path, drop=[":"])


def test_colours_are_numbers_or_texts_and_left_out_of_the_numbers(frame, path):
    frame["age"] = [30, 41, np.nan, 50, 61, 22, 35, 44]
    frame["site"] = list("uuvvwwxx")
    frame.to_csv(path, index=False)
    table = read_table(path, colour_by="age", drop=["site"])
    np.testing.assert_array_equal(table.colours, frame["age"])
    assert table.names == ["a", "b", "c"]
    table = read_table(path, colour_by="site", group_column="site", drop=["age"])
    assert list(table.colours) == list(table.groups) == list("uuvvwwxx")
    assert read_table(path, colour_by="b", columns=["a:c"]).names == ["a", "b", "c"]
    with pytest.raises(TableError, match="no column 'sex' for --colour-by"):
        read_table(path, colour_by="sex")


def test_names_of_rows_from_another_column_are_not_said_to_be_the_first(frame, path):
    frame["who"] = list("stuvwxyz")
    frame.set_axis([f"r{number}" for number in range(8)]).to_csv(path)
    table = read_table(path, id_column="who")
    assert list(table.ids) == list("stuvwxyz")
    assert table.names == ["a", "b", "c"]
    assert table.notes == ()


def test_copies_of_rows_are_told_unless_groups_hold_them_together(frame, path):
    frame["site"] = list("aabbccdd")
    frame.iloc[[1, 3], :-1] = frame.iloc[[0, 2], :-1]
    frame.to_csv(path, index=False)
    assert any("2 of 8 rows are exact copies" in note for note in read_table(path, drop=["site"]).notes)
    assert not any("copies" in note for note in read_table(path, group_column="site").notes)
