"""Host memory that the device can access, results in reused memory, and large copies."""

import gc
import pickle
import random
import threading
import time
import weakref

import numpy as np
import pytest
from kit.gates import gate_in

from numbalite import _core, cuda, errors

LEAST = 256 << 10  # minimum bytes for results in pooled memory and for copies by several threads
MIB = 1 << 20


@cuda.jit("void(float32[:], float32)")
def add(x, value):
    "int i = grid<1>(); if (i < x.size()) x[i] += value;"


@cuda.jit("void(float32[:,:])")
def add_grid(x):
    "x(threadIdx.x, threadIdx.y) += 10 * threadIdx.x + threadIdx.y;"


@pytest.fixture(scope="module", autouse=True)
def _load_kernels():
    """Loads the kernels once, so that they do not count as a test's leak."""
    add[1, 1](cuda.to_device(np.zeros(1, np.float32)), 0)
    add_grid[1, 1](cuda.to_device(np.zeros((1, 1), np.float32)))


@pytest.fixture
def host_pool():
    """Returns the empty pool of host memory."""
    pool = cuda.host_memory_pool()
    limit = pool.limit
    gc.collect()
    pool.trim()
    yield pool
    pool.limit = limit
    pool.trim()


@pytest.fixture(params=[False, True], ids=["driver's way", "by threads"])
def copy_code_path(request):
    """Runs a test twice: with the simulator's code path for copies, and with the GPU's."""
    _core.copy_settings(always=request.param, least=1 << 18)
    yield request.param
    _core.copy_settings(always=False, least=1 << 20)


@pytest.fixture
def copy_by_threads():
    settings = _core.copy_settings()
    _core.copy_settings(always=True, least=1 << 18)
    yield
    _core.copy_settings(**settings)


def random_bytes(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


# ---- pinned arrays


def test_pinned_array_is_page_locked():
    array = cuda.pinned_array((3, 4), np.float32)
    assert type(array) is np.ndarray and array.flags.c_contiguous and array.flags.writeable
    assert array.shape == (3, 4) and array.dtype == np.float32
    assert array.base.kind == "locked" and array.base.is_locked
    columns = cuda.pinned_array((3, 4), "i8", order="F")
    assert columns.flags.f_contiguous and not columns.flags.c_contiguous
    assert cuda.pinned_array(5).dtype == np.float64
    assert cuda.pinned_array((2, 3), "f4", strides=(24, 8)).strides == (24, 8)
    assert cuda.pinned_array(0).size == cuda.pinned_array((3, 0, 2)).size == 0
    assert cuda.pinned_array(()).shape == ()
    record = cuda.pinned_array(3, np.dtype([("a", "i4"), ("b", "f8")]))
    record["b"] = 5
    assert record["b"].sum() == 15


def test_pinned_array_like_keeps_the_layout():
    for source in (
        np.zeros((3, 4)),
        np.zeros((3, 4), order="F"),
        np.zeros((4, 5, 6)).transpose(2, 0, 1),
    ):
        array = cuda.pinned_array_like(source)
        assert array.shape == source.shape and array.dtype == source.dtype
        assert array.strides == source.strides


@pytest.mark.parametrize(
    "arguments, error",
    [
        (((2, -1),), ValueError),
        ((2.5,), TypeError),
        (((2, 2.0),), TypeError),
        ((3, "O"), TypeError),
        ((3, "f4", None, "K"), ValueError),
        ((3, "f4", (-4,)), ValueError),
        ((3, "no such type"), TypeError),
    ],
)
@pytest.mark.parametrize("make", [cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_host_arrays_reject_invalid_shapes(make, arguments, error):
    with pytest.raises(error):
        make(*arguments)


@pytest.mark.leaks
def test_copies_of_pinned_arrays_are_asynchronous(count_live):
    """Memory that a copy reads is kept until the copy is complete."""
    stream = cuda.stream()
    host = cuda.pinned_array(1000, np.float32)
    host[:] = 3
    device = cuda.device_array(1000, np.float32)
    back = cuda.pinned_array(1000, np.float32)
    gate, passed = gate_in(stream)
    device.copy_to_device(host, stream=stream)
    device.copy_to_host(back, stream=stream)
    assert not passed.is_set()
    gone = weakref.ref(host.base)
    del host
    stuff = [cuda.pinned_array(1000, np.float32) for _ in range(5)]
    for other in stuff:
        other[:] = 9
    assert gone() is not None
    gate.set()
    stream.synchronize()
    assert (back == 3).all()
    del other, stuff, back, device
    for _ in range(100):
        cuda.to_device(np.zeros(3))  # drops what is done with
        if gone() is None:
            break
        time.sleep(0.01)
    assert gone() is None


def test_pinned_memory_is_used_again(host_pool):
    addresses = set()
    for _ in range(10):
        array = cuda.pinned_array(50_000)
        addresses.add(array.ctypes.data)
        del array
    assert len(addresses) == 1


# ---- mapped arrays


def test_mapped_array_is_accessed_by_kernels():
    array = cuda.mapped_array((3, 4), np.float32)
    assert isinstance(array, np.ndarray) and isinstance(array, cuda.MappedNDArray)
    array[:] = 1
    add_grid[1, (3, 4)](array)
    cuda.synchronize()
    expected = 1 + 10 * np.arange(3)[:, None] + np.arange(4)
    assert (array == expected).all()
    assert cuda.is_cuda_array(array)
    device = cuda.as_cuda_array(array)
    assert (device.copy_to_host() == expected).all()
    assert (array.copy_to_host() == expected).all()
    array.copy_to_device(np.zeros((3, 4), "f4"))
    assert (device.copy_to_host() == 0).all()


def test_views_of_mapped_arrays_are_device_arrays():
    """Views of the array can be used on the device, too; arithmetic returns ordinary NumPy
    arrays."""
    array = cuda.mapped_array((5, 8), np.float32)
    array[:] = 0
    part = array[1:4, ::2]
    assert isinstance(part, cuda.MappedNDArray)
    add_grid[1, (3, 4)](part)
    cuda.synchronize()
    expected = np.zeros((5, 8))
    expected[1:4, ::2] = 10 * np.arange(3)[:, None] + np.arange(4)
    assert (np.asarray(array) == expected).all()
    for made in (array + 1, np.sqrt(array), array.sum(axis=0), -array):
        assert type(made) is np.ndarray
        assert not cuda.is_cuda_array(made)
    assert np.isscalar(array.sum())
    assert not cuda.is_cuda_array(array.copy())  # memory of its own
    assert not cuda.is_cuda_array(array[[0, 2]])
    read_only = array[0]
    read_only.flags.writeable = False
    assert cuda.as_cuda_array(read_only).readonly


def test_pickled_host_arrays_keep_their_type():
    for make in (cuda.mapped_array, cuda.managed_array):
        array = make(4, np.float32)
        array[:] = 2
        other = pickle.loads(pickle.dumps(array))
        assert type(other) is np.ndarray and (other == 2).all()


def test_write_combined_memory_is_copied():
    array = cuda.mapped_array(100, np.float32, wc=True)
    array[:] = 2
    assert array.base.kind == "write-combined"
    device = cuda.to_device(np.zeros(100, "f4"))
    device.copy_to_device(array)
    assert (device.copy_to_host() == 2).all()
    assert cuda.mapped_array(100, portable=True).base.kind == "mapped"


def test_mapped_array_like_keeps_the_layout():
    source = np.zeros((3, 4), "i2", order="F")
    array = cuda.mapped_array_like(source)
    assert array.strides == source.strides and array.dtype == source.dtype
    assert cuda.mapped_array_like(source, wc=True, portable=True).base.kind == "write-combined"


@pytest.mark.leaks
def test_dropped_mapped_array_lives_until_its_kernel_ends():
    stream = cuda.stream()
    array = cuda.mapped_array(1000, np.float32)
    array[:] = 0
    stream.add_callback(lambda *unused: time.sleep(0.1))
    add[1, 1000, stream](array, 1)
    del array
    others = [cuda.mapped_array(1000, np.float32) for _ in range(3)]
    for other in others:
        other[:] = 5
    stream.synchronize()
    assert all((other == 5).all() for other in others)


# ---- managed arrays


def test_managed_array_prefetches_and_is_accessed_by_kernels():
    array = cuda.managed_array(1000, np.float32)
    assert isinstance(array, np.ndarray) and isinstance(array, cuda.ManagedNDArray)
    array[:] = 1
    array.prefetch()
    add[8, 128](array, 2)
    cuda.synchronize()
    array.prefetch("cpu")
    cuda.synchronize()
    assert (array == 3).all()
    array.prefetch(0, stream=cuda.stream())
    array.prefetch(cuda.gpus[0])
    cuda.synchronize()
    for advice in ("read_mostly", "unset_read_mostly"):
        array.advise(advice)
    array.advise("preferred_location", "cpu")
    array.advise("accessed_by", 0)
    array[100:200].prefetch("cpu")
    array[:0].prefetch()
    with pytest.raises(ValueError, match="advice must be one of read_mostly"):
        array.advise("nonsense")
    with pytest.raises(ValueError, match="device must be a device"):
        array.prefetch("moon")
    with pytest.raises(errors.CudaAPIError):
        array.prefetch(99)
    assert cuda.managed_array(10, attach_global=False).base.kind == "managed"


def test_host_memory_is_valid_after_a_reset(run_python):
    """After close(), numbalite's own pages stay allocated but are unlocked; the context stays if
    NumPy reads memory of the driver."""
    run_python("""
import numpy as np
from numbalite import cuda
pinned = cuda.pinned_array(1000, np.float32)
result = cuda.to_device(np.ones(1 << 16)).copy_to_host()
again = cuda.to_device(np.ones(1 << 16)).copy_to_host()
pinned[:] = 4
managed = cuda.managed_array(10)
managed[:] = 2
memory = managed.base
cuda.close()
assert pinned.base.is_locked and (managed == 2).all() and memoryview(memory).nbytes == 80
del managed, memory
cuda.close()
assert (pinned == 4).all() and (result == 1).all() and (again == 1).all()
assert not pinned.base.is_locked
d = cuda.to_device(pinned)
assert (d.copy_to_host() == 4).all()
del pinned, result, again
assert cuda.pinned_array(1000, np.float32).base.is_locked
""")


# ---- for the time of a block


def test_pinned_context_manager_locks_arrays():
    one, two = np.ones(5000, "f4"), np.zeros(100, "f4")
    stream = cuda.stream()
    with cuda.pinned(one, two, np.zeros(0), np.zeros(3, "V0")):
        device = cuda.to_device(one, stream=stream)
        add[5, 1024, stream](device, 1)
        device[:100].copy_to_host(two, stream=stream)
    assert (two == 2).all()
    with cuda.pinned():
        pass
    with pytest.raises(TypeError, match="a NumPy array is needed, not list"):
        with cuda.pinned([1, 2]):
            pass
    with pytest.raises(ValueError, match="must not have gaps"):
        with cuda.pinned(one[::2]):
            pass
    with pytest.raises(KeyError), cuda.pinned(one):
        raise KeyError
    with cuda.pinned(one):  # the memory was unlocked in spite of the error
        pass


@pytest.mark.leaks
def test_mapped_context_manager_yields_device_arrays():
    one, two = np.ones(5000, "f4"), np.zeros((40, 50), "f4", order="F")
    with cuda.mapped(one) as device:
        assert isinstance(device, cuda.DeviceNDArray) and device.shape == (5000,)
        add[5, 1024](device, 1)
    assert (one == 2).all()
    with cuda.mapped(one[::-1], two) as (first, second):
        assert first.strides == (-4,) and second.is_f_contiguous()
        add[1, 10](first, 5)
        add_grid[1, (2, 3)](second)
    assert one[-10:].tolist() == [7] * 10 and one[-11] == 2 and two[1, 2] == 12
    one.flags.writeable = False
    with cuda.mapped(one) as device:
        assert device.readonly


# ---- results


def test_large_results_use_pooled_memory(host_pool):
    device = cuda.to_device(np.arange(100_000.0))
    locked, used = host_pool.locked, host_pool.used
    seen = []
    for turn in range(5):
        result = device.copy_to_host()
        assert type(result) is np.ndarray and result.flags.writeable and result.flags.c_contiguous
        assert isinstance(result.base, _core.HostMemory) and result.base.kind == "result"
        assert result.base.is_locked == (turn > 0)  # from the second copy on, the memory is reused
        assert (result == np.arange(100_000.0)).all()
        seen.append(result.ctypes.data)
        result[:] = -1
        del result
    assert len(set(seen)) == 1
    assert host_pool.cached >= 800_000 and host_pool.used == used
    host_pool.trim()
    assert host_pool.cached == 0 and host_pool.locked <= locked


def test_results_are_ordinary_arrays(host_pool):
    source = np.asfortranarray(np.arange(90_000.0).reshape(300, 300))
    result = cuda.to_device(source).copy_to_host()
    assert result.flags.f_contiguous and (result == source).all()
    part = result[10:20, ::3]
    address = result.ctypes.data
    del result
    gc.collect()
    others = [cuda.to_device(np.zeros((300, 300))).copy_to_host() for _ in range(3)]
    assert all(other.ctypes.data != address for other in others)
    assert (part == source[10:20, ::3]).all()  # the part keeps the memory
    assert (pickle.loads(pickle.dumps(part)) == part).all()
    result = cuda.to_device(source).copy_to_host()
    result.sort(axis=0)
    result += 1
    assert (np.concatenate([result, result]) > 0).all()
    assert cuda.to_device(result).copy_to_host().sum() == result.sum()


def test_pinned_results_are_copied_and_pickled_as_ordinary_arrays(host_pool):
    """Page-locked memory does not change the semantics, even with a stream: when an upload returns
    it has read the arrays, and a download is complete."""
    device = cuda.to_device(np.ones(200_000, "f4"))
    device.copy_to_host()
    result = device.copy_to_host()
    assert result.base.is_locked
    stream = cuda.stream()
    for view in (result, result[::2], np.asarray(memoryview(result))):
        part = cuda.device_array(view.shape, np.float32)
        stream.add_callback(lambda *unused: time.sleep(0.05))
        part.copy_to_device(view, stream=stream)
        result[:] = 5
        add[200, 1024, stream](part, 1)
        part.copy_to_host(view, stream=stream)
        assert (view == 2).all()
        result[:] = 1


def test_small_results_use_ordinary_memory(host_pool):
    result = cuda.to_device(np.zeros(LEAST // 8 - 1)).copy_to_host()
    assert result.base is None and result.flags.owndata


def test_pinned_memory_limit_bounds_results(host_pool):
    host_pool.limit = 2 * MIB
    before = host_pool.locked  # memory that a test failed to unlock on purpose
    device = cuda.to_device(np.arange(MIB, dtype="u1"))
    for _ in range(3):
        results = [device.copy_to_host() for _ in range(6)]
        assert all((result == np.arange(MIB, dtype="u1")).all() for result in results)
        assert host_pool.locked - before <= 2 * MIB
        del results
        assert host_pool.cached <= 2 * MIB
    host_pool.limit = 0
    assert host_pool.cached == 0
    assert device.copy_to_host().flags.owndata
    with pytest.raises(ValueError):
        host_pool.limit = -1
    assert "page-locked" in repr(host_pool)
    host_pool.reset_peak()
    assert host_pool.peak == host_pool.used <= host_pool.held


def test_environment_variable_sets_the_pinned_limit(run_python):
    code = "from numbalite import cuda; cuda.synchronize(); print(cuda.host_memory_pool().limit)"
    assert run_python(code, NUMBALITE_PINNED_LIMIT="3M").stdout == f"{3 * MIB}\n"
    assert run_python(code, NUMBALITE_PINNED_LIMIT="0").stdout == "0\n"
    assert MIB < int(run_python(code).stdout) <= 4 << 30


# ---- copies


@pytest.mark.parametrize("seed", range(4))
def test_copies_of_threshold_sizes_match_numpy(host_pool, copy_by_threads, seed):
    """Tests sizes near every threshold between two copy methods, and near multiples of the chunk
    size."""
    rng = random.Random(seed)
    borders = [1, 4096, 65536, LEAST, LEAST * 2, MIB, 2 * MIB, 8 * MIB, 5 * MIB]
    _core.copy_settings(
        to_device=rng.choice([1, 2, 3, 8]),
        to_host=rng.choice([1, 2, 3, 8]),
        chunk=rng.choice([4096, 40960, MIB]),
        always=True,
    )
    data = random_bytes(9 * MIB, seed)
    stream = rng.choice([0, cuda.stream(), cuda.stream(non_blocking=True)])
    for _ in range(12):
        size = max(1, rng.choice(borders) + rng.choice([-4097, -4096, -1, 0, 1, 4095, 4096, 4097]))
        start = rng.randrange(64)
        part = data[start : start + size]
        device = cuda.to_device(part, stream=stream)
        result = device.copy_to_host(stream=stream)
        assert (result == part).all()
        room = np.zeros(size + 128, "u1")
        into = room[start : start + size]
        device.copy_to_host(into, stream=stream)
        assert (into == part).all() and not room[:start].any() and not room[start + size :].any()


@pytest.mark.parametrize("seed", range(6))
def test_strided_copies_through_pinned_memory_match_numpy(host_pool, copy_code_path, seed):
    rng = random.Random(seed)
    data = random_bytes(4 * MIB, seed)
    for _ in range(8):
        dtype = np.dtype(rng.choice(["u1", "i2", "f4", "c16", "V3"]))
        rows, columns = rng.choice([(3, 40_000), (500, 300), (40_000, 5), (17, 9001)])
        grid = data[: rows * columns * dtype.itemsize].view(dtype).reshape(rows, columns)
        step, skip = rng.choice([1, 2, 3, -1]), rng.choice([1, 2, -2])
        view = grid[::step, ::skip]
        if rng.random() < 0.5:
            view = view.T
        stream = rng.choice([0, cuda.stream(), cuda.stream(non_blocking=True)])
        device = cuda.to_device(view, stream=stream)
        assert device.copy_to_host(stream=stream).tobytes() == view.tobytes()
        whole = cuda.to_device(grid)
        part = (
            whole[::step, ::skip]
            if view.shape == grid[::step, ::skip].shape
            else whole.T[::skip, ::step]
        )
        room = np.zeros((part.shape[0] * 2, part.shape[1]), dtype)
        part.copy_to_host(room[::2], stream=stream)
        assert room[::2].tobytes() == part.copy_to_host().tobytes()
        assert not room[1::2].tobytes().strip(b"\0")
        target = cuda.to_device(np.zeros_like(grid))
        target[::step, ::skip].copy_to_device(grid[::step, ::skip], stream=stream)
        if stream:
            stream.synchronize()
        expected = np.zeros_like(grid)
        expected[::step, ::skip] = grid[::step, ::skip]
        assert target.copy_to_host().tobytes() == expected.tobytes()


def test_stream_uploads_read_the_source_before_returning(host_pool, copy_by_threads):
    """The call does not wait for the stream, and the source may be changed immediately."""
    used = host_pool.used
    for count in (10, 1000, 100_000, 600_000):
        stream = cuda.stream()
        source = np.ones(count, "f4")
        device = cuda.device_array(count, np.float32)
        gate, passed = gate_in(stream)
        device.copy_to_device(source, stream=stream)
        assert not passed.is_set()
        source[:] = 7
        del source
        # Large copies share a ring: the second copy waits for the first.
        threading.Timer(0.05, gate.set).start()
        again = cuda.to_device(np.zeros(count, "f4"), stream=cuda.stream(non_blocking=True))
        assert (again.copy_to_host() == 0).all()
        assert (device.copy_to_host() == 1).all()
        del again, device  # frees the memory of the arrays, after a wait for all streams
    assert host_pool.used == used


def test_downloads_wait_for_the_kernel(host_pool, copy_code_path):
    for stream in (0, cuda.stream(), cuda.stream(non_blocking=True)):
        device = cuda.to_device(np.zeros(200_000, "f4"), stream=stream)
        for _ in range(5):
            add[200, 1024, stream](device, 1)
        assert (device.copy_to_host(stream=stream)[: 200 * 1024] == 5).all()


def test_launch_arguments_are_copied_through_pinned_memory(host_pool, copy_code_path):
    array = np.zeros(300_000, "f4")
    add[300, 1024](cuda.InOut(array), 2)
    assert (array == 2).all()


@pytest.mark.leaks
def test_pinned_results_of_many_sizes_keep_their_values(host_pool):
    rng = random.Random(3)
    kept = []
    for _ in range(60):
        count = rng.randrange(LEAST, 4 * LEAST)
        kept.append(cuda.to_device(np.full(count, len(kept) % 200, "u1")).copy_to_host())
        if len(kept) > 8:
            kept.pop(rng.randrange(8))
    assert all(len(set(result.tolist())) == 1 for result in kept[:3])


def test_pinned_results_may_be_dropped_in_a_callback(host_pool):
    """A result may be released in a stream callback, which must make no driver calls."""
    stream = cuda.stream()
    host_pool.limit, used = MIB, host_pool.used
    held = [[cuda.to_device(np.ones(MIB, "u1")).copy_to_host() for _ in range(4)]]
    held[0].append(cuda.mapped_array(10))
    stream.add_callback(lambda *unused: held.clear())
    stream.synchronize()
    for _ in range(100):
        if not held:
            break
        time.sleep(0.01)
    cuda.synchronize()
    assert not held and host_pool.used == used
