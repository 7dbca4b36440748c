"""Read the file formats that the packages use.

``rdata`` reads R's files and ``pillow`` reads images; both are imported only when they are
needed. No package that carries data is imported or installed: its files are read where they lie.
"""

import bz2
import lzma
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

# R


def r_object(root: Path, name: str, file: str | None = None) -> Any:
    """Return an object of R out of a Debian package.

    Parameters
    ----------
    root : Path
        Folder of the unpacked package.
    name : str
        Name of the object.
    file : str, optional
        The .rda or .RData file that holds it. Without it the package's lazy-load database does.
    """
    from rdata.parser import parse_data, parse_file

    (package,) = (Path(root) / "usr/lib/R").glob("*library/*")  # site-library, or library of R's own packages
    data = package / "data"
    if file is not None:
        return _convert(parse_file, data / file)[name]
    places = _convert(parse_file, data / "Rdata.rdx")["variables"]
    start, length = (int(number) for number in places[name])
    with open(data / "Rdata.rdb", "rb") as stream:
        stream.seek(start + 4)  # four bytes say how long it is once decompressed
        packed = stream.read(length - 4)
    return _convert(parse_data, _decompress(packed))


def _decompress(packed: bytes) -> bytes:
    """Decompress an object of a lazy-load database: its first letter says how, or it is zlib."""
    kind, rest = packed[:1], packed[1:]
    if kind == b"2":
        return bz2.decompress(rest)
    if kind == b"Z":
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
        return lzma.decompress(rest, format=lzma.FORMAT_RAW, filters=filters)
    return rest if kind == b"0" else zlib.decompress(packed)


def _convert(parse: Callable[[Any], Any], source: Any) -> Any:
    """Parse and convert; a data frame that pandas cannot hold becomes a dictionary of its columns."""
    from rdata.conversion import DEFAULT_CLASS_MAP, convert

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown classes become arrays and dicts, which is what we want
        parsed = parse(source)
        try:
            return convert(parsed)
        except ValueError:
            plain = {name: lambda columns, _: dict(columns) for name in ("data.frame", "tbl_df")}
            return convert(parsed, {**DEFAULT_CLASS_MAP, **plain})


# Frames


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """Return all columns of a data frame as floats; a value that is not a number is NaN."""
    return frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float, na_value=np.nan)


def numeric(frame: Any) -> np.ndarray:
    """Return the columns of a data frame that hold numbers, as floats; missing values are NaN."""
    return numbers(pd.DataFrame(frame).select_dtypes("number"))


# Series and classes


def ts(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes of the training and the test file of a set in aeon's .ts format.

    A row is ``value,value,...:class``, after a line ``@data``. All have one length.
    """
    rows, classes = [], []
    for part in ("TRAIN", "TEST"):
        text = (folder / f"{folder.name}_{part}.ts").read_text(encoding="utf-8")
        for line in text[text.lower().index("@data") + len("@data") :].split():
            values, label = line.rsplit(":", 1)
            rows.append(np.array(values.split(","), dtype=float))
            classes.append(label)
    return np.array(rows), np.array(classes)


def dat(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes of a KEEL .dat file: the class is the last field of a row."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    fields = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    rows = np.array([[float(value) for value in field[:-1]] for field in fields])
    return rows, np.array([field[-1].strip() for field in fields])


def averaged(x: np.ndarray, step: int) -> np.ndarray:
    """Return means of `step` columns that follow each other; what is left over at the end is dropped."""
    width = x.shape[1] // step * step
    return x[:, :width].reshape(len(x), -1, step).mean(axis=2)


# Images and volumes


def grey(path: Path) -> np.ndarray:
    """Return the brightness of an image, 0 to 255."""
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("L"), dtype=float)


def nifti(path: Path) -> np.ndarray:
    """Return a volume of whole numbers from an uncompressed, little-endian NIfTI-1 file."""
    content = path.read_bytes()
    n_axes, *sizes = struct.unpack("<8h", content[40:56])
    (kind,) = struct.unpack("<h", content[70:72])
    if kind != 4:
        raise ValueError(f"{path.name} holds type {kind} of NIfTI; only 16-bit whole numbers (4) are read")
    start = int(struct.unpack("<f", content[108:112])[0])
    shape = sizes[:n_axes]
    return np.frombuffer(content, "<i2", count=int(np.prod(shape)), offset=start).reshape(shape, order="F")
