"""When does it pay? Write the cells that `attenua.expected_gain` looks up, and try it on the final part."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from attenua._files import write_all_whole
from attenua.display.common import ACCENT, SHADES
from attenua.expected import CELLS_FILE, LOSS, TRAITS, Cells, traits_of
from attenua_evidence.averages import decimals
from attenua_evidence.draws import draw
from attenua_evidence.results import CELL, RECOMMENDED, cell_means, fitted, read_lines
from attenua_paper.studies.simulations.figures import STYLE, save_figure
from attenua_paper.studies.tables import Table

TABLE = Path(__file__).parents[3] / "src" / "attenua" / CELLS_FILE


def main(entries: Iterable[Any], data: Path, store: Path, docs: Path) -> None:
    """Write the table of cells from the parts develop and choose, and the page's tables and picture."""
    cells = cells_with_traits(read_lines(store), entries, data)
    known = cells[cells["part"] != "final"]
    asked = {"develop, choose": left_out_predictions(known)}
    if "final" in set(cells["part"]):
        asked["final"] = predictions(known, cells[cells["part"] == "final"])
    tables = [table.to_markdown() for table in (error_table(asked), thirds_table(asked))]
    contents = {
        TABLE: known[["data", "ordered", *TRAITS, "gain"]].to_csv(index=False).encode(),
        docs / "guide" / "_when_it_pays.md": "\n".join([words(asked), *tables]).encode(),
        docs / "images" / "when-it-pays.png": save_figure(picture(asked))["png"],
    }
    write_all_whole(contents, force=True, make_folders=True)


def cells_with_traits(lines: pd.DataFrame, entries: Iterable[Any], data: Path) -> pd.DataFrame:
    """Return one line for each cell: its gain, and its traits averaged over its draws."""
    mine = fitted(lines, RECOMMENDED).reset_index()
    named = {entry.name: entry for entry in entries}
    traits = []
    for name, of_set in mine.groupby("data"):
        table, unit = named[name].read(data), named[name].unit
        for (rows, number), of_draw in of_set.groupby(["rows", "draw"]):
            X = draw(table, name, unit, rows, number).X
            cell = {"data": name, "rows": rows}
            traits += [traits_of(X, rank) | cell | {"rank": rank} for rank in of_draw["rank"]]
    means = pd.DataFrame(traits).groupby(CELL).mean()
    about = mine.assign(ordered=(mine["order"] != "").astype(int)).groupby(CELL)[["part", "ordered"]].first()
    return about.join(means).join(cell_means(mine)).round(4).reset_index()


def predictions(known: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """Return the asked cells with what the known ones predict, and what order alone does."""
    cells = Cells(known.to_dict("records"))
    expected = [cells.expected(line, bool(line["ordered"])) for line in asked.to_dict("records")]
    by_order = known.groupby("ordered")["gain"].median()
    return asked.assign(
        expected=[e.gain for e in expected],
        low=[e.quartiles[0] for e in expected],
        high=[e.quartiles[1] for e in expected],
        by_order=by_order.reindex(asked["ordered"]).to_numpy(),
        constant=known["gain"].median(),
    )


def left_out_predictions(known: pd.DataFrame) -> pd.DataFrame:
    """Return the known cells, each predicted by the other data sets."""
    names = known["data"]
    return pd.concat(
        [predictions(known[names != name], known[names == name]) for name in dict.fromkeys(names)]
    )


def words(asked: dict[str, pd.DataFrame]) -> str:
    """Say how well the last of the parts was predicted, whichever way it came out."""
    title, frame = list(asked.items())[-1]
    sentences = ["On the final part:" if title == "final" else "The final part has not been run yet. So far:"]
    for kind, part in _kinds(frame):
        own, alone = (_mean_error(part, way) for way in ("expected", "by_order"))
        better = (
            "better than" if own < 0.95 * alone else "worse than" if own > 1.05 * alone else "no better than"
        )
        r = spearmanr(part["expected"], part["gain"]).statistic
        sentences.append(
            f"where columns are {kind}, `expected_gain` errs by {own:.1f} points on average, {better} the "
            f"median of such cells ({alone:.1f}), and its rank correlation with the observed gain is {r:.2f};"
        )
    return " ".join(sentences).rstrip(";") + ".\n"


def error_table(asked: dict[str, pd.DataFrame]) -> Table:
    """How far the expected gain is from the observed one, every data set counting the same."""
    ways = ("constant", "by_order", "expected")
    rows = []
    for title, frame in asked.items():
        for kind, part in _kinds(frame):
            errors = [_mean_error(part, way) for way in ways]
            inside = (part["gain"] >= part["low"]) & (part["gain"] <= part["high"])
            rows.append(
                (
                    title,
                    kind,
                    str(len(part)),
                    *(f"{error:.1f}" for error in errors),
                    f"{100 * _mean_over_sets(part, inside.astype(float)):.0f}%",
                    f"{spearmanr(part['expected'], part['gain']).statistic:.2f}",
                )
            )
    heading = (
        "Part",
        "columns",
        "cells",
        "one number for all",
        "order alone",
        "expected_gain",
        "inside its quartiles",
        "rank correlation",
    )
    title = "Mean absolute error of three ways to predict a cell's gain, in points"
    return Table(title, heading, rows)


def thirds_table(asked: dict[str, pd.DataFrame]) -> Table:
    """Return the observed gains where little, more and most was expected."""
    rows = []
    for title, frame in asked.items():
        cuts = np.quantile(frame["expected"], [1 / 3, 2 / 3])
        third = np.searchsorted(cuts, frame["expected"])
        for number, name in enumerate(("lowest third", "middle third", "highest third")):
            part = frame[third == number]
            rows.append(
                (
                    title,
                    name,
                    f"{decimals(part['expected'].min(), 0)} to {decimals(part['expected'].max(), 0)}",
                    f"{part['gain'].median():.1f}",
                    f"{part['gain'].mean():.1f}",
                    f"{(part['gain'] < -LOSS).sum()} of {len(part)}",
                )
            )
    heading = ("Part", "cells by expected gain", "expected", "median gain", "mean gain", "lost more than 1%")
    return Table("Observed gains, by what was expected", heading, rows)


def picture(asked: dict[str, pd.DataFrame]) -> Figure:
    """Draw observed against expected gains, for each part."""
    with rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(7.2, 3.8), layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, len(asked), sharex=True, sharey=True))
        for ax, (title, frame) in zip(axes, asked.items(), strict=True):
            _draw_part(ax, frame)
            ax.set(title=title, xlabel="expected gain, %")
        axes[0].set_ylabel("observed gain, % (logarithmic beyond 10)")
        axes[0].legend(loc="lower right", title="columns")
    return figure


def _draw_part(ax: Any, frame: pd.DataFrame) -> None:
    for (kind, part), (marker, colour) in zip(_kinds(frame), (("D", ACCENT), ("o", SHADES[1])), strict=False):
        ax.plot(part["expected"], part["gain"], marker, ms=3.5, alpha=0.6, mew=0, color=colour, label=kind)
    ax.axhline(0, color="0.4", lw=0.8)
    diagonal = np.linspace(0, frame["expected"].max())
    ax.plot(diagonal, diagonal, "--", color="0.4", lw=0.8)
    ax.set_yscale("symlog", linthresh=10)
    ticks = [-100, -30, -10, 0, 10, 30, 100]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])


def _kinds(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    kinds = (("in an order", frame["ordered"] == 1), ("in no order", frame["ordered"] == 0))
    return [(name, frame[which]) for name, which in kinds if which.any()]


def _mean_error(frame: pd.DataFrame, way: str) -> float:
    return _mean_over_sets(frame, (frame["gain"] - frame[way]).abs())


def _mean_over_sets(frame: pd.DataFrame, values: pd.Series) -> float:
    return float(values.groupby(frame["data"]).mean().mean())
