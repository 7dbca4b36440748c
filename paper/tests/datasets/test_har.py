import dataclasses
import hashlib
import io
import zipfile

import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.datasets import DatasetNotAvailable, cache, fetch_har, har
from attenua_paper.datasets.raw import Member

ROWS = {"train": 3, "test": 2}
SUBJECTS = {"train": [1, 1, 30], "test": [2, 13]}
ACTIVITIES = {"train": [5, 1, 6], "test": [2, 3]}


def number_text(value):
    """Print as the publisher's program did: eight digits and an exponent of three, as in 1.0128170e+000."""
    mantissa, exponent = f"{value: .7e}".split("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:]:0>3}".rjust(16)


@pytest.fixture
def acceleration():
    rng = np.random.default_rng(0)
    # Sixteenths have few digits, so that the text is exact.
    return {split: rng.integers(-32, 33, (n, 128, 3)) / 16 for split, n in ROWS.items()}


@pytest.fixture
def files(acceleration):
    files = {}
    for split, windows in acceleration.items():
        for number, axis in enumerate("xyz"):
            lines = ["".join(map(number_text, window)) + "\r\n" for window in windows[:, :, number]]
            files[f"{split}/Inertial Signals/total_acc_{axis}_{split}.txt"] = "".join(lines).encode()
        files[f"{split}/subject_{split}.txt"] = "".join(f"{s}\n" for s in SUBJECTS[split]).encode()
        files[f"{split}/y_{split}.txt"] = "".join(f"{a}\n" for a in ACTIVITIES[split]).encode()
    return files


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"UCI HAR Dataset/{name}", content)
    return buffer.getvalue()


@pytest.fixture
def small_har(files, server, monkeypatch):
    """Put a data set of five windows, which the server offers as har.zip, in place of the published one."""
    members = tuple(Member(name, len(text), hashlib.sha256(text).hexdigest()) for name, text in files.items())
    archive = dataclasses.replace(har.HAR.raw[0], addresses=(server.address("har.zip"),), members=members)
    digest = cache.digest(har.parse(files))
    monkeypatch.setattr(har, "HAR", dataclasses.replace(har.HAR, raw=(archive,), digest=digest))


def test_parser_stacks_the_axes(files, acceleration):
    assert number_text(1.012817) == "  1.0128170e+000"
    assert number_text(-0.1232167) == " -1.2321670e-001"
    found = har.parse(files)
    cache.check_layout(found, har.HAR.layout)
    for split in ROWS:
        np.testing.assert_array_equal(found[f"total_acc_{split}"], acceleration[split])
        assert found[f"subject_{split}"].tolist() == SUBJECTS[split]
        assert found[f"y_{split}"].tolist() == ACTIVITIES[split]


def test_fetch_gives_magnitudes_and_axes(small_har, files, acceleration, server, tmp_path):
    server.offer("har.zip", zipped(files))
    data = fetch_har(data_home=tmp_path)
    for split, windows in acceleration.items():
        np.testing.assert_allclose(data[f"X_{split}"], np.linalg.norm(windows, axis=2), rtol=1e-14)
        assert data[f"X_{split}"].dtype == np.float64
        np.testing.assert_array_equal(data[f"total_acc_{split}"], windows)
        assert data[f"target_{split}"].tolist() == ACTIVITIES[split]
        assert data[f"groups_{split}"].tolist() == SUBJECTS[split]
    assert [data.target_names[target - 1] for target in data.target_test] == [
        "WALKING_UPSTAIRS",
        "WALKING_DOWNSTAIRS",
    ]
    assert len(data.feature_names) == 128
    assert "commercial" in data.DESCR
    assert [path.name for path in tmp_path.iterdir()] == ["har.npz"]


def test_archive_put_there_by_hand_is_used(small_har, files, server, tmp_path):
    (tmp_path / "UCI HAR Dataset.zip").write_bytes(zipped(files))
    assert fetch_har(data_home=tmp_path).X_train.shape == (3, 128)
    assert server.requests == []


@each(
    "changed, is_cut, message",
    [
        ({"test/y_test.txt": b"1\n1\n"}, False, r"member 'UCI HAR Dataset/test/y_test\.txt' has sha"),
        ({}, True, "To get it by hand"),
    ],
)
def test_a_wrong_member_or_half_an_archive_leaves_nothing(
    small_har, files, server, tmp_path, changed, is_cut, message
):
    server.offer("har.zip", zipped(files | changed), cut=is_cut)
    with pytest.raises(DatasetNotAvailable, match=message):
        fetch_har(data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []
