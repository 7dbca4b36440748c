"""Rows with a given covariance and law."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from attenua.theory._checks import INPUT_TOLERANCE, as_matrix
from attenua.theory.cutoff import Array
from attenua.theory.laws import as_law, square_root


def draw_rows(covariance: ArrayLike, n: int, *, law: Any = "gaussian", random_state: Any = None) -> Array:
    r"""Draw `n` rows of mean 0.

    Parameters
    ----------
    covariance : array-like of shape (p, p)
        :math:`\Sigma`; its symmetric square root is used, as in the paper.
    n : int
        Number of rows.
    law : {"gaussian", "t10", "exponential"} or law, default="gaussian"
        A name: rows :math:`\Sigma^{1/2} z` with independent coordinates z that are normal, Student t with 10
        degrees of freedom scaled to variance 1, or exponential centred to mean 0. Or a law, such as
        :class:`StudentT`.
    random_state : int, RandomState or None
        Seed or generator, as in scikit-learn.

    Returns
    -------
    ndarray of shape (n, p)

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import StudentT, draw_rows
    >>> draw_rows(np.eye(3), 5, law=StudentT(4), random_state=0).shape
    (5, 3)
    """
    return next(draw_batches(covariance, n, batch_size=n, law=law, random_state=random_state))


def draw_batches(
    covariance: ArrayLike,
    n: int,
    *,
    batch_size: int = 10_000,
    law: Any = "gaussian",
    random_state: Any = None,
) -> Iterator[Array]:
    """Yield the rows of `draw_rows` in batches of at most `batch_size`, never holding more than one.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import draw_batches
    >>> [len(batch) for batch in draw_batches(np.eye(3), 25, batch_size=10, random_state=0)]
    [10, 10, 5]
    """
    law = as_law(law)
    for name, count in (("n", n), ("batch_size", batch_size)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1; got {count!r}.")
    sigma = as_matrix(covariance, "covariance")
    values = np.linalg.eigvalsh(sigma)
    if values[0] < -INPUT_TOLERANCE * np.abs(values).max():
        raise ValueError(f"covariance must have no negative eigenvalue; its smallest is {values[0]:g}.")
    root, random = square_root(sigma), check_random_state(random_state)
    return (law.draw(random, min(batch_size, n - start), root) for start in range(0, n, batch_size))
