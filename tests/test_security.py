"""What SECURITY.md promises: we never open a pickle, and never run text from a file."""

import ast
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import attenua
from attenua import load_model
from tests.cli.shell import run

SOURCE = Path(attenua.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# Modules whose files run code when they are opened, and functions that run what they are given.
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "subprocess"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {"read_pickle", "to_pickle"}
OWNED = {("joblib", "load"), ("torch", "load"), ("os", "system"), ("os", "popen")}


def dangers(tree):
    """Yield what could open a pickle or run a text, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from ((node.lineno, name) for name in names if name.split(".")[0] in MODULES)
            if getattr(node, "module", "") == "joblib":
                yield from ((node.lineno, alias.name) for alias in node.names if alias.name == "load")
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            said_no = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg in ("allow_pickle", "shell") and not said_no:
                yield node.lineno, keyword.arg
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = getattr(getattr(node.func, "value", None), "id", "")
        is_name = isinstance(node.func, ast.Name)
        if (is_name and name in CALLS) or name in METHODS or (owner, name) in OWNED:
            yield node.lineno, name


def test_no_file_of_the_package_opens_a_pickle_or_runs_a_text():
    assert len(FILES) > 60
    found = {str(path): list(dangers(ast.parse(path.read_text(encoding="utf-8")))) for path in FILES}
    assert {path: some for path, some in found.items() if some} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from pickle import loads",
        "from joblib import load",
        "np.load(x, allow_pickle=flag)",
        "eval(x)",
        "torch.load(x)",
        "pd.read_pickle(x)",
    ],
)
def test_the_search_finds_what_it_looks_for(line):
    assert list(dangers(ast.parse(line)))


# --- a pickle that would leave a trace ---------------------------------------------------------------------


class Bomb:
    """What opening its pickle would do: make a file."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


@pytest.fixture
def trace(tmp_path):
    """The file that must not exist in the end; first check that the bomb works."""
    trace = tmp_path / "trace"
    pickle.loads(pickle.dumps(Bomb(trace))).close()
    assert trace.exists()
    trace.unlink()
    yield trace
    assert not trace.exists()


def objects(trace, shape=(3, 2)):
    array = np.empty(shape, dtype=object)
    array.fill(Bomb(trace))
    return array


def written_npy(path, trace):
    np.save(path, objects(trace), allow_pickle=True)


def written_npz(path, trace):
    np.savez(path, X=objects(trace))


def written_sparse_npz(path, trace):
    parts = {"format": b"csr", "shape": np.array([3, 2]), "data": objects(trace, (1,))}
    np.savez(path, **parts, indices=np.array([0]), indptr=np.array([0, 1, 1, 1]))


def written_sparse_npz_of_an_object(path, trace):
    np.savez(path, format=objects(trace, ()), shape=np.array([3, 2]), data=np.ones(1))


def written_pickle(path, trace):
    path.write_bytes(pickle.dumps(Bomb(trace)))


def written_packed_pickle(path, trace):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", pickle.dumps(Bomb(trace)))


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (".npy", written_npy),
        (".npz", written_npz),
        (".npz", written_sparse_npz),
        (".npz", written_sparse_npz_of_an_object),
        (".npz", written_packed_pickle),
        *((ending, written_pickle) for ending in (".npy", ".npz", ".csv", ".feather", ".xlsx", ".pkl")),
    ],
)
def test_no_reader_of_the_command_line_opens_a_pickle(tmp_path, trace, ending, write):
    path = tmp_path / f"rows{ending}"
    write(path, trace)
    result = run("fit", path, "-k", 1, "--out", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")


def test_pandas_metadata_of_parquet_are_not_opened(tmp_path, trace):
    """Arrow can store Python objects in extension types, and metadata of pandas."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = pa.table({"a": [1.0, 2.0, 4.0], "b": [1.0, 0.0, 1.0], "c": [pickle.dumps(Bomb(trace))] * 3})
    table = table.replace_schema_metadata({"pandas": pickle.dumps(Bomb(trace)), "ARROW:schema": b"x"})
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table, path)
    assert run("fit", path, "-k", 1, "--out", tmp_path / "out").exit_code in (0, 1)


def test_no_model_file_opens_a_pickle(tmp_path, trace):
    path = tmp_path / "model.safetensors"
    for write in (written_pickle, written_packed_pickle):
        write(path, trace)
        with pytest.raises(ValueError, match="not a model file"):
            load_model(path)
