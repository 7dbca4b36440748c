"""Threads, processes, forks and interrupts: the same answers, and BLAS left with the threads it had."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._data import blas, sums
from attenua._data.blas import blas_limit, in_order
from attenua._select import comparison
from tests.helpers import spiked_rows

MODELS = [
    AttenuatedPCA(3, alpha=0.4),
    AttenuatedPCACV(3, alphas=[0, 0.5, 1]),
    AttenuatedPCACV(3, alphas=[0, 0.5, 1], n_jobs=2),
    CorrectedPCA(3, tempering=0.5, damping=0.2),
    CorrectedPCA(3, row_tempering=0.5, attenuation=0.3),
    CorrectedPCACV(3, corrections=["tempering", "attenuation"]),
    CorrectedPCA(3, smoothing=0.8, neighbours="line"),
]
SHAPES = [(40, 6), (60, 140)]  # decomposed whole, and iterated


class FakeBlas:
    """A library of eight threads, on a machine of any size."""

    def __init__(self, threads=8):
        self.num_threads = threads
        self.lib_controllers = [self]

    def set_num_threads(self, threads):
        self.num_threads = threads


@pytest.fixture
def fake_blas(monkeypatch):
    fake = FakeBlas()
    monkeypatch.setattr(blas, "_blas", lambda: fake)
    return fake


# --- the same answers ---------------------------------------------------------------------------------------


def fitted(model, X):
    model = clone(model).fit(X)
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray | float)}


def assert_bitwise_equal(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.fixture(scope="module")
def jobs():
    """Every estimator on rows of its own, with what it finds when nothing else runs."""
    pairs = [(model, spiked_rows(*shape, seed=n)) for shape in SHAPES for n, model in enumerate(MODELS)]
    return [(model, X, fitted(model, X)) for model, X in pairs]


def test_eight_threads_with_different_estimators(jobs):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda job: fitted(*job[:2]), jobs * 2))
    for one, (_, _, expected) in zip(found, jobs * 2, strict=True):
        assert_bitwise_equal(one, expected)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_workers_of_joblib(jobs, backend):
    found = joblib.Parallel(2, backend=backend)(joblib.delayed(fitted)(model, X) for model, X, _ in jobs)
    for one, (_, _, expected) in zip(found, jobs, strict=True):
        assert_bitwise_equal(one, expected)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_grid_search_around_workers_of_its_own(backend):
    X = spiked_rows(60, 8)
    pipeline = make_pipeline(StandardScaler(), AttenuatedPCACV(2, alphas=[0, 0.5, 1], n_jobs=2))
    grid = {"attenuatedpcacv__n_components": [1, 2, 3]}
    expected = GridSearchCV(pipeline.set_params(attenuatedpcacv__n_jobs=None), grid).fit(X)
    with joblib.parallel_backend(backend):
        found = GridSearchCV(pipeline.set_params(attenuatedpcacv__n_jobs=2), grid, n_jobs=2).fit(X)
    assert found.best_params_ == expected.best_params_
    scores = [search.cv_results_["mean_test_score"] for search in (found, expected)]
    np.testing.assert_array_equal(*scores)


# --- limits of BLAS -----------------------------------------------------------------------------------------


def test_nested_limits_of_blas(fake_blas):
    with blas_limit(3):
        assert fake_blas.num_threads == 3
        with blas_limit(1):
            assert fake_blas.num_threads == 1
            with blas_limit(5):
                assert fake_blas.num_threads == 1
        assert fake_blas.num_threads == 3
        with pytest.raises(KeyError), blas_limit(2):
            raise KeyError
        assert fake_blas.num_threads == 3
    assert fake_blas.num_threads == 8


def test_workers_leave_the_filters_of_warnings_alone(monkeypatch):
    """All threads share them: two workers that put them back in turn would leave each other's."""
    entered, enter = [], warnings.catch_warnings.__enter__

    def noted(self):
        entered.append(threading.current_thread())
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", noted)
    with joblib.parallel_config("threading"):
        AttenuatedPCACV(2, n_jobs=2).fit(spiked_rows(30, 8))
    assert set(entered) <= {threading.main_thread()}


def test_workers_have_the_settings_of_scikit_learn(monkeypatch):
    found, judge = [], comparison.judge_subspaces

    def noted(*job, **how):
        found.append((threading.current_thread(), sklearn.get_config()["assume_finite"]))
        return judge(*job, **how)

    monkeypatch.setattr(comparison, "judge_subspaces", noted)
    with joblib.parallel_config("threading"), sklearn.config_context(assume_finite=True):
        AttenuatedPCACV(2, n_jobs=2).fit(spiked_rows(30, 8))
    assert {thread for thread, _ in found} - {threading.main_thread()}
    assert all(assumed for _, assumed in found)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_limits_of_several_threads_that_leave_in_any_order(fake_blas, order):
    limits = (4, 2, 3)
    entered, may_leave = ([threading.Event() for _ in limits] for _ in range(2))

    def work(number):
        with blas_limit(limits[number]):
            entered[number].set()
            may_leave[number].wait(10)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for number, worker in enumerate(workers):
        worker.start()
        assert entered[number].wait(10)
        assert fake_blas.num_threads == min(limits[: number + 1])
    inside = set(range(3))
    for number in order:
        may_leave[number].set()
        workers[number].join(10)
        inside.remove(number)
        assert fake_blas.num_threads == min((limits[i] for i in inside), default=8)


def test_a_limit_that_was_not_needed_changes_nothing(fake_blas):
    with blas_limit(2):
        pass
    fake_blas.set_num_threads(3)  # by somebody else
    with blas_limit(5):
        assert fake_blas.num_threads == 3
    assert fake_blas.num_threads == 3


def real_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.skipif(not real_threads(), reason="this BLAS cannot be limited")
@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_of_the_user_holds_inside_and_after_a_limit_of_another_thread(limit):
    """Also where threadpoolctl lets only the user's thread set the threads."""
    before, found = real_threads(), []

    def work():
        with blas_limit(limit):
            found.append(real_threads())

    with threadpool_limits(2, user_api="blas"):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(work).result(10)
        assert found == [{min(limit, 2)}]
        assert real_threads() == {2}
    assert real_threads() == before


# --- interrupts ---------------------------------------------------------------------------------------------


def interrupted_at(moment, function):
    """Call a function, with an interrupt at some moment of limiting; say whether that moment came.

    Python lets interrupts in where a function begins and where one of C's has returned.
    """
    left, files = moment, (blas.__file__, contextlib.__file__)

    def profile(frame, event, _):
        nonlocal left
        left -= event in ("call", "c_return") and frame.f_code.co_filename in files
        if left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        function()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return left <= 0


def limited(fake_blas):
    with blas_limit(4), blas_limit(2):
        assert fake_blas.num_threads == 2


def assert_no_limit_and_no_lock_is_left(fake_blas, moment):
    assert fake_blas.num_threads == 8, f"after moment {moment}"
    other = threading.Thread(target=limited, args=(fake_blas,), daemon=True)
    other.start()
    other.join(10)
    assert not other.is_alive(), f"hangs after moment {moment}"


def test_an_interrupt_at_any_moment_leaves_no_limit(fake_blas):
    moment = 1
    while interrupted_at(moment, lambda: limited(fake_blas)):
        assert_no_limit_and_no_lock_is_left(fake_blas, moment)
        moment += 1
    assert moment > 20


# Python only reports an interrupt that comes in what is called around a fork.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_an_interrupt_at_any_moment_of_a_fork_leaves_no_limit(fake_blas):
    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    moment, came = 1, True
    while came:
        with blas_limit(4):
            came = interrupted_at(moment, fork)
        assert_no_limit_and_no_lock_is_left(fake_blas, moment)
        moment += 1
    assert moment > 5


def test_an_exception_in_a_worker_leaves_no_limit(fake_blas):
    def fails(job):
        assert fake_blas.num_threads == 4
        if job == 3:
            raise KeyError(job)
        return job

    with pytest.raises(KeyError):
        list(in_order(fails, range(9), 2))
    assert fake_blas.num_threads == 8


@pytest.fixture
def many_limits(fake_blas, monkeypatch):
    """Fits that limit the threads often: in blocks of rows side by side, and in small eigenproblems."""
    monkeypatch.setattr(sums, "_PARALLEL_WORK", 0)
    monkeypatch.setattr(sums, "_PRODUCT_ROWS", 8)
    X = spiked_rows(60, 140)
    model = AttenuatedPCACV(3, alphas=[0, 0.5, 1])

    def fits():
        for _ in range(5):
            clone(model).fit(X)

    return fits


def has_all_threads(fake_blas):
    """Whether BLAS gets its threads back, once the workers of an interrupted fit have ended their jobs."""
    until = time.monotonic() + 20
    while fake_blas.num_threads != 8 and time.monotonic() < until:
        time.sleep(0.01)
    return fake_blas.num_threads == 8


# Python only reports an interrupt that comes while it finalises an object, such as the pool of a fit.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt")
def test_interrupts_at_random_moments_of_a_fit(fake_blas, many_limits):
    def interrupt(*_):
        raise KeyboardInterrupt

    random, interrupts = np.random.default_rng(0), 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in random.uniform(0.001, 0.03, 25):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                many_limits()
            except KeyboardInterrupt:
                interrupts += 1
            assert has_all_threads(fake_blas)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts >= 20  # one that comes while garbage is collected is lost


def test_interrupts_of_a_worker_thread_at_random_calls(fake_blas, many_limits):
    """Raised by a profiler: an exception sent to a thread may reach one that it has just started."""
    ended = []

    def work(calls):
        left = calls

        def profile(frame, event, _):
            nonlocal left
            left -= event == "call" and "attenua" in frame.f_code.co_filename
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(profile)
        try:
            many_limits()
        except KeyboardInterrupt:
            ended.append(calls)

    for calls in np.random.default_rng(1).integers(1, 400, 15).tolist():
        worker = threading.Thread(target=work, args=(calls,))
        worker.start()
        worker.join(60)
        assert ended[-1] == calls
        assert has_all_threads(fake_blas)


# --- forks --------------------------------------------------------------------------------------------------

# A child is forked by one thread while another fits, three times; every child says how many threads it has.
FORKS = """
import os, threading
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from attenua import AttenuatedPCACV
from attenua._data.blas import blas_limit

threadpool_limits(4, user_api="blas")  # also where there are fewer cores

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def threads_of_child():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with blas_limit(2):
            inside = threads()
        os.write(writing, repr((threads(), inside)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as found:
        text = found.read()
    os.waitpid(child, 0)
    return text

def fit():
    X = np.random.default_rng(0).standard_normal((60, 140))
    while not stop.is_set():
        AttenuatedPCACV(2, alphas=[0, 1]).fit(X)

def limited():
    with blas_limit(1):
        inside.set()
        stop.wait()

found, kept = set(), set()
for work in (limited, fit):
    stop, inside = threading.Event(), threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    if work is limited:
        inside.wait()
    for _ in range(3):
        found.add(threads_of_child())
        if work is limited:
            kept.add(repr(threads()))
    stop.set()
    thread.join()
print(found, kept, threads())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_during_a_fit_has_all_threads():
    """And the parent keeps its limit."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'({4}, {2})'} {'{1}'} {4}"


@pytest.mark.slow
@pytest.mark.parametrize("p", [80, 400])  # matrices that joblib sends as they are, and as read-only maps
def test_processes_give_what_threads_give(p):
    X = spiked_rows(60, p)
    model = AttenuatedPCACV(3, alphas=[0, 0.5, 1], n_jobs=2)
    threads = model.fit(X).cv_risk_folds_
    with joblib.parallel_config("loky"):
        processes = model.fit(X).cv_risk_folds_
    np.testing.assert_allclose(processes, threads, rtol=1e-12)
