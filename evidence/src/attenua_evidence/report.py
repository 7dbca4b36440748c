"""The page of the evidence: tables, sentences, pictures and CSV files from the store of results."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attenua._files import write_whole
from attenua_evidence.accuracy import accuracy_table, correlation_table, labelled
from attenua_evidence.forest import compact_forest, forest
from attenua_evidence.one_kind import EXAMPLES, KINDS, cells_table, sets_table
from attenua_evidence.results import WITHOUT, cell_table, judged_part, parts_of, read_lines
from attenua_evidence.rivals import RIVALS
from attenua_evidence.summary import compared, method_frame
from attenua_evidence.tables import (
    kinds_table,
    left_out_table,
    methods_table,
    parts_table,
    rivals_table,
    sizes_table,
    strengths_table,
    worst_cells_table,
    worst_sets_table,
)
from attenua_evidence.words import downstream_words, extent_words, headline_words, losses_words, rivals_words
from attenua_paper.studies.simulations.figures import save_figure
from attenua_paper.studies.tables import Table


def main(store: Path, docs: Path) -> None:
    """Read the store of results and write all files of the page."""
    lines = read_lines(store)
    files = {docs / "guide" / f"_evidence_{name}.md": text for name, text in pieces(lines).items()}
    files |= {
        docs / "evidence" / f"{name}.csv": frame.to_csv(index=False) for name, frame in frames(lines).items()
    }
    contents = {path: text.encode() for path, text in files.items()}
    for name, picture in {"forest": forest(lines), "forest-compact": compact_forest(lines)}.items():
        contents[docs / "images" / f"evidence-{name}.png"] = save_figure(picture)["png"]
    write_files(contents)


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write files, each of them whole, and their folders."""
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def frames(lines: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the long tables, by name; cells with a correction left out are in a file of their own."""
    cells = cell_table(lines)
    is_left_out = cells["method"].isin(WITHOUT)
    return {
        "cells": cells[~is_left_out],
        "cells-left-out": cells[is_left_out],
        "methods": method_frame(lines).round(3),
    }


def pieces(lines: pd.DataFrame) -> dict[str, str]:
    """Return the generated pieces of the page, by name."""
    judged = parts_of(lines)[judged_part(lines)]
    methods, with_labels = compared(judged), labelled(judged)
    return {
        "extent": extent_words(lines),
        "headline": headline_words(lines, methods),
        "parts": joined(parts_table(lines)),
        "losses": losses_words(methods),
        "lost": joined(worst_sets_table(judged)),
        "kinds": joined(kinds_table(judged)),
        "sizes": joined(sizes_table(judged)),
        "corrections": joined(left_out_table(judged)),
        "strengths": joined(strengths_table(lines)),
        "methods": joined(rivals_words(methods), methods_table(methods)),
        "rivals": joined(rivals_table(RIVALS)),
        "worst": joined(worst_cells_table(methods)),
        "downstream": downstream_words(with_labels),
        "accuracy": joined(correlation_table(with_labels), accuracy_table(with_labels)),
        **pieces_of_kinds(lines),
    }


def pieces_of_kinds(lines: pd.DataFrame) -> dict[str, str]:
    """Return the pieces for the pages of one kind of data each, of those that were run."""
    kinds = [kind for kind in KINDS if (lines["kind"] == kind).any()]
    examples = [data for data in EXAMPLES if (lines["data"] == data).any()]
    tables = {f"sets_{kind.replace(' ', '_')}": sets_table(lines, kind) for kind in kinds}
    tables |= {f"cells_{data}": cells_table(lines, data) for data in examples}
    return {name: joined(table) for name, table in tables.items()}


def joined(*texts: str | Table) -> str:
    """Return sentences and tables as Markdown; intervals and counts in a table stay on one line."""
    return "\n".join(text if isinstance(text, str) else _unbroken(text.to_markdown()) for text in texts)


def _unbroken(text: str) -> str:
    text = re.sub(r" \[(-?[\d.]+), (-?[\d.]+)\]", "\u00a0[\\1,\u00a0\\2]", text)
    return re.sub(r"(?<=\d) (of|/) (?=\d)", "\u00a0\\1\u00a0", text)
