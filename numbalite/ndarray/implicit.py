"""Detects implicit conversions of device arrays to NumPy arrays, by libraries that the program calls.

``np.asarray(d)`` and ``host[:] = d`` in a program are explicit copies to the host. A library that calls ``np.asarray``
on its arguments (SciPy, `np.ma`, `np.vectorize`, `np.random.Generator`, plotting) copies implicitly and computes on the
CPU. An implicit copy is reported at the program's line.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
from typing import TYPE_CHECKING

from numbalite import config
from numbalite.errors import PerformanceWarning, warn

if TYPE_CHECKING:
    from types import FrameType

# Functions whose purpose is the conversion.
_CONVERSIONS = {
    "array", "asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray",
    "copyto", "float", "int", "complex", "bool", "__setitem__",
}  # fmt: skip
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def check_conversion() -> None:
    """Warns if a library converts the array, or raises TypeError with NUMBALITE_IMPLICIT_COPY=error.

    Called by `__array__`. Raises TypeError for `as_strided`, because writes to its result would be lost."""
    caller = sys._getframe(2)
    if _is_as_strided(caller):
        raise TypeError(
            "as_strided does not support device arrays: use numpy.lib.stride_tricks."
            "sliding_window_view, or slices of the array"
        )
    if config.IMPLICIT_COPY == "allow" or _is_explicit(caller):
        return
    text = (
        f"{_converting_function(caller)} converts a device array to a NumPy array: the array is copied to the host, and "
        "the function computes there. Write copy_to_host() if this is intended"
    )
    if config.IMPLICIT_COPY == "error":
        raise TypeError(text)
    if config.CUDA_WARN_ON_IMPLICIT_COPY and not config.DISABLE_PERFORMANCE_WARNINGS:
        warn(text, PerformanceWarning, skip=_library_folders())


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """Returns the folders of the standard library and of installed packages."""
    import sysconfig

    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({sysconfig.get_path(name) + os.sep for name in names})


def _is_as_strided(frame: FrameType) -> bool:
    return frame.f_code.co_name == "as_strided" and _module_name(frame).startswith("numpy.")


def _module_name(frame: FrameType) -> str:
    return frame.f_globals.get("__name__") or ""


def _converting_function(frame: FrameType) -> str:
    """Returns the name of the converting function: of a Python package, or a C function that the
    program calls."""
    while _is_library(frame) and frame.f_back is not None and _is_library(frame.f_back):
        frame = frame.f_back
    if _is_library(frame):
        return f"{frame.f_code.co_name}() of {_module_name(frame)}"
    return f"{_called_name(frame) or 'a function'}()"


def _is_library(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith((*_library_folders(), "<frozen"))


def _is_explicit(frame: FrameType) -> bool:
    """Returns whether the program itself or numbalite converts the array, which causes no warning."""
    if frame.f_code.co_filename.startswith(_PACKAGE) or _module_name(frame).startswith(
        "numpy.testing"
    ):
        return True
    if _is_library(frame):
        return False
    called = _called_name(frame)
    return called is None or called in _CONVERSIONS


def _called_name(frame: FrameType) -> str | None:
    """Returns the name of the function that the frame is calling, or None for an assignment, and if the source
    is not available."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:  # before Python 3.11
        return None
    line, end_line, column, end_column = list(positions())[frame.f_lasti // 2]
    if None in (line, end_line, column, end_column):
        return None
    lines = [linecache.getline(frame.f_code.co_filename, i) for i in range(line, end_line + 1)]
    if not all(lines):
        return None
    raw = [text.encode() for text in lines]
    raw[-1] = raw[-1][:end_column]
    raw[0] = raw[0][column:]
    try:
        node = ast.parse(b"".join(raw).decode(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    return getattr(function, "attr", getattr(function, "id", None))
