import numpy as np

from attenua_paper.studies.patches import cut_squares, draw_patches


def test_patches_and_squares_of_images():
    # Patches are squares of their images.
    images = np.arange(40 * 64).reshape(40, 8, 8)
    patches = draw_patches(images, np.random.default_rng(0)).reshape(40, 3, 3)
    corners = set()
    for image, patch in zip(images, patches, strict=True):
        top, left = np.argwhere(image == patch[0, 0])[0]
        np.testing.assert_array_equal(patch, image[top : top + 3, left : left + 3])
        corners.add((top, left))
    assert max(c[0] for c in corners) == max(c[1] for c in corners) == 5
    assert len(corners) > 15
    # Squares of an image do not overlap.
    image = np.arange(7 * 10).reshape(7, 10)
    squares = cut_squares(image, 3).reshape(2, 3, 3, 3)
    np.testing.assert_array_equal(squares[1, 2], image[3:6, 6:9])
    np.testing.assert_array_equal(np.unique(squares), np.unique(image[:6, :9]))
