"""Records the device operations of Python functions, and replays them in C (_core.Traced)."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, TypeVar

from numbalite import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Function = TypeVar("Function", bound=Callable[..., Any])


_all: weakref.WeakSet[Any] = weakref.WeakSet()


def drop_traces() -> None:
    """Drops all traces and the cached kernels of copies, so that their kernels can be unloaded."""
    for one in tuple(_all):
        one._traces.clear()
    _core.copy_kernels.clear()


def traced(function: Function, direct: Callable[..., Any] | None = None) -> Function:
    """Decorator that records the device operations of the function, and replays them without Python for
    arrays of equal shape, strides and dtype and equal other arguments.

    The operations must depend only on shapes, strides, dtypes and the other arguments. Calls are not traced
    if they wait for the device, read an element or warn, or if another argument is not a number, string,
    dtype, or a tuple, list or slice of these. A function whose operations depend on other state must call
    _core.invalidate_trace().

    A replay runs on the stream of its arrays. Device work other than launches, ufuncs and array operations must be
    queued by _core.trace_step().

    ``direct``, a C function, is called first; it returns NotImplemented for calls that it does not support.
    """
    made = _core.Traced(function, direct)
    _all.add(made)
    return made  # type: ignore[return-value]
