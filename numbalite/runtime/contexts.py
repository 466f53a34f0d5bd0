"""Implements numba.cuda's Context: memory, streams, events, modules and occupancy of a device.

Each device has one context, its primary context. Each thread has a stack of contexts, the last of which is
current.
"""

from __future__ import annotations

from _thread import _local
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numbalite import _core, required
from numbalite.runtime import attributes, streams, traced
from numbalite.runtime.attributes import MemoryInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numbalite._core import Event
    from numbalite.runtime.streams import Stream

_extras: dict[Any, Any] = {}  # device number -> the dictionary of its context
_modules: dict[Any, Any] = {}  # device number -> modules loaded by create_module_image
_stacks = _local()  # per thread: the previous devices


def push(number: int) -> None:
    """Makes a device current for the calling thread until `pop`."""
    stack = _stacks.__dict__.setdefault("devices", [])
    stack.append(_core.selected_device())
    try:
        _core.select_device(number)
    except BaseException:
        stack.pop()
        raise


def pop() -> None:
    stack = _stacks.__dict__.get("devices")
    if not stack:
        raise RuntimeError("there is no previous context: more calls of pop than of push")
    before = stack.pop()
    if before is None:
        _core.unselect_device()
    else:
        _core.select_device(before)


def forget_order() -> None:
    """Clears the calling thread's stack of previous devices."""
    _stacks.__dict__.clear()


def reset_manager(number: int) -> None:
    """Resets the device's memory manager, before its context is destroyed."""
    from numbalite.runtime import managers

    managers.reset(number)


def close(number: int) -> None:
    """Closes a device: resets its memory manager, drops all traces and closes its context."""
    reset_manager(number)
    traced.drop_traces()
    _core.close_device(number)


class PendingDeallocs:
    """Provides the pool's cached memory with the interface of numba's queue of pending deallocations."""

    def __init__(self, device: int) -> None:
        self._device = device

    def _device_pool(self):
        from numbalite.runtime.memory import memory_pool

        return memory_pool(self._device)

    @property
    def is_locked(self) -> bool:
        return False

    @property
    def memory_capacity(self) -> int:
        return _core.device_total_memory(self._device)

    def clear(self) -> None:
        """Returns unused memory to the system."""
        self._device_pool().trim()

    @contextmanager
    def disable(self) -> Any:
        yield

    def __len__(self) -> int:
        return 0


class Context:
    """The context of a device."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def push(self) -> None:
        """Makes this context's device current for the calling thread until `pop`."""
        push(self.device.id)

    def pop(self) -> None:
        pop()

    def reset(self) -> None:
        """Releases the resources of the device. `cuda.close()` releases the resources of all devices."""
        close(self.device.id)

    def synchronize(self) -> None:
        self.device.synchronize()

    def prepare_for_use(self) -> Any:
        """Initializes the memory manager before its first use."""
        with self:
            return self.memory_manager.initialize()

    def get_memory_info(self) -> MemoryInfo:
        """Returns the free and total memory of the device in bytes."""
        with self:
            info = self.memory_manager.get_memory_info()
        return MemoryInfo(info[0], info[1])

    @property
    def memory_manager(self) -> Any:
        """The memory manager of the device; see `cuda.set_memory_manager`."""
        from numbalite.runtime import managers

        return managers.manager(self.device.id)

    @memory_manager.setter
    def memory_manager(self, instance: Any) -> Any:
        from numbalite.runtime import managers

        managers.set_manager(self.device.id, instance)

    def memalloc(self, bytesize: int) -> Any:
        """Allocates device memory without an array; returns a MemoryPointer."""
        with self:
            return self.memory_manager.memalloc(bytesize)

    def memhostalloc(
        self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> Any:
        """Allocates page-locked host memory without an array."""
        with self:
            return self.memory_manager.memhostalloc(bytesize, mapped, portable, wc)

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> Any:
        """Allocates managed memory without an array."""
        with self:
            return self.memory_manager.memallocmanaged(bytesize, attach_global)

    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool = False) -> Any:
        """Page-locks existing host memory for the lifetime of the returned object."""
        with self:
            return self.memory_manager.mempin(owner, pointer, size, mapped)

    def get_ipc_handle(self, memory: Any) -> Any:
        """Returns the IpcHandle of device memory: of `array.gpu_data` or of a result of memalloc."""
        return self.memory_manager.get_ipc_handle(memory)

    def open_ipc_handle(self, handle: Any, size: int) -> Any:
        """Memory of another process, a MemoryPointer: `handle` is the driver's 64 bytes."""
        from numbalite.runtime.ipchandles import IpcHandle

        return IpcHandle(None, handle, size).open(self)

    def can_access_peer(self, peer_device: Any) -> bool:
        """Returns whether this context's device can access the memory of another device (a number or an
        object)."""
        return self.device.can_access_peer(getattr(peer_device, "device", peer_device))

    def enable_peer_access(self, peer_context: Any, flags: int = 0) -> None:
        """Allows kernels on this device to access the memory of another device.

        Launches then accept arrays of the other device; a launch with such arrays waits for completion.
        Raises CudaAPIError if the hardware lacks peer access. Ufuncs still require operands on one device.
        Copies between devices do not need peer access.
        """
        if flags:
            raise ValueError("flags must be 0")
        other = getattr(peer_context, "device", peer_context)
        _core.enable_peer_access(self.device.id, attributes.device_number(other))

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """A context manager in which a memory plug-in may defer deallocations.

        numbalite's own memory is freed in stream order, without waiting.
        """
        with self.memory_manager.defer_cleanup():
            yield

    def create_stream(self) -> Stream:
        with self:
            return streams.stream()

    def create_external_stream(self, ptr: int) -> Stream:
        with self:
            return streams.external_stream(ptr)

    def create_event(self, timing: bool = True) -> Event:
        with self:
            return streams.event(timing)

    def get_default_stream(self) -> Stream:
        return streams.default_stream()

    def get_legacy_default_stream(self) -> Stream:
        return streams.legacy_default_stream()

    def get_per_thread_default_stream(self) -> Stream:
        return streams.per_thread_default_stream()

    @property
    def handle(self) -> int:
        """The driver's CUcontext."""
        return _core.context_handle(self.device.id)

    @property
    def extras(self) -> dict:
        """A dictionary for use by programs, one per device."""
        return _extras.setdefault(self.device.id, {})

    @property
    def modules(self) -> dict:
        """The modules loaded by create_module_image and create_module_ptx: handle -> module."""
        return _modules.setdefault(self.device.id, {})

    @property
    def allocations(self) -> dict:
        """The memory manager's record of its allocations."""
        return getattr(self.memory_manager, "allocations", {})

    @property
    def deallocations(self) -> PendingDeallocs:
        """The memory manager's pending deallocations; `clear()` frees them."""
        return PendingDeallocs(self.device.id)

    def create_module_image(self, image: Any) -> Any:
        """Loads a cubin, fatbin or PTX (on the simulator, an image of numbalite) as a CudaPythonModule."""
        from numbalite.runtime import rawmodules

        module = rawmodules.load_module(self, image)
        self.modules[module.handle] = module
        return module

    create_module_ptx = create_module_image

    def unload_module(self, module: Any) -> None:
        """Unloads a module that create_module_image loaded."""
        from numbalite.runtime import rawmodules

        required.require_kind(module, "unload_module", "a module", rawmodules.CudaPythonModule)
        self.modules.pop(module.handle, None)
        module._module = None

    def get_active_blocks_per_multiprocessor(
        self, func: Any, blocksize: int, memsize: int, flags: Any = None
    ) -> int:
        """Returns the number of blocks of a kernel that fit on a multiprocessor, with `memsize`
        bytes of dynamic shared memory each."""
        from numbalite.runtime import rawmodules

        return rawmodules.active_blocks(func, blocksize, memsize)

    def get_max_potential_block_size(
        self, func: Any, b2d_func: Any, memsize: int, blocksizelimit: int, flags: Any = None
    ) -> Any:
        """Returns (grid, block) for a kernel: the block size with the best occupancy.

        b2d_func(block) returns the bytes of dynamic shared memory for a block size; without b2d_func, the
        size is `memsize`.
        """
        from numbalite.runtime import rawmodules

        return rawmodules.best_block(func, b2d_func, memsize, blocksizelimit)

    def __enter__(self) -> Context:
        self.push()
        return self

    def __exit__(self, *exception: object) -> None:
        self.pop()

    def __eq__(self, other: object) -> bool:
        return self.device == other.device if isinstance(other, Context) else NotImplemented

    def __hash__(self) -> int:
        return hash((Context, self.device.id))

    def __repr__(self) -> str:
        return f"<CUDA context {self.device.id}>"
