import errno
import os

import pytest

from attenua._data.files import write_all_whole, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "x.bin"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["x.bin"]


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.bin"
    write_whole(path, b"one")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["x.bin"]


def test_several_files_are_written_all_or_none(tmp_path):
    one, two = tmp_path / "new" / "one", tmp_path / "new" / "two"
    write_all_whole({one: b"1", two: b"2"}, make_folders=True)
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    three = tmp_path / "new" / "three"
    with pytest.raises(FileExistsError, match="two exists already and nothing was written"):
        write_all_whole({three: b"3", two: b"4"})
    assert not three.exists()
    write_all_whole({three: b"3", two: b"4"}, force=True)
    assert (two.read_bytes(), three.read_bytes()) == (b"4", b"3")
    with pytest.raises(FileExistsError, match="is a folder"):
        write_all_whole({tmp_path / "new": b""}, force=True)
    assert sorted(os.listdir(tmp_path / "new")) == ["one", "three", "two"]


@pytest.mark.parametrize("write", [write_whole, lambda path, content: write_all_whole({path: content})])
def test_a_full_disk_names_the_file(tmp_path, monkeypatch, write):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as refused:
        write(tmp_path / "x.bin", b"one")
    assert refused.value.filename == str(tmp_path / "x.bin")
    assert os.listdir(tmp_path) == []
