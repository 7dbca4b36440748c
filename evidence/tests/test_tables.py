"""The tables of a small store, computed by hand."""

import pytest

from attenua_evidence.accuracy import accuracy_table, correlation_table, labelled
from attenua_evidence.summary import compared, method_frame, summary
from attenua_evidence.tables import (
    kinds_table,
    left_out_table,
    lost_without,
    methods_table,
    parts_table,
    seconds,
    sizes_table,
    strengths_table,
    worst_cells_table,
    worst_sets_table,
)

# Means of 10 and -2: half the interval is 12.706 (t, one degree of freedom) times 6.
FINAL = "4.00 [-72.2, 80.2]"


def rows_of(table):
    return {row[0]: row[1:] for row in table.rows}


def test_summaries(final):
    # Summary of the recommended setting.
    of = summary(final, "recommended")
    assert str(of.gain) == FINAL
    assert of.same == of.gain == of.own_gain
    assert (of.median, of.sets, of.gaining, of.below) == (4, 2, 1, 1)
    assert (of.cells, of.losing, of.unsuited, of.failed, of.short) == (3, 1, 0, 0, 0)
    assert of.worst == (-2, "beta, 16 rows, rank 2")
    assert of.most_added == (1, "beta, 16 rows, rank 2")
    assert of.seconds == 0.5
    # A rival is compared where it fits.
    of = summary(final, "robust")
    assert (of.gain.value, of.same.value) == (30, 10)
    assert of.own_gain.value == pytest.approx(50)
    assert (of.sets, of.cells, of.unsuited, of.failed) == (1, 1, 1, 2)
    assert of.worst == (30, "alpha, 16 rows, rank 2")
    # Fits with fewer components are counted.
    is_first = (final["method"] == "robust") & (final["status"] == "fitted")
    assert summary(final.assign(n_components=final["n_components"].mask(is_first, 1)), "robust").short == 1


def test_methods_and_parts(lines, final, methods):
    # Parts.
    rows = rows_of(parts_table(lines))
    # alpha keeps 6 without its order; the paper's strength has 2 and -3.
    assert rows["final"] == ("2", "3", FINAL, "2.00 [-48.8, 52.8]", "-0.50 [-32.3, 31.3]")
    assert rows["develop"] == ("1", "1", "2.00", "2.00", "0.00")
    assert rows["all"][:2] == ("3", "4")
    assert rows["all"][2].startswith("3.33 [")
    # Methods.
    rows = rows_of(methods_table(methods))
    assert rows["recommended"] == (FINAL, "4.00", "1 of 2", "1 of 3", "4.00", "0 / 0 / 0")
    assert rows["robust"] == ("30.0", "30.0", "1 of 1", "0 of 1", "10.0", "1 / 2 / 0")
    # A method that fits nowhere is shown.
    table = methods_table(compared(final[(final["method"] != "robust") | (final["status"] != "fitted")]))
    assert rows_of(table)["robust"] == ("–", "–", "0 of 0", "0 of 0", "–", "1 / 2 / 0")
    # Frame of all methods.
    frame = method_frame(lines).set_index(["part", "method"])
    robust = frame.loc[("final", "robust")]
    assert (robust["gain"], robust["same"], robust["worst_cell"]) == (30, 10, "alpha, 16 rows, rank 2")
    assert frame["gain"][("all", "robust")] == -35


def test_where_it_gains_and_loses(final, methods):
    # Where.
    rows = rows_of(kinds_table(final))
    assert rows["spectra"] == rows["columns in order"] == ("1", "10.0", "6.00", "2.00")
    assert rows["table"] == rows["columns without order"] == ("1", "-2.00", "-2.00", "-3.00")
    rows = rows_of(sizes_table(final))
    assert rows["16 rows"][1] == FINAL
    assert rows["rank 5"] == ("1", "5.00", "6.00", "2.00")
    # Rank 2: 15 of alpha and -2 of beta.
    assert rows["rank 2"][1].startswith("6.50 [")
    # Worst cells.
    rows = rows_of(worst_cells_table(methods))
    assert rows["recommended"] == ("-2.0 (beta, 16 rows, rank 2)", "1.00 (beta, 16 rows, rank 2)", "0.5")
    assert rows["robust"][0] == "30.0 (alpha, 16 rows, rank 2)"
    # Worst data sets.
    rows = worst_sets_table(final).rows
    assert rows[0] == ("beta", "table", "-2.00", "-2.0 (16 rows, rank 2)", "-3.00")
    assert [row[0] for row in rows] == ["beta", "alpha"]


def test_what_corrections_do(final, lines):
    # What is lost without a correction.
    assert lost_without(final, "without attenuation").to_dict() == {"alpha": 1, "beta": -2}
    rows = rows_of(left_out_table(final))
    assert rows["without attenuation"] == ("2", "-0.50 [-19.6, 18.6]", "1", "1")
    assert rows["without smoothing"] == ("1", "4.00", "1", "0")
    assert rows["without damping"] == ("2", "0.00 [0.00, 0.00]", "0", "0")
    assert rows["repeated folds"][1].startswith("-1.00 [-1.00, -1.00")
    # A store from before votes has another way to search.
    assert "guard 0" not in rows
    old = final.assign(method=final["method"].replace("no share", "guard 0"))
    assert {"guard 0", "no share"} & set(rows_of(left_out_table(old))) == {"guard 0"}
    assert set(compared(old)) == set(compared(final)) - {"no share"} | {"guard 0"}
    # How often a correction is taken.
    table = strengths_table(lines)
    shares, developed = (
        dict(zip(table.heading[2:], rows_of(table)[part][1:], strict=True)) for part in ("final", "develop")
    )
    # Six fits: four of alpha, all with smoothing, two of them with damping; two of beta, with none.
    assert shares.pop("damping") == shares.pop("none: PCA") == "33"
    assert shares.pop("smoothing") == "100"
    assert set(shares.values()) == {"0"}
    assert (developed["smoothing"], developed["none: PCA"]) == ("–", "100")


def test_accuracies_and_seconds(lines, final):
    # Accuracies.
    assert set(labelled(lines)["data"]) == {"alpha", "beta"}
    rows = rows_of(accuracy_table(labelled(final)))
    assert rows["PCA"] == ("2", "50.0", "", "70.0", "")
    # Nearest centroid: 10 and -10 points; logistic regression: 10 and 0.
    assert rows["recommended"] == ("2", "50.0", "0.00 [-127, 127]", "75.0", "5.00 [-58.5, 68.5]")
    assert rows["robust"] == ("1", "60.0", "10.0", "80.0", "10.0")
    assert rows_of(correlation_table(labelled(final)))["nearest centroid"] == ("2", "1.00", "1.00")
    # Seconds.
    texts = [seconds(value) for value in (0.0123, 9.87, 123.4, float("nan"))]
    assert texts == ["0.012", "9.9", "123", "–"]
