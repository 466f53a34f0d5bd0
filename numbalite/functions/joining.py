"""Implements NumPy's concatenate, stack, roll, tile, block and similar functions, which copy arrays into
parts of a new array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments, outputs
from numbalite.functions.geometry import atleast_1d, atleast_2d, atleast_3d
from numbalite.ndarray import assign, jointable
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


_MAX_ROLLED = 8  # as in cext/py/joins.c


@implements("concatenate", "concat", direct=_core.concatenate)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind") -> DeviceNDArray:
    given = shapes.list_of_items(arrays, "the arrays")
    parts = arguments.arrays_of(given)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [arguments.as_1d(one) for one in parts], 0
    if out is None and dtype is None and type(axis) is int and parts[0].ndim:
        made = _join_arrays(parts, axis, parts[0].ndim, False)
        if made is not None:
            return made
    return _concatenate_parts(given, parts, axis, out, dtype, casting)


def _join_arrays(parts, axis, ndim, stacks):
    """Joins arrays of one dtype, whose elements are numbers or times; returns None for other arrays."""
    made = jointable.join_arrays(parts, axis + ndim * (axis < 0), stacks)
    if made is None:
        with assign.on_device_of(parts[0]):
            made = _core.join_arrays(parts, axis, stacks)
    return None if made is NotImplemented else made


def _concatenate_parts(given, parts, axis, out, dtype, casting):
    if out is not None and dtype is not None:
        raise TypeError(
            "concatenate() only takes `out` or `dtype` as an argument, but both were provided."
        )
    axis, shape = _joined_shape(parts, axis)
    if dtype is not None:
        target = np.dtype(dtype)
        wanted = np.result_type(
            *(assign.with_text_length(target, one) for one in {p.dtype for p in parts})
        )
    else:
        wanted = arguments.common_dtype(given, parts)
    if out is None:
        target = _new_joined_array(parts, axis, shape, wanted)
    else:
        outputs.check_shape("concatenate", out, shape)
        is_device = isinstance(out, _core.DeviceArray)
        target = (
            arguments.as_device_array(out)
            if is_device
            else arguments.empty(shape, out.dtype, parts[0])
        )
        if any(assign.may_overlap(one, target) for one in parts):
            parts = [one.copy() for one in parts]
    _check_casting(given, parts, target.dtype, casting)
    begin = 0
    for one in parts:
        end = begin + one.shape[axis]
        assign.assign(target[(slice(None),) * axis + (slice(begin, end),)], one)
        begin = end
    if out is None or target is out:
        return target
    out[...] = target.copy_to_host()
    return out


def _check_casting(given, parts, dtype, casting):
    for one, number in zip(parts, given, strict=True):
        if type(number) in arguments.WEAK:
            continue
        if one.dtype != dtype and not np.can_cast(one.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {one.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )


def _joined_shape(parts, axis):
    """Returns (the non-negative axis number, the shape of the result)"""
    first, ndim = parts[0].shape, parts[0].ndim
    if 0 in [one.ndim for one in parts]:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = shapes.axis_number(shapes.axis_index(axis), ndim)
    before, behind, length = first[:axis], first[axis + 1 :], 0
    for number, one in enumerate(parts):
        shape = one.shape
        if len(shape) != ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at "
                f"index 0 has {ndim} dimension(s) and the array at index {number} has "
                f"{len(shape)} dimension(s)"
            )
        if shape[:axis] != before or shape[axis + 1 :] != behind:
            i = next(i for i in range(ndim) if i != axis and shape[i] != first[i])
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension {i}, the array at index 0 has size "
                f"{first[i]} and the array at index {number} has size {shape[i]}"
            )
        length += shape[axis]
    return axis, (*before, length, *behind)


def _new_joined_array(parts, axis, shape, dtype):
    """Returns a new array for the concatenated parts, with the axis order of their memory."""
    if all(one.is_c_contiguous() for one in parts):
        return arguments.empty(shape, dtype, parts[0])
    axis_orders = [
        tuple(0 if n == 1 else step for n, step in zip(one.shape, one.strides, strict=True))
        for one in parts
    ]
    with assign.on_device_of(parts[0]):
        return operands.empty_along(shape, dtype, *axis_orders)


@implements("stack", direct=_core.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind") -> DeviceNDArray:
    parts = arguments.arrays_of(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if out is None and dtype is None and type(axis) is int:
        made = _join_arrays(parts, axis, parts[0].ndim + 1, True)
        if made is not None:
            return made
    if len({one.shape for one in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = shapes.axis_number(axis, parts[0].ndim + 1)
    shape = (*parts[0].shape[:axis], 1, *parts[0].shape[axis:])
    parts = [
        one._view(shape, (*one.strides[:axis], 0, *one.strides[axis:]), one.dtype) for one in parts
    ]
    return _concatenate_parts(parts, parts, axis, out, dtype, casting)


def _list_of_arrays(tup: Any) -> Sequence:
    if isinstance(tup, _core.DeviceArray):
        return [tup[i, ...] for i in range(tup.shape[0])]
    return list(tup)


def _as_sequence(made):
    return list(made) if isinstance(made, tuple) else [made]


@implements("vstack", "row_stack")
def vstack(tup, *, dtype=None, casting="same_kind") -> DeviceNDArray:
    return concatenate(
        _as_sequence(atleast_2d(*_list_of_arrays(tup))), 0, dtype=dtype, casting=casting
    )


@implements("hstack")
def hstack(tup, *, dtype=None, casting="same_kind") -> DeviceNDArray:
    parts = _as_sequence(atleast_1d(*_list_of_arrays(tup)))
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements("dstack")
def dstack(tup) -> DeviceNDArray:
    return concatenate(_as_sequence(atleast_3d(*_list_of_arrays(tup))), 2)


@implements("column_stack")
def column_stack(tup) -> DeviceNDArray:
    parts = arguments.arrays_of(_list_of_arrays(tup))
    return concatenate([one.reshape(-1, 1) if one.ndim < 2 else one for one in parts], 1)


@implements("append")
def append(arr, values, axis=None) -> DeviceNDArray:
    return concatenate(arguments.arrays_of((arr, values)), axis)


@implements("roll", direct=_core.roll)
def roll(a, shift, axis=None) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    if axis is None:
        flat = arguments.as_1d(a)
        step = sum(shift) if isinstance(shift, tuple) else shift
        made = _roll_axes(flat, _axis_shifts(flat, step, 0))
        return made._reshaped_view(a.shape, "C", False)
    return _roll_axes(a, _axis_shifts(a, shift, axis))


def _axis_shifts(a, shift, axis):
    """Returns a list with the shift along each axis."""
    shift, axis = (
        shapes.tuple_of_items(one, "shift and axis") if np.iterable(one) else one
        for one in (shift, axis)
    )
    pairs = np.broadcast(shift, axis)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    steps = [0] * a.ndim
    for step, one in pairs:
        steps[shapes.axis_number(one, a.ndim)] += int(step)
    return steps


def _roll_axes(a, steps):
    """Rolls a few axes at a time, because each axis doubles the number of copies."""
    steps = tuple(step % n if n else 0 for step, n in zip(steps, a.shape, strict=True))
    with assign.on_device(a.device):
        for first in range(0, max(a.ndim, 1), _MAX_ROLLED):
            axes = tuple(range(first, min(first + _MAX_ROLLED, a.ndim)))
            a = _core.roll(a, steps[first : first + _MAX_ROLLED], axes)
    return a


@implements("tile", direct=_core.tile)
def tile(A, reps) -> DeviceNDArray:
    a = arguments.as_device_array(A)
    reps = shapes.tuple_of_integers(reps)
    if all(count == 1 for count in reps) and len(reps) <= a.ndim:
        return a.copy("K")
    with assign.on_device(a.device):
        made = _core.tile(a, reps)
    if made is NotImplemented:
        raise ValueError(f"cannot repeat an array of shape {a.shape} {reps} times")
    return made


@implements("block")
def block(arrays) -> DeviceNDArray:
    """Joins the innermost lists along the last axis, and the lists that contain them along the preceding
    axis."""
    depth = _nesting_depth(arrays)
    ndim = max(depth, *(one.ndim for one in _flatten(arrays)))
    return _join_nested(arrays, depth, ndim)


def _nesting_depth(arrays):
    if isinstance(arrays, tuple):
        raise TypeError("arrays is a tuple: only lists can be used to arrange blocks")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List depths are mismatched: a list is empty")
    depths = {_nesting_depth(one) for one in arrays}
    if len(depths) > 1:
        raise ValueError(f"List depths are mismatched: {min(depths)} and {max(depths)}")
    return depths.pop() + 1


def _flatten(arrays):
    if isinstance(arrays, list):
        return [leaf for one in arrays for leaf in _flatten(one)]
    return [arguments.as_device_array(arrays)]


def _join_nested(arrays, depth, ndim):
    if depth == 0:
        leaf = arguments.as_device_array(arrays)
        return leaf.reshape((1,) * (ndim - leaf.ndim) + leaf.shape)
    return concatenate([_join_nested(one, depth - 1, ndim) for one in arrays], axis=-depth)
