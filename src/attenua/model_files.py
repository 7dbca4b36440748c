"""Fitted models as plain data: arrays and one JSON text in a zip, never a pickle.

The file is an npz: ``numpy.load(path, allow_pickle=False)`` shows its arrays, ``unzip -p path model.json``
its settings. Loading builds the estimator from checked numbers and runs no code of the file. Nothing in it is
compressed, so that a small file cannot fill the memory.
"""

import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from attenua._correct.registry import CORRECTIONS
from attenua._data.namespace import to_host
from attenua._estimate.fitted import Kind
from attenua._estimate.fitting import RuleTransformer
from attenua._estimate.stored import (
    ARRAY_KINDS,
    COVARIANCE,
    JSON_TYPES,
    SUBSPACE,
    ModelKind,
    StoredFit,
    keys_of,
    require,
)
from attenua._files import write_whole
from attenua._npz import Npz, PackedError, opened_npz
from attenua._select.steps import Steps
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCA, CorrectedPCACV
from attenua.covariance import CorrectedCovariance

FORMAT, VERSION = "attenua-model", 5
_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, CorrectedCovariance)
}
_JSON = "model.json"
_PARAMETERS = ("parameters", "parameters_as_arrays", "parameters_as_text")
_JSON_KEYS = ("format", "version", "class", *_PARAMETERS, "fitted", "feature_names")
_SUMS = "sums"  # checksums of the arrays, which files did not have at first
# Members that hold a parameter: an array, or a sparse matrix in compressed rows.
_DENSE, _SPARSE = ("values",), ("data", "indices", "indptr", "shape")
# Splits given as ``cv`` go deepest: parameters, cv, a split, its rows, a row.
_DEEPEST = 8
_LARGEST_INTEGER = 2**63 - 1
_AGAIN = "fit the model again with this attenua, and save it"


class ModelFileError(ValueError):
    """A model file that cannot be read, with a sentence that says why."""


def save_model(estimator: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Save a fitted model as plain data.

    Parameters
    ----------
    estimator : AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV or CorrectedCovariance
        Fitted. Parameters that are not plain data (a splitter given as ``cv``, a RandomState) are stored as
        their text: the loaded model works as before, and refuses to be fitted again. Tuples come back as
        lists, sparse matrices as sparse arrays in compressed rows. A reference is stored as its covariance,
        or above 4,000 columns as the factors of one, never as its rows.
    path : path
        Where to write, usually ``model.npz``. Written whole or not at all.
    force : bool, default=False
        Replace a file that exists.

    See Also
    --------
    load_model : Reads the file.

    Notes
    -----
    Arrays of a model that was fitted on a device come to the host: the loaded model works on numpy arrays.
    A model that `load_model` would refuse is not saved.

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
    write_whole(path, model_bytes(estimator), force=force)


def model_bytes(estimator: Any) -> bytes:
    """Return the content of a model file; the same estimator always gives the same bytes."""
    name = type(estimator).__name__
    if _CLASSES.get(name) is not type(estimator):
        *others, last = _CLASSES
        raise ValueError(f"only {', '.join(others)} and {last} can be saved; got {name}.")
    check_is_fitted(estimator)
    plain, as_arrays, as_text, table = {}, {}, {}, estimator._fitted
    held = {key: getattr(estimator, key) for key in keys_of(table, *ARRAY_KINDS)}
    arrays = {key: np.asarray(to_host(value)) for key, value in held.items() if value is not None}
    given = estimator.get_params(deep=False)
    for key, value in _stored_parameters(given, estimator.n_features_in_).items():
        parts = _array_parts(value)
        if parts:
            as_arrays[key] = list(parts)
            arrays |= {f"{key}.{part}": array for part, array in parts.items()}
            continue
        try:
            plain[key] = _plain(value)
        except TypeError:
            as_text[key] = repr(value)
    fitted = {key: _as_json(getattr(estimator, key)) for key in keys_of(table, *JSON_TYPES)}
    names = getattr(estimator, "feature_names_in_", None)
    columns = None if names is None else [str(column) for column in names]
    values = (FORMAT, VERSION, name, plain, as_arrays, as_text, fitted, columns)
    try:
        content = _pack(dict(zip(_JSON_KEYS, values, strict=True)), arrays)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _read(Npz(archive))  # what can be saved can be loaded
    except (TypeError, ValueError) as error:
        raise ValueError(f"this {name} cannot be saved: {str(error).removesuffix('.')}.") from None
    return content


def _stored_parameters(parameters: dict[str, Any], n_features: int) -> dict[str, Any]:
    """Return the parameters as they are stored: rows of a reference are not."""
    stored = {
        correction.parameter: correction.stored(parameters[correction.parameter], n_features)
        for correction in CORRECTIONS.values()
        if parameters.get(correction.parameter) is not None
    }
    return parameters | stored


def _array_parts(value: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays that a parameter consists of; none if it is not an array of numbers, or is empty."""
    if sp.issparse(value):
        csr = sp.csr_array(value)
        parts = dict(zip(_SPARSE, (csr.data, csr.indices, csr.indptr, np.array(csr.shape)), strict=True))
    elif hasattr(value, "__array__") and not isinstance(value, np.generic):  # a pandas series too
        parts = {"values": np.asarray(value)}
    else:
        return {}
    if any(array.dtype.kind not in "biuf" or array.size == 0 for array in parts.values()):
        return {}
    return parts


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save_model` wrote.

    Parameters
    ----------
    path : path
        The file, or a link to it.

    Returns
    -------
    AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV or CorrectedCovariance
        Fitted; its methods give the numbers that those of the saved one gave, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is not such a model, is damaged, or holds numbers that no fit produces. No other
        exception comes from what a file holds.

    See Also
    --------
    save_model : Writes the file.

    Notes
    -----
    The file may come from someone you do not trust. Before an array is read, its name, type, shape and size
    are checked against those of the other arrays and of the file. Refused are: members that are missing,
    unknown, doubled, compressed or encrypted; objects; numbers that are not finite; variances, singular
    values and noise that do not fit together; arrays with another checksum than at saving; JSON with unknown
    or doubled keys, nested more than 8 deep, or with integers beyond 64 bits; folders, devices and pipes.
    Loading takes memory in proportion to the size of the file, so a large file is a large model.

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
    ordinary PCA; 2 components, 66.4% of the variance of 20 rows, 4 columns
    """
    try:
        with opened_npz(path) as npz:
            return _read(npz)
    except ValueError as error:
        more = f", as in version 2 of the format; {_AGAIN}" if isinstance(error, PackedError) else ""
        first, _, _ = str(error).partition("\n")  # scikit-learn's go on with the array and with advice
        why = f"{first.rstrip('.:')}{more}"
        raise ModelFileError(f"{path} is not a model file that this attenua reads: {why}.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from None


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it, or raise TypeError."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise TypeError
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError


def _as_json(value: Any) -> Any:
    """Return a fitted attribute that is not an array, as JSON can hold it; NaN is null there."""
    if not isinstance(value, Steps):
        return None if isinstance(value, float) and math.isnan(value) else value
    return [
        record | ({"standard_error": None} if math.isnan(record["standard_error"]) else {})
        for record in value.to_records()
    ]


def _pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return a zip of JSON and arrays, without compression and with a fixed date."""
    members = {}
    for key, array in arrays.items():
        stream = io.BytesIO()
        little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
        np.lib.format.write_array(stream, little_endian, version=(1, 0), allow_pickle=False)
        members[f"{key}.npy"] = stream.getvalue()
    header |= {_SUMS: {name: zlib.crc32(content) for name, content in members.items()}}
    try:
        text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a name of a column, or a parameter, has a half of a surrogate pair in it") from None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {_JSON: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), content)
    return packed.getvalue()


# --- reading, where nothing is trusted --------------------------------------------------------------------


def _read(npz: Npz) -> Any:
    """Return the estimator that a file holds, or raise ValueError."""
    header = _checked_header(npz)
    cls, fitted, names = _CLASSES[header["class"]], header["fitted"], header["feature_names"]
    table = cls._fitted
    keys = _array_keys(npz, cls)
    forms = {key: npz.header(f"{key}.npy")[:2] for key in keys}
    stored = StoredFit(table, forms, lambda: {key: npz.array(f"{key}.npy") for key in keys}, fitted)
    model_kind = COVARIANCE if cls is CorrectedCovariance else SUBSPACE
    arrays = model_kind.checked(stored)
    p = arrays[model_kind.main].shape[1]
    named = isinstance(names, list) and len(names) == p and all(isinstance(name, str) for name in names)
    require(names is None or named, f"feature_names must name each of the {p} columns")
    parameters = _checked_parameters(npz, header)
    _stored_parameters(parameters, p)  # what is loaded can be saved
    estimator = cls(**parameters)
    if issubclass(cls, RuleTransformer):
        estimator._check_parameters()  # its strengths say what was fitted
    for key in keys_of(table, *ARRAY_KINDS):
        array = arrays.get(key)
        setattr(estimator, key, array if array is None or array.ndim else array[()])
    for key, value in fitted.items():
        setattr(estimator, key, _from_json(table[key], value, model_kind))
    estimator.n_features_in_ = p
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    sums = {name: npz.sum(name) for name in npz.names if name != _JSON}
    given = header.get(_SUMS, sums)
    given = given if isinstance(given, dict) else {}
    odd = [name for name in (*sums, *given) if given.get(name) != sums.get(name)]
    require(not odd, f"{', '.join(map(_brief, odd[:1]))} is not the array that was saved under this name")
    return estimator


def _array_keys(npz: Npz, cls: Any) -> list[str]:
    """Return the fitted attributes that a file holds as arrays; ``scale_`` only where columns are scaled."""
    keys = keys_of(cls._fitted, *ARRAY_KINDS)
    return [key for key in keys if key != "scale_" or "scale_.npy" in npz.names]


def _checked_header(npz: Npz) -> dict[str, Any]:
    """Return what model.json holds, and check that the members are those that it names."""
    require(_JSON in npz.names, f"it has no {_JSON}")
    header: dict[str, Any] = _strict_json(npz.content(_JSON))
    require(isinstance(header, dict) and header.get("format") == FORMAT, f"{_JSON} does not say {FORMAT!r}")
    version: Any = header.get("version")
    name: Any = header.get("class")
    known = type(version) is int and version == VERSION
    require(known, f"it has version {_brief(version)} of the format, not {VERSION}; {_AGAIN}")
    known = isinstance(name, str) and name in _CLASSES
    require(known, f"it holds a {_brief(name)}, which attenua does not save")
    keys = ", ".join(sorted(_JSON_KEYS))
    require(set(header) - {_SUMS} == set(_JSON_KEYS), f"{_JSON} must have the keys {keys}")
    require(isinstance(header["fitted"], dict), "the fitted numbers are missing")
    stored = header["parameters_as_arrays"]
    known = isinstance(stored, dict) and all(parts in ([*_DENSE], [*_SPARSE]) for parts in stored.values())
    require(known, "parameters_as_arrays must name the arrays of each parameter")
    expected = {_JSON, *(f"{key}.npy" for key in _array_keys(npz, _CLASSES[name]))}
    expected |= {f"{key}.{part}.npy" for key, parts in stored.items() for part in parts}
    odd = sorted(set(npz.names) ^ expected)
    require(not odd, f"wrong or missing: {', '.join(map(_brief, odd[:1]))}")
    return header


def _checked_parameters(npz: Npz, header: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the estimator; their values are checked when it is fitted again."""
    plain: Any = header["parameters"]
    as_text: Any = header["parameters_as_text"]
    require(isinstance(plain, dict) and isinstance(as_text, dict), "parameters are missing")
    as_arrays = {key: _array(npz, key, parts) for key, parts in header["parameters_as_arrays"].items()}
    known, given = set(_CLASSES[header["class"]]().get_params(deep=False)), [*plain, *as_text, *as_arrays]
    # A parameter that the file does not have came later, mostly with a correction, and has its default.
    later = {"scale", *CORRECTIONS, *(correction.parameter for correction in CORRECTIONS.values())}
    fits = len(set(given)) == len(given) and known - later <= set(given) <= known
    require(fits, f"parameters must be {', '.join(sorted(known))}")
    require(all(isinstance(text, str) for text in as_text.values()), "parameters_as_text must be texts")
    require("whiten" not in known or isinstance(plain.get("whiten"), bool), "whiten must be true or false")
    require(isinstance(plain.get("scale", False), bool), "scale must be true or false")
    return {**plain, **as_text, **as_arrays}


def _array(npz: Npz, key: str, parts: list[str]) -> Any:
    """Return a parameter that is an array or a sparse matrix."""
    arrays = [npz.array(f"{key}.{part}.npy") for part in parts]
    require(all(array.dtype.kind in "biuf" for array in arrays), f"{key} must hold numbers")
    if parts == [*_DENSE]:
        return arrays[0] if arrays[0].ndim else arrays[0].item()  # numpy's numbers were arrays in older files
    data, indices, indptr, shape = arrays
    try:
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{key} is not a sparse matrix ({error})") from None
    return matrix


def _from_json(kind: Kind, value: Any, model_kind: ModelKind) -> Any:
    """Return a checked attribute that is not an array, with the strengths of all corrections."""
    if kind is Kind.CHOICES:
        return [model_kind.all_by_name(choice) for choice in value]
    if kind is Kind.STEPS:  # null is an error that one split cannot have
        return Steps.from_records(
            record | ({"standard_error": math.nan} if record["standard_error"] is None else {})
            for record in value
        )
    return math.nan if kind is Kind.MEASURED and value is None else value


def _brief(value: Any) -> str:
    """Return what was found, short enough for a sentence."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]} ..."


def _strict_json(content: bytes) -> Any:
    """Return what JSON holds; refuse what our files never hold, and what a parser may read in two ways."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key is there twice")
        return found

    def finite(text: str) -> float:
        if not math.isfinite(number := float(text)):
            raise ValueError("a number is not finite")
        return number

    def small(text: str) -> int:
        if abs(number := int(text)) > _LARGEST_INTEGER:
            raise ValueError("an integer has more than 64 bits")
        return number

    try:
        value = json.loads(
            content.decode(),
            object_pairs_hook=unique,
            parse_float=finite,
            parse_int=small,
            parse_constant=finite,
        )
        _check_texts(value, _DEEPEST)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_JSON} is not valid JSON ({error})") from None
    return value


def _check_texts(value: Any, depth: int) -> None:
    """Raise ValueError for a text that cannot be printed, and for what is nested too deep."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict | list):
        if depth == 0:
            raise ValueError("it is nested too deep")
        for item in value if isinstance(value, list) else [*value, *value.values()]:
            _check_texts(item, depth - 1)
