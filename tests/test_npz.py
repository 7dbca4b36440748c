"""Npz files that lie are refused before they are read."""

import io
import os
import struct
import threading
import zipfile

import numpy as np
import pytest

from attenua._npz import NpzError, PackedError, opened_npz

ARRAY = np.arange(6.0).reshape(2, 3)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def packed(contents, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in contents:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.npz"


def read(path, content, **options):
    path.write_bytes(content)
    with opened_npz(path, **options) as npz:
        return {name: npz.array(name) for name in npz.names}


def whole():
    return packed([("a.npy", npy(ARRAY))])


def patched(content, signature, offset, form, *values):
    """Return the content with some numbers changed in its last record of a kind."""
    place = content.rindex(signature) + offset
    return content[:place] + struct.pack(form, *values) + content[place + struct.calcsize(form) :]


@pytest.mark.parametrize("array", [ARRAY, np.asfortranarray(ARRAY), np.float32(3), np.array(["a", "bc"])])
def test_arrays_come_back_as_they_were(path, array):
    found = read(path, packed([("a.npy", npy(array))]))["a.npy"]
    np.testing.assert_array_equal(found, array, strict=True)
    assert found.flags.f_contiguous == np.asarray(array).flags.f_contiguous
    assert found.flags.writeable


END, ENTRY, LOCAL = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
END64, LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"


def whole64():
    """Return a small archive that is written as one beyond 2 GiB is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile, "ZIP64_LIMIT", 100)
        content = whole()
    assert END64 in content
    assert LOCATOR64 in content
    return content


def test_archives_beyond_2_gib(path):
    np.testing.assert_array_equal(read(path, whole64())["a.npy"], ARRAY)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (lambda: b"", "too short for a zip file"),
        (lambda: bytes(100), "does not end as a zip file"),
        (lambda: patched(whole(), END, 20, "<H", 5) + b"hello", "does not end as a zip file"),
        (lambda: patched(whole(), END, 4, "<H", 1), "one of several parts"),
        (lambda: patched(whole(), END, 8, "<H", 0), "one of several parts"),
        (lambda: patched(whole(), END, 16, "<L", 2**32 - 1), "directory is in the wrong place"),
        (
            lambda: whole()[:-22] + b"PK\x06\x07" + bytes(16) + whole()[-22:],
            "directory is in the wrong place",
        ),
        (lambda: b"PK\x06\x07" + bytes(16) + whole()[-22:], "the archive is damaged"),
        (lambda: patched(whole64(), END64, 0, "<L", 0), "directory is in the wrong place"),
        (lambda: patched(whole64(), LOCATOR64, 8, "<Q", 0), "directory is in the wrong place"),
        (lambda: patched(whole64(), END64, 40, "<Q", 2**60), "directory is in the wrong place"),
        (lambda: patched(whole64(), END64, 24, "<QQ", 2**60, 2**60), "more than 64 members"),
        (lambda: packed([(f"{k}.npy", b"") for k in range(65)]), "more than 64 members"),
        (lambda: packed([(f"{k}" * 30_000, b"") for k in range(3)]), "very long names"),
        (lambda: patched(whole(), ENTRY, 8, "<H", 8), "is encrypted or stored in an unsupported way"),
        (lambda: patched(whole(), ENTRY, 34, "<H", 1), "stored in an unsupported way"),
        (lambda: patched(whole(), ENTRY, 20, "<L", 7), "two different sizes"),
        (lambda: patched(whole(), ENTRY, 20, "<LL", 2**31, 2**31), "claim to be larger than the file"),
        (lambda: patched(whole(), ENTRY, 42, "<L", 9), "is damaged"),
        (lambda: patched(whole(), ENTRY, 16, "<L", 0), "a.npy is damaged .*CRC"),
    ],
)
def test_archives_that_lie(path, content, problem):
    with pytest.raises(NpzError, match=problem):
        read(path, content())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice(path):
    with pytest.raises(NpzError, match=r"several members called 'a.npy'"):
        read(path, packed([("a.npy", npy(ARRAY)), ("a.npy", npy(ARRAY))]))


def test_a_size_of_more_than_32_bits(path):
    """An entry whose extra field claims 2^40 bytes, in a file of a few hundred."""
    entry = zipfile.ZipInfo("a.npy")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(entry, npy(ARRAY))
        entry.extra = struct.pack("<HHQQ", 1, 16, 2**40, 2**40)
    content = patched(buffer.getvalue(), ENTRY, 20, "<LL", 2**32 - 1, 2**32 - 1)
    with pytest.raises(NpzError, match="claim to be larger than the file"):
        read(path, content)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_what_is_packed_is_read_only_where_it_may_be(path, compression):
    content = packed([("a.npy", npy(ARRAY))], compression)
    with pytest.raises(PackedError, match=r"'a.npy' is compressed$"):
        read(path, content)
    if compression == zipfile.ZIP_DEFLATED:
        assert read(path, content, most_unpacked=1000)["a.npy"].shape == (2, 3)
        with pytest.raises(NpzError, match="claim more than 100 bytes"):
            read(path, content, most_unpacked=100)
    else:
        with pytest.raises(NpzError, match="compressed by an unsupported method"):
            read(path, content, most_unpacked=1000)


def header(text, body=b""):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n" + body


PLAIN = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        (b"", "EOFError"),
        (header(PLAIN, bytes(8)).replace(b"NUMPY\x01", b"NUMPY\x02"), "does not begin as an array"),
        (header(PLAIN + b" " * 2000, bytes(8)), "does not begin as an array"),
        (header(PLAIN, bytes(9)), "another size than its shape"),
        (header(PLAIN.replace(b"(1,)", b"(999999999999999999, 999999999999999999)")), "another size"),
        (header(PLAIN.replace(b"(1,)", b"(0,)")), "it is empty"),
        (header(PLAIN.replace(b"(1,)", b"(-1,)"), bytes(8)), "not a plain array"),
        (header(PLAIN.replace(b"<f8", b"|O"), bytes(8)), "not a plain array"),
        (header(PLAIN.replace(b"'<f8'", b"[('a', '<f8')]"), bytes(8)), "not a plain array"),
        (header(PLAIN.replace(b"<f8", b"<f7"), bytes(8)), "is damaged .*TypeError"),
    ],
)
def test_arrays_that_lie(path, member, problem):
    with pytest.raises(NpzError, match=problem):
        read(path, packed([("a.npy", member)]))


def test_only_ordinary_files_are_opened_and_no_pipe_is_waited_for(tmp_path):
    with pytest.raises(FileNotFoundError), opened_npz(tmp_path / "none"):
        pass
    with pytest.raises(IsADirectoryError if os.name == "posix" else PermissionError), opened_npz(tmp_path):
        pass
    with pytest.raises(NpzError, match="null"), opened_npz("a\0b"):
        pass
    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path / "link", "/dev/zero"):
        told = []

        def attempt(name=name, told=told):
            try:
                with opened_npz(name):
                    pass
            except NpzError as error:
                told.append(str(error))

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(timeout=20)
        assert told == ["it is not an ordinary file"]
