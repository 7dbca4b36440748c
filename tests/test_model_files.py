"""A saved model works as before, is plain data, and is believed only after it was checked."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from attenua.model_files import ModelFileError, load_model, save_model
from model_files import example, outcome, packed, saved, unpacked, valid_files
from tests.helpers import spiked_rows

X = spiked_rows(40, 6)
FRAME = pd.DataFrame(np.where(np.arange(240).reshape(40, 6) % 7, X, np.nan), columns=[*"abcde", "<b>"])
LINE = np.eye(6, k=1) + np.eye(6, k=-1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def kept(model, path):
    save_model(model, path, force=True)
    return load_model(path)


def same_attributes(loaded, model):
    assert type(loaded) is type(model)
    names = {name for name in vars(model) if name.endswith("_")}
    assert names == {name for name in vars(loaded) if name.endswith("_")}
    for name in names:
        found, value = getattr(loaded, name), getattr(model, name)
        assert type(found) is type(value), name
        if isinstance(value, np.ndarray | float):
            np.testing.assert_array_equal(found, value, strict=isinstance(value, np.ndarray))
        else:
            assert found == value, name


MODELS = [
    AttenuatedPCA(2, alpha=0.3),
    AttenuatedPCA(3, feature_groups=[[0, 1], [2, 3, 4], [5]], whiten=True),
    AttenuatedPCACV(2),
    AttenuatedPCACV(0.8, alphas=np.array([0.1, 0.4]), cv=3),
    CorrectedPCA(2, attenuation=0.3, tempering=0.5, row_tempering=0.5, damping=np.float64(0.25)),
    CorrectedPCA(2, smoothing=0.8, neighbours=sp.csr_matrix(LINE), whiten=True),
    CorrectedPCA(2, borrowing=0.5, reference=X[:9] + 1.0, scale=True),
    CorrectedPCACV(2, corrections={"smoothing": np.array([0.7, 3.0])}, neighbours=LINE),
    CorrectedPCACV(2, corrections=("tempering", "attenuation"), cv=[(range(30), range(30, 40))]),
    CorrectedPCACV(6, corrections=[]),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS)
def test_a_loaded_model_is_the_saved_one(path, model, dtype):
    rows = X.astype(dtype)
    scores = model.fit(rows, sample_weight=np.arange(40) / 7).transform(rows)
    loaded = kept(model, path)
    same_attributes(loaded, model)
    np.testing.assert_array_equal(loaded.transform(rows), scores, strict=True)
    np.testing.assert_array_equal(loaded.inverse_transform(scores), model.inverse_transform(scores))
    assert loaded.score(rows) == model.score(rows)
    assert loaded.mean_.flags.writeable
    again = loaded.fit(rows, sample_weight=np.arange(40) / 7)  # its parameters are the same
    if model.get_params().get("reference") is None:  # or a covariance in place of the rows
        np.testing.assert_array_equal(again.transform(rows), scores)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("model", "n"),
    [
        (CorrectedCovariance(nested=True), 40),
        (CorrectedCovariance(neighbours=(2, 3), corrections={"smoothing": (0.7,), "shrinkage": [0.1]}), 30),
        (CorrectedCovariance(), 3),  # nothing is held out, and risks are NaN
        (CorrectedCovariance(), 2),  # singular up to rounding
    ],
)
def test_a_loaded_covariance_is_the_saved_one(path, model, n, dtype):
    rows = (X[:n] * np.logspace(-6, 6, 6)).astype(dtype)
    loaded = kept(model.fit(rows), path)
    same_attributes(loaded, model)
    np.testing.assert_array_equal(loaded.mahalanobis(rows), model.mahalanobis(rows))
    assert loaded.score(rows) == model.score(rows)
    np.testing.assert_array_equal(loaded.impute(FRAME.values), model.impute(FRAME.values))
    same_attributes(loaded.fit(rows), model)


def test_the_order_in_memory_changes_no_bit(path):
    """Products of one row and components may depend on whether these lie by rows or by columns."""
    rows = np.random.default_rng(0).standard_normal((50, 300))
    model = CorrectedPCA(10).fit(rows)
    np.testing.assert_array_equal(kept(model, path).transform(rows[:1]), model.transform(rows[:1]))


@pytest.mark.parametrize("most_columns", [4000, 5])
@pytest.mark.parametrize("model", [AttenuatedPCA(2), CorrectedPCACV(2, scale=True)])
def test_cells_are_filled_if_they_were_before(path, model, most_columns, monkeypatch):
    monkeypatch.setattr("attenua.imputing.MOST_COLUMNS", most_columns)
    loaded = kept(model.fit(FRAME), path)
    with pytest.raises(ValueError, match="a model that was saved before its first impute"):
        loaded.impute(FRAME)
    filled, deviations = model.impute(FRAME, return_std=True)
    again = kept(kept(model, path), path)
    found, of_found = again.impute(FRAME, return_std=True)
    pd.testing.assert_frame_equal(found, filled, check_exact=True)
    np.testing.assert_array_equal(of_found, deviations)


def test_names_are_kept_and_checked(path):
    loaded = kept(AttenuatedPCACV(2).fit(FRAME), path)
    assert list(loaded.feature_names_in_) == [*FRAME.columns]
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(FRAME.rename(columns={"<b>": "other"}))


def test_a_splitter_is_kept_as_text_and_is_not_fitted_again(path):
    model = AttenuatedPCACV(2, cv=KFold(4)).fit(X).set_params(n_jobs=np.inf)
    loaded = kept(model, path)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert (loaded.cv, loaded.n_jobs) == (repr(model.cv), "inf")
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        loaded.fit(X)


def test_sparse_and_dense_neighbours_stay_what_they_are(path):
    assert isinstance(kept(CorrectedPCA(2, neighbours=LINE).fit(X), path).neighbours, np.ndarray)
    assert sp.issparse(kept(CorrectedPCA(2, neighbours=sp.coo_array(LINE)).fit(X), path).neighbours)


def test_the_file_is_plain_data_and_the_same_every_time(path):
    model = AttenuatedPCACV(2).fit(X)
    content = saved(model)
    np.testing.assert_array_equal(safetensors.numpy.load(content)["components_"], model.components_)
    header, arrays = unpacked(content)
    assert header["class"] == "AttenuatedPCACV"
    assert {*arrays, *header["fitted"], "scale_"} == set(AttenuatedPCACV._fitted)
    assert content == saved(AttenuatedPCACV(2).fit(X))


def test_only_force_replaces_a_file(path):
    save_model(AttenuatedPCA(2).fit(X), path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"model.safetensors exists; force=True replaces it"):
        save_model(AttenuatedPCA(1).fit(X), path)
    assert path.read_bytes() == before
    assert kept(AttenuatedPCA(1).fit(X), path).n_components_ == 1  # with force


def test_what_cannot_be_saved(path):
    with pytest.raises(ValueError, match=r"only AttenuatedPCA, .* can be saved; got PCA"):
        save_model(PCA(2).fit(X), path)
    with pytest.raises(NotFittedError):
        save_model(AttenuatedPCA(2), path)
    model = AttenuatedPCA(2).fit(X)
    model.mean_ = np.full(6, np.nan)
    with pytest.raises(ValueError, match="this AttenuatedPCA cannot be saved: mean_ must hold finite"):
        save_model(model, path)
    assert not path.exists()


# --- refused ----------------------------------------------------------------------------------------------


def refused(path, content, problem):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=problem) as caught:
        load_model(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def set_in(*keys, value):
    """A change of one place in the JSON and the arrays."""

    def change(header, arrays):
        place = {**header, "arrays": arrays} if keys[0] == "arrays" else header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def array(name, value):
    return set_in("arrays", name, value=np.asarray(value))


def fitted(*keys, value):
    return set_in("fitted", *keys, value=value)


PCA_FAULTS = [
    (set_in("version", value=5), "it has version 5 of the format, not 6; fit the model again"),
    (set_in("version", value=[]), r"it has version \[\] of the format"),
    (set_in("class", value="os.system"), "attenua saves no 'os.system'"),
    (set_in("class", value=1), "its JSON must hold version, class"),
    (set_in("class", value="AttenuatedPCACV"), "it must hold the arrays alphas_"),
    (set_in("names", value=["a"]), "names must name each of the 6 columns"),
    (set_in("parameters", "more", value=1), "CorrectedPCACV has no parameter 'more'"),
    (set_in("parameters", "scale", value="no"), "scale must be True or False"),
    (array("parameter.more", X), "CorrectedPCACV has no parameter 'more'"),
    (array("parameter.neighbours", np.ones((2, 6))), "neighbours must hold rows, columns and values"),
    (array("parameter.neighbours", np.full((3, 1), 6.0)), "index"),
    (array("more", X), "it holds an unknown array 'more'"),
    (array("law.noise", np.ones(6)), "it holds another law"),
    (lambda header, arrays: arrays.pop("mean_"), "it must hold the arrays components_"),
    (array("components_", np.eye(6)[:2].astype(int)), "floats of 32 or 64 bits, not int64"),
    (array("components_", np.eye(6)[0]), r"components_ has shape \(6,\)"),
    (array("components_", np.ones((2, 6))), "components_ must be orthonormal"),
    (array("mean_", np.zeros(5)), r"(mean_|components_) has shape .* does not fit the other arrays"),
    (array("mean_", np.zeros(6, np.float32)), "mean_ must be of type float64, not float32"),
    (array("mean_", np.full(6, np.nan)), "mean_ must hold finite numbers"),
    (array("scale_", np.zeros(6)), "scale_ must be positive"),
    (array("noise_variance_", -1.0), "noise_variance_ must not be negative"),
    (array("explained_variance_", [-1.0, -1.0]), "singular_values_ must decrease and agree"),
    (array("explained_variance_", [1.0, 2.0]), "singular_values_ must decrease and agree"),
    (array("singular_values_", [2.0, 2.0]), "singular_values_ must decrease and agree"),
    (fitted("n_components_", value=3), "n_components_ must count components_"),
    (fitted("n_samples_", value=0), "n_samples_ must be at least 1"),
    (fitted("n_samples_", value=True), "n_samples_ must be a int"),
    (fitted("more_", value=0), "it must hold the numbers candidates_"),
    (fitted("left_out_gain_", value="0"), "left_out_gain_ must be a float"),
    (fitted("choices_", 0, "tempering", value=0.3), "choices_ must be some of candidates_"),
    (fitted("choices_", 0, "other", value=0.0), "strengths must have the names of corrections"),
    (fitted("candidates_", 0, "tempering", value=9.0), "tempering must be a number from 0 to 1"),
    (fitted("candidates_", value=[{}]), "candidates_ must have a risk each"),
    (fitted("choice_weights_", 0, value=0.01), "choice_weights_ must hold a weight for each of choices_"),
    (fitted("steps_", 0, "why", value=None), "steps_ must be a table of the steps of a search"),
]
COVARIANCE_FAULTS = [
    (
        array("covariance_", np.ones((6, 6)) - np.eye(6)),
        "covariance_ must be symmetric and positive definite",
    ),
    (array("covariance_", 2 - np.eye(6)), "covariance_ must be symmetric and positive definite"),
    (array("covariance_", np.eye(6) + 0.1 * np.eye(6, k=1)), "covariance_ must be symmetric and positive"),
    (array("covariance_", np.ones((5, 6))), r"covariance_ has shape \(5, 6\)"),
    (array("precision_", np.eye(6)), "precision_ must be the inverse of covariance_"),
    (array("precision_", np.full((6, 6), 1e308)), "precision_ must be the inverse of covariance_"),
    (array("location_", np.zeros(6, np.float32)), "location_ must be of type float64, not float32"),
    (fitted("choices_", 0, "tempering", value=0.0), "strengths must have the names of corrections"),
]
OTHER_FAULTS = [
    (AttenuatedPCACV(2), fitted("alpha_", value=0.123), "alpha_ must be one of alphas_"),
    (CorrectedPCA(2), set_in("parameters", "tempering", value="x"), "tempering must be a number from 0 to 1"),
]


@pytest.fixture(scope="module")
def valid():
    """Two files that were saved: of a subspace with neighbours and of a covariance."""
    model = CorrectedPCACV(2, corrections=["tempering"], neighbours=sp.csr_array(LINE))
    return saved(model.fit(X * [1, 1, 2, 2, 3, 3])), saved(CorrectedCovariance().fit(X))


def test_a_file_with_one_fault_is_refused(path, valid):
    cases = [(valid[0], *case) for case in PCA_FAULTS] + [(valid[1], *case) for case in COVARIANCE_FAULTS]
    cases += [(saved(model.fit(X)), *case) for model, *case in OTHER_FAULTS]
    for content, change, problem in cases:
        header, arrays = unpacked(content)
        change(header, arrays)
        refused(path, packed(header, arrays), problem)


def test_a_law_with_a_fault_is_refused(path, monkeypatch):
    model = CorrectedPCA(2).fit(FRAME)
    model.impute(FRAME)
    header, arrays = unpacked(saved(model))
    wrong = arrays | {"law.covariance_": 2 - np.eye(6)}
    refused(path, packed(header, wrong), "covariance_ must be symmetric and positive definite")
    monkeypatch.setattr("attenua.imputing.MOST_COLUMNS", 5)
    model.fit(FRAME).impute(FRAME)
    header, arrays = unpacked(saved(model))
    refused(path, packed(header, arrays | {"law.noise": np.zeros(6)}), "noise of law must be positive")
    refused(path, packed(header, arrays | {"law.mean": np.full(6, np.nan)}), "law.mean must hold finite")


def test_every_changed_bit_is_noticed(path, valid):
    for content in valid:
        for place in range(0, len(content), 7):
            changed = bytearray(content)
            changed[place] ^= 0x10
            refused(path, bytes(changed), "is not a model file that this attenua reads: ")
        for end in range(0, len(content), 97):
            refused(path, content[:end], "it is damaged, or not in the format safetensors")


def test_files_of_another_kind(path):
    refused(path, b"", "it is damaged, or not in the format safetensors")
    refused(path, b"\x80\x04K\x01.", "it is damaged, or not in the format safetensors")  # a pickle
    refused(path, safetensors.numpy.save({"weights": X}), "attenua did not write it")
    for text, problem in (("{", "Expecting"), ("[" * 100_000, "recursion"), ("[]", "it has version None")):
        refused(path, safetensors.numpy.save({"a": X}, {"attenua-model": text}), problem)


def test_paths_that_hold_no_file(path, tmp_path):
    with pytest.raises(ModelFileError, match=r"model.safetensors cannot be read: No such file"):
        load_model(path)
    with pytest.raises(ModelFileError, match="it is not an ordinary file"):
        load_model(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        with pytest.raises(ModelFileError, match="it is not an ordinary file"):  # and nobody waits
            load_model(path)


def test_without_safetensors_a_sentence_says_how_to_install_it(path, valid, monkeypatch):
    path.write_bytes(valid[0])
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    for use in (load_model, lambda path: save_model(AttenuatedPCA(2).fit(X), path, force=True)):
        with pytest.raises(
            ModelFileError, match=r"model\.safetensors needs .*pip install 'attenua\[models\]'"
        ):
            use(path)


def test_hostile_files_load_to_a_model_that_works_or_are_refused(path):
    """A fixed number of the files that ``fuzz/model_files.py`` makes without end."""
    assert {outcome(content, path) for content in valid_files()} == {"loaded"}
    seen = {"loaded": set(), "refused": set()}
    for number in range(300):
        kind, content = example(number)
        seen[outcome(content, path)].add(kind)
    assert {"settings", "value"} <= seen["loaded"]
    assert len(seen["refused"]) == 8
    assert example(3) == example(3) != example(4)
