import dataclasses

import numpy as np
import pytest

from attenua_paper.datasets import cache, presence, status


@pytest.fixture
def home(small_digits, tmp_path, monkeypatch):
    """A folder with the small digits as published, a damaged file, and one data set missing."""
    dataset, _, arrays = small_digits
    others = [dataclasses.replace(dataset, name=name) for name in ("damaged", "missing")]
    monkeypatch.setattr(presence, "DATASETS", (dataset, *others))
    cache.write(tmp_path / "optdigits.npz", arrays)
    (tmp_path / "damaged.npz").write_bytes(b"PK")
    return tmp_path


def test_status_tells_good_damaged_and_missing_apart(home, server):
    good, damaged, missing = status(home)
    assert (good.name, good.path, good.present, good.checked) == (
        "optdigits",
        home / "optdigits.npz",
        True,
        True,
    )
    assert good.n_bytes == (home / "optdigits.npz").stat().st_size > 0
    assert good.problem == ""
    assert (damaged.present, damaged.n_bytes, damaged.checked) == (True, 2, False)
    assert "cannot be read" in damaged.problem
    assert (missing.present, missing.n_bytes, missing.checked, missing.problem) == (False, 0, False, "")
    assert missing.path == home / "missing.npz"
    assert server.requests == []


def test_status_sees_values_that_were_not_published(home, small_digits):
    arrays = small_digits[2]
    cache.write(home / "optdigits.npz", arrays | {"test": arrays["test"] + np.uint8(1)})
    good = status(home)[0]
    assert good.present
    assert not good.checked
    assert good.problem == "it does not hold the published values"


def test_status_of_an_empty_folder_names_all_data_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENUA_DATA", str(tmp_path / "new"))
    records = status()
    assert [record.name for record in records] == ["optdigits", "phoneme", "har"]
    assert not any(record.present for record in records)
    assert all(record.page.startswith("https://") for record in records)
    assert not (tmp_path / "new").exists()
