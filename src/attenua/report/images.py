"""Rows and loadings as small pictures, and columns that are called like pixels."""

import base64
import math
import re
import struct
import zlib
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.report.charts import change_of, row_label
from attenua.report.findings import Findings
from attenua.report.missing import MissingCells

# pixel_3_4, px-3-4, 3x4: the place is in the name. pixel12, px_12: only the order is.
_PLACED = re.compile(r"^(?:(?:pixel|px|p)[_\- ]?)?(\d+)[_\-x ](\d+)$", re.IGNORECASE)
_COUNTED = re.compile(r"^(?:pixel|px)[_\- ]?(\d+)$", re.IGNORECASE)

_BLUE, _ORANGE = np.array([43, 127, 196]), np.array([222, 115, 28])


def shape_from_names(names: Sequence[str] | None) -> tuple[int, int] | None:
    """Return the shape of the images whose pixels the columns are called like, in order; else None."""
    if not names or len(names) < 4:
        return None
    placed = [_PLACED.match(name) for name in names]
    if all(placed):
        places = np.array([[int(number) for number in match.groups()] for match in placed if match])
        places -= places.min(axis=0)
        height, width = (int(number) for number in places.max(axis=0) + 1)
        in_order = np.stack(np.divmod(np.arange(len(names)), width), axis=1)
        return (height, width) if height * width == len(names) and (places == in_order).all() else None
    counted = [_COUNTED.match(name) for name in names]
    side = math.isqrt(len(names))
    if all(counted) and side * side == len(names):
        numbers = np.array([int(match.group(1)) for match in counted if match])
        return (side, side) if (np.diff(numbers) == 1).all() else None
    return None


def image_shape_of(
    given: tuple[int, int] | None, names: list[str], neighbours: Any
) -> tuple[int, int] | None:
    """Return the shape of rows as images: that given, that of a grid of neighbours, or that of the names."""
    if given is None:
        is_grid = isinstance(neighbours, tuple | list) and len(neighbours) == 2
        return tuple(neighbours) if is_grid else shape_from_names(names)
    is_pair = isinstance(given, Sequence) and len(given) == 2
    if not is_pair or not all(isinstance(side, Integral) and side > 0 for side in given):
        raise ValueError(f"image_shape must be two whole numbers above 0; got {given!r}.")
    height, width = given
    if height * width != len(names):
        raise ValueError(f"image_shape {height} x {width} does not fit {len(names)} columns.")
    return height, width


def pictures_of(
    found: Findings, shape: tuple[int, int] | None, row_names: list[str] | None
) -> dict[str, Any] | None:
    """Return rows, their reconstructions and loadings as images, each with what it is called."""
    if shape is None:
        return None
    examples = found.examples
    rows, missing = [], False
    if examples is not None:
        missing = bool(np.isnan(examples.original).any())
        low, high = float(np.nanmin(examples.original)), float(np.nanmax(examples.original))
        kinds = {"itself": examples.original, "by PCA": examples.pca, found.label: examples.other}
        rows = [
            {
                "row": row_label(row_names, row),
                "images": [
                    (grey_image(some[k].reshape(shape), low, high), kind) for kind, some in kinds.items()
                ],
                "change": change_of(examples.pca_error[k], examples.other_error[k]),
            }
            for k, row in enumerate(examples.rows)
        ]
    sides = {"PCA": found.pca} if found.other is None else {"PCA": found.pca, found.label: found.other}
    loadings = []
    for weights in zip(*sides.values(), strict=True):
        largest = float(np.abs(weights).max())
        images = (signed_image(some.reshape(shape), largest) for some in weights)
        loadings.append(list(zip(images, sides, strict=True)))
    height, width = shape
    return {"rows": rows, "missing": missing, "loadings": loadings, "height": height, "width": width}


def grey_image(values: NDArray[np.float64], low: float, high: float) -> str:
    """Return an image as a data address: black for large values, as ink on paper; orange if missing."""
    missing = np.isnan(values)
    level = np.clip((np.where(missing, low, values) - low) / ((high - low) or 1.0), 0, 1)
    shade = (255 * (1 - level)).round().astype(np.uint8)
    pixels = np.stack([shade, shade, shade, np.full_like(shade, 255)], axis=-1)
    pixels[missing, :3] = _ORANGE
    return _address(pixels)


def missing_image(missing: MissingCells) -> str:
    """Return a picture of missing cells as a data address: nothing where all are there, orange for the rest.

    A block with one missing cell is seen, however large it is.
    """
    shares = missing.in_blocks
    opacity = np.where(shares > 0, 90 + 165 * shares, 0).round()
    colours = np.broadcast_to(_ORANGE, (*shares.shape, 3))
    return _address(np.concatenate([colours, opacity[..., None]], axis=-1).astype(np.uint8))


def signed_image(values: NDArray[np.float64], largest: float) -> str:
    """Return an image as a data address: blue below zero, orange above, nothing at zero."""
    part = np.clip(values / (largest or 1.0), -1, 1)
    colours = np.where(part[..., None] < 0, _BLUE, _ORANGE)
    opacity = (255 * np.abs(part)).round()
    return _address(np.concatenate([colours, opacity[..., None]], axis=-1).astype(np.uint8))


def _address(pixels: NDArray[np.uint8]) -> str:
    """Return an RGBA image as a PNG in a data address."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9))
    return "data:image/png;base64," + base64.b64encode(png + chunk(b"IEND", b"")).decode()
