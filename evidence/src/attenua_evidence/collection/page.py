"""Write the page that lists the collection: ``python -m attenua_evidence.collection.page``."""

from collections.abc import Iterable
from pathlib import Path

from attenua._files import write_whole

from .entries import ENTRIES, wanted
from .entry import KINDS, PARTS, Entry
from .table import HOLES, MISSING

PAGE = Path(__file__).parents[4] / "docs/guide/collection.md"
TEMPLATE = Path(__file__).with_name("page.template")


def order(entry: Entry) -> str:
    """Return how the columns of a data set lie, in words."""
    return "x".join(map(str, entry.order)) if isinstance(entry.order, tuple) else entry.order or ""


def line(entry: Entry) -> str:
    """Return the line of the table for one data set."""
    rows, columns = entry.shape
    kind = entry.kind + ", mixed units" * (entry.unit == "mixed") + ", holes" * entry.holes
    package = f"{entry.package} {entry.version}"
    cells = (entry.name, kind, f"{rows} x {columns}", order(entry), entry.grouping, entry.target, package)
    return f"| {' | '.join(cells)} | {entry.licence} |"


def table(entries: Iterable[Entry]) -> str:
    """Return the table of some data sets."""
    head = "| name | kind | rows x columns | order | groups | target | package | licence |"
    return "\n".join([head, "|---" * 8 + "|", *map(line, entries)])


def folded(title: str, text: str) -> str:
    """Return a text that the reader opens: the page stays short."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def page() -> str:
    """Return the page."""
    entries = sorted(ENTRIES, key=lambda entry: (PARTS.index(entry.part), KINDS.index(entry.kind)))
    return TEMPLATE.read_text(encoding="utf-8").format(
        n=len(ENTRIES),
        packages=len(wanted(PARTS)),
        missing=MISSING,
        holes=HOLES,
        tables="\n\n".join(
            folded(f"Part {part}", table(entry for entry in entries if entry.part == part)) for part in PARTS
        ),
        notes="\n".join(f"- *{entry.name}*: {entry.note}" for entry in entries if entry.note),
        **{part: sum(entry.part == part for entry in ENTRIES) for part in PARTS},
    )


if __name__ == "__main__":
    write_whole(PAGE, page().encode())
