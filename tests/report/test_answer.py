"""The answer: one word for every state of the evidence, and none that its own figures contradict."""

import re
from html import unescape

import numpy as np
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, paired_gain
from attenua._estimate.words import described
from attenua.report import report
from tests.helpers import spiked_rows
from tests.report.conftest import word_of


def test_a_fit_whose_subspace_is_that_of_pca_is_not_recommended():
    """Two columns with equal variances: attenuation turns nothing, whatever its strength."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((30, 2)) @ np.array([[1.0, 0.9], [0, 0.5]])
    rows = np.vstack([half, half[:, ::-1]])  # equal variances exactly
    page = report(AttenuatedPCA(1, alpha=0.4).fit(rows), rows)
    assert "<dt>largest turn from PCA</dt><dd>0.0°</dd>" in page.html
    assert word_of(page) == "It makes no difference"


def test_a_tiny_turn_is_not_recommended_either():
    rows = spiked_rows(60, 6)
    model = CorrectedPCA(2, attenuation=1e-6).fit(rows)
    page = report(model, rows)
    assert "<dt>largest turn from PCA</dt><dd>0.0°</dd>" in page.html
    assert word_of(page) in ("It makes no difference", "Held-out rows choose otherwise")


def test_a_given_strength_that_loses_is_not_recommended():
    rows = np.random.default_rng(0).standard_normal((300, 4)) @ np.diag([9, 5, 1.0, 0.5])
    assert AttenuatedPCACV(2).fit(rows).alpha_ == 0
    assert word_of(report(AttenuatedPCA(2, alpha=0.9).fit(rows), rows)) == "No"


def rows_of(kind, seed):
    """Return rows with a weak factor, in columns whose variances differ clearly, by a hair, or not at all."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((60, 1)) * np.ones(6) + rng.standard_normal((60, 6))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return rows * (1 + {"clearly": 0.5, "by a hair": 1e-4, "not at all": 0.0}[kind] * rng.standard_normal(6))


def sentence_of(page):
    return unescape(re.search(r'class="word">[^<]+</p>\s*<p>([^<]+)<', page.html)[1])


ONE_PART = [(np.arange(40), np.arange(40, 60))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "kind", "cv"),
    [
        (AttenuatedPCACV, "clearly", 5),
        (AttenuatedPCACV, "by a hair", 2),
        (AttenuatedPCACV, "not at all", ONE_PART),
        (CorrectedPCACV, "clearly", ONE_PART),
        (CorrectedPCACV, "by a hair", 5),
        (CorrectedPCACV, "not at all", 2),
    ],
)
def test_page_shell_notebook_and_verdict_agree(estimator, kind, cv):
    for seed in range(2):
        rows = rows_of(kind, seed)
        model = estimator(1, cv=cv, **({"nested": True} if estimator is CorrectedPCACV else {})).fit(rows)
        page = report(model, rows)
        shell = described("x.csv", model)
        # All of them say the sentence of the fit, and the page alone adds whether to use it.
        assert sentence_of(page).startswith(model.verdict_)
        assert model._answer().title == model.verdict_
        uses_pca = model.verdict_.startswith("The fit is ordinary PCA")
        assert (word_of(page) == "No: use ordinary PCA") == uses_pca
        assert model.verdict_ in shell
        assert "nan" not in shell
        assert "nan" not in re.sub(r"<script.*?</script>", "", page.html, flags=re.DOTALL)
        if estimator is AttenuatedPCACV and len(model.cv_risk_folds_) == 1:
            assert word_of(page) != "Yes"
            assert "o expect of new rows:" not in shell
            assert "too little was held out" in page.html or uses_pca
        if estimator is AttenuatedPCACV and word_of(page) == "Yes":
            assert paired_gain(model).advice == "The gain is larger than its noise."
