"""Our methods, by the names of the store."""

import numpy as np
import pytest
from tests.helpers import each

from attenua import CorrectedPCACV
from attenua_evidence.methods import METHODS, Rows, fit_method, four_times, same_by_definition
from attenua_evidence.outcome import Fit, attempt

from .sets import spiked


@each("order", [None, "line", (3, 4)])
def test_every_method_fits_unless_there_is_nothing_to_leave_out(order):
    rows = Rows(spiked(40, 12), np.arange(40) // 5, order)
    for name in METHODS:
        outcome = fit_method(name, rows, 2)
        if name == "without smoothing" and order is None:
            assert (outcome.status, outcome.fit) == ("unsuited", None)
            continue
        assert (outcome.status, outcome.note) == ("fitted", ""), name
        components = outcome.fit.components
        np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-12, err_msg=name)
        if name.startswith("without"):
            assert outcome.fit.strengths[name.removeprefix("without ")] == 0, name


def test_options_and_groups_reach_the_estimator():
    # Neighbours and options reach the estimator.
    X = spiked(40, 12)
    for name, options in {
        "default": {},
        "recommended": {"neighbours": "line"},
        "repeated folds": {"neighbours": "line", "cv": four_times(Rows(X, None, "line"))},
    }.items():
        expected = CorrectedPCACV(3, **options).fit(X)
        found = fit_method(name, Rows(X, None, "line"), 3).fit
        np.testing.assert_array_equal(found.components, expected.components_)
        assert found.strengths == expected.choices_[0]
    # Folds keep groups whole.
    assert Rows(spiked(20, 6)).n_folds == 5
    assert Rows(spiked(20, 6), np.arange(20) // 7).n_folds == 3
    X = spiked(40, 12)
    grouped = CorrectedPCACV(2, cv=4).fit(X, groups=np.arange(40) // 10)
    found = fit_method("default", Rows(X, np.arange(40) // 10), 2).fit
    np.testing.assert_array_equal(found.components, grouped.components_)
    # PCA is the SVD of centred rows.
    X = spiked(40, 12)
    components = fit_method("PCA", Rows(X), 3).fit.components
    rows = np.linalg.svd(X - X.mean(axis=0))[2][:3]
    np.testing.assert_allclose(components.T @ components, rows.T @ rows, atol=1e-10)


def test_what_is_the_same_by_definition_is_the_same():
    for seed in range(5):
        X = spiked(32, 12, seed=seed, heavy=True)
        for name, order in (("recommended", None), ("without smoothing", "line")):
            source = same_by_definition(name, order)
            assert source == "default"
            fits = [fit_method(method, Rows(X, None, order), 2).fit for method in (name, source)]
            np.testing.assert_array_equal(fits[0].components, fits[1].components)
    assert same_by_definition("recommended", "line") == ""


def test_what_becomes_of_a_fit():
    # A fit that fails has no subspace and one line.
    def broken():
        raise ValueError("first line\nsecond line")

    outcome = attempt(broken, 2)
    assert (outcome.status, outcome.note, outcome.fit) == ("failed", "ValueError: first line", None)
    outcome = attempt(lambda: Fit(np.zeros(3), np.full((1, 3), np.nan)), 1)
    assert (outcome.status, outcome.note, outcome.fit) == ("failed", "not finite", None)
    # Fewer components are noted.
    assert attempt(lambda: Fit(np.zeros(3), np.eye(3)[:1]), 2).note == "1 of 2 components"

    # A missing package does not count as a result.
    def absent():
        import no_such_package  # noqa: F401

    with pytest.raises(ModuleNotFoundError):
        attempt(absent, 2)
