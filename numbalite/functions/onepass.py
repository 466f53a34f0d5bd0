"""Selects reduction operators with their own accumulator type (reduce_operators.cuh), and runs them in one
pass."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.ndarray import assign
from numbalite.ufuncs import operands
from numbalite.ufuncs.reduceloops import OperatorLoops
from numbalite.ufuncs.reduction import reduce_axes

if TYPE_CHECKING:
    from typing import Any


def operator_loops(operation: str, name: str, dtype: Any, more: int = 0) -> OperatorLoops:
    """Returns the kernels of an operator of reduce_operators.cuh.

    The operator's accumulator has the size of the dtype plus ``more`` bytes, rounded up to 16 if ``more`` is
    not 0.
    """
    size = dtype.itemsize + more
    return OperatorLoops(operation, name, -(-size // 16) * 16 if more else size)


def cxx_type(dtype: Any) -> str:
    """Returns the C++ type of a dtype."""
    return types.from_dtype(dtype).cxx


def accumulator(stored: np.dtype, wide: np.dtype, result: np.dtype) -> tuple[str, int]:
    """Returns (C++ accumulator type for sums of numbers in ``wide``, its size in bytes).

    The error of this accumulator is far below one rounding of the result. The accumulator type is ``wide``
    itself if the result has less precision, or for integers that float64 represents exactly; otherwise a type
    of reduce_operators.cuh.
    """
    if wide.char == "e":
        return "float", 4
    if result.char == "e" or (wide.char in "dD" and stored.char in "?bBhHiI"):
        return cxx_type(wide), wide.itemsize
    return f"numbalite::nl_reduce::accurate<{cxx_type(wide)}>", 2 * wide.itemsize


@functools.cache
def sum_loops(stored: np.dtype, wide: np.dtype) -> OperatorLoops:
    """Returns the kernels of sums in a floating-point dtype; the initial value may be a number of that
    dtype."""
    text, size = accumulator(stored, wide, wide)
    return OperatorLoops(f"sum_of<{cxx_type(wide)}, {text}>", "add", size)


@functools.cache
def product_loops(wide: np.dtype) -> OperatorLoops:
    """Returns the kernels of products in a floating-point dtype."""
    text, size = accumulator(wide, wide, wide)
    return OperatorLoops(f"prod_of<{cxx_type(wide)}, {text}>", "multiply", size)


def run_reduction(
    loops: OperatorLoops, a: Any, axis: Any, keepdims: Any, dtype: Any, divisor: float, reorder: bool,
    order: str = "K", direct: Any = None,
) -> Any:  # fmt: skip
    """Runs a reduction.

    order: memory order of the result, "K" for the order of the array's remaining axes, or "C". direct: the
    _core.DirectReduction that makes later calls with this dtype, if the function has one."""
    keepdims = keepdims is not np._NoValue and bool(keepdims)
    reducer = loops.reduction_planner(a.dtype, loops.loop_dtype, dtype, reorder)
    if direct is not None:
        direct.add(reducer)
    made = reducer.made(a, axis, keepdims, order == "C", divisor)
    if made is not None:
        return made
    axes = operands.axes_of(axis, a.ndim)
    kept = operands.drop_axes(a.shape, axes)
    with assign.on_device_of(a):
        axis_orders = [operands.drop_axes(a.strides, axes)] if order == "K" else []
        made = operands.empty_along(kept, dtype, *axis_orders)
        reduce_axes(loops, a, axes, loops.loop_dtype, made, reorderable=reorder, divisor=divisor)
    return np.expand_dims(made, axes) if keepdims else made
