"""The study's tables as text, Markdown and LaTeX, each with the published value beside ours; and as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attenua.files import write_whole
from attenua.studies.published import STRENGTHS
from attenua.studies.real_data import TITLES


@dataclass(frozen=True)
class Table:
    """A title, a heading and rows of text.

    Attributes
    ----------
    title : str
        One line.
    heading : tuple of str
        Names of the columns; the first is of the rows.
    rows : list of tuple of str
        Cells.
    """

    title: str
    heading: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def to_text(self) -> str:
        """Return aligned columns."""
        lines = [self.heading, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.heading))]
        body = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([self.title, "", body[0], "-" * len(body[0]), *body[1:]]) + "\n"

    def to_markdown(self) -> str:
        """Return a pipe table."""
        lines = [self.heading, ("---", *["---:"] * (len(self.heading) - 1)), *self.rows]
        return f"**{self.title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def to_latex(self) -> str:
        """Return a booktabs tabular."""
        lines = [" & ".join(map(_latex, line)) + r" \\" for line in [self.heading, *self.rows]]
        columns = "l" + "r" * (len(self.heading) - 1)
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        return f"% {self.title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"


def _latex(cell: str) -> str:
    return (
        cell.replace("%", r"\%").replace("-", "$-$")
        if cell[:1] in "-0123456789"
        else cell.replace("%", r"\%")
    )


def main_table(gains: pd.DataFrame) -> Table:
    """Mean gains, methods down and cells across, ours over the paper's (main-real-data-comparison)."""
    cells = list(dict.fromkeys(zip(gains["data"], gains["budget"], strict=True)))
    heading = ("Method", *(f"{TITLES[data]} N={budget}" for data, budget in cells))
    by_key = gains.set_index(["method", "data", "budget"])
    best = {
        cell: gains[(gains["data"] == cell[0]) & (gains["budget"] == cell[1])]["gain"].max() for cell in cells
    }
    rows: list[tuple[str, ...]] = [("PCA", *["0.00"] * len(cells))]
    for method in gains["method"].unique():
        ours = [by_key.loc[(method, *cell)] for cell in cells]
        rows.append(
            (
                method,
                *(
                    f"{g['gain']:.2f}{'*' if g['gain'] == best[c] else ''}"
                    for g, c in zip(ours, cells, strict=True)
                ),
            )
        )
        if pd.notna(ours[0].get("paper_gain")):
            rows.append(("  paper", *(f"{g['paper_gain']:.2f}" for g in ours)))
    return Table("Percentage of PCA's test excess risk removed (* best of the cell)", heading, rows)


def interval_table(gains: pd.DataFrame) -> Table:
    """Gains with intervals, ours and the paper's (attenuation-real-data, neighboring-real-data)."""
    rows = []
    for row in gains.itertuples():
        published, verdict = "-", "-"
        if pd.notna(row.paper_gain):
            published = f"{row.paper_gain:.2f} [{row.paper_low:.2f}, {row.paper_high:.2f}]"
            verdict = "yes" if row.overlaps else "NO"
        ours = f"{row.gain:.2f} [{row.low:.2f}, {row.high:.2f}]"
        rows.append((f"{TITLES[row.data]} N={row.budget}", row.method, ours, published, verdict))
    heading = ("Cell", "Method", "ours [95%]", "paper [95%]", "intervals overlap")
    return Table("Gains with 95% intervals, ours and the paper's", heading, rows)


def strengths_table(strengths: pd.DataFrame) -> Table:
    """Mean chosen strengths and fallbacks, ours and the paper's (real-data-selected-strengths)."""
    cells = list(dict.fromkeys(zip(strengths["data"], strengths["budget"], strict=True)))
    rows = []
    for row in strengths.itertuples():
        published = "-"
        if row.method in STRENGTHS and len(cells) == len(STRENGTHS[row.method]):
            strength, fallback = STRENGTHS[row.method][cells.index((row.data, row.budget))]
            published = f"{strength:.3f} ({fallback:.1f}%)"
        ours = f"{row.strength:.3f} ({row.fallback_percent:.1f}%)"
        rows.append(
            (
                f"{TITLES[row.data]} N={row.budget}",
                row.method,
                ours,
                published,
                f"{row.above_half_percent:.0f}%",
            )
        )
    heading = ("Cell", "Method", "ours (fallback)", "paper (fallback)", "above 1/2")
    return Table("Mean chosen strength and percentage of fits that fell back to PCA", heading, rows)


def write_tables(folder: Path, tables: dict[str, Table], frames: dict[str, pd.DataFrame]) -> list[Path]:
    """Write every table in each format, and the frames behind them as CSV; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[tuple[Path, str]] = []
    for name, table in tables.items():
        files += [
            (folder / f"{name}.txt", table.to_text()),
            (folder / f"{name}.md", table.to_markdown()),
            (folder / f"{name}.tex", table.to_latex()),
        ]
    files += [(folder / f"{name}.csv", frame.to_csv(index=False)) for name, frame in frames.items()]
    for path, content in files:
        write_whole(path, content.encode())
    return [path for path, _ in files]


def ordered_cells(keys: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the cells in the order of the paper."""
    order = list(TITLES)
    return sorted(set(keys), key=lambda cell: (order.index(cell[0]), cell[1]))
