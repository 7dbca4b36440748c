"""The command ``attenua-paper``, also as ``python -m attenua_paper``."""

from attenua.cli.output import run
from attenua_paper.cli import app


def main() -> None:
    """Run the command line."""
    run(app, "attenua-paper")


if __name__ == "__main__":
    main()
