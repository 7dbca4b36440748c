"""The array libraries that rows are read from."""

import pytest

from tests.backends.conftest import backend, dispatch

__all__ = ["backend", "dispatch", "lib"]


@pytest.fixture
def lib(backend):
    """Return the library under the name that the tests of this room use."""
    return backend
