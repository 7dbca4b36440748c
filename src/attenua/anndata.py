"""PCA with corrections of annotated data, called and stored as ``scanpy.pp.pca`` does it."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import clone

from attenua._data.checks import checked_count, encode_labels
from attenua._data.folds import is_number_of_folds, resolve_cv
from attenua._data.sums import magnitude
from attenua._estimate.transformer import SubspaceTransformer
from attenua.corrected import CorrectedPCACV

__all__ = ["pca"]

_MOST_COMPS = 50  # scanpy's default
_FOLDS = 5


class _NotGiven:
    """The default of `mask_var`, since None means all genes; the reference shows it by its repr."""

    def __repr__(self) -> str:
        return "'highly_variable' if there"


_NOT_GIVEN: Any = _NotGiven()


def pca(
    adata: Any,
    n_comps: int | None = None,
    *,
    layer: str | None = None,
    mask_var: ArrayLike | str | None = _NOT_GIVEN,
    use_highly_variable: bool | None = None,
    groups: ArrayLike | str | None = None,
    estimator: SubspaceTransformer | None = None,
    dtype: DTypeLike = "float32",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """PCA of few cells or samples, with corrections that held-out rows choose.

    It replaces ``scanpy.pp.pca``: scores, loadings and variances are stored under the same names, so that
    neighbours, clusters and plots work as before. Rows are always centred.

    Parameters
    ----------
    adata : AnnData
        Annotated data in memory, rows by genes. X may be dense or sparse.
    n_comps : int, optional
        Number of components. By default that of `estimator`, or else 50, or fewer if rows or genes are few.
    layer : str, optional
        Layer to use instead of X.
    mask_var : str, array-like of bool, or None
        Genes to use: a column of ``adata.var``, one truth value for each gene, or None for all genes. By
        default the column "highly_variable" where there is one, and all genes elsewhere.
    use_highly_variable : bool, optional
        The older way of scanpy to say ``mask_var="highly_variable"`` (True) or ``mask_var=None`` (False).
    groups : str or array-like of shape (n_obs,), optional
        Column of ``adata.obs``, or labels of the rows, such as donors. Rows of one group are held out
        together.
    estimator : CorrectedPCACV or another estimator of this package, optional
        What is fitted, in place. By default ``CorrectedPCACV()``, with one fold for each group where there
        are fewer than five.
    dtype : data type, default="float32"
        Type of the scores.
    key_added : str, optional
        Name of all three results below, instead of "X_pca", "PCs" and "pca".
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.

    Returns
    -------
    AnnData or None
        The copy, or None. It or `adata` has these results:

        ``obsm["X_pca"]`` : ndarray of shape (n_obs, n_comps)
            Scores.
        ``varm["PCs"]`` : ndarray of shape (n_vars, n_comps)
            Loadings; 0 for genes that were not used.
        ``uns["pca"]`` : dict
            "variance", "variance_ratio" and "params", as in scanpy. And what `estimator` has of these:
            "corrections" (the strength of each; all 0 is PCA), "alpha", "gain", "left_out_gain",
            "left_out_gain_error", "verdict", "choices" (a data frame of strengths, with the weight of each)
            and "steps" (a data frame).

    See Also
    --------
    attenua.CorrectedPCACV : What is fitted, and what its results mean.

    Examples
    --------
    >>> import scanpy as sc  # doctest: +SKIP
    >>> import attenua.anndata
    >>> adata = sc.datasets.pbmc68k_reduced()  # doctest: +SKIP
    >>> attenua.anndata.pca(adata, n_comps=10)  # doctest: +SKIP
    >>> sc.pp.neighbors(adata)  # doctest: +SKIP
    """
    _check_adata(adata)
    _check_form(dtype, key_added)
    named_mask, mask = _checked_mask(adata, mask_var, use_highly_variable)
    genes = adata.var_names if mask is None else adata.var_names[mask]
    rows = _rows(adata, layer, mask, genes)
    labels = _checked_groups(adata, groups)
    estimator = _ready(estimator, n_comps, (adata.n_obs, len(genes)), labels)
    estimator.fit(rows, **({} if labels is None else {"groups": labels}))
    scores = estimator.transform(rows)
    loadings = np.asarray(estimator.components_.T)
    if mask is not None:
        loadings = np.zeros((adata.n_vars, estimator.n_components_))
        loadings[mask] = estimator.components_.T

    target = adata.copy() if copy else adata
    obsm, varm, uns = ("X_pca", "PCs", "pca") if key_added is None else [key_added] * 3
    target.obsm[obsm] = scores.astype(dtype, copy=False)
    target.varm[varm] = loadings
    params = {
        "zero_center": True,
        "use_highly_variable": isinstance(named_mask, str) and named_mask == "highly_variable",
        "mask_var": named_mask,
        "estimator": repr(clone(estimator)),
    }
    target.uns[uns] = _outcome(estimator, params if layer is None else params | {"layer": layer})
    return target if copy else None


def _check_adata(adata: Any) -> None:
    if not all(hasattr(adata, name) for name in ("X", "obsm", "varm", "uns")):
        raise TypeError(
            f"adata must be an AnnData object; got {type(adata).__name__}. Arrays and data frames can be "
            "fitted with attenua.CorrectedPCACV."
        )
    if adata.isbacked:
        raise ValueError("adata must be in memory, and its rows are in a file; use adata.to_memory() first.")


def _check_form(dtype: Any, key_added: Any) -> None:
    try:
        is_real = np.dtype(dtype).kind == "f"
    except TypeError:
        is_real = False
    if not is_real:
        raise ValueError(f"dtype must be a type of real numbers, such as 'float32'; got {dtype!r}.")
    if key_added is not None and not isinstance(key_added, str):
        raise ValueError(f"key_added must be a string or None; got {key_added!r}.")


def _checked_mask(
    adata: Any, mask_var: Any, use_highly_variable: bool | None
) -> tuple[str | NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
    """Return how the genes were named (a column, a mask, or None for all), and the mask."""
    if use_highly_variable is not None:
        if mask_var is not _NOT_GIVEN:
            raise ValueError("give mask_var or use_highly_variable, not both.")
        mask_var = "highly_variable" if use_highly_variable else None
    elif mask_var is _NOT_GIVEN:
        mask_var = "highly_variable" if "highly_variable" in adata.var else None
    if mask_var is None:
        return None, None
    named = isinstance(mask_var, str)
    mask = np.asarray(_entry(adata.var, mask_var, "mask_var", "column of adata.var") if named else mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must hold True or False for each of the {adata.n_vars} genes; got {mask.dtype} values "
            f"of shape {mask.shape}."
        )
    if not mask.any():
        raise ValueError("mask_var is False for every gene, so that no gene is left.")
    return (mask_var if named else mask), mask


def _entry(table: Any, name: str, argument: str, what: str) -> Any:
    """Return what a user names in a part of the data, or list what there is."""
    if name not in table:
        present = ", ".join(map(repr, table)) or "none"
        raise ValueError(f"{argument}={name!r} is not a {what}; there are: {present}.")
    return table[name]


def _rows(adata: Any, layer: str | None, mask: NDArray[np.bool_] | None, genes: Any) -> Any:
    """Return the rows: those of X or of a layer."""
    X = adata.X if layer is None else _entry(adata.layers, layer, "layer", "layer of adata")
    if X is None:
        raise ValueError("adata.X is None; name a layer.")
    X = X if mask is None else X[:, mask]
    X = X.tocsr() if sp.issparse(X) else X
    if isinstance(X, np.ndarray) or sp.issparse(X):
        magnitude(X, genes)  # names the gene of a value that is not finite, as no fit could
    return X


def _checked_groups(adata: Any, groups: Any) -> NDArray[np.intp] | None:
    """Return the labels of the rows as whole numbers."""
    if groups is None:
        return None
    named = isinstance(groups, str)
    labels: Any = _entry(adata.obs, groups, "groups", "column of adata.obs") if named else np.asarray(groups)
    if labels.shape != (adata.n_obs,):
        raise ValueError(
            f"groups must hold one label for each of the {adata.n_obs} rows; got shape {labels.shape}."
        )
    if named:
        empty = np.flatnonzero(np.asarray(labels.isna()))
        if empty.size:
            raise ValueError(f"groups={groups!r}: row {adata.obs_names[empty[0]]!r} has no label.")
        labels = np.asarray(labels)
    encoded = encode_labels(labels, "groups")
    if encoded.max() == 0:
        raise ValueError("groups has one label only; holding out groups takes two or more.")
    return encoded


def _ready(estimator: Any, n_comps: Any, shape: tuple[int, int], labels: Any) -> Any:
    """Return the estimator, with a number of components."""
    if estimator is None:
        estimator = CorrectedPCACV(cv=_FOLDS if labels is None else min(_FOLDS, int(labels.max()) + 1))
    elif not isinstance(estimator, SubspaceTransformer):
        raise TypeError(
            "estimator must be one of this package, such as CorrectedPCACV(); got "
            f"{getattr(estimator, '__name__', type(estimator).__name__)}."
        )
    if labels is not None and not hasattr(estimator, "cv"):
        raise ValueError(
            f"groups says which rows are held out together, but {type(estimator).__name__} holds out none."
        )
    if n_comps is not None:
        n_comps = checked_count(n_comps, "n_comps", most=min(shape))
    else:
        n_comps = estimator.n_components
    if n_comps is None:
        n_comps = _default_n_comps(estimator, *shape, labels)
    return estimator.set_params(n_components=n_comps)


def _default_n_comps(estimator: Any, n_obs: int, n_vars: int, labels: Any) -> int:
    """Return 50, or fewer where the genes or the rows of a training set are few."""
    n_trained = n_obs
    cv: Any = resolve_cv(estimator.cv) if hasattr(estimator, "cv") else None
    if is_number_of_folds(cv) and cv >= 2:
        sizes = np.ones(n_obs, dtype=int) if labels is None else np.bincount(labels)
        # A fold may hold the largest groups.
        n_trained -= int(np.sort(sizes)[-int(np.ceil(len(sizes) / cv)) :].sum())
    return max(min(_MOST_COMPS, n_trained - 1, n_vars - 1), 1)


def _outcome(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a fit in types that a file of annotated data can hold."""
    outcome = {
        "params": params,
        "variance": estimator.explained_variance_,
        "variance_ratio": estimator.explained_variance_ratio_,
    }
    names = ("corrections", "alpha", "gain", "left_out_gain", "left_out_gain_error", "verdict")
    outcome |= {name: getattr(estimator, f"{name}_") for name in names if hasattr(estimator, f"{name}_")}
    if hasattr(estimator, "steps_"):
        import pandas as pd  # anndata requires it

        steps = pd.DataFrame(estimator.steps_.to_records())
        for name in ("strengths", "risks"):  # one text for each step
            steps[name] = [", ".join(f"{value:.6g}" for value in values) for values in steps[name]]
        steps.index = steps.index.astype(str)  # files of annotated data hold no other index
        outcome["steps"] = steps
        choices = pd.DataFrame(estimator.choices_)
        choices.index = choices.index.astype(str)
        outcome["choices"] = choices.assign(weight=estimator.choice_weights_)
    return outcome
