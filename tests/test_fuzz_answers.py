"""The fuzzing of missing cells, structured matrices and what is built on fits, on a few seeds."""

import numpy as np
import pytest

pytest.importorskip("polars", reason="polars is not installed")

import answers
import missing_cells
import structured
from attenua._data.missing import PartialSplits
from checks import Failure
from rounds import go
from tests.literal import holed_rows


def run(script, seed, count=1):
    return go(script.__name__, "", script.draw, script.check, [f"--seed={seed}", f"--count={count}"])


@pytest.mark.parametrize("seed", [24, 25, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6))])
def test_missing_cells(seed):
    assert run(missing_cells, seed) == 0


@pytest.mark.parametrize("seed", [1, 2, 5, 11])
def test_answers(seed):
    assert run(answers, seed) == 0


@pytest.mark.parametrize("seed", [36, pytest.param(21, marks=pytest.mark.slow)])
def test_leading_directions_that_the_covariance_hides_are_found(seed):
    assert run(structured, seed) == 0


def test_a_failure_says_how_to_see_it_again(monkeypatch, capsys):
    monkeypatch.setitem(answers.CHECKS, answers.draw(1).what, lambda problem, random: 1 / 0)
    assert run(answers, 1, count=5) == 1
    told = capsys.readouterr().out
    assert "python fuzz/answers.py --seed 1 --count 1" in told
    assert "1 failed" in told


def test_a_held_out_row_in_the_fit_that_judges_it_is_found(monkeypatch):
    options = {"cv": 4, "n_components": 1}
    problem = missing_cells.Problem(0, holed_rows(20, 4, 0.1)[1], "", "AttenuatedPCACV", options)
    missing_cells.check_held_out(problem, np.random.default_rng(0))
    monkeypatch.setattr(PartialSplits, "training_rows", lambda self, number: np.arange(20))
    with pytest.raises(Failure, match="a held-out row in the fit that judges it"):
        missing_cells.check_held_out(problem, np.random.default_rng(0))
