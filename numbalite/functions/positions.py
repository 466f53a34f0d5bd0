"""Implements access to elements by index: take, put, take_along_axis, choose, repeat and pad. (d[indices] is
in numbalite/ndarray/indexing.py.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments, outputs
from numbalite.ndarray import assign, gather, indexing
from numbalite.ndarray.arrays import DeviceNDArray
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any


def _check_mode(mode):
    if mode not in gather.MODES:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def _index_array(value):
    """Returns the indices as an integer array, on the host or the device; raises TypeError for other dtypes.

    An empty list counts as an integer array; an empty float array does not.
    """
    if not isinstance(value, DeviceNDArray):
        is_list = not isinstance(value, (np.ndarray, np.generic))
        value = np.asarray(value)
        if is_list and value.size == 0 and value.dtype == float:
            value = value.astype(np.intp)
    if not np.can_cast(value.dtype, np.intp, "same_kind") or value.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from {value.dtype!r} to {np.dtype(np.intp)!r} according to the "
            "rule 'safe'"
        )
    return value.astype(np.intp) if value.dtype == bool else value


def _key_at_axis(axis, what):
    return (slice(None),) * axis + (what,)


@implements("take", direct=_core.take)
def take(a, indices, axis=None, out=None, mode: str = "raise") -> Any:
    _check_mode(mode)
    a = arguments.as_device_array(a)
    if axis is None:
        a, axis = arguments.as_1d(a), 0
    else:
        if a.ndim == 0:
            a = a.reshape(1)
        axis = shapes.axis_number(shapes.axis_index(axis), a.ndim)
    indices = _index_array(indices)
    length = a.shape[axis]
    least = 0 if mode == "clip" else -length
    if indices.size and 0 in a.shape[:axis]:  # as in NumPy, the indices are not checked
        shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
        made = arguments.empty_like(a, shape, a.dtype)
    elif indices.size and length == 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    elif isinstance(indices, np.ndarray) and indices.ndim == 0 and least <= indices < length:
        # A single index selects a view, without an index array on the device
        place = *_key_at_axis(axis, int(indices)), ...
        made = a[place].copy()
    else:
        made = indexing.get_items(a, _key_at_axis(axis, indices) if axis else indices, mode=mode)
    return outputs.copy_to_wider_out("take", out, made)


@implements("put")
def put(a, ind, v, mode: str = "raise") -> None:
    a = arguments.array_to_modify("put", a)
    _check_mode(mode)
    ind = _index_array(ind)
    values = indexing.convert_like(v, a)
    if not ind.size or not values.size:
        return
    values = arguments.as_1d(values)
    if values.size < ind.size:  # they are repeated
        whole = -(-ind.size // values.size)
        values = np.tile(values, whole)
    flat = a._reshaped_view((a.size,), "C", False)
    made = a.ravel() if flat is None else flat
    indexing.put_items(made, ind.reshape(-1), values[: ind.size], mode=mode)
    if flat is None:
        a[...] = made.reshape(a.shape)


# ------------------------------------------------------------------------------------ along an axis


def _arguments_along_axis(a, indices, axis):
    """Returns (array, indices on the device, axis) of take_along_axis, with NumPy's exceptions for
    invalid arguments."""
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        flat = a._reshaped_view((a.size,), "C", False)
        a, axis = (a.ravel() if flat is None else flat), 0
    axis = shapes.axis_number(axis, a.ndim)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != a.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return a, axis


def _selection_geometry(a, indices, axis):
    """Returns (the shape of the result, the array's strides in that shape, the index)"""
    others = [n for i, n in enumerate(a.shape) if i != axis]
    theirs = [n for i, n in enumerate(indices.shape) if i != axis]
    try:
        shape = list(np.broadcast_shapes(others, theirs))
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{shapes._shape_text(tuple(others))} {shapes._shape_text(tuple(theirs))}"
        ) from None
    shape.insert(axis, indices.shape[axis])
    whole = tuple(shape[i] if i == axis else n for i, n in enumerate(a.shape))
    strides = shapes.broadcast_strides(whole, a.strides, tuple(shape))
    strides = tuple(0 if i == axis else step for i, step in enumerate(strides))
    checked = indexing._checked_indices(indices, a.shape[axis], axis, "raise", 0 in shape, a.device)
    own = shapes.broadcast_strides(checked.shape, checked.strides, tuple(shape))
    return tuple(shape), strides, gather.AxisIndex(checked, own, a.shape[axis], a.strides[axis])


def _as_index_array(indices):
    return indices if isinstance(indices, DeviceNDArray) else np.asarray(indices)


@implements("take_along_axis")
def take_along_axis(arr, indices, axis=-1) -> DeviceNDArray:
    indices = _as_index_array(indices)
    a, axis = _arguments_along_axis(arguments.as_device_array(arr), indices, axis)
    shape, strides, index = _selection_geometry(a, indices, axis)
    made = arguments.empty(shape, a.dtype, a)
    if made.size:
        gather.gather(a, strides, made, made.strides, shape, [index], 0, a.stream)
    return made


@implements("put_along_axis")
def put_along_axis(arr, indices, values, axis) -> None:
    arr = arguments.array_to_modify("put_along_axis", arr)
    indices = _as_index_array(indices)
    a, axis = _arguments_along_axis(arr, indices, axis)
    shape, strides, index = _selection_geometry(a, indices, axis)
    values = indexing.convert_like(values, a)
    of = indexing._broadcast_strides(values, shape)
    if 0 not in shape:
        values = values._view_with_layout(shape, of)
        if assign.may_overlap(values, a):
            values = values.copy()
        gather.scatter(values, values.strides, a, strides, shape, [index], 0, a.stream)
    if a.address != arr.address:
        arr[...] = a.reshape(arr.shape)


@implements("choose")
def choose(a, choices, out=None, mode: str = "raise") -> Any:
    """Copies all choices into one array first."""
    _check_mode(mode)
    given, numbers = a, shapes.list_of_items(choices, "choices")
    a, *choices = arguments.arrays_of([a, *numbers])
    a = _index_array(a)
    if a.dtype == np.uint64:
        raise TypeError(
            "Cannot cast array data from dtype('uint64') to dtype('int64') according to the rule 'safe'"
        )
    shape = np.broadcast_shapes(a.shape, *(one.shape for one in choices))
    if mode == "raise" and 0 not in shape and not operands.is_on_device(given):
        places = np.asarray(given)
        if ((places < 0) | (places >= len(choices))).any():
            raise ValueError("invalid entry in choice array")
    dtype = arguments.common_dtype(numbers, choices)
    if out is not None:
        outputs.check_out("choose", out)
        if out.shape != shape:
            raise TypeError(
                f"choose: invalid shape {out.shape} for output array, the result has {shape}"
            )
    joined = arguments.empty((len(choices), *shape), dtype, a)
    for i, (number, one) in enumerate(zip(numbers, choices, strict=True)):
        joined[i, ...] = number if type(number) in arguments.WEAK else one
    checked = indexing._checked_indices(a, len(choices), 0, mode, 0 in shape, joined.device)
    own = shapes.broadcast_strides(checked.shape, checked.strides, shape)
    index = gather.AxisIndex(checked, own, len(choices), joined.strides[0])
    made = arguments.empty(shape, dtype, a)
    if made.size:
        gather.gather(
            joined, joined.strides[1:], made, made.strides, shape, [index], gather.MODES[mode],
            made.stream,
        )  # fmt: skip
    return outputs.copy_to_wider_out("choose", out, made)


# ------------------------------------------------------------------------------------ repeat and pad


@implements("repeat", direct=_core.repeat)
def repeat(a, repeats, axis=None) -> DeviceNDArray:
    """Copies an array of repeats from the device to the host, because the repeats determine the result's
    shape."""
    a = arguments.as_device_array(a)
    if axis is None:
        a, axis = arguments.as_1d(a), 0
    a = a if a.ndim else arguments.reshape(a, (1,))
    if type(repeats) is int:
        return _repeat_each(a, repeats, shapes.axis_number(shapes.axis_index(axis), a.ndim))
    axis = shapes.axis_number(shapes.axis_index(axis), a.ndim)
    length = a.shape[axis]
    if not isinstance(repeats, DeviceNDArray):
        repeats = np.asarray(repeats)
    if not np.can_cast(repeats.dtype, np.intp, "same_kind") or repeats.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from {repeats.dtype!r} to {np.dtype(np.intp)!r} according to the "
            "rule 'safe'"
        )
    if repeats.ndim > 1:
        raise ValueError("object too deep for desired array")
    if repeats.size == 1:
        return _repeat_each(a, int(repeats.reshape(-1)[0].item()), axis)
    if repeats.size != length:
        raise ValueError(
            f"operands could not be broadcast together with shape ({length},) ({repeats.size},)"
        )
    if isinstance(repeats, DeviceNDArray):
        repeats = repeats.copy_to_host()
    if repeats.size and repeats.min() < 0:
        raise ValueError("repeats may not contain negative values.")
    return indexing.get_items(a, _key_at_axis(axis, np.repeat(np.arange(length), repeats)))


def _repeat_each(a, count, axis):
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    with assign.on_device(a.device):
        made = _core.repeat(a, count, axis)
    if made is NotImplemented:
        raise ValueError(f"cannot repeat an array of shape {a.shape} {count} times")
    return made


_BY_PLACES = ("edge", "reflect", "symmetric", "wrap")
_LARGE = 1 << 20  # minimum bytes for which a few copies are faster than one gather kernel
_STATISTICS = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}
_PAD_KEYWORDS = {
    "constant": "constant_values",
    "empty": None,
    "edge": None,
    "wrap": None,
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "linear_ramp": "end_values",
    **dict.fromkeys(_STATISTICS, "stat_length"),
}
"""The modes of pad -> the keyword that each takes."""


@implements("pad", direct=_core.pad)
def pad(array, pad_width, mode="constant", **keywords) -> DeviceNDArray:
    """Supports all modes of numpy.pad except functions of the caller."""
    a = arguments.as_device_array(array)
    pairs = _padding_widths(pad_width, a.ndim)
    if callable(mode):
        raise TypeError(
            "numpy.pad with a function for its mode has no counterpart on the device: the modes are "
            f"{', '.join(_PAD_KEYWORDS)}"
        )
    if mode not in _PAD_KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(keywords) - {_PAD_KEYWORDS[mode]} if keywords else ()
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if mode not in ("constant", "empty"):
        for axis, (n, pair) in enumerate(zip(a.shape, pairs, strict=True)):
            if n == 0 and any(pair):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
    if mode in _BY_PLACES:
        if keywords.get("reflect_type", "even") == "odd":
            return _pad_by_odd_reflection(a, pairs, mode)
        by_slabs = a.nbytes >= _LARGE and _is_padding_within_array(a, pairs, mode)
        return (_pad_by_slabs if by_slabs else _pad_by_indices)(a, pairs, mode)
    made = _new_padded_array(a, pairs)
    if mode == "constant":
        _fill_around(made, pairs, keywords.get("constant_values", 0))
    middle = _middle_slices(a, pairs)
    assign.assign(made._selected_view(middle), a)
    if mode == "linear_ramp":
        _fill_ramp(made, pairs, middle, keywords.get("end_values", 0))
    elif mode in _STATISTICS:
        _fill_border(made, pairs, middle, mode, keywords.get("stat_length"))
    return made


def _padding_widths(given, ndim):
    """Returns the padding widths (before, after) of each axis."""
    if type(given) is int and given >= 0:
        return [(given, given)] * ndim
    if isinstance(given, dict):
        by_axis: list = [(0, 0)] * ndim
        for axis, width in given.items():
            by_axis[axis] = np.broadcast_to(width, (2,))
        given = by_axis
    if np.iterable(given):
        given = shapes.tuple_of_items(given, "pad_width")
    widths = np.asarray(given)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    widths = _broadcast_to_pairs(widths, ndim)
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    return [tuple(map(int, pair)) for pair in widths]


def _pad_by_odd_reflection(a, pairs, mode):
    """Pads with reflect_type="odd": x is reflected to 2 * edge - x.

    Axes are processed one after another, each in as many steps as its padding width needs. A step pads a
    multiple of the reflection's period.
    """
    made = _new_padded_array(a, pairs)
    middle = _middle_slices(a, pairs)
    assign.assign(made._selected_view(middle), a)
    skips_edge = int(mode == "reflect")
    for axis, (length, pair) in enumerate(zip(a.shape, pairs, strict=True)):
        behind = (slice(None),) * (axis + 1) + middle[axis + 1 :]
        part = np.moveaxis(made[behind], axis, 0)
        begin, end, period = pair[0], pair[0] + length, length - skips_edge
        if not period and any(pair):  # NumPy repeats a single element
            part[:begin] = part[end:] = part[begin:end]
            continue
        while begin or end < part.shape[0]:
            most = (end - begin - skips_edge) // period * period
            left, right = min(most, begin), min(most, part.shape[0] - end)
            first, last = begin + skips_edge, end - skips_edge
            if left:
                part[begin - left : begin] = (
                    2 * part[begin : begin + 1] - part[first : first + left][::-1]
                )
            if right:
                part[end : end + right] = 2 * part[end - 1 : end] - part[last - right : last][::-1]
            begin, end = begin - left, end + right
    return made


def _new_padded_array(a, pairs):
    shape = [n + sum(pair) for n, pair in zip(a.shape, pairs, strict=True)]
    return arguments.empty(shape, a.dtype, a, a._memory_order())


def _middle_slices(a, pairs):
    """Returns a tuple of slices that select the original array within the padded one."""
    return tuple(slice(begin, begin + n) for (begin, _), n in zip(pairs, a.shape, strict=True))


def _broadcast_to_pairs(value, ndim):
    try:
        return np.broadcast_to(value, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes "
            f"[original->remapped]: {value.shape} and requested shape ({ndim},2)"
        ) from None


def _fill_around(made, pairs, values):
    if type(values) in (int, float):
        assign.assign(made, values)
        return
    values = np.asarray(values)
    if values.ndim == 0:
        made.fill(values[()])
        return
    for axis, (pair, ends) in enumerate(
        zip(pairs, _broadcast_to_pairs(values, made.ndim), strict=True)
    ):
        for width, value, part in (
            (pair[0], ends[0], slice(None, pair[0])),
            (pair[1], ends[1], slice(made.shape[axis] - pair[1], None)),
        ):
            if width:
                made[_key_at_axis(axis, part)] = value


def _steps_outwards(made, pairs, middle):
    """Yields (axis, widths, slice of the original array, view that the step pads) for each axis.

    The view includes the padding of previous axes, from which the corners are filled.
    """
    for axis, (pair, inside) in enumerate(zip(pairs, middle, strict=True)):
        if sum(pair):
            yield (
                axis,
                pair,
                inside,
                made._selected_view((slice(None),) * (axis + 1) + middle[axis + 1 :]),
            )


def _fill_outside(region, axis, inside, before, behind):
    if inside.start:
        region[_key_at_axis(axis, slice(None, inside.start))] = before
    if inside.stop < region.shape[axis]:
        region[_key_at_axis(axis, slice(inside.stop, None))] = behind


def _fill_ramp(made, pairs, middle, ends):
    ends = _broadcast_to_pairs(np.asarray(ends), made.ndim).tolist()
    for axis, pair, inside, region in _steps_outwards(made, pairs, middle):
        sides = []
        for place, width, end in (
            (inside.start, pair[0], ends[axis][0]),
            (inside.stop - 1, pair[1], ends[axis][1]),
        ):
            edge = region[_key_at_axis(axis, slice(place, place + 1))].squeeze(axis)
            sides.append(
                np.linspace(end, edge, num=width, endpoint=False, dtype=made.dtype, axis=axis)
            )
        _fill_outside(region, axis, inside, sides[0], np.flip(sides[1], axis))


def _fill_border(made, pairs, middle, mode, lengths):
    if lengths is None:
        lengths = max(made.shape, default=0)
    lengths = np.round(lengths).astype(np.intp)
    if (lengths < 0).any():
        raise ValueError("index can't contain negative values")
    lengths = _broadcast_to_pairs(lengths, made.ndim).tolist()
    for axis, _, inside, region in _steps_outwards(made, pairs, middle):
        left, right = (min(one, inside.stop - inside.start) for one in lengths[axis])
        if mode in ("maximum", "minimum") and 0 in (left, right):
            raise ValueError("stat_length of 0 yields no value for padding")
        sides = []
        for part in (
            slice(inside.start, inside.start + left),
            slice(inside.stop - right, inside.stop),
        ):
            value = _STATISTICS[mode](region[_key_at_axis(axis, part)], axis=axis, keepdims=True)
            sides.append(np.round(value) if made.dtype.kind in "iu" else value)
        _fill_outside(region, axis, inside, *sides)


def _is_padding_within_array(a, pairs, mode):
    """Returns whether the padding of each side is at most as long as the array, so that one slab of the array
    fills the padding."""
    least = mode == "reflect"
    return all(max(pair) <= n - least for n, pair in zip(a.shape, pairs, strict=True))


def _pad_by_slabs(a, pairs, mode):
    """Pads by copies: one copy of the array, then two slabs for each axis, without index arrays."""
    made, middle = _new_padded_array(a, pairs), _middle_slices(a, pairs)
    assign.copy_elements(a, made._selected_view(middle), apart=True)
    for axis, pair, inside, region in _steps_outwards(made, pairs, middle):
        sides = slice(None, inside.start), slice(inside.stop, None)
        for width, side, of in zip(pair, sides, _padding_slices(mode, inside, pair), strict=True):
            if width:
                target = region._selected_view(_key_at_axis(axis, side))
                source = region._selected_view(_key_at_axis(axis, of))
                assign.copy_elements(
                    assign.broadcast_view(source, target.shape), target, apart=True
                )
    return made


def _padding_slices(mode, inside, pair):
    """Returns two slices along an axis, whose elements fill the padding before and after the array."""
    first, end, (before, behind) = inside.start, inside.stop, pair
    if mode == "edge":
        return slice(first, first + 1), slice(end - 1, end)
    if mode == "wrap":
        return slice(end - before, end), slice(first, first + behind)
    skipped = int(mode == "reflect")  # 1 if the slab excludes the edge element
    last = end - 1 - skipped
    return (
        slice(first + before - 1 + skipped, first - 1 + skipped, -1),
        slice(last, last - behind if last >= behind else None, -1),
    )


def _pad_by_indices(a, pairs, mode):
    places = [
        np.pad(np.arange(n), pair, mode) if sum(pair) else None
        for n, pair in zip(a.shape, pairs, strict=True)
    ]
    moved = [axis for axis, one in enumerate(places) if one is not None]
    if not moved:
        return a.copy("A")
    if a._memory_order() == "F":
        return _pad_by_indices(a.T, pairs[::-1], mode).T
    key = [slice(None)] * a.ndim
    for axis, grid in zip(moved, np.ix_(*(places[axis] for axis in moved)), strict=True):
        key[axis] = grid
    if moved == list(range(moved[0], moved[-1] + 1)):
        return indexing.get_items(a, tuple(key))
    for axis in moved:  # slices between index arrays would change the order of the axes
        a = indexing.get_items(a, _key_at_axis(axis, places[axis]))
    return a
