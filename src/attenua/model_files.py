"""Fitted models as plain data: arrays and one JSON text in a zip, never a pickle.

The file is an npz: ``numpy.load(path, allow_pickle=False)`` shows its arrays, ``unzip -p path model.json``
its settings. Loading builds the estimator from checked numbers and runs no code of the file.
"""

import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from attenua._correct.corrections import CORRECTIONS, checked_strength_of
from attenua._data.files import write_all_whole
from attenua._data.namespace import to_host
from attenua._estimate.fitted import Kind
from attenua._select.steps import Step, Steps
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCA, CorrectedPCACV

FORMAT, VERSION = "attenua-model", 2
_CLASSES: dict[str, Any] = {
    cls.__name__: cls for cls in (AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV)
}
_ARRAY_KINDS = (Kind.DATA, Kind.SCALAR, Kind.GRID)
_JSON_TYPES = {
    Kind.NUMBER: float,
    Kind.COUNT: int,
    Kind.TEXT: str,
    Kind.STRENGTHS: dict,
    Kind.CHOICES: list,
    Kind.STEPS: list,
}
_JSON = "model.json"
# A header that claims more than this is not one of ours.
_MOST_JSON_BYTES = 256 * 2**20


class ModelFileError(ValueError):
    """A model file that cannot be read, with a sentence that says why."""


def save_model(estimator: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Save a fitted `AttenuatedPCA`, `AttenuatedPCACV`, `CorrectedPCA` or `CorrectedPCACV` as plain data.

    Parameters
    ----------
    estimator : AttenuatedPCA, AttenuatedPCACV, CorrectedPCA or CorrectedPCACV
        Fitted. Parameters that are not plain data (a splitter given as ``cv``, a RandomState, a sparse matrix
        of neighbours) are stored as their text: the loaded model transforms as before, and refuses to be
        fitted again. Tuples come back as lists.
    path : path
        Where to write, usually ``model.npz``. Written whole or not at all.
    force : bool, default=False
        Replace a file that exists.

    See Also
    --------
    load_model : The way back.

    Notes
    -----
    Arrays of a model that was fitted on a device come to the host: the loaded model works on numpy arrays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from attenua import AttenuatedPCA, load_model, save_model
    >>> X = np.random.default_rng(0).standard_normal((20, 4))
    >>> pca = AttenuatedPCA(2).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.npz"
    ...     save_model(pca, path)
    ...     again = load_model(path)
    >>> bool((again.transform(X) == pca.transform(X)).all())
    True
    """
    write_all_whole({Path(path): model_bytes(estimator)}, force=force)


def model_bytes(estimator: Any) -> bytes:
    """Return the content of a model file; the same estimator always gives the same bytes."""
    name = type(estimator).__name__
    if _CLASSES.get(name) is not type(estimator):
        *others, last = _CLASSES
        raise ValueError(f"only {', '.join(others)} and {last} can be saved; got {name}.")
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "class": name,
        "parameters": {},
        "parameters_as_text": {},
        "fitted": {key: _as_json(getattr(estimator, key)) for key in _keys(name, *_JSON_TYPES)},
        "feature_names": None if names is None else [str(column) for column in names],
    }
    for key, value in estimator.get_params(deep=False).items():
        try:
            header["parameters"][key] = _plain(value)
        except TypeError:
            header["parameters_as_text"][key] = repr(value)
    arrays = {key: np.asarray(to_host(getattr(estimator, key))) for key in _keys(name, *_ARRAY_KINDS)}
    return _pack(header, arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save_model` wrote.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    AttenuatedPCA, AttenuatedPCACV, CorrectedPCA or CorrectedPCACV
        Fitted; its ``transform`` gives the numbers that the saved one gave, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is not such a model, is damaged, or holds numbers that no fit produces.

    See Also
    --------
    save_model : The way there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from attenua import AttenuatedPCA, load_model, save_model
    >>> pca = AttenuatedPCA(2).fit(np.random.default_rng(0).standard_normal((20, 4)))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.npz"
    ...     save_model(pca, path)
    ...     load_model(path)
    AttenuatedPCA(n_components=2)
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = _read_header(archive, path)
            arrays = _read_arrays(archive, header, path)
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise ModelFileError(f"{path} is not a model file, or is damaged: {error}.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from None
    return _build(header, arrays, path)


def _keys(name: str, *kinds: Kind) -> list[str]:
    """Return the fitted attributes of a class that are of some kinds."""
    return [key for key, kind in _CLASSES[name]._fitted.items() if kind in kinds]


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it, or raise TypeError."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError


def _as_json(value: Any) -> Any:
    """Return a fitted attribute that is not an array, as JSON can hold it; an error of NaN is null there."""
    if not isinstance(value, Steps):
        return value
    return [
        record | ({"standard_error": None} if math.isnan(record["standard_error"]) else {})
        for record in value.to_records()
    ]


def _pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(member: str, content: bytes) -> None:
            # A fixed date, so that the same model is the same file.
            entry = zipfile.ZipInfo(member, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)

        add(_JSON, json.dumps(header, indent=1, allow_nan=False).encode())
        for key, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), version=(1, 0), allow_pickle=False)
            add(f"{key}.npy", member.getvalue())
    return buffer.getvalue()


# --- reading, where nothing is believed -------------------------------------------------------------------


def _read_header(archive: zipfile.ZipFile, path: Any) -> dict[str, Any]:
    names = archive.namelist()
    if _JSON not in names:
        raise ModelFileError(f"{path} is not a model file of attenua: it has no {_JSON}.")
    if archive.getinfo(_JSON).file_size > _MOST_JSON_BYTES:
        raise ModelFileError(f"{path}: {_JSON} is too large to be a model's.")
    try:
        header = json.loads(archive.read(_JSON))
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path}: {_JSON} is not valid JSON.") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file of attenua: {_JSON} does not say {FORMAT!r}.")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has version {header.get('version')!r} of the model format; this attenua reads version "
            f"{VERSION}."
        )
    if header.get("class") not in _CLASSES:
        raise ModelFileError(f"{path} holds a {header.get('class')!r}, which this attenua does not know.")
    expected = {_JSON, *(f"{key}.npy" for key in _keys(header["class"], *_ARRAY_KINDS))}
    if sorted(names) != sorted(expected):
        odd = sorted(set(names) ^ expected) or sorted({name for name in names if names.count(name) > 1})
        raise ModelFileError(f"{path} does not hold the arrays of a model; wrong or missing: {odd[0]}.")
    return header


def _read_arrays(archive: zipfile.ZipFile, header: dict[str, Any], path: Any) -> dict[str, NDArray[Any]]:
    arrays = {}
    for key in _keys(header["class"], *_ARRAY_KINDS):
        try:
            with archive.open(f"{key}.npy") as member:
                arrays[key] = np.lib.format.read_array(member, allow_pickle=False)
        except (ValueError, MemoryError) as error:
            raise ModelFileError(f"{path}: the array {key} cannot be read: {error}.") from None
        if arrays[key].dtype not in (np.float64, np.float32) or np.isnan(arrays[key]).any():
            raise ModelFileError(f"{path}: the array {key} must hold real numbers, none of them NaN.")
    return arrays


def _build(header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: Any) -> Any:
    def require(condition: bool, what: str) -> None:
        if not condition:
            raise ModelFileError(f"{path}: {what}.")

    _check_arrays(arrays, require)
    names: Any = header.get("feature_names")
    fitted: Any = header.get("fitted")
    p = arrays["components_"].shape[1]
    named = isinstance(names, list) and len(names) == p and all(isinstance(name, str) for name in names)
    require(names is None or named, f"feature_names must name each of the {p} columns")
    require(isinstance(fitted, dict), "the fitted numbers are missing")
    _check_numbers(header["class"], fitted, arrays, require)
    estimator = _with_parameters(header, require)
    for key in _keys(header["class"], *_ARRAY_KINDS):
        setattr(estimator, key, arrays[key] if arrays[key].ndim else arrays[key][()])
    for key in _keys(header["class"], *_JSON_TYPES):
        setattr(estimator, key, _steps(fitted[key]) if key == "steps_" else fitted[key])
    estimator.n_features_in_ = p
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _check_numbers(name: str, fitted: dict[str, Any], arrays: dict[str, NDArray[Any]], require: Any) -> None:
    for kind, expected in _JSON_TYPES.items():
        for key in _keys(name, kind):
            require(type(fitted.get(key)) is expected, f"{key} must be of type {expected.__name__}")
    rank = len(arrays["components_"])
    require(fitted["n_samples_"] >= 1, "n_samples_ must be an integer of at least 1")
    require(fitted["n_components_"] == rank, f"n_components_ must be {rank}, as many as the components are")
    require(0 <= fitted["shortfall_"] <= 1, "shortfall_ must be a part, from 0 to 1")
    if "alphas_" in arrays:
        require(fitted["alpha_"] in arrays["alphas_"], "alpha_ must be one of alphas_")
    for key in ("gain_", "left_out_gain_"):
        require(-math.inf < fitted.get(key, 0.0) <= 1, f"{key} must be a number of at most 1")
    if "candidates_" in arrays:
        _check_search(fitted, arrays, require)


def _check_search(fitted: dict[str, Any], arrays: dict[str, NDArray[Any]], require: Any) -> None:
    """Check what a search for strengths chose, and its steps."""
    candidates, choices = arrays["candidates_"].tolist(), fitted["choices_"]

    def is_candidate(choice: Any) -> bool:
        named = isinstance(choice, dict) and tuple(choice) == CORRECTIONS
        return (
            named and all(_is_float(value) for value in choice.values()) and [*choice.values()] in candidates
        )

    require(is_candidate(fitted["corrections_"]), "corrections_ must be one of candidates_, by names")
    n_splits = len(arrays["cv_risk_folds_"])
    fits = len(choices) == (n_splits if n_splits > 2 else 1) and all(map(is_candidate, choices))
    require(fits, "choices_ must be one of candidates_ for every split, by names")
    for number, step in enumerate(fitted["steps_"]):
        require(_is_step(step), f"steps_[{number}] is not a step of a search")


def _is_step(step: Any) -> bool:
    """Whether a record is one that a search makes: types, names, and numbers that fit each other."""
    if not isinstance(step, dict) or sorted(step) != sorted(Step._fields):
        return False
    correction, strengths, risks = step["correction"], step["strengths"], step["risks"]
    named = isinstance(correction, str) and correction in CORRECTIONS and isinstance(step["why"], str)
    listed = isinstance(strengths, list) and isinstance(risks, list) and len(strengths) == len(risks)
    if not (named and listed and isinstance(step["taken"], bool)):
        return False
    error, numbers = step["standard_error"], (step["best"], step["gain"], step["needed"])
    if not all(map(_is_float, (*numbers, *strengths))):
        return False
    increases = all(a < b for a, b in zip([-1.0, *strengths], strengths, strict=False))
    return (
        increases
        and strengths[:1] in ([], [0.0])
        and all(_is_strength(correction, strength) for strength in strengths)
        and all(_is_float(risk) and risk >= 0 for risk in risks)
        and step["best"] in (strengths or [0.0])
        and step["gain"] <= 1
        and step["needed"] >= 0
        and (error is None or (_is_float(error) and error >= 0))
    )


def _is_float(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _is_strength(correction: str, value: float) -> bool:
    try:
        checked_strength_of(correction, value)
    except ValueError:
        return False
    return True


def _steps(records: list[dict[str, Any]]) -> Steps:
    """Return checked records as steps; null is an error that one split cannot have."""
    return Steps.from_records(
        record | ({"standard_error": math.nan} if record["standard_error"] is None else {})
        for record in records
    )


def _check_arrays(arrays: dict[str, NDArray[Any]], require: Any) -> None:
    W = arrays["components_"]
    require(W.ndim == 2 and 1 <= len(W) <= W.shape[1], "components must be a matrix no taller than wide")
    rank, p = W.shape
    require(np.isfinite(W).all() and np.isfinite(arrays["mean_"]).all(), "components and mean must be finite")
    tolerance = 1e-3 if W.dtype == np.float32 else 1e-6
    require(bool(np.abs(W @ W.T - np.eye(rank)).max() <= tolerance), "components are not orthonormal")
    per_component = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    shapes = {"mean_": (p,), "noise_variance_": ()} | dict.fromkeys(per_component, (rank,))
    for key, shape in shapes.items():
        require(arrays[key].shape == shape, f"{key} must have shape {shape}, not {arrays[key].shape}")
        require(arrays[key].dtype == W.dtype, f"{key} must be of the type of the components, {W.dtype}")
        if key != "mean_":
            require(bool((arrays[key] >= 0).all()), f"{key} must not be negative")
    if "alphas_" in arrays:
        alphas = arrays["alphas_"]
        increasing = alphas.ndim == 1 and len(alphas) > 0 and bool((np.diff(alphas) > 0).all())
        require(increasing and alphas[0] == 0 and alphas[-1] <= 1, "alphas_ must increase from 0, up to 1")
        _check_risks(arrays, len(alphas), "strength", require)
    if "candidates_" in arrays:
        _check_candidates(arrays["candidates_"], require)
        _check_risks(arrays, len(arrays["candidates_"]), "candidate", require)


def _check_candidates(candidates: NDArray[Any], require: Any) -> None:
    columns = len(CORRECTIONS)
    fits = candidates.ndim == 2 and candidates.shape[1] == columns and len(candidates) > 0
    require(fits, f"candidates_ must have {columns} columns, one for each correction")
    require(not candidates[0].any(), "candidates_ must begin with PCA")
    fits = all(
        _is_strength(*pair) for row in candidates.tolist() for pair in zip(CORRECTIONS, row, strict=True)
    )
    require(fits, "candidates_ must hold strengths")


def _check_risks(arrays: dict[str, NDArray[Any]], count: int, what: str, require: Any) -> None:
    risk, folds = arrays["cv_risk_"], arrays["cv_risk_folds_"]
    require(risk.shape == (count,) and bool((risk >= 0).all()), f"cv_risk_ must be a risk per {what}")
    fits = folds.ndim == 2 and len(folds) > 0 and folds.shape[1] == count
    require(fits and bool((folds >= 0).all()), f"cv_risk_folds_ must be a risk per split and {what}")


def _with_parameters(header: dict[str, Any], require: Any) -> Any:
    cls = _CLASSES[header["class"]]
    stored: Any = header.get("parameters")
    as_text: Any = header.get("parameters_as_text")
    require(isinstance(stored, dict) and isinstance(as_text, dict), "parameters are missing")
    known = sorted(cls().get_params(deep=False))
    require(sorted([*stored, *as_text]) == known, f"parameters must be {', '.join(known)}")
    require(all(isinstance(text, str) for text in as_text.values()), "parameters_as_text must be texts")
    require(isinstance(stored.get("whiten"), bool), "whiten must be true or false")
    return cls(**stored, **as_text)
