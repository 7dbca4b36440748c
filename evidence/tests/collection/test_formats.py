"""Formats, on small files made here."""

import bz2
import lzma
import struct
import zlib

import numpy as np
import pandas as pd
import pytest

from attenua_evidence.collection.formats import _decompress, averaged, dat, nifti, numbers, numeric, ts


def test_numbers_series_and_classes(tmp_path):
    # Numbers and their means.
    np.testing.assert_allclose(averaged(np.arange(14.0).reshape(2, 7), 3), [[1, 4], [8, 11]])
    frame = pd.DataFrame({"a": [1, 2], "b": ["3", "x"], "c": [0.5, None]})
    np.testing.assert_array_equal(numbers(frame), [[1, 3, 0.5], [2, np.nan, np.nan]])
    np.testing.assert_array_equal(numeric(frame), [[1, 0.5], [2, np.nan]])
    # Series of both files.
    folder = tmp_path / "Some"
    folder.mkdir()
    (folder / "Some_TRAIN.ts").write_text("#about\n@data\n1,2:b\n3,4:a\n")
    (folder / "Some_TEST.ts").write_text("@Data\n5,6:b\n")
    rows, classes = ts(folder)
    np.testing.assert_array_equal(rows, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(classes, ["b", "a", "b"])
    # Rows and classes of KEEL.
    (tmp_path / "a.dat").write_text("@relation a\n@data\n1, 2, x\n3, 4, y\n")
    rows, classes = dat(tmp_path / "a.dat")
    np.testing.assert_array_equal(rows, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(classes, ["x", "y"])


def volume(kind):
    """Return a NIfTI-1 file of 2 x 3 x 1 whole numbers, first axis fastest."""
    head = bytearray(352)
    struct.pack_into("<8h", head, 40, 3, 2, 3, 1, 0, 0, 0, 0)
    struct.pack_into("<2h", head, 70, kind, 16)
    struct.pack_into("<f", head, 108, 352.0)
    return bytes(head) + np.arange(6, dtype="<i2").tobytes()


def test_volume(tmp_path):
    (tmp_path / "a.nii").write_bytes(volume(4))
    np.testing.assert_array_equal(nifti(tmp_path / "a.nii")[:, :, 0], [[0, 2, 4], [1, 3, 5]])
    (tmp_path / "a.nii").write_bytes(volume(16))
    with pytest.raises(ValueError, match="type 16"):
        nifti(tmp_path / "a.nii")


def test_objects_of_a_lazy_load_database_are_decompressed():
    plain = b"some object " * 50
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
    assert _decompress(b"2" + bz2.compress(plain)) == plain
    assert _decompress(b"Z" + lzma.compress(plain, format=lzma.FORMAT_RAW, filters=filters)) == plain
    assert _decompress(zlib.compress(plain)) == plain
    assert _decompress(b"0" + plain) == plain
