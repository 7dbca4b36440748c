"""PCA of annotated data: scanpy's numbers at strength 0, scanpy's places, and scanpy's next steps on top."""

import subprocess
import sys
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
    return adata.obsm[obsm], adata.varm[varm], adata.uns[uns]


def assert_same(ours, theirs, tolerance):
    """Compare scores, loadings and variances; every component has a sign of its own."""
    (scores, loadings, found), (their_scores, their_loadings, their_found) = ours, theirs
    signs = np.sign(np.sum(loadings * their_loadings, axis=0))
    largest = np.abs(their_scores).max()
    np.testing.assert_allclose(scores * signs, their_scores, rtol=0, atol=tolerance * largest)
    np.testing.assert_allclose(loadings * signs, their_loadings, rtol=0, atol=tolerance)
    for name in ("variance", "variance_ratio"):
        np.testing.assert_allclose(found[name], their_found[name], rtol=tolerance)


@pytest.mark.slow
def test_the_import_needs_none_of_the_packages_it_serves():
    code = (
        "import sys; sys.modules.update(anndata=None, scanpy=None, pandas=None); "
        "import attenua.anndata; print(attenua.anndata.__all__)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "['pca']"


def test_an_array_is_refused_and_told_where_to_go():
    with pytest.raises(TypeError, match=r"adata must be an AnnData object; got ndarray.*CorrectedPCACV"):
        pca(np.eye(3))


@needs_scanpy
@pytest.mark.parametrize(
    ("options", "form"),
    in_turn(
        [
            {},
            {"n_comps": 4},
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
    for mine, their in zip(ours[:2], scanpys[:2], strict=True):
        assert mine.dtype == their.dtype
    assert {"obsm": set(adata.obsm), "varm": set(adata.varm), "uns": set(adata.uns)} == {
        "obsm": set(theirs.obsm),
        "varm": set(theirs.varm),
        "uns": set(theirs.uns),
    }
    params = dict(ours[2]["params"])
    assert params.pop("estimator").startswith("CorrectedPCA(n_components=")
    np.testing.assert_equal(params, scanpys[2]["params"])


@needs_scanpy
@pytest.mark.parametrize("said", [{}, {"mask_var": None}, {"mask_var": "highly_variable"}])
def test_highly_variable_genes_are_the_default_as_in_scanpy(said):
    import scanpy as sc

    adata, theirs = sc.datasets.pbmc68k_reduced(), sc.datasets.pbmc68k_reduced()
    sc.pp.pca(theirs, n_comps=5, **said)
    pca(adata, 5, **said, estimator=CorrectedPCA())
    # The data and scanpy's iteration are in single precision.
    assert_same(results(adata), results(theirs), 1e-4)
    unused = np.all(adata.varm["PCs"] == 0, axis=1)
    expected = np.zeros(adata.n_vars, bool) if said == {"mask_var": None} else ~adata.var["highly_variable"]
    np.testing.assert_array_equal(unused, expected)


@needs_anndata
def test_the_older_word_for_highly_variable_genes():
    adata = annotated()
    adata.var["highly_variable"] = adata.var["some"]
    for older, said in ((True, "highly_variable"), (False, None)):
        new = pca(adata, 3, mask_var=said, estimator=CorrectedPCA(), copy=True)
        old = pca(adata, 3, use_highly_variable=older, estimator=CorrectedPCA(), copy=True)
        np.testing.assert_array_equal(old.varm["PCs"], new.varm["PCs"])
    with pytest.raises(ValueError, match="mask_var or use_highly_variable, not both"):
        pca(adata, 3, use_highly_variable=True, mask_var="some")


@needs_anndata
def test_a_copy_leaves_the_data_alone_and_a_view_becomes_actual():
    from anndata import ImplicitModificationWarning

    adata = annotated()
    copied = pca(adata, 3, copy=True)
    assert not adata.obsm
    assert set(copied.obsm) == {"X_pca"}
    view = adata[5:50, ::2]
    with pytest.warns(ImplicitModificationWarning):
        pca(view, 3)
    expected = CorrectedPCACV(3).fit(adata.X[5:50, ::2])
    np.testing.assert_allclose(view.varm["PCs"], expected.components_.T, atol=1e-12)
    assert not adata.obsm


@needs_anndata
def test_rows_in_a_file_are_refused(tmp_path):
    import anndata

    annotated(np.asarray).write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"adata must be in memory.*to_memory"):
        pca(backed)


@needs_anndata
def test_groups_hold_out_whole_donors():
    adata, own = annotated(), annotated()
    estimator = CorrectedPCACV(cv=4)
    pca(adata, 3, groups="donor", estimator=estimator)
    expected = CorrectedPCACV(3, cv=4).fit(adata.X, groups=DONORS)
    np.testing.assert_array_equal(estimator.cv_risk_folds_, expected.cv_risk_folds_)
    assert not np.array_equal(
        estimator.cv_risk_folds_[:, 0], CorrectedPCACV(3, cv=4).fit(adata.X).cv_risk_folds_[:, 0]
    )
    # Four donors are four folds unless an estimator says otherwise; labels can be given themselves.
    pca(own, 3, groups=DONORS)
    np.testing.assert_array_equal(own.obsm["X_pca"], adata.obsm["X_pca"])


@needs_anndata
def test_the_default_number_of_components_fits_every_training_set():
    adata = annotated()
    pca(adata)
    assert adata.obsm["X_pca"].shape == (N, P - 1)
    pca(adata, mask_var=np.arange(P) < 7, groups="donor")
    assert adata.obsm["X_pca"].shape == (N, 6)
    few = adata[:20].copy()
    pca(few)
    assert few.obsm["X_pca"].shape == (20, 15)  # training sets of 16 rows
    few.obs["pair"] = np.repeat(list("abcdefghi"), [4, 2, 2, 2, 2, 2, 2, 2, 2])
    pca(few, groups="pair")
    assert few.obsm["X_pca"].shape == (20, 13)  # 14 rows, if the largest group and another are held out
    given = CorrectedPCA(4)
    pca(adata, estimator=given)
    assert adata.obsm["X_pca"].shape == (N, 4)
    pca(adata, 2, estimator=given)
    assert given.n_components_ == given.n_components == 2


@needs_anndata
def test_single_precision_stays_where_it_was():
    adata = annotated(sp.csr_matrix, np.float32)
    pca(adata, 3)
    assert adata.varm["PCs"].dtype == adata.uns["pca"]["variance"].dtype == np.float32


@needs_anndata
def test_what_was_found_is_stored_and_survives_a_file(tmp_path):
    import anndata

    adata = annotated()
    estimator = CorrectedPCACV(nested=True)
    pca(adata, 3, estimator=estimator, layer="log", mask_var="some")
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    read = anndata.read_h5ad(path)
    found = read.uns["pca"]
    assert found["corrections"] == estimator.corrections_
    assert found["gain"] == estimator.gain_
    assert found["left_out_gain"] == estimator.left_out_gain_
    assert found["left_out_gain_error"] == estimator.left_out_gain_error_
    choices = found["choices"]
    assert list(choices["weight"]) == estimator.choice_weights_
    assert choices.drop(columns="weight").to_dict("records") == estimator.choices_
    assert found["verdict"] == estimator.verdict_
    assert found["params"]["layer"] == "log"
    assert found["params"]["estimator"] == "CorrectedPCACV(n_components=3, nested=True)"
    steps = found["steps"]
    assert list(steps["correction"]) == [step.correction for step in estimator.steps_]
    assert list(steps["weight"]) == [step.weight for step in estimator.steps_]
    np.testing.assert_array_equal(steps["gain"], [step.gain for step in estimator.steps_])
    for text, step in zip(steps["strengths"], estimator.steps_, strict=True):
        assert tuple(map(float, filter(None, text.split(", ")))) == step.strengths
    np.testing.assert_array_equal(read.obsm["X_pca"], adata.obsm["X_pca"])
    np.testing.assert_array_equal(read.varm["PCs"], adata.varm["PCs"])


@needs_anndata
def test_the_papers_estimator_stores_its_strength():
    adata = annotated()
    estimator = AttenuatedPCACV(3)
    pca(adata, estimator=estimator)
    assert adata.uns["pca"]["alpha"] == estimator.alpha_
    assert "steps" not in adata.uns["pca"]


@needs_anndata
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"layer": "counts"}, ValueError, "layer='counts' is not a layer of adata; there are: 'log'"),
        ({"mask_var": "hvg"}, ValueError, "mask_var='hvg' is not a column of adata.var; there are: 'some'"),
        (
            {"mask_var": np.ones(3, bool)},
            ValueError,
            r"each of the 30 genes; got bool values of shape \(3,\)",
        ),
        ({"mask_var": np.ones(P)}, ValueError, "True or False for each of the 30 genes; got float64"),
        ({"mask_var": np.zeros(P, bool)}, ValueError, "no gene is left"),
        ({"use_highly_variable": True}, ValueError, "mask_var='highly_variable' is not a column"),
        ({"groups": "sample"}, ValueError, "groups='sample' is not a column of adata.obs; there are: 'd"),
        ({"groups": DONORS[:5]}, ValueError, "one label for each of the 60 rows"),
        ({"groups": np.zeros(N)}, ValueError, "one label only"),
        ({"groups": "donor", "estimator": CorrectedPCA()}, ValueError, "CorrectedPCA holds out none"),
        ({"estimator": "auto"}, TypeError, r"such as CorrectedPCACV\(\); got str"),
        ({"estimator": CorrectedPCACV}, TypeError, r"such as CorrectedPCACV\(\); got CorrectedPCACV"),
        ({"n_comps": 31}, ValueError, "n_comps must be an integer from 1 to 30; got 31"),
        ({"n_comps": 0.9}, ValueError, "n_comps must be an integer from 1 to 30; got 0.9"),
        ({"dtype": "int32"}, ValueError, "dtype must be a type of real numbers"),
        ({"dtype": "float33"}, ValueError, "dtype must be a type of real numbers"),
        ({"key_added": 3}, ValueError, "key_added must be a string or None; got 3"),
    ],
)
def test_errors_name_the_argument_and_store_nothing(options, error, words):
    adata = annotated()
    with pytest.raises(error, match=words):
        pca(adata, **options)
    assert not adata.obsm
    assert not adata.varm
    assert not adata.uns


@needs_anndata
def test_missing_labels_and_a_missing_matrix_are_named():
    import anndata

    adata = annotated()
    adata.obs.loc["cell7", "donor"] = None
    with pytest.raises(ValueError, match="groups='donor': row 'cell7' has no label"):
        pca(adata, groups="donor")
    with pytest.raises(ValueError, match=r"adata.X is None; name a layer"):
        pca(anndata.AnnData(obs=adata.obs, var=adata.var))


@needs_anndata
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_the_gene_of_a_missing_value_is_named(form):
    adata = annotated()
    adata.X[3, 7] = np.nan
    adata.X = form(adata.X)
    adata.var["late"] = np.arange(P) > 4  # the third of these
    with pytest.raises(ValueError, match=r"NaN in column 2 .'gene7'"):
        pca(adata, 3, mask_var="late")
    assert not adata.uns


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
    sc.tl.umap(adata, maxiter=20)
    sc.pl.pca(adata, color="digit", show=False)
    sc.pl.pca_loadings(adata, components="1,2", show=False)
    sc.pl.pca_variance_ratio(adata, show=False)
    assert adata.obsm["X_umap"].shape == (adata.n_obs, 2)
    # Three digits that lie far apart: the clusters must find them.
    agreement = pd.crosstab(adata.obs["leiden"], adata.obs["digit"]).max(axis=1).sum() / adata.n_obs
    assert agreement > 0.95
