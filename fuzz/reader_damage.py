"""What can be wrong with a file: bytes changed, lost, repeated and mixed, at the surface and inside."""

import struct

import numpy as np

from reader_files import PACKERS, members, with_member

_LIMITS = [0, 1, -1, 127, -128, 255, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63)]
_TEXTS = [
    *'",;\t\n\r\0 \ufeff٣\u2028\x1b=',
    *("nan", "-inf", "1e999", "0e400", "1e-999", "0x1p3", "1_0", "NA", "''", '""', '"\n"', "\r\n\r\n"),
    *("9" * 5_000, "1e" + "9" * 5_000, "," * 300, "\n" * 300, '"' * 301, "é" * 50, "a" * 200_000),
]
_OPTIONS = [
    *({"missing": way} for way in ("mean", "drop-rows")),
    *({"header": header} for header in (True, False)),
    *({"columns": [columns]} for columns in ("1:3", "2", ":", "age,q:r")),
    *({"decimal": ","}, {"drop": ["1"]}, {"group_column": "1"}, {"id_column": "1"}, {"colour_by": "2"}),
    *({"sheet": "second"}, {"id_column": "who", "missing": "mean"}),
]


def options_of(rng):
    """Return options to read a file with, mostly none."""
    return {} if rng.random() < 0.6 else _OPTIONS[rng.integers(len(_OPTIONS))]


def damaged(rng, ending, wholes):
    """Return a file with a few things wrong: often inside its packing, rarely none, rarely all of it."""
    content = wholes[rng.integers(len(wholes))]
    if rng.random() < 0.05:
        return rng.bytes(rng.integers(300))
    inside = rng.random() < 0.6
    pack, unpack = PACKERS.get("." + ending.rsplit(".", 1)[-1], (None, None))
    if inside and pack:
        return pack(_changed(rng, unpack(content), [unpack(whole) for whole in wholes]))
    if inside and ending in (".npz", ".xlsx"):
        parts = members(content)
        name = list(parts)[rng.integers(len(parts))]
        return with_member(content, name, _changed(rng, parts[name], list(parts.values())))
    return _changed(rng, content, wholes)


def _changed(rng, content, wholes):
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 8])):
        change = _CHANGES[rng.integers(len(_CHANGES))]
        content = change(rng, content, wholes)
    return content


def _place(rng, content):
    """Return a place: anywhere, or near the start or the end, where formats keep what they claim."""
    n = len(content) + 1
    near = int(rng.integers(min(n, 200)))
    return [int(rng.integers(n)), near, n - 1 - near][rng.integers(3)]


def _part(rng, content):
    start = _place(rng, content)
    return start, min(len(content), start + int(rng.integers(1, 100)))


def _with_part(content, start, end, part):
    return content[:start] + part + content[end:]


def _flip(rng, content, wholes):
    changed = np.frombuffer(content, np.uint8).copy()
    for _ in range(rng.integers(1, 5) if changed.size else 0):
        place = min(_place(rng, content), changed.size - 1)
        changed[place] ^= 1 << rng.integers(8)
    return changed.tobytes()


def _overwrite(rng, content, wholes):
    start, end = _part(rng, content)
    fill = [rng.bytes(end - start), bytes(end - start), b"\xff" * (end - start)]
    return _with_part(content, start, end, fill[rng.integers(3)])


def _lose(rng, content, wholes):
    return _with_part(content, *_part(rng, content), b"")


def _cut(rng, content, wholes):
    return content[: _place(rng, content)]


def _repeat(rng, content, wholes):
    start, end = _part(rng, content)
    return _with_part(content, end, end, content[start:end] * int(rng.integers(1, 20)))


def _mix(rng, content, wholes):
    other = wholes[rng.integers(len(wholes))]
    return content[: _place(rng, content)] + other[_place(rng, other) :]


def _claim(rng, content, wholes):
    """Put a number where a size or an offset may stand."""
    number, width = _LIMITS[rng.integers(len(_LIMITS))], [1, 2, 4, 8][rng.integers(4)]
    start = _place(rng, content)
    return _with_part(content, start, start + width, struct.pack("<Q", number % 2**64)[:width])


def _write(rng, content, wholes):
    """Put in a text, or exchange a run of digits for it."""
    text = _TEXTS[rng.integers(len(_TEXTS))].encode()
    start = end = _place(rng, content)
    while rng.random() < 0.9 and end < len(content) and content[end : end + 1].isdigit():
        end += 1
    return _with_part(content, start, end, text)


_CHANGES = [_flip, _overwrite, _lose, _cut, _repeat, _mix, _claim, _write, _write]
