"""Contexts, in numba's words: memory, streams, events, modules and occupancy of a device.

A device has one, its primary context. They are entered and left in the order of a stack, one for each
thread.
"""

from __future__ import annotations

from _thread import _local
from contextlib import contextmanager
from typing import NamedTuple

from numbalite import _core

_extras = {}  # device number -> the dictionary of its context
_modules = {}  # device number -> the modules that were loaded by hand
_stacks = _local()  # the devices that a thread will go back to


def push(number):
    """Makes a device the calling thread's until `pop`."""
    stack = _stacks.__dict__.setdefault("devices", [])
    stack.append(_core.selected_device())
    try:
        _core.select_device(number)
    except BaseException:
        stack.pop()
        raise


def pop():
    stack = _stacks.__dict__.get("devices")
    if not stack:
        raise RuntimeError("there is no context to go back to: more pop than push")
    before = stack.pop()
    if before is None:
        _core.unselect_device()
    else:
        _core.select_device(before)


def forget_order():
    """The calling thread will go back to none."""
    _stacks.__dict__.clear()


def forget(number):
    """The device's memory manager forgets everything, before the context goes."""
    from numbalite.cuda import managers

    managers.reset(number)


def close(number):
    """Gives up what is on a device."""
    forget(number)
    _core.close_device(number)


class MemoryInfo(NamedTuple):
    """Bytes of device memory: ``free`` and ``total``."""

    free: int
    total: int


class PendingDeallocs:
    """numba's queue of memory to be freed. Here it is what the pool keeps for reuse."""

    def __init__(self, device):
        self._device = device

    def _pool(self):
        from numbalite.cuda.memory import memory_pool

        return memory_pool(self._device)

    @property
    def is_locked(self) -> bool:
        return False

    @property
    def memory_capacity(self) -> int:
        return _core.device_total_memory(self._device)

    def clear(self):
        """Gives back to the system what is not in use."""
        self._pool().trim()

    @contextmanager
    def disable(self):
        yield

    def __len__(self):
        return 0


class Context:
    """The context of a device."""

    def __init__(self, device):
        self.device = device

    def push(self):
        """Makes this the calling thread's device until `pop`."""
        push(self.device.id)

    def pop(self):
        pop()

    def reset(self):
        """Gives up what is on the device; `cuda.close()` does it for all of them."""
        close(self.device.id)

    def synchronize(self):
        self.device.synchronize()

    def prepare_for_use(self):
        """Lets the memory manager get ready, which it does at its first use anyway."""
        with self:
            return self.memory_manager.initialize()

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of the device's memory."""
        with self:
            info = self.memory_manager.get_memory_info()
        return MemoryInfo(info[0], info[1])

    @property
    def memory_manager(self):
        """What allocates the device's memory; see `cuda.set_memory_manager`."""
        from numbalite.cuda import managers

        return managers.manager(self.device.id)

    @memory_manager.setter
    def memory_manager(self, instance):
        from numbalite.cuda import managers

        managers.set_manager(self.device.id, instance)

    def memalloc(self, bytesize):
        """Device memory without an array around it, a MemoryPointer."""
        with self:
            return self.memory_manager.memalloc(bytesize)

    def memhostalloc(self, bytesize, mapped=False, portable=False, wc=False):
        """Page-locked host memory without an array around it."""
        with self:
            return self.memory_manager.memhostalloc(bytesize, mapped, portable, wc)

    def memallocmanaged(self, bytesize, attach_global=True):
        """Managed memory without an array around it."""
        with self:
            return self.memory_manager.memallocmanaged(bytesize, attach_global)

    def mempin(self, owner, pointer, size, mapped=False):
        """Page-locks memory of others until the object that is returned dies."""
        with self:
            return self.memory_manager.mempin(owner, pointer, size, mapped)

    def get_ipc_handle(self, memory):
        """The IpcHandle of memory of this context (`array.gpu_data`, or what memalloc gave)."""
        return self.memory_manager.get_ipc_handle(memory)

    def open_ipc_handle(self, handle, size):
        """Memory of another process, a MemoryPointer: `handle` is the driver's 64 bytes."""
        from numbalite.cuda.ipc import IpcHandle

        return IpcHandle(None, handle, size).open(self)

    def can_access_peer(self, peer_device) -> bool:
        """Can this context's device reach the memory of the other one (a number or an object)?"""
        return self.device.can_access_peer(getattr(peer_device, "device", peer_device))

    def enable_peer_access(self, peer_context, flags=0):
        """Lets kernels on this device use the other one's memory: launches take its arrays from then on,
        and are waited for when they do. CudaAPIError where the hardware cannot. Ufuncs still want
        their operands on one device, and copies between devices do not need this."""
        from numbalite.cuda.devices import number_of

        if flags:
            raise ValueError("flags must be 0")
        other = getattr(peer_context, "device", peer_context)
        _core.enable_peer_access(self.device.id, number_of(other))

    @contextmanager
    def defer_cleanup(self):
        """Our own memory is freed in stream order, without waiting; a plug-in may defer that."""
        with self.memory_manager.defer_cleanup():
            yield

    def create_stream(self):
        from numbalite.cuda import streams

        with self:
            return streams.stream()

    def create_external_stream(self, ptr):
        from numbalite.cuda import streams

        with self:
            return streams.external_stream(ptr)

    def create_event(self, timing=True):
        from numbalite.cuda import streams

        with self:
            return streams.event(timing)

    def get_default_stream(self):
        from numbalite.cuda import streams

        return streams.default_stream()

    def get_legacy_default_stream(self):
        from numbalite.cuda import streams

        return streams.legacy_default_stream()

    def get_per_thread_default_stream(self):
        from numbalite.cuda import streams

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
    def deallocations(self):
        """What the memory manager has still to free; `clear()` does it."""
        return PendingDeallocs(self.device.id)

    def create_module_image(self, image):
        """Loads a cubin, fatbin or PTX (on the simulator: what it compiled); a CudaPythonModule."""
        from numbalite.cuda import rawmodules

        module = rawmodules.load(self, image)
        self.modules[module.handle] = module
        return module

    create_module_ptx = create_module_image

    def unload_module(self, module):
        """Gives up a module of create_module_image."""
        self.modules.pop(module.handle, None)
        module._module = None

    def get_active_blocks_per_multiprocessor(self, func, blocksize, memsize, flags=None) -> int:
        """How many blocks of a kernel fit on a multiprocessor, `memsize` bytes of dynamic shared
        memory each."""
        from numbalite.cuda import rawmodules

        return rawmodules.active_blocks(func, blocksize, memsize)

    def get_max_potential_block_size(self, func, b2d_func, memsize, blocksizelimit, flags=None):
        """(grid, block) for a kernel: the block size with the best occupancy.

        b2d_func(block) gives the bytes of dynamic shared memory for a block size; None: `memsize`.
        """
        from numbalite.cuda import rawmodules

        return rawmodules.best_block(func, b2d_func, memsize, blocksizelimit)

    def __enter__(self):
        self.push()
        return self

    def __exit__(self, *exception):
        self.pop()

    def __eq__(self, other):
        return self.device == other.device if isinstance(other, Context) else NotImplemented

    def __hash__(self):
        return hash((Context, self.device.id))

    def __repr__(self):
        return f"<CUDA context {self.device.id}>"
