"""Which function of ours does what a function of NumPy's does: the table, and calls that are not in it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.missingnames import WAYS_OUT
from numbalite.runtime.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numbalite.runtime.recorded import Function


_HERE = "numbalite.functions"
_LINALG = "numbalite.linalg"
MODULES: dict[str, tuple[str, ...]] = {
    "numpy": (
        *(
            f"{_HERE}.{name}"
            for name in (
                "geometry",
                "creation",
                "coordinates",
                "insertdelete",
                "bits",
                "applied",
                "reductions",
                "covariances",
                "nans",
                "elements",
                "joining",
                "matrices",
                "positions",
                "selection",
                "sorting",
                "searching",
                "counting",
                "uniques",
                "sets",
                "signals",
                "polynomials",
                "quantiles",
                "text",
                "windows",
            )
        ),
        *(f"{_LINALG}.{name}" for name in ("products", "einsum")),
    ),
    "numpy.fft": ("numbalite.fft.transforms", f"{_HERE}.windows"),
    "numpy.lib.stride_tricks": (f"{_HERE}.matrices",),
    "numpy.linalg": (
        f"{_HERE}.geometry",
        f"{_HERE}.matrices",
        *(f"{_LINALG}.{name}" for name in ("products", "solving", "decompositions", "norms")),
    ),
}
"""A namespace of NumPy -> the modules that implement its functions, loaded when the first one is called."""
_loaded: set[str] = set()
_newer: dict[str, Callable] = {}
"""Functions that this version of NumPy does not have yet: NumPy's name -> what implements it."""


def implements(*names: str) -> Callable[[Function], Function]:
    """A decorator: the function is what NumPy's functions of these names ("sum", "linalg.norm") do when
    they are given a device array.

    It has their parameters. "ndarray.sort" is what the method does where NumPy has no function for it. NumPy gives it the arguments as they were written, `like=` left out. A name
    that this version of NumPy does not have is found by `newer` alone.

    Its calls are recorded (numbalite/runtime/recorded.py).
    """

    def register(function: Function) -> Function:
        ours = recorded(function)
        for name in names:
            theirs = numpy_function(name)
            if theirs is not None:
                _core.array_functions[theirs] = ours
            else:
                _newer[name] = ours
        return ours

    return register


def numpy_function(name: str) -> Callable | None:
    """NumPy's function "linalg.norm", or None where this version of NumPy has none."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def newer(name: str) -> Callable | None:
    """What implements a function that a later version of NumPy has, or None."""
    load("numpy")
    return _newer.get(name)


def name_of(function: Callable) -> str:
    """numpy.linalg.norm"""
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{getattr(function, '__name__', function)}"


def load(namespace: str) -> None:
    """Fills the table with what implements a namespace of NumPy."""
    if namespace not in _loaded:
        for module in MODULES.get(namespace, ()):
            importlib.import_module(module)
        _loaded.add(namespace)


def find(function: Callable) -> Callable:
    """What implements a function of NumPy's; TypeError if nothing does."""
    found = _core.array_functions.get(function)
    if found is None:
        load(getattr(function, "__module__", None) or "numpy")
        found = _core.array_functions.get(function)
    if found is None:
        raise TypeError(f"{name_of(function)} has no counterpart on the device: {WAYS_OUT}")
    return found


def _is_known(cls):
    """Can we read what this type's instances hold? Others may know better what is to be done."""
    return issubclass(cls, (_core.DeviceArray, np.ndarray)) or hasattr(
        cls, "__cuda_array_interface__"
    )


def array_function(function: Callable, types: Any, args: tuple, keywords: dict) -> Any:
    """What DeviceArray.__array_function__ returns for a call that C code does not know."""
    if not all(map(_is_known, types)):
        return NotImplemented
    return find(function)(*args, **keywords)
