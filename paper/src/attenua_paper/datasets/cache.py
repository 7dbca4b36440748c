"""The cache format: one ``<name>.npz`` for each data set, written whole or not at all."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._files import write_whole

# Array name -> its dtype and the shape of one row.
Layout = Mapping[str, tuple[str, tuple[int, ...]]]
# Several times what the largest data set takes, 16 MB.
_MOST_BYTES = 64 * 2**20


def write(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to an npz file that appears under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_whole(path, content.getvalue())


def read(path: Path, layout: Layout) -> dict[str, NDArray[Any]]:
    """Read the arrays of an npz file and check their names, types and shapes.

    Raises
    ------
    ValueError
        If the file cannot be read or holds other arrays. The message is a reason without the path.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as npz:
            if sum(member.file_size for member in npz.zip.infolist()) > _MOST_BYTES:
                raise ValueError(f"its members claim more than {_MOST_BYTES:,} bytes")
            arrays = dict(npz)
    except Exception as error:  # a damaged zip can raise any error of zipfile, struct and zlib
        raise ValueError(f"it cannot be read ({type(error).__name__}: {str(error)[:100]})") from error
    check_layout(arrays, layout)
    return arrays


def check_layout(arrays: Mapping[str, NDArray[Any]], layout: Layout) -> None:
    """Raise ValueError unless the arrays have the names, types, row shapes and equal numbers of rows."""
    if set(arrays) != set(layout):
        raise ValueError(f"it holds the arrays {sorted(arrays)}, expected {sorted(layout)}")
    for name, (dtype, row_shape) in layout.items():
        array = arrays[name]
        if array.dtype != np.dtype(dtype) or array.ndim == 0 or array.shape[1:] != row_shape:
            raise ValueError(
                f"its array {name!r} is {array.dtype} of shape {array.shape}, "
                f"expected {dtype} with rows of shape {row_shape}"
            )
    for split in ("train", "test"):
        rows = {name: len(array) for name, array in arrays.items() if split in name.split("_")}
        if len(set(rows.values())) > 1:
            raise ValueError(f"its {split} arrays differ in their number of rows: {rows}")


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a sha256 of names, types, shapes and values, whatever the file around them looks like."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        # Little-endian, so that every machine gets the same answer.
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()
