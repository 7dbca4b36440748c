"""An AnnData object holds rows but is none: the error says what to give instead."""

import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from tests.helpers import in_turn, spiked_rows

ROWS = spiked_rows(40, 4)


class AnnData:
    """Looks like the class of anndata."""

    __module__ = "anndata._core.anndata"
    shape = (40, 4)
    obsm: dict = {}  # noqa: RUF012
    X = ROWS


def real_anndata():
    anndata = pytest.importorskip("anndata", reason="no anndata")
    return anndata.AnnData(ROWS)


@pytest.mark.parametrize(
    ("estimator", "make"),
    in_turn([AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV], [AnnData, real_anndata]),
)
def test_an_anndata_object_is_refused_with_what_to_do(estimator, make):
    sentence = (
        r"X is an AnnData object; give its matrix, adata\.X, or use attenua\.anndata\.pca\(adata, n_comps"
    )
    adata = make()
    model = estimator(2)
    with pytest.raises(TypeError, match=sentence):
        model.fit(adata)
    model.fit(adata.X)
    with pytest.raises(TypeError, match=sentence):
        model.transform(adata)
