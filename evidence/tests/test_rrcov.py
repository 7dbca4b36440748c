"""One R process for many fits."""

import os
import signal

import numpy as np
import pytest

from attenua_evidence.rrcov import RFitError, RrcovProcess

from .sets import has_rrcov, spiked


@pytest.fixture(autouse=True)
def _rrcov():
    """Asked when a test runs: starting R takes time, which collecting the tests should not."""
    if not has_rrcov():
        pytest.skip("no rrcov")


@pytest.mark.slow
def test_one_r_process_fits_all_and_survives_what_it_cannot_fit():
    with RrcovProcess() as process:
        X = spiked(40, 12)
        centre, components = process.fit("PcaHubert", X, 3)
        assert (centre.shape, components.shape) == ((12,), (3, 12))
        pid = process._process.pid
        with pytest.raises(RFitError, match="subscript out of bounds"):
            process.fit("PcaHubert", np.ones((40, 12)), 3)
        np.testing.assert_array_equal(process.fit("PcaHubert", X, 3)[1], components)
        assert process._process.pid == pid
    # The method must be known.
    with RrcovProcess() as process, pytest.raises(ValueError, match="method must be one of"):
        process.fit("PcaGrid", spiked(40, 12), 3)


@pytest.mark.slow
def test_r_is_stopped_at_the_limit_and_starts_again():
    with RrcovProcess() as process:
        X = spiked(200, 300)
        with pytest.raises(TimeoutError, match="within"):
            process.fit("PcaHubert", X, 3, limit=0.01)
        assert process.fit("PcaLocantore", X, 3)[1].shape == (3, 300)
        os.kill(process._process.pid, signal.SIGKILL)
        process._process.wait()
        assert process.fit("PcaLocantore", X, 3)[1].shape == (3, 300)
    assert process._process is None
