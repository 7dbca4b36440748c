"""Damaged files for the readers of the command line, one for each number.

Each file must be read, or refused by a TableError in one sentence: no other error, no warning, no endless
loop, no memory beyond a limit. The tests try a few files; this script tries more:

    python fuzz/readers.py --seed 0 --minutes 10

It prints how many files of each ending were read and refused. At the first fault it stops with exit code 1,
and prints the folder with the file and a log.
"""

import argparse
import faulthandler
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from attenua.cli.readers import TableError, read_table
from reader_files import bombs, damaged, options_of, valid_files

MEMORY, SECONDS = 2**30, 60
AT_ONCE, COMMANDS = 3_000, 3


def examples(seed, numbers):
    """Yield files by their numbers: ending, content, and options for reading."""
    valid = valid_files()
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        ending = list(valid)[rng.integers(len(valid))]
        yield ending, damaged(rng, ending, valid[ending]), options_of(rng)


def outcome(path, options):
    """Read a file and return "read" or "refused"; anything else is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = read_table(path, **options)
        except TableError as error:
            _check_sentence(str(error), path)
            return "refused"
    _check_table(table)
    return "read"


def _check_sentence(sentence, path):
    assert str(path) in sentence, "the file is not named"
    assert sentence.isprintable(), "more than one line, or control characters"
    assert sentence.endswith("."), "not a sentence"
    assert len(sentence) < 1_000, "too long"


def _check_table(table):
    X, (n, p) = table.X, table.X.shape
    assert n >= 2
    assert X.dtype.kind in "fiub"
    assert not np.isinf(X.data if sp.issparse(X) else X).any()
    if sp.issparse(X):
        X.check_format(full_check=True)
    assert table.names is None or len(table.names) == p
    for labels in (table.groups, table.ids, table.colours):
        assert labels is None or len(labels) == n


def try_files(files, folder, counts_file):
    """Read files in this process, which a fault may end; the folder then keeps the file and a log."""
    files, counts = list(files), Counter()
    _limit_memory()
    with (folder / "log.txt").open("w") as log:
        faulthandler.enable(log)
        for ending, content, options in files:
            path = folder / f"file{ending}"
            path.write_bytes(content)
            (folder / "options.json").write_text(json.dumps(options))
            faulthandler.dump_traceback_later(SECONDS, exit=True, file=log)
            try:
                counts[f"{ending} {outcome(path, options)}"] += 1
            except BaseException:
                traceback.print_exc(file=log)
                sys.exit(1)
            finally:
                faulthandler.cancel_dump_traceback_later()
            path.unlink()
    counts_file.write_text(json.dumps(counts))


def _limit_memory():
    """Limit this process to `MEMORY` more than it has now, which only Linux reports."""
    status = Path("/proc/self/statm")
    if status.exists():
        import resource

        limit = int(status.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def try_numbers(seed, numbers, folder):
    """Try examples in a child process, which a fault may kill; return counts by ending and outcome."""
    return in_a_child(_try_numbers, seed, numbers, folder)


def _try_numbers(seed, numbers, folder, counts_file):
    try_files(examples(seed, numbers), folder, counts_file)


def try_bombs(folder):
    """Try the files that claim or unpack to a lot in the same way."""
    return in_a_child(_try_bombs, folder)


def _try_bombs(folder, counts_file):
    try_files(((ending, content, {}) for ending, content in bombs()), folder, counts_file)


def in_a_child(function, *arguments):
    """Run a function in a child process and return its counts; its last argument is a folder."""
    folder = arguments[-1]
    counts_file = folder / "counts.json"
    child = multiprocessing.get_context("spawn").Process(target=function, args=(*arguments, counts_file))
    child.start()
    child.join()
    if child.exitcode != 0:
        log = (folder / "log.txt").read_text()
        raise AssertionError(f"exit code {child.exitcode}; the file and its options are in {folder}.\n{log}")
    return Counter(json.loads(counts_file.read_text()))


def try_command(seed, number, folder):
    """Run `attenua fit` on an example; return its exit code, which must agree with its message."""
    ((ending, content, _),) = examples(seed, [number])
    path = folder / f"file{ending}"
    path.write_bytes(content)
    command = [sys.executable, "-m", "attenua", "fit", path, "-k", "1", "--force", "--out", folder / "out"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    last = (result.stderr.splitlines() or [""])[-1]
    refused = result.returncode == 1 and last.startswith("Error: ") and "Traceback" not in result.stderr
    if not refused and result.returncode != 0:
        raise AssertionError(f"exit code {result.returncode}; the file is in {folder}.\n{result.stderr}")
    return result.returncode


def main():
    """Try files until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=np.inf, help="endless by default")
    wanted = parser.parse_args()
    end = time.monotonic() + 60 * wanted.minutes
    folder = Path(tempfile.mkdtemp(prefix="fuzz-readers-"))
    try:
        total, start = try_bombs(folder), 0
        print(_in_words(total), flush=True)
        while time.monotonic() < end:
            total += try_numbers(wanted.seed, range(start, start + AT_ONCE), folder)
            for number in range(start, start + COMMANDS):
                total[f"attenua fit {'refused' if try_command(wanted.seed, number, folder) else 'read'}"] += 1
            start += AT_ONCE
            print(_in_words(total), flush=True)
    except AssertionError as fault:
        sys.exit(f"A fault: {fault}")


def _in_words(total):
    kinds = sorted({key.rsplit(" ", 1)[0] for key in total})
    parts = [f"{kind} {total[f'{kind} read']} read, {total[f'{kind} refused']} refused" for kind in kinds]
    return f"{total.total()} tried: " + "; ".join(parts)


if __name__ == "__main__":
    main()
