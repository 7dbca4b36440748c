"""What is said in several places of the package is the same everywhere."""

import re
import sys
import tomllib
from pathlib import Path
from subprocess import run

import pytest

import attenua

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]

# Where people are sent, in three spellings of one owner and one repository.
_PLACES = re.compile(
    r"https://(?:github\.com|raw\.githubusercontent\.com)/([\w-]+)/attenua\b|https://([\w-]+)\.github\.io/attenua\b"
)


def read_yaml(path):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def texts():
    """Return the files that may name the project's address."""
    found = [ROOT / name for name in ("pyproject.toml", "CITATION.cff")]
    found += ROOT.glob("*.md")
    for folder in ("docs", "examples", "src", "recipe", ".github"):
        for suffix in ("md", "rst", "py", "yml", "yaml", "html", "template"):
            found += (ROOT / folder).rglob(f"*.{suffix}")
    built = {ROOT / "docs" / name for name in ("_build", "auto_examples")}
    return [path for path in found if not built & set(path.parents)]


def test_the_project_has_one_address():
    owner = re.fullmatch(r"https://github\.com/([\w-]+)/attenua", PROJECT["urls"]["Source"])[1]
    named = {
        (str(path.relative_to(ROOT)), place)
        for path in texts()
        for places in _PLACES.findall(path.read_text(encoding="utf-8"))
        for place in places
        if place
    }
    assert {place for _, place in named} == {owner}, sorted(named)
    assert {"pyproject.toml", "recipe/recipe.yaml"} <= {Path(name).as_posix() for name, _ in named}


def test_the_version_is_in_one_place_and_its_copies_agree():
    assert "version" in PROJECT["dynamic"]
    assert "version = release = attenua.__version__" in (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    assert read_yaml("CITATION.cff")["version"] == attenua.__version__
    assert read_yaml("recipe/recipe.yaml")["context"]["version"] == attenua.__version__


def test_the_recipe_needs_what_the_package_needs():
    recipe = read_yaml("recipe/recipe.yaml")
    needed = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cli"]
    # On conda-forge, matplotlib-base is matplotlib without a window toolkit.
    run_needs = {need.replace(" ", "").replace("-base", "") for need in recipe["requirements"]["run"]}
    assert run_needs == {"python>=${{python_min}}", *needed}
    host_needs = {need.replace(" ", "") for need in recipe["requirements"]["host"]}
    assert host_needs >= set(SETTINGS["build-system"]["requires"])
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"
    (entry,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(entry)]


def extras_in(name):
    """Return the extras that an extra consists of, and the packages that it names itself."""
    needs = PROJECT["optional-dependencies"][name]
    own = [re.fullmatch(r"attenua\[(.*)\]", need) for need in needs]
    return {extra for found in own if found for extra in found[1].split(",")}, needs


def test_all_is_what_a_user_may_want_and_dev_what_a_developer_needs():
    extras = set(PROJECT["optional-dependencies"])
    assert extras_in("dev")[0] == {"test", "docs"}
    of_a_user = extras - {"all", "dev", "test", "docs"}
    assert extras_in("all")[0] == of_a_user >= {"cli", "h5ad"}
    packages = " ".join(need for extra in of_a_user for need in extras_in(extra)[1])
    assert not re.search("sphinx|pytest", packages)
    # One extra brings the whole command: report, pictures and Excel sheets.
    of_cli = set(PROJECT["optional-dependencies"]["cli"])
    assert of_cli >= {need for extra in ("plot", "models") for need in extras_in(extra)[1]}
    assert {"click", "jinja2", "openpyxl", "pyarrow"} <= {need.partition(">")[0] for need in of_cli}


def test_links_of_the_readme_are_absolute_on_the_index_page():
    hook = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert [fragment["path"] for fragment in hook["fragments"]] == ["README.md"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.findall(r"\]\((.*?)\)", text)
    for rule in hook["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    source = PROJECT["urls"]["Source"]
    places = [
        (r"(docs/images/.*)", rf"{source.replace('github.com', 'raw.githubusercontent.com')}/main/\1"),
        (r"docs/(.*)\.(?:md|rst)(#.*)?", rf"{PROJECT['urls']['Documentation']}\1.html\2"),
        (r"([A-Z]+\.md)", rf"{source}/blob/main/\1"),
    ]
    absolute = []
    for link in relative:
        (place,) = ((pattern, place) for pattern, place in places if re.fullmatch(pattern, link))
        absolute.append(re.sub(*place, link))
    assert re.findall(r"\]\((.*?)\)", text) == absolute


def test_every_supported_python_is_tested():
    matrix = read_yaml(".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    stated = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert matrix["python"] == stated


@pytest.mark.slow
def test_the_command_is_also_a_module():
    said = run([sys.executable, "-m", "attenua", "--help"], capture_output=True, text=True, check=True).stdout
    assert "Usage: attenua" in said
    assert "python -m" not in said


def test_every_target_of_make_is_listed_with_a_sentence():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split())
    assert phony == set(re.findall(r"^([a-z0-9-]+):.*  ## [A-Za-z].+\.$", makefile, re.MULTILINE))
    assert {"help", "demo", "test", "check", "lint", "docs", "bench", "study"} <= phony
