"""Implements nonzero, compress, extract, place and similar functions of nonzero elements or masks.
numbalite/ndarray/indexing.py implements d[mask]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite._core import DeviceArray
from numbalite.algorithms import masks
from numbalite.algorithms import selection as selecting
from numbalite.functions import arguments, outputs
from numbalite.ndarray import indexing
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def _indices_of_mask(a, as_rows):
    with arguments.on_device_of(a):
        return selecting.indices_of(masks.as_booleans(a), as_rows)


@implements("nonzero")
def nonzero(a) -> tuple[DeviceNDArray, ...]:
    a = arguments.as_device_array(a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead. If the context of this error is of the form `arr[nonzero(cond)]`, just use "
            "`arr[cond]`."
        )
    found = _indices_of_mask(a, False)
    return tuple(found[i] for i in range(a.ndim))


def _flatten(a):
    return arguments.as_1d(a)


@implements("flatnonzero")
def flatnonzero(a) -> DeviceNDArray:
    return nonzero(_flatten(arguments.as_device_array(a)))[0]


@implements("argwhere")
def argwhere(a) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    if a.ndim == 0:
        return arguments.empty((int(np.count_nonzero(a)), 0), np.intp, a)
    return _indices_of_mask(a, True)


@implements("compress")
def compress(condition, a, axis=None, out=None) -> Any:
    condition, a = arguments.arrays_of((condition, a))
    made: Any
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = _flatten(a), 0
    else:
        axis = shapes.axis_number(shapes.axis_index(axis), a.ndim)
    if condition.size > a.shape[axis]:
        if np.any(condition[a.shape[axis] :]):
            raise IndexError(f"index is out of bounds for axis {axis} with size {a.shape[axis]}")
        condition = condition[: a.shape[axis]]
    if a.ndim == 1:
        made = masks.select_by_mask(a[: condition.size], masks.as_booleans(condition))
    else:
        made = np.take(a, np.flatnonzero(condition), axis)
    return outputs.copy_to_wider_out("compress", out, made)


@implements("extract")
def extract(condition, arr) -> DeviceNDArray:
    condition, arr = arguments.arrays_of((condition, arr))
    return compress(_flatten(condition), arr)


def _cast_values(values, a):
    """Returns values as a 1-dimensional array with the dtype of `a`. Raises TypeError for values that cannot
    be converted safely."""
    if isinstance(values, (np.ndarray, DeviceArray)) and not np.can_cast(values.dtype, a.dtype):
        raise TypeError(
            f"Cannot cast array data from {values.dtype!r} to {a.dtype!r} according to the rule 'safe'"
        )
    return _flatten(indexing.convert_like(values, a))


@implements("place")
def place(arr, mask, vals) -> None:
    arr, mask = arguments.arrays_of((arguments.array_to_modify("place", arr), mask))
    values = _cast_values(vals, arr)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    mask = masks.as_booleans(arguments.reshape(mask, arr.shape))
    if values.size:
        masks.assign_to_mask(arr, mask, values)
    elif np.any(mask):
        raise ValueError("Cannot insert from an empty array!")


@implements("putmask")
def putmask(a, /, mask, values) -> None:
    a, mask = arguments.arrays_of((arguments.array_to_modify("putmask", a), mask))
    values = _cast_values(values, a)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if not (values.size and a.size):
        return
    mask = masks.as_booleans(arguments.reshape(mask, a.shape))
    masks.assign_to_mask(a, mask, values, in_order=False)
