"""Fitted models as plain data in the format safetensors: arrays and one JSON text, never a pickle.

Loading builds the estimator from checked numbers and runs no code of the file.
"""

import json
import math
import os
import stat
import zlib
from reprlib import repr as brief
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from attenua._correct.registry import CORRECTIONS, COVARIANCE_CORRECTIONS, checked_strength
from attenua._data.completion import FactorLaw
from attenua._data.namespace import to_host
from attenua._estimate.fitted import Kind, check_switches
from attenua._estimate.fitting import RuleTransformer
from attenua._extras import how_to_install
from attenua._files import write_whole
from attenua._select.steps import Step, Steps
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCA, CorrectedPCACV
from attenua.covariance import CorrectedCovariance
from attenua.imputing import Filling, ImputesByCovariance

Arrays = dict[str, NDArray[Any]]

_FORMAT, _VERSION = "attenua-model", 6
_SAVED: tuple[Any, ...] = (AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, CorrectedCovariance)
_CLASSES = {cls.__name__: cls for cls in _SAVED}
_VARIANCES = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
_HEADER: dict[str, Any] = {
    "version": int, "class": str, "parameters": dict, "sparse": [str], "fitted": dict, "names": [str],
}  # fmt: skip
# A letter for each length; those with the same letter are equal in a file.
_SHAPES = {
    "components_": "kp", "mean_": "p", "scale_": "p", **dict.fromkeys(_VARIANCES, "k"), "noise_variance_": "",
    "covariance_": "pp", "precision_": "pp", "location_": "p",
    "alphas_": "c", "cv_risk_": "c", "cv_risk_folds_": "fc",
    "law.covariance_": "pp", "law.location_": "p",
    "law.mean": "p", "law.factors": "qp", "law.noise": "p", "law.remainder": "p",
}  # fmt: skip
_STEP = {name: kind if kind in (str, float) else [float] for name, kind in Step.__annotations__.items()}
_FORMS: dict[Kind, Any] = {
    Kind.NUMBER: float, Kind.MEASURED: float, Kind.COUNT: int, Kind.TEXT: str, Kind.NUMBERS: [float],
    Kind.CHOICES: [dict], Kind.STEPS: [_STEP],
}  # fmt: skip


class ModelFileError(ValueError):
    """A model file that cannot be read, or not without a package, with a sentence that says why."""


def save_model(estimator: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Save a fitted model as plain data. Needs the package safetensors.

    Parameters
    ----------
    estimator : AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV or CorrectedCovariance
        Fitted. Parameters that are not plain data (a splitter given as ``cv``, a RandomState) are stored as
        their text: the loaded model works as before, and refuses to be fitted again. Tuples come back as
        lists, sparse matrices as sparse arrays in compressed rows. A reference is stored as its covariance,
        or above 4,000 columns as the factors of one, never as its rows.
    path : path
        Where to write, usually ``model.safetensors``. Written whole or not at all.
    force : bool, default=False
        Replace a file that exists.

    See Also
    --------
    load_model : Reads the file.

    Notes
    -----
    Arrays of a model that was fitted on a device come to the host: the loaded model works on numpy arrays.
    A loaded `CorrectedCovariance` fills missing cells. The other classes fill them by a law that their first
    ``impute`` fits to the rows: call it before you save, and the law is in the file. The rows never are.
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
    ...     path = Path(folder) / "model.safetensors"
    ...     save_model(pca, path)
    ...     again = load_model(path)
    >>> bool((again.transform(X) == pca.transform(X)).all())
    True
    """
    package, name = _safetensors(path), type(estimator).__name__
    if type(estimator) not in _SAVED:
        *others, last = _CLASSES
        raise ValueError(f"only {', '.join(others)} and {last} can be saved; got {name}.")
    check_is_fitted(estimator)
    header, arrays = _stored(estimator)
    try:
        _model(header, arrays)  # what can be saved can be loaded
    except ValueError as error:
        raise ValueError(f"this {name} cannot be saved: {str(error).removesuffix('.')}.") from None
    text = json.dumps(header | {"crc32": _sum(header, arrays)})
    write_whole(path, package.numpy.save(arrays, {_FORMAT: text}), force=force)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save_model` wrote. Needs the package safetensors.

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
    The file may come from someone you do not trust. Refused are files of another kind or version, with
    another checksum than at saving, with unknown classes or parameters, and with fitted numbers that have
    wrong types or shapes, are not finite, or do not fit together. Loading takes memory in proportion to the
    size of the file, so a large file is a large model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from attenua import AttenuatedPCA, load_model, save_model
    >>> pca = AttenuatedPCA(2).fit(np.random.default_rng(0).standard_normal((20, 4)))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_model(pca, path)
    ...     load_model(path)
    AttenuatedPCA(n_components=2)
    ordinary PCA; 2 components, 66.4% of the variance of 20 rows, 4 columns
    """
    package = _safetensors(path)
    try:
        return _model(*_read(path, package))
    except (ValueError, OverflowError, RecursionError) as error:
        first, _, _ = str(error).partition("\n")  # scikit-learn's go on with the array and with advice
        why = first.rstrip(".:")
        raise ModelFileError(f"{path} is not a model file that this attenua reads: {why}.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from None


def _safetensors(path: str | os.PathLike[str]) -> Any:
    """Return the package, or say how to install it."""
    try:
        import safetensors.numpy
    except ModuleNotFoundError:
        raise ModelFileError(f"{path} needs the package safetensors: {how_to_install('models')}.") from None
    return safetensors


def _sum(header: dict[str, Any], arrays: Arrays) -> int:
    """Return a checksum of everything in a file: the format has none."""
    total = zlib.crc32(json.dumps(header).encode())
    for name in sorted(arrays):
        total = zlib.crc32(f"{name} {arrays[name].shape}".encode(), total)
        total = zlib.crc32(arrays[name].data, total)
    return total


# --- writing ----------------------------------------------------------------------------------------------


def _stored(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """Return what a file holds of an estimator, as JSON has it and as arrays."""
    fitted = {key: getattr(estimator, key) for key in estimator._fitted}
    arrays = {key: fitted.pop(key) for key in _SHAPES if key in fitted}
    law = getattr(vars(estimator).get("_filling"), "fitted_law", None)
    if isinstance(law, CorrectedCovariance):
        arrays |= {"law.covariance_": law.covariance_, "law.location_": law.location_}
    elif law is not None:
        arrays |= {f"law.{key}": array for key, array in law._asdict().items()}
    given, parameters, sparse = estimator.get_params(deep=False), {}, []
    for correction in CORRECTIONS.values():
        if (value := given.get(correction.parameter)) is not None:
            given[correction.parameter] = correction.stored(value, estimator.n_features_in_)
    for key, value in given.items():
        if sp.issparse(value):
            entries = sp.coo_array(value)
            arrays[f"parameter.{key}"] = np.stack([*entries.coords, entries.data])
            sparse.append(key)
        elif getattr(value, "ndim", 0) and (array := np.asarray(value)).dtype.char in "?bBhHiIlLqQefd":
            arrays[f"parameter.{key}"] = array
        else:
            parameters[key] = _plain(value)
    header = {
        "version": _VERSION,
        "class": type(estimator).__name__,
        "parameters": parameters,
        "sparse": sparse,
        "fitted": fitted | {key: fitted[key].to_records() for key in fitted.keys() & {"steps_"}},
        "names": list(map(str, getattr(estimator, "feature_names_in_", ()))),
    }
    arrays = {key: to_host(value) for key, value in arrays.items() if value is not None}
    return json.loads(json.dumps(header)), {key: np.array(array, order="C") for key, array in arrays.items()}


def _plain(value: Any) -> Any:
    """Return a parameter as JSON holds it, or its text."""

    def as_list(value: Any) -> Any:
        return list(value) if isinstance(value, range) else value.tolist()

    try:
        return json.loads(json.dumps(value, allow_nan=False, default=as_list))
    except (AttributeError, TypeError, ValueError):
        return repr(value)


# --- reading, where nothing is trusted --------------------------------------------------------------------


def _read(path: str | os.PathLike[str], package: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the JSON and the arrays of a file that is whole."""
    _require(stat.S_ISREG(os.stat(path).st_mode), "it is not an ordinary file")  # nobody waits for a pipe
    try:
        with package.safe_open(os.fsdecode(path), "np") as file:
            text = (file.metadata() or {}).get(_FORMAT, "")
            _require(text, "attenua did not write it")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (package.SafetensorError, AttributeError, TypeError) as error:  # or of types that numpy has not
        raise ValueError(f"it is damaged, or not in the format safetensors ({str(error)[:100]})") from None
    header = json.loads(text)
    version = header.get("version") if isinstance(header, dict) else None
    again = "fit the model again with this attenua, and save it"
    _require(version == _VERSION, f"it has version {brief(version)} of the format, not {_VERSION}; {again}")
    total = header.pop("crc32", None)
    _require(total == _sum(header, arrays), "it is damaged: it has another checksum than when it was saved")
    _require(_has_form(header, _HEADER), f"its JSON must hold {', '.join(_HEADER)}")
    return header, arrays


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _has_form(value: Any, form: Any) -> bool:
    """Whether JSON is of a type, a list of what has a form, or a table of such."""
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(item, form[0]) for item in value)
    if isinstance(form, dict):
        same = isinstance(value, dict) and value.keys() == form.keys()
        return same and all(_has_form(value[key], each) for key, each in form.items())
    return type(value) is form


@np.errstate(all="ignore")  # of numbers that no fit gives
def _model(header: dict[str, Any], arrays: Arrays) -> Any:
    """Return the estimator that a file holds, or raise ValueError."""
    name, names = header["class"], header["names"]
    _require(name in _CLASSES, f"attenua saves no {brief(name)}")
    cls = _CLASSES[name]
    own = cls._fitted.keys() & _SHAPES
    held = {key: array for key, array in arrays.items() if not key.startswith("parameter.")}
    _require(own - held.keys() <= {"scale_"}, f"it must hold the arrays {', '.join(sorted(own))}")
    p = _checked_lengths(held, cls._fitted)["p"]
    estimator = cls(**_parameters(cls, header, arrays, p))
    check_switches(estimator)
    if isinstance(estimator, RuleTransformer):
        estimator._check_parameters()  # its strengths say what was fitted
    fitted = {key: held.get(key) for key in own} | _numbers(cls, header["fitted"])
    for key, value in (fitted | {"n_features_in_": p}).items():
        setattr(estimator, key, value)
    if names:
        _require(len(names) == p, f"names must name each of the {p} columns")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if "components_" in own:
        estimator.noise_variance_ = held["noise_variance_"][()]
        _check_subspace(estimator)
    else:
        _check_covariance(estimator.covariance_, estimator.precision_)
    _check_search(estimator)
    law = {key.removeprefix("law."): array for key, array in held.items() if key not in own}
    if law:
        estimator._filling = Filling.of_law(_law(estimator, law))
    return estimator


def _checked_lengths(arrays: Arrays, table: dict[str, Kind]) -> dict[str, int]:
    """Return how long the arrays are, by letter, after a check of types, shapes and finite numbers."""
    lengths: dict[str, int] = {}
    of_data = {key for key in arrays if table.get(key) in (Kind.DATA, Kind.SCALAR)}
    dtype = arrays["components_" if of_data else "covariance_"].dtype
    _require(dtype in (np.float32, np.float64), f"it must hold floats of 32 or 64 bits, not {dtype}")
    for key, array in arrays.items():
        _require(key in _SHAPES, f"it holds an unknown array {brief(key)}")
        letters, wanted = _SHAPES[key], dtype if key in of_data else np.dtype(float)
        _require(array.dtype == wanted, f"{key} must be of type {wanted}, not {array.dtype}")
        same = [lengths.setdefault(*pair) == pair[1] for pair in zip(letters, array.shape, strict=False)]
        fits = array.ndim == len(letters) and all(same)
        _require(fits, f"{key} has shape {array.shape}, which does not fit the other arrays")
        unmeasured = key.startswith("cv_risk_") and np.isnan(array).all()  # nothing was held out
        _require(unmeasured or np.isfinite(array).all(), f"{key} must hold finite numbers")
    return lengths


def _parameters(cls: Any, header: dict[str, Any], arrays: Arrays, p: int) -> dict[str, Any]:
    """Return the parameters of an estimator; most of their values are checked when it is fitted again."""
    names = [name for name in arrays if name.startswith("parameter.")]
    stored: dict[str, Any] = {name.removeprefix("parameter."): arrays[name] for name in names}
    for key in stored.keys() & set(header["sparse"]):
        entries = stored[key]
        _require(entries.ndim == 2 and len(entries) == 3, f"{key} must hold rows, columns and values")
        stored[key] = sp.csr_array((entries[2], tuple(entries[:2].astype(np.int64))), shape=(p, p))
    parameters: dict[str, Any] = header["parameters"] | stored
    unknown = parameters.keys() - cls().get_params(deep=False).keys()
    _require(not unknown, f"{cls.__name__} has no parameter {brief(min(unknown, default=''))}")
    return parameters


def _numbers(cls: Any, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the fitted values that are not arrays, with the strengths of all corrections."""
    table = {key: kind for key, kind in cls._fitted.items() if key not in _SHAPES}
    _require(numbers.keys() == table.keys(), f"it must hold the numbers {', '.join(sorted(table))}")
    for key, kind in table.items():
        _require(_has_form(numbers[key], _FORMS[kind]), f"{key} must be a {kind.value}")
    if "candidates_" not in table:
        return numbers
    offered = COVARIANCE_CORRECTIONS if cls is CorrectedCovariance else CORRECTIONS

    def of_all(strengths: dict[str, Any]) -> dict[str, float]:
        _require(strengths.keys() <= offered.keys(), "strengths must have the names of corrections")
        given = {name: checked_strength(name, strength) for name, strength in strengths.items()}
        return {name: each.neutral for name, each in offered.items()} | given

    found = {key: list(map(of_all, numbers[key])) for key in ("candidates_", "choices_")}
    return numbers | found | {"steps_": Steps.from_records(numbers["steps_"])}


def _check_subspace(model: Any) -> None:
    """Check that components are orthonormal, and that what a model says of variances fits together."""
    W, single = model.components_, model.components_.dtype == np.float32
    _require(model.n_components_ == len(W), "n_components_ must count components_")
    orthonormal = np.abs(W @ W.T - np.eye(len(W))).max() <= (1e-3 if single else 1e-6)
    _require(orthonormal, "components_ must be orthonormal")
    _require(model.scale_ is None or (model.scale_ > 0).all(), "scale_ must be positive")
    _require(model.noise_variance_ >= 0, "noise_variance_ must not be negative")
    values = [getattr(model, key).astype(float) for key in _VARIANCES]
    variances, ratios, roots = (each / (each[0] or 1.0) for each in values)
    # Numbers so small that they have few digits agree to fewer.
    close = 1e-4 + float(np.finfo(W.dtype).smallest_subnormal) / (values[0][0] or 1.0)
    decrease = (variances >= 0).all() and (np.diff(variances) <= close).all()
    agree = all(np.abs(each - variances).max() <= close for each in (ratios, roots**2))
    _require(decrease and agree, f"{', '.join(_VARIANCES)} must decrease and agree")


def _check_covariance(covariance: NDArray[Any], precision: NDArray[Any] | None = None) -> None:
    """Check a covariance, and its inverse up to rounding, in units in which all variances are 1."""
    rounding, one = 10 * len(covariance) * float(np.finfo(float).eps), np.eye(len(covariance))
    units = np.sqrt(np.diagonal(covariance))
    R = covariance / units / units[:, None]
    try:
        np.linalg.cholesky(R + rounding * one)
    except np.linalg.LinAlgError:
        R = R * np.nan
    symmetric = np.abs(R - R.T).max() <= rounding
    _require(symmetric, "covariance_ must be symmetric and positive definite")
    if precision is not None:
        Q = precision * units * units[:, None]
        is_inverse = np.abs(R @ Q - one).max() <= rounding * np.abs(Q).max() < math.inf
        _require(is_inverse, "precision_ must be the inverse of covariance_")


def _check_search(model: Any) -> None:
    """Check the number of rows, and what a search chose."""
    _require(1 <= model.n_samples_ < 2**63, "n_samples_ must be at least 1")
    if hasattr(model, "alphas_"):
        _require(model.alpha_ in model.alphas_, "alpha_ must be one of alphas_")
    if hasattr(model, "candidates_"):
        candidates, choices, weights = model.candidates_, model.choices_, model.choice_weights_
        _require(len(candidates) == len(model.cv_risk_), "candidates_ must have a risk each")
        among = all(choice in candidates for choice in choices)
        _require(among, "choices_ must be some of candidates_")
        whole = len(weights) == len(choices) and math.isclose(sum(weights), 1) and min(weights) > 0
        _require(whole, "choice_weights_ must hold a weight for each of choices_, and sum to 1")


def _law(model: Any, arrays: Arrays) -> CorrectedCovariance | FactorLaw:
    """Return the law by which a model fills cells."""
    if arrays.keys() == set(FactorLaw._fields):
        _require((arrays["noise"] > 0).all(), "the noise of law must be positive")
        return FactorLaw(**arrays)
    known = isinstance(model, ImputesByCovariance) and arrays.keys() == {"covariance_", "location_"}
    _require(known, "it holds another law than attenua fills cells by")
    _check_covariance(arrays["covariance_"])
    law = CorrectedCovariance()
    columns = {"n_features_in_", "feature_names_in_"} & vars(model).keys()
    for key, value in (arrays | {key: getattr(model, key) for key in columns}).items():
        setattr(law, key, value)
    return law
