"""Implements `==` and `!=` of arrays of records: two records are equal if all their fields are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray import assign

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def compare_records(array: DeviceNDArray, other: Any, is_unequal: bool) -> Any:
    """Returns `array == other` or `array != other`, if an operand has records. Raises TypeError for dtypes
    that NumPy cannot compare."""
    if not isinstance(other, _core.DeviceArray):
        other = np.asarray(other)
    _ = np.empty(0, array.dtype) == np.empty(0, other.dtype)
    shape = np.broadcast_shapes(array.shape, other.shape)
    with assign.on_device_of(array):
        if not isinstance(other, _core.DeviceArray):
            other = _copy_to_device(other)
        equal = _equal_fields(
            assign.broadcast_view(array, shape), assign.broadcast_view(other, shape), len(shape)
        )
        return np.logical_not(equal) if is_unequal else equal


def _copy_to_device(host):
    made = _core.device_empty(host.shape, host.dtype)
    made._write(host, 0)
    return made


def _equal_fields(x, y, ndim):
    found: Any = None
    for name, other in zip(x.dtype.names, y.dtype.names, strict=True):
        same = x[name] == y[other]
        if same.ndim > ndim:  # a field that is an array
            same = np.all(same, axis=tuple(range(ndim, same.ndim)))
        found = same if found is None else np.logical_and(found, same)
    if found is None:
        found = _core.device_empty(x.shape, np.dtype(bool))
        found.fill(True)
    return found
