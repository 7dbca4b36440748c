"""Files are written whole or not at all, whoever else writes and whatever ends the process."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

import attenua._files as files
from attenua._files import write_whole

# Ends the process, so that nothing cleans up, before one of the lines of the module.
KILLED = """
import os, runpy, sys
module, path, last = sys.argv[1:]
write_whole = runpy.run_path(module)["write_whole"]
def trace(frame, event, _):
    global lines
    if frame.f_code.co_filename == module:
        lines += 1
        if lines > int(last):
            os._exit(9)
        return trace
lines = 0
sys.settrace(trace)
write_whole(path, b"new" * 10_000)
"""


@pytest.fixture
def path(tmp_path):
    """A file, alone in its folder."""
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")
    return path


def fails(error):
    def function(*_):
        raise error

    return function


def test_a_process_killed_at_any_line_leaves_the_old_file_or_the_new_one(path):
    contents, last, code = set(), 0, 9
    while code == 9:
        command = [sys.executable, "-c", KILLED, files.__file__, str(path), str(last)]
        code = subprocess.run(command).returncode
        contents.add(path.read_bytes())
        path.write_bytes(b"old")
        last += 1
    assert code == 0
    assert last > 10
    assert contents == {b"old", b"new" * 10_000}


@pytest.mark.skipif(os.name == "nt", reason="modes are of Unix")
def test_modes_are_those_of_the_umask_or_of_the_file_replaced(path):
    path.chmod(0o604)
    write_whole(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o604
    other, usual = path.with_name("other"), path.with_name("usual")
    write_whole(other, b"")
    usual.touch()
    assert other.stat().st_mode == usual.stat().st_mode


def test_a_link_is_kept_and_what_it_names_is_written(path):
    link = path.with_name("link")
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("has_links", [True, False])
def test_only_force_replaces_a_file(path, monkeypatch, has_links):
    if not has_links:
        monkeypatch.setattr(os, "link", fails(OSError(errno.EPERM, "Operation not permitted")))
    with pytest.raises(FileExistsError, match=r"x.bin exists; force=True replaces it\."):
        write_whole(path, b"new", force=False)
    assert path.read_bytes() == b"old"
    path.unlink()
    write_whole(path, b"new", force=False)
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["x.bin"]


@pytest.mark.parametrize("force", [True, False])
def test_of_writers_at_once_one_wins_whole(path, monkeypatch, force):
    def write(content):
        with suppress(FileExistsError):
            write_whole(path, content, force=force)
            return content

    gate = Barrier(4)
    monkeypatch.setattr(os, "fsync", lambda _: gate.wait())  # all are about to put theirs in its place
    with ThreadPoolExecutor(4) as threads:
        for _ in range(50):
            path.unlink()
            written = list(filter(None, threads.map(write, [b"1", b"2", b"3", b"4"])))
            assert len(written) == (4 if force else 1)
            assert path.read_bytes() in written
    assert os.listdir(path.parent) == ["x.bin"]


@pytest.mark.parametrize("when", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_alone_and_names_it(path, monkeypatch, when, error):
    monkeypatch.setattr(os, when, fails(error))
    with pytest.raises(type(error)) as raised:
        write_whole(path, b"new")
    if isinstance(error, OSError):
        assert str(raised.value) == f"[Errno {errno.ENOSPC}] No space left: {str(path)!r}"
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["x.bin"]
