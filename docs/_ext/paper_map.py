"""The directive ``paper-map``: tables of the paper's statements, from ``paper/paper_map.toml``."""

import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

KINDS = {
    "prop": "Proposition",
    "thm": "Theorem",
    "lem": "Lemma",
    "ass": "Assumption",
    "rem": "Remark",
    "eq": "Equation",
    "tab": "Table",
    "fig": "Figure",
}


class PaperMap(SphinxDirective):
    """One section of the map, or with ``missing`` the list of what is missing."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the file and return a table or a list."""
        path = Path(self.env.srcdir).parent / "paper" / "paper_map.toml"
        self.env.note_dependency(str(path))
        paper = tomllib.loads(path.read_text(encoding="utf-8"))
        wanted = self.arguments[0]
        if wanted == "missing":
            lacking: dict[str, list[str]] = {}
            for entry in paper["entry"]:
                if "missing" in entry:
                    lacking.setdefault(entry["missing"], []).append(f"**{_title(entry)}**")
            lines = [f"- {'; '.join(titles)}. {missing}" for missing, titles in lacking.items()]
            return self.parse_text_to_nodes("\n".join(lines))
        if wanted == "proof-steps":
            return self.parse_text_to_nodes(", ".join(f"`{label}`" for label in paper["proof_steps"]) + ".")
        return [self._table([entry for entry in paper["entry"] if entry["section"] == wanted])]

    def _table(self, entries: list[dict[str, Any]]) -> nodes.table:
        if not entries:
            raise self.error(f"paper_map.toml has no section {self.arguments[0]!r}")
        table = nodes.table(classes=["paper-map"])
        group = nodes.tgroup(cols=3)
        table += group
        for width in (38, 32, 30):
            group += nodes.colspec(colwidth=width)
        head, body = nodes.thead(), nodes.tbody()
        group += [head, body]
        head += self._row(["In the paper", "In the code", "Checked by, made by"])
        for entry in entries:
            body += self._row([self._statement(entry), self._code(entry), self._checks(entry)])
        return table

    def _row(self, cells: list[str]) -> nodes.row:
        row = nodes.row()
        for text in cells:
            cell = nodes.entry()
            cell += self.parse_text_to_nodes(text)
            row += cell
        return row

    @staticmethod
    def _statement(entry: dict[str, Any]) -> str:
        labels = " ".join(entry["labels"])
        parts = [f"**{_title(entry)}**", entry["says"], f"`{labels}`"]
        return "\n\n".join(parts)

    @staticmethod
    def _code(entry: dict[str, Any]) -> str:
        parts = [f"{{py:obj}}`{name} <{name}>`" for name in entry.get("code", [])]
        if "missing" in entry:
            parts.append(f"*Missing:* {entry['missing']}")
        return "\n\n".join(parts)

    @staticmethod
    def _checks(entry: dict[str, Any]) -> str:
        tests = [f"`{node}`" for node in entry.get("tests", [])]
        commands = [f"`{command}`" for command in entry.get("commands", [])]
        return "\n\n".join(tests + commands)


def _title(entry: dict[str, Any]) -> str:
    kind = KINDS[entry["labels"][0].split(":")[0]]
    if kind == "Equation" and len(entry["labels"]) > 1:
        kind = "Equations"
    return f"{kind}: {entry['title']}" if entry.get("title") else kind


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("paper-map", PaperMap)
    return {"parallel_read_safe": True}
