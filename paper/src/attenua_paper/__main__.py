"""The command ``attenua-paper``, also as ``python -m attenua_paper``."""

from typing import Any

from attenua.__main__ import run_command


def main() -> None:
    """Run the command line."""
    run_command(_app, "attenua-paper")


def _app() -> Any:
    from attenua_paper.cli import app

    return app


if __name__ == "__main__":
    main()
