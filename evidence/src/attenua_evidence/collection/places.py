"""Groups for windows that are cut out of one image, so that no pixel is on both sides of a split.

Windows that overlap share pixels, so a random split of windows does not separate them. Here the image is
cut into tiles, only windows that lie inside one tile are kept, and the tile is the group.
"""

from collections import deque

import numpy as np

from attenua_paper.studies.patches import cut_squares


def squares(image: np.ndarray, side: int, parts: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Cut an image into squares that do not overlap, and into ``parts * parts`` tiles of whole squares.

    Parameters
    ----------
    image : ndarray of shape (height, width)
    side : int
        Side of a square, in pixels. What is left over at the edges is dropped.
    parts : int, default=5
        Tiles down, and as many across.

    Returns
    -------
    rows : ndarray of shape (n_squares, side * side)
    tile : ndarray of shape (n_squares,)
    """
    n_down, n_across = image.shape[0] // side, image.shape[1] // side
    down, across = np.indices((n_down, n_across)).reshape(2, -1)
    tile = (down * parts // n_down) * parts + across * parts // n_across
    return cut_squares(image, side), tile


def tiles(corners: np.ndarray, window: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which windows lie inside one tile, and the tile of each window.

    Parameters
    ----------
    corners : ndarray of shape (n_windows, 2)
        Row and column of the upper left pixel of each window, from 0.
    window, side : int
        Sides of a window and of a tile, in pixels.

    Returns
    -------
    inside : ndarray of bool
    tile : ndarray of int
    """
    first, last = corners // side, (corners + window - 1) // side
    return (first == last).all(1), first[:, 0] * (first[:, 1].max() + 1) + first[:, 1]


def random_corners(shape: tuple[int, int], window: int, count: int) -> np.ndarray:
    """Return upper left pixels drawn at random, rows first."""
    random = np.random.RandomState(0)
    i = random.randint(0, shape[0] - window, count)
    j = random.randint(0, shape[1] - window, count)
    return np.column_stack([i, j])


def find_corners(windows: np.ndarray) -> np.ndarray:
    """Find the places of 3 x 3 windows of one image from what they overlap.

    Two windows are neighbours if two thirds of them are equal, pixel for pixel in all bands. Places follow
    from neighbour to neighbour. Windows that are not connected with the largest part have place -1.

    Parameters
    ----------
    windows : ndarray of shape (n_windows, 3, 3, n_bands)

    Returns
    -------
    ndarray of shape (n_windows, 2)
        Row and column of the upper left pixel.
    """
    links = _links(windows)
    best: dict[int, np.ndarray] = {}
    seen = np.zeros(len(windows), bool)
    for start in range(len(windows)):
        if not seen[start]:
            places = _walk(start, links)
            seen[list(places)] = True
            best = max(best, places, key=len)
    corners = np.full((len(windows), 2), -1)
    found = np.array(list(best.values()))
    corners[list(best)] = found - found.min(axis=0)
    return corners


def _links(windows: np.ndarray) -> list[list[tuple[int, np.ndarray]]]:
    """Return the neighbours of each window, each with the step to it."""
    links: list[list[tuple[int, np.ndarray]]] = [[] for _ in windows]
    for step, ahead, behind in (
        (np.array([0, 1]), windows[:, :, 1:], windows[:, :, :2]),
        (np.array([1, 0]), windows[:, 1:], windows[:, :2]),
    ):
        where: dict[bytes, list[int]] = {}
        for j, part in enumerate(behind):
            where.setdefault(part.tobytes(), []).append(j)
        for i, part in enumerate(ahead):
            for j in where.get(part.tobytes(), ()):
                links[i].append((j, step))
                links[j].append((i, -step))
    return links


def _walk(start: int, links: list[list[tuple[int, np.ndarray]]]) -> dict[int, np.ndarray]:
    """Return the places of all windows that are connected with the first one, which is at 0, 0."""
    places, queue = {start: np.zeros(2, int)}, deque([start])
    while queue:
        i = queue.popleft()
        for j, step in links[i]:
            if j not in places:
                places[j] = places[i] + step
                queue.append(j)
            elif (places[j] != places[i] + step).any():
                raise ValueError(
                    "some windows occur at more than one place, so their positions cannot be recovered"
                )
    return places
