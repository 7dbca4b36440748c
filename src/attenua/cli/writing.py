"""Files that a command writes: refused before the work where they cannot be, and written all or none."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attenua._files import refuse_existing, write_all_whole
from attenua.cli.base import fail


def check_targets(targets: Sequence[Path], *, force: bool, make_folders: bool = False) -> None:
    """Fail with a sentence where files cannot be written, so that nobody waits for a result that is lost."""
    try:
        refuse_existing(targets, force=force)
    except OSError as error:
        fail(_sentence(targets[0], error))
    folder = targets[0].parent
    if make_folders:
        folder = next(place for place in (folder, *folder.parents) if place.exists())
    if not folder.exists():
        fail(f"{targets[0]} cannot be written: the folder {folder} does not exist.")
    if not folder.is_dir():
        fail(f"{targets[0]} cannot be written: {folder} is a file, not a folder.")
    _refuse_without_permission(targets[0], folder)


def write_files(contents: Mapping[Path, bytes], *, force: bool, make_folders: bool = False) -> None:
    """Write files, all of them or none; a problem is a sentence."""
    with writing(next(iter(contents))):
        write_all_whole(contents, force=force, make_folders=make_folders)


def refuse_file(folder: Path) -> None:
    """Fail with a sentence where --out names a file instead of a folder."""
    with writing(folder):
        is_taken = folder.exists() and not folder.is_dir()
    if is_taken:
        fail(f"{folder} is a file; --out takes the name of a folder.")


def check_folder(folder: Path) -> None:
    """Make a folder for files, or fail with a sentence where none can be written there."""
    refuse_file(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    _refuse_without_permission(folder, folder)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn what the operating system says about files that are written into a sentence."""
    try:
        yield
    except OSError as error:
        fail(_sentence(target, error))


def _refuse_without_permission(target: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        fail(f"{target} cannot be written: there is no permission to write in {folder}.")


def _sentence(target: Path, error: OSError) -> str:
    if isinstance(error, FileExistsError) and error.errno is None:  # a sentence already
        return str(error)
    return f"{error.filename or target} cannot be written: {error.strerror or error}."
