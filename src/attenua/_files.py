"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes, *, force: bool = True) -> None:
    """Write a file so that a kill at any moment leaves the old one or the new one, never a part."""
    target = Path(path).resolve()  # a link stays one
    part = target.with_name(f".attenua-{secrets.token_hex(8)}")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # there is none to replace, or the file system has no modes
            shutil.copymode(target, part)
        if force:
            os.replace(part, target)
        else:
            _rename_new(part, target)
    except FileExistsError:
        raise FileExistsError(f"{path} exists; force=True replaces it.") from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # not the name of the part
    finally:
        part.unlink(missing_ok=True)


def _rename_new(part: Path, target: Path) -> None:
    """Rename a file, never over another: of two writers at once, one wins."""
    try:
        os.link(part, target)
    except OSError:  # there is one, or the file system has no links
        if target.exists():
            raise FileExistsError from None
        os.replace(part, target)
