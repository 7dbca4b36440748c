"""The template for a class can ask for ``members_of(module, name)``: the methods and properties to list."""

import inspect
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

# Of scikit-learn and of exceptions: documented where they come from.
ELSEWHERE = {
    "add_note",
    "get_metadata_routing",
    "get_params",
    "set_fit_request",
    "set_output",
    "set_params",
    "with_traceback",
}


class Member(NamedTuple):
    """A name, and the directive that documents it."""

    name: str
    directive: str


def members_of(module: str, name: str) -> list[Member]:
    """Return the documented public members of a class, its own before inherited ones."""
    found = getattr(import_module(module), name)
    names = dict.fromkeys(key for base in found.__mro__ if base is not object for key in vars(base))
    wanted = [key for key in names if not key.startswith("_") and key not in ELSEWHERE]
    members = [Member(key, _directive(inspect.getattr_static(found, key, None))) for key in wanted]
    return [member for member in members if member.directive and inspect.getdoc(getattr(found, member.name))]


def _directive(member: object) -> str:
    if isinstance(member, property | cached_property):
        return "autoproperty"
    return "automethod" if callable(member) or isinstance(member, classmethod | staticmethod) else ""


def setup(app: Any) -> dict[str, bool]:
    """Give the function to the templates of autosummary."""
    app.connect("config-inited", lambda _, config: config.autosummary_context.update(members_of=members_of))
    return {"parallel_read_safe": True}
