"""Files that are written whole or not at all."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that an interruption leaves either the old one or the new one, never a part."""
    path = Path(path)
    part = _part_of(path)
    try:
        _write_part(path, content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_all_whole(
    contents: Mapping[Path, bytes], *, force: bool = False, make_folders: bool = False
) -> None:
    """Write several files, all of them or none.

    Parameters
    ----------
    contents : mapping of Path to bytes
        What each file is to hold.
    force : bool, default=False
        Replace files that exist. Otherwise one that exists is an error, and nothing is written.
    make_folders : bool, default=False
        Make the folders of the files where they are missing.

    Raises
    ------
    FileExistsError
        If one of the files exists and `force` was not given.
    """
    refuse_existing(contents, force=force)
    if make_folders:
        for folder in {path.parent for path in contents}:
            folder.mkdir(parents=True, exist_ok=True)
    parts = {path: _part_of(path) for path in contents}
    try:
        # What can fail for lack of space or permission happens before the first file is put in its place.
        for path, content in contents.items():
            _write_part(path, content)
        refuse_existing(contents, force=force)
        for path, part in parts.items():
            os.replace(part, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def refuse_existing(paths: Iterable[Path], *, force: bool = False) -> None:
    """Raise FileExistsError for the first of some files that exists, unless `force`."""
    for path in paths:
        if path.is_dir():
            raise FileExistsError(f"{path} is a folder; give the name of a file.")
        if path.exists() and not force:
            raise FileExistsError(
                f"{path} exists already and nothing was written; force replaces it (--force)."
            )


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _write_part(path: Path, content: bytes) -> None:
    """Write what a file is to hold beside it; an error names the file itself."""
    try:
        with open(_part_of(path), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = os.fspath(path)  # a full disk names none, and the part means nothing to the reader
        raise
