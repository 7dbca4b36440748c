"""The data sets themselves, where they are found: see conftest.py."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_digits

from attenua_paper.datasets import (
    cache,
    fetch_har,
    fetch_optdigits,
    fetch_phoneme,
    optdigits,
    phoneme,
    status,
)
from attenua_paper.datasets.dataset import load


def test_all_are_present_and_checked(published_data):
    assert [record.checked for record in status(published_data)] == [True, True, True]


def test_optdigits(published_data):
    data = fetch_optdigits(data_home=published_data)
    assert data.X_train.shape == (3823, 64)
    assert data.target_train.shape == (3823,)
    assert np.bincount(data.target_train).tolist() == [376, 389, 380, 389, 387, 376, 377, 387, 380, 382]
    pixels, digits = load_digits(return_X_y=True)
    np.testing.assert_array_equal(data.X_test, pixels)
    np.testing.assert_array_equal(data.target_test, digits)


def test_phoneme(published_data):
    data = fetch_phoneme(data_home=published_data)
    assert data.X_train.shape == (3340, 256)
    assert data.X_test.shape == (1169, 256)
    assert data.X_train.dtype == np.float64
    sounds, counts = np.unique(np.concatenate([data.target_train, data.target_test]), return_counts=True)
    assert dict(zip(sounds, counts, strict=True)) == {
        "aa": 695,
        "ao": 1022,
        "dcl": 757,
        "iy": 1163,
        "sh": 872,
    }
    assert len(data.groups_train) == 3340
    train, test = set(data.groups_train), set(data.groups_test)
    assert (len(train), len(test)) == (325, 112)
    assert train.isdisjoint(test)
    values = np.concatenate([data.X_train, data.X_test])
    assert (values.min(), values.max()) == (-8.17219, 26.91038)


def test_har(published_data):
    data = fetch_har(data_home=published_data)
    assert data.X_train.shape == (7352, 128)
    assert data.X_test.shape == (2947, 128)
    assert data.X_train.dtype == np.float64
    assert data.total_acc_train.shape == (7352, 128, 3)
    assert data.total_acc_train.dtype == np.float32
    assert (round(data.X_train.mean(), 3), round(data.X_test.mean(), 3)) == (1.032, 1.033)
    train, test = set(data.groups_train), set(data.groups_test)
    assert (len(train), len(test)) == (21, 9)
    assert train | test == set(range(1, 31))
    assert set(data.target_train) == set(data.target_test) == set(range(1, 7))


def test_optdigits_from_its_raw_files(published_data, server, tmp_path):
    arrays = cache.read(published_data / "optdigits.npz", optdigits.OPTDIGITS.layout)
    for name, split in (("optdigits.tra", "train"), ("optdigits.tes", "test")):
        rows = np.column_stack([arrays[split], arrays[f"{split}_labels"]])
        server.offer(name, "".join(",".join(map(str, row)) + "\n" for row in rows).encode())
    assert_download_gives_the_published_arrays(optdigits.OPTDIGITS, server, tmp_path)


@pytest.mark.slow
def test_phoneme_from_its_raw_file(published_data, server, tmp_path):
    arrays = cache.read(published_data / "phoneme.npz", phoneme.PHONEME.layout)
    lines = ["row.names," + ",".join(phoneme.FREQUENCIES) + ",g,speaker"]
    for split in ("train", "test"):
        columns = [arrays[f"{name}_{split}"] for name in ("row", "X", "y", "speaker")]
        for number, values, sound, speaker in zip(*columns, strict=True):
            lines.append(f"{number}," + ",".join(f"{value:9.5f}" for value in values) + f",{sound},{speaker}")
    server.offer("phoneme.data", ("\n".join(lines) + "\n").encode())
    assert_download_gives_the_published_arrays(phoneme.PHONEME, server, tmp_path)


def assert_download_gives_the_published_arrays(dataset, server, home):
    """Check with the true hashes: raw files, re-printed from the arrays, make the same cache file."""
    raw = tuple(dataclasses.replace(raw, addresses=(server.address(raw.name),)) for raw in dataset.raw)
    load(dataclasses.replace(dataset, raw=raw), home, True)
    kept = cache.read(home / f"{dataset.name}.npz", dataset.layout)
    assert cache.digest(kept) == dataset.digest
