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


def test_the_centre_and_the_divisor_by_hand():
    """About the validation rows' own mean, divided by their number less one.

    The rows (10, 0), (14, 2) and (12, 4) have the mean (12, 2), and squares about it of 8 and 8. PCA of the
    training rows keeps the first column, so that 8 / 2 is lost. The mean of the training rows, 0, is not
    used: about it, 20 / 2 would be lost.
    """
    train = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    path = attenuation_path(train, 1, alphas=[0.0])
    np.testing.assert_array_equal(path.mean, [0.0, 0.0])
    np.testing.assert_array_equal(path.components[0], [[1.0, 0.0]])
    chosen = select_on_validation(path, [[10.0, 0.0], [14.0, 2.0], [12.0, 4.0]])
    np.testing.assert_allclose(chosen.risk, [4.0], rtol=1e-15)
    assert (chosen.alpha, chosen.n_validation) == (0.0, 3)


def test_the_mean_of_the_training_rows_does_not_count():
    X, V = spiked_rows(50, 8), spiked_rows(70, 8, seed=1)
    path = attenuation_path(X, 2)
    far = select_on_validation(path, V + 100)
    np.testing.assert_allclose(far.risk, select_on_validation(path, V).risk, rtol=1e-9)


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


def test_another_object_than_a_path_is_named():
    X = spiked_rows(20, 5)
    with pytest.raises(TypeError, match="path must be an AttenuationPath of attenuation_path; got ndarray"):
        select_on_validation(X, X)
