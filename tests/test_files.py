import os

import pytest

from attenua.files import write_whole


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
