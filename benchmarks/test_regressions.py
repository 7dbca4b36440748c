"""Small sizes, to be timed from release to release: ``make bench``. In CI they only run once, untimed."""

import numpy as np
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCA, AttenuatedPCACV, attenuation_path
from attenua_paper.rivals import MaskedTargetPCACV
from attenua_paper.theory import Population


def rows(n, p):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) + rng.standard_normal((n, p))


@pytest.mark.parametrize("shape", [(64, 9), (2_000, 50), (600, 400), (60, 2_000)], ids=str)
def test_cross_validated_fit(benchmark, shape):
    X = rows(*shape)
    assert benchmark(AttenuatedPCACV(3).fit, X).n_components_ == 3


def test_one_fit_of_sparse_rows(benchmark):
    X = sp.random(2_000, 1_000, density=0.01, format="csr", random_state=0)
    assert benchmark(AttenuatedPCA(3, alpha=0.5).fit, X).n_components_ == 3


def test_path(benchmark):
    X = rows(300, 300)
    assert benchmark(attenuation_path, X, 3).n_components == 3


def test_masked_target(benchmark):
    X = rows(64, 16)
    assert benchmark(MaskedTargetPCACV(2).fit, X).n_components_ == 2


def test_risk_theory(benchmark):
    population = Population(np.cov(rows(400, 30).T), 3)
    assert benchmark(population.excess_risk, 100, np.linspace(0, 1, 22)).shape == (22,)
