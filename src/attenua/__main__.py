"""The command ``attenua``, also as ``python -m attenua``."""

import sys


def main() -> None:
    """Run the command line, or say which package it needs."""
    try:
        from attenua.cli import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(str(error))
    app(prog_name="attenua")


if __name__ == "__main__":
    main()
