"""The array libraries that the maps of matrices are tested on."""

from tests.backends.conftest import backend, dispatch

__all__ = ["backend", "dispatch"]
