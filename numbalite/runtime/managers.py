"""Implements numba's plug-in interface for memory managers (EMM, version 1), for RMM, CuPy's pool and others.

After `set_memory_manager(cls)`, one instance of cls per device allocates all device memory of arrays,
including the copies of host arrays for launches. The method `memalloc(nbytes)` returns a MemoryPointer, whose
finalizer is called when no array uses the memory any more. If a stream that is not ordered with the default
stream used the memory, the device is synchronized before the finalizer runs.
"""

from __future__ import annotations

import abc
import ctypes
import importlib
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numbalite import _core, config
from numbalite.errors import CudaAPIError
from numbalite.runtime.attributes import MemoryInfo
from numbalite.runtime.pointers import (
    MappedMemory,
    MemoryPointer,
    PinnedMemory,
    address_of,
)

if TYPE_CHECKING:
    from typing import Any


_NOT_REGISTERED = 713  # CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED

context_of: Any = None
"""The context of a device, by its number: set by devices.py when the driver is opened."""
_lock = threading.RLock()
_class = None  # class of the manager; None: numbalite's pool
_read = False  # was the environment variable read?
_instances: dict[Any, Any] = {}  # device number -> manager


class _OwnHostMemory(_core.HostMemory):
    """A block of numbalite's host memory with the interface of memory managers.

    The object supports the buffer protocol, for `numpy.ndarray(shape, dtype, buffer=memory)`. The attribute
    `device_pointer` is the memory's address for kernels.
    """

    def own(self):
        return self

    @property
    def __cuda_memory__(self) -> bool:
        return self.kind != "locked"

    @property
    def buffer(self):
        return self

    @property
    def host_pointer(self) -> int:
        return self.address

    @property
    def device_pointer(self) -> int:
        return self.device_address

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_void_p(self.device_address)

    def __int__(self):
        return self.device_address


# ------------------------------------------------------------------------------------- the interface


class BaseCUDAMemoryManager(abc.ABC):
    """The base class of memory managers, with one instance per device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.context = kwargs.pop("context", None)

    @abc.abstractmethod
    def memalloc(self, size: int) -> Any:
        """Allocates device memory of `size` bytes; returns a MemoryPointer."""

    @abc.abstractmethod
    def memhostalloc(self, size: int, mapped: bool, portable: bool, wc: bool) -> Any:
        """Allocates page-locked host memory; returns a MappedMemory if mapped, otherwise a PinnedMemory."""

    @abc.abstractmethod
    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool) -> Any:
        """Page-locks existing host memory, which `owner` owns."""

    @abc.abstractmethod
    def initialize(self) -> Any:
        """Called before the first use of the manager on the device; may be called several times."""

    @abc.abstractmethod
    def get_ipc_handle(self, memory: Any) -> Any:
        """Returns a handle by which other processes open the memory."""

    @abc.abstractmethod
    def get_memory_info(self) -> Any:
        """Returns MemoryInfo(free, total) of the device."""

    @abc.abstractmethod
    def reset(self) -> Any:
        """Frees all memory before the context is destroyed."""

    @abc.abstractmethod
    def defer_cleanup(self) -> Any:
        """A context manager in which deallocations that would interrupt other work are deferred."""

    @property
    @abc.abstractmethod
    def interface_version(self) -> Any:
        """The version of this interface: 1."""


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """A base class for managers of device memory only; numbalite allocates host memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allocations: dict[Any, Any] = {}
        self.deallocations: list[Any] = []

    def initialize(self) -> Any:
        pass

    def memhostalloc(
        self, size: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> Any:
        return _own_host_memory(size, mapped, wc)

    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool = False) -> Any:
        address = address_of(pointer)
        _core.host_register(address, size, 3 if mapped else 1)
        kind = MappedMemory if mapped else PinnedMemory
        return kind(self.context, address, size, owner, finalizer=lambda: unlock(address))

    def memallocmanaged(self, size: int, attach_global: bool = True) -> Any:
        return _core.host_memory(size, "managed", 1 if attach_global else 2, _OwnHostMemory)

    def reset(self) -> Any:
        self.allocations.clear()

    @contextmanager
    def defer_cleanup(self) -> Any:
        yield

    def get_ipc_handle(self, memory: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} offers no IPC handles")


class GetIpcHandleMixin:
    """Implements get_ipc_handle for memory that the driver allocated."""

    def get_ipc_handle(self, memory: Any) -> Any:
        from numbalite.runtime import ipchandles

        return ipchandles.handle_of_memory(memory)


class _PoolManager(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """Provides numbalite's own memory pool with the interface of memory managers. `Context.memory_manager` is
    an _PoolManager if no plug-in is set."""

    def memalloc(self, size):
        array = _core.own_memory(int(size))
        return MemoryPointer(self.context, array.address, size, owner=array)

    def get_memory_info(self):
        return MemoryInfo(*_core.memory_info())

    @property
    def interface_version(self):
        return 1


NumbaCUDAMemoryManager = _PoolManager


class _LibraryManager(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """The base class of managers that use the memory pool of another library.

    The managers allocate for the legacy default stream, on which arrays are freed. ``_module`` is
    imported when the manager is set; the message of an ImportError contains the package to install.
    """

    _module = ""
    _package = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        try:
            self.provider = importlib.import_module(self._module)
        except ImportError as problem:
            raise ImportError(
                f"{type(self).__name__} allocates from {self._module}, which cannot be imported "
                f"({problem}): install {self._package}"
            ) from problem

    def get_memory_info(self) -> MemoryInfo:
        return MemoryInfo(*_core.memory_info())

    @property
    def interface_version(self) -> int:
        return 1


class TorchMemoryManager(_LibraryManager):
    """Allocates device memory from PyTorch's caching allocator. `torch.cuda.memory_summary()` includes this
    memory, and `torch.cuda.empty_cache()` returns free memory to the system.

        cuda.set_memory_manager(cuda.TorchMemoryManager)
    """

    _module, _package = "torch", "torch"

    def memalloc(self, size: int) -> MemoryPointer:
        memory = self.provider.cuda.memory
        address = memory.caching_allocator_alloc(size, self.context.device.id, 0)
        return MemoryPointer(
            self.context, address, size, finalizer=lambda: memory.caching_allocator_delete(address)
        )


class CupyMemoryManager(_LibraryManager):
    """Allocates device memory from CuPy's current allocator; the default memory pool if no other allocator is
    set."""

    _module, _package = "cupy", "cupy-cuda13x"

    def memalloc(self, size: int) -> MemoryPointer:
        with self.provider.cuda.Device(self.context.device.id), self.provider.cuda.Stream.null:
            memory = self.provider.cuda.alloc(size)
        return MemoryPointer(self.context, memory.ptr, size, owner=memory)


class RmmMemoryManager(_LibraryManager):
    """Allocates device memory from RMM's current resource of the device
    (`rmm.mr.set_current_device_resource`)."""

    _module, _package = "rmm", "rmm-cu13"

    def memalloc(self, size: int) -> MemoryPointer:
        buffer = self.provider.DeviceBuffer(size=size)
        return MemoryPointer(self.context, buffer.ptr, size, owner=buffer)


_BY_NAME = {"torch": TorchMemoryManager, "cupy": CupyMemoryManager, "rmm": RmmMemoryManager}


# ------------------------------------------------------------------------------------------ choosing


def set_memory_manager(mm_plugin: type | str | None) -> None:
    """Sets the class whose instances allocate device memory from now on.

    Existing arrays keep their memory.

    Parameters
    ----------
    mm_plugin : type, str or None
        A subclass of BaseCUDAMemoryManager, or "torch", "cupy" or "rmm" for
        the pool of that library. None selects numbalite's own pool.

    Raises
    ------
    RuntimeError
        The class's interface_version is not 1.
    ImportError
        The library is not installed.
    ValueError
        ``mm_plugin`` is another string.

    Examples
    --------
    >>> cuda.set_memory_manager(None)
    """
    global _class, _read
    if isinstance(mm_plugin, str):
        if mm_plugin not in _BY_NAME:
            raise ValueError(
                f"set_memory_manager: {mm_plugin!r} is not a library; {', '.join(map(repr, _BY_NAME))} are, "
                "or pass a sub-class of BaseCUDAMemoryManager"
            )
        mm_plugin = _BY_NAME[mm_plugin]
    if mm_plugin is not None:
        version = mm_plugin(context=None).interface_version
        if version != 1:
            raise RuntimeError(f"EMM Plugin interface has version {version} - version 1 required")
    with _lock:
        _class, _read = mm_plugin, True
        _instances.clear()
        _core.set_allocator(None if mm_plugin in (None, _PoolManager) else _allocate_memory)


def set_manager(device: int, instance: Any) -> None:
    """Sets the manager object of one device; other devices get instances of its class."""
    set_memory_manager(type(instance))
    with _lock:
        instance.initialize()
        _instances[device] = instance


def read_environment() -> None:
    """Sets, once, the memory manager in the variable NUMBALITE_CUDA_MEMORY_MANAGER (or in numba's
    variable)."""
    global _read
    with _lock:
        if _read:
            return
        _read = True
        name = config.CUDA_MEMORY_MANAGER
        if name == "default":
            return
        try:
            plugin = _BY_NAME.get(name) or importlib.import_module(name)._numba_memory_manager
        except Exception as problem:
            raise RuntimeError(f"Failed to use memory manager from {name}") from problem
        set_memory_manager(plugin)


def manager(device: int) -> Any:
    """Returns the memory manager of a device."""
    with _lock:
        found = _instances.get(device)
        if found is None:
            found = (_class or _PoolManager)(context=context_of(device))
            found.initialize()
            _instances[device] = found
        return found


def is_plugged() -> bool:
    """Returns whether a memory manager plug-in is set."""
    return _class not in (None, _PoolManager)


def reset(device: int) -> None:
    """Resets the manager of a device that is about to be reset."""
    with _lock:
        found = _instances.get(device)
    if found is not None:
        found.reset()


def _allocate_memory(device, nbytes):
    memory = manager(device).memalloc(nbytes)
    return address_of(memory.device_pointer), memory


def _own_host_memory(nbytes, mapped, wc):
    kind = "write-combined" if wc else "mapped" if mapped else "locked"
    return _core.host_memory(nbytes, kind, cls=_OwnHostMemory)


def unlock(address: int) -> None:
    """Ends the page-locking of existing memory; ignores the error if a reset of the device has ended the
    page-locking."""
    try:
        _core.host_unregister(address)
    except CudaAPIError as problem:
        if problem.code != _NOT_REGISTERED:
            raise


def host_memory(nbytes: int, *, mapped: bool, portable: bool, wc: bool) -> Any:
    """Allocates page-locked host memory; returns a buffer with address and device_address."""
    if not is_plugged():
        return _own_host_memory(nbytes, mapped, wc)
    given = manager(_core.current_device()).memhostalloc(
        nbytes, mapped=mapped, portable=portable, wc=wc
    )
    if isinstance(given, _core.HostMemory):
        return given
    block = (ctypes.c_char * max(nbytes, 1)).from_address(_host_address(given))
    block._memory = given  # type: ignore[attr-defined]
    block.address = _host_address(given)  # type: ignore[attr-defined]
    block.nbytes = nbytes  # type: ignore[attr-defined]
    block.device_address = address_of(given.device_pointer)  # type: ignore[attr-defined]
    return block


def _host_address(memory):
    for name in ("host_address", "host_pointer", "_bufptr_"):
        value = getattr(memory, name, None)
        if value is not None:
            return address_of(value)
    return address_of(memory.device_pointer)
