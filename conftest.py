"""Settings of all tests: threads of BLAS, slow tests, and a count of what was left out."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

# Read when numpy is imported, which nothing above does. pytest-xdist has a process on every core, and the
# threads of several processes would wait for each other.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# What a reason speaks of, and how to get it. Reasons that mean the same become one line.
HOW_TO_GET = {
    "slow": "slow: make test runs them",
    "torch": "no torch: pip install torch",
    "cupy": "no CuPy: it needs a GPU; pip install cupy-cuda12x",
    "cuda|mps|xpu|dpnp": "no device of this kind: scikit-learn's checks ask for CUDA, MPS, XPU and dpnp",
    "chrom|browser": "no browser: install chromium, or let CHROMIUM name it",
    "scanpy": "no scanpy: make test-h5ad has it",
    "anndata": "no anndata: make test-h5ad has it",
    "rrcov": "no R with rrcov: apt-get install r-cran-rrcov, or install.packages('rrcov') in R",
    "scikit-fda|skfda": "no scikit-fda: pip install scikit-fda 'multimethod<2'",
    "robustcov": "no robustcov: pip install --ignore-requires-python robustcov",
    "ATTENUA_DATA": "no data of the paper: attenua-paper data --download; ATTENUA_DATA names the folder",
    "ATTENUA_COLLECTION": "no collection: docs/guide/collection.md tells how to fill ATTENUA_COLLECTION",
}

# Small versions of long runs, and all options on all array libraries: slow as a whole.
SLOW_FOLDERS = [
    Path(__file__).parent / name for name in ("tests/backends", "paper/tests/studies", "evidence/tests")
]


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out the tests that are slow")


def pytest_configure(config):
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import settings

        # The same examples in every run: a test that fails must fail again.
        number = 8 if config.getoption("--fast") else 32
        settings.register_profile("attenua", deadline=None, max_examples=number, derandomize=True)
        settings.load_profile("attenua")


def pytest_ignore_collect(collection_path, config):
    return True if config.getoption("--fast") and collection_path in SLOW_FOLDERS else None


def pytest_collection_modifyitems(config, items):
    if config.getoption("--fast"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow"))


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were left out, and why: a run that is green may have tested less than it seems."""
    reports = terminalreporter.stats.get("skipped", ())
    tests, files = Counter(), Counter()
    for report in reports:
        # A file that is left out as a whole reports once, before its tests are known.
        counter = files if isinstance(report, pytest.CollectReport) else tests
        counter[_reason(report)] += 1
    folders = [
        path.relative_to(Path(__file__).parent).as_posix()
        for path in SLOW_FOLDERS
        if terminalreporter.config.getoption("--fast") and path.is_dir()
    ]
    if reports or folders:
        terminalreporter.section("left out")
        for reason, _ in (tests + files).most_common():
            amounts = ((tests[reason], "test"), (files[reason], "whole file"))
            said = ", ".join(f"{n} {what}{'s' * (n > 1)}" for n, what in amounts if n)
            terminalreporter.line(f"{said:>12}  {reason}")
    if folders:
        said = f"{len(folders)} folder{'s' * (len(folders) > 1)}"
        terminalreporter.line(f"{said:>12}  {HOW_TO_GET['slow']} ({', '.join(folders)})")


def _reason(report):
    """Return why a test was left out and how to run it, in one line."""
    # The reason follows "Skipped: ", the third part of what a skipped test reports.
    told = report.longrepr[2].removeprefix("Skipped: ")
    for pattern, line in HOW_TO_GET.items():
        if re.search(rf"\b({pattern})", told, re.IGNORECASE):
            return line
    if missing := re.match(r"could not import '(\w+)", told):
        return f"no {missing[1]}: pip install {missing[1]}"
    return " ".join(told.split())
