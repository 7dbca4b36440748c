"""Random tables as programs write them, and damaged files, for the readers of the command line.

A table must be read as it was written, or refused; read otherwise, it must have a note. A damaged file must
be read, or refused by a TableError in one sentence: no other error, no warning. The tests try a few; this
script tries more, and prints the number of the first that fails:

    python fuzz/readers.py --seed 0 --minutes 10
"""

import argparse
import bz2
import csv
import gzip
import io
import lzma
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from attenua.cli.layout import TableError
from attenua.cli.tables import read_table

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
JUNK = [
    *(
        b'"',
        b",",
        b";",
        b"\n",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"#",
        b"=",
        b"\x1b[31m",
        b"1e999",
        b"1_0",
    ),
    *(b"NA", b"inf", b"9" * 400, b"," * 300, b'"' * 301, b"\r\n\r\n", "\u2028".encode(), b"mean", b"<html>"),
]


def random_table(rng):
    """Return numbers with as many digits as they have, names or None, and names of the rows or None."""
    n, p = rng.integers(6, 30), rng.integers(2, 8)
    digits, sizes = rng.integers(0, 5, p), 10.0 ** rng.integers(-1, 6, p)
    X = np.column_stack([np.round(sizes[j] * rng.standard_normal(n), digits[j]) for j in range(p)])
    X = X if rng.random() < 0.7 else np.abs(X)
    X[rng.random(X.shape) < rng.choice([0, 0, 0.1])] = np.nan
    names = [
        None,
        [f"x{j}" for j in range(p)],
        [str(1990 + j) for j in range(p)],
        [f"{400 + 2.5 * j}" for j in range(p)],
    ]
    counts = rng.permutation(1000)[:n].astype(str)
    ids = [None, [f"P{number}" for number in counts], list(counts), [str(i) for i in range(n)]]
    names = names[rng.integers(4)]
    # Without a header nothing tells codes of rows from measurements.
    return X, digits, names, None if names is None else ids[rng.integers(4)]


def as_text(rng, X, digits, names, ids):
    """Return the table as a text in a dialect, packed or not, and its ending."""
    decimal = rng.choice([".", ","])
    sep = str(rng.choice([",", ";", "\t", "|", " "]))
    thousands = str(rng.choice(["", "", "'", {".": ",", ",": "."}[decimal]]))
    missing = "NA" if sep == " " else str(rng.choice(["", "NA", "?"]))
    signs = str.maketrans({",": thousands, ".": decimal})
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=sep, quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])))
    if names is not None:
        # R leaves out the name of the row names.
        first = [] if ids is None or rng.random() < 0.3 else [str(rng.choice(["", "id", "Unnamed: 0"]))]
        writer.writerow([*first, *names])
    for row, numbers in enumerate(X):
        cells = [
            missing if np.isnan(x) else f"{x:,.{d}f}".translate(signs)
            for x, d in zip(numbers, digits, strict=True)
        ]
        writer.writerow(cells if ids is None else [ids[row], *cells])
    title = rng.choice(["", "", "# by hand\n", "A trial of 1999\n\n"])
    encoding, packer = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"])), str(rng.choice(list(PACKERS)))
    return PACKERS[packer]((title + stream.getvalue()).encode(encoding)), ".csv" + packer


def as_frame(rng, X, names, ids):
    """Return the table as a file with types, and its ending."""
    frame = pd.DataFrame(X, columns=names or [f"x{j}" for j in range(X.shape[1])], index=ids)
    ending, stream = str(rng.choice([".parquet", ".xlsx"])), io.BytesIO()
    (frame.to_parquet if ending == ".parquet" else frame.to_excel)(stream)
    return stream.getvalue(), ending


def damaged(rng, content):
    """Return bytes with some cut, changed, doubled or inserted."""
    for _ in range(rng.integers(1, 4)):
        start, end = np.sort(rng.integers(0, len(content) + 1, 2))
        junk = JUNK[rng.integers(len(JUNK))]
        parts = [content[:start], content[:start] + content[end:], content[:end] + content[start:]]
        parts += [
            content[:start] + junk + content[start:],
            content[:start] + junk + content[start + len(junk) :],
        ]
        content = parts[rng.integers(len(parts))]
    return content


def try_number(seed, number, folder):
    """Try one file; return its ending and what came of it, or raise an AssertionError."""
    rng = np.random.default_rng([seed, number])
    X, digits, names, ids = random_table(rng)
    is_text, is_damaged = rng.random() < 0.9, rng.random() < 0.3
    content, ending = as_text(rng, X, digits, names, ids) if is_text else as_frame(rng, X, names, ids)
    path = Path(folder) / f"file{ending}"
    path.write_bytes(damaged(rng, content) if is_damaged else content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = read_table(path)
        except TableError as error:
            sentence = str(error)
            assert sentence.startswith(str(path)), f"the file is not named: {sentence}"
            assert sentence.isprintable(), f"more than a line: {sentence}"
            assert sentence.endswith("."), f"not a sentence: {sentence}"
            return f"{ending} refused"
    assert table.X.shape == (len(table.X), len(table.names))
    assert not np.isinf(table.X).any()
    if is_damaged:
        return f"{ending} read"
    same = table.X.shape == X.shape and np.allclose(table.X, X, rtol=1e-12, equal_nan=True)
    told = [note for note in table.notes if "missing" not in note]
    assert same or told, f"read as something else, without a note:\n{table}"
    return f"{ending} {'read' if same else 'read otherwise, with a note'}"


def main():
    """Try files until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=np.inf, help="endless by default")
    wanted = parser.parse_args()
    end, counts = time.monotonic() + 60 * wanted.minutes, Counter()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            try:
                counts[try_number(wanted.seed, counts.total(), folder)] += 1
            except Exception as error:
                sys.exit(f"A fault: --seed {wanted.seed}, number {counts.total()}: {error!r}")
    print(f"{counts.total()} tried: " + "; ".join(f"{key} {n}" for key, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
