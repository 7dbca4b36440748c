"""A saved model transforms as before, is plain data, and is believed only after it was checked."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from attenua.model_files import load_model, save_model
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
        AttenuatedPCACV(0.8, alphas=np.array([0.1, 0.4]), cv=3, whiten=True),
        CorrectedPCA(2, attenuation=0.3, tempering=0.5, row_tempering=0.5, damping=0.25),
        CorrectedPCA(2, smoothing=0.8, neighbours=(2, 3), whiten=True),
        CorrectedPCACV(2, neighbours=(2, 3)),
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
    same_attributes(loaded, model)
    again = type(loaded)(**loaded.get_params()).fit(rows)
    np.testing.assert_array_equal(again.transform(rows), scores)


def same_attributes(loaded, model):
    for name, value in vars(model).items():
        if name.endswith("_"):
            found = getattr(loaded, name)
            assert type(found) is type(value), name
            if isinstance(value, np.ndarray | float):
                np.testing.assert_array_equal(found, value, strict=isinstance(value, np.ndarray))
            else:
                assert found == value, name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("model", "n"),
    [
        (CorrectedCovariance(nested=True), 40),
        (CorrectedCovariance(neighbours=(2, 3), corrections={"smoothing": (0.7,), "shrinkage": [0.1]}), 30),
        (CorrectedCovariance(corrections=["decoupling"], cv=3, assume_centered=True), 5),
        (CorrectedCovariance(), 3),  # nothing is held out, and risks are NaN
    ],
)
def test_a_loaded_covariance_is_the_saved_one(path, model, n, dtype):
    rows = X[:n].astype(dtype)
    save_model(model.fit(rows), path)
    loaded = load_model(path)
    same_attributes(loaded, model)
    np.testing.assert_array_equal(loaded.mahalanobis(rows), model.mahalanobis(rows))
    assert loaded.score(X) == model.score(X)
    with zipfile.ZipFile(path) as archive:
        strict_json(archive.read("model.json"))
    same_attributes(loaded.fit(rows), model)


def test_a_covariance_that_is_singular_up_to_rounding(path):
    """Two rows in very different units: in single precision, the inverse is one up to rounding only."""
    model = CorrectedCovariance().fit((X[:2] * np.logspace(-6, 6, 6)).astype(np.float32))
    save_model(model, path)
    same_attributes(load_model(path), model)


@pytest.mark.parametrize(
    "model", [AttenuatedPCACV(2), CorrectedPCACV(2, scale=True), CorrectedCovariance(cv=3), CorrectedPCA(2)]
)
def test_a_model_of_weighted_rows_is_the_saved_one(path, model):
    model.fit(X, sample_weight=np.arange(40) / 7)
    save_model(model, path)
    same_attributes(load_model(path), model)


def test_names_are_kept_and_checked(path):
    frame = pd.DataFrame(X, columns=[f"<b>{i}" for i in range(6)])
    save_model(AttenuatedPCACV(2).fit(frame), path)
    loaded = load_model(path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"<b>0": "other"}))


def test_a_splitter_is_kept_as_text_and_is_not_fitted_again(path):
    model = AttenuatedPCACV(2, cv=KFold(4)).fit(X)
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.cv == repr(model.cv)
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        loaded.fit(X)


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_arrays_of_parameters_are_kept_and_can_be_fitted_again(form, path):
    line = sp.diags_array([np.ones(5)] * 2, offsets=[-1, 1])
    given = line if form == "sparse" else line.toarray()
    for model in (CorrectedPCA(2, smoothing=0.5, neighbours=given), CorrectedPCACV(2, neighbours=given)):
        save_model(model.fit(X), path, force=True)
        loaded = load_model(path)
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
        assert sp.issparse(loaded.neighbours) == (form == "sparse")
        np.testing.assert_array_equal(loaded.fit(X).components_, model.components_)


def test_a_parameter_that_json_has_no_word_for_is_kept_as_text(path):
    model = CorrectedPCACV(2, corrections=[]).fit(X).set_params(n_jobs=np.inf)
    save_model(model, path)
    assert load_model(path).n_jobs == "inf"


def strict_json(text):
    """JSON as its standard has it, without NaN and Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_steps_without_a_standard_error(path):
    one_split = CorrectedPCACV(2, cv=[(range(30), range(30, 40))]).fit(X)
    assert all(np.isnan(step.standard_error) for step in one_split.steps_)
    save_model(one_split, path)
    with zipfile.ZipFile(path) as archive:
        strict_json(archive.read("model.json"))
    assert load_model(path).steps_ == one_split.steps_


def test_a_file_of_before_steps_had_a_unit(path):
    model = CorrectedPCACV(2).fit(X)
    save_model(model, path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["model.json"] = contents["model.json"].replace(b',\n    "unit": ""', b"")
    assert b"unit" not in contents["model.json"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    assert load_model(path).steps_ == model.steps_


def test_numbers_of_numpy_are_numbers_and_were_arrays_in_older_files(path):
    save_model(CorrectedPCA(2, damping=np.float64(0.5)).fit(X), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents["model.json"])
    assert header["parameters"].pop("damping") == 0.5
    del header["sums"]
    array = io.BytesIO()
    np.save(array, 0.5)
    contents["model.json"] = json.dumps(header | {"parameters_as_arrays": {"damping": ["values"]}}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**contents, "damping.values.npy": array.getvalue()}.items():
            archive.writestr(name, content)
    assert repr(load_model(path)).splitlines()[0] == "CorrectedPCA(damping=0.5, n_components=2)"


def test_risks_that_are_rounding_errors(path):
    X = np.random.default_rng(44).standard_normal((20, 2)) * [1e8, 1]
    with pytest.warns(UserWarning, match=r"lost to rounding|falls on a tie"):
        model = CorrectedPCACV(1, corrections=["tempering", "row_tempering"]).fit(X)
    assert min(risk for step in model.steps_ for risk in step.risks) == 0  # it was estimated below 0
    save_model(model, path)


def test_the_file_is_plain_data_and_the_same_every_time(path, tmp_path):
    model = AttenuatedPCACV(2).fit(X)
    save_model(model, path)
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["components_"], model.components_)
        assert json.loads(arrays["model.json"])["class"] == "AttenuatedPCACV"
    save_model(AttenuatedPCACV(2).fit(X), tmp_path / "again.npz")
    assert path.read_bytes() == (tmp_path / "again.npz").read_bytes()


@pytest.mark.parametrize(
    "model",
    [AttenuatedPCACV(2, alphas=[0, 0.5]), CorrectedPCACV(2, scale=True), CorrectedCovariance()],
)
def test_every_fitted_attribute_is_in_the_file_under_its_name(path, model):
    save_model(model.fit(X), path)
    with np.load(path, allow_pickle=False) as arrays:
        header = json.loads(arrays["model.json"])
        stored = {*arrays.files, *header["fitted"]} - {"model.json"}
    given = {name for name, value in vars(model).items() if name.endswith("_") and value is not None}
    assert stored == given - {"n_features_in_"}
    assert stored | {"scale_"} == set(type(model)._fitted) | {"scale_"}


def test_only_force_replaces_a_file(path):
    save_model(AttenuatedPCA(2, alpha=0.5).fit(X), path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"model.npz exists; force=True replaces it"):
        save_model(AttenuatedPCA(1, alpha=0.5).fit(X), path)
    assert path.read_bytes() == before
    save_model(AttenuatedPCA(1, alpha=0.5).fit(X), path, force=True)
    assert load_model(path).n_components_ == 1


def test_what_cannot_be_saved(path):
    with pytest.raises(ValueError, match=r"only AttenuatedPCA, .* can be saved; got PCA"):
        save_model(PCA(2).fit(X), path)
    with pytest.raises(NotFittedError):
        save_model(AttenuatedPCA(2, alpha=0.5), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mean_": np.full(6, np.nan)}, "mean_ must hold finite numbers"),
        ({"mean_": np.zeros(5)}, r"mean_ must have shape \(6,\), not \(5,\)"),
        ({"components_": np.ones((2, 6))}, "components_ must be orthonormal"),
        ({"n_samples_": 0}, "n_samples_ must be an integer of at least 1"),
        ({"feature_names_in_": np.array(["\ud800", *"bcdef"], object)}, "half of a surrogate pair"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(path, change, problem):
    model = AttenuatedPCA(2).fit(X)
    vars(model).update(change)
    with pytest.raises(ValueError, match=problem):
        save_model(model, path)
    assert not path.exists()


def test_an_integer_beyond_64_bits_is_kept_as_text(path):
    save_model(AttenuatedPCACV(2).fit(X).set_params(n_jobs=2**64), path)
    assert load_model(path).n_jobs == str(2**64)


def test_memory_order_is_kept_since_products_may_depend_on_it(path):
    model = AttenuatedPCA(2).fit(X)
    model.components_ = np.asfortranarray(model.components_)
    save_model(model, path)
    assert load_model(path).components_.flags.f_contiguous
    assert load_model(path).mean_.flags.writeable
    np.testing.assert_array_equal(load_model(path).components_, model.components_)


def test_a_link_to_a_file_is_followed(path, tmp_path):
    save_model(AttenuatedPCA(2).fit(X), path)
    try:
        (tmp_path / "link.npz").symlink_to(path)
    except OSError:
        pytest.skip("this system lets nobody make links")
    assert load_model(tmp_path / "link.npz").n_components_ == 2
