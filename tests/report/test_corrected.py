"""The page about a search: what it says, against the fit and against direct computation."""

import json
import re
from html import unescape

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes, subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._correct.registry import CORRECTIONS
from attenua._estimate.words import strengths_in_words
from attenua._select.steps import Step, Steps
from attenua.report import report
from attenua.report.charts import all_charts
from attenua.report.findings import find
from tests.helpers import spiked_rows
from tests.report.conftest import HOSTILE, word_of


@pytest.fixture(scope="module")
def found(corrected_model, unequal_frame):
    return find(corrected_model, unequal_frame)


@pytest.fixture(scope="module")
def pca_rows():
    return load_digits().data[:500]


def text_of(page):
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", page.html.split("<main>")[1]).split()))


def test_moves_are_those_between_the_subspaces_of_the_accepted_steps(found, corrected_model, unequal_frame):
    taken = {name: strength for name, strength in corrected_model.corrections_.items() if strength}
    assert len(taken) > 1
    assert {move.correction: move.strength for move in found.moves} == taken
    X, so_far, before = unequal_frame.to_numpy(), {}, CorrectedPCA(1).fit(unequal_frame).components_
    for move in found.moves:
        so_far[move.correction] = move.strength
        after = CorrectedPCA(1, neighbours="line", **so_far).fit(X).components_
        assert move.angle == pytest.approx(np.degrees(subspace_angles(before.T, after.T)[0]), abs=1e-5)
        turn, _ = orthogonal_procrustes(after.T, before.T)
        np.testing.assert_allclose(move.changes, np.linalg.norm(after.T @ turn - before.T, axis=1), atol=1e-9)
        before = after


def test_the_page_leads_with_what_to_expect_of_new_rows(corrected_page, corrected_model):
    first = re.search(r"<dt>([^<]+)</dt><dd>([^<]+)</dd><dd class=\"sub\">([^<]+)<", corrected_page.html)
    gain, error = corrected_model.left_out_gain_, corrected_model.left_out_gain_error_
    assert first[1] == "less risk than PCA's on new rows"
    assert first[2] == f"{100 * gain:.2f}%".replace("-", "−")
    assert first[3] == f"± {100 * error:.2g} standard error"


def test_the_choices_have_their_weights(corrected_page, corrected_model):
    said = text_of(corrected_page).partition("Do the rows agree?")[2]
    assert len(corrected_model.choices_) > 2
    assert f"come to {len(corrected_model.choices_)} different choices" in said
    for choice, weight in zip(corrected_model.choices_, corrected_model.choice_weights_, strict=True):
        assert f"{strengths_in_words(choice)} {100 * weight:.0f}%" in said


def test_every_step_is_explained(corrected_page, corrected_model):
    said = text_of(corrected_page)
    for step in corrected_model.steps_:
        assert f"It weakens {CORRECTIONS[step.correction].weakens}." in said
        if step.best:
            assert f"Strength {step.best:g} removes {100 * step.gain:.2f}%" in said
        if step.weight:
            assert f"Taken with weight {100 * step.weight:.0f}%." in said
    assert corrected_model.verdict_ in said
    for choice in corrected_model.choices_:
        for name, strength in choice.items():
            assert not strength or f"{name.replace('_', ' ')} {strength:g}" in said


def test_the_chart_of_a_step_holds_its_risks_and_marks_the_choice(found, corrected_model):
    charts = all_charts(found, None, None)
    compared = [step for step in corrected_model.steps_ if step.strengths]
    for step in compared:
        view = charts[f"step-{step.correction}"].views[0]
        drawn = {series["name"].split(":")[0]: series for series in view["series"]}
        change = 100 * (np.array(step.risks) / compared[0].risks[0] - 1)
        np.testing.assert_allclose(drawn["held-out risk"]["y"], change, rtol=1e-4, atol=1e-9)
        assert drawn["best"]["x"] == [step.best]
        assert drawn["best"]["role"] == ("best" if step.weight else "pca")
        if step.best:
            (low,), (high,) = (drawn["± standard error"][end] for end in ("lo", "hi"))
            # Both ends are drawn to five figures.
            assert high - low == pytest.approx(200 * step.standard_error, abs=1e-4 * abs(low))


def test_texts_from_the_data_are_inert(corrected_page):
    data = corrected_page.html.split('id="report-data">')[1].split("</script>")[0]
    assert HOSTILE not in corrected_page.html
    assert HOSTILE in json.loads(data)["charts"]["moves"][0]["rows"]
    assert HOSTILE in json.loads(data)["tables"]["loadings"]["names"]
    assert "{{ 7 * 7 }}" in corrected_page.html


def test_no_mask_range_in_a_page_of_a_search(corrected_page):
    assert "mask" not in corrected_page.html.split("report-data")[0].split("</style>")[1]


def test_pca_as_the_answer_is_said_plainly(pca_rows):
    model = CorrectedPCACV(8).fit(pca_rows)
    page = report(model, pca_rows)
    assert word_of(page) == "No: use ordinary PCA"
    said = text_of(page)
    assert "What PCA as the answer means" in said
    assert "Left out: neighbours is not given." in said
    assert "To try it, give neighbours" in said
    assert "compares it with" in said
    model = CorrectedPCACV(8, neighbours=(8, 8), reference=np.eye(64)).fit(pca_rows)
    assert "To try it, give" not in text_of(report(model, pca_rows))


def test_the_page_says_how_much_was_borrowed():
    rows, others = np.split(spiked_rows(80, 10), [20])
    model = CorrectedPCACV(2, corrections={"borrowing": [0.6]}, reference=others).fit(rows)
    assert model.corrections_["borrowing"] == 0.6
    said = text_of(report(model, rows))
    assert "60% of the corrected matrix is borrowed from the reference, 60 other rows, and 40% from" in said
    assert "reference=reference" in said
    given = CorrectedPCA(2, borrowing=0.3, reference=PCA(2).fit(others)).fit(rows)
    assert "30% of the corrected matrix is borrowed from the reference, a fitted PCA" in text_of(
        report(given, rows)
    )


def test_an_average_of_choices_is_not_called_pca(corrected_model, unequal_frame, monkeypatch):
    """All held-out rows together may choose PCA where some votes do not."""
    monkeypatch.setattr(corrected_model, "corrections_", dict.fromkeys(corrected_model.corrections_, 0.0))
    page = report(corrected_model, unequal_frame)
    assert word_of(page) != "No: use ordinary PCA"
    first = next(choice for choice in corrected_model.choices_ if any(choice.values()))
    assert f"{strengths_in_words(first)}, the choice of the largest weight" in text_of(page)


@pytest.mark.parametrize(("expected", "word"), [(0.5, "Yes"), (1e-6, "Perhaps"), (-0.01, "No")])
def test_the_answer_follows_what_to_expect(corrected_model, unequal_frame, monkeypatch, expected, word):
    monkeypatch.setattr(corrected_model, "left_out_gain_", expected)
    assert word_of(report(corrected_model, unequal_frame)) == word


def test_given_strengths_are_judged_by_those_that_rows_choose(unequal_frame, corrected_model, pca_rows):
    given = CorrectedPCA(1, damping=0.7, neighbours="line").fit(unequal_frame)
    page = report(given, unequal_frame)
    assert word_of(page) == "Held-out rows choose otherwise"
    assert corrected_model.verdict_ in text_of(page)
    assert "The strengths were given: damping 0.7." in text_of(page)
    plain = report(CorrectedPCA(8).fit(pca_rows), pca_rows)
    assert word_of(plain) == "No: use ordinary PCA"
    asked = report(CorrectedPCA(1).fit(unequal_frame), unequal_frame)
    assert "This fit is ordinary PCA" in text_of(asked)
    assert "What PCA as the answer means" not in text_of(asked)
    chosen = {name: value for name, value in corrected_model.corrections_.items() if value}
    same = CorrectedPCA(1, neighbours="line", **chosen).fit(unequal_frame)
    assert word_of(report(same, unequal_frame)) == word_of(report(corrected_model, unequal_frame))


def test_the_page_measures_what_a_fit_did_not(corrected_model, corrected_page, unequal_frame):
    plain = CorrectedPCACV(1, neighbours="line").fit(unequal_frame)
    assert np.isnan(plain.left_out_gain_)
    assert corrected_model.verdict_ in text_of(report(plain, unequal_frame))


def test_a_page_without_an_error_of_what_to_expect(corrected_model, unequal_frame, monkeypatch):
    monkeypatch.setattr(corrected_model, "left_out_gain_error_", float("nan"))
    page = report(corrected_model, unequal_frame)
    assert word_of(page) == "Perhaps"
    assert "too little was held out" in text_of(page)
    assert "nan" not in text_of(page)


def test_a_grid_of_neighbours_gives_pictures():
    rows = spiked_rows(40, 12)
    model = CorrectedPCA(2, smoothing=0.8, neighbours=(3, 4)).fit(rows)
    assert report(model, rows).html.count("data:image/png") == 6 * 3 + 2 * 2


def test_the_code_on_the_page_makes_the_page_again(tmp_path, monkeypatch):
    rows = spiked_rows(40, 12)
    model = CorrectedPCACV(2, corrections=["damping", "smoothing"], neighbours=(3, 4), cv=4)
    model.fit(rows)
    page = report(model, rows)
    monkeypatch.chdir(tmp_path)
    names = {"X": rows}
    exec(unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", page.html, re.DOTALL)[1]), names)
    assert names["model"].corrections_ == model.corrections_
    assert (tmp_path / "report.html").read_text() == page.html


def test_steps_that_were_left_out_have_no_chart(corrected_model, unequal_frame, monkeypatch):
    left_out = Steps([*corrected_model.steps_[:3], Step("damping", why="left out: too many columns")])
    monkeypatch.setattr(corrected_model, "steps_", left_out)
    page = report(corrected_model, unequal_frame)
    assert "Left out: too many columns." in text_of(page)
    assert 'data-chart="step-damping"' not in page.html
