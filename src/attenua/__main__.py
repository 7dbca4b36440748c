"""The command ``attenua``, also as ``python -m attenua``."""

import io
import os
import sys
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Run the command line, or print which package is missing."""
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
    except KeyboardInterrupt:  # while libraries are loaded; later the commands handle it
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    if isinstance(sys.stdout, io.TextIOWrapper):  # None where it is closed
        # Names of files may contain bytes that cannot be printed; standard error escapes them too.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name=name)
    except OSError as error:
        if error.filename is not None:
            raise
        # Otherwise Python flushes the buffer at exit, which fails again with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"Error: standard output cannot be written: {error.strerror}.")


if __name__ == "__main__":
    main()
