"""Small data sets in the published layout."""

import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory):
    """A data home with small data sets in the published layout."""
    home = tmp_path_factory.mktemp("data")
    digits = load_digits()
    images, labels = digits.data.astype(np.uint8), digits.target.astype(np.uint8)
    np.savez(
        home / "optdigits.npz",
        train=images[:1000],
        train_labels=labels[:1000],
        test=images[1000:],
        test_labels=labels[1000:],
    )
    rng = np.random.default_rng(0)
    phoneme, har = {}, {}
    for split, n in (("train", 200), ("test", 80)):
        phoneme[f"X_{split}"] = rng.standard_normal((n, 10)) @ rng.standard_normal((10, 256))
        phoneme[f"y_{split}"] = np.full(n, "aa", dtype="U3")
        speakers = [f"{split}.dr1.{split}{i % 20}.sa1" for i in range(n)]
        phoneme[f"speaker_{split}"] = np.array(speakers, dtype="U19")
        phoneme[f"row_{split}"] = np.arange(n, dtype=np.int16)
        har[f"total_acc_{split}"] = rng.standard_normal((n, 128, 3)).astype(np.float32)
        har[f"subject_{split}"] = (np.arange(n) % 7).astype(np.uint8)
        har[f"y_{split}"] = np.ones(n, dtype=np.uint8)
    np.savez(home / "phoneme.npz", **phoneme)
    np.savez(home / "har.npz", **har)
    return str(home)
