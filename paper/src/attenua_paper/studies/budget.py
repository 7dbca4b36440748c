"""The fixed-budget study: every method on the same few rows, folds and test set, many times over."""

import platform
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, KFold

import attenua
from attenua._data.checks import checked_random
from attenua._data.folds import Split, checked_groups, make_splits
from attenua.attenuation import AttenuatedPCA
from attenua_paper.studies.compare import Setting, chosen_together, fit_and_judge
from attenua_paper.studies.gain import excess_risk_removed
from attenua_paper.studies.hindsight import ALPHAS, HeldMoments, risks_on_test
from attenua_paper.studies.real_data import N_VERSIONS, Array, StudyData, study_data
from attenua_paper.studies.store import ResultStore
from attenua_paper.studies.study_methods import (
    BEST_STRENGTH,
    STUDY_METHODS,
    Subsample,
    estimators_of,
    that_apply,
)

RESULTS_FILE = "results.sqlite"
# Test risks closer than this part of PCA's differ by rounding only.
_ROUNDING = 1e-12

# (data, budget, version, subsample)
Key = tuple[str, int, int, int]


@dataclass(frozen=True)
class StudySettings:
    """Everything that decides the numbers of a study.

    Attributes
    ----------
    seed : int
        Draws patch locations and subsamples.
    budgets : tuple of int
        Numbers of fitting rows.
    n_folds : int
        Folds of the cross-validation; of whole speakers or subjects where there are any.
    n_repeats : int
        Repetitions of the folds, for the methods that choose by repeated folds; the first are the paper's.
    n_subsamples : int
        Subsamples for each version of a data set and budget.
    n_versions : dict
        Draws of patch locations for each data set; the keys are the data sets.
    methods : tuple of str
        Methods compared, by their names in ``attenua_paper.studies.study_methods.STUDY_METHODS``.
    """

    seed: int = 2026
    budgets: tuple[int, ...] = (64, 128)
    n_folds: int = 5
    n_repeats: int = 4
    n_subsamples: int = 100
    n_versions: dict[str, int] = field(default_factory=lambda: dict(N_VERSIONS))
    methods: tuple[str, ...] = STUDY_METHODS

    def subsamples(self) -> list[Key]:
        """Return the keys of all subsamples, the slow data sets first so that the end is even."""
        order = sorted(self.n_versions, key=["har", "phoneme", "optdigits"].index)
        return [
            (data, budget, version, subsample)
            for data in order
            for budget in self.budgets
            for version in range(self.n_versions[data])
            for subsample in range(self.n_subsamples)
        ]

    def stored(self) -> dict[str, Any]:
        """Return the settings as plain values, with the versions of what computes."""
        versions = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "attenua": attenua.__version__,
        }
        return {name: _plain(value) for name, value in asdict(self).items()} | {"versions": versions}


class WorkerLost(RuntimeError):
    """One of the processes that compute a study ended before its work."""


QUICK = StudySettings(n_subsamples=2, n_versions={"optdigits": 4, "phoneme": 1, "har": 1})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def run_study(
    settings: StudySettings,
    folder: Path,
    *,
    data_home: str | None = None,
    n_jobs: int | None = -1,
    begin: Callable[[int, int], Any] = lambda done, total: None,
    advance: Callable[[], Any] = lambda: None,
) -> Path:
    """Run what is not yet stored of a study, and return the file of results.

    Every subsample is stored whole as soon as it is finished, so an interrupted run goes on where it
    was. Its numbers depend on its key and the settings only, not on the number of jobs.

    Parameters
    ----------
    settings : StudySettings
        What to run.
    folder : path
        Where results are; a folder made with other settings is refused.
    data_home : str, optional
        Folder of the data sets.
    n_jobs : int
        Processes, each with one thread.
    begin : callable
        Told the number of stored and of all subsamples before the first.
    advance : callable
        Called after every finished subsample.

    Raises
    ------
    StoreError
        If the file of results cannot be used, for a reason that `ResultStore` names.
    WorkerLost
        If one of the processes is killed. What is stored stays.
    """
    joblib.effective_n_jobs(n_jobs)  # here and below: what fails does so before any work
    complete = {
        data: set(that_apply(settings.methods, study_data(data, 0, settings.seed, data_home).neighbours))
        for data in settings.n_versions
    }
    with closing(ResultStore(folder / RESULTS_FILE, settings.stored())) as store:
        stored, keys = store.stored(), settings.subsamples()
        left = [key for key in keys if stored.get(key) != complete[key[0]]]
        begin(len(keys) - len(left), len(keys))
        for key, records in _evaluated(left, settings, data_home, n_jobs):
            store.add(key, records)
            advance()
    return folder / RESULTS_FILE


def _evaluated(
    keys: list[Key], settings: StudySettings, data_home: str | None, n_jobs: int | None
) -> Iterator[tuple[Key, list[dict[str, Any]]]]:
    # One thread in each process: the matrices are small, and results must not depend on the threads.
    # Workers whose study was killed see no more work, and end after some seconds instead of minutes.
    with joblib.parallel_config(
        "loky", inner_max_num_threads=1, idle_worker_timeout=10, initializer=_leave_interrupts_to_the_study
    ):
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        try:
            yield from parallel(joblib.delayed(evaluate)(key, settings, data_home) for key in keys)
        except BrokenProcessPool as error:
            raise WorkerLost(
                "a process of the study was killed, or ran out of memory. What is stored stays, and the same "
                "study goes on from there."
            ) from error


def _leave_interrupts_to_the_study() -> None:
    # Ctrl-C goes to all processes. The study ends its workers; by themselves they would print tracebacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def draw_subsample(
    key: Key, seed: int, data_home: str | None = None
) -> tuple[StudyData, Array, NDArray[Any] | None]:
    """Return the data set of a subsample, its rows, and the labels of their groups."""
    data, budget, version, subsample = key
    full = study_data(data, version, seed, data_home)
    # The name as bytes: the stream depends on the key alone, not on the other cells.
    random = np.random.default_rng([seed, *data.encode(), budget, version, subsample])
    rows = random.choice(len(full.X_train), budget, replace=False)
    return full, full.X_train[rows], None if full.row_groups is None else full.row_groups[rows]


def evaluate(
    key: Key, settings: StudySettings, data_home: str | None = None
) -> tuple[Key, list[dict[str, Any]]]:
    """Fit all methods that apply to one subsample and judge them on the official test set."""
    data, budget, version, _ = key
    full, X, groups = draw_subsample(key, settings.seed, data_home)
    # Without groups, consecutive fifths of the subsample, whose rows come in a random order; the repetitions
    # after them are shuffled.
    splits = repeated_splits(settings.n_folds, budget, groups, settings.n_repeats)
    test = held_moments(data, version, settings.seed, data_home)
    judge = _Judge(AttenuatedPCA(full.rank, alpha=0.0).fit(X), test)
    subsample = Subsample(
        Setting(full.rank, splits[: settings.n_folds], full.column_groups),
        Setting(full.rank, splits, full.column_groups),
        full.neighbours,
        test,
    )
    records = [
        _record(name, estimator, X, judge)
        for name, estimator in estimators_of(settings.methods, subsample).items()
    ]
    if BEST_STRENGTH in settings.methods:
        records.append(_best_strength(X, full.rank, test))
    return key, records


@lru_cache(maxsize=16)
def held_moments(name: str, version: int, seed: int, data_home: str | None = None) -> HeldMoments:
    """Return the moments of the test rows of one version of a data set."""
    return HeldMoments.of(study_data(name, version, seed, data_home).X_test)


class _Judge:
    """Test risks from the moments of the test rows, which all subsamples of a data set share."""

    def __init__(self, pca: AttenuatedPCA, test: HeldMoments):
        self._test, self._reference = test, test.references[pca.n_components_]
        self._pca_risk = test.risk(pca.components_.T, pca.mean_)

    def __call__(self, model: Any) -> dict[str, float]:
        risk = self._test.risk(model.components_.T, model.mean_)
        if abs(risk - self._pca_risk) <= _ROUNDING * self._pca_risk:
            risk = self._pca_risk  # PCA itself gains 0, not a rounding error
        removed = excess_risk_removed(self._pca_risk, risk, self._reference)
        return {"test_risk": risk, "excess_removed": float(removed)}


def _record(name: str, estimator: Any, X: Array, judge: Callable[[Any], dict[str, float]]) -> dict[str, Any]:
    model, found = fit_and_judge(name, estimator, X, judge)
    record = {
        "method": name,
        "test_risk": found["test_risk"],
        "gain": found["excess_removed"],
        "strength": None if np.isnan(found["strength"]) else found["strength"],
        "fallback": int(found["fallback"]),
        "capped": int(not model.converged_) if hasattr(model, "converged_") else None,
        "seconds": found["seconds"],
    }
    if hasattr(model, "choices_"):
        record |= chosen_together(model) if hasattr(model, "steps_") else model.choices_[0]
        record["fallback"] = int(not any(any(choice.values()) for choice in model.choices_))
    return record


def _best_strength(X: Array, rank: int, test: HeldMoments) -> dict[str, Any]:
    """Return what the best strength of attenuation would have done on the test rows."""
    began = time.perf_counter()
    risks = risks_on_test(X, rank, test)
    seconds = time.perf_counter() - began
    best = int(np.argmin(risks))
    return {
        "method": BEST_STRENGTH,
        "test_risk": float(risks[best]),
        "gain": float(excess_risk_removed(risks[0], risks[best], test.references[rank])),
        "strength": float(ALPHAS[best]),
        "fallback": int(best == 0),
        "capped": None,
        "seconds": seconds,
    }


def repeated_splits(
    n_folds: int, n_samples: int, groups: ArrayLike | None, n_repeats: int, random_state: Any = 0
) -> list[Split]:
    """Return folds of consecutive rows, and after them shuffled ones: fewer repetitions are a part of more.

    The consecutive folds count as one of the repetitions.
    """
    splits = make_splits(KFold(n_folds) if groups is None else n_folds, n_samples, groups=groups)
    random, labels = checked_random(random_state), checked_groups(groups, n_samples)
    shuffled = KFold if groups is None else GroupKFold
    for _ in range(n_repeats - 1):
        seed, _ = random.randint(np.iinfo(np.int32).max, size=2)  # the published folds leave out every other
        folds = shuffled(n_folds, shuffle=True, random_state=int(seed))
        splits += folds.split(np.empty(n_samples), groups=labels)
    return splits
