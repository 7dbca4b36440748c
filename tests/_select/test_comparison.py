"""Held-out risks of candidates, and the choice among them."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCACV
from attenua._data.rows import HostRows
from attenua._select.comparison import gain_error, reconstruction_errors, smallest_strength_at_minimum
from attenua._solve import tuning
from attenua._solve.subspace import Subspace
from tests.helpers import assert_risks_close_enough, covariance, interleaved_splits, leading, spiked_rows


def test_rounding_does_not_choose_a_strength():
    assert smallest_strength_at_minimum(np.array([1.0, 1.0 - 1e-14, 1.0 - 2e-14]), 1.0) == 0
    assert smallest_strength_at_minimum(np.array([1.0, 0.9, 0.9]), 1.0) == 1


@pytest.mark.parametrize("X", [spiked_rows(600, 12), spiked_rows(20, 700)], ids=["tall", "wide"])
@pytest.mark.parametrize("shares_a_frame", [False, True])
def test_reconstruction_error_is_the_mean_over_rows(X, shares_a_frame):
    U = np.linalg.qr(np.random.default_rng(1).standard_normal((X.shape[1], 4)))[0]
    inside = [np.linalg.qr(np.random.default_rng(k).standard_normal((4, 2)))[0] for k in range(3)]
    frames = [(U, Y) if shares_a_frame else (U @ Y, None) for Y in inside]
    subspaces = [Subspace(frame, Y, np.zeros(2), np.nan, False) for frame, Y in frames]
    centre = X.mean(axis=0) + 0.5
    errors = reconstruction_errors(HostRows(X).moments(), subspaces, centre)
    for error, Y in zip(errors, inside, strict=True):
        residual = (X - centre) - (X - centre) @ (U @ Y) @ (U @ Y).T
        assert error == pytest.approx(np.mean(np.sum(residual**2, axis=1)), rel=1e-10)


def test_an_error_is_never_negative():
    X = np.outer(np.arange(9.0), np.ones(4))
    line = Subspace(np.full((4, 1), 0.5), None, np.ones(1), np.nan, False)
    assert 0 <= reconstruction_errors(HostRows(X).moments(), [line], X.mean(axis=0))[0] < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(300, 260), (60, 400)])
def test_iteration_chooses_as_well_as_lapack(shape, monkeypatch):
    # Flat, spiked and nearly crossing spectra; the folds are iterated, or forced to LAPACK.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal(shape) * rng.uniform(0.5, 2, shape[1])
        spikes = [0.0, 1.0, 1.001, 3.0][: seed % 5]
        for size in spikes:
            X += size * np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
        options = {"n_components": 1 + seed % 4, "alphas": [0, 0.25, 0.5, 0.75, 1], "cv": 3}
        fast = AttenuatedPCACV(**options).fit(X)
        with monkeypatch.context() as patch:
            patch.setattr(tuning, "DIRECT_SIZE", 10_000)
            exact = AttenuatedPCACV(**options).fit(X)
        chosen = list(fast.alphas_).index(fast.alpha_)
        assert_risks_close_enough(fast.cv_risk_folds_, exact.cv_risk_folds_, chosen=chosen)


SPLITTERS = {
    "folds": (5, 5, 1 / 4),
    "KFold": (KFold(4), 4, 1 / 3),
    "RepeatedKFold": (RepeatedKFold(n_splits=5, n_repeats=4, random_state=0), 20, 1 / 4),
    "ShuffleSplit": (ShuffleSplit(20, test_size=0.25, random_state=0), 20, 1 / 3),
}


@pytest.mark.parametrize("case", SPLITTERS)
def test_one_standard_error_under_any_splitter(case):
    """The formula by hand, in nats, which are parts of nothing."""
    cv, n_splits, ratio = SPLITTERS[case]
    model = CorrectedCovariance(corrections={"shrinkage": [0.25]}, cv=cv).fit(spiked_rows(60, 8))
    assert model.steps_[0].best == 0.25
    differences = model.cv_risk_folds_[:, 1] - model.cv_risk_folds_[:, 0]
    spread = np.sqrt(np.sum((differences - differences.mean()) ** 2) / (n_splits - 1))
    assert model.steps_[0].standard_error == pytest.approx(np.sqrt(1 / n_splits + ratio) * spread)


def test_one_split_has_no_standard_error():
    assert np.isnan(gain_error(np.ones(1), 0.25))
    assert np.isnan(gain_error(np.ones((1, 3)), 0.25)).all()


@pytest.mark.parametrize("model", [AttenuatedPCACV(2), CorrectedPCACV(2), CorrectedCovariance()])
def test_a_bad_number_of_jobs_is_named(model):
    for n_jobs in ("2", 1.5, 0):
        with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0; got"):
            model.set_params(n_jobs=n_jobs).fit(spiked_rows(20, 5))


def test_exact_comparisons_are_those_of_lapack(monkeypatch):
    X, model = spiked_rows(60, 200), AttenuatedPCACV(2)

    def worst_error():
        model.fit(X)
        errors = []
        for k, (training, held) in enumerate(interleaved_splits(60, 5)):
            S = covariance(X[training])
            Z = X[held] - X[training].mean(axis=0)
            for alpha, risk in zip(model.alphas_, model.cv_risk_folds_[k], strict=True):
                U = leading(S - alpha * np.diag(np.diag(S)), 2)
                errors.append(risk / np.mean(np.sum((Z - Z @ U.T @ U) ** 2, axis=1)) - 1)
        return np.abs(errors).max()

    assert worst_error() > 1e-9
    monkeypatch.setattr(tuning, "EXACTLY", True)
    assert worst_error() < 1e-12


def test_exact_comparisons_have_no_early_end(monkeypatch):
    few = CorrectedPCACV(2).fit(spiked_rows(40, 8))
    monkeypatch.setattr(tuning, "EXACTLY", True)
    every = CorrectedPCACV(2).fit(spiked_rows(40, 8))
    compared = {
        (step.correction, strength) for step in every.steps_ for strength in step.strengths if strength
    }
    assert len(every.candidates_) >= len(compared) + 1 > len(few.candidates_)
