"""Annotated data: the matrix X, variable names as columns, row annotations as groups."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from attenua.cli.readers import TableError, read_table

# anndata holds pandas back, so that it has an environment of its own.
pytestmark = pytest.mark.skipif(not find_spec("anndata"), reason="no anndata; make test-h5ad has it")

X = np.arange(12.0).reshape(4, 3) ** 2


def write(path, matrix, batch=("u", "u", "v", "v")):
    import anndata

    obs = pd.DataFrame({"batch": pd.Categorical(batch), "run": [1, 1, 2, 2]}, index=list("wxyz"))
    anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=["g1", "g2", "g3"])).write_h5ad(path)
    return path


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_matrix_names_and_groups(tmp_path, form):
    path = write(tmp_path / "x.h5ad", form(X))
    table = read_table(path, group_column="batch", columns=["g1,g3"])
    numbers = table.X.toarray() if sp.issparse(table.X) else table.X
    np.testing.assert_array_equal(numbers, X[:, [0, 2]])
    assert sp.issparse(table.X) == (form is sp.csr_matrix)
    assert table.names == ["g1", "g3"]
    assert list(table.groups) == ["u", "u", "v", "v"]
    assert list(read_table(path, group_column="run").groups) == [1, 1, 2, 2]
    assert (list(table.ids), table.id_name) == (list("wxyz"), "id")
    assert list(read_table(path, id_column="batch", colour_by="run").ids) == ["u", "u", "v", "v"]
    assert list(read_table(path, id_column="batch", colour_by="run").colours) == [1, 1, 2, 2]


def test_errors_name_row_and_column(tmp_path):
    path = write(tmp_path / "x.h5ad", X, batch=("u", None, "v", "v"))
    with pytest.raises(TableError, match="row 2, column 'batch' has no group label"):
        read_table(path, group_column="batch")
    with pytest.raises(TableError, match="no column 'donor'"):
        read_table(path, group_column="donor")
    bad = X.copy()
    bad[2, 1] = np.nan
    with pytest.raises(TableError, match=r"1 cell is missing, .* the first is row 3, column 'g2'\."):
        read_table(write(tmp_path / "bad.h5ad", bad), missing="fail")
    (tmp_path / "broken.h5ad").write_bytes(b"nothing of the kind")
    with pytest.raises(TableError, match=r"broken.h5ad cannot be read as h5ad"):
        read_table(tmp_path / "broken.h5ad")
