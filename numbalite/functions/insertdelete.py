"""Implements NumPy's delete, insert, resize and trim_zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence, zeros_like
from numbalite.functions.geometry import axes_of, moveaxis
from numbalite.functions.joining import concatenate
from numbalite.ndarray.arrays import DeviceNDArray
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    pass


def _key_at_axis(axis, what):
    return (slice(None),) * axis + (what,)


def _flattened_or_axis(arr, axis):
    """Returns (array, axis number); for axis None, returns (flattened array, 0)."""
    a = arguments.as_device_array(arr)
    if axis is None:
        return arguments.as_1d(a), 0
    return a, shapes.axis_number(axis, a.ndim)


def _single_index(obj):
    """Returns the index if the argument is a single index, otherwise None. Waits for an index in device
    memory."""
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        return int(obj)
    if getattr(obj, "size", None) == 1 and obj.dtype.kind in "iu":
        return obj.item()
    return None


def _index_array(obj):
    """Returns indices as an array, in host or device memory."""
    if isinstance(obj, DeviceNDArray):
        return obj
    indices = np.asarray(obj)
    if indices.size == 0 and not isinstance(obj, np.ndarray):
        indices = indices.astype(np.intp)
    return indices


# -------------------------------------------------------------------------------------------- delete


@implements("delete")
def delete(arr, obj, axis=None) -> DeviceNDArray:
    a, axis = _flattened_or_axis(arr, axis)
    n = a.shape[axis]
    if isinstance(obj, slice):
        return _copy_without(a, axis, range(*obj.indices(n)))
    indices = obj if _single_index(obj) is not None else _index_array(obj)
    number = _single_index(indices)
    if number is not None:
        if not -n <= number < n:
            raise IndexError(f"index {number} is out of bounds for axis {axis} with size {n}")
        return _copy_without(a, axis, range(number % n, number % n + 1))
    if indices.dtype == bool:
        if indices.shape != (n,):
            raise ValueError(
                "boolean array argument obj to delete must be one dimensional and match the axis "
                f"length of {n}"
            )
        kept = np.logical_not(arguments.as_device_array(indices))
    else:
        kept = _indices_without(n, indices, a)
    return a[_key_at_axis(axis, kept)]


def _copy_without(a, axis, left_out):
    """Returns a copy of the array without the indices of a range, by concatenating the parts before, between
    and after them."""
    if not left_out:
        return a.copy("A")
    if left_out.step < 0:
        left_out = left_out[::-1]
    begin, end = left_out[0], left_out[-1] + 1
    parts = [a[_key_at_axis(axis, slice(0, begin))], a[_key_at_axis(axis, slice(end, None))]]
    if left_out.step > 1:
        within = _indices_without(end - begin, slice(None, None, left_out.step), a)
        parts.insert(1, a[_key_at_axis(axis, slice(begin, end))][_key_at_axis(axis, within)])
    return concatenate(parts, axis, _array_with_gap(a, axis, -len(left_out)))


def _indices_without(n, indices, like):
    kept = arguments.empty((n,), bool, like)
    kept.fill(True)
    kept[indices] = False
    return kept


# -------------------------------------------------------------------------------------------- insert


@implements("insert")
def insert(arr, obj, values, axis=None) -> DeviceNDArray:
    a, axis = _flattened_or_axis(arr, axis)
    n = a.shape[axis]
    if isinstance(values, (int, float, complex)) or (
        isinstance(values, list) and all(isinstance(one, (int, float, complex)) for one in values)
    ):
        values = np.array(values, a.dtype)  # may raise OverflowError or TypeError
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(n), dtype=np.intp)
    indices = _index_array(obj)
    if indices.dtype == bool:
        if indices.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        indices = np.flatnonzero(indices)
    elif indices.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    number = _single_index(indices)
    if number is not None:
        return _insert_block(a, axis, number, values, indices.ndim == 0)
    return _insert_each(a, axis, indices, values)


def _insert_block(a, axis, number, values, is_scalar):
    """Inserts all values at one index."""
    n = a.shape[axis]
    if not -n <= number <= n:
        raise IndexError(f"index {number} is out of bounds for axis {axis} with size {n}")
    number += n if number < 0 else 0
    values = arguments.arrays_of((a, values))[1].astype(a.dtype, copy=False)
    values = values.reshape((1,) * (a.ndim - values.ndim) + values.shape)
    if is_scalar:  # broadcast as in a[:, 0, :] = values, not as in a[:, [0], :] = values
        values = moveaxis(values, 0, axis)
    count = values.shape[axis]
    made = _array_with_gap(a, axis, count)
    made[_key_at_axis(axis, slice(0, number))] = a[_key_at_axis(axis, slice(0, number))]
    made[_key_at_axis(axis, slice(number, number + count))] = values
    made[_key_at_axis(axis, slice(number + count, None))] = a[
        _key_at_axis(axis, slice(number, None))
    ]
    return made


def _insert_each(a, axis, indices, values):
    """Inserts one value before each index; values for equal indices keep their order."""
    if indices.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    n, count = a.shape[axis], indices.shape[0]
    if not isinstance(indices, DeviceNDArray):
        if indices.size and not (-n <= indices.min() and indices.max() <= n):
            worst = indices[np.argmax(np.abs(indices + (n + 1) // 2))]
            raise IndexError(f"index {worst} is out of bounds for axis {axis} with size {n}")
        indices = arguments.arrays_of((a, indices))[1]
    indices = indices.astype(np.intp)
    indices = np.where(indices < 0, indices + n, indices)
    order = np.argsort(indices, stable=True)
    moved = arguments.empty((count,), np.intp, a)
    moved[order] = indices[order] + number_sequence(0, 1, count, np.int64, a)
    made = _array_with_gap(a, axis, count)
    made[_key_at_axis(axis, moved)] = values
    made[_key_at_axis(axis, _indices_without(n + count, moved, a))] = a
    return made


def _array_with_gap(a, axis, more):
    shape = [m + more if i == axis else m for i, m in enumerate(a.shape)]
    lies_f = a.is_f_contiguous() and not a.is_c_contiguous()
    return arguments.empty(shape, a.dtype, a, "F" if lies_f else "C")


# --------------------------------------------------------------------------------------- other lengths


@implements("resize")
def resize(a, new_shape) -> DeviceNDArray:
    """Repeats the elements cyclically."""
    a = arguments.as_device_array(a)
    shape = shapes.tuple_of_integers(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if a.size == 0:
        return zeros_like(a, shape=shape)
    made = arguments.empty(shape, a.dtype, a)
    line, flat = arguments.as_1d(a), made.reshape(made.size)
    whole = made.size // a.size
    flat[: whole * a.size].reshape(whole, a.size)[...] = line
    flat[whole * a.size :] = line[: made.size - whole * a.size]
    return made


@implements("trim_zeros")
def trim_zeros(filt, trim: str = "fb", axis=None) -> DeviceNDArray:
    """Returns a view. Waits for the indices of the first and last nonzero element."""
    if not isinstance(trim, str):
        raise TypeError(f"trim must be a string of 'f' and 'b', not {trim!r}")
    a, trim = arguments.as_device_array(filt), trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(a.ndim) if axis is None else axes_of(axis, a.ndim, "axis")
    if not len(axes):
        return a
    found = np.argwhere(a)
    if not found.size:
        return a[tuple(slice(0, 0) if i in axes else slice(None) for i in range(a.ndim))]
    first = np.min(found, axis=0).tolist() if "f" in trim else [0] * a.ndim
    last = np.max(found, axis=0).tolist() if "b" in trim else [n - 1 for n in a.shape]
    return a[
        tuple(slice(first[i], last[i] + 1) if i in axes else slice(None) for i in range(a.ndim))
    ]
