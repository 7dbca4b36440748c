"""PCA of annotated data: scanpy's numbers at strength 0, scanpy's places, and scanpy's next steps on top."""

import ast
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.anndata import pca
from tests.helpers import in_turn

needs_anndata = pytest.mark.skipif(not find_spec("anndata"), reason="no anndata; make test-h5ad has it")
needs_scanpy = pytest.mark.skipif(not find_spec("scanpy"), reason="no scanpy; make test-h5ad has it")

N, P = 60, 30
DONORS = np.repeat(["ann", "bea", "cem", "dan"], [25, 15, 12, 8])


def annotated(form=np.asarray, dtype=float):
    import anndata

    random = np.random.default_rng(0)
    X = random.poisson(np.exp(random.normal(size=(N, 3)) @ random.normal(size=(3, P)) / 2)).astype(dtype)
    obs = pd.DataFrame({"donor": pd.Categorical(DONORS)}, index=[f"cell{i}" for i in range(N)])
    var = pd.DataFrame({"some": np.arange(P) % 3 > 0}, index=[f"gene{j}" for j in range(P)])
    return anndata.AnnData(form(X), obs=obs, var=var, layers={"log": form(np.log1p(X))})


def results(adata, key=None):
    obsm, varm, uns = ("X_pca", "PCs", "pca") if key is None else [key] * 3
    found = adata.uns[uns]
    return adata.obsm[obsm], adata.varm[varm], found["variance"], found["variance_ratio"], found["params"]


def assert_same(ours, theirs, tolerance):
    """Compare scores, loadings and variances; every component has a sign of its own."""
    signs = np.sign(np.sum(ours[1] * theirs[1], axis=0))
    for mine, their, sign in zip(ours[:4], theirs[:4], [signs, signs, 1, 1], strict=True):
        np.testing.assert_allclose(mine * sign, their, rtol=0, atol=tolerance * np.abs(their).max())


def assert_nothing_stored(adata):
    assert not any(map(len, (adata.obsm, adata.varm, adata.uns)))


def test_an_array_is_refused_and_told_where_to_go():
    with pytest.raises(TypeError, match=r"adata must be an AnnData object; got ndarray.*CorrectedPCACV"):
        pca(np.eye(3))


@needs_scanpy
@pytest.mark.parametrize(
    ("options", "form"),
    in_turn(
        [
            {},
            {"n_comps": 4, "layer": "log"},
            {"n_comps": 4, "mask_var": "some"},
            {"n_comps": 4, "mask_var": np.arange(P) < 20},
            {"n_comps": 4, "mask_var": "some", "layer": "log", "key_added": "mine"},
            {"n_comps": 4, "dtype": "float64"},
        ],
        [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array],
    ),
)
def test_strength_zero_is_scanpys_pca(form, options):
    import scanpy as sc

    adata, theirs = annotated(form), annotated(form)
    sc.pp.pca(theirs, **options)
    assert pca(adata, **options, estimator=CorrectedPCA()) is None
    key = options.get("key_added")
    ours, scanpys = results(adata, key), results(theirs, key)
    # The scores are rounded to single precision unless double is asked for.
    assert_same(ours, scanpys, 1e-8 if options.get("dtype") == "float64" else 1e-6)
    assert ours[0].dtype == scanpys[0].dtype
    for place in ("obsm", "varm", "uns"):
        assert set(getattr(adata, place)) == set(getattr(theirs, place))
    params = dict(ours[-1])
    assert params.pop("estimator").startswith("CorrectedPCA(n_components=")
    np.testing.assert_equal(params, scanpys[-1])


@needs_scanpy
@pytest.mark.parametrize("said", [{}, {"mask_var": None}])
def test_highly_variable_genes_are_the_default_as_in_scanpy(said):
    import scanpy as sc

    adata, theirs = sc.datasets.pbmc68k_reduced(), sc.datasets.pbmc68k_reduced()
    sc.pp.pca(theirs, n_comps=5, **said)
    pca(adata, 5, **said, estimator=CorrectedPCA())
    # The data and scanpy's iteration are in single precision.
    assert_same(results(adata), results(theirs), 1e-4)
    unused = np.all(adata.varm["PCs"] == 0, axis=1)
    np.testing.assert_array_equal(unused, ~adata.var["highly_variable"] & (not said))


@needs_anndata
def test_a_copy_leaves_the_data_alone():
    adata = annotated()
    assert set(pca(adata, 3, copy=True).obsm) == {"X_pca"}
    assert_nothing_stored(adata)


@needs_anndata
@pytest.mark.parametrize("given", ["donor", DONORS])
def test_groups_hold_out_whole_donors(given):
    adata = annotated()
    pca(adata, 3, groups=given, dtype=float)
    expected = CorrectedPCACV(3, cv=4).fit(adata.X, groups=DONORS)  # of four donors, each is a fold
    np.testing.assert_array_equal(adata.obsm["X_pca"], expected.transform(adata.X))
    pca(adata, 3, dtype=float)
    assert not np.array_equal(adata.obsm["X_pca"], expected.transform(adata.X))


@needs_anndata
@pytest.mark.parametrize(
    ("n_rows", "options", "n_comps"),
    [
        (60, {}, P - 1),
        (60, {"mask_var": np.arange(P) < 7}, 6),
        (20, {}, 15),  # training sets of 16 rows
        (40, {"groups": "donor"}, 14),  # one donor has 25 of the rows
        (60, {"estimator": CorrectedPCA(4), "n_comps": 2}, 2),
    ],
)
def test_the_number_of_components_by_default_fits_every_training_set(n_rows, options, n_comps):
    adata = annotated()[:n_rows].copy()
    pca(adata, **options)
    assert adata.obsm["X_pca"].shape == (n_rows, n_comps)


@needs_anndata
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_value_that_is_nan_is_missing(form):
    adata = annotated()
    adata.X[3, 7] = np.nan
    rows, adata.X = adata.X, form(adata.X)
    pca(adata, 3)
    np.testing.assert_allclose(adata.varm["PCs"], CorrectedPCACV(3).fit(rows).components_.T, atol=1e-12)


@needs_anndata
def test_what_was_found_is_stored_and_survives_a_file(tmp_path):
    import anndata

    adata, path = annotated(), tmp_path / "cells.h5ad"
    estimator = CorrectedPCACV(nested=True)
    pca(adata, 3, estimator=estimator, layer="log", mask_var="some")
    adata.write_h5ad(path)
    read = anndata.read_h5ad(path)
    np.testing.assert_array_equal(read.obsm["X_pca"], adata.obsm["X_pca"])
    np.testing.assert_array_equal(read.varm["PCs"], adata.varm["PCs"])
    found = read.uns["pca"]
    assert found["params"]["estimator"] == "CorrectedPCACV(n_components=3, nested=True)"
    for name in ("left_out_gain", "left_out_gain_error", "verdict"):
        assert found[name] == getattr(estimator, f"{name}_")
    assert list(found["choices"].pop("weight")) == estimator.choice_weights_
    assert found["choices"].to_dict("records") == estimator.choices_
    steps = found["steps"]
    assert list(steps["correction"]) == [step.correction for step in estimator.steps_]
    np.testing.assert_array_equal(steps["gain"], [step.gain for step in estimator.steps_])
    assert [ast.literal_eval(text) for text in steps["strengths"]] == [s.strengths for s in estimator.steps_]


@needs_anndata
def test_the_papers_estimator_stores_its_strength_and_stays_in_single_precision():
    adata = annotated(sp.csr_matrix, np.float32)
    estimator = AttenuatedPCACV(3)
    pca(adata, mask_var="some", estimator=estimator)
    assert adata.varm["PCs"].dtype == adata.uns["pca"]["variance"].dtype == np.float32
    assert adata.uns["pca"]["alpha"] == estimator.alpha_
    assert "steps" not in adata.uns["pca"]


@needs_anndata
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"layer": "counts"}, ValueError, "layer='counts' is not a layer of adata; there are: 'log'"),
        ({"mask_var": "hvg"}, ValueError, "mask_var='hvg' is not a column of adata.var; there are: 'some'"),
        ({"mask_var": np.ones(3, bool)}, ValueError, r"of the 30 genes.* got bool values of shape \(3,\)"),
        ({"mask_var": np.ones(P)}, ValueError, "True or False for each of the 30 genes.* got float64"),
        ({"mask_var": np.zeros(P, bool)}, ValueError, "and True for some"),
        ({"groups": "sample"}, ValueError, "groups='sample' is not a column of adata.obs; there are: 'd"),
        ({"groups": DONORS[:5]}, ValueError, "one label for each of the 60 rows"),
        ({"groups": "donor", "estimator": CorrectedPCA()}, ValueError, "CorrectedPCA holds out none"),
        ({"estimator": "auto"}, TypeError, r"such as CorrectedPCACV\(\); got 'auto'"),
        ({"dtype": "float33"}, TypeError, "float33"),
    ],
)
def test_errors_name_the_argument_and_store_nothing(options, error, words):
    adata = annotated()
    with pytest.raises(error, match=words):
        pca(adata, **options)
    assert_nothing_stored(adata)


@needs_anndata
def test_rows_in_a_file_and_a_missing_matrix_are_refused(tmp_path):
    import anndata

    annotated().write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(ValueError, match=r"adata must be in memory.*to_memory"):
        pca(anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r"))
    with pytest.raises(ValueError, match=r"adata.X is None; name a layer"):
        pca(anndata.AnnData(obs=annotated().obs))


@needs_scanpy
@pytest.mark.filterwarnings("ignore")  # of scanpy and of what it calls
def test_scanpy_goes_on_from_here():
    import anndata
    import matplotlib
    import scanpy as sc

    matplotlib.use("Agg")
    digits = load_digits(n_class=3)
    adata = anndata.AnnData(digits.data, obs={"digit": digits.target.astype(str)})
    pca(adata, 10)
    sc.pp.neighbors(adata)
    assert adata.uns["neighbors"]["params"].get("use_rep", "X_pca") == "X_pca"
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False, resolution=0.05)
    sc.pl.pca(adata, color="digit", show=False)
    sc.pl.pca_loadings(adata, components="1,2", show=False)
    sc.pl.pca_variance_ratio(adata, show=False)
    # Three digits that lie far apart: the clusters must find them.
    agreement = pd.crosstab(adata.obs["leiden"], adata.obs["digit"]).max(axis=1).sum() / adata.n_obs
    assert agreement > 0.95
