"""The command ``attenua``, also as ``python -m attenua``."""

import sys


def main() -> None:
    """Run the command line, or say which package is missing."""
    try:
        from attenua.cli.app import app
        from attenua.cli.output import run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("The attenua command needs click: pip install 'attenua[cli]'.")
    run(app, "attenua")


if __name__ == "__main__":
    main()
