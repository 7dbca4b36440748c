"""Peak memory of whole fits, in a process of their own."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from attenua._data.row_moments import RowMoments

pytestmark = pytest.mark.slow

SPARSE = """
import numpy as np, scipy.sparse as sp
rng = np.random.default_rng(0)
n = 20_000
# Twelve topics of different sizes, each raising its own columns; one entry in a hundred is stored.
topic = rng.choice(12, n, p=np.arange(1, 13) / 78)
own = rng.integers(0, 500, (n, 50)) + 1_000 * topic[:, None]
columns = np.hstack([own, rng.integers(0, n, (n, 150))])
values = np.hstack([rng.exponential(4, own.shape), rng.exponential(1, (n, 150))])
X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(0, 200 * n + 1, 200)), shape=(n, n))
"""

WIDE = """
import numpy as np
rng = np.random.default_rng(0)
n, p = 300, 100_000
X = rng.standard_normal((n, p))
X *= rng.uniform(0.5, 1.5, p)
for _ in range(12):
    X += rng.standard_normal((n, 1)) * rng.standard_normal(p)
"""

# Peak memory does not depend on the number of strengths: their subspaces are used and dropped one by one.
FIT = """
import resource
from attenua import AttenuatedPCACV
model = AttenuatedPCACV(10, alphas=[0, 0.5, 1]).fit(X)
assert model.components_.shape == (10, X.shape[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize(("data", "gigabytes"), [(SPARSE, 4), (WIDE, 3)], ids=["sparse", "wide"])
def test_peak_memory_with_the_data_and_the_interpreter(data, gigabytes):
    done = subprocess.run([sys.executable, "-c", data + FIT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < gigabytes * 1e9


def test_the_norm_of_a_sparse_covariance_takes_little_memory():
    n, p = 4_100, 4_000
    rows = sp.random(n, p, density=5e-4, random_state=0, format="csr")
    moments = RowMoments(rows, np.ones(n), np.zeros(p))
    tracemalloc.start()
    try:
        squared = moments.squared_norm
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * p**2 / 3  # np.eye(p) alone is three times that
    mean = np.asarray(rows.mean(axis=0)).ravel()
    S = (rows.T @ rows).toarray() / n - np.outer(mean, mean)
    assert squared == pytest.approx(np.sum(S**2), rel=1e-9)
