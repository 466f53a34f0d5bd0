"""Implements numba.core.decorators: jit, njit, and jit_module, which compiles all functions of a module."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from numbalite.cpu.jit import jit, njit
from numbalite.numba import names

__all__ = ["jit", "jit_module", "njit"]


def jit_module(**options: Any) -> None:
    """Replaces all functions that the calling module has defined so far by functions of ``jit``, with these
    options. Imported functions are not changed."""
    module = sys._getframe(1).f_globals
    for name, value in list(module.items()):
        if isinstance(value, FunctionType) and value.__module__ == module.get("__name__"):
            module[name] = jit(**options)(value)


def __getattr__(name: str) -> Any:
    raise AttributeError(names.missing_name("numba.core.decorators", name))
