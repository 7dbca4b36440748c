"""The command ``attenua``, also as ``python -m attenua``."""

import sys

from attenua._extras import how_to_install


def main() -> None:
    """Run the command line, or say which package is missing."""
    try:
        from attenua.cli.app import app
        from attenua.cli.output import run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit(f"The attenua command needs click: {how_to_install('cli')}.")
    run(app, "attenua")


if __name__ == "__main__":
    main()
