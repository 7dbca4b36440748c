"""Fetch the packages of the collection: ``python -m collection FOLDER [--parts develop choose final]``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from .entries import wanted
from .entry import PARTS
from .fetch import Download, download, fetch


def main(arguments: Sequence[str] | None = None, download: Download = download) -> int:
    """Fetch what is not there yet; return 1 if a package failed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m collection", description="Fetch the collection.")
    parser.add_argument("folder", type=Path, help="where the packages go")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these parts")
    options = parser.parse_args(arguments)
    packages, failed = wanted(options.parts), 0
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(packages))
        for package in packages:
            progress.update(task, description=f"{package.name:20s}")
            try:
                fetch(package, options.folder, download)
            except (OSError, RuntimeError, ValueError) as error:
                failed += 1
                progress.console.print(f"{package.name} failed: {error}", markup=False)
            progress.advance(task)
        progress.update(task, description="packages")
    print(f"{len(packages) - failed} of {len(packages)} packages are in {options.folder}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
