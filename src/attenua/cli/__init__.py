"""The command ``attenua``: one file for every command."""

from attenua.cli.base import app

# Imported for the commands they add, in the order in which --help lists them; base comes first, because it
# says what is missing where typer is not installed.
from attenua.cli import fit, transform, report, demo  # noqa: F401  # isort: skip

__all__ = ["app"]
