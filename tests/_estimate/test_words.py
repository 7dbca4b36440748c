"""The answer of a fitted estimator in words, above scikit-learn's diagram and inside a pipeline's."""

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, load_model, save_model
from attenua._estimate.words import (
    choices_in_words,
    clear_over_splits,
    counted,
    covariance_verdict,
    expected_in_words,
    gain_in_words,
    largest_in_words,
    listed,
    percent_of,
    verdict,
)
from tests.helpers import spiked_rows

X = spiked_rows(40, 6)
# Unequal noise: here held-out rows choose a correction.
NOISY = np.random.default_rng(3).standard_normal((40, 1)) + np.random.default_rng(4).standard_normal((40, 8))


def shown(estimator):
    """Return the title and the facts above the diagram."""
    above = estimator._repr_mimebundle_()["text/html"].partition("<style>")[0]
    tree = ElementTree.fromstring(f"<div>{above}</div>")
    return tree.findtext(".//strong"), {row[0].text: row[1].text for row in tree.findall(".//tr")}


def test_a_search_shows_its_strengths_and_how_sure_the_gain_is():
    model = CorrectedPCACV(1, nested=True).fit(NOISY)
    assert any(model.choices_[0].values()), "the rows are made so that a correction is taken"
    title, facts = shown(model)
    assert title == model.verdict_
    assert facts["averaged"] == choices_in_words(model.choices_, model.choice_weights_)
    assert model._answer().caption.startswith(largest_in_words(model.choices_, model.choice_weights_))
    assert facts["to expect of new rows"] == gain_in_words(model.left_out_gain_, model.left_out_gain_error_)
    assert facts["fitted"].endswith("40 rows, 8 columns")


def test_what_to_expect_is_shown_only_where_it_was_measured():
    model = CorrectedPCACV(1).fit(NOISY)
    assert model.verdict_.endswith("What new rows gain was not measured; nested=True measures it.")
    assert "to expect of new rows" not in shown(model)[1]


def test_a_strength_chosen_by_the_paper_shows_its_gain():
    model = AttenuatedPCACV(1).fit(NOISY)
    assert model.alpha_ > 0
    title, facts = shown(model)
    assert title == model.verdict_
    measured = f"attenuation {model.alpha_:g}, {model.gain_:.2%} less held-out risk than PCA's"
    assert facts["all held-out rows together"] == measured
    assert facts["to expect of new rows"] == gain_in_words(model.left_out_gain_, model.left_out_gain_error_)


def test_the_paper_claims_a_gain_where_strengths_chosen_elsewhere_have_it():
    said = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = AttenuatedPCACV(1).fit(rng.standard_normal((40, 30)) + rng.standard_normal((40, 1)))
        gain, error = percent_of(model.left_out_gain_), percent_of(model.left_out_gain_error_)
        is_clear = model.left_out_gain_ > stats.t(4).ppf(0.975) * model.left_out_gain_error_
        said.add(is_clear)
        assert model.verdict_.startswith(
            f"Expect {gain} less error than PCA's on new rows (standard error {error}). The fit has "
            if is_clear
            else f"Expect about PCA's error on new rows ({gain} less, standard error {error}). The fit is as "
            "safe as PCA: it has "
        )
        assert model.verdict_.endswith(f" attenuation {model.alpha_:g}.")
    assert said == {True, False}


def test_the_rows_lose_or_gain_nothing_for_sure():
    said = [expected_in_words(gain, 0.02) for gain in (-0.041, -0.01, 0.04, 0.041)]
    assert said == [
        "Expect 4.1% more error than PCA's on new rows (standard error 2.0%).",
        "Expect about PCA's error on new rows (1.0% more, standard error 2.0%).",
        "Expect about PCA's error on new rows (4.0% less, standard error 2.0%).",
        "Expect 4.1% less error than PCA's on new rows (standard error 2.0%).",
    ]


MOSTLY_PCA = ([{"pooling": 0.0}, {"pooling": 0.5}], [0.98, 0.02])


@pytest.mark.parametrize(
    ("expected", "nested", "fit"),
    [
        ((0.01, 0.02), True, "The fit is as safe as PCA: it averages PCA (98%) and pooling 0.5 (2%)."),
        ((np.nan, np.nan), False, "The fit is as safe as PCA: it averages PCA (98%) and pooling 0.5 (2%)."),
        ((-0.05, 0.02), True, "The fit averages PCA (98%) and pooling 0.5 (2%)."),
        ((0.05, 0.02), True, "The fit averages PCA (98%) and pooling 0.5 (2%)."),
    ],
)
def test_what_is_as_safe_as_pca_is_called_so(expected, nested, fit):
    said = verdict(*MOSTLY_PCA, expected, nested=nested)
    assert fit in said
    assert not any(word in said for word in ("risk", "strength", "vote"))


def test_a_covariance_that_is_no_better_is_as_safe():
    choices = [{"shrinkage": 1.0}, {"shrinkage": 0.5}]
    said = covariance_verdict(choices, [0.4, 0.6], (-0.2, 0.3, 0.8), nested=True, chosen=True)
    assert said == (
        "Expect about Ledoit-Wolf's log-likelihood of new rows (0.2 nats per row below, measured with four "
        "fifths of the rows, standard error 0.3). The fit is as safe as Ledoit-Wolf: it averages shrinkage "
        "0.5 (60%) and Ledoit-Wolf (40%)."
    )


def test_many_splits_must_not_claim_more_than_five():
    assert [round(clear_over_splits(n), 2) for n in (2, 3, 5, 40)] == [12.71, 4.30, 2.78, 2.78]


def test_one_split_says_that_it_has_no_error_and_expects_nothing():
    cv = [(np.arange(30), np.arange(30, 40))]
    model = AttenuatedPCACV(1, cv=cv).fit(NOISY)
    assert model.gain_ > 0
    _, facts = shown(model)
    assert model.verdict_.startswith("Too little was held out to say what to expect of new rows.")
    assert "to expect of new rows" not in facts


@pytest.mark.parametrize(
    ("model", "title"),
    [
        (CorrectedPCA(2, damping=0.25, row_tempering=0.5), "Row tempering 0.5, damping 0.25, as given"),
        (CorrectedPCA(2), "Ordinary PCA, as given"),
        (AttenuatedPCA(2, alpha=0.5), "Attenuation 0.5, as given"),
    ],
)
def test_given_strengths_are_shown_as_given(model, title):
    shown_title, facts = shown(model.fit(X))
    assert shown_title == title
    assert facts["gain"].startswith(f"not measured; {type(model).__name__}CV")
    assert facts["fitted"].startswith("2 components, ")


def test_pca_as_the_answer_is_said():
    model = CorrectedPCACV(2, corrections={"damping": [0]}).fit(X)
    title, facts = shown(model)
    assert title.startswith("The fit is ordinary PCA: ")
    assert list(facts) == ["fitted"]


@pytest.mark.parametrize("kind", [CorrectedPCA, CorrectedPCACV, AttenuatedPCA, AttenuatedPCACV])
def test_without_a_fit_nothing_is_added(kind):
    model = kind(2)
    assert model._repr_mimebundle_()["text/html"].startswith("<style>")
    assert model._repr_html_().startswith("<style>")
    assert repr(model) == str(model) == f"{kind.__name__}(n_components=2)"
    assert model.fit(X)._repr_html_().startswith("<div><strong>")


def test_text_display_stays_text():
    with config_context(display="text"):
        assert "text/html" not in CorrectedPCA(2).fit(X)._repr_mimebundle_()


def test_a_pipeline_shows_the_answer_under_the_name():
    pipeline = make_pipeline(StandardScaler(), CorrectedPCA(2, damping=0.25))
    assert "damping 0.25" not in estimator_html_repr(pipeline).partition("<body>")[2].replace(
        "damping=0.25", ""
    )
    html = estimator_html_repr(pipeline.fit(X))
    assert '<div>CorrectedPCA</div><div class="caption">damping 0.25</div>' in html


def test_choices_have_their_weights():
    choices = [{"damping": 0.5}, {"row_tempering": 1.0}, {"damping": 0.0}]
    said = choices_in_words(choices, [0.5, 0.3, 0.2])
    assert said == "damping 0.5 (50%); row tempering 1 (30%); ordinary PCA (20%)"
    assert choices_in_words(choices[:1], [1.0]) == "damping 0.5"
    assert largest_in_words(choices, [0.5, 0.3, 0.2]) == "damping 0.5 (50%) and others"
    assert largest_in_words(choices[:1], [1.0]) == "damping 0.5"


def test_a_loaded_model_shows_the_same(tmp_path):
    model = CorrectedPCACV(1).fit(NOISY)
    save_model(model, tmp_path / "model.zip")
    assert shown(load_model(tmp_path / "model.zip")) == shown(model)


def test_a_small_gain_does_not_read_as_none_and_one_component_is_one():
    assert [percent_of(gain) for gain in (0.0, 0.0004, 0.0005, 0.058)] == ["0.0%", "0.04%", "0.1%", "5.8%"]
    _, facts = shown(CorrectedPCA(1).fit(X))
    assert facts["fitted"].startswith("1 component, ")


def test_a_gain_says_that_it_is_less_risk_and_a_loss_that_it_is_more():
    assert gain_in_words(0.0844, 0.0173) == "8.44% less held-out risk than PCA's, standard error 1.73%"
    assert gain_in_words(-0.0115, 0.021) == "1.15% more held-out risk than PCA's, standard error 2.10%"


def test_lists_and_counts_in_words():
    assert [listed(list("abc")[:k]) for k in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert [counted(number, "row") for number in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]


def test_a_fitted_estimator_says_in_a_line_what_came_out():
    corrections = {"tempering": [0.25, 0.5, 0.75, 1.0], "damping": [0.1, 0.2, 0.3, 1.0]}
    model = CorrectedPCACV(1, cv=4, corrections=corrections)
    unfitted = repr(model)
    assert unfitted.splitlines()[1].startswith(" " * len("CorrectedPCACV("))  # broken as scikit-learn does
    caption = model.fit(NOISY)._answer().caption
    share = f"{model.explained_variance_ratio_.sum():.1%} of the variance of 40 rows, 8 columns"
    assert repr(model) == f"{unfitted}\n{caption}; 1 component, {share}"
    assert repr(clone(model)) == unfitted
    assert caption not in repr(make_pipeline(StandardScaler(), model))
    assert (
        repr(CorrectedPCA(1).fit(NOISY).set_params(damping="much"))
        == "CorrectedPCA(damping='much', n_components=1)"
    )
