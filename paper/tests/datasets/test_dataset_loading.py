"""From an empty folder to arrays: what is used, what is downloaded, and what is left behind."""

import dataclasses
import re

import numpy as np
import pytest

from attenua_paper.datasets import DatasetNotAvailable, cache, fetch_har, fetch_optdigits, fetch_phoneme
from attenua_paper.datasets.dataset import load


def put(files, folder):
    for name, content in files.items():
        (folder / name).write_bytes(content)


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_download_is_parsed_and_kept(small_digits, server, tmp_path):
    dataset, files, arrays = small_digits
    for name, content in files.items():
        server.offer(name, content)
    home = tmp_path / "new" / "home"
    assert_same(load(dataset, home, True), arrays)
    assert [path.name for path in home.iterdir()] == ["optdigits.npz"]
    assert sorted(server.requests) == ["optdigits.tes", "optdigits.tra"]
    assert_same(load(dataset, home, True), arrays)
    assert len(server.requests) == 2  # the second call needed no net


def test_cache_file_is_used_and_nothing_downloaded(small_digits, server, tmp_path, monkeypatch):
    # The same arrays in a file of other bytes are used.
    dataset, _, arrays = small_digits
    np.savez(tmp_path / "optdigits.npz", **arrays)  # the same arrays in a file of other bytes
    assert_same(load(dataset, tmp_path, True), arrays)
    assert server.requests == []
    # Environment variable names the folder.
    dataset, _, arrays = small_digits
    cache.write(tmp_path / "optdigits.npz", arrays)
    monkeypatch.setenv("ATTENUA_DATA", str(tmp_path))
    assert_same(load(dataset, None, False), arrays)


def test_connection_cut_in_the_middle_leaves_nothing(small_digits, server, tmp_path):
    dataset, files, arrays = small_digits
    server.offer("optdigits.tra", files["optdigits.tra"])
    server.offer("optdigits.tes", files["optdigits.tes"], cut=True)
    with pytest.raises(DatasetNotAvailable, match=re.escape(server.address("optdigits.tes"))):
        load(dataset, tmp_path, True)
    assert list(tmp_path.iterdir()) == []
    server.cut.clear()
    assert_same(load(dataset, tmp_path, True), arrays)


def test_interruption_by_the_user_leaves_nothing(small_digits, server, tmp_path, monkeypatch):
    dataset, files, _ = small_digits
    server.offer("optdigits.tra", files["optdigits.tra"])

    def interrupt(self, address, output_file, pooch):
        output_file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(dataset, tmp_path, True)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_or_endless_download_leaves_nothing(small_digits, server, tmp_path, monkeypatch):
    # Wrong download leaves nothing.
    dataset, files, _ = small_digits
    server.offer("optdigits.tra", files["optdigits.tra"])
    server.offer("optdigits.tes", b"<html>Sign in</html>")
    with pytest.raises(DatasetNotAvailable, match=f"expected {dataset.raw[1].sha256}"):
        load(dataset, tmp_path, True)
    assert list(tmp_path.iterdir()) == []
    # A server that sends too much is left.
    dataset, files, _ = small_digits
    monkeypatch.setattr("attenua_paper.datasets.download._MOST_BYTES", 300)
    for name, content in files.items():
        server.offer(name, content)
    with pytest.raises(DatasetNotAvailable, match="more than 300 bytes"):
        load(dataset, tmp_path, True)
    assert list(tmp_path.iterdir()) == []


def test_left_over_part_of_a_killed_process_is_not_used(small_digits, tmp_path):
    dataset, _, arrays = small_digits
    cache.write(tmp_path / ".optdigits-0123.part", arrays)
    with pytest.raises(DatasetNotAvailable, match="is not in"):
        load(dataset, tmp_path, False)


def test_second_address_serves_when_the_first_does_not(small_digits, server, tmp_path):
    dataset, files, arrays = small_digits
    wrong = server.offer("wrong", b"other bytes")
    raw = tuple(
        dataclasses.replace(raw, addresses=(server.address("gone"), wrong, *raw.addresses))
        for raw in dataset.raw
    )
    for name, content in files.items():
        server.offer(name, content)
    assert_same(load(dataclasses.replace(dataset, raw=raw), tmp_path, True), arrays)
    assert server.requests == ["gone", "wrong", "optdigits.tra", "gone", "wrong", "optdigits.tes"]


def test_offline_error_says_what_from_where_and_whereto(small_digits, server, tmp_path):
    dataset, _, _ = small_digits
    with pytest.raises(DatasetNotAvailable) as caught:
        load(dataset, tmp_path, True)
    message = str(caught.value)
    for raw in dataset.raw:
        assert f"download  {raw.name}" in message
        assert f"from      {raw.addresses[0]}" in message
        assert f"sha256    {raw.sha256}  {raw.name}" in message
        assert f"save as   {tmp_path / raw.name}" in message
    assert f"{server.address('optdigits.tra')}: 404" in message
    assert dataset.page in message
    assert "optdigits.npz" in message
    assert "ATTENUA_DATA" in message


UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
PUBLISHED = {
    fetch_optdigits: [
        f"{UCI}/optdigits/optdigits.tra",
        "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd  optdigits.tra",
        f"{UCI}/optdigits/optdigits.tes",
        "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8  optdigits.tes",
    ],
    fetch_phoneme: [
        "https://hastie.su.domains/ElemStatLearn/datasets/phoneme.data",
        "https://web.stanford.edu/~hastie/ElemStatLearn/datasets/phoneme.data",
        "545fd472fbd60ab570425c0a0e0feecbb32c1da2ef260446cc6a5c8a444036bf  phoneme.data",
    ],
    fetch_har: [
        f"{UCI}/00240/UCI%20HAR%20Dataset.zip",
        "41a7fe1da7b529cc6c2c3d7df97c98752bea74d7a142673dd59c7820fad3b5e6  train/Inertial Signals/",
        "2a94cb53ca46b956c1b2aebd4a09a72badd8a8e9ea9cdfe9f31b3306a08666bb  test/y_test.txt",
    ],
}


def test_published_addresses_and_hashes_are_in_the_error(tmp_path):
    for fetch, parts in PUBLISHED.items():
        with pytest.raises(DatasetNotAvailable) as caught:
            fetch(data_home=tmp_path, download_if_missing=False)
        for part in parts:
            assert part in str(caught.value)
    assert f"save as   {tmp_path / 'UCI HAR Dataset.zip'}" in str(caught.value)


def test_downloading_can_be_forbidden(small_digits, server, tmp_path):
    dataset, files, _ = small_digits
    put({"optdigits.tra": files["optdigits.tra"]}, tmp_path)
    with pytest.raises(DatasetNotAvailable, match="download_if_missing is False") as caught:
        load(dataset, tmp_path, False)
    assert server.requests == []
    assert "download  optdigits.tes" in str(caught.value)
    assert "download  optdigits.tra" not in str(caught.value)  # it is there already


def test_raw_files_put_there_by_hand_are_used(small_digits, server, tmp_path):
    dataset, files, arrays = small_digits
    put({name: content.replace(b"\n", b"\r\n") for name, content in files.items()}, tmp_path)
    assert_same(load(dataset, tmp_path, True), arrays)
    assert server.requests == []
    assert (tmp_path / "optdigits.npz").exists()


def test_raw_file_put_there_is_completed_by_a_download(small_digits, server, tmp_path):
    dataset, files, arrays = small_digits
    put({"optdigits.tra": files["optdigits.tra"]}, tmp_path)
    server.offer("optdigits.tes", files["optdigits.tes"])
    assert_same(load(dataset, tmp_path, True), arrays)
    assert server.requests == ["optdigits.tes"]


def test_wrong_raw_file_put_there_is_named(small_digits, server, tmp_path):
    dataset, files, _ = small_digits
    put(files | {"optdigits.tes": b"0,1\n"}, tmp_path)
    with pytest.raises(DatasetNotAvailable, match="is not the published file") as caught:
        load(dataset, tmp_path, True)
    assert str(tmp_path / "optdigits.tes") in str(caught.value)
    assert server.address("optdigits.tes") in str(caught.value)
    assert server.requests == []
    assert not (tmp_path / "optdigits.npz").exists()


def test_damaged_cache_file_is_named_with_the_remedy(small_digits, server, tmp_path):
    dataset, files, _ = small_digits
    put(files, tmp_path)
    path = tmp_path / "optdigits.npz"
    load(dataset, tmp_path, True)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DatasetNotAvailable, match=r"Delete it and call fetch_optdigits again") as caught:
        load(dataset, tmp_path, True)
    assert str(path) in str(caught.value)


def test_other_values_in_the_cache_file_are_not_silent(small_digits, tmp_path):
    dataset, _, arrays = small_digits
    changed = arrays | {"test": arrays["test"] + np.uint8(1)}
    cache.write(tmp_path / "optdigits.npz", changed)
    with pytest.warns(UserWarning, match="does not hold the published values of optdigits"):
        assert_same(load(dataset, tmp_path, True), changed)


def test_folder_that_cannot_be_written_is_named(small_digits, server, tmp_path):
    dataset, files, _ = small_digits
    for name, content in files.items():
        server.offer(name, content)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DatasetNotAvailable, match="cannot be written") as caught:
        load(dataset, tmp_path / "file" / "home", True)
    assert str(tmp_path / "file" / "home") in str(caught.value)
