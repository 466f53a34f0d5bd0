"""Reductions by operations of our own, in one pass over the array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.cuda import assign
from numbalite.ufuncs import operands
from numbalite.ufuncs.reduceloops import OwnLoops
from numbalite.ufuncs.reduction import fold

if TYPE_CHECKING:
    from typing import Any


def own_loops(operation: str, name: str, dtype: Any, more: int = 0) -> OwnLoops:
    """Kernels of an operation of moments.cuh, which folds in so many bytes: those of a number of the dtype, and
    if there are more, all of them rounded up to 16."""
    size = dtype.itemsize + more
    return OwnLoops(operation, name, -(-size // 16) * 16 if more else size)


def cxx(dtype: Any) -> str:
    """A number's type in C++."""
    return types.from_dtype(dtype).cxx


def run(
    loops: OwnLoops, a: Any, axis: Any, keepdims: Any, dtype: Any, divisor: float, reorder: bool
) -> Any:
    """The result of a reduction by loops of our own."""
    axes = operands.axes_of(axis, a.ndim)
    kept = operands.without(a.shape, axes)
    keeps = keepdims is not np._NoValue and bool(keepdims)
    shape = tuple(1 if i in axes else n for i, n in enumerate(a.shape)) if keeps else kept
    with assign.on_device_of(a):
        made = operands.empty(shape, dtype)
        flat = made
        if keeps:
            flat = made._geometry(kept, operands.without(made.strides, axes))
        fold(loops, a, axes, loops.loop_dtype, flat, reorderable=reorder, divisor=divisor)
    return made
