"""Model files that nobody should send: each must load to a model that works, or be refused in a sentence.

Run it as long as you like: ``python fuzz/model_files.py --seed 0 --minutes 10``. A seed is always the same
file.
"""

import json
import sys
import tempfile
import tracemalloc
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import safetensors.numpy
import scipy.sparse as sp

import rounds
from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from attenua.model_files import ModelFileError, _sum, load_model, save_model

# What loading may take beyond some multiple of the file: the parser of JSON makes objects of two bytes.
MOST_BYTES, MOST_BYTES_PER_BYTE = 2**20, 40
HOSTILE = (
    None, True, [], {}, [[]], {"a": 1}, 0, 1, -1, 2, 7, 0.5, 1.5, -0.0, 5e-324, 1e308, 2**31, 2**63, 10**400,
    float("nan"), float("inf"), "", "NaN", "components_", "os.system", "\ud800", "\0", "é" * 300, "../../x",
)  # fmt: skip
LIES = {
    "dtype": ("BF16", "F8_E4M3", "F64", "I64", "BOOL", "O"),
    "shape": ([2**40], [2**61], [0, 2**63], [1] * 99, [-1], []),
    "data_offsets": ([0, 2**40], [8, 0], [0, 0], [-8, 0], [0, 8]),
}
TYPES = ("<f8", "<f4", "<f2", "<i8", "|u1", "|b1")


def saved(model):
    """Return the content of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model.safetensors")
        return (Path(folder) / "model.safetensors").read_bytes()


@cache
def valid_files():
    """Return model files of every class, of both types, with and without names and laws."""
    import pandas as pd

    X = np.random.default_rng(0).standard_normal((30, 5)) * np.arange(1, 6)
    frame = pd.DataFrame(X, columns=["a", "β", "<b>", "d e", "'"])
    models = [
        AttenuatedPCA(2, alpha=0.3).fit(X),
        AttenuatedPCA(3, feature_groups=list("aabbc"), whiten=True).fit(X.astype(np.float32)),
        AttenuatedPCACV(2, alphas=[0, 0.5], cv=[(range(20), range(20, 30))]).fit(frame),
        CorrectedPCA(2, tempering=0.5, borrowing=0.5, reference=X[:9] + 1.0, scale=True).fit(X),
        CorrectedPCACV(
            2, corrections=["tempering", "attenuation"], neighbours=sp.csr_array(np.eye(5)[::-1])
        ).fit(frame),
        CorrectedCovariance(corrections=["damping", "shrinkage"]).fit(frame),
        CorrectedCovariance(neighbours="line").fit(X[:3].astype(np.float32)),
    ]
    models[4].impute(frame)
    return [saved(model) for model in models]


def example(seed):
    """Return what was done to a valid file, and the file."""
    rng = np.random.default_rng(seed)
    change = one_of(rng, CHANGES)
    return change.__name__, change(rng, one_of(rng, valid_files()))


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
    check_works(model)
    return "loaded"


def check_works(model):
    """Assert that a model that loaded works, can be shown, and fills cells if it has a law."""
    is_covariance = isinstance(model, CorrectedCovariance)
    centre = model.location_ if is_covariance else model.mean_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without the names of the columns
        scores = (model.mahalanobis if is_covariance else model.transform)(np.stack([centre, centre]))
        if is_covariance or "_filling" in vars(model):
            assert np.isfinite(model.impute(np.full((2, len(centre)), np.nan))).all()
    assert not scores.any(), "the mean must have the scores 0, and no distance from itself"
    assert type(model).__name__ in repr(model)


def unpacked(content):
    """Return the JSON and the arrays of a model file."""
    length = int.from_bytes(content[:8], "little")
    text = json.loads(content[8 : 8 + length])["__metadata__"]["attenua-model"]
    arrays = {name: array.copy() for name, array in safetensors.numpy.load(content).items()}
    return json.loads(text), arrays


def packed(header, arrays):
    """Return a model file with the checksum that belongs to it."""
    header.pop("crc32", None)
    header["crc32"] = _sum(header, arrays)
    return safetensors.numpy.save(arrays, {"attenua-model": json.dumps(header)})


# --- changes of bytes -------------------------------------------------------------------------------------


def flip(rng, content):
    """Flip some bits."""
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut(rng, content):
    """Leave out a part, at the end or inside, or double one."""
    first, last = rng.integers(len(content), size=2)
    return content[:first] + content[last:] if rng.random() < 0.5 else content[:last]


def splice(rng, content):
    """Join the beginning of one file and the end of another."""
    other = one_of(rng, valid_files())
    return content[: rng.integers(len(content))] + other[rng.integers(len(other)) :]


def length(rng, content):
    """Let the length of the header lie."""
    return int(one_of(rng, (0, 1, 2**16, 2**31, 2**63, 2**64 - 1))).to_bytes(8, "little") + content[8:]


def claim(rng, content):
    """Let the header claim another type, shape or place of an array."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    array = header[one_of(rng, sorted(header.keys() - {"__metadata__"}))]
    key = one_of(rng, sorted(LIES))
    array[key] = one_of(rng, LIES[key])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[start:]


# --- changes of what is in a file, with a checksum that belongs to it -------------------------------------


def value(rng, content):
    """Change a number in an array."""
    header, arrays = unpacked(content)
    array = arrays[one_of(rng, sorted(arrays))]
    with np.errstate(over="ignore"):
        array.flat[rng.integers(array.size)] = one_of(
            rng, (0, -1, 0.5, 1e-300, 1e308, -1e308, np.inf, np.nan)
        )
    return packed(header, arrays)


def array(rng, content):
    """Put another array in place of one, leave one out or add one: any type, any shape."""
    header, arrays = unpacked(content)
    name = one_of(rng, (*sorted(arrays), "more", "law.noise", "parameter.neighbours", "parameter.more"))
    if rng.random() < 0.2:
        arrays.pop(name, None)
    else:
        arrays[name] = np.zeros(tuple(rng.integers(7, size=rng.integers(4))), one_of(rng, TYPES))
    return packed(header, arrays)


def settings(rng, content):
    """Change, drop or add something in the JSON."""
    header, arrays = unpacked(content)
    place = header
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = one_of(rng, keys)
        if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.2:
            break
        place = place[key]
    if rng.random() < 0.2:
        del place[key]
    else:
        place[key] = one_of(rng, HOSTILE)
    return packed(header, arrays)


CHANGES = (flip, cut, splice, length, claim, claim, value, value, array, settings, settings, settings)


def one_of(rng, choices):
    """Return one of some things."""
    return choices[int(rng.integers(len(choices)))]


def check(number):
    """Try an example, and return what came of it."""
    kind, content = example(number)
    with tempfile.TemporaryDirectory() as folder:
        return [f"{kind} {outcome(content, Path(folder) / 'model.safetensors')}"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as late:  # what is imported late is not counted as memory of a file
        outcome(valid_files()[0], Path(late) / "model.safetensors")
    sys.exit(rounds.go("model_files", __doc__.partition("\n")[0], lambda seed: seed, check))
