"""Which arrays stay in their own library, and how numbers move between it and the host.

numpy 2 is a namespace of the array API standard, so one implementation serves numpy, torch, CuPy and others.
scikit-learn decides by ``set_config(array_api_dispatch=True)`` whether arrays of other libraries are used as
they are or made numpy arrays first; so does this package.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import get_config

# Libraries whose arrays are sparse or lazy although they offer the standard's functions.
_NOT_DENSE = ("sparse", "dask", "dask_expr", "ndonnx")


def library_of(X: Any) -> str:
    """Return the package that the type of X comes from."""
    return type(X).__module__.split(".")[0]


def is_dask(X: Any) -> bool:
    """Whether X is a dask array or data frame."""
    return library_of(X) in ("dask", "dask_expr") and hasattr(X, "to_delayed")


def namespace_of(X: Any) -> Any:
    """Return the array namespace that computes with X, or None if X becomes a numpy array.

    Raises
    ------
    TypeError
        If X lies on a device that numpy cannot read and dispatch is off, or if it is a kind of array that
        cannot be used.
    """
    refuse_other_kinds(X)
    if not is_foreign(X):
        return None
    if not get_config()["array_api_dispatch"]:
        if _on_host(X):
            return None
        raise TypeError(
            f"X is {described(X)}, which numpy cannot read. To compute on that device, set the environment "
            "variable SCIPY_ARRAY_API=1 before scipy is imported and call "
            "sklearn.set_config(array_api_dispatch=True); or move X to the host first."
        )
    return array_namespace(X)


def array_namespace(X: Any) -> Any:
    """Return the namespace whose functions take X: numpy itself for anything but foreign arrays."""
    return _compat().array_namespace(X) if is_foreign(X) else np


def is_foreign(X: Any) -> bool:
    """Whether X is a dense array of a library other than numpy."""
    library = library_of(X)
    if library == "numpy" or library in _NOT_DENSE:
        return False
    return hasattr(X, "__array_namespace__") or (library in ("torch", "cupy") and hasattr(X, "shape"))


def is_on_device(X: Any) -> bool:
    """Whether X is such an array, and one that numpy cannot read or must not."""
    return is_foreign(X) and not (_on_host(X) and not get_config()["array_api_dispatch"])


def check_same_place(estimator: Any, X: Any, method: str) -> Any:
    """Return the namespace of X (None for numpy), or raise if the estimator was fitted in another."""
    xp, fitted = namespace_of(X), estimator.components_
    together = is_foreign(fitted) == (xp is not None)
    if together and xp is not None:
        together = library_of(fitted) == library_of(X) and device_of(fitted) == device_of(X)
    if not together:
        raise ValueError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and the "
            f"same device as those passed to fit(): X is {described(X)}, and the components are "
            f"{described(fitted)}."
        )
    return xp


def device_of(X: Any) -> Any:
    """Return the device of an array."""
    return _compat().device(X)


def described(X: Any) -> str:
    """Return the kind and the device of an array in words, for an error."""
    if not is_foreign(X):
        return f"a {library_of(X)} {type(X).__name__}" if library_of(X) != "numpy" else "a numpy array"
    return f"a {library_of(X)} array on device {X.device}"


def to_host(x: Any) -> Any:
    """Return an array of another library as a numpy array; anything else stays as it is."""
    if not is_foreign(x):
        return x
    library = library_of(x)
    if library == "torch":
        return x.detach().cpu().numpy()
    if library == "cupy":
        return x.get()
    try:
        return np.asarray(x)
    except RuntimeError:  # a device that numpy cannot read
        return np.asarray(x.to_device(type(x.device)("CPU_DEVICE")))


def asarray_like(like: Any, values: Any, dtype: Any = None) -> Any:
    """Return numbers of the host, or of another device, as an array of the library and device of `like`."""
    xp = array_namespace(like)
    if xp is np:
        return np.asarray(values, dtype=dtype)
    if is_foreign(values) and library_of(values) == library_of(like) and device_of(values) == device_of(like):
        return values if dtype is None else xp.astype(values, dtype)
    # A copy in one order: torch takes no array with a negative stride.
    return xp.asarray(np.array(to_host(values), order="C"), dtype=dtype, device=device_of(like))


def clipped(x: Any, least: float = 0.0) -> Any:
    """Return x with everything below `least` raised to it."""
    xp = array_namespace(x)
    return xp.where(x > least, x, xp.full_like(x, least))


def spans(total: int, size: int) -> Iterator[slice]:
    """Yield slices of a size that cover a range; none reaches beyond its end, which the standard forbids."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


def check_float64(xp: Any, X: Any) -> None:
    """Raise if the device of X has no double precision, which sums and eigenproblems need."""
    dtypes = xp.__array_namespace_info__().dtypes(device=device_of(X), kind="real floating")
    if "float64" not in dtypes:
        raise TypeError(f"X is {described(X)}, which has no float64; move X to a device that has.")


def _compat() -> Any:
    try:
        import array_api_compat
    except ImportError:
        raise ImportError(
            "arrays of other libraries need array-api-compat: pip install 'attenua[array-api]'."
        ) from None
    return array_api_compat


def _on_host(X: Any) -> bool:
    """Whether numpy can read X on its device."""
    return library_of(X) != "cupy" and "cpu" in str(getattr(X, "device", "cpu")).lower()


def refuse_other_kinds(X: Any) -> None:
    """Raise for containers that have to be opened first, and for sparse and Dask arrays on a device."""
    if library_of(X) == "anndata" and hasattr(X, "obsm"):
        raise TypeError(
            "X is an AnnData object; give its matrix, adata.X, or use "
            "attenua.anndata.pca(adata, n_comps=...)."
        )
    if library_of(X) == "polars" and hasattr(X, "collect"):
        raise TypeError("X is a polars LazyFrame, which holds no rows yet; give X.collect().")
    if library_of(X) == "cupyx" or (library_of(X) == "torch" and str(X.layout) != "torch.strided"):
        raise TypeError(
            f"X is a sparse {library_of(X)} array; only dense arrays are used on their device. Make it "
            "dense, or give a scipy sparse matrix."
        )
    if library_of(X) in ("dask", "dask_expr"):
        block = library_of(getattr(X, "_meta", None))
        if block in ("cupy", "cupyx", "torch", "cudf"):
            raise TypeError(
                f"X is a dask collection of {block} blocks; the blocks of a dask collection must be numpy or "
                f"scipy arrays. Give one {block} array, or blocks in the host's memory."
            )
    if library_of(X) == "torch" and X.requires_grad:
        raise TypeError("X is a torch tensor that requires grad; give X.detach().")
