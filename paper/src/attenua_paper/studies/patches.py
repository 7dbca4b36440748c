"""Image patches: small squares of images, as rows."""

import numpy as np
from numpy.typing import NDArray


def draw_patches(
    images: NDArray[np.generic], random: np.random.Generator, *, side: int = 3
) -> NDArray[np.float64]:
    """Cut one square patch from each image, at a corner drawn uniformly before its pixels are seen.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
        Grey images.
    random : Generator
        Draws the upper-left corners.
    side : int
        Side of the patches in pixels.

    Returns
    -------
    ndarray of shape (n_images, side * side)
        Flattened patches, in the order of the images.
    """
    n, height, width = images.shape
    top = random.integers(0, height - side + 1, n)
    left = random.integers(0, width - side + 1, n)
    offsets = np.arange(side)
    rows = (top[:, None] + offsets)[:, :, None]
    columns = (left[:, None] + offsets)[:, None, :]
    return images[np.arange(n)[:, None, None], rows, columns].reshape(n, -1).astype(float)


def cut_squares(image: NDArray[np.float64], side: int) -> NDArray[np.float64]:
    """Cut an image into squares that do not overlap.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        Grey image. What is left over at the lower and right edges is dropped.
    side : int
        Side of the squares in pixels.

    Returns
    -------
    ndarray of shape (n_squares, side * side)
        Flattened squares, from left to right and then down.
    """
    down, across = (length // side for length in image.shape)
    squares = image[: down * side, : across * side].reshape(down, side, across, side).swapaxes(1, 2)
    return squares.reshape(-1, side * side)
