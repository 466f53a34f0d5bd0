"""Converts arguments of NumPy's functions to device arrays, and creates their results.

Host arrays and lists are copied to the device. Numbers are also copied if an array is required."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray import arrays, assign
from numbalite.ndarray.assign import on_device_of
from numbalite.runtime import devices, shapes
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


THREADS = 256
"""The threads of a block of a kernel with one thread for each element, without tuning."""


def as_device_array(value: Any, what: str = "the array") -> DeviceNDArray:
    """Converts an array, a list or a number to a device array."""
    if isinstance(value, arrays.DeviceNDArray):
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array: device arrays have no masks; use .filled(...)")
    if operands.is_on_device(value):
        return operands.device_view(value)
    if isinstance(value, (list, tuple)) and any(map(operands.is_on_device, value)):
        raise TypeError(f"{what} is a list of device arrays: use np.stack")
    return arrays.to_device(operands.host_array(value))


def array_to_modify(name: str, value: Any) -> DeviceNDArray:
    """Returns the array that a function modifies in place; raises TypeError if the array is not on the
    device."""
    if not operands.is_on_device(value):
        raise TypeError(
            f"numpy.{name} into {type(value).__name__} of values on the device: copy_to_host()"
        )
    return as_device_array(value)


def convert_array(array: DeviceNDArray, dtype: Any) -> DeviceNDArray:
    """Returns the array, or a copy with this dtype and aligned elements, as kernels require."""
    made = array.astype(dtype, copy=False)
    return made if operands.is_aligned(made) else made.copy()


def arrays_of(values: Iterable, what: str = "the arrays") -> list[DeviceNDArray]:
    """Converts several values to device arrays; host values are copied to the device of the first device array."""
    values = shapes.list_of_items(values, what)
    if set(map(type, values)) == {arrays.DeviceNDArray}:
        return values
    with on_device_of(*values):
        return [as_device_array(value, what) for value in values]


WEAK = int, float, complex
"""Python's numbers, which take the dtype of the arrays next to them if their kind allows it."""


def common_dtype(given: Iterable, made: Iterable[DeviceNDArray]) -> np.dtype:
    """Returns the result dtype of several operands, by NumPy's rules. `made` contains the operands as device
    arrays."""
    all_made = list(made)
    dtypes = {one.dtype for one in all_made}
    if len(dtypes) == 1 and all_made[0].dtype.kind in "biufc" and all_made[0].dtype.isnative:
        return all_made[0].dtype
    pairs = zip(given, all_made, strict=True)
    return np.result_type(*(one if type(one) in WEAK else array.dtype for one, array in pairs))


def empty(shape: Any, dtype: Any, like: Any = None, order: str = "C") -> DeviceNDArray:
    """Returns a new uninitialized array on the device of the array `like`."""
    with on_device_of(like):
        return _core.device_empty(tuple(shape), np.dtype(dtype), order)


def empty_like(array: Any, shape: Any, dtype: Any) -> DeviceNDArray:
    """Returns a new uninitialized array on the device and the stream of another array."""
    return bind_to_stream(empty(shape, dtype, array), array)


def bind_to_stream(made: DeviceNDArray, *arrays: DeviceNDArray) -> DeviceNDArray:
    """Binds a new array to the stream of the first array in `arrays` that has a stream."""
    for one in arrays:
        if one.stream:
            return made.bind(one.stream)
    return made


def with_axis_order(made: DeviceNDArray, *strides: tuple[int, ...]) -> DeviceNDArray:
    """Returns an array whose axes have the order of NumPy's "K" for operands with the given strides: the
    array itself, or a copy."""
    axes = shapes.memory_axis_order(made.shape, *strides)
    if axes == shapes.memory_axis_order(made.shape, made.strides):
        return made
    copied = empty_like(made, [made.shape[axis] for axis in axes], made.dtype)
    copied = copied.transpose(np.argsort(axes).tolist())
    copied[...] = made
    return copied


def use_device(number: Any) -> Any:
    """Returns a context manager that makes a device (a number or a Device) current; None means the current
    device."""
    return assign.on_device(
        _core.current_device() if number is None else devices.device_number(number)
    )


def reshape(array: DeviceNDArray, shape: Any) -> DeviceNDArray:
    """Returns the array in another shape: a view if possible, otherwise a copy."""
    view = array._reshaped_view(tuple(shape), "C", False)
    return array._reshaped_view(tuple(shape), "C", True) if view is None else view


def as_1d(array: DeviceNDArray) -> DeviceNDArray:
    """Returns the array with one dimension: a view if possible, otherwise a copy."""
    return array if array.ndim == 1 else reshape(array, (array.size,))
