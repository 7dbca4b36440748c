r"""Laws of rows :math:`x = \Sigma^{1/2} z` of mean zero, and rows drawn from them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from attenua_paper.theory.checks import Array, as_covariance


@dataclass(frozen=True)
class Law:
    r"""A law of :math:`z`, which has mean 0 and covariance I: its draws and its fourth moments.

    Attributes
    ----------
    draw : callable
        Draws :math:`z`: takes a numpy random state or generator and a shape (..., n, p).
    kurtosis : float
        Excess kurtosis :math:`E[z_l^4] - 3` of independent coordinates.
    tail : float
        :math:`E[\tau^2] / (E \tau)^2` of elliptical rows :math:`z = \sqrt\tau g` with Gaussian :math:`g`.
    """

    draw: Callable[[Any, Any], Array] = field(repr=False)
    kurtosis: float = 0.0
    tail: float = 1.0


# Independent coordinates, as in the paper's study beyond Gaussian rows.
LAWS = {
    "gaussian": Law(lambda random, size: random.standard_normal(size)),
    "t10": Law(lambda random, size: random.standard_t(10, size) * np.sqrt(8 / 10), kurtosis=1.0),
    "exponential": Law(lambda random, size: random.standard_exponential(size) - 1, kurtosis=6.0),
}


def student_t(degrees_of_freedom: float) -> Law:
    r"""Return the multivariate t law, scaled to covariance I: whole rows are long, not single coordinates.

    Parameters
    ----------
    degrees_of_freedom : float
        :math:`\nu > 4`, so that fourth moments exist.

    Examples
    --------
    >>> from attenua_paper.theory import student_t
    >>> student_t(8).tail
    1.5
    """
    df = degrees_of_freedom
    if not 4 < df < np.inf:
        raise ValueError(f"degrees_of_freedom must be finite and above 4; got {df!r}.")

    def draw(random: Any, size: Any) -> Array:
        lengths = np.sqrt((df - 2) / random.chisquare(df, (*size[:-1], 1)))
        return lengths * random.standard_normal(size)

    return Law(draw, tail=(df - 2) / (df - 4))


def as_law(law: str | Law) -> Law:
    """Return a law from its name, or a law as it is."""
    if isinstance(law, Law):
        return law
    if not isinstance(law, str) or law not in LAWS:
        raise ValueError(f"law must be a Law or one of {', '.join(map(repr, LAWS))}; got {law!r}.")
    return LAWS[law]


def square_root(covariance: Array) -> Array:
    """Return the symmetric square root; negative eigenvalues count as 0."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T


def draw_rows(
    covariance: ArrayLike, n: int, *, law: str | Law = "gaussian", random_state: Any = None
) -> Array:
    r"""Draw `n` rows of mean 0.

    Parameters
    ----------
    covariance : array-like of shape (p, p)
        :math:`\Sigma`; its symmetric square root is used, as in the paper.
    n : int
        Number of rows.
    law : {"gaussian", "t10", "exponential"} or Law, default="gaussian"
        A name: independent coordinates :math:`z` that are normal, Student t with 10 degrees of freedom scaled
        to variance 1, or exponential less 1. Or a law, as of :func:`student_t`.
    random_state : int, RandomState or None
        Seed or generator, as in scikit-learn.

    Returns
    -------
    ndarray of shape (n, p)

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import draw_rows, student_t
    >>> draw_rows(np.eye(3), 5, law=student_t(5), random_state=0).shape
    (5, 3)
    """
    return next(draw_batches(covariance, n, batch_size=n, law=law, random_state=random_state))


def draw_batches(
    covariance: ArrayLike,
    n: int,
    *,
    batch_size: int = 10_000,
    law: str | Law = "gaussian",
    random_state: Any = None,
) -> Iterator[Array]:
    """Return the rows of `draw_rows` in batches, one at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua_paper.theory import draw_batches
    >>> [len(batch) for batch in draw_batches(np.eye(3), 25, batch_size=10, random_state=0)]
    [10, 10, 5]
    """
    if n < 1 or batch_size < 1:
        raise ValueError(f"n and batch_size must be at least 1; got {n!r} and {batch_size!r}.")
    draw, root = as_law(law).draw, square_root(as_covariance(covariance))
    random = check_random_state(random_state)
    sizes = (min(batch_size, n - start) for start in range(0, n, batch_size))
    return (draw(random, (size, len(root))) @ root for size in sizes)
