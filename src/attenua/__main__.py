"""The command ``attenua``, also as ``python -m attenua``."""

import io
import os
import sys
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Run the command line, or say which package it needs."""
    run_command(_app, "attenua")


def _app() -> Any:
    from attenua.cli import app

    return app


def run_command(load: Callable[[], Any], name: str) -> None:
    """Load an application of commands and run it; what fails outside its commands is one sentence."""
    try:
        app = load()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(str(error))
    except KeyboardInterrupt:  # while the libraries are loaded; later the commands say so themselves
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    if isinstance(sys.stdout, io.TextIOWrapper):  # None where it is closed
        # Names of files need not be texts that can be printed; standard error does the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name=name)
    except OSError as error:
        if error.filename is not None:
            raise
        # What is left in the buffer would fail again, with a traceback, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"Error: standard output cannot be written: {error.strerror}.")


if __name__ == "__main__":
    main()
