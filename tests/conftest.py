"""Settings of all tests: threads of BLAS, slow tests, and a count of what was left out."""

import os
from collections import Counter

import pytest

# Read when numpy is imported, which nothing above does. pytest-xdist has a process on every core, and the
# threads of several processes would wait for each other.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out the tests that are marked slow")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--fast"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow; make test runs it"))


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were left out, and why: a run that is green may have tested less than it seems."""
    # The reason follows "Skipped: ", the third part of what a skipped test reports.
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())
    )
    if reasons:
        terminalreporter.section(f"left out: {reasons.total()}")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5} {reason}")
