"""Model files that nobody should send: each must load to a model that works, or be refused in a sentence.

Run it as long as you like: ``python fuzz/model_files.py --seed 0 --minutes 10``. Example number k of a seed
is always the same file. The first that fails is saved in the current folder, and the exit code is 1.
"""

import argparse
import io
import json
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    load_model,
)
from attenua.model_files import ModelFileError, model_bytes

# What loading may take beyond some multiple of the file: the parser of JSON makes objects of two bytes.
MOST_BYTES, MOST_BYTES_PER_BYTE = 2**20, 40
NUMBERS = (0, 1, -1, 2, 7, 0.5, 1.5, -0.0, 5e-324, 1e308, -1e308, 2**31, 2**53 + 1, 2**63, 10**400)
TEXTS = ("", "NaN", "components_", "os.system", "\ud800", "\0", "é" * 300, "<script>", "../../x")
ARRAY_VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan)
EXTREMES = (0, 1, 2, 8, 14, 99, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)
# Where the numbers of the three kinds of records of a zip file are, and how long each of them is.
RECORDS = {
    b"PK\x03\x04": ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)),
    b"PK\x01\x02": (
        (4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (34, 2), (42, 4),
    ),
    b"PK\x05\x06": ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)),
}  # fmt: skip


@cache
def valid_files():
    """Return model files of every class, of both types, with and without names."""
    import pandas as pd

    X = np.random.default_rng(0).standard_normal((30, 5)) * np.arange(1, 6)
    frame = pd.DataFrame(X, columns=["a", "β", "<b>", "d e", "'"])
    models = (
        AttenuatedPCA(2, alpha=0.3).fit(X),
        AttenuatedPCA(3, feature_groups=list("aabbc"), whiten=True).fit(X.astype(np.float32)),
        AttenuatedPCACV(2, alphas=[0, 0.5], cv=[(range(20), range(20, 30))]).fit(frame),
        CorrectedPCA(2, tempering=0.5, smoothing=0.5, neighbours="line").fit(X),
        CorrectedPCA(2, borrowing=0.5, reference=X[:9] + 1.0).fit(X),
        CorrectedPCACV(2, corrections=["tempering", "attenuation"]).fit(frame),
        CorrectedPCACV(1, corrections={"damping": [0.5]}, cv=3, whiten=True).fit(X.astype(np.float32)),
        CorrectedCovariance(corrections=["damping", "shrinkage"]).fit(frame),
        CorrectedCovariance(neighbours="line").fit(X[:3].astype(np.float32)),
    )
    return [model_bytes(model) for model in models]


def example(seed, number):
    """Return what was done to a valid file, and the file."""
    rng = np.random.default_rng([seed, number])
    files = valid_files()
    content = files[rng.integers(len(files))]
    change = CHANGES[rng.integers(len(CHANGES))]
    if change is splice:
        return "splice", splice(rng, content, files[rng.integers(len(files))])
    return change.__name__, change(rng, content)


def outcome(content, path):
    """Load a file and return "loaded" or "refused"; anything else is an AssertionError or what escaped."""
    path.write_bytes(content)
    tracemalloc.start()
    try:
        model = load_model(path)
    except ModelFileError as error:
        said = str(error)
        assert said.startswith(str(path)), said
        assert len(said) < 1000 + len(str(path)), said
        said.encode()
        return "refused"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_BYTES + MOST_BYTES_PER_BYTE * len(content), f"{peak:,} bytes for {len(content):,}"
    check_works(model, path)
    return "loaded"


def check_works(model, path):
    """Assert that a model that loaded works, can be shown, and can be saved and loaded again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without the names of the columns
        if isinstance(model, CorrectedCovariance):
            centre, found, shape = model.location_, model.mahalanobis, (2,)
        else:
            centre, found, shape = model.mean_, model.transform, (2, model.n_components_)
        scores = found(np.vstack([centre, centre]))
    assert scores.shape == shape
    assert not scores.any(), "the mean must have the scores 0, and no distance from itself"
    assert type(model).__name__ in repr(model)
    again = model_bytes(model)
    path.write_bytes(again)
    assert model_bytes(load_model(path)) == again


# --- changes of bytes -------------------------------------------------------------------------------------


def random_bytes(rng, content):
    """Make something that has nothing of a model."""
    start = (b"", b"PK\x03\x04", content[:40])[rng.integers(3)]
    return start + rng.bytes(int(rng.integers(3000)))


def flip(rng, content):
    """Flip some bits."""
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut(rng, content):
    """Leave out a part, at the end or inside."""
    first, last = sorted(rng.integers(len(content), size=2))
    return content[:first] + content[last:] if rng.random() < 0.5 else content[:last]


def insert(rng, content):
    """Put in some bytes too many."""
    place = rng.integers(len(content) + 1)
    return content[:place] + rng.bytes(int(rng.integers(1, 60))) + content[place:]


def splice(rng, content, other):
    """Join the beginning of one file and the end of another."""
    return content[: rng.integers(len(content))] + other[rng.integers(len(other)) :]


def record(rng, content):
    """Let some numbers of the zip file itself lie."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        signature = list(RECORDS)[rng.integers(len(RECORDS))]
        places = [k for k in range(len(content)) if content.startswith(signature, k)]
        offset, length = RECORDS[signature][rng.integers(len(RECORDS[signature]))]
        place = places[rng.integers(len(places))] + offset
        value = _one_of(rng, EXTREMES) & (2 ** (8 * length) - 1)
        changed[place : place + length] = value.to_bytes(length, "little")
    return bytes(changed)


# --- changes of members, in a zip file that is whole again ------------------------------------------------


def member(rng, content):
    """Drop, double, rename or exchange a member, or change its bytes."""
    parts = _members(content)
    one, other = rng.integers(len(parts), size=2)
    name, body = parts[one]
    kind = rng.integers(6)
    if kind == 0:
        del parts[one]
    elif kind == 1:
        parts.append((name, parts[other][1]))
    elif kind == 2:
        parts[one] = _one_of(rng, ("x.npy", "../" + name, name.upper(), "/" + name, "é.npy", "")), body
    elif kind == 3:
        parts[one], parts[other] = (name, parts[other][1]), (parts[other][0], body)
    else:
        parts[one] = name, (flip, cut, insert)[rng.integers(3)](rng, body)
    return _zipped(parts)


def packing(rng, content):
    """Compress the members in any way, and add a comment."""
    method = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)[rng.integers(4)]
    packed = _zipped(_members(content), method, comment=b"hello" if rng.random() < 0.3 else b"")
    return flip(rng, packed) if rng.random() < 0.5 else packed


def zeros(rng, content):
    """Let a member unpack to a thousand times its size."""
    parts = _members(content)
    one = rng.integers(len(parts))
    parts[one] = parts[one][0], parts[one][1][:128] + bytes(int(rng.integers(2**20, 2**22)))
    return _zipped(parts, zipfile.ZIP_DEFLATED)


def value(rng, content):
    """Change a number in an array."""
    parts = _without_sums(_members(content))
    one = rng.integers(1, len(parts))
    array = np.load(io.BytesIO(parts[one][1]), allow_pickle=False)
    with np.errstate(over="ignore"):
        array.flat[rng.integers(array.size)] = _one_of(rng, ARRAY_VALUES)
    parts[one] = parts[one][0], _npy(array)
    return _zipped(parts)


def array(rng, content):
    """Put another array in place of one: any type, any shape."""
    parts = _without_sums(_members(content))
    one = rng.integers(1, len(parts))
    dtype = _one_of(rng, ("<f8", "<f4", ">f8", "<f2", "<i8", "|b1", "<c16", "<U3", "|V8", "<M8[s]", "|O"))
    shape = tuple(rng.integers(4, size=rng.integers(5)))
    made = np.zeros(shape, np.dtype(dtype), order=_one_of(rng, "CF"))
    parts[one] = parts[one][0], _npy(made)
    return _zipped(parts)


def array_header(rng, content):
    """Let the header of an array claim something else."""
    parts = _members(content)
    one = rng.integers(1, len(parts))
    name, body = parts[one]
    old, new = _one_of(
        rng,
        (
            (b"<f8", b"|O8"), (b"<f8", b">f8"), (b"<f8", b"<f4"), (b"False", b"True "), (b"(", b"(9"),
            (b"(", b"(0, "), (b",)", b", 1)"), (b"}", b"'x': 1}"), (b"'shape'", b"'shapf'"),
            (b"{", b"{" * 300),
            (b"\x01\x00", b"\x03\x00"), (b"(", b"(-"), (b"(", b"(9" + b"9" * 30), (b"v\x00", b"\xff\xff"),
        ),
    )  # fmt: skip
    parts[one] = name, body.replace(old, new, 1)
    return _zipped(parts)


def settings(rng, content):
    """Change, drop or add something in the JSON."""
    parts = _members(content)
    header = json.loads(parts[0][1])
    for _ in range(rng.integers(1, 3)):
        _change(rng, header)
    text = json.dumps(header, indent=1)
    if rng.random() < 0.1:
        text = _one_of(rng, ("[" * 9999, text + text, text.replace("{", '{"class": 1,', 1), "\ufeff" + text))
    parts[0] = parts[0][0], text.encode()
    return _zipped(parts)


CHANGES = (
    random_bytes, flip, cut, insert, splice, record, member, packing, zeros, value, value, array,
    array_header, settings, settings, settings,
)  # fmt: skip


def _change(rng, header):
    """Change one thing somewhere in nested dicts and lists."""
    place = header
    if rng.random() < 0.6 and isinstance(header.get("parameters"), dict):
        place = header["parameters"]
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.2:
            break
        place = place[key]
    kind = rng.integers(8)
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, dict):
        place["more"] = _hostile(rng)
    else:
        place[key] = _hostile(rng)


def _hostile(rng):
    kind = rng.integers(7)
    if kind == 0:
        return _one_of(rng, (None, True, False, [], {}))
    if kind in (1, 2):
        return _one_of(rng, NUMBERS)
    if kind == 3:
        return _one_of(rng, TEXTS)
    if kind == 4:
        return _one_of(rng, (float("nan"), float("inf"), -float("inf")))
    if kind == 5:
        return [_hostile(rng) for _ in range(rng.integers(3))]
    return {_one_of(rng, TEXTS): _hostile(rng)}


def _one_of(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _without_sums(parts):
    """Return the members of a file as it was before it had checksums."""
    (name, text), *arrays = parts
    header = json.loads(text)
    del header["sums"]
    return [(name, json.dumps(header).encode()), *arrays]


def _zipped(parts, method=zipfile.ZIP_STORED, comment=b""):
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # a name that occurs twice is intended
        archive.comment = comment
        for name, body in parts:
            archive.writestr(zipfile.ZipInfo(name or "empty"), body, method)
    return buffer.getvalue()


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)  # it is written here, and must not be read there
    return buffer.getvalue()


def main():
    """Try files until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=np.inf, help="endless by default")
    options = parser.parse_args()
    end, number, seen = time.monotonic() + 60 * options.minutes, 0, Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        outcome(valid_files()[0], path)  # what is imported late is not counted as memory of a file
        while time.monotonic() < end:
            kind, content = example(options.seed, number)
            try:
                seen[kind, outcome(content, path)] += 1
            except Exception as error:
                failed = Path(f"model_file_{options.seed}_{number}.npz")
                failed.write_bytes(content)
                print(f"{kind}: {type(error).__name__}: {error}\nThe file is {failed}.")
                return 1
            number += 1
            if number % 1000 == 0:
                print(f"{number:,} files tried with seed {options.seed}", flush=True)
    for kind in sorted({kind for kind, _ in seen}):
        print(f"{kind:<14} {seen[kind, 'loaded']:>8,} loaded {seen[kind, 'refused']:>9,} refused")
    print(f"{number:,} files tried with seed {options.seed}, {seen.total():,} as promised.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
