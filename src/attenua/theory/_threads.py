"""How many threads BLAS may use on the many small matrices of the theory."""

from contextlib import AbstractContextManager, nullcontext

from attenua._data.blas import blas_limit

# From about here on a second thread makes one eigendecomposition faster (by a quarter at 512 columns). Below,
# it gains nothing, and on a shared machine it waits for its turn thousands of times.
_WORTH_THREADS = 512


def threads_for(n_features: int) -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread, where matrices have too few columns to share."""
    return blas_limit(1) if n_features < _WORTH_THREADS else nullcontext()
