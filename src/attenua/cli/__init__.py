"""The command ``attenua``: one file for every command."""

from attenua.cli.base import app

# Imported for the commands they add, in the order of --help; base comes first, because it explains how to
# install typer.
from attenua.cli import fit, transform, rank, covariance, impute, report, demo  # noqa: F401  # isort: skip

__all__ = ["app"]
