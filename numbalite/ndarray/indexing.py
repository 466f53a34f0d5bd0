"""Implements fancy indexing: d[key] and d[key] = value for keys with index arrays or boolean masks.

The result's shape is that of NumPy: the index arrays and integers of a key are broadcast together. The
broadcast axes replace the first indexed axis, or come first if slices separate the index arrays. Index arrays
in host memory are checked on the host (IndexError). Index arrays on the device are not checked, because the
check would wait for the device: their indices are wrapped modulo the length of the axis. The simulator
reports indices out of bounds (KernelError).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite import _core
from numbalite.ndarray import above, assign, foreign, gather
from numbalite.runtime import shapes
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from typing import Any

_PLAIN = frozenset((int, slice, type(None), type(Ellipsis), str))
_MAX_DIMS = 32
_INDEX_DTYPES = np.dtype(np.int32), np.dtype(np.int64)


def has_arrays(key: Any) -> bool:
    """Returns whether a key contains index arrays or masks, so that its result is not a view."""
    items = key if isinstance(key, tuple) else (key,)
    return any(type(item) not in _PLAIN and _is_index_array(item) for item in items)


def _is_index_array(item):
    """Returns whether the item is a mask or an index array. The result must be true if is_many() in
    cext/py/devindex.c is true."""
    if isinstance(item, list):
        return not (item and isinstance(item[0], str))
    if isinstance(item, (bool, np.bool_, np.ndarray, tuple, range, _core.DeviceArray)):
        return True
    if hasattr(item, "__cuda_array_interface__"):
        return True
    return hasattr(type(item), "__getitem__") and not isinstance(item, (dict, str, bytes))


class _Selection(NamedTuple):
    view: Any
    """The shape of the array after the integers and slices of the key; an index array leaves its whole axis."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """The strides of the view in the shape of the result, zero along the axes of the indices."""
    indices: list[gather.AxisIndex]


@functools.partial(traced, direct=_core.take_rows)
def get_items(array: Any, key: Any, stream: Any = 0, mode: str = "raise", out: Any = None) -> Any:
    """Returns array[key] as a new array, or stores it in `out`, which has the result's shape and dtype."""
    key = _indices_of_rows(array, key)
    mask = _mask_over_all_axes(array, key) if out is None else None
    if mask is not None:
        return above.masks().select_by_mask(array, mask, stream)
    chosen = _select_elements(array, key, mode)
    if out is None:
        with assign.on_device(array.device):
            out = _core.device_empty(chosen.shape, array.dtype, "C")
    if 0 not in chosen.shape:
        gather.gather(
            chosen.view, chosen.strides, out, out.strides, chosen.shape, chosen.indices,
            gather.MODES[mode], stream or array.stream,
        )  # fmt: skip
    return out


@traced
def put_items(array: Any, key: Any, value: Any, stream: Any = 0, mode: str = "raise") -> None:
    """array[key] = value. If an index occurs twice, the stored value is undefined."""
    if array.readonly:
        raise ValueError("assignment destination is read-only")
    mask = _mask_over_all_axes(array, key)
    if mask is not None:
        _assign_to_mask(array, mask, value, stream)
        return
    chosen = _select_elements(array, key, mode)
    if not chosen.shape and isinstance(value, (list, tuple)) and not array.dtype.names:
        raise ValueError("setting an array element with a sequence.")
    value = convert_like(value, array)
    if 0 in chosen.shape:
        _broadcast_strides(value, chosen.shape)
        return
    if assign.may_overlap(value, array):
        value = value.copy(stream=stream or array.stream)
    strides = _broadcast_strides(value, chosen.shape)
    indices = [
        index._replace(array=index.array.copy())
        if assign.may_overlap(index.array, array)
        else index
        for index in chosen.indices
    ]
    skipped = max(value.ndim - len(chosen.shape), 0)
    if skipped:
        value = value._view(value.shape[skipped:], value.strides[skipped:], value.dtype)
    gather.scatter(
        value, strides, chosen.view, chosen.strides, chosen.shape, indices, gather.MODES[mode],
        stream or array.stream,
    )  # fmt: skip


def _mask_over_all_axes(array, key):
    """Returns the mask, if the key is a single mask over all axes, on the device, or None for other keys."""
    if isinstance(key, tuple):
        key = key[0] if len(key) == 1 else None
    if not isinstance(key, (np.ndarray, _core.DeviceArray, list)) or not array.ndim:
        return None
    mask = foreign.cuda_array_or_none(key)
    if mask is None:
        mask = np.asarray(key)
    if mask.dtype != bool or mask.shape != array.shape:
        return None
    if isinstance(mask, np.ndarray):
        with assign.on_device(array.device):
            made = _core.device_empty(mask.shape, mask.dtype, "C")
        made._write(np.ascontiguousarray(mask))
        return made
    return mask


def _assign_to_mask(array, mask, value, stream):
    """array[mask] = value"""
    value = convert_like(value, array)
    if value.size == 1 and value.ndim <= 1:
        above.masks().assign_to_mask(
            array, mask, value._view_with_layout((1,), (value.itemsize,)), stream
        )
        return
    count = int(np.count_nonzero(mask))
    if value.ndim > 1:
        raise TypeError(
            f"NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
            f"{value.ndim} dimensions"
        )
    if value.size != count:
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {value.size} input values to the "
            f"{count} output values where the mask is true"
        )
    above.masks().assign_to_mask(array, mask, value, stream)


def convert_like(value: Any, array: Any) -> Any:
    """Converts a value to a device array with the dtype and device of `array`."""
    found = foreign.cuda_array_or_none(value)
    if found is not None:
        if found.device != array.device:
            found = assign.copy_to_device_number(found, array.device)
        return found if found.dtype == array.dtype else found.astype(array.dtype)
    if assign.holds_device_arrays(value):
        return convert_like(assign.stack_device_arrays(value), array)
    host = _as_host_array(value, array.dtype)
    with assign.on_device(array.device):
        made = _core.device_empty(host.shape, array.dtype, "C")
    assign.assign(made, host)
    return made


def _as_host_array(value, dtype):
    if dtype.names or not np.ndim(value):  # a tuple may be the value of a record
        try:
            return assign.scalar_array(value, dtype)
        except (TypeError, ValueError):
            if not np.ndim(value):
                raise
    if (
        isinstance(value, (list, tuple)) and not dtype.names
    ):  # raises OverflowError for Python integers out of range
        return np.array(value, dtype)
    given = np.asarray(value)
    host = np.empty(given.shape, dtype)
    host[...] = given
    return host


def _broadcast_strides(value, shape):
    try:
        return shapes.broadcast_strides(value.shape, value.strides, shape)
    except ValueError:
        raise ValueError(
            f"shape mismatch: value array of shape {shapes._shape_text(value.shape)} could not be "
            f"broadcast to indexing result of shape {shapes._shape_text(shape)}"
        ) from None


# ------------------------------------------------------------------------------------------- keys


def _indices_of_rows(array, key):
    """Returns the indices of the rows that a mask along the first axis selects; returns other keys
    unchanged."""
    is_mask = isinstance(key, _core.DeviceArray) and key.dtype == bool and key.ndim == 1
    if not is_mask or array.ndim < 2 or key.shape[0] != array.shape[0]:
        return key
    return np.nonzero(key)[0]


def _select_elements(array, key, mode):
    items = _expand_key(array, key)
    basic: list = []
    indices, flags, axis, dim = [], [], 0, 0  # dim: of the view
    for item in items:
        if item is Ellipsis:
            continue
        if item is None:
            basic.append(None)
            dim += 1
            continue
        if isinstance(item, _MaskKey):
            flags.append((int(bool(item.values)),))
            continue
        if isinstance(item, slice):
            basic.append(item)
            dim += 1
        elif not isinstance(item, (np.ndarray, _core.DeviceArray)):
            basic.append(item)
        else:
            basic.append(slice(None))
            indices.append((item, dim, axis))
            dim += 1
        axis += 1
    view = array._selected_view(tuple(basic))
    shape = _broadcast_indices([item.shape for item, _, _ in indices] + flags)
    lone = {dim for _, dim, _ in indices}
    before = _axis_of_index_arrays(items)
    kept = [i for i in range(view.ndim) if i not in lone]
    head, tail = [i for i in kept if i < before], [i for i in kept if i >= before]
    result = (*(view.shape[i] for i in head), *shape, *(view.shape[i] for i in tail))
    strides = (
        *(view.strides[i] for i in head),
        *(0 for _ in shape),
        *(view.strides[i] for i in tail),
    )
    if len(result) > _MAX_DIMS:
        raise IndexError(f"the result would have more than {_MAX_DIMS} dimensions")
    arrays = [
        _checked_indices(item, view.shape[dim], axis, mode, 0 in shape, array.device)
        for item, dim, axis in indices
    ]
    if len({one.dtype for one in arrays}) > 1:
        arrays = [one.astype(np.int64, copy=False) for one in arrays]
    made = []
    for found, (_, dim, _) in zip(arrays, indices, strict=True):
        own = shapes.broadcast_strides(found.shape, found.strides, shape)
        own = (*(0 for _ in head), *own, *(0 for _ in tail))
        made.append(gather.AxisIndex(found, own, view.shape[dim], view.strides[dim]))
    return _Selection(view, result, strides, made)


def _axis_of_index_arrays(items):
    """Returns the axis of the view before which the axes of the index arrays are inserted."""
    dim, first, ended = 0, None, False
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, slice):
            ended |= first is not None
            dim += item is not Ellipsis
            continue
        if ended:
            return 0
        first = dim if first is None else first
        dim += isinstance(item, (np.ndarray, _core.DeviceArray))
    return first


def _expand_key(array, key):
    """Returns the items of a key, one per axis: The items are None, slices, integers, and index arrays on the
    host or the device.

    Masks are replaced by index arrays, and an ellipsis by slices if it represents any axis."""
    items = []
    for item in key if isinstance(key, tuple) else (key,):
        items += [item] if _is_basic_item(item) else _index_arrays(item)
    taken = sum(_axis_count(item) for item in items)
    if taken > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but {taken} were indexed"
        )
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = dots[0] if dots else len(items)
    if array.ndim > taken:  # an ellipsis that represents no axes stays: it separates indices
        items[at : at + len(dots)] = [slice(None)] * (array.ndim - taken)
    axis, made = 0, []
    for item in items:
        if isinstance(item, _MaskKey):
            made += item.index_arrays(array, axis)
        else:
            made.append(item)
        axis += _axis_count(item)
    return made


def _is_basic_item(item):
    return type(item) in _PLAIN or not (isinstance(item, list) or _is_index_array(item))


def _axis_count(item):
    return item.axes if isinstance(item, _MaskKey) else 0 if item is None or item is Ellipsis else 1


class _MaskKey:
    def __init__(self, values):
        self.values = values
        self.axes = values.ndim

    def index_arrays(self, array, axis):
        """Returns an index array for each axis of the mask; a 0-dimensional mask is returned unchanged."""
        if self.axes == 0:
            return [self]
        for i, length in enumerate(self.values.shape):
            if (
                length and length != array.shape[axis + i]
            ):  # a mask of length 0 is accepted, as in NumPy
                raise IndexError(
                    "boolean index did not match indexed array along axis "
                    f"{axis + i}; size of axis is {array.shape[axis + i]} but size of corresponding "
                    f"boolean axis is {length}"
                )
        return list(np.nonzero(self.values))


def _index_arrays(item):
    """Returns a list with one index array or mask from an item of a key. Arrays stay on their device."""
    found = foreign.cuda_array_or_none(item)
    if found is None:
        found = np.asarray(item)
        if found.size == 0 and not isinstance(item, np.ndarray):
            found = found.astype(np.intp)
    if found.dtype == bool:
        return [_MaskKey(found)]
    if found.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return [found]


def _broadcast_indices(given):
    try:
        return np.broadcast_shapes(*given)
    except ValueError:
        shown = " ".join(map(shapes._shape_text, given))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shown}"
        ) from None


def _checked_indices(indices, length, axis, mode, is_empty, device):
    """Returns index arrays as device arrays of int32 or int64; checks the bounds of host arrays.

    As in NumPy, if the index arrays are broadcast to no elements (`is_empty`), only 0-dimensional ones are checked.
    """
    unchecked = is_empty and indices.ndim > 0
    if isinstance(indices, _core.DeviceArray):
        if length == 0 and indices.size and not unchecked:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        if indices.device != device:
            indices = assign.copy_to_device_number(indices, device)
        if indices.dtype not in _INDEX_DTYPES:
            return indices.astype(np.int64)
        return indices.copy() if indices._low_bits & (indices.itemsize - 1) else indices
    if indices.size and mode == "raise" and not unchecked:
        for extreme in (indices.min(), indices.max()):
            if not -length <= extreme < length:
                raise IndexError(
                    f"index {extreme} is out of bounds for axis {axis} with size {length}"
                )
    with assign.on_device(device):
        made = _core.device_empty(indices.shape, np.dtype(np.int64), "C")
    if indices.size:
        made._write(indices.astype(np.int64, order="C"))
    return made
