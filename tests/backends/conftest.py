"""Array libraries that behaviour is tested on: array-api-strict, and torch and CuPy where installed."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn

BACKENDS = ["strict", *(name for name in ("torch", "cupy") if find_spec(name))]


class Backend(NamedTuple):
    """An array library and one of its devices."""

    name: str
    xp: Any
    device: Any = None

    def array(self, values):
        """Return numbers of the host as an array of the library, on the device."""
        values = np.asarray(values)
        if self.name == "cupy":
            return self.xp.asarray(values)
        return self.xp.asarray(values, device=self.device)

    def numpy(self, array):
        """Return an array of the library on the host, not by the package that is tested."""
        if self.name == "torch":
            return array.cpu().numpy()
        if self.name == "cupy":
            return array.get()
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))

    def holds(self, array):
        """Whether an array is of this library and on this device."""
        ours = self.array(0.0)
        return type(array) is type(ours) and array.device == ours.device


def make_backend(name):
    if name == "torch":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        return Backend(name, torch, torch.device("cuda:0" if torch.cuda.is_available() else "cpu"))
    if name == "cupy":
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        return Backend(name, cupy, cupy.cuda.Device())
    # A device that numpy cannot read: what is copied to the host by mistake raises an error.
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return Backend(name, strict, strict.Device("device1"))


@pytest.fixture
def dispatch(monkeypatch):
    """Dispatch to other libraries, switched on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=BACKENDS)
def backend(request, dispatch):
    """A library, with dispatch to it switched on."""
    return make_backend(request.param)
