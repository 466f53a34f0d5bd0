"""Creates functions and ufuncs from C++ template files in cuda_src/templates/elements."""

from __future__ import annotations

import functools

from numbalite.compilers import templates
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.options import Options

from . import element
from .cudagufunc import CudaGUfunc
from .cudaufunc import CudaUfunc


def template_text(file: str, **words: object) -> str:
    return templates.fill_template(f"elements/{file}", **words)


def template_function(name: str, file: str | None = None, **words: object) -> DeviceFunction:
    """Returns the DeviceFunction whose C++ text is a template file. ``words`` contains the values of the
    template's placeholders. ``file`` defaults to ``name``."""
    return element.element_function(source=template_text(file or name, **words), name=name)


@functools.cache
def template_ufunc(name: str, file: str | None = None) -> CudaUfunc:
    """Returns a ufunc of the function in a template file, compiled for the dtypes of each call."""
    return CudaUfunc(template_function(name, file))


@functools.cache
def template_gufunc(name: str, layout: str) -> CudaGUfunc:
    """Returns a generalized ufunc of the function in a template file, compiled for the dtypes of each
    call."""
    return CudaGUfunc(template_function(name), (), layout, Options())
