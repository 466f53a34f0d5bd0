"""Contains numba's names for device arrays: see numbalite.ndarray.arrays, records and hostarrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import required
from numbalite.ndarray.arrays import DeviceNDArray, to_device
from numbalite.ndarray.foreign import as_cuda_array
from numbalite.ndarray.hostarrays import ManagedNDArray, MappedNDArray
from numbalite.ndarray.records import DeviceRecord, from_array_like, from_record_like
from numbalite.runtime.ipc import IpcArrayHandle
from numbalite.runtime.rawmemory import is_cuda_array

if TYPE_CHECKING:
    from typing import Any

    from numbalite.arguments import StreamLike

__all__ = [
    "DeviceNDArray",
    "DeviceNDArrayBase",
    "DeviceRecord",
    "IpcArrayHandle",
    "ManagedNDArray",
    "MappedNDArray",
    "array_core",
    "auto_device",
    "check_array_compatibility",
    "from_array_like",
    "from_record_like",
    "is_contiguous",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
    "verify_cuda_ndarray_interface",
]


class _DeviceArrayMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, _KINDS)

    def __subclasscheck__(cls, other):
        return issubclass(other, _KINDS)


class DeviceNDArrayBase(metaclass=_DeviceArrayMeta):
    """For isinstance(): device arrays, and NumPy arrays whose memory kernels access directly."""


_KINDS = (DeviceNDArray, MappedNDArray, ManagedNDArray)

errmsg_contiguous_buffer = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
    "Please ensure contiguous buffer with numpy .ascontiguousarray()"
)


def is_cuda_ndarray(obj: Any) -> bool:
    """Returns whether the object is a device array of this package, or declares itself as a device array."""
    return not isinstance(obj, type) and getattr(obj, "__cuda_ndarray__", False) is True


def require_cuda_ndarray(obj: Any) -> Any:
    """Raises ValueError unless the object is a device array of this package."""
    if not is_cuda_ndarray(obj):
        kind = "another package's device array" if is_cuda_array(obj) else type(obj).__name__
        raise ValueError(f"require a device array object, got {kind}")


def verify_cuda_ndarray_interface(obj: Any) -> Any:
    """Raises AttributeError unless the object has the attributes of a device array, each with its type."""
    require_cuda_ndarray(obj)
    for name, kind in (("shape", tuple), ("strides", tuple), ("dtype", np.dtype), ("size", int)):
        if not hasattr(obj, name):
            raise AttributeError(name)
        if not isinstance(getattr(obj, name), kind):
            raise AttributeError(f"{name} must be of type {kind}")


def is_contiguous(ary: Any) -> bool:
    """Returns whether the layout is C order, apart from broadcast axes."""
    return bool(array_core(ary).flags["C_CONTIGUOUS"])


def array_core(ary: Any) -> Any:
    """Returns the array without repeated elements (a stride of zero): the elements that must be
    copied."""
    required.require_array(ary, "array_core")
    if not ary.strides or not ary.size:
        return ary
    return ary[tuple(0 if step == 0 else slice(None) for step in ary.strides)]


def check_array_compatibility(ary1: Any, ary2: Any) -> Any:
    """Raises TypeError or ValueError for arrays that cannot be copied to each other."""
    required.require_array(ary1, "check_array_compatibility")
    required.require_array(ary2, "check_array_compatibility")
    first, second = ary1.squeeze(), ary2.squeeze()
    if ary1.dtype != ary2.dtype:
        raise TypeError(f"incompatible dtype: {ary1.dtype} vs. {ary2.dtype}")
    if first.shape != second.shape:
        raise ValueError(f"incompatible shape: {ary1.shape} vs. {ary2.shape}")


def auto_device(
    obj: Any, stream: StreamLike = 0, copy: bool = True, user_explicit: bool = False
) -> Any:
    """Returns (a device array for the argument, whether it was created by this call)"""
    if is_cuda_array(obj):
        return as_cuda_array(obj), False
    return to_device(obj, stream, copy), True
