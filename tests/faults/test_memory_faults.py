"""The n-th driver call and the n-th allocation fail in memory functions: the pools enabled as on a
GPU, host memory of every kind, and large copies by several threads."""

import contextlib

import numpy as np
import pytest

from numbalite import _core, cuda, errors

OUT_OF_MEMORY = 2
LAUNCH_FAILED = 719

pytestmark = pytest.mark.sim

LARGE = np.arange(100_000, dtype="f8")  # enough for the copying threads
GRID = np.arange(300 * 400, dtype="f4").reshape(300, 400)


@cuda.jit("void(float32[:])")
def increment(x):
    "int i = grid<1>(); if (i < x.size()) x[i] += 1;"


@pytest.fixture(autouse=True)
def _use_code_paths_of_a_gpu():
    """Enables memory pools, and the code path for copies that a GPU uses."""
    pool, host = cuda.memory_pool(), cuda.host_memory_pool()
    pool.cache_limit, limit = 64 << 20, host.limit
    _core.copy_settings(always=True, least=1 << 18)
    yield
    _core.fail_call_at(0)
    _core.fail_alloc_at(0)
    _core.copy_settings(always=False, least=1 << 20)
    pool.limit = None
    pool.cache_limit = 0
    host.limit = limit


def create_and_drop_arrays():
    for size in (1000, 5000, 1000):
        cuda.device_array(size, np.float32)


def drop_many_pending_arrays():
    """Drops more arrays with pending work than may wait for their streams."""
    stream = cuda.stream()
    for _ in range(70):
        increment[1, 32, stream](cuda.device_array(32, np.float32))


def drop_many_arrays_on_stream():
    """Drops more arrays with pending work on a stream that is not ordered with the default stream."""
    stream = cuda.stream(non_blocking=True)
    for _ in range(70):
        increment[1, 32, stream](cuda.device_array(32, np.float32))


def trim_memory_pool():
    cuda.device_array(1000, np.float32)
    cuda.memory_pool().trim()


def trim_host_memory_pool():
    cuda.to_device(LARGE).copy_to_host()
    cuda.host_memory_pool().trim()


def allocate_without_cache():
    cuda.memory_pool().cache_limit = 0
    cuda.device_array(1000, np.float32)
    cuda.memory_pool().cache_limit = 64 << 20


def upload_large_array():
    return cuda.to_device(LARGE)


def download_large_array():
    return cuda.to_device(LARGE).copy_to_host()


def download_into_given_array():
    cuda.to_device(LARGE).copy_to_host(np.empty_like(LARGE))


def copy_large_strided_arrays():
    return cuda.to_device(GRID[:, ::2])[:, ::3].copy_to_host()


def upload_on_stream():
    stream = cuda.stream()
    array = cuda.to_device(GRID[::2, ::2], stream=stream)
    stream.synchronize()
    return array


def download_on_stream():
    stream = cuda.stream()
    array = cuda.to_device(LARGE).copy_to_host(stream=stream)
    stream.synchronize()
    return array


def copy_pinned_array():
    stream = cuda.stream()
    host = cuda.pinned_array(1000, np.float32)
    array = cuda.to_device(host, stream=stream)
    array.copy_to_host(host, stream=stream)
    stream.synchronize()


def use_mapped_array():
    array = cuda.mapped_array(100, np.float32)
    increment[4, 32](array)


def fill_write_combined_array():
    cuda.mapped_array(100, np.float32, wc=True)[:] = 1


def use_managed_array():
    array = cuda.managed_array(100, np.float32)
    increment[4, 32](array)
    array.prefetch("cpu")
    array.advise("read_mostly")


def upload_in_pinned_context():
    one, two = np.ones(5000), np.ones(6000)
    with cuda.pinned(one, two):
        cuda.to_device(one)


def launch_in_mapped_context():
    one, two = np.ones(5000, "f4"), np.ones(6000, "f4")
    with cuda.mapped(one, two) as (first, second):
        increment[200, 32](first)
        increment[200, 32](second)


OPERATIONS = [
    create_and_drop_arrays, drop_many_pending_arrays, drop_many_arrays_on_stream, trim_memory_pool, trim_host_memory_pool, allocate_without_cache, upload_large_array, download_large_array, download_into_given_array, copy_large_strided_arrays,
    upload_on_stream, download_on_stream, copy_pinned_array, use_mapped_array, fill_write_combined_array, use_managed_array,
    upload_in_pinned_context, launch_in_mapped_context,
]  # fmt: skip


@pytest.mark.parametrize("status", [OUT_OF_MEMORY, LAUNCH_FAILED], ids=["memory", "launch"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_memory_functions_survive_failing_driver_calls(operation, status, fail_each_step):
    fail_each_step(operation, lambda n: _core.fail_call_at(n, status))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_memory_functions_survive_failing_allocations(operation, fail_each_step):
    fail_each_step(operation, _core.fail_alloc_at)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_failing_release_prints_and_does_not_raise(operation, capfd):
    """A release that fails prints to stderr and raises no exception, and the next call works."""
    operation()
    for step in range(1, 6):
        _core.fail_call_at(step, OUT_OF_MEMORY, True)
        # The end of a `with` statement can raise an exception, so a failed release raises there.
        with contextlib.suppress(errors.CudaAPIError if "context" in operation.__name__ else ()):
            operation()
        _core.fail_call_at(0)
    operation()
    text = capfd.readouterr().err
    assert "Traceback" not in text


def test_copies_are_correct_after_failures():
    """If a copy succeeds, its result is right, even after earlier failures."""
    array = cuda.to_device(LARGE)
    for step in range(1, 40):
        _core.fail_call_at(step, OUT_OF_MEMORY)
        try:
            got = array.copy_to_host()
        except Exception:
            continue
        finally:
            _core.fail_call_at(0)
        np.testing.assert_array_equal(got, LARGE)
