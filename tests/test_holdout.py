"""A strength chosen on validation rows."""

import numpy as np
import pandas as pd
import pytest

from attenua import attenuation_path, select_on_validation
from tests.helpers import spiked_rows


def test_validation_risk_of_centred_rows():
    X, V = spiked_rows(50, 8), spiked_rows(70, 8, seed=1)
    path = attenuation_path(X, 2)
    chosen = select_on_validation(path, V)
    S = np.cov(V.T)
    expected = [np.trace(S) - np.trace(U @ S @ U.T) for U in path.components]
    np.testing.assert_allclose(chosen.risk, expected, rtol=1e-10)
    assert chosen.alpha == path.alphas[int(np.argmin(expected))]
    # Nothing is refitted: the subspace is the path's own.
    np.testing.assert_array_equal(chosen.components, path.components[int(np.argmin(expected))])


def test_validation_rows_with_other_columns():
    with pytest.raises(ValueError, match="X has 5 columns, but the path was fitted to 8"):
        select_on_validation(attenuation_path(spiked_rows(20, 8), 2), spiked_rows(20, 5))


def test_validation_rows_with_other_columns_are_refused():
    X = pd.DataFrame(spiked_rows(60, 4), columns=list("abcd"))
    path = attenuation_path(X[:30], 2)
    with pytest.raises(ValueError, match="column 'd' where the path was fitted to 'a'"):
        select_on_validation(path, X[30:][list("dcba")])
    whole = select_on_validation(path, X[30:])
    batches = select_on_validation(path, iter([X[30:45], X[45:]]))
    np.testing.assert_allclose(batches.risk, whole.risk)
