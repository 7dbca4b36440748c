"""Settings of all tests: threads of BLAS, slow tests, and examples of hypothesis."""

import os
from pathlib import Path

# Before numpy is imported: pytest-xdist has a process on every core, and threads of BLAS would compete.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# Small versions of long runs, and all options on all array libraries: slow as a whole.
SLOW_FOLDERS = [Path(__file__).parent / name for name in ("tests/backends", "paper/tests/studies")]


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
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
