"""The tables of one kind of data, computed by hand from a small store."""

from attenua_evidence.one_kind import cells_table, sets_table
from attenua_evidence.report import pieces_of_kinds
from attenua_evidence.results import read_lines


def test_tables_of_one_kind(store):
    # The data sets of a kind.
    # Alpha has the gains 15 and 5 in its two cells, and 6 without being told the order.
    table = sets_table(read_lines(store), "spectra")
    assert table.rows == [("alpha", "final", "12", "line", "10.0", "5.00", "15.0", "6.00")]
    # A kind without order.
    (row,) = sets_table(read_lines(store), "table").rows
    assert row[:4] == ("beta", "final", "12", "none")
    # The cells of a data set.
    table = cells_table(read_lines(store), "alpha")
    assert table.heading == ("Rows", "rank 2", "rank 5")
    assert table.rows == [("16", "15.0", "5.00")]
    # Kinds and sets that were not run have no piece.
    assert list(pieces_of_kinds(read_lines(store))) == ["sets_spectra"]
