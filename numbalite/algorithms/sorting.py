"""Computes sorted copies, sorting in place, and indices in sorted order. All sorts are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import order, permuting, radix
from numbalite.ndarray import assign
from numbalite.ndarray.arrays import device_array
from numbalite.runtime import shapes
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_PLACE = np.dtype(np.int64)


def _is_dense(a):
    return a.is_c_contiguous() and operands.is_aligned(a)


def _contiguous_rows(a, axis, stream):
    """Returns (contiguous array with the axis last, whether it is a copy)"""
    if axis == a.ndim - 1:
        return (a, False) if _is_dense(a) else (a.copy(stream=stream), True)
    others = [k for k in range(a.ndim) if k != axis]
    moved = a.transpose((*others, axis))
    return (moved, False) if _is_dense(moved) else (moved.copy(stream=stream), True)


def _move_axis_back(rows, axis):
    """Moves the axis of a result of `_contiguous_rows` back to its original position."""
    if axis == rows.ndim - 1:
        return rows
    order = list(range(rows.ndim - 1))
    order.insert(axis, rows.ndim - 1)
    return rows.transpose(order)


def rows_along_axis(a: DeviceNDArray, axis: int, stream: Any) -> DeviceNDArray:
    """Returns a contiguous array with the axis last: a view if possible, otherwise a copy."""
    return _contiguous_rows(a, axis, stream)[0]


def move_axis_back(rows: DeviceNDArray, axis: int, stream: Any) -> DeviceNDArray:
    """Undoes `rows_along_axis`: returns a contiguous array with the axis moved back to its original position."""
    return operands.contiguous_array(_move_axis_back(rows, axis), stream)


def sort(
    a: DeviceNDArray,
    axis: int,
    descending: bool = False,
    fields: Sequence[str] = (),
    out: Any = None,
    stream: Any = 0,
) -> DeviceNDArray:
    """Returns a sorted copy, or ``out``, which may be the array itself; the axis is counted from
    the front. Records are compared by ``fields`` first, then by the other fields."""
    if a.dtype.names is not None:
        indices = argsort(a, axis, descending, fields, stream)
        return _store_result(take_along_rows(a, indices, axis, stream), a, out, stream)
    how = order.order_of(a.dtype, descending)
    n = a.shape[axis]
    fits = out is not None and axis == a.ndim - 1 and out.dtype == a.dtype and _is_dense(out)
    rows, is_copy = _contiguous_rows(a, axis, stream)
    if out is a and not is_copy:
        target = rows
    elif fits and not assign.may_overlap(rows, out):
        target = out
    else:
        target = rows if is_copy else device_array(rows.shape, a.dtype, stream=stream)
    if n > 1 and a.size:
        radix.sort_rows(how, rows, target, None, a.size // n, n, stream)
    elif target is not rows:
        target._copy(rows, stream)
    if target is out or (out is a and not is_copy):
        return out
    return _store_result(_move_axis_back(target, axis), a, out, stream)


def _store_result(made, a, out, stream):
    """Returns the result, in `out` if passed, otherwise as a copy with the memory layout "K" of the array."""
    if out is None and a.is_c_contiguous() and made.is_c_contiguous():
        return made
    if out is None:
        packed = shapes.packed_like(a.shape, a.strides, a.itemsize)
        if packed == made.strides or not made.size:
            return made
        out = device_array(a.shape, a.dtype, packed, stream=stream)
    operands.copy_elements(made, out, stream)
    return out


def argsort(
    a: DeviceNDArray,
    axis: int,
    descending: bool = False,
    fields: Sequence[str] = (),
    stream: Any = 0,
) -> DeviceNDArray:
    """Returns the indices that would sort the array; records are compared by ``fields`` first, then
    by the other fields."""
    if a.dtype.names is not None:
        keys = list(comparison_fields(a, fields))
        return lexsort(keys[::-1], axis, descending, stream)
    how = order.order_of(a.dtype, descending)
    n = a.shape[axis]
    rows, _ = _contiguous_rows(a, axis, stream)
    indices = device_array(rows.shape, _PLACE, stream=stream)
    if n > 1 and a.size:
        radix.sort_rows(how, rows, None, indices, a.size // n, n, stream)
    else:
        indices.fill(0, stream=stream)
    return operands.contiguous_array(_move_axis_back(indices, axis), stream)


def comparison_fields(a: DeviceNDArray, first: Sequence[str] = ()) -> Iterator[DeviceNDArray]:
    """Yields the arrays of numbers by which records are compared, the most significant first."""
    for name in (*first, *(name for name in a.dtype.names or () if name not in first)):
        yield from _scalar_fields(a[name], a.ndim)


def _scalar_fields(part, ndim):
    if part.ndim > ndim:  # the record's field is a subarray
        for number in range(part.shape[ndim]):
            yield from _scalar_fields(part[(slice(None),) * ndim + (number,)], ndim)
    elif part.dtype.names is not None:
        yield from comparison_fields(part)
    else:
        yield part


def lexsort(
    keys: Sequence[DeviceNDArray], axis: int, descending: bool = False, stream: Any = 0
) -> DeviceNDArray:
    """Returns the indices in the order of several keys of one shape; the last key is the most
    significant."""
    indices = argsort(keys[0], axis, descending, stream=stream)
    for key in keys[1:]:
        then = argsort(take_along_rows(key, indices, axis, stream), axis, descending, stream=stream)
        indices = take_along_rows(indices, then, axis, stream)
    return indices


def take_along_rows(
    a: DeviceNDArray, indices: DeviceNDArray, axis: int, stream: Any
) -> DeviceNDArray:
    """Returns the elements at the indices of each 1-D slice along an axis, as
    numpy.take_along_axis."""
    rows, _ = _contiguous_rows(a, axis, stream)
    index, _ = _contiguous_rows(indices, axis, stream)
    m = indices.shape[axis]
    if not index.size:
        return device_array(indices.shape, a.dtype, stream=stream)
    sizes = rows.size // rows.shape[-1], rows.shape[-1], 1
    taken = permuting.take_blocks(rows, index, sizes, m, True, stream)
    return operands.contiguous_array(
        _move_axis_back(taken._reshaped_view(index.shape, "C", False), axis), stream
    )


def array_and_axis(a: Any, axis: Any) -> tuple[Any, int]:
    """Returns (the array, the axis counted from the front); for axis None, returns all elements as a 1-D
    array."""
    if axis is None:
        return a._reshaped_view((a.size,), "C", not a.is_c_contiguous()), 0
    return a, shapes.axis_number(axis, a.ndim)
