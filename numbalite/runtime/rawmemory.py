"""Accesses bytes of device and host memory by address: the functions of numba's cudadrv.driver.

With stream=0 the operation is complete on return. With a stream, the operation runs in the stream's order,
and the host memory must not change until then.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.runtime.streams import default_stream

if TYPE_CHECKING:
    from typing import Any

    from numbalite.arguments import StreamLike


def is_cuda_array(obj: Any) -> bool:
    """Returns whether an object offers the CUDA Array Interface.

    The interface describes device memory. The call does not wait or copy.

    Parameters
    ----------
    obj : object
        The object.

    Returns
    -------
    bool
        True: the object offers the interface.

    Examples
    --------
    >>> cuda.is_cuda_array(cuda.device_array(3)), cuda.is_cuda_array(np.zeros(3))
    (True, False)
    """
    return isinstance(obj, _core.DeviceArray) or hasattr(obj, "__cuda_array_interface__")


def is_device_memory(obj: Any) -> bool:
    """Returns whether the object is device memory: an array of this package or another, or a
    MemoryPointer."""
    return bool(getattr(obj, "__cuda_memory__", False)) or is_cuda_array(obj)


def require_device_memory(obj: Any) -> None:
    """Raises TypeError unless the object is device memory."""
    if not is_device_memory(obj):
        raise TypeError(f"Not a CUDA memory object: {type(obj).__name__}")


def device_pointer(obj: Any) -> int:
    """Returns the device address of an array's first element, of a MemoryPointer, or of an
    address."""
    if obj is None:
        return 0
    if isinstance(obj, int):
        return obj
    return device_ctypes_pointer(obj).value or 0


def device_ctypes_pointer(obj: Any) -> ctypes.c_void_p:
    """Returns the device address of an array or a MemoryPointer, as a ctypes.c_void_p."""
    if obj is None:
        return ctypes.c_void_p(0)
    require_device_memory(obj)
    found = getattr(obj, "device_ctypes_pointer", None)
    if found is None:
        found = ctypes.c_void_p(_core.from_interface(obj).__cuda_array_interface__["data"][0])
    return found


def device_extents(obj: Any) -> tuple:
    """Returns (first, last + 1): the addresses of the allocation that contains the memory."""
    base, size = _core.memory_range(device_pointer(obj))
    return base, base + size


def device_memory_size(devmem: Any) -> int:
    """Returns the size in bytes of the allocation that contains an array, or of a MemoryPointer."""
    require_device_memory(devmem)
    for name in ("_cuda_memsize_", "alloc_size"):
        size = getattr(devmem, name, None)
        if size is not None:
            return size
    low, high = device_extents(devmem)
    return high - low


def _host_view(obj, readonly):
    array = obj if isinstance(obj, (np.ndarray, np.generic)) else np.asarray(memoryview(obj))
    if not readonly and isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ValueError("the host memory is read-only")
    return array


def host_pointer(obj: Any, readonly: bool = False) -> int:
    """Returns the address of a host array's first element."""
    if isinstance(obj, int):
        return obj
    return _address(_host_view(obj, readonly))


def _address(array):
    """Returns the address of a host array. The address of an ndarray is not read from __array_interface__,
    because a subclass may redefine this attribute."""
    if isinstance(array, np.ndarray):
        return array.ctypes.data
    return array.__array_interface__["data"][0]


def host_memory_extents(obj: Any) -> tuple:
    """Returns (first, last + 1): the address range that contains a host array's elements."""
    array = _host_view(obj, True)
    low = high = _address(array)
    if array.size == 0:
        return low, low
    for length, step in zip(array.shape, array.strides, strict=True):
        low += min(0, (length - 1) * step)
        high += max(0, (length - 1) * step)
    return low, high + array.itemsize


def host_memory_size(obj: Any) -> int:
    """Returns the number of bytes between a host array's first and last byte."""
    low, high = host_memory_extents(obj)
    return high - low


def _device_bytes(obj, size):
    return _core.from_pointer(device_pointer(obj), (int(size),), None, "u1", obj)


def _host_bytes(obj, size, readonly):
    address = host_pointer(obj, readonly)
    if not isinstance(obj, int) and size > host_memory_size(obj):
        raise ValueError(
            f"{size} bytes are more than the {host_memory_size(obj)} of the host memory"
        )
    block = (ctypes.c_ubyte * int(size)).from_address(address)
    block._owner = obj
    return np.ctypeslib.as_array(block)


def host_to_device(dst: Any, src: Any, size: int, stream: StreamLike = 0) -> None:
    """Copies bytes to the device."""
    if size:
        _device_bytes(dst, size)._write(_host_bytes(src, size, True), stream)


def device_to_host(dst: Any, src: Any, size: int, stream: StreamLike = 0) -> None:
    """Copies bytes to the host."""
    if size:
        _device_bytes(src, size)._read(_host_bytes(dst, size, False), stream)


def device_to_device(dst: Any, src: Any, size: int, stream: StreamLike = 0) -> None:
    """Copies bytes on the device."""
    if size:
        _device_bytes(dst, size)._copy(_device_bytes(src, size), stream)


def device_memset(dst: Any, val: int, size: int, stream: StreamLike = 0) -> None:
    """Sets bytes on the device to a value of 0 to 255 (-128 to -1 for the upper half)."""
    if not size:
        return
    _device_bytes(dst, size)._fill(np.array(val & 0xFF, np.uint8), stream)
    if not stream:  # the host reads managed and page-locked memory without regard to streams
        default_stream().synchronize()
