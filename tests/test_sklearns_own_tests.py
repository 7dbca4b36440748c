"""scikit-learn's own tests of PCA, with AttenuatedPCA at strength 0 in their place.

Every test that the installed scikit-learn ships runs here, also those that a later version adds, with few of
its parameters. It must pass, or fail in the way and for the reason that `CANNOT_APPLY` lists. A line of that
list that is no longer needed is an error, and so is one that names no test. `docs/faq.md` tells users what
differs.
"""

import importlib.util
import re
from unittest import mock

import numpy as np
import pytest
import sklearn.decomposition

from attenua import AttenuatedPCA

NOT_REFUSED = pytest.fail.Exception
OTHER_WORDS = OTHER_NUMBER = AssertionError

# Why tests cannot apply: the start of their names, as regular expressions, and what they fail with.
CANNOT_APPLY = {
    "it tells apart the solvers of scikit-learn; here is one": {
        r"test_sparse_pca_solver_error\[": NOT_REFUSED,
        r"test_array_api_error_and_warnings_on_unsupported_params": NOT_REFUSED,
        r"test_pca_svd_solver_auto\[": AttributeError,
    },
    "the same is refused in other words": {
        r"test_pca_validation\[arpack-0": OTHER_WORDS,
        r"test_pca_validation\[auto-3": OTHER_WORDS,
    },
    "n_components='mle' is not offered: choose_rank is made for few rows": {
        r"test_n_components_mle_error\[": OTHER_WORDS,
        r"test_fit_mle_too_few_samples": OTHER_WORDS,
        r"test_n_components_mle\[": ValueError,
        r"test_pca_dim$": ValueError,
        r"test_mle_": ValueError,
        r"test_pca_mle_array_api_compliance\[": ValueError,
    },
    "whitening changes the scores and not the model; it expects that whitened rows are less likely": {
        r"test_pca_score\[": OTHER_NUMBER,
    },
    "n_components=0, a model without components, is refused": {
        r"test_pca_score3": ValueError,
    },
}

# Ours alone warns where the data do not determine the subspace, as with as many components as rows.
pytestmark = pytest.mark.filterwarnings("ignore:The cut at n_components:UserWarning")


def as_pca():
    """Return a class with the parameters of PCA; those that choose and steer a solver have no effect."""

    class PCA(AttenuatedPCA):  # the name is the prefix of the output columns
        def __init__(
            self,
            n_components=None,
            *,
            copy=True,
            whiten=False,
            svd_solver="auto",
            tol=0.0,
            iterated_power="auto",
            n_oversamples=10,
            power_iteration_normalizer="auto",
            random_state=None,
        ):
            super().__init__(n_components, alpha=0, whiten=whiten)
            self.copy = copy
            self.svd_solver = svd_solver
            self.tol = tol
            self.iterated_power = iterated_power
            self.n_oversamples = n_oversamples
            self.power_iteration_normalizer = power_iteration_normalizer
            self.random_state = random_state

    return PCA


def own_tests(file, **replaced):
    """Return a class of the tests in a file of scikit-learn, with another class in place of its own."""
    spec = importlib.util.find_spec(f"sklearn.decomposition.tests.{file}")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple(sklearn.decomposition, **replaced):
        spec.loader.exec_module(module)
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    for test in tests.values():
        test.pytestmark = [thinned(mark) for mark in getattr(test, "pytestmark", ())]
    return type(f"Test{file}", (), {name: staticmethod(test) for name, test in tests.items()})


def thinned(mark):
    """Return a mark with few of its values: one solver, because here is one only, and two of the rest."""
    if mark.name != "parametrize":
        return mark
    names, values, *more = mark.args
    values = list(values)  # some are generators, which pytest no longer takes
    if str(names).endswith("solver"):
        values = values[:1]
    elif "array_namespace" in names:
        values = [
            value
            for value in values
            if not {"cuda", "mps", "xpu", "cupy", "dpnp", "float32"} & set(map(str, value))
        ]
    elif len(values) > 2:
        values = [values[0], values[-1]]
    ids = mark.kwargs.get("ids")
    return pytest.mark.parametrize(names, values, *more, ids=ids if callable(ids) else None).mark


TestPCA = own_tests("test_pca", PCA=as_pca())


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own runs have by default."""
    return 42


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def with_the_list(request, monkeypatch):
    """Expect the tests of the list to fail, and let all of them use other array libraries."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    for reason, tests in CANNOT_APPLY.items():
        for start, error in tests.items():
            if re.match(start, request.node.name):
                request.applymarker(pytest.mark.xfail(reason=reason, raises=error, strict=True))


def test_every_line_names_a_test():
    names = {re.match(r"\w+", start)[0] for tests in CANNOT_APPLY.values() for start in tests}
    assert {name for name in names if not any(test.startswith(name) for test in vars(TestPCA))} == set()


def test_the_error_for_mle_names_choose_rank():
    with pytest.raises(ValueError, match=r"got 'mle'\. attenua\.choose_rank chooses a number\.$"):
        AttenuatedPCA("mle").fit(np.eye(4))
