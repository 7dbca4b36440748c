"""scikit-learn's own tests of PCA and IncrementalPCA, with our estimators at strength 0 in their place.

Every test that the installed scikit-learn ships is one test here, also those that a later version adds. It
must pass, or it is in the list `CANNOT_APPLY` with the reason. Then it must fail in the way that is listed. A
line that is no longer needed is an error, and so is one that names no test. What differs for users is said in
`docs/faq.md`.
"""

import importlib.util
import re
from unittest import mock

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.utils import gen_batches

from attenua import AttenuatedPCA, CorrectedPCA

NOT_REFUSED = pytest.fail.Exception
OTHER_WORDS = OTHER_NUMBER = AssertionError

# Why tests cannot apply: the start of their names, as regular expressions, and what they fail with.
CANNOT_APPLY = {
    "it tells apart the solvers of scikit-learn; here is one": {
        r"test_sparse_pca_solver_error\[": NOT_REFUSED,
        r"test_array_api_error_and_warnings_on_unsupported_params": NOT_REFUSED,
        r"test_pca_svd_solver_auto\[": AttributeError,
    },
    "arpack finds all components but one; here all are found": {
        r"test_pca_validation\[arpack-2": NOT_REFUSED,
        r"test_n_components_none\[data.-arpack": OTHER_NUMBER,
    },
    "the same is refused in other words": {
        r"test_pca_validation\[(arpack|randomized)-0": OTHER_WORDS,
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
    "score is minus the squared error of reconstruction, not a likelihood": {
        r"test_pca_score\[": OTHER_NUMBER,
    },
    "n_components=0, a model without components, is refused": {
        r"test_pca_score3": ValueError,
    },
    "partial_fit takes sparse batches": {
        r"test_incremental_pca_sparse\[": NOT_REFUSED,
    },
    "n_components may change between batches, and exceed the rows of the first: only sums are kept": {
        r"test_incremental_pca_set_params": NOT_REFUSED,
        r"test_incremental_pca_validation": OTHER_WORDS,
    },
    "it changes n_samples_seen_, a count that scikit-learn keeps between batches": {
        r"test_incremental_pca_partial_fit_float_division": AttributeError,
    },
}

# Ours alone warns where the data do not determine the subspace, as with as many components as rows.
pytestmark = pytest.mark.filterwarnings("ignore:The cut at n_components:UserWarning")
# Half of the time goes into this one: 216 combinations of options.
SLOW = "test_pca_sparse"


def without_correction(base):
    """Return the arguments that make an estimator PCA."""
    return {"alpha": 0.0} if base is AttenuatedPCA else {}


def as_pca(base):
    """Return a class with the parameters of PCA; those that choose and steer a solver have no effect."""

    class PCA(base):  # the name is the prefix of the output columns
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
            super().__init__(n_components, whiten=whiten, **without_correction(base))
            self.copy = copy
            self.svd_solver = svd_solver
            self.tol = tol
            self.iterated_power = iterated_power
            self.n_oversamples = n_oversamples
            self.power_iteration_normalizer = power_iteration_normalizer
            self.random_state = random_state

    return PCA


def as_incremental_pca(base):
    """Return a class with the parameters of IncrementalPCA, which fits rows in batches of its size."""

    class IncrementalPCA(base):
        def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None):
            super().__init__(n_components, whiten=whiten, **without_correction(base))
            self.copy = copy
            self.batch_size = batch_size

        def fit(self, X, y=None):
            n, p = X.shape
            return super().fit([X[rows] for rows in gen_batches(n, self.batch_size or 5 * p)])

    return IncrementalPCA


def own_tests(file, **replaced):
    """Return a class of the tests in a file of scikit-learn, with another class in place of its own."""
    spec = importlib.util.find_spec(f"sklearn.decomposition.tests.{file}")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple(sklearn.decomposition, **replaced):
        spec.loader.exec_module(module)
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    for name, test in tests.items():
        test.pytestmark = [with_a_list(mark) for mark in getattr(test, "pytestmark", ())]
        test.pytestmark += [pytest.mark.slow.mark] if name == SLOW else []
    return type(f"Test{file}", (), {name: staticmethod(test) for name, test in tests.items()})


def with_a_list(mark):
    """Return a mark; values that come from a generator, which pytest no longer takes, as a list."""
    if mark.name != "parametrize":
        return mark
    names, values, *more = mark.args
    return pytest.mark.parametrize(names, list(values), *more, **mark.kwargs).mark


TestCorrectedPCA = own_tests("test_pca", PCA=as_pca(CorrectedPCA))
TestCorrectedBatches = own_tests("test_incremental_pca", IncrementalPCA=as_incremental_pca(CorrectedPCA))
TestAttenuatedPCA = pytest.mark.slow(own_tests("test_pca", PCA=as_pca(AttenuatedPCA)))
TestAttenuatedBatches = pytest.mark.slow(
    own_tests("test_incremental_pca", IncrementalPCA=as_incremental_pca(AttenuatedPCA))
)


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


@pytest.mark.parametrize("start", [start for tests in CANNOT_APPLY.values() for start in tests])
def test_every_line_names_a_test(start):
    name = re.match(r"\w+", start)[0]
    tests = (*vars(TestCorrectedPCA), *vars(TestCorrectedBatches))
    assert any(test.startswith(name) for test in tests)


def test_who_asks_for_mle_is_told_what_there_is_instead():
    with pytest.raises(ValueError, match=r"got 'mle'\. attenua\.choose_rank chooses a number\.$"):
        CorrectedPCA("mle").fit(np.eye(4))
