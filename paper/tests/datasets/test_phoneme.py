import dataclasses
import hashlib

import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.datasets import cache, fetch_phoneme, phoneme
from attenua_paper.datasets.raw import TextFile, WrongContent

HEADER = "row.names," + ",".join(f"x.{number}" for number in range(1, 257)) + ",g,speaker\n"
ROWS = [
    (1, "sh", "train.dr1.mcpm0.sa1"),
    (2, "dcl", "test.dr1.mdab0.sa1"),  # not in the published order, so that the split is by name
    (3, "aa", "train.dr8.mkdd0.sa1"),
]
VALUES = np.round(np.random.default_rng(0).normal(10, 9, (3, 256)), 5)


@pytest.fixture
def content():
    lines = [
        f"{number}," + ",".join(f"{value:9.5f}" for value in values) + f",{sound},{speaker}\n"
        for (number, sound, speaker), values in zip(ROWS, VALUES, strict=True)
    ]
    return (HEADER + "".join(lines)).encode()


@pytest.fixture
def small_phoneme(content, server):
    raw = TextFile("phoneme.data", (server.address("phoneme.data"),), hashlib.sha256(content).hexdigest())
    digest = cache.digest(phoneme.parse({"phoneme.data": content}))
    return dataclasses.replace(phoneme.PHONEME, raw=(raw,), digest=digest)


def test_parser_splits_by_speaker_string(content):
    found = phoneme.parse({"phoneme.data": content})
    cache.check_layout(found, phoneme.PHONEME.layout)
    np.testing.assert_array_equal(found["X_train"], VALUES[[0, 2]])  # exact: five decimals
    np.testing.assert_array_equal(found["X_test"], VALUES[[1]])
    assert found["y_train"].tolist() == ["sh", "aa"]
    assert found["y_test"].tolist() == ["dcl"]
    assert found["speaker_train"].tolist() == ["train.dr1.mcpm0.sa1", "train.dr8.mkdd0.sa1"]
    assert found["speaker_test"].tolist() == ["test.dr1.mdab0.sa1"]
    assert found["row_train"].tolist() == [1, 3]
    assert found["row_test"].tolist() == [2]


def test_parser_refuses_another_header(content):
    with pytest.raises(WrongContent, match="header"):
        phoneme.parse({"phoneme.data": content.replace(b"x.17,", b"x.71,")})


@each("line_end", [b"\n", b"\r\n"])
def test_fetch_accepts_either_line_end(small_phoneme, content, server, tmp_path, monkeypatch, line_end):
    home = tmp_path / f"{len(line_end)} bytes"
    monkeypatch.setattr(phoneme, "PHONEME", small_phoneme)
    server.offer("phoneme.data", content.replace(b"\n", line_end))
    data = fetch_phoneme(data_home=home)
    np.testing.assert_array_equal(data.X_train, VALUES[[0, 2]])
    assert data.target_train.tolist() == ["sh", "aa"]
    assert data.target_test.tolist() == ["dcl"]
    assert data.groups_train.tolist() == ["mcpm0", "mkdd0"]
    assert data.groups_test.tolist() == ["mdab0"]
    assert data.feature_names[0] == "x.1"
    assert len(data.feature_names) == data.X_test.shape[1] == 256
    assert "Hastie" in data.DESCR
    # What was kept is the same as what was parsed.
    np.testing.assert_array_equal(fetch_phoneme(data_home=home).X_test, data.X_test)
