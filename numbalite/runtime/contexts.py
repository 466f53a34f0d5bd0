"""Contexts, in numba's words: memory, streams, events, modules and occupancy of a device.

A device has one, its primary context. They are entered and left in the order of a stack, one for each
thread.
"""

from __future__ import annotations

from _thread import _local
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numbalite import _core, required
from numbalite.runtime import attributes, recorded, streams
from numbalite.runtime.attributes import MemoryInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numbalite._core import Event
    from numbalite.runtime.streams import Stream

_extras: dict[Any, Any] = {}  # device number -> the dictionary of its context
_modules: dict[Any, Any] = {}  # device number -> the modules that were loaded by hand
_stacks = _local()  # the devices that a thread will go back to


def push(number: int) -> None:
    """Makes a device the calling thread's until `pop`."""
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
        raise RuntimeError("there is no context to go back to: more pop than push")
    before = stack.pop()
    if before is None:
        _core.unselect_device()
    else:
        _core.select_device(before)


def forget_order() -> None:
    """The calling thread will go back to none."""
    _stacks.__dict__.clear()


def forget(number: int) -> None:
    """The device's memory manager forgets everything, before the context goes."""
    from numbalite.runtime import managers

    managers.reset(number)


def close(number: int) -> None:
    """Gives up what is on a device."""
    forget(number)
    recorded.forget()
    _core.close_device(number)


class PendingDeallocs:
    """numba's queue of memory to be freed. Here it is what the pool keeps for reuse."""

    def __init__(self, device: int) -> None:
        self._device = device

    def _pool(self):
        from numbalite.runtime.memory import memory_pool

        return memory_pool(self._device)

    @property
    def is_locked(self) -> bool:
        return False

    @property
    def memory_capacity(self) -> int:
        return _core.device_total_memory(self._device)

    def clear(self) -> None:
        """Gives back to the system what is not in use."""
        self._pool().trim()

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
        """Makes this the calling thread's device until `pop`."""
        push(self.device.id)

    def pop(self) -> None:
        pop()

    def reset(self) -> None:
        """Gives up what is on the device; `cuda.close()` does it for all of them."""
        close(self.device.id)

    def synchronize(self) -> None:
        self.device.synchronize()

    def prepare_for_use(self) -> Any:
        """Lets the memory manager get ready, which it does at its first use anyway."""
        with self:
            return self.memory_manager.initialize()

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of the device's memory."""
        with self:
            info = self.memory_manager.get_memory_info()
        return MemoryInfo(info[0], info[1])

    @property
    def memory_manager(self) -> Any:
        """What allocates the device's memory; see `cuda.set_memory_manager`."""
        from numbalite.runtime import managers

        return managers.manager(self.device.id)

    @memory_manager.setter
    def memory_manager(self, instance: Any) -> Any:
        from numbalite.runtime import managers

        managers.set_manager(self.device.id, instance)

    def memalloc(self, bytesize: int) -> Any:
        """Device memory without an array around it, a MemoryPointer."""
        with self:
            return self.memory_manager.memalloc(bytesize)

    def memhostalloc(
        self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> Any:
        """Page-locked host memory without an array around it."""
        with self:
            return self.memory_manager.memhostalloc(bytesize, mapped, portable, wc)

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> Any:
        """Managed memory without an array around it."""
        with self:
            return self.memory_manager.memallocmanaged(bytesize, attach_global)

    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool = False) -> Any:
        """Page-locks memory of others until the object that is returned dies."""
        with self:
            return self.memory_manager.mempin(owner, pointer, size, mapped)

    def get_ipc_handle(self, memory: Any) -> Any:
        """The IpcHandle of memory of this context (`array.gpu_data`, or what memalloc gave)."""
        return self.memory_manager.get_ipc_handle(memory)

    def open_ipc_handle(self, handle: Any, size: int) -> Any:
        """Memory of another process, a MemoryPointer: `handle` is the driver's 64 bytes."""
        from numbalite.runtime.ipchandles import IpcHandle

        return IpcHandle(None, handle, size).open(self)

    def can_access_peer(self, peer_device: Any) -> bool:
        """Can this context's device reach the memory of the other one (a number or an object)?"""
        return self.device.can_access_peer(getattr(peer_device, "device", peer_device))

    def enable_peer_access(self, peer_context: Any, flags: int = 0) -> None:
        """Lets kernels on this device use the other one's memory: launches take its arrays from then on,
        and are waited for when they do. CudaAPIError where the hardware cannot. Ufuncs still want
        their operands on one device, and copies between devices do not need this."""
        if flags:
            raise ValueError("flags must be 0")
        other = getattr(peer_context, "device", peer_context)
        _core.enable_peer_access(self.device.id, attributes.number_of(other))

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Our own memory is freed in stream order, without waiting; a plug-in may defer that."""
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
        """A dictionary for anybody's use, one per device."""
        return _extras.setdefault(self.device.id, {})

    @property
    def modules(self) -> dict:
        """The modules loaded by create_module_image and create_module_ptx: handle -> module."""
        return _modules.setdefault(self.device.id, {})

    @property
    def allocations(self) -> dict:
        """What the memory manager notes of its allocations."""
        return getattr(self.memory_manager, "allocations", {})

    @property
    def deallocations(self) -> PendingDeallocs:
        """What the memory manager has still to free; `clear()` does it."""
        return PendingDeallocs(self.device.id)

    def create_module_image(self, image: Any) -> Any:
        """Loads a cubin, fatbin or PTX (on the simulator: what it compiled); a CudaPythonModule."""
        from numbalite.runtime import rawmodules

        module = rawmodules.load(self, image)
        self.modules[module.handle] = module
        return module

    create_module_ptx = create_module_image

    def unload_module(self, module: Any) -> None:
        """Gives up a module of create_module_image."""
        from numbalite.runtime import rawmodules

        required.require_kind(module, "unload_module", "a module", rawmodules.CudaPythonModule)
        self.modules.pop(module.handle, None)
        module._module = None

    def get_active_blocks_per_multiprocessor(
        self, func: Any, blocksize: int, memsize: int, flags: Any = None
    ) -> int:
        """How many blocks of a kernel fit on a multiprocessor, `memsize` bytes of dynamic shared
        memory each."""
        from numbalite.runtime import rawmodules

        return rawmodules.active_blocks(func, blocksize, memsize)

    def get_max_potential_block_size(
        self, func: Any, b2d_func: Any, memsize: int, blocksizelimit: int, flags: Any = None
    ) -> Any:
        """(grid, block) for a kernel: the block size with the best occupancy.

        b2d_func(block) gives the bytes of dynamic shared memory for a block size; None: `memsize`.
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
