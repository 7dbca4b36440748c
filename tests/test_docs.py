"""The Python in the pages runs, page by page, and prints what the pages say it prints."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")])
SLOW = {"scaling"}
NEEDS = {"scanpy": "scanpy"}  # what a page runs and the test extra does not have
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.stem in SLOW else ()) for page in PAGES],
    ids=[page.stem for page in PAGES],
)
def test_code_of_a_page(page, tmp_path, monkeypatch):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem], reason=f"no {NEEDS[page.stem]}; make test-h5ad has it")
    monkeypatch.setenv("SCIPY_ARRAY_API", "")  # a page may set it: it is put back afterwards
    monkeypatch.chdir(tmp_path)
    # One session a page. The blank line ends the expected output of the last statement of a block.
    session = "\n\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))
    test = doctest.DocTestParser().get_doctest(session, {}, page.stem, str(page), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    assert all(">>>" in block for block in BLOCK.findall(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("piece", ["headline", "losses"])
def test_the_readme_says_what_the_report_says(piece):
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    words = (ROOT / "docs" / "guide" / f"_evidence_{piece}.md").read_text(encoding="utf-8").split()
    sentences = re.split(r"(?<=[.]) (?=[A-Z])", " ".join(words))
    assert sentences[0] in readme
    assert sentences[1] in readme


def test_there_is_code_to_run():
    assert sum(page.read_text(encoding="utf-8").count("```python") for page in PAGES) >= 10


@pytest.mark.parametrize(
    "module",
    [
        "attenua",
        "attenua.anndata",
        "attenua.theory",
        "attenua.rivals",
        "attenua.studies",
        "attenua.datasets",
        "attenua.display",
        "attenua.report",
    ],
)
def test_reference_lists_every_public_name(module):
    text = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    start = text.index(f".. currentmodule:: {module}\n")
    end = text.find(".. currentmodule::", start + 1)
    listed = set(re.findall(r"^   (\w+)$", text[start:end], re.MULTILINE))
    package = importlib.import_module(module)
    assert listed == {name for name in package.__all__ if callable(getattr(package, name))}


def test_every_public_function_has_an_example():
    # Data sets cannot be fetched in an example: it must run without a network.
    for module in ("attenua", "attenua.theory", "attenua.rivals", "attenua.studies"):
        package = importlib.import_module(module)
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isfunction(found):
                assert ">>>" in inspect.getdoc(found), f"{module}.{name}"
