"""Lets each driver call and each allocation of every public operation fail once.

Each operation runs repeatedly with its first, second, third... driver call failing, until it
succeeds; then host allocations fail in the same manner. After every failure: an exception of ours
(or
MemoryError), no leak, and the same operation works when it is repeated.
"""

import contextlib
import gc
import warnings

import numpy as np
import pytest

from numbalite import _core, cuda, errors, vectorize

OUT_OF_MEMORY = 2
LAUNCH_FAILED = 719
KERNEL_TEXT = "__device__ float table[4]; __global__ void twice(const float* x, float* y, int n) { int i = grid<1>(); if (i < n) y[i] = 2 * x[i]; }"


@cuda.jit("void(const float32[:], float32[:])")
def double(x, y):
    "int i = grid<1>(); if (i < y.size()) y[i] = 2 * x[i];"


@vectorize(["float32(float32, float32)"], target="cuda")
def plus(x, y):
    "return x + y;"


total = cuda.reduce("a + b")
HOST = np.arange(64, dtype="f4")
LARGE = np.ones(50_000, "f4")
GRID = np.arange(48, dtype="f4").reshape(6, 8)


def to_device():
    return cuda.to_device(HOST)


def to_device_strided():
    return cuda.to_device(GRID[::2, ::3])


def device_array():
    return cuda.device_array((100, 100), np.float64)


def copy_to_host(d):
    return d.copy_to_host()


def copy_to_host_strided(d):
    return d[::2].copy_to_host()


def copy_to_device(d):
    d.copy_to_device(HOST)


def copy_to_new_device_array(d):
    cuda.device_array_like(d).copy_to_device(d)


def slice_twice(d):
    return d[3:40:2][5:], d[7]


def assign_slice(d):
    d[2:10] = 5


def fill(d):
    d.fill(3)


def copy_strided_view(d):
    return d[::3].copy()


def launch_kernel(d):
    double[2, 32](d, cuda.device_array(64, np.float32))


def launch_on_host_arrays():
    double[2, 32](HOST, np.zeros(64, "f4"))


def launch_on_strided_host_arrays():
    double[2, 32](GRID[:, 3], np.zeros((6, 2), "f4")[:, 1])


def launch_on_stream(d):
    stream = cuda.stream()
    double[2, 32, stream](d, d)
    stream.synchronize()


def capture_graph(d):
    stream = cuda.stream()
    other, fork, join = cuda.stream(), cuda.event(), cuda.event()
    result, into = cuda.device_array(64, np.float32), np.zeros(64, "f4")
    with stream.capture() as graph:
        double[2, 32, stream](d, result)
        fork.record(stream)
        fork.wait(other)
        plus(d[::2], 1, stream=other)
        join.record(other)
        join.wait(stream)
        result.copy_to_host(into, stream=stream)
    graph.upload(stream)
    graph.launch(stream)
    graph.launches[0].update(result, d)
    graph.launch(cuda.stream(non_blocking=True))
    stream.synchronize()


def abandon_capture(d):
    stream = cuda.stream(non_blocking=True)
    with contextlib.suppress(KeyError), stream.capture():
        double[2, 32, stream](d, cuda.device_array(64, np.float32))
        raise KeyError


def draw_random_numbers(d):
    rng = cuda.random.default_rng(1)
    rng.random(out=d)
    rng.exponential(np.full(64, 2.0), dtype=np.float32)


def shuffle_and_choose(d):
    rng = cuda.random.default_rng(1)
    rng.shuffle(d[::2])
    rng.choice(64, 3, replace=False)
    rng.permuted(np.zeros((2, 1100), "i1"), axis=1)


def load_module():
    return cuda.module(KERNEL_TEXT).get_global("table")


def load_module_and_launch(d):
    cuda.module(KERNEL_TEXT).twice[2, 32](d, d, 64)


def make_stream():
    s = cuda.stream()
    s.synchronize()
    return s


def record_events():
    first, second = cuda.event(), cuda.event()
    first.record()
    second.record()
    second.synchronize()
    return first.elapsed_time(second)


def order_streams_by_event():
    one, two = cuda.stream(), cuda.stream()
    done = cuda.event(timing=False)
    done.record(one)
    done.wait(two)
    two.synchronize()


def synchronize():
    cuda.synchronize()


def query_memory_info():
    return cuda.current_context().get_memory_info()


def call_ufunc(d):
    return plus(d, d)


def call_ufunc_with_overlapping_out(d):
    plus(d[1:], 1, out=d[:-1])


def call_ufunc_with_numbers():
    return plus(1, 2)


def call_ufunc_with_small_arrays():
    return plus(HOST, HOST[::-1])


def call_ufunc_with_large_arrays():
    return plus(LARGE[::-1], LARGE[:1])


def call_ufunc_with_device_and_host_array(d):
    return plus(d, GRID[:1, :1])


def call_ufunc_with_mask(d):
    out = np.zeros((3, 64), ">f4")
    return plus(d, 1, out=out, where=np.arange(3)[:, None] > 1)


def call_ufunc_with_mask_on_stream(d):
    stream = cuda.stream()
    mask = HOST > 5
    result = plus(LARGE[:64], 1, out=cuda.device_array(64, "f4"), where=mask, stream=stream)
    stream.synchronize()
    return result


def reduce_array(d):
    return np.add.reduce(d), total(d, axis=0)


def scan_array_on_stream(d):
    stream = cuda.stream()
    result = plus.accumulate(cuda.to_device(LARGE, stream), stream=stream)
    stream.synchronize()
    return result


def multiply_matrices(d):
    square = d.reshape(8, 8)
    return square @ square.T, np.einsum("ij,jk->k", square, square[:, ::2])


def multiply_integer_matrices():
    square = cuda.to_device(np.arange(16).reshape(4, 4))
    return square @ square[:, ::-1]


def compute_mean_argmax_and_variance(d):
    return d.mean(), np.argmax(d), d.var()


def call_concatenate_and_where(d):
    return np.where(np.concatenate([d, d[::-1]]) > 3, 1.5, 0)


def create_arange_and_eye():
    return cuda.arange(5, dtype="f4"), cuda.eye(3)


OPERATIONS = [
    to_device, to_device_strided, device_array, copy_to_host, copy_to_host_strided, copy_to_device,
    copy_to_new_device_array, slice_twice, assign_slice, fill, copy_strided_view, launch_kernel, launch_on_host_arrays,
    launch_on_strided_host_arrays, launch_on_stream, capture_graph, abandon_capture, draw_random_numbers,
    shuffle_and_choose, load_module,
    load_module_and_launch, make_stream, record_events, order_streams_by_event, synchronize, query_memory_info, call_ufunc,
    call_ufunc_with_overlapping_out, call_ufunc_with_numbers, call_ufunc_with_small_arrays, call_ufunc_with_large_arrays, call_ufunc_with_device_and_host_array,
    call_ufunc_with_mask, call_ufunc_with_mask_on_stream, reduce_array, scan_array_on_stream,
    multiply_matrices, multiply_integer_matrices, compute_mean_argmax_and_variance, call_concatenate_and_where, create_arange_and_eye,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _ignore_warnings():
    """Other tests pass host arrays as arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def run_operation(request):
    """Returns run_on_array(operation); if the operation has a parameter, the argument is a device
    array that was allocated before."""
    array = cuda.to_device(HOST)

    def run_on_array(operation):
        return operation(array) if operation.__code__.co_argcount else operation()

    yield run_on_array


@pytest.mark.parametrize("status", [OUT_OF_MEMORY, LAUNCH_FAILED], ids=["memory", "launch"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
@pytest.mark.sim
def test_each_failing_driver_call_is_reported(operation, status, run_operation, fail_each_step):
    steps = fail_each_step(
        lambda: run_operation(operation), lambda n: _core.fail_call_at(n, status)
    )
    assert steps, "nothing was made to fail"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_each_failing_allocation_is_reported(operation, run_operation, fail_each_step):
    fail_each_step(lambda: run_operation(operation), _core.fail_alloc_at)


def test_error_names_the_failed_driver_call():
    """The message names the failed call and its code; the traceback contains no frames of
    numbalite."""
    array = cuda.to_device(HOST)
    _core.trace(True)
    array.copy_to_host()
    _core.trace(False)
    # With several devices, the first driver call queries the current device.
    calls = [call != "cuCtxGetCurrent" for call in _core.traced()]
    _core.fail_call_at(calls.index(True) + 1, OUT_OF_MEMORY)
    with pytest.raises(errors.CudaAPIError) as caught:
        array.copy_to_host()
    assert caught.value.code == OUT_OF_MEMORY
    assert "cuMem" in str(caught.value) or "cuStream" in str(caught.value)


@pytest.mark.sim
def test_a_release_that_fails_is_reported_and_survived(capfd):
    """A destructor cannot raise; the process continues and the next call works."""
    array = cuda.to_device(HOST)
    _core.fail_call_at(1, LAUNCH_FAILED, True)
    del array
    gc.collect()
    _core.fail_call_at(0)
    np.testing.assert_array_equal(cuda.to_device(HOST).copy_to_host(), HOST)


@pytest.fixture(scope="module")
def loaded_kernel():
    """Loads the kernel's module before the test, so that the module's objects do not count as
    leaks."""
    double[2, 32](HOST, np.zeros(64, "f4"))


@pytest.mark.leaks
@pytest.mark.usefixtures("loaded_kernel")
def test_invalid_arguments_leak_nothing():
    """Each argument conversion of a launch fails in turn; copies of the earlier arguments are
    released."""
    out = np.zeros(64, "f4")
    bad = [
        (HOST,),
        (HOST, out, 1),
        (HOST, "text"),
        (HOST.astype("f8"), out),
        (HOST, GRID),
        (HOST, None),
        (object(), out),
    ]
    read_only = out.copy()
    read_only.flags.writeable = False
    bad.append((HOST, read_only))
    for arguments in bad:
        with pytest.raises((TypeError, ValueError, OverflowError)) as caught:
            double[2, 32](*arguments)
        assert "double" in str(caught.value)
    assert not out.any()
