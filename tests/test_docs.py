"""The Python in the pages runs, page by page, and prints what the pages say it prints."""

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest
from sklearn.datasets import load_digits, load_wine

import attenua

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for folder in ("docs", "docs/guide")
    for page in (ROOT / folder).glob("*.md")
    if "```python" in page.read_text(encoding="utf-8")
)
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


def words(path):
    """The words of a file, whatever its lines."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_the_readme_says_what_the_report_says():
    readme = words("README.md")
    report = {
        task: words(f"docs/guide/_tasks_{task}.md")
        for task in ("rebuild_new_rows", "denoise_new_rows", "fill_hidden_cells")
    }
    row = r"\| \*\*[^|]*\| \d+ \| ([\d.]+) \[[^|]*\| ([\d.]+) \| (\d+)% \| (\d+)%"
    found = [re.search(row, text).groups() for text in report.values()]
    means, medians, better, _ = zip(*found, strict=True)
    first = "with {}% less error than PCA, denoises them with {}% less and fills their hidden cells with {}%"
    assert first.format(*means) in readme
    assert "gain more than {}, {} and {}%".format(*medians) in readme
    assert f"{100 - int(better[0])}% of the data sets reconstruct no better" in readme
    shown = re.findall(r"with ([\d.]+)% less: (\d+)% [^,]*gain, (\d+)% ", words("docs/index.md"))
    assert sorted(shown) == sorted((mean, share, losing) for mean, _, share, losing in found)
    (loss,) = re.findall(
        r"paper's strength alone has a mean gain of -(.*?)%", words("docs/guide/_evidence_headline.md")
    )
    assert f"lost {loss}% on average on 42 other data sets" in readme


def test_tables_of_gains_average_settings_and_data_sets(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    with_gains = importlib.import_module("gains").with_gains
    task = {"part": "known", "kind": "spectra", "task": "rebuild new rows", "method": "recommended"}
    one = [task | {"data": "a", "gain": gain} for gain in ("1", "-0.04")]
    cells = [*one, task | {"data": "b", "part": "final", "gain": "4"}]
    cells += [task | {"data": "c", "kind": "counts", "gain": "3"}]
    cells += [cell | {"method": "PCA", "gain": "50"} for cell in cells]
    page = with_gains("# Title\n\n<!-- gains in: rebuild new rows -->\n", cells)
    assert page.splitlines()[4:] == ["| counts | 1 | 3.0 | 3.0 | 3.0 |", "| spectra | 2 | 2.2 | 0.0 | 4.0 |"]
    page = with_gains("<!-- gains of: spectra -->", cells)
    assert page.splitlines()[2:] == ["| **b** | 4.0 | – | – |", "| a | 0.5 (0.0 to 1.0) | – | – |"]


def listed_names():
    """The names in the reference, by module."""
    names: dict[str, set[str]] = {}
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif module and re.fullmatch(r"   \w+", line):
                names.setdefault(module, set()).add(line.strip())
    return names


def public_modules():
    """The modules that say what is public; nobody calls the command line from Python."""
    names = ["attenua", *(f"attenua.{found.name}" for found in pkgutil.iter_modules(attenua.__path__))]
    modules = [importlib.import_module(name) for name in names if not re.search(r"\._|\.cli$", name)]
    return [module for module in modules if hasattr(module, "__all__")]


def test_reference_lists_every_public_name():
    listed = listed_names()
    for module in public_modules():
        public = {name for name in module.__all__ if callable(getattr(module, name))}
        assert public <= listed[module.__name__], module.__name__


def test_reference_lists_no_private_name():
    for module, names in listed_names().items():
        assert "._" not in module
        package = importlib.import_module(module)
        for name in names:
            assert not name.startswith("_")
            assert hasattr(package, name), f"{module}.{name}"


def test_pictures_and_pages_that_the_readme_links_to_exist():
    links = re.findall(r"\]\((.*?)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert any(link.endswith(".png") for link in links)
    for link in links:
        path, _, heading = link.partition("#")
        # Relative, so that it works in a clone, an editor and any code host.
        assert (ROOT / path).is_file(), link
        headings = (
            re.findall("^#+ (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
            if heading
            else []
        )
        anchors = [re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings]
        assert not heading or heading in anchors, link


def test_every_extra_is_on_the_page_that_says_how_to_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_the_citation_is_of_this_version():
    for path in ("docs/cite.md", "CITATION.cff"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.findall(r"^ *version *[=:] *{?([\d.]+)", text, re.MULTILINE) == [attenua.__version__]


def test_every_public_function_has_an_example():
    # Data sets cannot be fetched in an example: it must run without a network.
    for module in (
        "attenua",
        "attenua_paper.rivals",
        "attenua_paper.studies",
        "attenua_paper.theory",
    ):
        package = importlib.import_module(module)
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isfunction(found):
                assert ">>>" in inspect.getdoc(found), f"{module}.{name}"


def section(cls, title):
    """Return the names that a section of a numpydoc docstring describes."""
    text = re.split(rf"^{title}\n-+\n", inspect.getdoc(cls), flags=re.MULTILINE)[1]
    text = re.split(r"^\w[\w ]*\n-+\n", text, flags=re.MULTILINE)[0]
    return ", ".join(re.findall(r"^([\w, ]+) : ", text, re.MULTILINE)).split(", ")


@pytest.mark.parametrize(
    "name", ["CorrectedPCA", "CorrectedPCACV", "AttenuatedPCA", "AttenuatedPCACV", "CorrectedCovariance"]
)
def test_the_docstring_of_an_estimator_has_every_parameter_and_attribute(name):
    cls = getattr(attenua, name)
    assert section(cls, "Parameters") == list(inspect.signature(cls).parameters)
    frame = pytest.importorskip("pandas").DataFrame(load_wine().data[::4], columns=load_wine().feature_names)
    model = cls().fit(frame)
    fitted = {key for key in vars(model) if key.endswith("_")} | ({"loadings_"} & set(dir(cls)))
    assert set(section(cls, "Attributes")) == fitted


def test_the_code_of_the_readme_runs(capsys):
    (code,) = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    names = {"X": load_digits().data[:40]}
    exec(code, names)
    assert names["scores"].shape == (40, 20)
    assert names["pca"].verdict_ in capsys.readouterr().out
