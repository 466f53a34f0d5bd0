"""Types of arguments that many functions accept, for annotations; only type checkers import this module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbalite import _core

StreamLike: TypeAlias = _core.Stream | int | Any
"""A stream, its handle, 0 for the default stream, or another library's object with __cuda_stream__."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""The length of each axis, or an integer for one axis."""

DeviceLike: TypeAlias = Any
"""A device, its number, or an object whose `id` is the number."""

HostArray: TypeAlias = NDArray[Any] | list[Any]
"""An array on the host, or a list of numbers."""

Value: TypeAlias = (
    complex | str | np.generic | HostArray | _core.DeviceArray | tuple[Any, ...] | None
)
"""An argument of a compiled function, except for functions."""

OperationLike: TypeAlias = str | Callable[..., Any]
"""An operation on elements: a C++ expression, a C++ body, or a Python function."""
