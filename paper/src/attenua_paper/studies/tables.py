"""The study's tables as text and Markdown, from its summary and the comparison with the paper."""

from dataclasses import dataclass

import pandas as pd

from attenua._correct.registry import SEARCH_ORDER
from attenua_paper.studies.comparison import compare_study
from attenua_paper.studies.published import DATA, GAINS
from attenua_paper.studies.real_data import TITLES
from attenua_paper.studies.study_methods import FAMILIES, HINDSIGHT, in_order
from attenua_paper.studies.study_summary import TAKEN

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


def study_tables(study: pd.DataFrame, comparison: pd.DataFrame) -> dict[str, Table]:
    """Return the tables of one seed of the study by their names on the page of results."""
    in_text = comparison[comparison["part"] == "text"]
    tables = {
        "main": main_table(study),
        "hindsight": hindsight_table(study),
        "intervals": interval_table(study, comparison),
        "strengths": strengths_table(study, comparison),
        "text": numbers_table("Numbers in the paper's text on the study", in_text),
        "corrections": corrections_table(study),
        "seconds": time_table(study),
    }
    return {name: table for name, table in tables.items() if table.rows}


def _percent(value: float) -> str:
    """Return two decimals, without the sign of a zero."""
    return f"{value:.2f}" if abs(value) >= 0.005 else "0.00"


def _with_interval(mean: float, low: float, high: float) -> str:
    return f"{_percent(mean)} [{_percent(low)}, {_percent(high)}]"


def _title_of(data: str, budget: int) -> str:
    return f"{TITLES[data]} N={budget}"


def _cells(study: pd.DataFrame) -> list[tuple[str, int]]:
    return list(dict.fromkeys(zip(study["data"], study["budget"], strict=True)))


def _judged(row: pd.Series | None) -> str:
    """Say how far ours and the paper's are apart, in standard errors, and whether that is too far."""
    if row is None:
        return "-"
    if row["verdict"] == "same":
        return "same"
    return f"{row['apart']:+.1f}" + (" DIFFER" if row["verdict"] == "differ" else "")


def values_of(study: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return value, error and n of a measure by data, budget and method."""
    return study[study["measure"] == measure].set_index(["data", "budget", "method"])[["value", "error", "n"]]


def main_table(study: pd.DataFrame) -> Table:
    """Mean gains, methods down and cells across, ours over the paper's (main-real-data-comparison)."""
    cells, gains = _cells(study), values_of(study, "gain")["value"]
    is_method = ~gains.index.get_level_values("method").isin(HINDSIGHT)
    best = gains[is_method].groupby(["data", "budget"]).max()
    rows: list[tuple[str, ...]] = [("PCA", *["0.00"] * len(cells))]
    for method in in_order(study["method"]):
        shown = ["-"] * len(cells)  # where the method does not apply
        for number, cell in enumerate(cells):
            if (*cell, method) in gains.index:
                gain = gains[*cell, method]
                is_best = method not in HINDSIGHT and gain == best[cell]
                shown[number] = _percent(gain) + ("*" if is_best else "")
        rows.append((f"{method}{'' if method in GAINS else NOT_IN_PAPER}", *shown))
        if method in GAINS and set(cells) <= GAINS[method].keys():
            rows.append(("  paper", *(_percent(GAINS[method][cell].mean) for cell in cells)))
    return Table(
        "Percentage of PCA's test excess risk removed; a star marks the best method of the cell, † what is "
        "not in the paper",
        ("Method", *(_title_of(*cell) for cell in cells)),
        rows,
    )


def hindsight_table(study: pd.DataFrame) -> Table:
    """Gains of a choice by five folds, by repeated folds, and in hindsight."""
    gains = values_of(study, "gain")["value"]
    rows = [
        (_title_of(*cell), family, *(_percent(gains[*cell, method]) for method in methods))
        for cell in _cells(study)
        for family, methods in FAMILIES.items()
        if all((*cell, method) in gains.index for method in methods)
    ]
    heading = ("Cell", "Chosen", "five folds", "repeated folds", "in hindsight")
    return Table("Percentage of PCA's test excess risk removed, by how strengths are chosen", heading, rows)


def interval_table(study: pd.DataFrame, comparison: pd.DataFrame) -> Table:
    """Gains with intervals, ours and the paper's (attenuation-real-data, neighboring-real-data)."""
    compared = _by_cell(comparison, "gain")
    rows = []
    for cell, ours in values_of(study, "gain").iterrows():
        paper, half = GAINS.get(cell[2], {}).get(cell[:2]), 1.96 * ours["error"]
        published = "-" if paper is None else _with_interval(*paper)
        gain = _with_interval(ours["value"], ours["value"] - half, ours["value"] + half)
        rows.append((_title_of(*cell[:2]), cell[2], gain, published, _judged(compared.get(cell))))
    heading = ("Cell", "Method", "ours [95%]", "paper [95%]", "standard errors apart")
    return Table("Gains with 95% intervals, ours and the paper's", heading, rows)


def strengths_table(study: pd.DataFrame, comparison: pd.DataFrame) -> Table:
    """Mean chosen strengths and fallbacks, ours and the paper's (real-data-selected-strengths)."""
    compared = [_by_cell(comparison, part) for part in ("strength", "fallback_percent")]
    fallbacks = values_of(study, "fallback_percent")["value"]
    above_half = values_of(study, "above_half_percent")["value"]
    rows = []
    for cell, ours in values_of(study, "strength").iterrows():
        strength, fallback = (found.get(cell) for found in compared)
        published = "-" if strength is None else f"{strength['paper']:.3f} ({fallback['paper']:.1f}%)"
        apart = "-" if strength is None else f"{_judged(strength)} ({_judged(fallback)})"
        rows.append(
            (
                _title_of(*cell[:2]),
                cell[2],
                f"{ours['value']:.3f} ({fallbacks[cell]:.1f}%)",
                published,
                apart,
                f"{above_half[cell]:.0f}%",
            )
        )
    heading = ("Cell", "Method", "ours (fallback)", "paper (fallback)", "standard errors apart", "above 1/2")
    return Table("Mean chosen strength and percentage of fallbacks to PCA", heading, rows)


def _by_cell(comparison: pd.DataFrame, part: str) -> dict[tuple[str, int, str], pd.Series]:
    chosen = comparison[comparison["part"] == part]
    return {(row["data"], row["budget"], row["method"]): row for _, row in chosen.iterrows()}


def numbers_table(title: str, comparison: pd.DataFrame) -> Table:
    """Numbers in the paper's text, ours with standard errors, and theory's where it has them."""
    rows = []
    for _, row in comparison.iterrows():
        error = "" if pd.isna(row["error"]) else f" ({row['error']:.2g})"
        shown = [described(row), f"{row['paper']:.4g}", f"{row['ours']:.4g}{error}", _judged(row)]
        if "theory" in row:
            shown.append("-" if pd.isna(row["theory"]) else f"{row['theory']:.4g}")
        rows.append(tuple(shown))
    heading = ("Number", "paper", "ours (s.e.)", "standard errors apart", "theory")
    return Table(title, heading if "theory" in comparison else heading[:-1], rows)


def described(row: pd.Series) -> str:
    """Say which number a row of a comparison is about."""
    cell = _title_of(row["data"], int(row["budget"])) if isinstance(row["data"], str) else None
    return ", ".join(word for word in (row["what"], row["method"], cell) if isinstance(word, str))


def corrections_table(study: pd.DataFrame) -> Table:
    """Mean strength of each correction, and how often it is above 0."""
    used = [name for name in SEARCH_ORDER if (study.loc[study["measure"] == name, "value"] > 0).any()]
    strengths, taken = ({name: values_of(study, name + end)["value"] for name in used} for end in ("", TAKEN))
    fallbacks = values_of(study, "fallback_percent")["value"]
    fits = values_of(study, SEARCH_ORDER[0]).index
    rows = [
        (
            _title_of(*fit[:2]),
            fit[2],
            *(f"{strengths[name][fit]:.2f} ({taken[name][fit]:.0f}%)" for name in used),
            f"{fallbacks[fit]:.0f}%",
        )
        for fit in fits
    ]
    heading = ("Cell", "Method", *(name.replace("_", " ") for name in used), "PCA")
    title = "Mean strength of each correction (how often above 0), and how often the fit is PCA"
    return Table(title, heading, rows)


def time_table(study: pd.DataFrame) -> Table:
    """Seconds of a fit on each data set, and minutes of all fits."""
    seconds = values_of(study, "seconds")
    names = [name for name in DATA if name in set(study["data"])]
    rows = []
    for method in in_order(study["method"]):
        chosen = seconds.xs(method, level="method")
        by_data = chosen["value"].groupby("data").mean()
        minutes = (chosen["value"] * chosen["n"]).sum() / 60
        shown = (f"{by_data[name]:.3f}" if name in by_data else "-" for name in names)
        rows.append((method, *shown, f"{minutes:.1f}"))
    heading = ("Method", *(TITLES[name] for name in names), "all fits, minutes")
    return Table("Mean seconds of a fit, on one core", heading, rows)


def seeds_tables(study: pd.DataFrame) -> dict[str, Table]:
    """How far seeds differ: gains, strengths and fallbacks of the paper's methods, by seed and on average."""
    repeated = pooled(study)
    if repeated.empty:
        return {}
    compared = compare_study(repeated)
    shown = {
        "gain": ("Gains", 2),
        "strength": ("Mean chosen strengths", 3),
        "fallback_percent": ("Fallbacks, %", 0),
    }
    return {
        f"seeds-{measure}": _seeds_table(study, repeated, _by_cell(compared, measure), measure, *words)
        for measure, words in shown.items()
    }


def _seeds_table(
    study: pd.DataFrame,
    repeated: pd.DataFrame,
    compared: dict[tuple[str, int, str], pd.Series],
    measure: str,
    title: str,
    digits: int,
) -> Table:
    by_seed = {f"seed {seed}": values_of(part, measure) for seed, part in study.groupby("seed", sort=False)}
    by_seed["mean"] = values_of(repeated, measure)
    rows = []
    for cell, paper in compared.items():
        ours = [values.loc[cell] if cell in values.index else None for values in by_seed.values()]
        shown = ["-" if x is None else f"{x['value']:.{digits}f} ({x['error']:.{digits}f})" for x in ours]
        if paper["verdict"] != "same":
            published = f"{paper['paper']:.{digits}f}"
            rows.append((_title_of(*cell[:2]), cell[2], published, *shown, _judged(paper)))
    heading = ("Cell", "Method", "paper", *by_seed, "standard errors apart")
    return Table(f"{title} by seed (s.e.)", heading, rows)


def pooled(study: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the seeds of what several seeds have."""
    cells = study.assign(square=study["error"] ** 2).groupby(
        ["data", "budget", "method", "measure"], sort=False
    )
    sums, n_seeds = cells[["value", "square", "n"]].sum(), cells["seed"].nunique()
    means = sums.assign(value=sums["value"] / n_seeds, error=sums["square"] ** 0.5 / n_seeds)
    return means[n_seeds > 1].drop(columns="square").reset_index()
