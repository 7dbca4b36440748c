"""``attenua impute``: only missing cells change, in every format; what it says, and how it fails."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from attenua import CorrectedCovariance, CorrectedPCA, load_model, save_model
from attenua.cli.request import flags_in_words
from tests.cli.shell import run
from tests.helpers import spiked_rows

FAST = ["--no-nested", "--cv", 3]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def rows():
    """Twenty rows; cells are missing in rows 3 and 8, columns 1, 2 and 4."""
    X = spiked_rows(20, 4).round(3)
    X[2, 0] = X[7, 1] = X[7, 3] = np.nan
    return X


def by_hand(X, **settings):
    return CorrectedCovariance(cv=3, random_state=0, **settings).fit(X).impute(X, return_std=True)


def impute(*arguments):
    result = run("impute", *arguments)
    assert result.exit_code == 0, result.output
    return result


def test_only_missing_cells_of_a_text_change(rows):
    """Byte for byte, with a mark, quotes, line ends in cells, padding, decimal commas and empty lines."""
    texts = [[f" {x}".replace(".", ",") for x in row] for row in rows.tolist()]
    texts[2][0], texts[7][1], texts[7][3] = "", " NA ", '""'
    filled, _ = by_hand(rows)
    head = 'person;"first;\r\none";b;town;c;d;'

    def text(cells):
        lines = [
            ";".join([f'"p;{k}"', *row[:2], f'"New ""York""\n {k}"', *row[2:], "" if k % 2 else "NA"])
            for k, row in enumerate(cells)
        ]
        return ("\ufeff" + "\r\n".join([head, *lines[:2], "", *lines[2:]]) + "\r\n\r\n").encode()

    Path("x.csv").write_bytes(text(texts))
    result = impute("x.csv", "-o", "y.csv", "--id-column", "person", "--drop", "town,7", *FAST)
    for row, column in ((2, 0), (7, 1), (7, 3)):
        texts[row][column] = str(filled[row, column]).replace(".", ",")
    assert Path("y.csv").read_bytes() == text(texts)
    model = CorrectedCovariance(cv=3, random_state=0).fit(rows)
    said = "x.csv: 3 cells filled, in 2 of 20 rows and 3 of 4 columns."
    assert result.stdout == f"{flags_in_words(model.verdict_)}\n{said}\nWritten: y.csv\n"
    again = impute("y.csv", "-o", "z.csv", "--id-column", "person", "--drop", "town,7", *FAST)
    assert "y.csv: no cell is missing.\n" in again.stdout
    assert Path("z.csv").read_bytes() == Path("y.csv").read_bytes()


def test_standard_input_codes_and_a_record(rows):
    stdin = "\n".join(",".join(map(str, row)) for row in np.where(np.isnan(rows), -999, rows).tolist())
    result = run("impute", "-", "-o", "y.csv", "--na", "-999", "--json", *FAST, stdin=stdin)
    record = json.loads(result.stdout)
    found = [record[f"n_{what}"] for what in ("rows", "columns", "filled", "rows_filled", "columns_filled")]
    assert found == [20, 4, 3, 2, 3]
    assert record["notes"] == ["3 cells are missing, in 2 of 20 rows and 3 of 4 columns."]
    assert record["files"] == ["y.csv"]
    assert record["verdict"].startswith("The fit is")
    np.testing.assert_allclose(np.loadtxt("y.csv", delimiter=","), by_hand(rows)[0], rtol=1e-12)


def test_suspected_codes_are_named_and_stay(rows):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame.loc[[4, 5], "b"] = -999
    frame.to_csv("x.csv", index=False)
    result = impute("x.csv", "-o", "y.csv", *FAST)
    assert "x.csv: column 'b' has -999 in 2 rows, outside the range of the other values" in result.stderr
    assert list(pd.read_csv("y.csv").loc[[4, 5], "b"]) == [-999, -999]


@pytest.mark.parametrize("names", [None, "person"])
def test_standard_deviations_of_the_filled_cells(rows, names):
    frame = pd.DataFrame(rows, columns=["a", "b,c", "d", "e"])
    frame.insert(0, "person", [f"p{k}" for k in range(20)])
    frame.to_csv("x.csv", index=False)
    role = ["--drop", "person"] if names is None else ["--id-column", names]
    result = impute("x.csv", "-o", "y.csv", "--std", "s.csv", *role, *FAST)
    assert result.stdout.endswith("Written: y.csv, s.csv\n")
    filled, deviations = by_hand(rows)
    head, *lines = csv.reader(Path("s.csv").read_text().splitlines())
    assert head == ["row", *([names] if names else []), "column", "filled", "standard_deviation"]
    places = [(2, 0), (7, 1), (7, 3)]
    columns = ["a", "b,c", "e"]
    said = [["3", "p2"], ["8", "p7"], ["8", "p7"]]
    assert [line[:-2] for line in lines] == [
        [*(each if names else each[:1]), column] for each, column in zip(said, columns, strict=True)
    ]
    expected = [[filled[place], deviations[place]] for place in places]
    np.testing.assert_allclose([[float(cell) for cell in line[-2:]] for line in lines], expected, rtol=1e-12)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_tables_keep_their_columns_types_and_index(rows, ending):
    frame = pd.DataFrame(rows, columns=list("abcd"), index=[f"p{k}" for k in range(20)])
    frame = frame.astype({"a": np.float32})
    frame["d"] = (10 * frame["d"]).round().astype("Int64")
    frame.insert(1, "town", "New York")
    frame.insert(3, "unused", np.where(np.arange(20) == 4, np.nan, 1.5))
    save = getattr(frame, f"to_{ending}")
    save(f"x.{ending}")
    options = ["--drop", "town,unused", *FAST]
    impute(f"x.{ending}", "-o", f"y.{ending}", *options)
    found = getattr(pd, f"read_{ending}")(f"y.{ending}")
    assert list(found.dtypes.astype(str)) == [*frame.dtypes.iloc[:-1].astype(str), "float64"]
    used = frame[list("abcd")].astype(float)
    expected, _ = by_hand(used.to_numpy())
    np.testing.assert_allclose(found[list("abcd")], expected, rtol=1e-6)
    seen = used.notna().to_numpy()
    np.testing.assert_array_equal(found[list("abcd")].to_numpy()[seen], used.to_numpy()[seen])
    pd.testing.assert_frame_equal(found[["town", "unused"]], frame[["town", "unused"]])
    impute(f"x.{ending}", "-o", "y.csv", *options)
    text = pd.read_csv("y.csv")
    assert list(text["a"].astype(np.float32)) == list(found["a"])
    assert text["unused"].isna().sum() == 1
    assert len(str(text["a"][0])) <= len("-0.12345678e-05")  # digits of a float32


def test_a_text_becomes_a_table_with_types(rows):
    frame = pd.DataFrame(rows, columns=list("abcd")).assign(town="Ur", year=range(20))
    frame.to_csv("x.csv", index=False)
    impute("x.csv", "-o", "y.parquet", "--drop", "town,year", *FAST)
    found = pd.read_parquet("y.parquet")
    assert list(found["year"]) == list(range(20))
    np.testing.assert_allclose(found[list("abcd")], by_hand(rows)[0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_keep_all_columns_and_their_type(rows, dtype):
    rows = np.insert(rows, 2, 7.0, axis=1).astype(dtype)
    rows[0, 2] = np.nan
    np.save("x.npy", rows)
    impute("x.npy", "-o", "y.npy", "--drop", "3", *FAST)
    found = np.load("y.npy")
    assert found.dtype == dtype
    kept = [0, 1, 3, 4]
    np.testing.assert_allclose(found[:, kept], by_hand(rows[:, kept])[0], rtol=1e-5)
    np.testing.assert_array_equal(found[:, 2], rows[:, 2])
    impute("x.npy", "-o", "y.tsv", "--drop", "3", *FAST)
    frame = pd.read_csv("y.tsv", sep="\t")
    assert list(frame) == [f"column_{k}" for k in range(1, 6)]
    np.testing.assert_array_equal(frame.astype(dtype), found)


def test_a_sparse_matrix(rows):
    rows[:10, 2] = 0
    sp.save_npz("x.npz", sp.csr_matrix(rows))
    impute("x.npz", "-o", "y.npy", *FAST)
    np.testing.assert_allclose(np.load("y.npy"), by_hand(rows)[0], rtol=1e-12)


def test_a_stored_covariance_fills_one_row_by_the_names_of_its_columns(rows):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame.to_csv("x.csv", index=False)
    assert run("covariance", "x.csv", "-o", "model.npz", *FAST).exit_code == 0
    model = load_model("model.npz")
    frame.loc[[7], list("dcba")].assign(other="x").to_csv("one.csv", index=False)
    result = impute("one.csv", "-o", "y.csv", "--model", "model.npz")
    assert result.stdout.startswith(flags_in_words(model.verdict_))
    found = pd.read_csv("y.csv")
    assert list(found) == ["d", "c", "b", "a", "other"]
    np.testing.assert_allclose(found[list("abcd")], model.impute(frame.loc[[7]]), rtol=1e-12)
    frame.loc[[7]].assign(a=None, c=None).to_csv("one.csv", index=False)
    result = impute("one.csv", "-o", "y.csv", "--model", "model.npz", "--force")
    assert "Note: 1 row of X has no values at all" in result.stderr
    np.testing.assert_allclose(pd.read_csv("y.csv").iloc[0], model.location_, rtol=1e-12)


def test_it_learns_from_groups_neighbours_and_a_reference(rows):
    frame = pd.DataFrame(rows, columns=list("abcd")).assign(who=np.arange(20) // 2)
    frame.to_csv("x.csv", index=False)
    others = spiked_rows(30, 4)[20:]
    pd.DataFrame(others, columns=list("abcd")).to_csv("others.csv", index=False)
    options = ["--group-column", "who", "--neighbours", "line", "--reference", "others.csv"]
    impute("x.csv", "-o", "y.csv", *options, *FAST)
    model = CorrectedCovariance(cv=3, random_state=0, neighbours="line", reference=others)
    expected = model.fit(rows, groups=frame["who"]).impute(rows)
    np.testing.assert_allclose(pd.read_csv("y.csv")[list("abcd")], expected, rtol=1e-12)


def test_problems_end_with_a_sentence_and_write_nothing(rows):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame.to_csv("x.csv", index=False)
    frame.assign(town="Ur").to_csv("town.csv", index=False)
    save_model(CorrectedPCA(2).fit(frame), "pca.npz")
    Path("mine.csv").write_text("mine")
    for arguments, code, sentence in (
        (
            ["x.csv", "-o", "y.xlsx"],
            2,
            "y.xlsx must end in .csv, .tsv, .tab, .txt, .dat, .parquet, .feather, .npy.",
        ),
        (["x.csv", "-o", "y.csv", "--std", "y.csv"], 2, "y.csv must end in .csv, and be another file"),
        (
            ["x.csv", "-o", "y.csv", "--std", "no/../y.csv"],
            2,
            "no/../y.csv must end in .csv, and be another file",
        ),
        (["x.csv", "-o", "y.csv", "--std", "s.npy"], 2, "s.npy must end in .csv"),
        (["x.csv"], 2, "Missing option"),
        (["-o", "y.csv"], 2, "Missing argument"),
        (["x.csv", "-o", "y.csv", "--std", "mine.csv"], 1, "mine.csv exists already"),
        (["none.csv", "-o", "y.csv", "--std", "no/s.csv"], 1, "the folder no does not exist."),
        (["town.csv", "-o", "y.csv"], 1, "column 'town' holds 'Ur', which is not a number. Leave the column"),
        (["x.csv", "-o", "y.csv", "--model", "pca.npz"], 1, "pca.npz holds a CorrectedPCA, and cells are"),
        (["x.csv", "-o", "y.csv", "--model", "x.csv"], 1, "x.csv"),
        (["x.csv", "-o", "y.csv", "--model", "pca.npz", "--cv", "3"], 1, "--cv has no effect with --model"),
    ):
        result = run("impute", *arguments)
        assert result.exit_code == code, result.output
        assert sentence in " ".join(result.stderr.replace("│", " ").split())
        assert not Path("y.csv").exists()
    assert Path("mine.csv").read_text() == "mine"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_texts_keep_their_encoding_comments_and_blanks(rows, encoding):
    cells = [["NA" if np.isnan(x) else str(x) for x in row] for row in rows.tolist()]

    def text(cells):
        lines = ["# measured in Jülich", "ä b  c d", "# a comment", *("  ".join(row) + " " for row in cells)]
        return "\r\n".join(lines).encode(encoding)

    Path("x.txt").write_bytes(text(cells))
    impute("x.txt", "-o", "y.txt", *FAST)
    filled, _ = by_hand(rows)
    for row, column in ((2, 0), (7, 1), (7, 3)):
        cells[row][column] = str(filled[row, column])
    assert Path("y.txt").read_bytes() == text(cells)


def test_a_stack_of_images_keeps_its_shape(rows):
    np.save("x.npy", rows.reshape(20, 2, 2))
    impute("x.npy", "-o", "y.npy", *FAST)
    assert np.load("y.npy").shape == (20, 2, 2)
