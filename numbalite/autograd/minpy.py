"""Provides the package minpy for programs under `numbalite run`: its gradients, and its NumPy with arrays on
the device.

`minpy.numpy` is autograd's numpy, except that functions that create arrays create them on the device. `minpy.core` is
numbalite.autograd. `minpy.context` has no effect, because arrays are created on the current device.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import Box

from numbalite import autograd as core
from numbalite import cuda

_CREATE = frozenset(
    "arange array asarray empty eye full identity linspace logspace ones tri zeros".split()
)


def as_device_value(value: Any) -> Any:
    """Returns a host array as a device array; returns other values unchanged."""
    is_array = isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    return cuda.to_device(value) if is_array else value


class _DeviceNumpy(ModuleType):
    """A module like autograd's numpy, whose functions that create arrays create device arrays."""

    def __init__(self, name: str, functions: Any, creates: Any):
        super().__init__(name)
        self._functions, self._creates = functions, creates

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._functions, name)
        if not callable(function) or not self._creates(name):
            return function

        def create_device_array(*args: Any, **keywords: Any) -> Any:
            result = function(*args, **keywords)
            return result if isinstance(result, Box) else as_device_value(result)

        return create_device_array


numpy = _DeviceNumpy("minpy.numpy", anp, _CREATE.__contains__)
random = _DeviceNumpy("minpy.numpy.random", np.random, lambda name: name != "seed")
numpy.random = random  # type: ignore[attr-defined]
context = SimpleNamespace(
    cpu=lambda number=0: ("cpu", number),
    gpu=lambda number=0: ("gpu", number),
    set_context=lambda context: None,
)

MODULES = {"minpy": sys.modules[__name__], "minpy.core": core, "minpy.context": context}
MODULES.update({"minpy.numpy": numpy, "minpy.numpy.random": random})
