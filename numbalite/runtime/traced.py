"""Functions whose calls on device arrays are recorded, and repeated in C (_core.Recorded)."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, TypeVar

from numbalite import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Function = TypeVar("Function", bound=Callable[..., Any])


_all: weakref.WeakSet[Any] = weakref.WeakSet()


def forget() -> None:
    """Of all functions: the kernels that were recorded may be given up."""
    for one in tuple(_all):
        one._known.clear()


def recorded(function: Function, direct: Callable[..., Any] | None = None) -> Function:
    """A decorator: what the function has the device do for its device arrays is recorded, and repeated
    without Python for others that lie alike (shapes, strides, dtypes) and the same other arguments.

    What it does must follow from these. Calls that wait for the device, read an element or warn are not
    repeated, nor those whose other arguments are not numbers, texts, dtypes or tuples, lists, slices of
    them. If it depends on something else, it says so by _core.record_nothing().

    A call is repeated on the stream of its arrays. What Python does for the device, other than by launches,
    ufuncs and arrays, goes by _core.recorded_step().

    ``direct`` is a function in C that gets each call first, and gives NotImplemented where it does not do it.
    """
    made = _core.Recorded(function, direct)
    _all.add(made)
    return made  # type: ignore[return-value]
