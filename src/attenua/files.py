"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that an interruption leaves either the old one or the new one, never a part."""
    path = Path(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
