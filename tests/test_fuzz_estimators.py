"""The fuzzing of the estimators on its first seeds, and proof that it and the soak can fail."""

import csv

import numpy as np
import pytest

pytest.importorskip("polars", reason="polars is not installed")

import attenua
import estimators
import soak
from attenua._estimate.fitted import SUBSPACE
from checks import Failure
from containers import CONTAINERS, is_installed
from problems import Problem, draw
from tests.helpers import interleaved_splits, spiked_rows

# A few are for every save: none that imports torch, which takes seconds. A workflow runs more every night.
SEEDS = [
    pytest.param(seed, marks=() if seed < 8 and draw(seed).container != "torch" else pytest.mark.slow)
    for seed in range(20)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_seeds(seed, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    problem = draw(seed)
    if not is_installed(problem.container):
        pytest.skip(f"{CONTAINERS[problem.container].needs} is not installed")
    estimators.run(problem, tmp_path)


def test_seeds_reach_every_container_and_estimator():
    problems = [draw(seed) for seed in range(120)]
    assert {problem.container for problem in problems} == set(CONTAINERS)
    assert len({problem.estimator for problem in problems}) == 4


def test_a_seed_gives_the_same_problem():
    one, two = draw(5), draw(5)
    assert str(one) == str(two)
    np.testing.assert_array_equal(one.rows, two.rows)


SPLITS = interleaved_splits(20, 4)
OPTIONS = {
    "AttenuatedPCA": {"alpha": 0.5},
    "AttenuatedPCACV": {"alphas": [0.3, 0.8], "cv": 4},
    "CorrectedPCACV": {"corrections": ["attenuation"], "neighbours": None, "cv": 4},
}


def plain(estimator):
    """A problem of an estimator in an array, with cuts that the rows determine."""
    options = {"n_components": 2, "whiten": False, **OPTIONS[estimator]}
    splits = SPLITS if estimator.endswith("CV") else []
    rows = spiked_rows(20, 6, seed=29)  # every cut up to the fourth is clear, since several ranks judge
    return Problem(0, "C array", estimator, rows, 1.0, options, splits=splits)


def turned(model, by):
    """Turn the first component towards what the subspace leaves out."""
    W = model.components_
    outside = np.linalg.svd(W)[2][-1]
    model.components_ = np.vstack([np.cos(by) * W[:1] + np.sin(by) * outside, W[1:]])


WRONG = {
    "components_": lambda model: turned(model, 1e-8),
    "explained_variance_": lambda model: model.explained_variance_.__imul__(1 + 1e-9),
    "explained_variance_ratio_": lambda model: model.explained_variance_ratio_.__imul__(1 + 1e-9),
    "singular_values_": lambda model: model.singular_values_.__imul__(1 + 1e-9),
    "mean_": lambda model: model.mean_.__iadd__(1e-11),
    "noise_variance_": lambda model: setattr(model, "noise_variance_", model.noise_variance_ * (1 + 1e-8)),
}


def spoil(monkeypatch, estimator, change):
    """Let every fit of an estimator end with a change."""
    kind = getattr(attenua, estimator)
    fit = kind.fit

    def spoilt(self, *args, **given):
        change(fit(self, *args, **given))
        return self

    monkeypatch.setattr(kind, "fit", spoilt)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_attribute_is_found(what, monkeypatch, tmp_path):
    problem = plain("AttenuatedPCA")
    estimators.run(problem, tmp_path)
    spoil(monkeypatch, "AttenuatedPCA", WRONG[what])
    with pytest.raises(Failure, match=what):
        estimators.run(problem, tmp_path)


@pytest.mark.parametrize("estimator", ["AttenuatedPCACV", "CorrectedPCACV"])
def test_wrong_risks_are_found(estimator, monkeypatch, tmp_path):
    problem = plain(estimator)
    estimators.run(problem, tmp_path)
    spoil(monkeypatch, estimator, lambda model: model.cv_risk_folds_[0].__imul__(1 + 1e-9))
    with pytest.raises(Failure, match="risk"):
        estimators.run(problem, tmp_path)


@pytest.mark.parametrize("figure", ["gain", "standard_error", "weight", "best"])
def test_a_wrong_figure_of_a_step_is_found(figure, monkeypatch, tmp_path):
    problem = plain("CorrectedPCACV")
    assert not estimators.check(problem, tmp_path)  # rounding leaves nothing open

    def change(model):
        step = model.steps_[0]
        model.steps_ = [step._replace(**{figure: getattr(step, figure) + 1e-8})]

    spoil(monkeypatch, "CorrectedPCACV", change)
    with pytest.raises(Failure, match=f"{figure} of the step"):
        estimators.run(problem, tmp_path)


def test_a_wrong_choice_is_found(monkeypatch, tmp_path):
    problem = plain("AttenuatedPCACV")

    def another(model):
        other = model.alphas_[model.alphas_ != model.alpha_][0]
        fixed = attenua.AttenuatedPCA(2, alpha=other).fit(problem.rows)
        vars(model).update({name: vars(fixed)[name] for name in SUBSPACE}, alpha_=float(other))

    spoil(monkeypatch, "AttenuatedPCACV", another)
    with pytest.raises(Failure, match="alpha_"):
        estimators.run(problem, tmp_path)


def test_a_failure_is_shrunk_and_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(attenua.AttenuatedPCA, "reconstruction_error", lambda self, X: np.zeros(len(X)))
    drawn = ((seed, draw(seed)) for seed in range(1000))
    kind = ("AttenuatedPCA", "pandas", 1)  # one component leaves an error
    seed = next(s for s, p in drawn if (p.estimator, p.container, p.options["n_components"]) == kind)
    assert estimators.main(["--seed", str(seed), "--count", "1"]) == 1
    told = capsys.readouterr().out
    assert f"--seed {seed} --count 1" in told
    assert "reconstruction_error is off by" in told
    assert "* 1.0  # in a container: C array" in told
    assert "sample_weight" not in told.split("the simplest that fails")[1]


@pytest.mark.slow
def test_the_soak_of_some_seconds_records_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "MOST", (20, 8))
    out = tmp_path / "soak.csv"
    soak.main(["--minutes", "0.1", "--every", "1", "--out", str(out)])
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert tuple(rows[0]) == soak.FIELDS
    assert len(rows) > 1
    assert int(rows[-1]["fits"]) > int(rows[0]["fits"])
    # Tests before this one may have left workers that wait for more work.
    assert int(rows[-1]["children"]) <= int(rows[0]["children"])


def records(minutes=60, **changing):
    """Return what a soak would note each minute: noisy memory, and all else steady but for what is given."""
    steady = {
        "fits": 1,
        "resident": 400,
        "objects": 100_000,
        "python_threads": 1,
        "threads": 1,
        "files": 7,
        "children": 0,
    }
    columns = {name: np.full(minutes, value) for name, value in steady.items()}
    columns["megabytes"] = np.random.default_rng(0).normal(300, 5, minutes)
    columns |= {"seconds": 60.0 * np.arange(minutes), **changing}
    return [{name: values[minute] for name, values in columns.items()} for minute in range(minutes)]


def test_growth_is_told_from_chance():
    minute = np.arange(60)
    assert soak.grows(records()) == []
    (found,) = soak.grows(records(megabytes=300 + minute))
    assert found == "megabytes, by 60.0 an hour"
    (found,) = soak.grows(records(objects=100_000 + 100 * minute))
    assert found == "objects, by 6000.0 an hour"
    (found,) = soak.grows(records(files=np.where(minute > 50, 9, 7)))
    assert found == "files, from 7 to 9"
    assert "nothing can be said" in soak.grows(records(minutes=3))[0]
