"""What numba's Context offers beyond memory, streams and events: modules, occupancy, bookkeeping."""

from __future__ import annotations

from contextlib import contextmanager

from numbalite import _core

_extras = {}  # device number -> the dictionary of its context
_modules = {}  # device number -> the modules that were loaded by hand


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


class ContextParts:
    """Mixed into Context; `device` is its Device."""

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
