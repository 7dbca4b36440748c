"""The tables, sentences and the picture of the tasks, from the store of results."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from attenua.pictures import COLOURS
from attenua_evidence.averages import Mean, decimals, mean_of
from attenua_evidence.report import joined, write_files
from attenua_evidence.results import PARTS, judged_part, parts_of
from attenua_evidence.tables import seconds
from attenua_evidence.tasks.forecast_tables import (
    calibration_table,
    forecast_table,
    forecast_words,
    forecasts,
)
from attenua_evidence.tasks.results import (
    TASKS,
    Summary,
    Task,
    ahead,
    best_rival,
    cell_frame,
    compared,
    method_frame,
    published_gains,
    read_lines,
    set_gains,
    tasks_of,
)
from attenua_evidence.words import counted, listed
from attenua_paper.studies.simulations.figures import STYLE, save_figure
from attenua_paper.studies.tables import Table

# A picture of gains of several hundred percent shows nothing else.
_MOST_SHOWN = 40
_LEAST_SHOWN = -1000.0


def main(stores: Sequence[Path], docs: Path) -> None:
    """Read stores of different parts and write all files of the study.

    Published parts that are not in these stores stay as they are, and so do the pieces about the part that
    the page speaks of. What the methods are is read from the first store.
    """
    lines = pd.concat([read_lines(store) for store in stores], ignore_index=True)
    settings = json.loads((stores[0] / "settings.json").read_text(encoding="utf-8"))
    tables = {
        docs / "evidence" / f"tasks-{name}.csv": frame
        for name, frame in (("cells", cell_frame(lines)), ("methods", method_frame(lines)))
    }
    tables = {path: with_published(frame, path) for path, frame in tables.items()}
    cells, _ = tables.values()
    texts = {"": joined(extent_words(cells), parts_table(cells))}
    contents = {path: frame.to_csv(index=False).encode() for path, frame in tables.items()}
    part = judged_part(cells)
    judged = lines if part == "all" else lines[lines["part"] == part]
    if len(judged):
        texts |= pieces(judged, settings)
        gains = pictured(judged)
        for name, narrow in (("evidence-tasks.png", False), ("evidence-tasks-narrow.png", True)):
            contents[docs / "images" / name] = save_figure(picture(gains, narrow=narrow))["png"]
    contents |= {docs / "guide" / f"_tasks{name}.md": text.encode() for name, text in texts.items()}
    write_files(contents)


def with_published(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a frame with the rows of a published file that are of other parts."""
    if path.is_file():
        known, others = pd.read_csv(path), set(PARTS) - set(frame["part"])
        frame = pd.concat([known[known["part"].isin(others)], frame], ignore_index=True)
    return frame.sort_values("part", key=lambda parts: parts.map(PARTS.index), kind="stable")


def pieces(judged: pd.DataFrame, settings: dict[str, object]) -> dict[str, str]:
    """Return the generated pieces about the part that the page speaks of, by the end of their names."""
    found = {task: compared(judged, task) for task in tasks_of(judged)}
    foretold = forecasts(judged)
    return {
        **{
            f"_{slug(task.name)}": joined(
                f"{task_words(judged, task, methods)}\n", methods_table(task, methods)
            )
            for task, methods in found.items()
        },
        "_forecasts": joined(
            forecast_words(foretold, judged), forecast_table(foretold), calibration_table(judged)
        ),
        "_what": joined(missing_words(settings), what_table(settings)),
    }


def slug(name: str) -> str:
    """Return a name as a part of a file name."""
    return re.sub(r"[^a-z]+", "_", name.lower())


# --- sentences --------------------------------------------------------------------------------------------


def extent_words(cells: pd.DataFrame) -> str:
    """Say how many data sets were run in each part."""
    parts = [f"{of['data'].nunique()} in the part `{part}`" for part, of in cells.groupby("part", sort=False)]
    return f"{counted(cells['data'].nunique(), 'data set')}: {listed(parts)}.\n"


def missing_words(settings: dict[str, object]) -> str:
    """Say without which packages the study was run."""
    missing = settings.get("missing") or []
    return f"Methods of {listed(missing)} were not compared: not installed.\n" if missing else ""


def task_words(lines: pd.DataFrame, task: Task, methods: dict[str, Summary]) -> str:
    """Say in one sentence or two what ours gains in a task, and against the best rival."""
    of = methods[task.ours]
    title = task.name[0].upper() + task.name[1:]
    if task.is_error:
        gains = f"`{task.ours}` removes {_percent(of.gain)} of the whole error of {task.base}"
        if of.excess.count:
            gains += f" ({decimals(of.excess.value)}% of its excess)"
    else:
        gains = f"`{task.ours}` comes to {of.gain} {task.unit} more than {task.base}"
    words = (
        f"{title}: on {counted(of.gain.count, 'data set')}, {gains}; it is better on "
        f"{decimals(of.better, 0)}% of them, and {decimals(of.losing, 0)}% of the settings lose more than "
        f"{task.loss:g}{_loss_unit(task)}."
    )
    if task.other in methods:
        words += f" With `{task.other}` it is {methods[task.other].gain}."
    rival = best_rival(methods, task)
    if rival is None:
        return words
    lead = (set_gains(lines, task, task.ours) - set_gains(lines, task, rival)).dropna()
    of_rival = methods[rival]
    words += (
        f" Of the rivals that suit most data, {rival} has the best median data set: {_gain(of_rival.median)} "
        f"on the {len(lead)} that it was fitted to, where ours has {decimals(of_rival.same_median)} and is "
        f"better on {(lead > 0).sum()}."
    )
    better = [f"{name} ({methods[name].gain.count})" for name in ahead(methods, task)]
    return words + (
        f" On the same settings a mean or median above ours have: {listed(better)}." if better else ""
    )


def _gain(value: float) -> str:
    """Return a gain; a loss of a hundred thousand percent is not worth its digits."""
    return "below -1000" if value < _LEAST_SHOWN else decimals(value)


def _mean(mean: Mean) -> str:
    return _gain(mean.value) if mean.value < _LEAST_SHOWN else str(mean)


def _loss_unit(task: Task) -> str:
    return "%" if task.is_error else " nats" if task.factor == 1 else " points"


def _percent(mean: Mean) -> str:
    ends = "" if pd.isna(mean.low) else f" [{decimals(mean.low)}, {decimals(mean.high)}]"
    return f"{decimals(mean.value)}%{ends}"


# --- tables -----------------------------------------------------------------------------------------------


def parts_table(cells: pd.DataFrame) -> Table:
    """Return what ours gains in every task, by part."""
    parts = parts_of(cells)
    rows = []
    for task in TASKS.values():
        for method in filter(None, (task.ours, task.other)):
            of_parts = [mean_of(published_gains(part, task, method)) for part in parts.values()]
            if any(of.count for of in of_parts):
                gains = (f"{of} ({of.count})" if of.count else "–" for of in of_parts)
                rows.append((task.name, method, task.base, task.unit, *gains))
    title = "What ours gains over the base: mean over data sets [95% interval] (data sets)"
    return Table(title, ("Task", "ours", "base", "unit", *parts), rows)


def methods_table(task: Task, methods: dict[str, Summary]) -> Table:
    """Return what all methods gain in a task, the best first after ours and our other ways."""
    own = [name for name in methods if name in (*task.own, task.base)]
    rivals = sorted((name for name in methods if name not in own), key=lambda name: -methods[name].median)
    rows = []
    for name in (*own, *rivals):
        of = methods[name]
        rows.append(
            (
                f"**{name}**" if name == task.ours else name,
                str(of.gain.count),
                _mean(of.gain),
                _gain(of.median),
                f"{decimals(of.better, 0)}%",
                f"{decimals(of.losing, 0)}% of {of.cells}",
                *([_mean(of.excess)] if task.is_error else []),
                f"{decimals(of.same.value)} / {decimals(of.same_median)}",
                seconds(of.seconds),
                str(of.failed),
            )
        )
    heading = (
        *("Method", "data sets", "mean gain [95%]", "median data set", "data sets better"),
        f"cells that lose over {task.loss:g}",
        *(["share of the excess [95%]"] if task.is_error else []),
        *("ours, same cells: mean / median", "seconds", "failed"),
    )
    unit = f"{task.unit} of {task.base}" if task.is_error else f"{task.unit} more than {task.base}"
    return Table(f"{task.name[0].upper()}{task.name[1:]}: gains in {unit}", heading, rows)


def what_table(settings: dict[str, object]) -> Table:
    """Return what each method is."""
    rows = [
        (group, name, what)
        for group, methods in dict(settings["methods"]).items()
        for name, what in methods.items()
    ]
    return Table("What each method is", ("Where", "method", "what was called"), rows)


# --- the picture ------------------------------------------------------------------------------------------


def pictured(lines: pd.DataFrame) -> list[tuple[str, dict[str, pd.Series]]]:
    """Return the gains of ours and of the best rival in each task where errors are compared."""
    found = []
    for task in tasks_of(lines):
        if task.is_error:
            names = filter(None, (task.ours, best_rival(compared(lines, task), task)))
            found.append((task.name, {name: set_gains(lines, task, name) for name in names}))
    return found


def picture(gains: Sequence[tuple[str, dict[str, pd.Series]]], *, narrow: bool) -> Figure:
    """Draw gains by task; in the narrow version, for phones, tasks are named above their lines."""
    size = (4.2, 0.8 + 0.75 * len(gains)) if narrow else (7.2, 0.8 + 0.55 * len(gains))
    with rc_context(STYLE | {"font.size": 10 if narrow else 9}):
        figure = Figure(figsize=size, layout="constrained")
        ax = figure.subplots()
        tasks = [name for name, _ in reversed(gains)]
        for place, (_, methods) in enumerate(reversed(gains)):
            for (name, sets), colour, shift in zip(
                methods.items(), (COLOURS["accent"], COLOURS["fit"]), (0.14, -0.16), strict=False
            ):
                _draw(ax, sets, place + shift, colour, name, 8 if narrow else 7)
        ax.axvline(0, color="0.4", lw=0.8)
        ax.set_yticks(range(len(tasks)), [] if narrow else tasks)
        ax.set(ylim=(-0.6, len(tasks) - 0.4), xlim=(-_MOST_SHOWN / 2, 1.6 * _MOST_SHOWN))
        what, how = "percent of the whole error removed:", "the median data set and the middle half of them"
        ax.set_xlabel(f"{what}\n{how}" if narrow else f"{what} {how}")
        if narrow:
            ax.tick_params(left=False)
            ax.spines["left"].set_visible(False)
            for place, name in enumerate(tasks):
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # over the line at 0
                ax.text(-_MOST_SHOWN / 2, place + 0.33, name, bbox=box)
    return figure


def _draw(ax: Any, sets: pd.Series, place: float, colour: str, name: str, size: float) -> None:
    """Draw a median with its quartiles, up to the edges."""
    low, median, high = sets.quantile([0.25, 0.5, 0.75]).clip(-_MOST_SHOWN, _MOST_SHOWN)
    ax.plot([low, high], [place, place], color=colour, lw=1.5, solid_capstyle="butt")
    ax.plot(median, place, "o", ms=5, color=colour)
    ax.annotate(
        name, (high, place), xytext=(5, -2.5), textcoords="offset points", fontsize=size, color=colour
    )
