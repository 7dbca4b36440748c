"""What all scripts of this folder set before anything is imported that reads it."""

import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the definitions are with the tests

# Small products on many threads wait more than they work. Read when numpy is imported.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Read when scipy is imported: scikit-learn hands arrays of other libraries on only with it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Arrow's own allocator keeps pages that it may need again, which cannot be told from a leak.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# What an estimator may warn of: the data are at fault, not the code.
EXPECTED = (
    "The cut at n_components",
    "The subspace may explain up to",
    "X varies so much more in",
)


@contextmanager
def strictly(*, dispatch):
    """Run with arrays of other libraries, on request, and with every unexpected warning as an error.

    Only on request: with it, scikit-learn 1.6 refuses data frames.
    """
    import sklearn

    with sklearn.config_context(array_api_dispatch=dispatch), warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in EXPECTED:
            warnings.filterwarnings("ignore", message=text)
        yield
