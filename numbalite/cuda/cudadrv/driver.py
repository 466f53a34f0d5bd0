"""Contains numba's names for the driver: see numbalite.errors, numbalite.runtime.devices and .streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite import _core
from numbalite.errors import (
    CudaAPIError,
    CudaDriverError,
    CudaSupportError,
    DeadMemoryError,
    LinkerError,
)
from numbalite.runtime import devices as _devices
from numbalite.runtime.attributes import MemoryInfo
from numbalite.runtime.contexts import PendingDeallocs as _PendingDeallocs  # noqa: F401
from numbalite.runtime.devices import Context, Device, profile_start, profile_stop, profiling
from numbalite.runtime.ipc import IpcHandle
from numbalite.runtime.managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    NumbaCUDAMemoryManager,
    set_memory_manager,
)
from numbalite.runtime.pointers import (
    AutoFreePointer,
    ManagedMemory,
    MappedMemory,
    MemoryPointer,
    PinnedMemory,
)
from numbalite.runtime.rawmemory import (
    device_ctypes_pointer,
    device_extents,
    device_memory_size,
    device_memset,
    device_pointer,
    device_to_device,
    device_to_host,
    host_memory_extents,
    host_memory_size,
    host_pointer,
    host_to_device,
    is_device_memory,
    require_device_memory,
)
from numbalite.runtime.rawmodules import CudaPythonFunction, CudaPythonModule, FuncAttr
from numbalite.runtime.streams import Event, Stream, event_elapsed_time

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AutoFreePointer",
    "BaseCUDAMemoryManager",
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "CudaPythonFunction",
    "CudaPythonModule",
    "CudaSupportError",
    "DeadMemoryError",
    "Device",
    "Driver",
    "Event",
    "FuncAttr",
    "Function",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcHandle",
    "LinkerError",
    "ManagedMemory",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NumbaCUDAMemoryManager",
    "PinnedMemory",
    "Stream",
    "device_ctypes_pointer",
    "device_extents",
    "device_memory_size",
    "device_memset",
    "device_pointer",
    "device_to_device",
    "device_to_host",
    "driver",
    "event_elapsed_time",
    "get_version",
    "host_memory_extents",
    "host_memory_size",
    "host_pointer",
    "host_to_device",
    "is_device_memory",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_device_memory",
    "set_memory_manager",
]

Function = CudaPythonFunction


class Driver:
    """A replacement of numba's `driver` object, without the driver's functions."""

    @property
    def is_available(self) -> bool:
        return _devices.cuda_error() is None or _devices.is_simulated()

    @property
    def is_initialized(self) -> bool:
        return _core.is_open()

    @property
    def initialization_error(self) -> Any:
        return None if self.is_available else _devices.cuda_error()

    def ensure_initialized(self) -> Any:
        _core.open()

    def get_version(self) -> tuple:
        """Returns (major, minor) of the CUDA version that the driver supports."""
        _core.open()
        number = _core.driver_version()
        return number // 1000, number % 1000 // 10

    def get_device_count(self) -> int:
        return _core.device_count()

    def get_device(self, devnum: int = 0) -> Any:
        return _devices._device(_devices.gpus[devnum].id)

    def get_active_context(self) -> Any:
        return _devices.current_context()

    def get_context(self) -> Any:
        return _devices.current_context().handle

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cu"):
            raise AttributeError(
                f"driver.{name}: numbalite has no raw driver calls; use the package cuda.bindings"
            )
        raise AttributeError(name)


driver = Driver()


def get_version() -> tuple:
    """Returns (major, minor) of the CUDA version that the driver supports."""
    return driver.get_version()
