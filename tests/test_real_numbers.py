"""Arrays that hold no real numbers: every function that takes one refuses them, and names the argument."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedPCA,
    alpha_from_mask_rate,
    attenuation_path,
    choose_rank,
    mask_rate_from_alpha,
)
from tests.helpers import in_turn, spiked_rows

S = np.diag([3.0, 2.0, 1.0])
X = spiked_rows(30, 3)
FITTED = AttenuatedPCACV(1, alphas=[0, 1]).fit(X)

# What takes an array, with the array that it takes and the name of the argument.
FUNCTIONS = {
    "mask_rate": (alpha_from_mask_rate, np.array([0.1])),
    "alpha": (mask_rate_from_alpha, np.array([0.1])),
    "alphas": (lambda alphas: attenuation_path(X, 1, alphas=alphas), np.array([0.0, 1.0])),
    "neighbours": (lambda A: CorrectedPCA(1, smoothing=1, neighbours=A).fit(X), np.eye(3)[::-1]),
    "sample_weight": (lambda w: AttenuatedPCA(1).fit(X, sample_weight=w), np.ones(30)),
}
WRONG = {
    "complex numbers": lambda A: A + 0.5j,
    "text": lambda A: A.astype(str),
    "objects": lambda A: np.full(A.shape, None),
    "dates": lambda A: A.astype("datetime64[s]"),
}


@pytest.mark.parametrize(("argument", "kind"), in_turn(FUNCTIONS, WRONG))
def test_what_is_no_real_number_is_refused(argument, kind):
    function, right = FUNCTIONS[argument]
    function(right)
    function(np.array([Fraction(value) for value in right.flat], dtype=object).reshape(right.shape))
    got = "values of type datetime64" if kind == "dates" else kind
    with pytest.raises(ValueError, match=rf"^{argument.strip()} must .*; got {got}"):
        function(WRONG[kind](right))


def test_true_and_false_are_no_numbers_where_they_make_no_sense():
    with pytest.raises(ValueError, match=r"^alphas must .*; got True and False"):
        attenuation_path(X, 1, alphas=np.array([False, True]))


def test_true_and_false_are_data_and_weights():
    assert np.isfinite(AttenuatedPCA(1).fit(X > 0).mean_).all()
    AttenuatedPCA(1).fit(X, sample_weight=np.arange(30) > 3)


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix])
def test_neighbours_in_a_sparse_matrix(form):
    A = form(np.eye(3)[::-1])
    CorrectedPCA(1, smoothing=1, neighbours=A > 0).fit(X)
    with pytest.raises(ValueError, match=r"^neighbours must .*; got complex numbers"):
        CorrectedPCA(1, smoothing=1, neighbours=A * 1j).fit(X)


def test_complex_rows_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        choose_rank(X + 0.5j)
