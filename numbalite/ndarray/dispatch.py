"""Maps NumPy's functions to their device versions. `implements` registers a device version, `find_function` returns
it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.missingnames import WAYS_OUT
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numbalite.runtime.traced import Function


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


def implements(
    *names: str, direct: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Returns a decorator that registers the device version of NumPy functions, by name ("sum",
    "linalg.norm").

    The function has NumPy's parameters. The device version receives the caller's arguments, without `like=`.
    "ndarray.sort" registers a method for which NumPy has no function. For a name that the installed NumPy
    lacks, only `function_of_later_numpy` returns the device version.

    Calls are traced and replayed. `direct`, a C function, is called first (numbalite/runtime/traced.py).
    """

    def register(function: Function) -> Function:
        ours = traced(function, direct)
        for name in names:
            theirs = numpy_function(name)
            if theirs is not None:
                _core.array_functions[theirs] = ours
            else:
                _newer[name] = ours
        return ours

    return register


def numpy_function(name: str) -> Callable | None:
    """Returns NumPy's function for a name such as "linalg.norm", or None if this version of NumPy does not
    have the function."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def function_of_later_numpy(name: str) -> Callable | None:
    """Returns the device version of a function that only later versions of NumPy have, or None."""
    load_namespace("numpy")
    return _newer.get(name)


def qualified_name(function: Callable) -> str:
    """Returns the qualified name of a function, such as "numpy.linalg.norm"."""
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{getattr(function, '__name__', function)}"


def load_namespace(namespace: str) -> None:
    """Imports the modules that register the functions of a NumPy namespace."""
    if namespace not in _loaded:
        for module in MODULES.get(namespace, ()):
            importlib.import_module(module)
        _loaded.add(namespace)


def find_function(function: Callable) -> Callable:
    """Returns the device version of a NumPy function; raises TypeError if there is none."""
    found = _core.array_functions.get(function)
    for module in MODULES.get(getattr(function, "__module__", None) or "numpy", ()):
        if found is not None:
            break
        importlib.import_module(module)
        found = _core.array_functions.get(function)
    if found is None:
        raise TypeError(f"{qualified_name(function)} has no counterpart on the device: {WAYS_OUT}")
    return found


def _is_supported(cls):
    """Returns whether numbalite can read arrays of this type. Otherwise, the call is passed to the argument's
    own implementation, as in NumPy."""
    return issubclass(cls, (_core.DeviceArray, np.ndarray)) or hasattr(
        cls, "__cuda_array_interface__"
    )


def array_function(function: Callable, types: Any, args: tuple, keywords: dict) -> Any:
    """Returns the result of DeviceArray.__array_function__ for calls that the C fast path does not
    handle."""
    if not all(map(_is_supported, types)):
        return NotImplemented
    return find_function(function)(*args, **keywords)
