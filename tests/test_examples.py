"""The notebooks run. The examples are run by `make docs`, where a warning is an error."""

import ast
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
NOTEBOOKS = sorted(FOLDER.glob("notebooks/*.ipynb"))
# What the cells of each notebook show as HTML, in their order.
SHOWN = {
    "first_five_minutes": ["CorrectedPCACV", "Steps"],
    "missing_cells": ["DataFrame", "CorrectedPCACV", "DataFrame"],
    "spectra": ["CorrectedPCACV", "Steps"],
    "transfer": ["CorrectedPCACV", "Steps"],
}


def test_there_are_examples():
    assert len(EXAMPLES) >= 6
    assert NOTEBOOKS


def cells(notebook, kind):
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_is_stored_without_output(notebook):
    code = cells(notebook, "code")
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_cells_of_a_notebook_run_and_show_something(notebook, monkeypatch):
    """The cells in their order; the value of a last line is shown, as in a notebook."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="the notebook draws")
    monkeypatch.setattr(plt, "show", lambda: None)
    names, shown = {}, []
    for cell in cells(notebook, "code"):
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), notebook.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
            if hasattr(value, "_repr_html_"):
                shown.append((type(value).__name__, value._repr_html_()))
    plt.close("all")
    assert [name for name, _ in shown] == SHOWN[notebook.stem]
    (of_model,) = [html for name, html in shown if name == "CorrectedPCACV"]
    assert ">averaged</th>" in of_model


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_kernel_runs_the_notebook(notebook, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="no nbclient: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="is the kernel")
    nbformat = pytest.importorskip("nbformat", reason="reads notebooks")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own draws into the notebook
    done = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(done, timeout=300).execute()
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output.output_type == "stream" and output.name == "stderr" for output in outputs)
