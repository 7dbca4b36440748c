"""Windows of one image: no pixel may be in two groups."""

import numpy as np

from attenua_evidence.collection.places import find_corners, squares, tiles


def test_windows_and_squares():
    # No pixel is in windows of two tiles.
    corners = np.argwhere(np.ones((30, 40)))
    inside, tile = tiles(corners, 4, 12)
    owner = {}
    for (i, j), t in zip(corners[inside], tile[inside], strict=True):
        for pixel in np.ndindex(4, 4):
            assert owner.setdefault((i + pixel[0], j + pixel[1]), t) == t
    assert len(set(owner.values())) == 3 * 4
    # Squares do not overlap and have the part as group.
    image = np.arange(40 * 60, dtype=float).reshape(40, 60)
    rows, part = squares(image, 4, parts=5)
    np.testing.assert_array_equal(np.sort(rows.ravel()), image.ravel())
    np.testing.assert_array_equal(rows[1].reshape(4, 4), image[:4, 4:8])
    np.testing.assert_array_equal(np.bincount(part), np.full(25, 6))


def test_shuffled_windows_are_put_back_and_one_from_elsewhere_is_not():
    random = np.random.default_rng(0)
    image = random.integers(0, 50, (12, 9, 4)).astype(float)
    places = random.permutation(np.argwhere(np.ones((10, 7))))[:60]  # some are lost
    windows = np.array([image[i : i + 3, j : j + 3] for i, j in places] + [random.random((3, 3, 4))])
    found = find_corners(windows)
    assert (found[-1] == -1).all()
    joined = found[:-1, 0] >= 0
    assert joined.sum() > 50
    shift = found[:-1][joined] - places[joined]
    assert (shift == shift[0]).all()
