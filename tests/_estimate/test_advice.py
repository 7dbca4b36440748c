"""Parameters of scikit-learn's PCA, and of American spelling, in the constructor and in ``set_params``."""

import inspect
import re

import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV

CLASSES = [AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, CorrectedCovariance]
OF_PCA = set(inspect.signature(PCA).parameters) - {"n_components", "whiten"}


def both_ways(cls, words, **given):
    with pytest.raises(TypeError, match=words):
        cls(**given)
    with pytest.raises(ValueError, match=words):
        make_pipeline(cls()).set_params(**{f"{cls.__name__.lower()}__{key}": given[key] for key in given})


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", sorted(OF_PCA))
def test_parameters_of_pca_are_not_needed(cls, name):
    both_ways(cls, re.escape(f"{cls.__name__} does not need {name}: "), **{name: 1})


@pytest.mark.parametrize("cls", CLASSES[2:])
def test_american_spelling(cls):
    both_ways(cls, "has no parameter neighbors; it is spelled neighbours here", neighbors="line")


def test_other_mistakes_are_python_s_and_scikit_learn_s():
    for given in ({"neighbors": "line"}, {"alphas": [0]}):  # AttenuatedPCA has neither
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            AttenuatedPCA(**given)
        with pytest.raises(ValueError, match="Invalid parameter"):
            AttenuatedPCA().set_params(**given)


@pytest.mark.parametrize("cls", CLASSES)
def test_the_signature_stays(cls):
    assert list(inspect.signature(cls).parameters) == list(inspect.signature(cls.__init__).parameters)[1:]
    assert set(clone(cls()).get_params()) == set(inspect.signature(cls).parameters)


def test_subclasses_may_have_such_parameters():
    class WithSolver(CorrectedPCA):
        def __init__(self, n_components=None, *, svd_solver="auto"):
            super().__init__(n_components)
            self.svd_solver = svd_solver

    assert WithSolver(2, svd_solver="full").set_params(svd_solver="arpack").svd_solver == "arpack"
