"""Implements functions that need the host: text and file output of a host copy, and input that is copied to
the device.

Input functions (files, texts, buffers, iterators) return device arrays if `like=` is a device array."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray.arrays import to_device
from numbalite.ndarray.dispatch import implements
from numbalite.ndarray.printing import edge_elements

if TYPE_CHECKING:
    from typing import Any


def _host_copy(value):
    return value.copy_to_host() if isinstance(value, _core.DeviceArray) else value


def _host_copy_function(name):
    numpys = getattr(np, name)

    def text_function(*args: Any, **keywords: Any) -> Any:
        copies = {key: _host_copy(value) for key, value in keywords.items()}
        return numpys(*map(_host_copy, args), **copies)

    text_function.__name__ = name
    return implements(name)(text_function)


def _is_shortened(value, threshold):
    return isinstance(value, _core.DeviceArray) and value.ndim > 0 and value.size > threshold


_ARRAY2STRING = inspect.signature(np.array2string)


@implements("array2string")
def array2string(*args, **keywords) -> str:
    bound = _ARRAY2STRING.bind(*args, **keywords)
    given, options = bound.arguments, np.get_printoptions()
    for name in ("threshold", "edgeitems"):
        if given.get(name) is not None:
            options[name] = given[name]
    if _is_shortened(given["a"], options["threshold"]):
        given["a"] = edge_elements(given["a"], options["edgeitems"])
        given["threshold"] = 0
    given["a"] = _host_copy(given["a"])
    return np.array2string(*bound.args, **bound.kwargs)


@implements("array_str")
def array_str(a, *args, **keywords) -> str:
    options = np.get_printoptions()
    if not _is_shortened(a, options["threshold"]):
        return np.array_str(_host_copy(a), *args, **keywords)
    with np.printoptions(threshold=0):
        return np.array_str(edge_elements(a, options["edgeitems"]), *args, **keywords)


@implements("array_repr")
def array_repr(arr, *args, **keywords) -> str:
    options = np.get_printoptions()
    if not _is_shortened(arr, options["threshold"]):
        return np.array_repr(_host_copy(arr), *args, **keywords)
    ends = edge_elements(arr, options["edgeitems"])
    with np.printoptions(threshold=0):
        text = np.array_repr(ends, *args, **keywords)
    body, shape, facts = text.rpartition(f"shape={ends.shape}")
    if not shape:  # for NumPy before 2.2, and in legacy print modes
        return text
    body, facts = body.rstrip(), f"shape={arr.shape}{facts}"
    width = args[0] if args else keywords.get("max_line_width")
    width = options["linewidth"] if width is None else width
    last = len(body) - (body.rfind("\n") + 1)
    is_long = last + len(facts) + 1 > width
    separator = "\n" + " " * len("array(") if is_long else " "
    return body + separator + facts


save = _host_copy_function("save")
savez = _host_copy_function("savez")
savez_compressed = _host_copy_function("savez_compressed")
savetxt = _host_copy_function("savetxt")


def _host_input_function(name):
    numpys = getattr(np, name)

    def text_function(*args: Any, **keywords: Any) -> Any:
        return to_device(numpys(*args, **keywords))

    text_function.__name__ = name
    return implements(name)(text_function)


fromfile = _host_input_function("fromfile")
fromiter = _host_input_function("fromiter")
frombuffer = _host_input_function("frombuffer")
fromstring = _host_input_function("fromstring")
genfromtxt = _host_input_function("genfromtxt")
loadtxt = _host_input_function("loadtxt")
