"""Assigns numbers, host arrays and device arrays of any dtype to device arrays.

Each assignment is one kernel, one copy or one fill on the target's device:

* Equal dtypes and equal layouts: a plain copy.
* Otherwise, an element-wise kernel converts each element as NumPy's assignment does. Host arrays are copied
  to the device before they are broadcast.
* Dtypes without a C++ type (text, times in other units, ...) are converted on the host, by NumPy. Records are
  assigned field by field.

An array on another device is first copied to the target's device.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, errors
from numbalite.ndarray import above, copyplan, foreign
from numbalite.runtime import devices as _devices
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.arguments import StreamLike

_ComplexWarning = getattr(np, "exceptions", np).ComplexWarning
_CAST_WARNS = {"f": "iumM", "c": "iufmM"}
"""Kind of a number -> kinds of dtypes that NumPy may warn of when it is converted."""
_NUMBERS = frozenset((bool, int, float, complex))
_PLAIN = _NUMBERS | {list, tuple}  # types that are never device arrays of other libraries


class _NoContext:
    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass


_nothing = _NoContext()


def on_device(number: int) -> Any:
    """Returns a context manager that makes a device current for the calling thread."""
    return _nothing if number == _core.current_device() else _devices.gpus[number]


def on_device_of(*values: Any) -> Any:
    """Returns a context manager that makes the device of the first device array among the values
    current."""
    for value in values:
        if isinstance(value, _core.DeviceArray):
            return on_device(value.device)
    return _nothing


def is_number(dtype: DTypeLike) -> bool:
    """Returns whether the dtype has a C++ number type and native byte order."""
    return dtype.kind in "biufc" and dtype.isnative and dtype.itemsize <= (16, 8)[dtype.kind != "c"]


def assign(target: Any, value: Any, stream: StreamLike = 0) -> None:
    """Assigns target[...] = value, with NumPy's broadcasting and casting."""
    if target.readonly:
        raise ValueError("assignment destination is read-only")
    if type(value) in _NUMBERS and target.dtype.names is None:
        fill(target, scalar_array(value, target.dtype), stream)
    elif target.dtype.names is not None and has_gaps(target.dtype):
        _assign_by_field(target, value, stream)
    elif isinstance(value, _core.DeviceArray):
        _assign_device_array(target, value, stream)
    elif type(value) is np.ndarray:
        _assign_host_array(target, value, stream)
    else:
        _assign_value(target, value, stream)


def _assign_value(target, value, stream):
    is_plain = type(value) in _PLAIN or isinstance(value, np.generic)
    found = None if is_plain else foreign.cuda_array_or_none(value)  # mapped NumPy arrays too
    if found is not None:
        _assign_device_array(target, found, stream)
    elif isinstance(value, np.ndarray):
        _assign_host_array(target, np.asarray(value), stream)
    else:
        _assign_object(target, value, stream)


def scalar_array(value: Any, dtype: Any) -> Any:
    """Returns a 0-dimensional array of the dtype, converted as NumPy converts on assignment."""
    result = np.empty((), dtype)
    result[()] = value
    return result


def cast_value(value: Any, dtype: Any, casting: Any = "unsafe") -> Any:
    """Converts a scalar or a list by a casting rule, as numpy.copyto does. Arrays and tuples (records) are
    returned unchanged."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        result = np.empty((), dtype)
        np.copyto(result, value, casting=casting)
        if dtype.kind in _CAST_WARNS.get(np.asarray(value).dtype.kind, ""):
            _core.invalidate_trace()  # a replayed call would not issue the warning
        return result
    return np.asarray(value) if isinstance(value, (list, tuple)) and not dtype.names else value


def holds_device_arrays(value: Any, depth: int = 0) -> bool:
    """Returns whether the value is a list that contains device arrays, directly or in nested lists. Raises
    ValueError for lists that are nested too deep: a list may contain itself."""
    if not isinstance(value, (list, tuple)):
        return False
    if depth > shapes.MAX_ITEMS:
        raise ValueError(shapes.NESTED)
    found = set(map(type, value))  # a long list contains only a few types
    if any(issubclass(one, _core.DeviceArray) for one in found):
        return True
    holds_lists = any(issubclass(one, (list, tuple)) for one in found)
    return holds_lists and any(holds_device_arrays(one, depth + 1) for one in value)


def stack_device_arrays(value: Any, depth: int = 0) -> Any:
    """Converts a list that contains device arrays to one device array; np.asarray would copy its arrays to
    the host. Raises ValueError for a list that is nested too deep."""
    if depth > shapes.MAX_ITEMS:
        raise ValueError(shapes.NESTED)
    items = (
        stack_device_arrays(one, depth + 1) if isinstance(one, (list, tuple)) else one
        for one in value
    )
    return np.stack(list(items))


def _assign_object(target, value, stream):
    """Assigns a number, a tuple for a record, a nested list, or any object that NumPy converts to an array."""
    if target.dtype.names is None and holds_device_arrays(value):
        _assign_device_array(target, stack_device_arrays(value), stream)
        return
    if target.dtype.names is not None or np.ndim(value) == 0:
        try:
            fill(target, scalar_array(value, target.dtype), stream)
            return
        except (TypeError, ValueError):
            if np.ndim(value) == 0 or (isinstance(value, tuple) and target.dtype.names):
                raise
    if target.ndim == 0:
        raise ValueError("setting an array element with a sequence.")
    _assign_host_array(target, np.asarray(value, dtype=target.dtype), stream)


def with_text_length(dtype: np.dtype, source: np.dtype) -> np.dtype:
    """Returns the dtype. A text dtype without a length ("U") gets the length of the longest element of
    `source`."""
    if dtype.itemsize or dtype.kind not in "SU":
        return dtype
    return np.empty(0, source).astype(dtype).dtype


def as_raw_bytes(host: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns host records as a view of raw bytes, if only C++ declares the fields of the dtype."""
    is_opaque = dtype.kind == "V" and dtype.names is None and dtype.subdtype is None
    is_record = host.dtype.names is not None and host.dtype.itemsize == dtype.itemsize
    return host.view(dtype) if is_opaque and is_record else host


def _assign_host_array(target, host, stream):
    host = as_raw_bytes(host, target.dtype)
    if host.ndim == 0:
        fill(target, scalar_array(host, target.dtype), stream)
        return
    short = shapes.drop_leading_ones(host.shape, target.shape)
    host = host.reshape(short) if short != host.shape else host
    if 0 in target.shape:
        return
    if host.dtype == target.dtype:
        if host.shape == target.shape:
            target._write(host, stream)
            return
        split = _as_integers(host, target) if host.size * 4 < target.size else None
        if split is None:
            target._write(np.broadcast_to(host, target.shape), stream)
            return
        host, target = split
    elif not (is_number(target.dtype) and is_number(host.dtype.newbyteorder("="))):
        converted = host.astype(target.dtype)
        if converted.dtype != target.dtype:
            raise TypeError(f"cannot cast from {host.dtype} to {target.dtype}")
        _assign_host_array(target, converted, stream)
        return
    else:
        warn_of_complex(host.dtype, target.dtype)
    convert_elements(host, target, stream)


def _assign_device_array(target, source, stream):
    if source.shape == target.shape and source.dtype == target.dtype:
        if target.size:
            copy_elements(source, target, stream)
        return
    short = shapes.drop_leading_ones(source.shape, target.shape)
    if short != source.shape:
        gone = source.ndim - len(short)
        source = source._view(short, source.strides[gone:], source.dtype)
    if 0 in target.shape:
        return
    if source.device != target.device:
        source = copy_to_device_number(source, target.device, stream, target.stream)
    if source.dtype == target.dtype:
        copy_elements(broadcast_view(source, target.shape), target, stream)
    elif is_number(source.dtype) and is_number(target.dtype):
        warn_of_complex(source.dtype, target.dtype)
        convert_elements(source, target, stream)
    elif target.dtype.names and source.dtype.names:
        _assign_fields(target, source, stream)
    else:
        host = source.copy_to_host(stream=stream or target.stream)
        _assign_host_array(target, host.astype(target.dtype), stream)


def _assign_fields(target, source, stream):
    """Assigns records to records: field by field in order; names are ignored."""
    if len(target.dtype.names) != len(source.dtype.names):
        raise TypeError(f"cannot cast from {source.dtype} to {target.dtype}")
    if may_overlap(target, source):
        source = source.copy("K", stream)
    target, source = target[...], source[...]
    for to, of in zip(target.dtype.names, source.dtype.names, strict=True):
        assign(target[to], source[of], stream)


@functools.lru_cache(256)
def has_gaps(dtype: DTypeLike) -> bool:
    """Returns whether a structured dtype has bytes that belong to no field and are not alignment padding.

    Gaps may contain other fields of the array, as in `d[["x", "z"]]`.
    """
    fields = [dtype.fields[name][0] for name in dtype.names]
    if sum(field.itemsize for field in fields) == dtype.itemsize:
        return False
    padded = np.dtype(list(zip(dtype.names, fields, strict=True)), align=True)
    return padded.itemsize != dtype.itemsize or any(
        padded.fields[name][1] != dtype.fields[name][1] for name in dtype.names
    )


def _assign_by_field(target, value, stream):
    """Assigns field by field, which keeps the bytes between the fields."""
    if not hasattr(value, "__cuda_array_interface__"):
        if not (isinstance(value, (np.ndarray, np.void)) and value.dtype.names):
            try:
                value = scalar_array(value, target.dtype)
            except (TypeError, ValueError):
                if np.ndim(value) == 0 or not target.ndim:
                    raise
                value = np.asarray(value, target.dtype)
        names = value.dtype.names
        if len(names) != len(target.dtype.names):
            raise TypeError(f"cannot cast from {value.dtype} to {target.dtype}")
        target = target[...]
        for to, of in zip(target.dtype.names, names, strict=True):
            assign(target[to], value[of], stream)
        return
    source = foreign.as_cuda_array(value)
    if not source.dtype.names:
        raise TypeError(f"cannot cast from {source.dtype} to {target.dtype}")
    if source.device != target.device:
        source = copy_to_device_number(source, target.device, stream, target.stream)
    _assign_fields(target, source, stream)


def may_overlap(a: Any, b: Any) -> bool:
    """Returns whether two device arrays may share an element, from the address ranges that they span."""
    return _core.arrays_overlap(a, b, False)


def warn_of_complex(given: np.dtype, wanted: np.dtype) -> None:
    """Issues NumPy's warning if a conversion discards imaginary parts."""
    if given.kind == "c" and wanted.kind not in "cb":
        errors.warn("Casting complex values to real discards the imaginary part", _ComplexWarning)


# ------------------------------------------------------------------------------------ on the device


def fill(target: Any, value: Any, stream: StreamLike = 0) -> None:
    """Assigns target[...] = value, a 0-dimensional array of the target's dtype.

    Uses one memset call of the driver, or a kernel if the driver has no memset for the pattern. (The
    simulator fills by repeated doubling copies, which are fast there.)"""
    if (
        target.size > 1
        and is_number(target.dtype)
        and not _core.driver_has("host_code")
        and not _is_memset(target, value.tobytes())
    ):
        convert_elements(value[()], target, stream)
    else:
        target._fill(value, stream)


def _is_memset(target, element):
    """Returns whether one driver call can set the memory: contiguous, with a repeated pattern of 1, 2 or 4
    bytes."""
    if not (target.is_c_contiguous() or target.is_f_contiguous()):
        return False
    for period in (1, 2, 4):
        if element == element[:period] * (len(element) // period):
            return not target._low_bits & (period - 1)
    return False


def convert_elements(source: Any, target: Any, stream: StreamLike = 0) -> None:
    """Runs an element-wise kernel for target[...] = source; the source's shape must broadcast to the target's."""
    ufunc, stream = above.cast_ufunc(target.dtype), stream or target.stream
    if target.device == _core.current_device():
        ufunc(source, out=target, casting="unsafe", stream=stream)
    else:
        with on_device(target.device):
            ufunc(source, out=target, casting="unsafe", stream=stream)


def copy_elements(source: Any, target: Any, stream: StreamLike = 0, apart: bool = False) -> None:
    """Copies between device arrays of equal shape and dtype, on any devices. apart: the caller guarantees
    that the arrays share no memory."""
    if source.device != target.device:
        if not stream and not _have_same_order(source, target):
            source = copy_to_device_number(source._copy_if_gaps(), target.device, own=target.stream)
            copy_elements(source, target)
        else:
            # Without a stream argument, the copy is ordered with the streams of both arrays
            target._copy(source, stream)
        return
    with on_device(target.device):
        _core.copy_elements(source, target, stream or target.stream, apart)


def _have_same_order(source, target):
    """Returns whether both arrays are contiguous in the same axis order."""
    return (source.is_c_contiguous() and target.is_c_contiguous()) or (
        source.is_f_contiguous() and target.is_f_contiguous()
    )


def _as_integers(host, target):
    """Returns views of a small host array and a device array as integers with the bits of their elements,
    or None for too many axes."""
    shape, size = target.shape, target.itemsize
    low = target._address % 16
    word = copyplan.copy_dtype(shape, size, (*target.strides, low))
    if word is None:
        return None
    made = copyplan.layout_in_words(shape, target.strides, size, word)
    host = np.ascontiguousarray(host)
    return host.reshape(-1).view(word).reshape(
        copyplan.layout_in_words(host.shape, host.strides, size, word)[0]
    ), target._view(*made, word)


def broadcast_view(array: Any, shape: tuple[int, ...]) -> Any:
    """Returns a view of a device array, broadcast to a larger shape by zero strides."""
    if array.shape == shape:
        return array
    return array._view(
        shape, shapes.broadcast_strides(array.shape, array.strides, shape), array.dtype
    )


def copy_to_device_number(array: Any, number: int, stream: StreamLike = 0, own: Any = None) -> Any:
    """Returns a copy on another device with the same axis order, bound to that device's stream `own`. The
    copy is ordered with `stream`, or by default with the array's own stream and with `own`.
    """
    with on_device(number):
        result = _core.device_empty(
            array.shape,
            array.dtype,
            strides=shapes.packed_like(array.shape, array.strides, array.itemsize),
        )
    if own:
        result = result._bind(own)
    result._copy(array, stream)
    return result
