"""The study's tables as text, Markdown and LaTeX, each with our value and the published one; and as CSV."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attenua._correct.registry import SEARCH_ORDER
from attenua_paper.studies.published import GAINS, STRENGTHS
from attenua_paper.studies.real_data import TITLES
from attenua_paper.studies.study_methods import FAMILIES, HINDSIGHT, in_order

# After the name of a method that the paper does not have.
NOT_IN_PAPER = " †"


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
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        words = self._columns_of_words()
        body = [
            "  ".join(
                cell.ljust(width) if word else cell.rjust(width)
                for cell, width, word in zip(line, widths, words, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, "", body[0], "-" * max(map(len, body)), *body[1:]]) + "\n"

    def _columns_of_words(self) -> list[bool]:
        """Return which columns start at the left; numbers end at the right."""
        return [any(cell[:1].isalpha() for cell in column) for column in zip(*self.rows, strict=True)]

    def to_markdown(self) -> str:
        """Return a pipe table."""
        rule = tuple("---" if word else "---:" for word in self._columns_of_words())
        lines = [self.heading, rule, *self.rows]
        return f"**{self.title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def to_latex(self) -> str:
        """Return a booktabs tabular."""
        lines = [" & ".join(map(_latex, line)) + r" \\" for line in [self.heading, *self.rows]]
        columns = "".join("l" if word else "r" for word in self._columns_of_words())
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        return f"% {self.title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"


def _latex(cell: str) -> str:
    number = cell[:1] in "-0123456789"
    signs = {"%": r"\%", "†": r"$\dagger$"} | ({"-": "$-$"} if number else {})
    return "".join(signs.get(letter, letter) for letter in cell)


def _percent(value: float) -> str:
    """Return two decimals, without the sign of a zero."""
    return f"{value:.2f}" if abs(value) >= 0.005 else "0.00"


def _with_interval(mean: float, low: float, high: float) -> str:
    return f"{_percent(mean)} [{_percent(low)}, {_percent(high)}]"


def _cells(frame: pd.DataFrame) -> list[tuple[str, int]]:
    return list(dict.fromkeys(zip(frame["data"], frame["budget"], strict=True)))


def _title_of(data: str, budget: int) -> str:
    return f"{TITLES[data]} N={budget}"


def main_table(gains: pd.DataFrame) -> Table:
    """Mean gains, methods down and cells across, ours over the paper's (main-real-data-comparison)."""
    cells = _cells(gains)
    best = gains[~gains["method"].isin(HINDSIGHT)].groupby(["data", "budget"])["gain"].max()
    rows: list[tuple[str, ...]] = [("PCA", *["0.00"] * len(cells))]
    for method in in_order(gains["method"]):
        ours = gains[gains["method"] == method]
        by_cell = ours.set_index(["data", "budget"])
        shown = ["-"] * len(cells)  # where the method does not apply
        for number, cell in enumerate(cells):
            if cell in by_cell.index:
                gain = by_cell.loc[cell, "gain"]
                is_best = method not in HINDSIGHT and gain == best[cell]
                shown[number] = _percent(gain) + ("*" if is_best else "")
        rows.append((f"{method}{'' if method in GAINS else NOT_IN_PAPER}", *shown))
        if ours["paper_gain"].notna().all():
            rows.append(("  paper", *map(_percent, ours["paper_gain"])))
    return Table(
        "Percentage of PCA's test excess risk removed; a star marks the best method of the cell, † what is "
        "not in the paper",
        ("Method", *(_title_of(*cell) for cell in cells)),
        rows,
    )


def hindsight_table(gains: pd.DataFrame) -> Table:
    """Gains of a choice by five folds, by repeated folds, and in hindsight."""
    by_method = gains.set_index(["data", "budget", "method"])["gain"]
    rows = [
        (_title_of(*cell), family, *(_percent(by_method[(*cell, method)]) for method in methods))
        for cell in _cells(gains)
        for family, methods in FAMILIES.items()
        if all((*cell, method) in by_method.index for method in methods)
    ]
    heading = ("Cell", "Chosen", "five folds", "repeated folds", "in hindsight")
    return Table("Percentage of PCA's test excess risk removed, by how strengths are chosen", heading, rows)


def corrections_table(corrections: pd.DataFrame) -> Table:
    """Mean strength of each correction, and how often it is above 0."""
    rows = []
    for (data, budget, method), chosen in corrections.groupby(["data", "budget", "method"], sort=False):
        by_name = chosen.set_index("correction")
        shown = (
            f"{by_name.loc[name, 'strength']:.2f} ({by_name.loc[name, 'above_zero_percent']:.0f}%)"
            for name in SEARCH_ORDER
        )
        rows.append((_title_of(data, budget), method, *shown, f"{chosen['fallback_percent'].iloc[0]:.0f}%"))
    heading = ("Cell", "Method", *(name.replace("_", " ") for name in SEARCH_ORDER), "PCA")
    title = "Mean strength of each correction (how often above 0), and how often the fit is PCA"
    return Table(title, heading, rows)


def steps_table(steps: pd.DataFrame) -> Table:
    """How many steps the searches took."""
    counts = [name for name in steps.columns if name.startswith("steps_")]
    rows = [
        (_title_of(row["data"], row["budget"]), row["method"], *(str(row[name]) for name in counts))
        for row in steps.to_dict("records")
    ]
    heading = ("Cell", "Method", *(name.removeprefix("steps_") for name in counts))
    return Table("Subsamples in which the search took 0, 1, 2, ... steps", heading, rows)


def time_table(seconds: pd.DataFrame) -> Table:
    """Seconds of a fit on each data set, and minutes of all fits."""
    data = [name for name in seconds.columns if name in TITLES]
    rows = [
        (
            row["method"],
            *("-" if pd.isna(row[name]) else f"{row[name]:.3f}" for name in data),
            f"{row['minutes']:.1f}",
        )
        for row in seconds.to_dict("records")
    ]
    heading = ("Method", *(TITLES[name] for name in data), "all fits, minutes")
    return Table("Mean seconds of a fit, on one core", heading, rows)


def interval_table(gains: pd.DataFrame) -> Table:
    """Gains with intervals, ours and the paper's (attenuation-real-data, neighboring-real-data)."""
    rows = []
    for row in gains.itertuples():
        published, verdict = "-", "-"
        if pd.notna(row.paper_gain):
            published = _with_interval(row.paper_gain, row.paper_low, row.paper_high)
            verdict = "yes" if row.overlaps else "NO"
        ours = _with_interval(row.gain, row.low, row.high)
        rows.append((_title_of(row.data, row.budget), row.method, ours, published, verdict))
    heading = ("Cell", "Method", "ours [95%]", "paper [95%]", "intervals overlap")
    return Table("Gains with 95% intervals, ours and the paper's", heading, rows)


def strengths_table(strengths: pd.DataFrame) -> Table:
    """Mean chosen strengths and fallbacks, ours and the paper's (real-data-selected-strengths)."""
    cells = _cells(strengths)
    rows = []
    for row in strengths.itertuples():
        published = "-"
        if row.method in STRENGTHS and len(cells) == len(STRENGTHS[row.method]):
            strength, fallback = STRENGTHS[row.method][cells.index((row.data, row.budget))]
            published = f"{strength:.3f} ({fallback:.1f}%)"
        ours = f"{row.strength:.3f} ({row.fallback_percent:.1f}%)"
        rows.append(
            (
                _title_of(row.data, row.budget),
                row.method,
                ours,
                published,
                f"{row.above_half_percent:.0f}%",
            )
        )
    heading = ("Cell", "Method", "ours (fallback)", "paper (fallback)", "above 1/2")
    title = "Mean chosen strength and percentage of fallbacks to PCA"
    return Table(title, heading, rows)


def caps_table(caps: pd.DataFrame) -> Table:
    """Fits that reached the cap on iterations, ours and the paper's (text of the supplement)."""
    rows = [
        (row.method, f"{row.capped} of {row.fits}", f"{row.paper_capped} of {row.paper_fits}")
        for row in caps.itertuples()
    ]
    title = "Fits at the cap on iterations, of those that did not fall back to PCA"
    return Table(title, ("Method", "ours", "paper"), rows)


def table_files(folder: Path, tables: dict[str, Table], frames: dict[str, pd.DataFrame]) -> dict[Path, bytes]:
    """Return the files of every table in each format, and of the frames behind them as CSV."""
    files: dict[str, str] = {}
    for name, table in tables.items():
        files |= {
            f"{name}.txt": table.to_text(),
            f"{name}.md": table.to_markdown(),
            f"{name}.tex": table.to_latex(),
        }
    files |= {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
    return {folder / name: content.encode() for name, content in files.items()}
