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
    return load_digits().data


def text_of(page):
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", page.html.split("<main>")[1]).split()))


def test_moves_are_those_between_the_subspaces_of_the_accepted_steps(found, corrected_model, unequal_frame):
    taken = {name: strength for name, strength in corrected_model.corrections_.items() if strength}
    assert len(taken) > 1
    assert {move.correction: move.strength for move in found.moves} == taken
    gains = [step.gain for step in corrected_model.steps_ if step.taken]
    np.testing.assert_allclose([move.gain for move in found.moves], np.cumsum(gains))
    assert found.moves[-1].gain == pytest.approx(corrected_model.gain_)
    X, so_far, before = unequal_frame.to_numpy(), {}, CorrectedPCA(1).fit(unequal_frame).components_
    for move in found.moves:
        so_far[move.correction] = move.strength
        after = CorrectedPCA(1, neighbours="line", **so_far).fit(X).components_
        assert move.angle == pytest.approx(np.degrees(subspace_angles(before.T, after.T)[0]), abs=1e-5)
        turn, _ = orthogonal_procrustes(after.T, before.T)
        np.testing.assert_allclose(move.changes, np.linalg.norm(after.T @ turn - before.T, axis=1), atol=1e-9)
        before = after


def test_the_error_of_what_to_expect_is_that_of_the_choices_made_elsewhere(found, corrected_model):
    candidates = corrected_model.candidates_
    places = [candidates.index(choice) for choice in corrected_model.choices_]
    folds = corrected_model.cv_risk_folds_
    differences = folds[range(5), places] - folds[:, 0]
    expected = np.sqrt(1 / 5 + 1 / 4) * differences.std(ddof=1) / folds[:, 0].mean()
    assert found.search.expected_error == pytest.approx(expected)
    assert corrected_model.left_out_gain_ == pytest.approx(-differences.mean() / folds[:, 0].mean())


def test_every_step_is_explained(corrected_page, corrected_model):
    said = text_of(corrected_page)
    for step in corrected_model.steps_:
        assert f"It weakens {CORRECTIONS[step.correction].weakens}." in said
        if step.best:
            assert f"Strength {step.best:g} removes {100 * step.gain:.2f}%" in said
            assert f"had to remove more than {100 * step.needed:.2f}%" in said
            assert f"aken: {step.why}." in said
    assert corrected_model.verdict_ in said
    for choice in corrected_model.choices_:
        for name, strength in choice.items():
            assert not strength or f"{name.replace('_', ' ')} {strength:g}" in said


def test_the_chart_of_a_step_holds_its_risks_and_marks_the_choice(found, corrected_model):
    charts = all_charts(found, in_order=True)
    for step in (step for step in corrected_model.steps_ if step.strengths):
        view = charts[f"step-{step.correction}"].views[0]
        drawn = {series["name"].split(":")[0]: series for series in view["series"]}
        change = 100 * (np.array(step.risks) / corrected_model.cv_risk_[0] - 1)
        np.testing.assert_allclose(drawn["held-out risk"]["y"], change, rtol=1e-4, atol=1e-9)
        assert ("taken" in drawn) == step.taken
        if step.taken:
            best = step.strengths.index(step.best)
            assert drawn["taken"]["x"] == [step.best]
            (low,), (high,) = (drawn["± standard error"][end] for end in ("lo", "hi"))
            # Both ends are drawn to five figures.
            assert high - low == pytest.approx(200 * step.standard_error, abs=1e-4 * abs(low))
            assert drawn["taken if below"]["y"][0] == pytest.approx(change[0] - 100 * step.needed, rel=1e-4)
            assert change[best] < drawn["taken if below"]["y"][0]


def test_texts_from_the_data_are_inert(corrected_page):
    data = corrected_page.html.split('id="report-data">')[1].split("</script>")[0]
    assert HOSTILE not in corrected_page.html
    assert HOSTILE in json.loads(data)["charts"]["moves"][0]["rows"]
    assert HOSTILE in json.loads(data)["tables"]["loadings"]["names"]
    assert "{{ 7 * 7 }}" in corrected_page.html


def test_no_theory_and_no_band_in_a_page_of_a_search(corrected_page):
    assert "Risk by the theory" not in corrected_page.html
    assert "mask" not in corrected_page.html.split("report-data")[0].split("</style>")[1]


def test_pca_as_the_answer_is_said_plainly(pca_rows):
    model = CorrectedPCACV(5).fit(pca_rows)
    page = report(model, pca_rows)
    assert word_of(page) == "No: use ordinary PCA"
    said = text_of(page)
    assert "What PCA as the answer means" in said
    assert "Left out: neighbours is not given." in said
    assert "To try it, give neighbours" in said
    assert "compares it with" in said
    model = CorrectedPCACV(5, neighbours=(8, 8), reference=np.eye(64)).fit(pca_rows)
    assert "To try it, give" not in text_of(report(model, pca_rows))


def test_the_page_says_how_much_was_borrowed():
    rows, others = np.split(spiked_rows(80, 10), [20])
    model = CorrectedPCACV(2, corrections={"borrowing": [0.6]}, reference=others, guard=0).fit(rows)
    assert model.corrections_["borrowing"] == 0.6
    said = text_of(report(model, rows))
    assert "60% of the corrected matrix is borrowed from the reference, 60 other rows, and 40% from" in said
    assert "reference=reference" in said
    given = CorrectedPCA(2, borrowing=0.3, reference=PCA(2).fit(others)).fit(rows)
    assert "30% of the corrected matrix is borrowed from the reference, a fitted PCA" in text_of(
        report(given, rows)
    )


def test_an_average_of_choices_is_not_called_pca(pca_rows):
    rows = pca_rows[:200]
    model = CorrectedPCACV(5, neighbours=(8, 8)).fit(rows)
    different = {tuple(choice.values()) for choice in model.choices_}
    assert len(different) > 1
    assert not any(model.corrections_.values())
    page = report(model, rows)
    assert word_of(page) == "Perhaps not"
    assert f"{len(different)} different ones came out" in text_of(page)
    assert f"{100 * model.left_out_gain_:.2f}%".replace("-", "−") in text_of(page)
    assert "by all parts; choices that are averaged differ" in text_of(page)


@pytest.mark.parametrize(("expected", "word"), [(0.5, "Yes"), (1e-6, "Perhaps"), (-0.01, "Perhaps not")])
def test_the_answer_follows_what_to_expect(corrected_model, unequal_frame, monkeypatch, expected, word):
    monkeypatch.setattr(corrected_model, "left_out_gain_", expected)
    assert word_of(report(corrected_model, unequal_frame)) == word


def test_given_strengths_are_judged_by_those_that_rows_choose(unequal_frame, corrected_model, pca_rows):
    given = CorrectedPCA(1, damping=0.7, neighbours="line").fit(unequal_frame)
    page = report(given, unequal_frame)
    assert word_of(page) == "Held-out rows choose otherwise"
    assert corrected_model.verdict_ in text_of(page)
    assert "The strengths were given: damping 0.7." in text_of(page)
    plain = report(CorrectedPCA(5).fit(pca_rows), pca_rows)
    assert word_of(plain) == "No: use ordinary PCA"
    asked = report(CorrectedPCA(1).fit(unequal_frame), unequal_frame)
    assert "This fit is ordinary PCA" in text_of(asked)
    assert "What PCA as the answer means" not in text_of(asked)
    chosen = {name: value for name, value in corrected_model.corrections_.items() if value}
    same = CorrectedPCA(1, neighbours="line", **chosen).fit(unequal_frame)
    assert word_of(report(same, unequal_frame)) in ("Yes", "Perhaps")


def test_two_parts_are_too_few_to_leave_one_out(unequal_frame):
    page = report(CorrectedPCACV(1, cv=2).fit(unequal_frame), unequal_frame)
    assert "With 2 held-out parts there is no choice without one of them" in text_of(page)
    one = [(np.arange(30), np.arange(30, 40))]
    page = report(CorrectedPCACV(1, cv=one, guard=0).fit(unequal_frame), unequal_frame)
    assert "With 1 held-out part there is no choice" in text_of(page)
    assert "nan" not in text_of(page)


def test_a_grid_of_neighbours_gives_pictures():
    rows = spiked_rows(40, 12)
    model = CorrectedPCA(2, smoothing=0.8, neighbours=(3, 4)).fit(rows)
    assert report(model, rows).html.count("data:image/png") == 6 * 3 + 2 * 2


def test_the_code_on_the_page_makes_the_page_again(tmp_path, monkeypatch):
    rows = spiked_rows(40, 12)
    model = CorrectedPCACV(2, corrections=["damping", "smoothing"], neighbours=(3, 4), guard=0.5, cv=4).fit(
        rows
    )
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
