"""With other steps of scikit-learn: imputers, scalers, searches, with names of columns on the way."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from tests.helpers import spiked_rows

ROWS = spiked_rows(60, 5)
HOLES = np.random.default_rng(0).random(ROWS.shape) < 0.05
MISSING = np.where(HOLES, np.nan, ROWS)
FILLED = np.where(HOLES, np.nanmean(MISSING, axis=0), ROWS)
ESTIMATORS = [
    AttenuatedPCA(2, alpha=0.4),
    AttenuatedPCACV(2),
    CorrectedPCA(2, tempering=0.4),
    CorrectedPCACV(2),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)


@every_estimator
def test_missing_values_are_filled_by_an_imputer(estimator):
    pipeline = make_pipeline(SimpleImputer(), estimator)
    found = pipeline.fit_transform(MISSING)
    np.testing.assert_allclose(found, estimator.fit(FILLED).transform(FILLED), atol=1e-10)
    assert pipeline.score(MISSING) == pytest.approx(estimator.score(FILLED))


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names(estimator, library):
    frames = pytest.importorskip(library, reason="frames to give and to get")
    frame = frames.DataFrame(dict(zip("abcde", MISSING.T, strict=True)))
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), estimator).set_output(transform=library)
    found = pipeline.fit(frame).transform(frame)
    name = type(estimator).__name__.lower()
    assert isinstance(found, frames.DataFrame)
    assert list(found.columns) == [f"{name}0", f"{name}1"]
    assert list(pipeline[-1].feature_names_in_) == list("abcde")
    scaled = (FILLED - FILLED.mean(axis=0)) / FILLED.std(axis=0)
    estimator = pipeline[-1].set_output(transform="default")
    np.testing.assert_allclose(found.to_numpy(), estimator.fit(scaled).transform(scaled), atol=1e-9)


@every_estimator
def test_a_grid_search_over_the_steps_before(estimator):
    pipeline = make_pipeline(SimpleImputer(), estimator)
    grid = {"simpleimputer__strategy": ["mean", "median"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(MISSING)
    assert search.best_params_["simpleimputer__strategy"] in grid["simpleimputer__strategy"]
    assert search.best_score_ == pytest.approx(search.cv_results_["mean_test_score"].max())
    assert search.transform(MISSING).shape == (60, 2)
