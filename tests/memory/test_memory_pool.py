"""The pool of device memory: when blocks are reused, when they must not be, and how much memory it
keeps."""

import random
import re
import time

import numpy as np
import pytest

from numbalite import _core, cuda, errors

SIZE = 1 << 16


@cuda.jit("void(float32[:], float32)")
def fill(x, value):
    "int i = grid<1>(); if (i < x.size()) x[i] = value;"


@pytest.fixture
def empty_pool():
    """Returns the pool of device 0, emptied and with a limit of 256 MiB."""
    pool = cuda.memory_pool()
    before = pool.cache_limit
    pool.cache_limit = 256 << 20
    pool.trim()
    yield pool
    pool.limit = None
    pool.cache_limit = before
    pool.trim()


def driver_calls(function):
    """Returns the driver calls that the function makes."""
    _core.trace(True)
    try:
        function()
    finally:
        _core.trace(False)
    # With several devices, an allocation also queries the current device.
    return [call for call in _core.traced() if call != "cuCtxGetCurrent"]


def make_array(count=SIZE):
    return cuda.device_array(count, np.float32)


@pytest.mark.sim
def test_simulator_pool_caches_no_memory():
    """On the simulator every use of freed memory is detected, which requires that memory is really
    freed."""
    pool = cuda.memory_pool()
    assert pool.cache_limit == 0
    make_array()
    assert pool.cached == 0


def test_repeated_allocation_makes_no_driver_call(empty_pool):
    def allocate_repeatedly(count):
        for _ in range(10):
            make_array(count)

    make_array()
    assert driver_calls(lambda: allocate_repeatedly(SIZE)) == []
    assert driver_calls(lambda: allocate_repeatedly(SIZE - 3)) == []  # of the same class


def test_default_stream_memory_is_reused_without_waiting(empty_pool):
    def fill_arrays():
        for _ in range(10):
            fill[64, 1024](make_array(), 1)

    fill_arrays()
    assert set(driver_calls(fill_arrays)) == {"cuLaunchKernel"}


def test_pool_reports_used_cached_and_peak_bytes(empty_pool):
    empty_pool.reset_peak()
    used = empty_pool.used
    array = make_array()
    assert empty_pool.used - used == array.nbytes == 4 * SIZE
    assert empty_pool.peak == empty_pool.used
    view = array[5:]
    del array
    assert empty_pool.used - used == 4 * SIZE  # the view keeps it
    del view
    assert (
        empty_pool.used == used
        and empty_pool.cached == 4 * SIZE
        and empty_pool.held == used + 4 * SIZE
    )
    assert empty_pool.peak == used + 4 * SIZE
    empty_pool.reset_peak()
    assert empty_pool.peak == used
    make_array()
    assert empty_pool.cached == 4 * SIZE
    empty_pool.trim()
    assert empty_pool.cached == 0
    assert re.fullmatch(
        r"<memory pool of device 0: .+ used, 0 bytes cached, peak .+, limit none>", repr(empty_pool)
    )


def test_pool_rounding_wastes_little_memory(empty_pool):
    rng = random.Random(1)
    for _ in range(200):
        size = int(2 ** rng.uniform(0, 24))
        before = empty_pool.used
        array = cuda.device_array(size, np.uint8)
        taken = empty_pool.used - before
        assert size <= taken <= max(size * 1.125, size + 512)
        assert cuda.to_device(np.zeros(1)).copy_to_host()[0] == 0
        del array


def test_pool_limit_raises_out_of_memory(empty_pool):
    empty_pool.limit = empty_pool.used + (1 << 20)
    first = cuda.device_array(1 << 19, np.uint8)
    with pytest.raises(errors.CudaAPIError) as caught:
        cuda.device_array(1 << 20, np.uint8)
    text = str(caught.value)
    assert "1048576 bytes on device 0" in text
    assert f"memory_pool().limit is {empty_pool.limit}" in text
    assert f"arrays of this process use {empty_pool.used}" in text and "held for reuse" in text
    assert caught.value.code == 2
    del first
    cuda.device_array(1 << 20, np.uint8)
    empty_pool.limit = None
    assert empty_pool.limit is None
    cuda.device_array(1 << 24, np.uint8)
    for wrong in (-1, -5):
        with pytest.raises(ValueError, match="negative"):
            empty_pool.limit = wrong
    with pytest.raises(TypeError):
        empty_pool.cache_limit = None


def test_cached_memory_is_limited(empty_pool):
    empty_pool.cache_limit = 10 << 20
    for size in range(1, 200):
        cuda.device_array(size << 14, np.uint8)
        assert empty_pool.cached <= 10 << 20
    assert empty_pool.cached > 5 << 20
    cuda.device_array(11 << 20, np.uint8)  # too large to be kept
    assert empty_pool.cached <= 10 << 20
    empty_pool.cache_limit = 1 << 20
    assert empty_pool.cached <= 1 << 20
    empty_pool.cache_limit = 0
    assert empty_pool.cached == 0


def test_the_oldest_block_is_released_first(empty_pool):
    empty_pool.cache_limit = 4 * (4 * SIZE)
    arrays = [make_array(), make_array(2 * SIZE)]
    del arrays[0]
    del arrays[0]
    make_array()  # reuses this block, so that the larger block is now the oldest
    arrays = [make_array(SIZE // 2 * 3)]
    del arrays[0]
    assert driver_calls(make_array) == []


def test_out_of_memory_trims_the_pool(empty_pool):
    """A failed allocation is repeated after the pool was emptied."""
    make_array()
    assert empty_pool.cached
    make_large = lambda: cuda.device_array(3 * SIZE, np.float32)
    _core.trace(True)
    make_large()
    _core.trace(False)
    empty_pool.trim()
    make_array()
    asked = [call == "cuCtxGetCurrent" for call in _core.traced()]
    _core.fail_call_at(asked.index(False) + 1, 2)
    try:
        array = make_large()
    finally:
        _core.fail_call_at(0)
    assert empty_pool.cached == 0
    array.fill(1)
    del array


@pytest.mark.sim
def test_out_of_memory_error_reports_usage(empty_pool):
    total = cuda.current_context().get_memory_info().total
    make_array()
    with pytest.raises(errors.CudaAPIError, match="are free; arrays of this process use"):
        cuda.device_array(total + 1, np.uint8)
    assert empty_pool.cached == 0
    assert (cuda.to_device(np.ones(3)).copy_to_host() == 1).all()


# ---- checks when the block may be used again


def keep_stream_busy(stream, seconds=0.2):
    """Keeps a stream busy."""
    started = time.monotonic()
    stream.add_callback(lambda *unused: time.sleep(seconds))
    return started


@pytest.mark.parametrize("non_blocking", [False, True], ids=["ordered", "apart"])
def test_memory_in_use_by_a_stream_is_not_handed_out(empty_pool, non_blocking):
    """Drops an array while work of its stream is waiting, then creates and fills other arrays."""
    stream = cuda.stream(non_blocking=non_blocking)
    one = make_array()
    fill[64, 1024, stream](one, 1)
    stream.synchronize()
    result = cuda.pinned_array(SIZE, np.float32)
    keep_stream_busy(stream)
    fill[64, 1024, stream](one, 7)
    one.copy_to_host(result, stream=stream)
    del one
    others = [make_array() for _ in range(5)]
    other_stream = cuda.stream(non_blocking=True)
    for other in others:
        fill[64, 1024, other_stream](other, 9)
    other_stream.synchronize()
    stream.synchronize()
    assert (result == 7).all()
    assert all((other.copy_to_host() == 9).all() for other in others)


def test_other_streams_wait_before_reusing_default_stream_memory(empty_pool):
    """Memory is reused immediately, but a stream that is not ordered with the default one waits."""
    first, apart = cuda.stream(), cuda.stream(non_blocking=True)
    out = cuda.pinned_array(SIZE, np.float32)
    make_array()
    keep_stream_busy(first)
    one = make_array()
    fill[64, 1024](one, 3)  # runs after `first`, because it is on the default stream
    del one
    two = make_array()  # the same memory
    fill[64, 1024, apart](two, 5)
    two.copy_to_host(out, stream=apart)
    apart.synchronize()
    cuda.synchronize()
    assert (out == 5).all() and (two.copy_to_host() == 5).all()


@pytest.mark.parametrize("seed", range(6))
def test_random_stream_operations_keep_values(empty_pool, seed):
    """Arrays are created, filled, copied and dropped on streams of every kind; no array contains values of
    another array."""
    rng = random.Random(seed)
    streams = [
        0,
        cuda.stream(),
        cuda.stream(),
        cuda.stream(non_blocking=True),
        cuda.stream(non_blocking=True),
        cuda.per_thread_default_stream(),
    ]
    pending = []
    for number in range(150):
        stream = rng.choice(streams)
        size = rng.choice([1000, 1000, 5000, 20000])
        array = make_array(size)
        fill[20, 1024, stream](array, number)
        if rng.random() < 0.3:
            second = make_array(size)
            second.copy_to_device(array, stream=stream)
            array = second
        out = cuda.pinned_array(size, np.float32)
        array.copy_to_host(out, stream=stream)
        pending.append((number, out))
        if rng.random() < 0.1:
            del array
            cuda.synchronize()
            for expected, got in pending:
                assert (got == expected).all()
            pending.clear()
    cuda.synchronize()
    for expected, got in pending:
        assert (got == expected).all()


def test_memory_of_several_streams_is_reused(empty_pool):
    """Memory that several streams used is reused without a wait for the device."""
    for stream in (cuda.stream(), cuda.stream(non_blocking=True)):
        empty_pool.trim()
        for _ in range(600):
            fill[64, 1024, stream](make_array(), 1)
        assert empty_pool.cached <= 130 << 20
        assert empty_pool.cached < 300 * 4 * SIZE


def test_exported_addresses_delay_memory_reuse(empty_pool):
    """If the address was exported, any stream may use the memory, so it is reused only when the
    device is idle."""
    cuda.synchronize()
    empty_pool.trim()
    array = make_array()
    array.__cuda_array_interface__
    address = array.address
    del array
    other = make_array()
    assert other.address != address
    del other
    cuda.synchronize()
    assert address in (make_array().address, *(a.address for a in [make_array(), make_array()]))


def test_close_empties_the_pool(run_python):
    run_python("""
import gc
import numpy as np
from numbalite import cuda
SIZE = 1 << 16
pool = cuda.memory_pool()
pool.cache_limit = 256 << 20
array = cuda.device_array(SIZE, np.float32)
cuda.device_array(2 * SIZE, np.float32)
assert pool.cached
cuda.close()
assert pool.cached == pool.used == 0
del array
assert pool.used == 0
fresh = cuda.device_array(SIZE, np.float32)
fresh.fill(2)
assert (fresh.copy_to_host() == 2).all() and pool.used == 4 * SIZE
del fresh
cuda.device_array(SIZE, np.float32)
assert pool.cached == 4 * SIZE
gc.collect()
""")


@pytest.mark.sim
@pytest.mark.usefixtures("disabled_checks")
def test_trim_reports_writes_outside_of_arrays(empty_pool):
    """With the pool enabled, writes out of bounds are still detected, but only when the memory is
    freed."""

    @cuda.jit("void(float32*, int32)")
    def write_at(x, i):
        "x[i] = 1;"

    x = cuda.device_array(1024, np.float32)
    write_at[1, 1](x, -3)
    with pytest.raises(errors.KernelError, match="before the beginning"):
        cuda.synchronize()
        del x
        empty_pool.trim()
        cuda.synchronize()


def test_memory_pool_accepts_a_device():
    assert cuda.memory_pool(0) == cuda.memory_pool() == cuda.memory_pool(cuda.gpus[0])
    assert hash(cuda.memory_pool(0)) == hash(cuda.memory_pool())
    with pytest.raises(IndexError):
        cuda.memory_pool(99)


@pytest.mark.sim
def test_each_device_has_its_own_pool(run_python):
    run_python(
        """
import numpy as np
from numbalite import cuda
for pool in map(cuda.memory_pool, (0, 1)):
    pool.cache_limit = 1 << 26
with cuda.gpus[1]:
    a = cuda.device_array(1000)
    assert a.device == 1
assert cuda.memory_pool(1).used == 8192 and cuda.memory_pool(0).used == 0
del a
assert cuda.memory_pool(1).cached == 8192 and cuda.memory_pool(0).cached == 0
b = cuda.device_array(1000)
assert b.device == 0 and cuda.memory_pool(1).cached == 8192
cuda.memory_pool(1).trim()
assert cuda.memory_pool(1).cached == 0 and cuda.memory_pool(0).used == 8192
""",
        NUMBALITE_SIM_DEVICES="2",
        NUMBALITE_DRIVER="sim",
    )


@pytest.mark.leaks
def test_freed_arrays_return_to_the_pool(empty_pool):
    for _ in range(2000):
        make_array(random.randrange(1, 5000))


def test_process_exits_cleanly_with_live_arrays(run_python):
    """A process with live arrays, pooled memory and queued work ends without output."""
    done = run_python(
        """
import numpy as np
from numbalite import cuda
cuda.memory_pool().cache_limit = 1 << 26
kept = [cuda.device_array(1000) for _ in range(10)]
stream = cuda.stream(non_blocking=True)
other = cuda.to_device(np.ones(100000), stream=stream)
result = other.copy_to_host()
pinned, mapped = cuda.pinned_array(1000), cuda.mapped_array(1000)
del kept[3:]
"""
    )
    assert done.stderr.count("numbalite:") == 0


# ---- without the driver's pools


@pytest.mark.sim
def test_pool_works_without_driver_pools(run_python):
    """On a device without memory pools, the pool caches memory from cuMemAlloc in the same way."""
    run_python(
        """
import numpy as np
from numbalite import _core, cuda
_core.pretend_no_memory_pools()
pool = cuda.memory_pool()
pool.cache_limit = 1 << 26
_core.trace(True)
a = cuda.device_array(1000)
a.fill(3)
assert (a.copy_to_host() == 3).all()
del a
b = cuda.device_array(1000)
del b
pool.trim()
_core.trace(False)
names = _core.traced()
assert names.count("cuMemAlloc") == names.count("cuMemFree") == 1, names
assert "cuMemAllocAsync" not in names
apart = cuda.stream(non_blocking=True)
c = cuda.to_device(np.arange(10.0), stream=apart)
assert c.copy_to_host(stream=apart)[9] == 9
"""
    )


def test_failed_allocations_do_not_count_as_peak():
    pool = cuda.memory_pool()
    pool.reset_peak()
    before = pool.peak
    with pytest.raises(errors.CudaAPIError):
        cuda.device_array(1 << 50, np.uint8)
    assert pool.peak == before == pool.used
    array = cuda.device_array(1 << 20, np.uint8)
    assert pool.peak >= before + (1 << 20)
    del array


# ---- returning memory to the system


def release_threshold():
    """Returns the bytes that the driver's pool keeps reserved, from the calls that set it."""
    return driver_calls(
        lambda: setattr(cuda.memory_pool(), "cache_limit", cuda.memory_pool().cache_limit)
    )


def test_driver_pool_has_the_cache_limit(empty_pool):
    assert release_threshold() == ["cuMemPoolSetAttribute"]


@pytest.mark.gpu
def test_freed_memory_returns_to_the_system(run_python):
    """The test tries several times, because other processes use the device, too."""
    run_python("""
import numpy as np
from numbalite import cuda
info, pool, GIB = cuda.current_context().get_memory_info, cuda.memory_pool(), 1 << 30
assert pool.cache_limit <= info().total // 4
pool.cache_limit = GIB // 2
for attempt in range(10):
    arrays = [cuda.device_array(GIB // 2, np.uint8) for _ in range(6)]
    for array in arrays: array.fill(1)
    cuda.synchronize()
    before = info().free
    del array, arrays
    cuda.synchronize()
    assert pool.cached <= GIB // 2
    if info().free - before >= 2 * GIB: break
else: raise AssertionError
""")


def test_a_small_array_is_freed_without_a_wait(empty_pool):
    empty_pool.cache_limit = 0
    make_array()
    assert not [
        call for call in driver_calls(make_array) if "Synchronize" in call or "Trim" in call
    ]


@pytest.mark.parametrize("name", ("torch", "cupy", "rmm"))
@pytest.mark.gpu
def test_memory_pools_of_other_libraries_are_usable(run_python, name):
    pytest.importorskip(name)
    run_python(
        """
import sys
import numpy as np
from numbalite import cuda
name = sys.argv[1]
cuda.set_memory_manager(name)
library = __import__(name)
used = {
    "torch": lambda: library.cuda.memory_allocated(),
    "cupy": lambda: library.get_default_memory_pool().used_bytes(),
    "rmm": lambda: library.statistics.get_statistics().current_bytes,
}[name]
if name == "rmm":
    import rmm.statistics
    rmm.statistics.enable_statistics()
before = used()
d = cuda.to_device(np.arange(1 << 20, dtype="f4"))
assert used() - before >= 4 << 20
e = (d + d).sum()
assert float(e) == 2 * np.arange(1 << 20, dtype="f8").sum()
del d, e
cuda.synchronize()
rest = used()  # small arrays of reductions are kept
assert rest - before < 1 << 16, (rest, before)
cuda.set_memory_manager(None)
assert cuda.to_device(np.ones(3)).copy_to_host().sum() == 3
assert used() == rest
""",
        name,
    )


def test_an_unknown_or_missing_library_raises(monkeypatch):
    import sys

    with pytest.raises(ValueError, match="'torch', 'cupy', 'rmm'"):
        cuda.set_memory_manager("tensorflow")
    monkeypatch.setitem(sys.modules, "rmm", None)
    with pytest.raises(ImportError, match="install rmm-cu13"):
        cuda.set_memory_manager("rmm")
    assert cuda.to_device(np.ones(3)).copy_to_host().sum() == 3


def test_addresses_of_closed_arrays_raise(run_python):
    run_python("""
import numpy as np
from numbalite import cuda
d = cuda.to_device(np.ones(4))
cuda.close()
for ask in (lambda: d.__cuda_array_interface__, lambda: d.address, lambda: d[1:].__cuda_array_interface__,
            lambda: d.device_ctypes_pointer, lambda: d.__dlpack__()):
    try: ask()
    except RuntimeError as problem: assert "was reset" in str(problem)
    else: raise AssertionError
""")
