"""The answer: one word for every state of the evidence, and none that its own figures contradict."""

import itertools

import numpy as np
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA
from attenua.report import report
from attenua.report.answer import NO_TURN, Evidence, answer_from
from tests.helpers import spiked_rows
from tests.report.conftest import word_of

CLEAR = Evidence("It removes 5%.", is_pca=False, turn=20.0, gain=0.05, expected=0.04, is_clear=True)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, "Yes"),
        ({"turn": NO_TURN}, "Yes"),
        ({"turn": np.nextafter(NO_TURN, 0)}, "No: use ordinary PCA"),
        ({"turn": 0.0}, "No: use ordinary PCA"),
        ({"is_pca": True}, "No: use ordinary PCA"),
        ({"is_clear": False}, "Perhaps"),
        ({"gain": -0.05}, "No"),
        ({"gain": -0.05, "expected": -0.05}, "No"),
        ({"gain": 0.0}, "Perhaps not"),
        ({"gain": 0.0, "expected": 0.0}, "Perhaps not"),
        ({"expected": 0.0}, "Perhaps not"),
        ({"expected": -1e-9}, "Perhaps not"),
        ({"expected": float("nan")}, "Perhaps not"),
        ({"chosen_otherwise": True}, "Held-out rows choose otherwise"),
    ],
)
def test_each_border_has_its_word(change, word):
    assert answer_from(CLEAR._replace(**change)).word == word


def test_yes_is_said_only_where_nothing_speaks_against_it():
    cases = itertools.product(
        [False, True], [0.0, 0.04, 5.0], [-0.1, 0.0, 0.1], [-0.1, 0.0, 0.1], [False, True]
    )
    for is_pca, turn, gain, expected, is_clear in cases:
        answer = answer_from(Evidence("Said.", is_pca, turn, gain, expected, is_clear))
        all_for_it = not is_pca and f"{turn:.1f}" != "0.0" and gain > 0 and expected > 0 and is_clear
        assert (answer.word == "Yes") == (answer.kind == "clear") == all_for_it
        if f"{turn:.1f}" == "0.0":
            assert answer.kind == "pca"


def test_a_fit_whose_subspace_is_that_of_pca_is_not_recommended():
    """Two columns with equal variances: attenuation turns nothing, whatever its strength."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((30, 2)) @ np.array([[1.0, 0.9], [0, 0.5]])
    rows = np.vstack([half, half[:, ::-1]])  # equal variances exactly
    page = report(AttenuatedPCA(1, alpha=0.4).fit(rows), rows)
    assert "<dt>largest turn from PCA</dt><dd>0.0°</dd>" in page.html
    assert word_of(page) == "No: use ordinary PCA"


def test_a_tiny_turn_is_not_recommended_either():
    rows = spiked_rows(60, 6)
    model = CorrectedPCA(2, attenuation=1e-6).fit(rows)
    page = report(model, rows)
    assert "<dt>largest turn from PCA</dt><dd>0.0°</dd>" in page.html
    assert word_of(page) in ("No: use ordinary PCA", "Held-out rows choose otherwise")


def test_a_given_strength_that_loses_is_not_recommended():
    rows = np.random.default_rng(0).standard_normal((300, 4)) @ np.diag([9, 5, 1.0, 0.5])
    assert AttenuatedPCACV(2).fit(rows).alpha_ == 0
    assert word_of(report(AttenuatedPCA(2, alpha=0.9).fit(rows), rows)) == "No"
