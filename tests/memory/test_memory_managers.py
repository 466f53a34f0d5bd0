"""numba's plug-in interface for memory managers: all device memory comes from the plug-in."""

import ctypes
import gc
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from numbalite import _core, cuda


@cuda.jit("void(float32[:])")
def double(x):
    "int i = grid<1>(); if (i < x.size()) x[i] *= 2;"


class CountingMemoryManager(cuda.HostOnlyCUDAMemoryManager):
    """A plug-in that allocates managed memory of the library itself, and counts its calls."""

    made = []  # noqa: RUF012 - counted over all instances
    pointer = int

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.live = {}
        self.log = []
        CountingMemoryManager.made.append(self)

    def initialize(self):
        self.log.append("initialize")

    def memalloc(self, size):
        memory = _core.host_memory(size, "managed")
        address = memory.address
        self.live[address] = size

        def clear_memory():
            del self.live[address]
            nonlocal memory
            memory = None

        return cuda.MemoryPointer(
            self.context, type(self).pointer(address), size, finalizer=clear_memory
        )

    def get_memory_info(self):
        return cuda.MemoryInfo(free=32, total=64)

    def reset(self):
        self.log.append("reset")

    @contextmanager
    def defer_cleanup(self):
        self.log.append("defer")
        yield
        self.log.append("undefer")

    @property
    def interface_version(self):
        return 1


@pytest.fixture(params=[int, ctypes.c_void_p, ctypes.c_uint64])
def plugged_manager(request):
    CountingMemoryManager.made.clear()
    CountingMemoryManager.pointer = request.param
    cuda.set_memory_manager(CountingMemoryManager)
    yield
    cuda.set_memory_manager(None)
    gc.collect()


def active_manager():
    return next(one for one in CountingMemoryManager.made if one.context is not None)


def test_plugged_manager_allocates_every_array(plugged_manager):
    array = cuda.device_array(100, np.float32)
    mine = active_manager()
    assert mine.live == {array.address: 400} and mine.log == ["initialize"]
    assert mine is cuda.current_context().memory_manager
    array.copy_to_device(np.ones(100, "f4"))
    part = array[10:]
    del array
    assert len(mine.live) == 1
    double[1, 100](part)
    assert (part.copy_to_host() == 2).all()
    del part
    assert not mine.live
    other = cuda.to_device(np.arange(12.0).reshape(3, 4).T)
    assert len(mine.live) == 1
    assert other.copy().copy_to_host()[1, 2] == 9
    del other
    assert not mine.live and cuda.device_array(0).size == 0


def test_plugged_manager_allocates_copies_of_host_arguments(plugged_manager):
    seen = []
    cuda.device_array(1, "f4")
    mine = active_manager()
    original = mine.memalloc
    mine.memalloc = lambda size: seen.append(size) or original(size)
    x = np.ones(50, "f4")
    double[1, 64](cuda.InOut(x))
    assert (x == 2).all() and seen == [200] and not mine.live


@pytest.mark.parametrize("non_blocking", [False, True])
def test_plugged_manager_frees_arrays_of_streams(plugged_manager, non_blocking):
    stream = cuda.stream(non_blocking=non_blocking)
    array = cuda.to_device(np.ones(50, "f4"), stream=stream)
    double[1, 64, stream](array)
    assert (array.copy_to_host(stream=stream) == 2).all()
    del array
    assert not active_manager().live


def test_plugged_manager_interface_methods_are_called(plugged_manager):
    context = cuda.current_context()
    assert context.get_memory_info() == (32, 64) and context.get_memory_info().total == 64
    with cuda.defer_cleanup(), context.defer_cleanup():
        pass
    assert active_manager().log == ["initialize", "defer", "defer", "undefer", "undefer"]
    memory = context.memalloc(64)
    assert memory.size == 64 and memory.device_pointer_value in active_manager().live
    memory.free()
    assert not active_manager().live
    pinned, mapped = cuda.pinned_array(10), cuda.mapped_array(10)
    pinned[:] = mapped[:] = 1
    assert cuda.is_cuda_array(mapped) and pinned.sum() == 10
    held = np.zeros(1000)
    locked = context.mempin(held, held.ctypes.data, held.nbytes, mapped=True)
    assert locked.device_pointer_value == held.ctypes.data
    locked.free()
    with pytest.raises(NotImplementedError):
        active_manager().get_ipc_handle(None)
    assert context.memhostalloc(100).nbytes == 100
    assert context.memallocmanaged(100).nbytes == 100


def test_failing_memory_manager_raises(plugged_manager):
    cuda.device_array(1)
    active_manager().memalloc = lambda size: 1 / 0
    with pytest.raises(ZeroDivisionError):
        cuda.device_array(10)
    active_manager().memalloc = lambda size: None
    with pytest.raises(AttributeError):
        cuda.to_device(np.ones(10))


def test_manager_of_another_version_raises():
    class OldVersionManager(CountingMemoryManager):
        interface_version = 2

    with pytest.raises(
        RuntimeError, match="EMM Plugin interface has version 2 - version 1 required"
    ):
        cuda.set_memory_manager(OldVersionManager)
    assert cuda.memory_pool().device == 0
    with pytest.raises(TypeError):
        cuda.BaseCUDAMemoryManager()


def test_context_memalloc_works_without_a_plugin():
    context = cuda.current_context()
    memory = context.memalloc(1000)
    array = cuda.as_cuda_array(_OverMemory(memory))
    array.fill(3)
    assert (array.copy_to_host() == 3).all()
    assert context.get_memory_info().total > 1000
    from numbalite.cuda.cudadrv import driver

    for name in ("MemoryPointer", "MappedMemory", "PinnedMemory", "AutoFreePointer",
                 "HostOnlyCUDAMemoryManager", "GetIpcHandleMixin", "NumbaCUDAMemoryManager"):  # fmt: skip
        assert getattr(driver, name).__name__


class _OverMemory:
    def __init__(self, memory):
        self.memory = memory
        self.__cuda_array_interface__ = {
            "shape": (memory.size,),
            "typestr": "|u1",
            "data": (memory.device_pointer_value, False),
            "version": 3,
        }


def test_memory_manager_is_chosen_by_the_environment(run_python, tmp_path):
    (tmp_path / "plugin.py").write_text(
        "from numbalite import cuda, _core\n"
        "class Manager(cuda.HostOnlyCUDAMemoryManager):\n"
        "    interface_version = 1\n"
        "    def memalloc(self, size):\n"
        "        memory = _core.host_memory(size, 'managed')\n"
        "        print('memalloc', size)\n"
        "        return cuda.MemoryPointer(self.context, memory.address, size, owner=memory)\n"
        "    def get_memory_info(self): return cuda.MemoryInfo(1, 2)\n"
        "_numba_memory_manager = Manager\n"
    )
    code = "import sys; sys.path.insert(0, sys.argv[1]); from numbalite import cuda; cuda.device_array(10)"
    for name in ("NUMBA_CUDA_MEMORY_MANAGER", "NUMBALITE_CUDA_MEMORY_MANAGER"):
        assert run_python(code, tmp_path, **{name: "plugin"}).stdout == "memalloc 80\n"
    done = run_python(code, tmp_path, check=False, NUMBA_CUDA_MEMORY_MANAGER="no_such_module")
    assert done.returncode and "Failed to use memory manager from no_such_module" in done.stderr
    assert sys.executable
