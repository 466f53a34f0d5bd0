"""numba's names around the driver: see numbalite.errors, numbalite.cuda.devices and .streams."""

from numbalite.cuda.arrays import is_cuda_array
from numbalite.cuda.devices import Context, Device, MemoryInfo
from numbalite.cuda.managers import (
    AutoFreePointer,
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    ManagedMemory,
    MappedMemory,
    MemoryPointer,
    NumbaCUDAMemoryManager,
    PinnedMemory,
    set_memory_manager,
)
from numbalite.cuda.streams import Event, Stream
from numbalite.errors import (
    CudaAPIError,
    CudaDriverError,
    CudaSupportError,
    DeadMemoryError,
    LinkerError,
)

__all__ = [
    "AutoFreePointer",
    "BaseCUDAMemoryManager",
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "CudaSupportError",
    "DeadMemoryError",
    "Device",
    "Event",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "LinkerError",
    "ManagedMemory",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NumbaCUDAMemoryManager",
    "PinnedMemory",
    "Stream",
    "device_pointer",
    "is_device_memory",
    "require_device_memory",
    "set_memory_manager",
]


def is_device_memory(obj) -> bool:
    """Is it a device array, of this package or another?"""
    return is_cuda_array(obj)


def require_device_memory(obj):
    """TypeError unless it is a device array."""
    if not is_cuda_array(obj):
        raise TypeError(f"a device array is needed, not {type(obj).__name__}")


def device_pointer(obj) -> int:
    """The device address of an array's first element."""
    require_device_memory(obj)
    return obj.__cuda_array_interface__["data"][0]
