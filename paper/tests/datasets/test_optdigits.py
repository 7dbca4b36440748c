import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.datasets import fetch_optdigits, optdigits


def test_parser_splits_pixels_from_digits(small_digits):
    _, files, arrays = small_digits
    found = optdigits.parse(files)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == np.uint8
        np.testing.assert_array_equal(found[name], array)


@each("line", [b"1,2,3\n1,2\n", b"1,2,x\n", b"1,2,-3\n", b"1,2,300\n"])
def test_parser_refuses_what_is_not_a_table_of_bytes(line):
    with pytest.raises(ValueError, match=r"column|convert|range"):
        optdigits.parse({"optdigits.tra": line, "optdigits.tes": line})


def test_fetch_gives_both_parts(small_digits, server, tmp_path, monkeypatch):
    dataset, files, arrays = small_digits
    monkeypatch.setattr(optdigits, "OPTDIGITS", dataset)
    for name, content in files.items():
        server.offer(name, content)
    data = fetch_optdigits(data_home=tmp_path)
    np.testing.assert_array_equal(data.X_train, arrays["train"])
    np.testing.assert_array_equal(data.X_test, arrays["test"])
    assert data.X_train.dtype == data.X_test.dtype == np.float64
    np.testing.assert_array_equal(data.target_train, [4, 0, 9])
    np.testing.assert_array_equal(data.target_test, [7, 1])
    assert data.groups_train is None
    assert data.groups_test is None
    assert data.feature_names[:2] + data.feature_names[-1:] == ["pixel_0_0", "pixel_0_1", "pixel_7_7"]
    assert len(data.feature_names) == 64
    assert "CC BY 4.0" in data.DESCR
