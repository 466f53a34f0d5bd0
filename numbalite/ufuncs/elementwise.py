"""The element functions of NumPy's functions that are more than an expression: files of
cuda_src/templates/elements."""

from __future__ import annotations

import functools

from numbalite.compilers import templates
from numbalite.kernels.devicefunction import DeviceFunction

from . import element
from .cudaufunc import CudaUfunc


def text(file: str, **words: object) -> str:
    return templates.fill(f"elements/{file}", **words)


def function(name: str, file: str | None = None, **words: object) -> DeviceFunction:
    """A function of a file, which has its name if no other is said; ``words`` fill it as a template."""
    return element.element_function(source=text(file or name, **words), name=name)


@functools.cache
def ufunc(name: str, file: str | None = None) -> CudaUfunc:
    """A ufunc of it, compiled for the dtypes that it meets."""
    return CudaUfunc(function(name, file))
