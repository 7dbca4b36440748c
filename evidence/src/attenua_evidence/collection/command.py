"""Fetch the packages of the collection, with a bar of progress."""

from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from .entries import wanted
from .entry import PARTS
from .fetch import Download, download, fetch


def fetch_all(folder: Path, parts: Collection[str] = PARTS, download: Download = download) -> int:
    """Fetch the packages that are missing; return 1 if one failed, else 0."""
    packages, failed = wanted(parts), 0
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(packages))
        for package in packages:
            progress.update(task, description=f"{package.name:20s}")
            try:
                fetch(package, folder, download)
            except (OSError, RuntimeError, ValueError) as error:
                failed += 1
                progress.console.print(f"{package.name} failed: {error}", markup=False)
            progress.advance(task)
        progress.update(task, description="packages")
    print(f"{len(packages) - failed} of {len(packages)} packages are in {folder}")
    return int(failed > 0)
