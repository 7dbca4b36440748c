"""A model file that is not what it says is refused, in one sentence that names the file."""

import io
import json
import pickle
import tracemalloc
import zipfile
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from attenua.model_files import ModelFileError, load_model, save_model
from tests.helpers import spiked_rows

X = spiked_rows(40, 6)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture
def saved(path):
    save_model(AttenuatedPCACV(2, alphas=[0, 0.5]).fit(X), path)
    return path


def refused(path, changed, problem):
    """Change members of a model file, check and return the error, and put the file back."""
    whole = path.read_bytes()
    rewrite(path, members(path) | changed)
    with pytest.raises(ModelFileError, match=problem) as caught:
        load_model(path)
    path.write_bytes(whole)
    assert str(path) in str(caught.value)
    return str(caught.value)


def header_of(path):
    return json.loads(members(path)["model.json"])


def refused_header(path, header, problem):
    refused(path, {"model.json": json.dumps(header).encode()}, problem)


def refused_numbers(path, numbers, problem):
    header = header_of(path)
    refused_header(path, header | {"fitted": header["fitted"] | numbers}, problem)


HEADERS = [
    ({"format": "other"}, "does not say 'attenua-model'"),
    ({"version": 3}, "it has version 3 of the format, not 5; fit the model again with this attenua"),
    ({"version": 4}, "it has version 4 of the format, not 5"),
    ({"version": 3.0}, "has version 3.0 of the format"),
    ({"version": []}, r"has version \[\] of the format"),
    ({"class": "os.system"}, "holds a 'os.system', which attenua does not save"),
    ({"class": []}, r"holds a \[\], which attenua does not save"),
    ({"class": {}}, r"holds a \{\}, which attenua does not save"),
    ({"class": "é" * 99}, r"holds a .*\.\.\., which attenua does not save"),
    ({"class": "AttenuatedPCA"}, r"wrong or missing: 'alphas_.npy'"),
    ({"more": 1}, "model.json must have the keys class, feature_names"),
    ({"fitted": None}, "the fitted numbers are missing"),
    ({"fitted": {}}, "n_components_ must be 2, the rows of components_"),
    ({"feature_names": ["a"]}, "feature_names must name each of the 6 columns"),
    ({"feature_names": [1, 2, 3, 4, 5, 6]}, "feature_names must name each"),
    ({"parameters": {}}, "parameters must be alphas, cv"),
    ({"parameters": None}, "parameters are missing"),
    ({"parameters_as_text": {"cv": 5}}, "parameters must be alphas, cv"),
]


def test_a_changed_header_is_refused(saved):
    for change, problem in HEADERS:
        refused_header(saved, header_of(saved) | change, problem)


NUMBERS = [
    ({"alpha_": 0.3}, "alpha_ must be one of alphas_"),
    ({"alpha_": "0.5"}, "alpha_ must be of type float"),
    ({"alpha_": float("nan")}, "a number is not finite"),
    ({"gain_": 2.0}, "gain_ must be a number of at most 1"),
    ({"gain_": float("-inf")}, "a number is not finite"),
    ({"n_samples_": 0}, "n_samples_ must be an integer"),
    ({"n_samples_": True}, "n_samples_ must be of type int"),
    ({"n_samples_": 2**63}, "an integer has more than 64 bits"),
    ({"n_components_": 3}, "n_components_ must be 2, the rows of components_"),
    ({"n_components_": 2.0}, "n_components_ must be 2, the rows of components_"),
    ({"more_": 1}, "the fitted numbers must be n_components_, n_samples_"),
    ({"shortfall_": -0.1}, "shortfall_ must be a part, from 0 to 1"),
    ({"shortfall_": None}, "shortfall_ must be of type float"),
    ({"verdict_": None}, "verdict_ must be of type str"),
]


def test_a_changed_number_is_refused(saved):
    for change, problem in NUMBERS:
        refused_numbers(saved, change, problem)


@pytest.fixture
def searched(path):
    rows = X * [1, 1, 2, 2, 3, 3]  # of which all splits judge three candidates
    save_model(CorrectedPCACV(2, corrections=["tempering", "attenuation"]).fit(rows), path)
    return path


NO_STRENGTHS = {"row_tempering": 0.0, "tempering": 0.0, "attenuation": 0.0, "damping": 0.0, "smoothing": 0.0}


SEARCHES = [
    ({"choices_": {}}, "choices_ must be of type list"),
    ({"choices_": []}, "choices_ must be some of candidates_"),
    ({"choices_": [0.0]}, "choices_ must be some of candidates_"),
    ({"choices_": [NO_STRENGTHS | {"tempering": 0.3}]}, "choices_ must be some of candidates_"),
    ({"choices_": [NO_STRENGTHS | {"tempering": 0}]}, "choices_ must be some of candidates_"),
    ({"choices_": [NO_STRENGTHS | {"other": 0.0}]}, "choices_ must be some of candidates_"),
    ({"choices_": [NO_STRENGTHS] * 2}, "choice_weights_ must hold a weight for each of choices_"),
    ({"choice_weights_": [0.5]}, "choice_weights_ must hold a weight for each of choices_, and sum to 1"),
    ({"choice_weights_": [1]}, "choice_weights_ must hold a weight for each of choices_, and sum to 1"),
    ({"left_out_gain_": 1.1}, "left_out_gain_ must be a number of at most 1"),
    ({"left_out_gain_": "0"}, "left_out_gain_ must be of type float or null"),
    ({"left_out_gain_error_": -1.0}, "left_out_gain_error_ must be a number of at least 0"),
    ({"steps_": {}}, "steps_ must be of type list"),
    ({"steps_": [None]}, r"steps_\[0\] is not a step"),
    ({"steps_": [{"correction": "tempering"}]}, r"steps_\[0\] is not a step"),
]


def test_a_changed_search_is_refused(searched):
    for change, problem in SEARCHES:
        refused_numbers(searched, change, problem)


STEPS = [
    {"correction": "other"},
    {"correction": ["tempering"]},
    {"strengths": 0.5},
    {"strengths": [0.0, 2.0], "risks": [1.0, 1.0]},
    {"strengths": [0.0, 0.5, 0.25], "risks": [1.0, 1.0, 1.0]},
    {"strengths": [0.25, 0.5], "risks": [1.0, 1.0]},
    {"strengths": ["0", "0.25"], "risks": [1.0, 1.0]},
    {"strengths": []},
    {"risks": [1.0]},
    {"risks": [1.0, -1.0]},
    {"risks": [1.0, "1"]},
    {"best": 0.3},
    {"best": None},
    {"gain": 2.0},
    {"standard_error": -1.0},
    {"standard_error": "none"},
    {"weight": -1.0},
    {"weight": 1},
    {"weight": 1.1},
    {"why": None},
    {"unit": "nats"},
    {"unit": None},
    {"correction": "shrinkage"},
    {"more": 0.0},
]


def test_a_changed_step_is_refused(searched):
    first, *others = header_of(searched)["fitted"]["steps_"]
    for change in STEPS:
        refused_numbers(
            searched, {"steps_": [first | change, *others]}, r"steps_\[0\] is not a step of a search"
        )


CANDIDATES = [
    (lambda c: [], "candidates_ must have 3 entries, as cv_risk_ has"),
    (lambda c: c[:-1], "candidates_ must have 3 entries, as cv_risk_ has"),
    (lambda c: [0.0] * 4, "candidates_ must hold strengths by the names of corrections"),
    (lambda c: [one | {"other": 1.0} for one in c], "candidates_ must hold strengths by the names"),
    (lambda c: c[::-1], "candidates_ must begin with PCA"),
    (lambda c: [one | {"tempering": -1.0} for one in c], "candidates_ must hold strengths"),
    (lambda c: [one | {"tempering": 9.0} for one in c], "candidates_ must hold strengths"),
    (lambda c: [one | {"tempering": "1"} for one in c], "candidates_ must hold strengths"),
]


def test_changed_candidates_are_refused(searched):
    candidates = header_of(searched)["fitted"]["candidates_"]
    for change, problem in CANDIDATES:
        refused_numbers(searched, {"candidates_": change(candidates)}, problem)


@pytest.fixture
def with_arrays(path):
    line = sp.diags_array([np.ones(5)] * 2, offsets=[-1, 1])
    save_model(CorrectedPCA(2, neighbours=line).fit(X), path)
    return path


PARAMETERS = [
    ("neighbours.data", np.full(10, "a"), "neighbours must hold numbers"),
    ("neighbours.indptr", np.arange(3), "neighbours is not a sparse matrix"),
    ("neighbours.indices", np.full(10, 9), "neighbours is not a sparse matrix"),
    ("neighbours.shape", np.array([2]), "neighbours is not a sparse matrix"),
    ("neighbours.shape", np.array([-6, 6]), "neighbours is not a sparse matrix"),
    ("neighbours.more", np.ones(3), "wrong or missing: 'neighbours.more.npy'"),
]


def test_changed_arrays_of_parameters_are_refused(with_arrays):
    for name, array, problem in PARAMETERS:
        refused(with_arrays, {f"{name}.npy": npy(array)}, problem)


ARRAYS = [
    ("components_", np.ones((2, 6)), "components_ must be orthonormal"),
    ("components_", np.eye(6)[:, :2], "no taller than wide"),
    ("components_", np.eye(6)[0], "no taller than wide"),
    ("components_", np.full((2, 6), np.inf), "components_ must hold finite numbers"),
    ("components_", np.eye(6)[:2].astype(complex), "components_ must hold floats"),
    ("components_", np.eye(6, dtype=int)[:2], "components_ must hold floats"),
    ("mean_", np.zeros(5), r"mean_ must have shape \(6,\), not \(5,\)"),
    ("mean_", np.full(6, np.nan), "mean_ must hold finite numbers"),
    ("mean_", np.zeros(6, dtype=np.float32), "mean_ must be of type float64, not float32"),
    ("explained_variance_", -np.ones(2), "explained_variance_ must not be negative"),
    ("explained_variance_", np.array([1.0, 2.0]), "explained_variance_ must not increase"),
    ("explained_variance_ratio_", np.array([0.9, 0.1]), "and singular_values_ must agree"),
    ("singular_values_", np.array([1e308, 5e-324]), "and singular_values_ must agree"),
    ("noise_variance_", np.zeros(1), "noise_variance_ must have shape"),
    ("noise_variance_", np.float64(0), "noise_variance_ must be the mean of the variances that are left"),
    ("alphas_", np.array([0.5, 0.0]), "alphas_ must increase from 0"),
    ("alphas_", np.array([0.0, 1.5]), "alphas_ must increase from 0, up to 1"),
    ("alphas_", np.zeros((2, 2)), r"alphas_ must have shape \(2,\)"),
    ("alphas_", np.float64(0), r"alphas_ must have shape \(2,\), not \(\)"),
    ("alphas_", np.array([0.0, 0.5], np.float32), "alphas_ must be of type float64, not float32"),
    ("cv_risk_", np.ones((1, 2)), "cv_risk_ must have one number for each candidate"),
    ("cv_risk_", np.ones(3), r"cv_risk_folds_ must have shape \(5, 3\), not \(5, 2\)"),
    ("cv_risk_folds_", np.ones((5, 3)), r"cv_risk_folds_ must have shape \(5, 2\), not \(5, 3\)"),
    ("cv_risk_folds_", np.ones(2), "cv_risk_folds_ must be a matrix"),
    ("cv_risk_folds_", -np.ones((5, 2)), "cv_risk_folds_ must not be negative"),
]


def test_a_changed_array_is_refused(saved):
    for name, array, problem in ARRAYS:
        refused(saved, {f"{name}.npy": npy(array)}, problem)


@pytest.mark.parametrize("rank", [1, 2, 6])
def test_exchanged_arrays_are_refused_in_files_without_checksums_too(rank, path):
    save_model(CorrectedPCA(rank).fit(X, sample_weight=np.arange(40) / 7), path)
    header = header_of(path)
    assert set(header.pop("sums")) == {*members(path)} - {"model.json"}
    rewrite(path, members(path) | {"model.json": json.dumps(header).encode()})
    assert load_model(path).n_components_ == rank
    whole = members(path)
    names = ("explained_variance_.npy", "explained_variance_ratio_.npy", "singular_values_.npy")
    for one, other in combinations(names, 2):
        refused(path, {one: whole[other], other: whole[one]}, "must agree|must be the mean of the variances")


def test_exchanged_arrays_that_would_fit_are_refused_by_their_checksums(covariance):
    whole = members(covariance)
    inverted = {"covariance_.npy": whole["precision_.npy"], "precision_.npy": whole["covariance_.npy"]}
    refused(covariance, inverted, "'covariance_.npy' is not the array that was saved under this name")
    header = header_of(covariance)
    refused_header(covariance, header | {"sums": []}, "is not the array that was saved under this name")


def test_strengths_that_cannot_be_fitted_are_refused(path):
    for model, change, problem in (
        (CorrectedPCA(2), {"tempering": "x"}, "tempering must be a number from 0 to 1; got 'x'"),
        (AttenuatedPCA(2), {"alpha": 4}, "alpha must be a number from 0 to 1; got 4"),
        (CorrectedPCA(2), {"reference": [1]}, r"got 1D array instead\.$"),
    ):
        save_model(model.fit(X), path, force=True)
        header = header_of(path)
        refused_header(path, header | {"parameters": header["parameters"] | change}, problem)


@pytest.fixture
def covariance(path):
    save_model(CorrectedCovariance(corrections=["decoupling", "shrinkage"]).fit(X), path)
    return path


INVERSES = [
    ("covariance_", np.ones((5, 6)), "covariance_ must be a square matrix"),
    ("covariance_", np.ones(6), "covariance_ must be a square matrix"),
    ("covariance_", np.eye(6, dtype=int), "covariance_ must hold floats"),
    ("covariance_", np.full((6, 6), np.nan), "covariance_ must hold finite numbers"),
    ("covariance_", np.diag([1.0, 1, 1, 1, 1, 0]), "covariance_ must be symmetric and pos"),
    ("covariance_", np.eye(6) + 0.1 * np.eye(6, k=1), "covariance_ must be symmetric and pos"),
    (
        "covariance_",
        np.where(np.eye(6), 1e-300, 1e308),
        "covariance_ must be symmetric and positive definite",
    ),
    ("covariance_", 2 - np.eye(6), "covariance_ must be symmetric and pos"),
    ("covariance_", np.ones((6, 6)), "precision_ must be the inverse of covariance_"),
    ("precision_", np.eye(5), r"precision_ must have shape \(6, 6\), not \(5, 5\)"),
    ("precision_", np.eye(6), "precision_ must be the inverse of covariance_"),
    ("precision_", np.full((6, 6), 1e308), "precision_ must be the inverse of covariance_"),
    ("location_", np.zeros(5), r"location_ must have shape \(6,\), not \(5,\)"),
]


def test_what_is_no_covariance_and_its_inverse_is_refused(covariance):
    for name, array, problem in INVERSES:
        refused(covariance, {f"{name}.npy": npy(array)}, problem)


def test_a_changed_search_for_a_covariance_is_refused(covariance):
    fitted = header_of(covariance)["fitted"]
    first, *others = fitted["steps_"]
    assert min(first["strengths"]) > 0  # and yet it is a step
    for change in ({"unit": ""}, {"unit": "bits"}, {"correction": "tempering"}, {"strengths": [-1.0]}):
        refused_numbers(covariance, {"steps_": [first | change, *others]}, r"steps_\[0\] is not a step")
    candidates = fitted["candidates_"]
    for change, problem in [
        (candidates[::-1], "candidates_ must begin with Ledoit-Wolf"),
        ([one | {"tempering": 0.5} for one in candidates], "candidates_ must hold strengths by the names"),
        ([one | {"shrinkage": -1.0} for one in candidates], "candidates_ must hold strengths by the names"),
    ]:
        refused_numbers(covariance, {"candidates_": change}, problem)


def test_risks_are_nan_only_where_nothing_was_held_out(covariance, tmp_path):
    risks = np.load(io.BytesIO(members(covariance)["cv_risk_.npy"]))
    refused(covariance, {"cv_risk_.npy": npy(risks * np.nan)}, "cv_risk_ must hold finite numbers")
    save_model(CorrectedCovariance().fit(X[:3]), tmp_path / "three.npz")
    assert np.isnan(load_model(tmp_path / "three.npz").cv_risk_).all()


class Trap:
    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_a_pickle_is_never_opened(saved):
    buffer = io.BytesIO()
    np.save(buffer, np.array([[Trap()]], dtype=object), allow_pickle=True)
    rewrite(saved, members(saved) | {"components_.npy": buffer.getvalue()})
    with pytest.raises(ModelFileError, match=r"components_.npy is damaged .* not a plain array"):
        load_model(saved)
    saved.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(
        ModelFileError, match=r"model.npz is not a model file .*: it does not end as a zip file does"
    ):
        load_model(saved)
    assert not Trap.sprung


def test_members_that_do_not_belong_are_refused(saved):
    contents = members(saved)
    rewrite(saved, contents | {"more.npy": npy(np.zeros(2))})
    with pytest.raises(ModelFileError, match=r"wrong or missing: 'more.npy'"):
        load_model(saved)
    rewrite(saved, {name: content for name, content in contents.items() if name != "mean_.npy"})
    with pytest.raises(ModelFileError, match=r"wrong or missing: 'mean_.npy'"):
        load_model(saved)
    rewrite(saved, {"x.npy": npy(np.zeros(2))})
    with pytest.raises(ModelFileError, match=r"it has no model.json"):
        load_model(saved)
    rewrite(saved, contents | {"model.json": b"{"})
    with pytest.raises(ModelFileError, match="not valid JSON"):
        load_model(saved)


def test_scales_that_were_saved_may_not_be_missing(path):
    save_model(CorrectedPCA(2, scale=True).fit(X), path)
    rewrite(path, {name: content for name, content in members(path).items() if name != "scale_.npy"})
    with pytest.raises(ModelFileError, match=r"'scale_.npy' is not the array that was saved"):
        load_model(path)


def test_every_damaged_byte_of_a_file_is_noticed_or_harmless(saved):
    """Flip one bit at a time, all over the file: load the same numbers or say that it is damaged."""
    whole, expected = saved.read_bytes(), load_model(saved).transform(X)
    refused = 0
    for place in range(0, len(whole), 7):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            scores = load_model(saved).transform(X)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(scores, expected)
    assert refused > 0
    for end in range(0, len(whole), 97):
        saved.write_bytes(whole[:end])
        with pytest.raises(ModelFileError):
            load_model(saved)


TEXTS = [
    (b"{", "not valid JSON"),
    (b"\xff\xfe{}", "not valid JSON .*utf-8"),
    (b"[" * 100_000, "not valid JSON"),
    (b"[" * 9 + b"]" * 9, "nested too deep"),
    (b'{"a": 1, "a": 2}', "a key is there twice"),
    (b'{"a": NaN}', "a number is not finite"),
    (b'{"a": -Infinity}', "a number is not finite"),
    (b'{"a": 1e999}', "a number is not finite"),
    (b'{"a": 9223372036854775808}', "an integer has more than 64 bits"),
    (b"1" * 5000, "not valid JSON"),
    (b'{"a": "\\ud800"}', "not valid JSON .*surrogates"),
    (b"[]", "does not say 'attenua-model'"),
    (b"", "not valid JSON"),
]


def test_json_that_is_not_ours(saved):
    for content, problem in TEXTS:
        sentence = refused(saved, {"model.json": content}, problem)
        assert len(sentence) < 500
        sentence.encode()


def test_zeros_are_not_inflated_before_the_refusal(saved):
    """128 MB of zeros, which pack to 128 kB; the size is what the header says."""
    contents = members(saved)
    columns = 2**23
    header = npy(np.lib.stride_tricks.as_strided(np.zeros(1), (2, columns), (0, 0)))[:128]
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            if name != "components_.npy":
                archive.writestr(name, content)
        with archive.open("components_.npy", "w") as member:
            member.write(header)
            for _ in range(16 * columns // 2**20):
                member.write(bytes(2**20))
    assert saved.stat().st_size < 2**20
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"is compressed, as in version 2 .*; fit the model again"):
            load_model(saved)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ModelFileError, match=r"none.npz cannot be read: No such file"):
        load_model(tmp_path / "none.npz")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path)
