"""sample_weight of the classes that hold rows out: a row of weight 2 is two rows of one group."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_validate

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from tests.helpers import spiked_rows

X = spiked_rows(40, 8)
WIDE = spiked_rows(40, 530)
HOLES = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 40)
FOLDS = list(KFold(4, shuffle=True, random_state=0).split(X))
ROWS = {"few columns": X, "many columns": WIDE, "missing cells": HOLES, "sparse": sp.csr_array(X)}
MODELS = {
    "attenuated": AttenuatedPCACV(3, alphas=[0.3, 0.7]),
    "corrected": CorrectedPCACV(3, corrections=["row_tempering", "damping", "tempering"]),
    "scaled": CorrectedPCACV(3, corrections=["damping"], scale=True),
    "covariance": CorrectedCovariance(corrections={"damping": [0.5], "shrinkage": [0.5, 2.0]}),
}


def repeated(rows, weights, folds):
    """Rows as often as they weigh, the number of each, and the folds of all of them."""
    numbers = np.repeat(np.arange(len(weights)), weights)
    pairs = [tuple(np.flatnonzero(np.isin(numbers, some)) for some in pair) for pair in folds]
    return rows[numbers], numbers, pairs


def same(found, expected):
    for name in type(found)._fitted:
        value, other = getattr(found, name), getattr(expected, name)
        if name in ("choices_", "candidates_", "alpha_", "verdict_"):
            assert value == other, name
        elif name not in ("steps_", "n_samples_", "shortfall_") and value is not None:
            np.testing.assert_allclose(value, other, rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_whole_weights_are_repeated_rows_in_one_fold(model, rows):
    if rows is HOLES and model is MODELS["corrected"]:
        pytest.skip("what is filled into a row and its copies counts as independent, so they have a distance")
    again, numbers, folds = repeated(rows, WEIGHTS, FOLDS)
    found = clone(model).set_params(cv=FOLDS).fit(rows, sample_weight=WEIGHTS)
    same(found, clone(model).set_params(cv=folds).fit(again, groups=numbers))


def test_groups_are_kept_whole_and_rows_without_weight_are_left_out():
    model, groups = CorrectedPCACV(3, corrections=["damping"]), np.array(list("abcdefgh") * 5)
    found = clone(model).fit(X, groups=groups, sample_weight=WEIGHTS)
    kept = WEIGHTS > 0
    same(found, clone(model).fit(X[kept], groups=groups[kept], sample_weight=WEIGHTS[kept]))
    splitter = KFold(4, shuffle=True, random_state=0)
    found = clone(model).set_params(cv=splitter).fit(X, sample_weight=WEIGHTS)
    same(found, clone(model).set_params(cv=FOLDS).fit(X, groups=np.arange(40), sample_weight=WEIGHTS))
    with pytest.raises(ValueError, match="split 0 of cv has 39 training rows and 0 held-out rows"):
        model.set_params(cv=[(range(1, 40), [0])]).fit(X, sample_weight=np.arange(40))


def test_batches_and_partitions_have_weights():
    model = MODELS["attenuated"]
    expected = clone(model).fit(X, sample_weight=WEIGHTS)
    same(clone(model).fit([X[:9], X[9:]], sample_weight=WEIGHTS), expected)
    same(clone(model).fit(da.from_array(X, chunks=(15, 8)), sample_weight=WEIGHTS), expected)
    with pytest.raises(ValueError, match="groups or sample_weight, not both"):
        model.fit([X[:9], X[9:]], groups=np.arange(40), sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    "model", [MODELS["corrected"], MODELS["covariance"]], ids=["corrected", "covariance"]
)
def test_what_new_rows_gain_counts_weights(model):
    model = clone(model).set_params(nested=True)
    found = clone(model).fit(X, sample_weight=np.full(40, 2.0))
    same(found, clone(model).fit(np.repeat(X, 2, axis=0), groups=np.arange(80) // 2))
    uneven = clone(model).fit(X, sample_weight=np.arange(40) + 1)
    assert uneven.left_out_gain_ != pytest.approx(found.left_out_gain_, rel=1e-3)


def test_cells_are_filled_with_weights():
    model = CorrectedPCA(2).fit(HOLES, sample_weight=WEIGHTS)
    covariance = CorrectedCovariance().fit(HOLES, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.impute(HOLES), covariance.impute(HOLES))


def test_weights_are_routed():
    with config_context(enable_metadata_routing=True):
        model = AttenuatedPCACV(2, alphas=[0.5]).set_fit_request(sample_weight=True)
        found = cross_validate(
            model, X, cv=3, params={"sample_weight": WEIGHTS}, return_estimator=True, return_indices=True
        )
        rows = found["indices"]["train"][0]
        same(found["estimator"][0], clone(model).fit(X[rows], sample_weight=WEIGHTS[rows]))
