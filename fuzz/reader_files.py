"""Valid files of every supported format, damaged ones, and small files that claim or unpack to a lot."""

import bz2
import gzip
import importlib.util
import io
import lzma
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from pyarrow import feather

PACKERS = {
    ".gz": (gzip.compress, gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": (
        lambda content: pa.compress(content, codec="zstd", asbytes=True),
        lambda content: pa.input_stream(io.BytesIO(content), compression="zstd").read(),
    ),
}
_LIMITS = [0, 1, -1, 127, -128, 255, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63)]
_TEXTS = [
    *'",;\t\n\r\0 \ufeff٣\u2028\x1b=',
    *("nan", "-inf", "1e999", "0e400", "1e-999", "0x1p3", "1_0", "NA", "''", '""', '"\n"', "\r\n\r\n"),
    *("9" * 5_000, "1e" + "9" * 5_000, "," * 300, "\n" * 300, '"' * 301, "é" * 50, "a" * 200_000),
]
_OPTIONS = [
    *({"missing": way} for way in ("mean", "drop-rows", "fail")),
    *({"header": header} for header in (True, False)),
    *({"columns": [columns]} for columns in ("1:3", "2", ":", "age,q:r")),
    *({"decimal": ","}, {"drop": ["1"]}, {"group_column": "1"}, {"id_column": "1"}, {"colour_by": "2"}),
    *({"sheet": "second"}, {"id_column": "who", "missing": "mean"}, {"na": [-1.0, 5.0]}),
]


def valid_files():
    """Return undamaged files: lists of contents by ending."""
    texts = [text.encode() for text in _texts()]
    files = {".csv": texts, ".tsv": [text.replace(b",", b"\t") for text in texts[:2]]}
    files |= {f".csv{ending}": [pack(text) for text in texts[:3]] for ending, (pack, _) in PACKERS.items()}
    files |= {".npy": [_saved(np.save, X) for X in _arrays()], ".npz": _npz_files()}
    files |= {".parquet": _parquet_files(), ".feather": _feather_files(), ".xlsx": [_excel_file()]}
    if importlib.util.find_spec("anndata"):
        files[".h5ad"] = [_h5ad_file()]
    return files


def _frame():
    X = np.random.default_rng(0).standard_normal((12, 4)).round(4)
    return pd.DataFrame(X, columns=["age", "height", "weight", "q:r"])


def _texts():
    frame = _frame()
    yield frame.to_csv(index=False)
    yield frame.to_csv(index=False, header=False)
    yield frame.to_csv(sep=";", decimal=",")
    yield frame.set_index(pd.Index(list("abcdefghijkl"), name="who")).to_csv(quoting=2, lineterminator="\r\n")
    yield frame.where(frame > -1).to_csv(index=False, na_rep="NA")
    axis = [f"{400 + 2.5 * place}" for place in range(10)]
    yield pd.DataFrame(np.arange(60).reshape(6, 10) / 64, columns=axis).to_csv(index=False)


def _arrays():
    X = _frame().to_numpy()
    yield from (X, X.T, X.astype(np.float32), X.astype(">f8"), (10 * X).astype(np.int16), X > 0)


def _saved(save, *arguments, **named):
    file = io.BytesIO()
    save(file, *arguments, **named)
    return file.getvalue()


def _npz_files():
    X = _frame().to_numpy()
    sparse = sp.csr_array(np.where(X > 0.5, X, 0.0))
    forms = [_saved(sp.save_npz, sparse.asformat(form)) for form in ("csr", "csc", "coo", "bsr", "dia")]
    return [_saved(np.savez, X), _saved(np.savez_compressed, X=X, y=X[0]), *forms]


def _parquet_files():
    table = pa.Table.from_pandas(_frame())
    labelled = pa.Table.from_pandas(_frame().assign(who=list("aabbccddeeff")).set_index("who"))
    missing = pa.table({"a": [1, None, 3], "b": [0.5, 1.5, None]})
    return [
        _saved(lambda file: pq.write_table(table, file)),
        _saved(lambda file: pq.write_table(labelled, file, compression="zstd", version="1.0")),
        _saved(lambda file: pq.write_table(missing, file, compression="gzip", data_page_version="2.0")),
        _saved(lambda file: pq.write_table(table, file, compression="none", use_dictionary=False)),
    ]


def _feather_files():
    table = pa.Table.from_pandas(_frame())
    ways = ("lz4", "zstd", "uncompressed")
    return [_saved(lambda file, way=way: feather.write_feather(table, file, way)) for way in ways]


def _excel_file():
    with pd.ExcelWriter(file := io.BytesIO()) as book:
        _frame().to_excel(book, index=False)
        _frame().to_excel(book, sheet_name="second")
    return file.getvalue()


def _h5ad_file():
    import anndata

    frame = _frame()
    frame.index = [f"cell{place}" for place in range(len(frame))]
    with tempfile.TemporaryDirectory() as folder:
        anndata.AnnData(frame).write_h5ad(path := Path(folder) / "x.h5ad")
        return path.read_bytes()


def bombs():
    """Yield small files that would fill the memory or take forever; all must be refused."""
    for ending, (pack, _) in PACKERS.items():
        yield f".csv{ending}", pack(bytes(2**20)) * 1024
    for shape in ("(1000000000000, 4)", "(4611686018427387904, 4611686018427387904)", "(" * 3000):
        yield ".npy", _claiming(shape)
        yield ".npz", _zip({"X.npy": _claiming(shape)})
    yield ".npz", _sparse_claiming(10**12, 1)
    yield ".npz", _sparse_claiming(10**12, 10**12)
    for sheet in _sheets():
        yield ".xlsx", with_member(_excel_file(), "xl/worksheets/sheet1.xml", sheet)


def _claiming(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


def _sparse_claiming(*shape):
    place = np.zeros(1, dtype=int)
    parts = {"row": place, "col": place, "format": np.array(b"coo"), "shape": np.array(shape)}
    return _saved(np.savez, data=np.ones(1), **parts)


def _sheets():
    start = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    rows = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="%d"><c r="%s"><v>2</v></c></row>'
    for row, column in ((2, b"XFD2"), (1_048_576, b"XFD1048576"), (10**12, b"A1000000000000")):
        cells = rows % (row, column)
        yield start + b'<dimension ref="A1:XFD1048576"/><sheetData>' + cells + b"</sheetData></worksheet>"
    yield bytes(2**30)
    yield start + b" " * 2**30
    laughs = b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 12))
    yield b'<!DOCTYPE w [<!ENTITY e0 "1">' + laughs + b"]>" + start + b"&e11;</worksheet>"


def members(content):
    """Return the members of a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip(contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_member(content, name, member):
    """Return a zip file with one member replaced."""
    return _zip(members(content) | {name: member})


def options_of(rng):
    """Return options for reading a file, usually none."""
    return {} if rng.random() < 0.6 else _OPTIONS[rng.integers(len(_OPTIONS))]


def damaged(rng, ending, wholes):
    """Return a file with some damage: often inside its compression, rarely none, rarely everything."""
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
    """Return a place: anywhere, or near the start or the end, where formats store sizes."""
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
    """Put in a number, as if it were a size or an offset."""
    number, width = _LIMITS[rng.integers(len(_LIMITS))], [1, 2, 4, 8][rng.integers(4)]
    start = _place(rng, content)
    return _with_part(content, start, start + width, struct.pack("<Q", number % 2**64)[:width])


def _write(rng, content, wholes):
    """Insert a text, or replace a run of digits by it."""
    text = _TEXTS[rng.integers(len(_TEXTS))].encode()
    start = end = _place(rng, content)
    while rng.random() < 0.9 and end < len(content) and content[end : end + 1].isdigit():
        end += 1
    return _with_part(content, start, end, text)


_CHANGES = [_flip, _overwrite, _lose, _cut, _repeat, _mix, _claim, _write, _write]
