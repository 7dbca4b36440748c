import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.datasets import cache

LAYOUT = {"train": ("float64", (2,)), "train_labels": ("uint8", ()), "test": ("float64", (2,))}


@pytest.fixture
def arrays():
    return {
        "train": np.arange(6.0).reshape(3, 2),
        "train_labels": np.array([1, 2, 3], dtype=np.uint8),
        "test": np.ones((1, 2)),
    }


def test_what_is_written_is_read_and_appears_only_when_complete(tmp_path, monkeypatch, arrays):
    path = tmp_path / "deep" / "down" / "small.npz"
    seen, save = [], np.savez_compressed

    def look_around(file, **arrays):
        save(file, **arrays)
        seen.append(path.exists())

    monkeypatch.setattr(np, "savez_compressed", look_around)
    cache.write(path, arrays)
    assert seen == [False]
    back = cache.read(path, LAYOUT)
    assert set(back) == set(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert [file.name for file in path.parent.iterdir()] == ["small.npz"]


@each("interruption", [KeyboardInterrupt, MemoryError, OSError])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, arrays, interruption):
    def half_a_file(file, **arrays):
        file.write(b"PK half a file")
        raise interruption

    old = tmp_path / "old.npz"
    cache.write(old, arrays)
    before = old.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(np, "savez_compressed", half_a_file)
        for path in (old, tmp_path / "new.npz"):
            with pytest.raises(interruption):
                cache.write(path, arrays)
    assert old.read_bytes() == before
    assert list(tmp_path.iterdir()) == [old]


@each("damage", ["empty", "half", "text", "folder", "pickle"])
def test_damaged_file_is_an_error(tmp_path, arrays, damage):
    path = tmp_path / f"{damage}.npz"
    cache.write(path, arrays)
    if damage == "half":
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "pickle":
        np.savez(path, **arrays | {"test": np.array([{}], dtype=object)})
    else:
        path.write_bytes({"empty": b"", "text": b"<html>Sign in</html>"}[damage])
    with pytest.raises(ValueError, match="it cannot be read"):
        cache.read(path, LAYOUT)


def test_a_small_file_of_many_zeros_is_refused_before_it_is_unpacked(tmp_path):
    cache.write(tmp_path / "zeros.npz", {"train": np.zeros(2**23 + 1)})
    assert (tmp_path / "zeros.npz").stat().st_size < 2**20
    with pytest.raises(ValueError, match="its members claim more than 67,108,864 bytes"):
        cache.read(tmp_path / "zeros.npz", LAYOUT)


@pytest.mark.slow
def test_no_flipped_byte_changes_the_values_unnoticed(tmp_path, arrays):
    path = tmp_path / "small.npz"
    cache.write(path, arrays)
    content = path.read_bytes()
    noticed = 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            found = cache.read(path, LAYOUT)
        except ValueError:
            noticed += 1
        else:  # a time stamp, for example: the values must be as before
            assert cache.digest(found) == cache.digest(arrays)
    assert noticed > len(content) / 2


@each(
    "change, message",
    [
        ({"extra": np.ones(1)}, "it holds the arrays"),
        ({"train": np.ones((3, 5))}, r"'train' is float64 of shape \(3, 5\)"),
        ({"train": np.ones((3, 2), dtype=np.float32)}, "'train' is float32"),
        ({"train_labels": np.array(1, dtype=np.uint8)}, "'train_labels' is uint8 of shape"),
        ({"train_labels": np.ones(4, dtype=np.uint8)}, "differ in their number of rows"),
    ],
)
def test_other_arrays_are_an_error(tmp_path, arrays, change, message):
    cache.write(tmp_path / "small.npz", arrays | change)
    with pytest.raises(ValueError, match=message):
        cache.read(tmp_path / "small.npz", LAYOUT)


def test_a_missing_array_is_an_error(arrays):
    del arrays["test"]
    with pytest.raises(ValueError, match="it holds the arrays"):
        cache.check_layout(arrays, LAYOUT)


def test_digest_sees_values_names_types_and_shapes_only(arrays):
    digest = cache.digest(arrays)
    columns_first = {name: np.asfortranarray(array) for name, array in reversed(arrays.items())}
    assert cache.digest(columns_first) == digest
    assert cache.digest(arrays | {"train": arrays["train"].astype(">f8")}) == digest
    others = [
        arrays | {"train": arrays["train"] + 1},
        arrays | {"train": arrays["train"].reshape(2, 3)},
        arrays | {"train": arrays["train"].astype(np.float32)},
        {name.upper(): array for name, array in arrays.items()},
    ]
    assert len({digest, *map(cache.digest, others)}) == 5
