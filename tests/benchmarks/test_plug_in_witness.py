"""The comparison of rules runs on few rows, and its plain search is that of CorrectedPCACV."""

import numpy as np
import pytest

import plug_in_witness
from attenua import CorrectedPCACV
from attenua._correct.registry import Strengths
from attenua.theory.laws import Gaussian
from plug_in_witness import PLAIN, RULES, Cell, PlugIn, Witness, choices, shrunk
from research.witness_data import LOADERS


@pytest.mark.parametrize("name", ["digit patches", "wine", "heavy tails"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_plain_search_is_the_estimators(name, seed):
    data = LOADERS[name]()
    X, _ = data.draw(32, np.random.default_rng(seed))
    cell = Cell(X, 3, data.neighbours)
    chosen = choices(cell, RULES[PLAIN])
    model = CorrectedPCACV(3, neighbours=data.neighbours).fit(X)
    assert list(chosen) == model.choices_
    U = cell.fitted(chosen)
    np.testing.assert_allclose(U @ U.T, model.components_.T @ model.components_, atol=1e-7)


def test_a_witness_without_a_gap_is_silent():
    witness = Witness(PlugIn(np.eye(4), Gaussian(), 20), 2, None)
    assert np.isnan(witness.risk(Strengths()))


def test_shrinking_gives_a_covariance_between_the_sample_and_equal_variances():
    S = np.cov(np.random.default_rng(0).standard_normal((30, 6)) * np.arange(1, 7), rowvar=False)
    T = shrunk(S, 30)
    assert np.linalg.eigvalsh(T)[0] > 0
    assert np.ptp(np.diag(T)) < np.ptp(np.diag(S))
    off = ~np.eye(6, dtype=bool)
    assert np.all(np.abs(T[off] / np.sqrt(np.outer(np.diag(T), np.diag(T)))[off]) <= 1)


def test_every_rule_is_reported(capsys):
    plug_in_witness.main(["--quick"])
    lines = capsys.readouterr().out.splitlines()
    for rule in RULES:
        assert sum(line.startswith(f"{rule} ") for line in lines) == 2
