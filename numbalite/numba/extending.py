"""Implements the supported part of numba.extending: functions that compiled code may call."""

from __future__ import annotations

from typing import Any

from numbalite.numba import names
from numbalite.numba.dispatchers import Dispatcher

__all__ = ["is_jitted", "register_jitable"]


def register_jitable(*args: Any, **options: Any) -> Any:
    """Returns the function unchanged, because compiled code may call every Python function."""
    if len(args) == 1 and not options and callable(args[0]):
        return args[0]
    return lambda function: function


def is_jitted(function: Any) -> bool:
    """Returns whether the object is a function of jit, a kernel or a device function."""
    return isinstance(function, Dispatcher)


def __getattr__(name: str) -> Any:
    raise AttributeError(names.missing_name("numba.extending", name))
