"""Implements `==` and `!=` with operands that are not numbers, for example None, strings and dates."""

from __future__ import annotations

import importlib
import numbers
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray import assign

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def compare_with_no_number(array: DeviceNDArray, other: Any, is_unequal: bool) -> Any:
    """Returns the result of == or != with an operand that is not a number. The other operand's method is
    called first. If that method returns NotImplemented, no element equals None or a string, as in NumPy.
    Returns None if the elements must be compared."""
    if array.dtype.names is not None or getattr(getattr(other, "dtype", None), "names", None):
        return importlib.import_module("numbalite.ndarray.recordequality").compare_records(
            array, other, is_unequal
        )
    inverts = is_unequal and type(other).__ne__ is object.__ne__
    method = "__ne__" if is_unequal and not inverts else "__eq__"
    is_dtype = isinstance(other, np.dtype)  # its == compares with the dtype attribute of an array
    answer = is_unequal if is_dtype else array._call_method_of(other, method)
    inverts = inverts and not is_dtype
    shape, result = array.shape, is_unequal
    if answer is not NotImplemented:
        if not isinstance(answer, (bool, np.bool_)):
            if not inverts:
                return answer
            is_array = isinstance(answer, (np.ndarray, _core.DeviceArray))
            return np.logical_not(answer) if is_array else not answer
        result = bool(answer) != inverts
    elif array.dtype.kind not in "biufcSU" or (
        isinstance(other, numbers.Number) and not isinstance(other, np.timedelta64)
    ):
        return None
    else:
        value = other if isinstance(other, _core.DeviceArray) else np.asarray(other)
        if value.dtype.type is np.void:
            raise TypeError("Cannot compare structured or void to non-void arrays.")
        if value.ndim if value.dtype == object else _has_loop_of_equal(array.dtype, value.dtype):
            return None
        if value.dtype == object:
            zero = np.zeros((), array.dtype).item()
            if getattr(type(other), method)(other, zero) is not NotImplemented:
                return None
        shape = np.broadcast_shapes(shape, value.shape)
    with assign.on_device(array.device):
        made = _core.device_empty(shape, np.dtype(bool))
    made.fill(result)
    return made


def _has_loop_of_equal(first, second):
    """Returns whether numpy.equal accepts the two dtypes.

    If not, == of such arrays is False for every element, for example of numbers and dates."""
    if first.kind in "SU" or second.kind in "SU":
        return first.kind in "SU" and second.kind in "SU"
    if second.kind not in "mMT":
        return True
    try:
        np.equal.resolve_dtypes((first, second, None))
    except TypeError:
        return False
    return True
