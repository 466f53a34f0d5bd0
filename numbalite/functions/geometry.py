"""Implements functions that change the shape or axis order of arrays, or split arrays. The results are views,
or copies if NumPy copies."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments
from numbalite.ndarray import assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_NO_VALUE: Any = np._NoValue


# ------------------------------------------------------------------------------------ properties


def _array_without_copy(value):
    """Returns the value as an array in its present memory, on the host or the device, without a copy between
    host and device."""
    return value if isinstance(value, _core.DeviceArray) else np.asarray(value)


@implements("shape")
def shape(a) -> tuple[int, ...]:
    return _array_without_copy(a).shape


@implements("ndim")
def ndim(a) -> int:
    return _array_without_copy(a).ndim


@implements("size")
def size(a, axis=None) -> int:
    a = _array_without_copy(a)
    if axis is None:
        return a.size
    count = 1
    for number in axes_of(axis, a.ndim):
        count *= a.shape[number]
    return count


def axes_of(axis: Any, count: int, what: str | None = None) -> tuple[int, ...]:
    """Returns one axis or several axes as non-negative numbers in the order of the argument; raises
    ValueError for a repeated axis."""
    given = shapes.tuple_of_items(axis, "axis") if np.iterable(axis) else (axis,)
    numbers = tuple(shapes.axis_number(one, count, what) for one in given)
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"repeated axis{f' in `{what}` argument' if what else ''}")
    return numbers


# --------------------------------------------------------------------------------------- one array


@implements("reshape")
def reshape(
    a, shape=None, order: str = "C", *, newshape=None, copy: bool | None = None
) -> DeviceNDArray:
    shape = newshape if shape is None else shape
    if shape is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    return arguments.as_device_array(a).reshape(shape, order=order, copy=copy)


@implements("ravel")
def ravel(a, order: str = "C") -> DeviceNDArray:
    return arguments.as_device_array(a).ravel(order)


@implements("transpose", "permute_dims")
def transpose(a, axes=None) -> DeviceNDArray:
    return arguments.as_device_array(a).transpose(axes)


@implements("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x, /) -> DeviceNDArray:
    x = arguments.as_device_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)


@implements("swapaxes")
def swapaxes(a, axis1, axis2) -> DeviceNDArray:
    return arguments.as_device_array(a).swapaxes(axis1, axis2)


@implements("moveaxis")
def moveaxis(a, source, destination) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    source = axes_of(source, a.ndim, "source")
    destination = axes_of(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [axis for axis in range(a.ndim) if axis not in source]
    for target, axis in sorted(zip(destination, source, strict=True)):
        order.insert(target, axis)
    return a.transpose(order)


@implements("rollaxis")
def rollaxis(a, axis, start: int = 0) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    axis = shapes.axis_number(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise shapes.AxisError(
            f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {start} was passed in"
        )
    start += a.ndim if start < 0 else 0
    order = [one for one in range(a.ndim) if one != axis]
    order.insert(start - (axis < start), axis)
    return a.transpose(order)


@implements("expand_dims")
def expand_dims(a, axis) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    axis = shapes.tuple_of_items(axis, "axis") if np.iterable(axis) else (axis,)
    count = a.ndim + len(axis)
    new = axes_of(axis, count)
    lengths = iter(a.shape)
    return a.reshape([1 if i in new else next(lengths) for i in range(count)])


@implements("squeeze")
def squeeze(a, axis=None) -> DeviceNDArray:
    return arguments.as_device_array(a).squeeze(axis)


@implements("diagonal")
def diagonal(a, offset: int = 0, axis1=0, axis2=1) -> DeviceNDArray:
    return arguments.as_device_array(a).diagonal(offset, axis1, axis2)


@implements("linalg.diagonal")
def last_diagonal(x, /, *, offset: int = 0) -> DeviceNDArray:
    return arguments.as_device_array(x).diagonal(offset, -2, -1)


@implements("flip")
def flip(m, axis=None) -> DeviceNDArray:
    m = arguments.as_device_array(m)
    flipped = range(m.ndim) if axis is None else axes_of(axis, m.ndim)
    key = tuple(slice(None, None, -1 if i in flipped else None) for i in range(m.ndim))
    return m[key or ...]


@implements("flipud")
def flipud(m) -> DeviceNDArray:
    m = arguments.as_device_array(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@implements("fliplr")
def fliplr(m) -> DeviceNDArray:
    m = arguments.as_device_array(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@implements("rot90")
def rot90(m, k: int = 1, axes=(0, 1)) -> DeviceNDArray:
    m, axes = arguments.as_device_array(m), shapes.tuple_of_items(axes, "axes")
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if any(not -m.ndim <= axis < m.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    k %= 4
    if k == 0:
        return m[...]
    if k == 2:
        return flip(m, axes)
    if k == 1:
        return flip(m, axes[1]).swapaxes(*axes)
    return flip(m.swapaxes(*axes), axes[1])


# ---------------------------------------------------------------------------------- several arrays


@implements("broadcast_to")
def broadcast_to(array, shape, subok: bool = False) -> DeviceNDArray:
    """Returns a view in which several elements share memory; only kernels can write to it."""
    array = arguments.as_device_array(array)
    shape = shapes.tuple_of_integers(shape)
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        if any(length < 0 for length in shape):
            raise ValueError("all elements of broadcast shape must be non-negative")
        raise ValueError(
            "operands could not be broadcast together with remapped shapes "
            f"[original->remapped]: {array.shape} and requested shape {shape}"
        )
    strides = shapes.broadcast_strides(array.shape, array.strides, shape)
    return array._view(shape, strides, array.dtype, 0, True)


@implements("broadcast_arrays")
def broadcast_arrays(*args, subok: bool = False) -> tuple[DeviceNDArray, ...]:
    arrays = arguments.arrays_of(args)
    shape = np.broadcast_shapes(*(one.shape for one in arrays))
    return tuple(assign.broadcast_view(one, shape) for one in arrays)


def _with_min_dimensions(arrays, shaped):
    made = tuple(map(shaped, arguments.arrays_of(arrays)))
    return made[0] if len(made) == 1 else made


@implements("atleast_1d")
def atleast_1d(*arys) -> Any:
    return _with_min_dimensions(arys, lambda a: a.reshape(1) if a.ndim == 0 else a)


@implements("atleast_2d")
def atleast_2d(*arys) -> Any:
    def add_dimensions(a):
        return a.reshape(1, 1) if a.ndim == 0 else a[None] if a.ndim == 1 else a

    return _with_min_dimensions(arys, add_dimensions)


@implements("atleast_3d")
def atleast_3d(*arys) -> Any:
    def add_dimensions(a):
        if a.ndim == 0:
            return a.reshape(1, 1, 1)
        return a[None, :, None] if a.ndim == 1 else a[:, :, None] if a.ndim == 2 else a

    return _with_min_dimensions(arys, add_dimensions)


# ------------------------------------------------------------------------------------------ pieces


_MAX_PARTS = 1 << 24  # more views than this number would occupy some gigabytes of host memory


def _check_parts(count):
    if count > _MAX_PARTS:
        raise ValueError(f"an array is not split into {count} parts: the limit is {_MAX_PARTS}")


@implements("array_split")
def array_split(ary, indices_or_sections, axis=0) -> list[DeviceNDArray]:
    ary = arguments.as_device_array(ary)
    axis = shapes.axis_number(axis, ary.ndim)
    length = ary.shape[axis]
    if hasattr(indices_or_sections, "__len__"):
        count = len(indices_or_sections)
        _check_parts(count + 1)
        cuts = itertools.islice(indices_or_sections, count)
        ends = [0, *map(operator.index, cuts), length]
    else:
        count = operator.index(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        _check_parts(count)
        each, extras = divmod(length, count)
        ends = [i * each + min(i, extras) for i in range(count + 1)]
    parts = [slice(begin, end) for begin, end in itertools.pairwise(ends)]
    keys = [(slice(None),) * axis + (part,) for part in parts]
    return [ary[key] for key in keys]


@implements("split")
def split(ary, indices_or_sections, axis=0) -> list[DeviceNDArray]:
    ary = arguments.as_device_array(ary)
    if not hasattr(indices_or_sections, "__len__"):
        length = ary.shape[shapes.axis_number(axis, ary.ndim)]
        if length % operator.index(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _split_along(name, least, axis_of):
    def split_function(ary: Any, indices_or_sections: Any) -> list[DeviceNDArray]:
        ary = arguments.as_device_array(ary)
        if ary.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, axis_of(ary))

    split_function.__name__ = name
    return implements(name)(split_function)


hsplit = _split_along("hsplit", 1, lambda ary: int(ary.ndim > 1))
vsplit = _split_along("vsplit", 2, lambda ary: 0)
dsplit = _split_along("dsplit", 3, lambda ary: 2)


@implements("unstack")
def unstack(x, /, *, axis: int = 0) -> tuple[DeviceNDArray, ...]:
    x = arguments.as_device_array(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    front = moveaxis(x, axis, 0)
    return tuple(front[i, ...] for i in range(front.shape[0]))


# ------------------------------------------------------------------------------------ shared memory


@implements("may_share_memory")
def may_share_memory(a, b, max_work=0) -> bool:
    both = isinstance(a, _core.DeviceArray) and isinstance(b, _core.DeviceArray)
    return both and assign.may_overlap(a, b)


class _AddressInterface:
    """An object with the address and strides of a device array, for NumPy's overlap tests.

    NumPy's overlap tests do not access the array's memory."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (array._address, True),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
        }


@implements("shares_memory")
def shares_memory(a, b, max_work=-1) -> bool:
    """Tests for a common element: NumPy decides from addresses and strides, without access to the
    elements."""
    if not may_share_memory(a, b):
        return False
    a, b = (np.asarray(_AddressInterface(one)) for one in (a, b))
    return np.shares_memory(a, b, -1 if max_work is None else max_work)
