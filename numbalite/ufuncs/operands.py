"""Converts the array and axis arguments of ufuncs and reductions, and allocates their results.

Arrays may be host arrays, device arrays and device arrays of other libraries.
"""

from __future__ import annotations

import numpy as np

from numbalite import _core
from numbalite.ndarray import arrays, assign, foreign
from numbalite.ndarray.exchange import from_dlpack
from numbalite.runtime import shapes


def is_on_device(value) -> bool:
    """Returns whether the value is an array in device memory, of numbalite or of another library."""
    if isinstance(value, _core.DeviceArray) or hasattr(value, "__cuda_array_interface__"):
        return True
    if isinstance(value, (np.ndarray, np.generic)) or not hasattr(value, "__dlpack_device__"):
        return False
    return int(value.__dlpack_device__()[0]) in (2, 13)  # kDLCUDA, kDLCUDAManaged


def device_view(value):
    """Returns a device array that shares the memory of a value for which `is_on_device` is true."""
    if isinstance(value, _core.DeviceArray):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return foreign.as_cuda_array(value)
    return from_dlpack(value)


def host_array(value):
    """Converts a host value to a NumPy array of native byte order."""
    is_numpys = any(hasattr(value, name) for name in ("__array__", "__array_interface__"))
    if not is_numpys and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def dtype_of_value(value):
    """Returns the dtype of an operand; int, float or complex for a Python number."""
    if type(value) in (int, float, complex):
        return type(value)
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else np.asarray(value).dtype


def check_dtype(dtype, name):
    """Raises TypeError for dtypes that kernels do not support. `name` is the called function's name, for
    the message."""
    if dtype.kind not in "biufc" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise unsupported_dtype_error(dtype, name)


def unsupported_dtype_error(dtype, name) -> TypeError:
    """Returns the TypeError for an unsupported dtype, with a remedy in its message."""
    if dtype.names:
        way = "compute with the fields, as d['name'], or "
    elif dtype.kind in "mM":
        way = "compute with d.view('i8'), the numbers of times, or "
    elif dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name):
        way = f"convert to others, as d.astype({'complex' if dtype.kind == 'c' else 'np.float32'}), or "
    else:
        way = ""
    return TypeError(
        f"{name}: there are no numbers of dtype {dtype} on the device: {way}d.copy_to_host() for NumPy"
    )


def to_device(value, stream):
    """Returns a device array from a host array (copied) or from an array on the device (shared)."""
    if is_on_device(value):
        return device_view(value)
    return arrays.to_device(value, stream)


def axes_of(axis, ndim) -> tuple:
    """Returns an `axis` argument as a sorted tuple of axis numbers. None means all axes.

    Raises AxisError for an axis out of range, ValueError for duplicates.
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    numbers = []
    for one in given:
        number = shapes.axis_index(one)
        if ndim == 0 and not isinstance(axis, tuple) and number in (0, -1):
            return ()
        numbers.append(shapes.axis_number(number, ndim))
    if len(set(numbers)) < len(numbers):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(numbers))


def drop_axes(shape, axes) -> tuple:
    """Returns a shape, or strides, without these axes."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def broadcast_view(array, shape):
    """Returns a view of a device array that is broadcast to a shape, with strides of zero."""
    if array.shape == shape:
        return array
    return array._view_with_layout(
        shape, shapes.broadcast_strides(array.shape, array.strides, shape)
    )


def contiguous_array(array, stream=0):
    """Returns the device array, or a copy in C order if it is not C-contiguous."""
    return array if array.is_c_contiguous() else array.copy(stream=stream)


def is_aligned(array) -> bool:
    """Returns whether all elements are aligned for their dtype, as kernels require."""
    return not array._low_bits & (array.dtype.alignment - 1)


def from_first_element(array):
    """Returns a contiguous array that begins at the array's first element, for kernels that receive strides
    separately."""
    return array if array.is_c_contiguous() else array._view((), (), array.dtype)


def empty_array(shape, dtype):
    """Returns a new uninitialized device array in C order."""
    return _core.device_empty(tuple(shape), np.dtype(dtype), "C")


def empty_along(shape, dtype, *strides):
    """Returns a new device array whose axis order in memory follows these strides of other arrays; without
    strides, C order."""
    packed = shapes.packed_as(shape, dtype.itemsize, *strides)
    return _core.device_empty(shape, dtype, strides=packed)


def copy_elements(source, target, stream):
    """Copies between device arrays of equal shape; converts the elements if the dtypes differ."""
    if source.dtype != target.dtype:
        assign.convert_elements(source, target, stream)
    else:
        assign.copy_elements(source, target, stream)
