"""numbalite: CUDA C++ kernels as Python strings, with numba.cuda's programming model.

Large modules are imported, and the driver is opened, only when they are needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from numbalite import frontend

if (
    TYPE_CHECKING
):  # for type checkers: at run time, __getattr__ imports these names at their first use
    from typing import Any

    from numbalite import config, cuda, errors, types
    from numbalite.cpu.jit import jit, njit, seed
    from numbalite.numba import install as install_as_numba
    from numbalite.runtime.threads import get_num_threads, set_num_threads
    from numbalite.types import (
        bool_,
        boolean,
        complex64,
        complex128,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        intp,
        uint8,
        uint16,
        uint32,
        uint64,
        uintp,
        void,
    )
    from numbalite.types.parallelrange import prange
    from numbalite.ufuncs.decorators import guvectorize, vectorize
    from numbalite.ufuncs.fuse import fuse

__version__ = "0.1.0"

_MODULES = ("config", "cuda", "errors", "types")
_TYPES = frozenset(
    """void none boolean bool_ b1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32
    float64 complex64 complex128 intp uintp intc uintc i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 byte
    char uchar short ushort int_ uint long_ ulong longlong ulonglong float_ double size_t ssize_t
    from_dtype typeof const optional""".split()
)
_ERRORS = frozenset(
    """CudaSupportError CudaAPIError CompileError SignatureError KernelError KernelWarning PerformanceWarning
    NumbaPerformanceWarning NumbaWarning NumbaInvalidConfigWarning NumbaDeprecationWarning
    NumbaError TypingError""".split()
)

__all__ = [
    "bool_",
    "boolean",
    "complex64",
    "complex128",
    "config",
    "cuda",
    "errors",
    "float16",
    "float32",
    "float64",
    "fuse",
    "get_num_threads",
    "guvectorize",
    "install_as_numba",
    "int8",
    "int16",
    "int32",
    "int64",
    "intp",
    "jit",
    "njit",
    "prange",
    "seed",
    "set_num_threads",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "vectorize",
    "void",
]  # fmt: skip
_FUNCTIONS = {
    "vectorize": "ufuncs.decorators",
    "guvectorize": "ufuncs.decorators",
    "fuse": "ufuncs.fuse",
    "jit": "cpu.jit",
    "njit": "cpu.jit",
    "seed": "cpu.jit",
    "set_num_threads": "runtime.threads",
    "get_num_threads": "runtime.threads",
    "install_as_numba": "numba:install",
    "prange": "types.parallelrange",
}


def _import_core():
    """Returns the module numbalite._core; if it is missing, raises an error that explains how to build it."""
    try:
        return importlib.import_module("numbalite._core")
    except ModuleNotFoundError as problem:
        if problem.name != "numbalite._core":
            raise
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    others = sorted(
        name for name in os.listdir(here) if name.startswith("_core.") and not name.endswith(".pyi")
    )
    built = f" (there is {', '.join(others)}, for another Python)" if others else ""
    raise ImportError(
        f"numbalite's extension module is not in {here}{built}. If that is a checkout, either build it "
        "there (pip install -e .), or start Python in another folder to import the installed numbalite"
    )


def __getattr__(name: str) -> Any:
    if name == "_core":
        return _import_core()
    if name in _MODULES:
        return importlib.import_module(f"numbalite.{name}")
    for names, where in (
        (_TYPES, "types"),
        (_ERRORS, "errors"),
        (_FUNCTIONS, _FUNCTIONS.get(name)),
    ):
        if name in names:
            module, _, attribute = str(where).partition(":")
            value = getattr(importlib.import_module(f"numbalite.{module}"), attribute or name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'numbalite' has no attribute {name!r}")


def _import_top_package():
    """Returns the top package, for lower packages, which must not import it."""
    from numbalite import jupyter

    return jupyter


frontend.load = _import_top_package


def _check_shell(shell):
    if not all(hasattr(shell, name) for name in ("events", "Completer", "register_magics")):
        raise TypeError(f"IPython's shell is needed, not {type(shell).__name__}")


def load_ipython_extension(shell: Any) -> None:
    """Implements ``%load_ext numbalite``: adds the magics %%cuda and %gpu_timeit."""
    _check_shell(shell)
    _import_top_package().load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext numbalite``"""
    _check_shell(shell)
    _import_top_package().unload(shell)


def __dir__() -> list[str]:
    return sorted(
        {*globals(), *_MODULES, *_TYPES, *_ERRORS, *_FUNCTIONS}
        - {"importlib", "annotations", "frontend"}
    )
