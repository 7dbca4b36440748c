"""Every import in the package goes the way the data go: a room imports only the rooms before it."""

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import attenua

ROOT = Path(attenua.__file__).parent
ROOMS = ("_data", "_correct", "_solve", "_select", "_estimate")
TOOLS = {"_extras", "_files"}  # what doors and packages share; rooms never import them
DOORS = {
    "attenuation",
    "corrected",
    "covariance",
    "path",
    "imputing",
    "learning",
    "masks",
    "model_files",
    "monitoring",
    "pictures",
    "anndata",
    "rank",
    "bootstrap",
}
# Libraries that rooms may import, and those that only a function of one room imports when it needs them.
LIBRARIES = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}
LAZY_LIBRARIES = {"pyarrow": "_data", "dask": "_data"}
ARRAY_LIBRARIES = {"torch", "cupy", "array_api_compat", "array_api_strict", "jax"}
METHODS_OF_ROWS = {"attenua._estimate.transformer", "attenua._estimate.gaussian_model"}
DISPATCH = {"is_dask", "is_batches", "namespace_of"}


class Import(NamedTuple):
    """One import: who imports what, where, and whether only when a function is called."""

    importer: str
    target: str
    line: int
    lazy: bool

    def __str__(self):
        return f"{self.importer}, line {self.line}: {self.target}"


def name_of(path):
    parts = ["attenua", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def room_of(module):
    """The first name below attenua: a room, a door, another package; "" for attenua itself."""
    return [*module.split("."), ""][1] if module.split(".")[0] == "attenua" else None


@cache
def tree_of(module):
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def imports_of(module):
    """All imports of a file; a submodule that is imported by name from its package counts as itself."""

    def visit(node, lazy):
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: write imports from attenua in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield Import(module, inner if inner in FILES else node.module, node.lineno, lazy)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            named = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            assert named is not None, (
                f"{module}, line {node.lineno}: import_module of a name that is not said"
            )
            yield Import(module, named, node.lineno, lazy)
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    return list(visit(tree_of(module), False))


IMPORTS = [found for module in FILES for found in imports_of(module)]
INTERNAL = [found for found in IMPORTS if room_of(found.target) is not None]
OF_ROOMS = [found for found in IMPORTS if room_of(found.importer) in ROOMS]


def refuse(wrong, rule):
    assert not wrong, f"{rule}:\n" + "\n".join(str(found) for found in wrong)


def test_all_rooms_and_doors_are_read():
    found = {room_of(module) for module in FILES}
    assert set(ROOMS) | DOORS <= found
    assert len(OF_ROOMS) > 100


def test_a_room_imports_itself_and_earlier_rooms_only():
    def allowed(found):
        here, there = room_of(found.importer), room_of(found.target)
        return there in ROOMS[: ROOMS.index(here) + 1]

    # Methods called plot import pictures; another test says how.
    inside = [found for found in OF_ROOMS if room_of(found.target) not in (None, "pictures")]
    refuse([found for found in inside if not allowed(found)], "a room imports itself and earlier rooms only")


def test_doors_import_rooms_and_each_other_only():
    wrong = [
        found
        for found in INTERNAL
        if room_of(found.importer) in DOORS and room_of(found.target) not in {*ROOMS, *DOORS, *TOOLS}
    ]
    refuse(wrong, "a door imports rooms, doors and tools only")


def test_pictures_are_imported_late():
    # The report and the shell have an extra that brings matplotlib.
    others = [found for found in INTERNAL if room_of(found.importer) not in ("report", "cli")]
    wrong = [found for found in others if room_of(found.target) == "pictures" and not found.lazy]
    refuse(wrong, "pictures are imported by functions only: matplotlib is an extra")


def test_the_package_itself_imports_doors_only():
    wrong = [
        found for found in INTERNAL if found.importer == "attenua" and room_of(found.target) not in DOORS
    ]
    refuse(wrong, "attenua/__init__.py imports doors only")


def test_rooms_import_few_libraries():
    def allowed(found):
        library = found.target.split(".")[0]
        if library in LIBRARIES or library in sys.stdlib_module_names or library == "attenua":
            return True
        if library in ARRAY_LIBRARIES:
            return True  # the next test's
        return found.lazy and LAZY_LIBRARIES.get(library) == room_of(found.importer)

    refuse([found for found in OF_ROOMS if not allowed(found)], "rooms import few libraries")


def test_array_libraries_are_imported_late_and_in_one_file_of_the_rooms():
    wrong = [
        found
        for found in IMPORTS
        if found.target.split(".")[0] in ARRAY_LIBRARIES
        and not (found.lazy and found.importer == "attenua._data.namespace")
    ]
    refuse(wrong, "array libraries are imported by functions of _data/namespace.py only")


def test_no_import_cycle():
    """By imports at module level: one inside a function is there to be late."""
    graph = {module: set() for module in FILES}
    for found in INTERNAL:
        if not found.lazy and found.target != found.importer:
            graph[found.importer].add(found.target)
            package = found.target.rpartition(".")[0]
            # To import a module runs its package first, unless the importer is in that package already.
            if package != "attenua" and not found.importer.startswith(package):
                graph[found.importer].add(package)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(error.args[1]))


def test_what_is_imported_exists():
    refuse(
        [found for found in INTERNAL if found.target not in FILES], "imports of modules that are not there"
    )


def test_the_library_imports_neither_the_paper_nor_the_evidence():
    others = {"attenua_paper", "attenua_evidence"}
    refuse(
        [found for found in IMPORTS if found.target.split(".")[0] in others],
        "the library imports neither the paper nor the evidence",
    )


def test_only_the_way_in_asks_for_the_kind_of_container():
    def calls(module):
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", None))
                if name in DISPATCH:
                    yield f"{module}, line {node.lineno}: {name}"

    elsewhere = [
        call
        for module in FILES
        if room_of(module) != "_data" and module not in METHODS_OF_ROWS
        for call in calls(module)
    ]
    refuse(elsewhere, f"containers are told apart in _data and {METHODS_OF_ROWS} only")
