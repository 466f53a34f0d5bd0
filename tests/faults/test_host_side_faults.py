"""The n-th driver call and the n-th allocation fail in host functions: IPC handles, pickles,
records, converting assignments, callbacks, raw memory, memory managers, and transfers between two
devices."""

import pathlib
import pickle
import threading

import numpy as np
import pytest
from kit.arrays import ForeignArray

from numbalite import _core, cuda

OUT_OF_MEMORY = 2
LAUNCH_FAILED = 719

pytestmark = pytest.mark.sim

GRID = np.arange(12, dtype="f4").reshape(3, 4)
RECORDS = np.zeros(5, np.dtype([("x", "f8"), ("n", "i2"), ("p", "f4", (2,))], align=True))


@cuda.jit("void(float32[:])")
def increment(x):
    "int i = grid<1>(); if (i < x.size()) x[i] += 1;"


class MemoryManagerPlugin(cuda.HostOnlyCUDAMemoryManager):
    interface_version = 1

    def memalloc(self, size):
        return cuda.cudadrv.driver.NumbaCUDAMemoryManager(context=self.context).memalloc(size)

    def get_memory_info(self):
        return cuda.MemoryInfo(1, 1)


def export_ipc_array():
    array = cuda.ipc_array((3, 4), np.float32)
    array[...] = GRID
    pickle.dumps(array.get_ipc_handle()._ipc_handle)


def export_array_of_memory_pool():
    array = cuda.to_device(GRID)
    handle = array.get_ipc_handle()
    assert array.copy_to_host().tolist() == GRID.tolist()
    return handle


def pickle_arrays():
    array = cuda.to_device(GRID)
    buffers = []
    text = pickle.dumps(array[:, 1:], protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=buffers)


def assign_items():
    array = cuda.to_device(GRID)
    array[1] = [1, 2, 3, 4]
    array[:, ::2] = np.arange(2, dtype="i8")
    array[...] = cuda.to_device(np.arange(4.0))
    array[0, 0] = 2.5
    array.fill(3)
    array[...] = np.arange(4).astype("M8[s]").astype("i8")
    return float(array[1, 2])


def convert_arrays():
    array = cuda.to_device(GRID)
    return (
        array.astype("f8"),
        array.T.copy(),
        array[:, ::2].astype("i2", order="F"),
        array.copy("K"),
    )


def reshape_arrays():
    array = cuda.to_device(GRID)
    return (
        array.T.ravel(),
        array.reshape(2, 6)[:, ::3].flatten(),
        array.view("i4").squeeze(),
        array.item(3),
    )


def assign_records():
    array = cuda.to_device(RECORDS)
    record = array[2]
    record["x"] = 2.5
    array[1] = record
    array["n"] = np.arange(5)
    array[3:] = np.array([(1, 2, (3, 4))], RECORDS.dtype)
    return record.copy_to_host(), array["p"].copy_to_host(), cuda.to_device(RECORDS[0])["n"]


def assign_text():
    array = cuda.to_device(np.array(["one", "three"]))
    array[0] = "two"
    return array.copy_to_host(), array[1]


def add_stream_callback():
    stream, called = cuda.stream(), threading.Event()
    array = cuda.to_device(GRID.ravel(), stream=stream)
    increment[1, 32, stream](array)
    stream.add_callback(lambda *_: called.set())
    stream.synchronize()
    assert called.wait(10)


def measure_elapsed_time():
    stream = cuda.stream(non_blocking=True, priority=-1)
    start, end = cuda.event(), cuda.event()
    with stream.auto_synchronize():
        start.record(stream)
        end.record(stream)
    assert (
        cuda.event_elapsed_time(start, end) >= 0 and stream.query() and stream.priority is not None
    )


def use_foreign_streams():
    stream = cuda.stream()
    array = cuda.as_cuda_array(ForeignArray(cuda.to_device(GRID, stream=stream)))
    assert array.copy_to_host().tolist() == GRID.tolist()
    other = cuda.external_stream(stream.handle)
    increment[1, 32, other](array.ravel())
    other.synchronize()


def allocate_in_graph():
    stream = cuda.stream()
    source, into = cuda.to_device(GRID.ravel()), np.zeros(12, "f4")
    with stream.capture() as graph:
        inside = cuda.device_array_like(source, stream=stream)
        inside.copy_to_device(source, stream=stream)
        increment[1, 32, stream](inside)
        inside.copy_to_host(into, stream=stream)
    graph.launch(stream)
    stream.synchronize()
    assert into.tolist() == (GRID.ravel() + 1).tolist()


def use_raw_memory():
    context, driver = cuda.current_context(), cuda.cudadrv.driver
    memory, host = context.memalloc(64), np.zeros(64, "u1")
    memory.memset(1)
    memory.view(8).memset(7, 4)
    driver.host_to_device(memory, host, 32)
    driver.device_to_device(memory, context.memalloc(64), 64)
    driver.device_to_host(host, memory, 64)
    context.memhostalloc(64, mapped=True)
    context.memhostalloc(64, mapped=True, wc=True)
    context.memallocmanaged(64)
    context.mempin(host, driver.host_pointer(host), 64)
    return context.get_memory_info()


def use_managed_and_mapped_arrays():
    stream = cuda.stream()
    managed, mapped = cuda.managed_array(12, "f4", stream=stream), cuda.mapped_array(12, "f4")
    managed[:], mapped[:] = 1, 2
    increment[1, 32](managed)
    managed.prefetch(0, stream)
    managed.prefetch("cpu")
    managed.advise("preferred_location", 0)
    managed.copy_to_device(cuda.to_device(GRID.ravel()))
    assert mapped.gpu_data.size == 48
    return cuda.to_device(mapped).copy_to_host()


def use_memory_manager():
    cuda.set_memory_manager(MemoryManagerPlugin)
    try:
        array = cuda.to_device(GRID)
        return array.copy_to_host(), array.astype("f8"), cuda.current_context().get_memory_info()
    finally:
        array = None
        cuda.set_memory_manager(None)


def query_device_attributes():
    device = cuda.get_current_device()
    return (
        device.uuid,
        device.name,
        device.MULTIPROCESSOR_COUNT,
        device.pci_bus_id,
        device.total_memory,
    )


OPERATIONS = [
    export_ipc_array, export_array_of_memory_pool, pickle_arrays, assign_items, convert_arrays, reshape_arrays, assign_records, assign_text,
    add_stream_callback, measure_elapsed_time, use_foreign_streams, allocate_in_graph, use_raw_memory, use_managed_and_mapped_arrays,
    use_memory_manager, query_device_attributes,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _disarm_failures():
    yield
    _core.fail_call_at(0)
    _core.fail_alloc_at(0)
    cuda.set_memory_manager(None)


@pytest.mark.parametrize("status", [OUT_OF_MEMORY, LAUNCH_FAILED], ids=["memory", "launch"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_host_operations_survive_failing_driver_calls(operation, status, fail_each_step):
    fail_each_step(operation, lambda n: _core.fail_call_at(n, status))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_host_operations_survive_failing_allocations(operation, fail_each_step):
    fail_each_step(operation, _core.fail_alloc_at)


BETWEEN_DEVICES = """
import gc, pickle, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from kit.walk import fail_steps_until_success
from numbalite import _core, cuda

GRID = np.arange(12, dtype="f4").reshape(3, 4)

@cuda.jit("void(float32[:], float32[:])")
def plus_one(x, y):
    "int i = grid<1>(); if (i < x.size()) y[i] = x[i] + 1;"

cuda.current_context(1).enable_peer_access(cuda.current_context(0))
gc.collect()
gc.freeze()

def copy_to_other_device():
    return cuda.to_device(cuda.to_device(GRID), device=1)

def assign_strided_views():
    there = cuda.to_device(np.zeros((3, 8), "f4"), device=1)
    there[:, ::2] = cuda.to_device(GRID)
    cuda.to_device(GRID).T.copy_to_device(there[:, ::2].T)

def convert_between_devices():
    there = cuda.to_device(np.zeros((3, 4)), device=1)
    there[...] = cuda.to_device(GRID)
    return there

def copy_on_stream():
    with cuda.gpus[1]:
        stream = cuda.stream(non_blocking=True)
    there = cuda.to_device(cuda.to_device(GRID), stream=stream, device=1)
    stream.synchronize()
    return there

def use_both_devices():
    here = cuda.to_device(GRID.ravel())
    with cuda.gpus[1]:
        there = cuda.device_array(12, np.float32)
        plus_one[1, 32](here, there)
    assert there.copy_to_host().tolist() == (GRID.ravel() + 1).tolist()

def allocate_on_second_device():
    with cuda.gpus[1]:
        array = cuda.to_device(GRID)
        assert array.device == 1
    assert cuda.get_current_device().id == 0
    return pickle.loads(pickle.dumps(array))

for operation in (copy_to_other_device, assign_strided_views, convert_between_devices, copy_on_stream, use_both_devices, allocate_on_second_device):
    try:
        for status in (2, 719):
            assert fail_steps_until_success(operation, lambda n: _core.fail_call_at(n, status))
        fail_steps_until_success(operation, _core.fail_alloc_at)
    except BaseException:
        print(operation.__name__, file=sys.stderr)
        raise
"""


def test_copies_between_devices_survive_failing_driver_calls(run_python):
    run_python(BETWEEN_DEVICES, pathlib.Path(__file__).parents[1], NUMBALITE_SIM_DEVICES="2")
