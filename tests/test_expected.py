"""What is expected of new rows, by a pilot on the rows at hand."""

import numpy as np
import pytest

from attenua import CorrectedPCACV, expected_gain
from tests.helpers import spiked_rows
from tests.literal import smooth_rows


def test_it_is_what_a_nested_fit_measures():
    X, groups = smooth_rows(40, 12), np.arange(40) // 2
    expected = expected_gain(X, 3, neighbours="line", groups=groups)
    model = CorrectedPCACV(3, neighbours="line", nested=True).fit(X, groups=groups)
    assert (expected.gain, expected.standard_error) == (model.left_out_gain_, model.left_out_gain_error_)
    assert str(expected) == expected.verdict == model.verdict_


def test_columns_are_scaled_as_in_a_fit():
    X = smooth_rows(40, 12) * np.r_[1e3, np.ones(11)]
    assert "consider scale=True" in expected_gain(X, 3).verdict
    model = CorrectedPCACV(3, scale=True, nested=True).fit(X)
    assert expected_gain(X, 3, scale=True).verdict == model.verdict_


def test_pca_gains_nothing():
    X = np.linalg.qr(spiked_rows(40, 4))[0]
    expected = expected_gain(X, 4)
    assert (expected.gain, expected.standard_error) == (0, 0)
    assert str(expected).startswith("The fit is ordinary PCA")


@pytest.mark.parametrize("bad", [0, 40, "3"])
def test_a_rank_that_cannot_be(bad):
    with pytest.raises(ValueError, match="n_components"):
        expected_gain(spiked_rows(40, 12), bad)
