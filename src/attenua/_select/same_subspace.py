"""Whether two subspaces are the same."""

from typing import Any

import numpy as np

from attenua._data.namespace import to_host

# Sines of angles below this say nothing: reconstructions then agree to twelve figures.
_LARGEST_SINE = 1e-6


def same_subspace(U: Any, V: Any) -> bool:
    r"""Return whether two subspaces agree: whether the largest sine of their principal angles is below 1e-6.

    The sines are the singular values of :math:`V - U U^\top V`. Cosines, those of :math:`U^\top V`, would not
    tell angles below 1e-8 from 0.

    Parameters
    ----------
    U, V : arrays of shape (n_features, rank)
        Orthonormal columns, of any library.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua._select.same_subspace import same_subspace
    >>> axes = np.eye(3)
    >>> same_subspace(axes[:, :2], axes[:, [1, 0]]), same_subspace(axes[:, :2], axes[:, 1:])
    (True, False)
    """
    outside = V - U @ (U.T @ V)
    # Of the small matrix, whose eigenvalues are squared sines: what is 1e-6 in one is 1e-12 in the other.
    squares = np.linalg.eigvalsh(to_host(outside.T @ outside))
    return bool(squares[-1] < _LARGEST_SINE**2)
