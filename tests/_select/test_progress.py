"""A fit tells how far it has come: corrections, blocks, strengths and splits are parts of the whole."""

import numpy as np
import pytest

from attenua import (
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    learning_curve,
    stability,
)
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


@pytest.mark.parametrize(
    ("function", "said"),
    [(stability, "sample 20 of 20"), (learning_curve, "50.0% of other rows")],
)
def test_functions_that_fit_many_samples_tell_it_too(function, said):
    told = []
    with telling(lambda words, done: told.append((words, done))):
        options = {"n_boot": 20} if function is stability else {}
        function(spiked_rows(40, 6), CorrectedPCA(1), random_state=0, **options)
    assert said in [words for words, _ in told]
    done = [part for _, part in told]
    assert done == sorted(done)
    assert done[0] == 0
    assert 0.9 < done[-1] < 1
