"""Attenuation of a matrix, by its entries."""

import numpy as np
import pytest

from attenua._correct.attenuation import attenuated_matrix
from tests.helpers import covariance, entries_of_t, uneven_rows

T = covariance(uneven_rows(40, 9))


@pytest.mark.parametrize("labels", [None, np.array([0, 1, 2, 0, 1, 2, 0, 1, 1])])
@pytest.mark.parametrize("strength", [0.2, 0.49, 1.0])
def test_entries(strength, labels):
    np.testing.assert_allclose(
        attenuated_matrix(T, strength, labels), entries_of_t(T, strength, 0, labels), rtol=1e-12, atol=1e-14
    )


def test_strength_1_leaves_a_hollow_matrix():
    np.testing.assert_array_equal(np.diag(attenuated_matrix(T, 1.0)), 0)
