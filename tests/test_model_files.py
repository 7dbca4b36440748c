"""A saved model transforms as before, is plain data, and is believed only after it was checked."""

import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.model_files import ModelFileError, load_model, save_model
from tests.helpers import spiked_rows

X = spiked_rows(40, 6)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model",
    [
        AttenuatedPCA(2, alpha=0.3),
        AttenuatedPCA(3, feature_groups=[[0, 1], [2, 3, 4], [5]], whiten=True),
        AttenuatedPCACV(2),
        AttenuatedPCACV(0.8, alphas=np.array([0.1, 0.4]), cv=3, n_repeats=2, random_state=1, whiten=True),
        CorrectedPCA(2, attenuation=0.3, tempering=0.5, row_tempering=0.5, damping=0.25),
        CorrectedPCA(2, smoothing=0.8, neighbours=(2, 3), feature_groups=list("aabbcc"), whiten=True),
        CorrectedPCACV(2, neighbours=(2, 3), guard=0),
        CorrectedPCACV(2, corrections=("tempering", "attenuation"), cv=4, whiten=True),
        CorrectedPCACV(
            2, corrections={"smoothing": np.array([0.7, 3.0])}, neighbours=np.eye(6, k=1) + np.eye(6, k=-1)
        ),
        CorrectedPCACV(2, corrections=[]),
    ],
)
def test_a_loaded_model_is_the_saved_one(path, model, dtype):
    rows = X.astype(dtype)
    model.fit(rows)
    save_model(model, path)
    loaded = load_model(path)
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows), strict=True)
    scores = model.transform(rows)
    np.testing.assert_array_equal(loaded.inverse_transform(scores), model.inverse_transform(scores))
    for name, value in vars(model).items():
        if name.endswith("_"):
            found = getattr(loaded, name)
            assert type(found) is type(value), name
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(found, value)
            else:
                assert found == value, name
    again = type(loaded)(**loaded.get_params()).fit(rows)
    np.testing.assert_array_equal(again.transform(rows), scores)


def test_names_are_kept_and_checked(path):
    frame = pd.DataFrame(X, columns=[f"<b>{i}" for i in range(6)])
    save_model(AttenuatedPCACV(2).fit(frame), path)
    loaded = load_model(path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"<b>0": "other"}))


def test_a_splitter_is_kept_as_text_and_is_not_fitted_again(path):
    model = AttenuatedPCACV(2, cv=KFold(4), random_state=np.random.RandomState(0)).fit(X)
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.cv == repr(model.cv)
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        loaded.fit(X)


def test_neighbours_as_a_sparse_matrix_are_kept_as_text_and_not_fitted_again(path):
    line = sp.diags_array([np.ones(5)] * 2, offsets=[-1, 1])
    for model in (CorrectedPCA(2, smoothing=0.5, neighbours=line), CorrectedPCACV(2, neighbours=line)):
        save_model(model.fit(X), path, force=True)
        loaded = load_model(path)
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
        assert loaded.neighbours == repr(line)
        with pytest.raises(ValueError, match="neighbours must be None, 'line'"):
            loaded.fit(X)


def test_a_parameter_that_json_has_no_word_for_is_kept_as_text(path):
    model = CorrectedPCACV(2, corrections=[]).fit(X).set_params(guard=np.inf)
    save_model(model, path)
    assert load_model(path).guard == "inf"


def strict_json(text):
    """JSON as its standard has it, without NaN and Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_steps_without_a_standard_error(path):
    one_split = CorrectedPCACV(2, cv=[(range(30), range(30, 40))]).fit(X)
    assert all(np.isnan(step.standard_error) for step in one_split.steps_)
    save_model(one_split, path)
    strict_json(members(path)["model.json"])
    assert load_model(path).steps_ == one_split.steps_


def test_the_file_is_plain_data_and_the_same_every_time(path, tmp_path):
    model = AttenuatedPCACV(2).fit(X)
    save_model(model, path)
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["components_"], model.components_)
        assert json.loads(arrays["model.json"])["class"] == "AttenuatedPCACV"
    save_model(AttenuatedPCACV(2).fit(X), tmp_path / "again.npz")
    assert path.read_bytes() == (tmp_path / "again.npz").read_bytes()


@pytest.mark.parametrize("model", [AttenuatedPCACV(2, alphas=[0, 0.5]), CorrectedPCACV(2)])
def test_every_fitted_attribute_is_in_the_file_under_its_name(path, model):
    save_model(model.fit(X), path)
    with np.load(path, allow_pickle=False) as arrays:
        header = json.loads(arrays["model.json"])
        stored = {*arrays.files, *header["fitted"]} - {"model.json"}
    assert stored == set(type(model)._fitted)
    assert stored == {name for name in vars(model) if name.endswith("_")} - {"n_features_in_"}


def test_only_force_replaces_a_file(path):
    save_model(AttenuatedPCA(2, alpha=0.5).fit(X), path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"model.npz exists already"):
        save_model(AttenuatedPCA(1, alpha=0.5).fit(X), path)
    assert path.read_bytes() == before
    save_model(AttenuatedPCA(1, alpha=0.5).fit(X), path, force=True)
    assert load_model(path).n_components_ == 1


def test_what_cannot_be_saved(path):
    with pytest.raises(ValueError, match=r"only AttenuatedPCA, .* and CorrectedPCACV can be saved; got PCA"):
        save_model(PCA(2).fit(X), path)
    with pytest.raises(NotFittedError):
        save_model(AttenuatedPCA(2, alpha=0.5), path)
    assert not path.exists()


# --- files that are not what they say ---------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "other"}, "does not say 'attenua-model'"),
        ({"version": 1}, "has version 1 of the model format; this attenua reads version 2"),
        ({"version": 3}, "has version 3 of the model format; this attenua reads version 2"),
        ({"class": "os.system"}, "holds a 'os.system', which this attenua does not know"),
        ({"class": "AttenuatedPCA"}, r"wrong or missing: alphas_.npy"),
        ({"fitted": None}, "the fitted numbers are missing"),
        ({"fitted": {}}, "must be of type"),
        ({"feature_names": ["a"]}, "feature_names must name each of the 6 columns"),
        ({"feature_names": [1, 2, 3, 4, 5, 6]}, "feature_names must name each"),
        ({"parameters": {}}, "parameters must be alphas, cv"),
        ({"parameters": None}, "parameters are missing"),
        ({"parameters_as_text": {"cv": 5}}, "parameters must be alphas, cv"),
    ],
)
def test_a_changed_header_is_refused(saved, change, problem):
    refused_header(saved, lambda header: header | change, problem)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"alpha_": 0.3}, "alpha_ must be one of alphas_"),
        ({"alpha_": "0.5"}, "alpha_ must be of type float"),
        ({"alpha_": float("nan")}, "alpha_ must be one of alphas_"),
        ({"gain_": 2.0}, "gain_ must be a number of at most 1"),
        ({"gain_": float("nan")}, "gain_ must be a number of at most 1"),
        ({"n_samples_": -1}, "n_samples_ must be an integer"),
        ({"n_samples_": True}, "n_samples_ must be of type int"),
        ({"n_components_": 3}, "n_components_ must be 2, as many as the components are"),
        ({"shortfall_": -0.1}, "shortfall_ must be a part, from 0 to 1"),
        ({"shortfall_": None}, "shortfall_ must be of type float"),
        ({"folds_": 5}, "folds_ must be of type str"),
        ({"verdict_": None}, "verdict_ must be of type str"),
    ],
)
def test_a_changed_number_is_refused(saved, change, problem):
    refused_header(saved, lambda header: header | {"fitted": header["fitted"] | change}, problem)


def refused_header(saved, change, problem):
    contents = members(saved)
    contents["model.json"] = json.dumps(change(json.loads(contents["model.json"]))).encode()
    rewrite(saved, contents)
    with pytest.raises(ModelFileError, match=problem) as caught:
        load_model(saved)
    assert str(saved) in str(caught.value)


@pytest.fixture
def searched(path):
    save_model(CorrectedPCACV(2, corrections=["tempering", "attenuation"]).fit(X), path)
    return path


NO_STRENGTHS = {"row_tempering": 0.0, "tempering": 0.0, "attenuation": 0.0, "damping": 0.0, "smoothing": 0.0}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"corrections_": None}, "corrections_ must be of type dict"),
        ({"corrections_": {}}, "corrections_ must be one of candidates_"),
        ({"corrections_": NO_STRENGTHS | {"tempering": 0.3}}, "corrections_ must be one of candidates_"),
        (
            {"corrections_": NO_STRENGTHS | {"tempering": float("nan")}},
            "corrections_ must be one of candidates_",
        ),
        ({"corrections_": NO_STRENGTHS | {"tempering": 0}}, "corrections_ must be one of candidates_"),
        ({"corrections_": NO_STRENGTHS | {"other": 0.0}}, "corrections_ must be one of candidates_"),
        ({"corrections_": dict(reversed(NO_STRENGTHS.items()))}, "corrections_ must be one of candidates_"),
        ({"choices_": {}}, "choices_ must be of type list"),
        ({"choices_": []}, "choices_ must be one of candidates_ for every split"),
        ({"choices_": [NO_STRENGTHS] * 4}, "choices_ must be one of candidates_ for every split"),
        ({"choices_": [NO_STRENGTHS] * 4 + [0.0]}, "choices_ must be one of candidates_ for every split"),
        ({"left_out_gain_": 1.1}, "left_out_gain_ must be a number of at most 1"),
        ({"left_out_gain_": float("-inf")}, "left_out_gain_ must be a number of at most 1"),
        ({"left_out_gain_": None}, "left_out_gain_ must be of type float"),
        ({"steps_": {}}, "steps_ must be of type list"),
        ({"steps_": [None]}, r"steps_\[0\] is not a step"),
        ({"steps_": [{"correction": "tempering"}]}, r"steps_\[0\] is not a step"),
    ],
)
def test_a_changed_search_is_refused(searched, change, problem):
    refused_header(searched, lambda header: header | {"fitted": header["fitted"] | change}, problem)


@pytest.mark.parametrize(
    "change",
    [
        {"correction": "other"},
        {"correction": ["tempering"]},
        {"strengths": 0.5},
        {"strengths": [0.0, 0.25, 0.5, float("nan")]},
        {"strengths": [0.0, 0.25, 0.5, 2.0]},
        {"strengths": [0.0, 0.5, 0.25, 1.0]},
        {"strengths": [0.25, 0.5, 0.75, 1.0]},
        {"strengths": ["0", "0.25", "0.5", "1"]},
        {"strengths": []},
        {"risks": [1.0]},
        {"risks": [1.0, 1.0, 1.0, -1.0]},
        {"risks": [1.0, 1.0, 1.0, "1"]},
        {"best": 0.3},
        {"best": None},
        {"gain": 2.0},
        {"gain": float("inf")},
        {"standard_error": -1.0},
        {"standard_error": "none"},
        {"needed": -1.0},
        {"needed": 1},
        {"taken": 1},
        {"why": None},
        {"more": 0.0},
    ],
    ids=str,
)
def test_a_changed_step_is_refused(searched, change):
    def changed(header):
        header["fitted"]["steps_"][0] |= change
        return header

    refused_header(searched, changed, r"steps_\[0\] is not a step of a search")


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("candidates_", np.zeros((3, 4)), "candidates_ must have 5 columns"),
        ("candidates_", np.zeros((0, 5)), "candidates_ must have 5 columns"),
        ("candidates_", np.zeros(5), "candidates_ must have 5 columns"),
        ("candidates_", np.ones((3, 5)), "candidates_ must begin with PCA"),
        ("candidates_", -np.eye(3, 5, k=-1), "candidates_ must hold strengths"),
        ("candidates_", 2 * np.eye(3, 5, k=-1), "candidates_ must hold strengths"),
        ("candidates_", np.array([[0.0] * 5, [0, 0, 0, 0, np.inf]]), "candidates_ must hold strengths"),
        ("candidates_", np.zeros((3, 5)), "cv_risk_ must be a risk per candidate"),
        ("cv_risk_", np.ones(3), "cv_risk_ must be a risk per candidate"),
        ("cv_risk_folds_", np.ones((5, 3)), "cv_risk_folds_ must be a risk per split and candidate"),
    ],
)
def test_a_changed_array_of_a_search_is_refused(searched, name, array, problem):
    rewrite(searched, members(searched) | {f"{name}.npy": npy(array)})
    with pytest.raises(ModelFileError, match=problem):
        load_model(searched)


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("components_", np.ones((2, 6)), "not orthonormal"),
        ("components_", np.eye(6)[:, :2], "no taller than wide"),
        ("components_", np.eye(6)[0], "no taller than wide"),
        ("components_", np.full((2, 6), np.inf), "must be finite"),
        ("components_", np.eye(6)[:2].astype(complex), "must hold real numbers"),
        ("components_", np.eye(6, dtype=int)[:2], "must hold real numbers"),
        ("mean_", np.zeros(5), r"mean_ must have shape \(6,\), not \(5,\)"),
        ("mean_", np.full(6, np.nan), "none of them NaN"),
        ("mean_", np.zeros(6, dtype=np.float32), "of the type of the components"),
        ("explained_variance_", -np.ones(2), "explained_variance_ must not be negative"),
        ("noise_variance_", np.zeros(1), "noise_variance_ must have shape"),
        ("alphas_", np.array([0.5, 0.0]), "alphas_ must increase from 0"),
        ("alphas_", np.array([0.0, 1.5]), "alphas_ must increase from 0, up to 1"),
        ("cv_risk_", np.ones((1, 2)), "cv_risk_ must be a risk per strength"),
        ("cv_risk_", np.ones(3), "cv_risk_ must be a risk per strength"),
        ("cv_risk_folds_", np.ones((5, 3)), "cv_risk_folds_ must be a risk per split"),
        ("cv_risk_folds_", -np.ones((5, 2)), "cv_risk_folds_ must be a risk per split"),
    ],
)
def test_a_changed_array_is_refused(saved, name, array, problem):
    rewrite(saved, members(saved) | {f"{name}.npy": npy(array)})
    with pytest.raises(ModelFileError, match=problem):
        load_model(saved)


def test_as_many_choices_as_splits(searched):
    folds = load_model(searched).cv_risk_folds_
    rewrite(searched, members(searched) | {"cv_risk_folds_.npy": npy(folds[:4])})
    with pytest.raises(ModelFileError, match="choices_ must be one of candidates_ for every split"):
        load_model(searched)


class Trap:
    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_a_pickle_is_never_opened(saved):
    buffer = io.BytesIO()
    np.save(buffer, np.array([[Trap()]], dtype=object), allow_pickle=True)
    rewrite(saved, members(saved) | {"components_.npy": buffer.getvalue()})
    with pytest.raises(ModelFileError, match="the array components_ cannot be read"):
        load_model(saved)
    saved.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_model(saved)
    assert not Trap.sprung


def test_members_that_do_not_belong_are_refused(saved):
    contents = members(saved)
    rewrite(saved, contents | {"more.npy": npy(np.zeros(2))})
    with pytest.raises(ModelFileError, match=r"wrong or missing: more.npy"):
        load_model(saved)
    rewrite(saved, {name: content for name, content in contents.items() if name != "mean_.npy"})
    with pytest.raises(ModelFileError, match=r"wrong or missing: mean_.npy"):
        load_model(saved)
    rewrite(saved, {"x.npy": npy(np.zeros(2))})
    with pytest.raises(ModelFileError, match=r"it has no model.json"):
        load_model(saved)
    rewrite(saved, contents | {"model.json": b"{"})
    with pytest.raises(ModelFileError, match="not valid JSON"):
        load_model(saved)


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


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ModelFileError, match=r"none.npz cannot be read: No such file"):
        load_model(tmp_path / "none.npz")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path)
