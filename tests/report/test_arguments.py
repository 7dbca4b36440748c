"""What the report is given is checked, and the error names the argument."""

import pytest

from attenua import AttenuatedPCA
from attenua.report import report
from tests.helpers import spiked_rows

ROWS = spiked_rows(40, 6)


@pytest.mark.parametrize("shape", [(1, 2, 3), (-2, -3), (2.0, 3.0), "ab", 6])
def test_an_image_shape_that_is_none_is_refused(shape):
    with pytest.raises(ValueError, match="image_shape must be two whole numbers above 0"):
        report(AttenuatedPCA(2).fit(ROWS), ROWS, image_shape=shape)


@pytest.mark.parametrize("state", ["a", -1, None])
def test_a_random_state_that_is_no_seed_is_refused_before_the_work(state):
    with pytest.raises(ValueError, match="random_state must be an integer of at least 0"):
        report(None, None, random_state=state)
