"""Small matrices are not shared among threads: on a busy machine that is many times slower."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from attenua._data.blas import blas_threads
from attenua.theory import Gaussian, Population, cutoff, plug_in_report


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("this BLAS has one thread only")
        yield
        assert blas_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("worth_threads", "expected"), [(512, 1), (4, 2)])
def test_risks_of_small_matrices_take_one_thread(monkeypatch, worth_threads, expected):
    monkeypatch.setattr(cutoff, "_WORTH_THREADS", worth_threads)
    seen, of_gaussian = [], Gaussian.noise

    def watched(self, *arguments):
        seen.append(blas_threads())
        return of_gaussian(self, *arguments)

    monkeypatch.setattr(Gaussian, "noise", watched)
    Population(np.eye(4) + np.ones((4, 4)), n_components=1).excess_risk(50, attenuation=[0.0, 0.5])
    assert seen == [expected]  # the noise is kept for the second strength


@pytest.mark.usefixtures("two_threads")
def test_a_plug_in_report_takes_one_thread_from_beginning_to_end(monkeypatch):
    seen = []
    decompose = Population.__init__

    def watched(self, *arguments):
        seen.append(blas_threads())
        decompose(self, *arguments)

    monkeypatch.setattr(Population, "__init__", watched)
    plug_in_report(np.random.default_rng(0).standard_normal((30, 4)), 1, n_bootstrap=3, random_state=0)
    assert seen == [1] * 4
