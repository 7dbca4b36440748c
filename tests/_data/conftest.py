"""Libraries to test with: array-api-strict on a device numpy cannot read; torch and CuPy where installed."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn


class Library(NamedTuple):
    """A library and one of its devices."""

    name: str
    xp: Any
    device: Any

    def array(self, values):
        if self.name == "cupy":
            return self.xp.asarray(np.asarray(values))
        return self.xp.asarray(np.asarray(values), device=self.device)

    def numpy(self, array):
        if self.name == "torch":
            return array.cpu().numpy()
        if self.name == "cupy":
            return array.get()
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))

    def holds(self, array):
        return type(array) is type(self.array(0.0)) and array.device == self.array(0.0).device


def library(name):
    if name == "torch":
        torch = pytest.importorskip("torch")
        return Library(name, torch, "cuda" if torch.cuda.is_available() else "cpu")
    if name == "cupy":
        cupy = pytest.importorskip("cupy")
        return Library(name, cupy, cupy.cuda.Device())
    import array_api_strict

    return Library(name, array_api_strict, array_api_strict.Device("device1"))


@pytest.fixture
def dispatch(monkeypatch):
    """Dispatch to other libraries, switched on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=["strict", "torch", "cupy"])
def lib(request, dispatch):
    """A library, with dispatch to it switched on."""
    return library(request.param)
