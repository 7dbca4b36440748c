"""A correction that is registered from this one file is searched, fitted, saved, reported and printed."""

import numpy as np
import pytest

from attenua import CorrectedPCA, CorrectedPCACV, load_model, save_model
from attenua._correct.correction import Correction
from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER
from attenua._data.moments import ScatterMoments
from attenua.report import report
from model_files import unpacked

RIDGE = np.diag([2.0, 1.5, 0.0, 0.0, 0.0, 0.0])


def towards_ridge(moments, strength, prepared):
    """(1 - w) S + w R: a matrix that happens to be the truth."""
    scale = moments.unit**2
    scatter = ((1 - strength) * moments.covariance + strength * RIDGE / scale) * moments.weight
    return ScatterMoments(moments.weight, np.zeros(len(RIDGE)), scatter, moments.mean, moments.unit)


TOY = Correction(
    name="toy_ridge",
    kind="moments",
    strengths=(0.0, 0.5, 1.0),
    apply=towards_ridge,
    weakens="everything but the truth",
    how="It adds the truth.",
    price="None.",
    colour="#123456",
)


@pytest.fixture
def toy():
    CORRECTIONS[TOY.name] = TOY
    SEARCH_ORDER.append(TOY.name)
    yield TOY
    del CORRECTIONS[TOY.name]
    SEARCH_ORDER.remove(TOY.name)


@pytest.fixture
def rows():
    return np.random.default_rng(1).standard_normal((30, 6)) * np.sqrt(np.diag(RIDGE) + 2)


def test_it_is_searched_fitted_and_printed(toy, rows):
    assert CorrectedPCACV(2).fit(rows).steps_["toy_ridge"].strengths[0] == 0.0
    model = CorrectedPCACV(2, corrections=["toy_ridge"]).fit(rows)
    assert model.steps_["toy_ridge"].best == 1.0
    assert model.steps_["toy_ridge"].weight
    assert "averages toy ridge 1 (" in model.verdict_
    assert "toy_ridge" in repr(model.steps_)
    assert "toy ridge 1" in model._repr_mimebundle_()["text/html"]
    # The truth is in the first two columns; the fit averages it with PCA.
    pca = CorrectedPCA(2).fit(rows)
    assert np.linalg.norm(model.components_[:, 2:]) < 0.8 * np.linalg.norm(pca.components_[:, 2:])


def test_it_is_saved_and_a_file_without_it_is_read(toy, rows, tmp_path):
    model = CorrectedPCACV(2, corrections=["toy_ridge"]).fit(rows)
    save_model(model, tmp_path / "with.safetensors")
    again = load_model(tmp_path / "with.safetensors")
    assert again.choices_ == model.choices_
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows))


def test_a_file_of_before_is_read(rows, tmp_path):
    save_model(CorrectedPCACV(2).fit(rows), tmp_path / "before.safetensors")
    header, _ = unpacked((tmp_path / "before.safetensors").read_bytes())
    assert "toy_ridge" not in header["fitted"]["choices_"][0]
    CORRECTIONS[TOY.name] = TOY
    try:
        later = load_model(tmp_path / "before.safetensors")
    finally:
        del CORRECTIONS[TOY.name]
    assert all(strengths["toy_ridge"] == 0.0 for strengths in later.choices_ + later.candidates_)


def test_it_is_reported_and_drawn(toy, rows):
    model = CorrectedPCACV(2, corrections=["toy_ridge"]).fit(rows)
    page = report(model, rows)
    assert "toy ridge" in page
    assert "everything but the truth" in page
    (label,) = model.steps_.plot().get_yticklabels()
    assert label.get_text().startswith("toy ridge")
