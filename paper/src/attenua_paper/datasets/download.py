"""From the name of a raw file to its checked content: from the data folder, else from the net."""

import io
import logging
from pathlib import Path
from typing import Any

from pooch import HTTPDownloader

from attenua_paper.datasets.raw import TextFile, WrongContent, ZipArchive

logger = logging.getLogger(__name__)

# Several times the largest file that is published.
_MOST_BYTES = 256 * 2**20


class DatasetNotAvailable(OSError):
    """A data set is missing: neither cached nor downloadable, or its file is not what it should be."""


class _Bounded(io.BytesIO):
    """Memory that a server cannot fill: what it sends is checked only when it is all there."""

    def write(self, content: Any) -> int:
        if self.tell() + len(content) > _MOST_BYTES:
            raise OSError(f"more than {_MOST_BYTES:,} bytes, which no published file has")
        return super().write(content)


def from_folder(raw: TextFile | ZipArchive, home: Path) -> dict[str, bytes] | None:
    """Return the checked content of a raw file that was put in the folder by hand, None if there is none.

    Raises
    ------
    DatasetNotAvailable
        If the file is there and is not the published one.
    """
    path = home / raw.name
    if not path.exists():
        return None
    try:
        return raw.verified(path.read_bytes())
    except (OSError, WrongContent) as error:
        raise DatasetNotAvailable(
            f"{path} is not the published file: {error}.\n"
            f"Delete it, or replace it by the file from {' or '.join(raw.addresses)}"
        ) from error


def from_net(raw: TextFile | ZipArchive) -> dict[str, bytes]:
    """Download a raw file into memory and return its checked content.

    Nothing is written to disk, so an interrupted download leaves nothing behind.

    Raises
    ------
    DatasetNotAvailable
        If no address gives the published file. The message says why, address by address.
    """
    download = HTTPDownloader(chunk_size=2**16, timeout=30)
    failures = []
    for address in raw.addresses:
        logger.info("Downloading %s", address)
        buffer = _Bounded()
        try:
            download(address, buffer, None)
            return raw.verified(buffer.getvalue())
        except (OSError, WrongContent) as error:  # what requests raises is an OSError
            failures.append(f"{address}: {error}")
    raise DatasetNotAvailable("\n".join(failures))
