"""PCA with corrections of annotated data, called and stored as ``scanpy.pp.pca`` does it."""

from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import clone

from attenua._data.folds import make_splits
from attenua._estimate.transformer import SubspaceTransformer
from attenua.corrected import CorrectedPCACV

__all__ = ["pca"]

_MOST_COMPS = 50  # scanpy's default


def pca(
    adata: Any,
    n_comps: int | None = None,
    *,
    layer: str | None = None,
    mask_var: ArrayLike | str | EllipsisType | None = ...,
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
        Annotated data in memory, rows by genes. X may be dense or sparse; NaN is a missing value.
    n_comps : int, optional
        Number of components. By default that of `estimator`, or else 50, or fewer if rows or genes are few.
    layer : str, optional
        Layer to use instead of X.
    mask_var : str, array-like of bool, or None
        Genes to use: a column of ``adata.var``, one truth value for each gene, or None for all genes. By
        default the column "highly_variable" if there is one, and otherwise all genes.
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
            "alpha", "left_out_gain", "left_out_gain_error", "verdict", "choices" (a data frame of strengths,
            with the weight of each) and "steps" (a data frame).

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
    _check_in_memory(adata)
    if mask_var is ...:
        mask_var = "highly_variable" if "highly_variable" in adata.var else None
    mask = _mask(adata, mask_var)
    X = adata.X if layer is None else _entry(adata.layers, layer, "layer", "layer of adata")
    if X is None:
        raise ValueError("adata.X is None; name a layer.")
    rows = X if mask.all() else X[:, mask]
    labels = _entry(adata.obs, groups, "groups", "column of adata.obs") if isinstance(groups, str) else groups
    estimator = _with_defaults(estimator, n_comps, rows.shape, labels)
    estimator.fit(rows, **({} if labels is None else {"groups": labels}))

    scores = estimator.transform(rows).astype(dtype, copy=False)
    loadings = np.zeros((adata.n_vars, estimator.n_components_), estimator.components_.dtype)
    loadings[mask] = estimator.components_.T
    params = {
        "zero_center": True,
        "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable",
        "mask_var": mask_var if mask_var is None or isinstance(mask_var, str) else mask,
        "estimator": repr(clone(estimator)),
    }
    target = adata.copy() if copy else adata
    obsm, varm, uns = ("X_pca", "PCs", "pca") if key_added is None else [key_added] * 3
    target.obsm[obsm], target.varm[varm] = scores, loadings
    target.uns[uns] = {"params": params if layer is None else params | {"layer": layer}} | _found(estimator)
    return target if copy else None


def _check_in_memory(adata: Any) -> None:
    if not all(hasattr(adata, name) for name in ("X", "obsm", "varm", "uns")):
        raise TypeError(
            f"adata must be an AnnData object; got {type(adata).__name__}. Arrays and data frames can be "
            "fitted with attenua.CorrectedPCACV."
        )
    if adata.isbacked:
        raise ValueError("adata must be in memory, and its rows are in a file; use adata.to_memory() first.")


def _entry(table: Any, name: str, argument: str, what: str) -> Any:
    """Return what a user names in a part of the data, or list what there is."""
    if name not in table:
        present = ", ".join(map(repr, table)) or "none"
        raise ValueError(f"{argument}={name!r} is not a {what}; there are: {present}.")
    return table[name]


def _mask(adata: Any, mask_var: Any) -> NDArray[np.bool_]:
    """Return which genes are used."""
    if mask_var is None:
        return np.ones(adata.n_vars, bool)
    named = isinstance(mask_var, str)
    mask = np.asarray(_entry(adata.var, mask_var, "mask_var", "column of adata.var") if named else mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,) or not mask.any():
        raise ValueError(
            f"mask_var must hold True or False for each of the {adata.n_vars} genes, and True for some; got "
            f"{mask.dtype} values of shape {mask.shape}."
        )
    return mask


def _with_defaults(estimator: Any, n_comps: Any, shape: tuple[int, int], labels: Any) -> Any:
    """Return the estimator, or the one by default, with a number of components."""
    if estimator is None:
        estimator = CorrectedPCACV()
    elif not isinstance(estimator, SubspaceTransformer):
        raise TypeError(f"estimator must be one of attenua's, such as CorrectedPCACV(); got {estimator!r}.")
    holds_out = hasattr(estimator, "cv")
    if labels is not None and not holds_out:
        raise ValueError(
            f"groups says which rows are held out together, but {type(estimator).__name__} holds out none."
        )
    n_comps = estimator.n_components if n_comps is None else n_comps
    if n_comps is None:
        n_rows, n_genes = shape
        if holds_out:
            n_rows = min(len(training) for training, _ in make_splits(estimator.cv, n_rows, groups=labels))
        n_comps = max(1, min(_MOST_COMPS, n_rows - 1, n_genes - 1))
    return estimator.set_params(n_components=n_comps)


def _found(estimator: Any) -> dict[str, Any]:
    """Return the outcome of a fit in types that a file of annotated data can hold."""
    found = {"variance": estimator.explained_variance_, "variance_ratio": estimator.explained_variance_ratio_}
    names = ("alpha", "left_out_gain", "left_out_gain_error", "verdict")
    found |= {name: getattr(estimator, f"{name}_") for name in names if hasattr(estimator, f"{name}_")}
    if hasattr(estimator, "steps_"):
        import pandas as pd  # anndata requires it

        choices = pd.DataFrame(estimator.choices_).assign(weight=estimator.choice_weights_)
        steps = pd.DataFrame(estimator.steps_).astype({"strengths": str, "risks": str})
        # Files of annotated data hold no other index.
        found |= {"choices": choices.rename(index=str), "steps": steps.rename(index=str)}
    return found
