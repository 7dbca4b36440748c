"""A fit tells how far it has come: corrections, blocks, strengths and splits are parts of the whole."""

import numpy as np
import pytest

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCACV
from attenua._select.progress import telling
from tests.helpers import spiked_rows


@pytest.mark.parametrize(
    ("estimator", "stages", "said"),
    [
        (CorrectedPCACV(1, nested=True), 2, "without block 3 of 5, damping, strength 0.1"),
        (CorrectedCovariance(nested=True), 2, "without block 5 of 5, damping, strength 0.1"),
        (AttenuatedPCACV(1), 1, ""),
    ],
)
def test_what_is_done_grows_from_0_to_1_in_every_stage(estimator, stages, said):
    told = []
    with telling(lambda words, done: told.append((words, done))):
        estimator.fit(spiked_rows(40, 6))
    words, done = [each[0] for each in told], np.array([each[1] for each in told])
    assert said in words
    # Where strengths fell and then rise from the start, a step goes back a little.
    assert (np.diff(done) < -0.02).sum() == stages - 1
    assert done[0] == 0
    assert 0.8 <= done[-1] < 1
    estimator.fit(spiked_rows(20, 6))
    assert len(told) == len(words)
