"""Calls with host arrays in which the n-th driver call or allocation fails: in the ring and its
slots, in shared blocks, and in the launch between the copies. Each failure raises an exception, leaks
nothing, leaves the inputs unchanged, and the same call works afterwards."""

import mmap

import numpy as np
import pytest

from numbalite import _core, cuda, vectorize

OUT_OF_MEMORY = 2
LAUNCH_FAILED = 719
MIB = 1 << 20

pytestmark = pytest.mark.sim

LARGE = np.arange(60_000.0)  # 480 kB: two arrays of this size are staged through the ring buffer
MIDDLE = np.arange(9_000.0)  # three of them share a block
STRIDED = np.arange(120_000.0)[::2]


@vectorize(["float64(float64, float64)"], target="cuda")
def double_and_add(x, y):
    "x * 2 + y"


@cuda.jit("void(const float64[:], float64[:], float64[:])")
def add_and_write_input(x, y, z):
    "for (int i = grid<1>(); i < z.size(); i += gridsize<1>()) { z[i] = x[i] + y[i]; y[i] += 0; }"


@cuda.jit
def sum_of_seven(a, b, c, d, e, f, g, out):
    "for (int i = grid<1>(); i < out.size(); i += gridsize<1>()) out[i] = a[i]+b[i]+c[i]+d[i]+e[i]+f[i]+g[i];"


@pytest.fixture(autouse=True, params=["as is", "tiny ring"])
def _use_copy_settings_of_gpu(request):
    settings = _core.copy_settings()
    _core.copy_settings(always=True, least=1 << 18)
    if request.param == "tiny ring":
        # LARGE passes through the buffer four times.
        _core.copy_settings(to_device=3, to_host=3, chunk=32768, ring=131072, group=32768)
    yield
    _core.fail_call_at(0)
    _core.fail_alloc_at(0)
    _core.copy_settings(**settings)
    cuda.host_memory_pool().trim()


def stage_large_operands():
    np.testing.assert_array_equal(double_and_add(LARGE, LARGE[::-1]), LARGE * 2 + LARGE[::-1])


def stage_two_operands():
    np.testing.assert_array_equal(double_and_add(LARGE, LARGE + 1), LARGE * 3 + 1)


def stage_operands_and_output():
    out = np.empty_like(LARGE)
    double_and_add(LARGE, LARGE, out=out)
    np.testing.assert_array_equal(out, LARGE * 3)


def stage_strided_operand():
    np.testing.assert_array_equal(double_and_add(LARGE, STRIDED), LARGE * 2 + STRIDED)


def copy_operands_in_shared_block():
    np.testing.assert_array_equal(double_and_add(MIDDLE, MIDDLE), MIDDLE * 3)


def add_on_stream():
    stream = cuda.stream(non_blocking=True)
    np.testing.assert_array_equal(double_and_add(LARGE, LARGE + 1, stream=stream), LARGE * 3 + 1)


def write_result_to_device_array():
    out = cuda.device_array(LARGE.size, np.float64)
    double_and_add(LARGE, LARGE + 1, out=out)
    np.testing.assert_array_equal(out.copy_to_host(), LARGE * 3 + 1)


def copy_kernel_arguments():
    y, z = LARGE + 1, np.empty_like(LARGE)
    add_and_write_input[8, 128](LARGE, cuda.InOut(y), cuda.Out(z))
    np.testing.assert_array_equal(z, LARGE * 2 + 1)


def launch_with_small_arguments():
    x = MIDDLE[:500]
    y, z = x + 1, np.empty(1000)[::2]
    add_and_write_input[2, 128](x, cuda.InOut(y), cuda.Out(z))
    np.testing.assert_array_equal(z, x * 2 + 1)


def launch_with_small_and_large_arguments():
    y, z = MIDDLE[:4000] + 1, np.empty(4000)
    add_and_write_input[2, 128](LARGE, cuda.InOut(y), cuda.Out(z))
    np.testing.assert_array_equal(z, LARGE[:4000] + y)


def launch_with_many_arrays():
    xs = [np.full(200, i, "f4") for i in range(7)]
    out = np.empty(200, "f4")
    sum_of_seven[1, 128](*xs, out)
    assert (out == 21).all()


def launch_with_page_locked_arguments():
    x, y = (cuda.pinned_array(LARGE.size) for _ in range(2))
    x[:], y[:] = LARGE, 1
    z = cuda.pinned_array(LARGE.size)
    stream = cuda.stream()
    add_and_write_input[8, 128, stream](x, cuda.InOut(y), cuda.Out(z))
    stream.synchronize()
    np.testing.assert_array_equal(z, LARGE + 1)


def stage_with_new_ring():
    cuda.host_memory_pool().trim()
    stage_two_operands()


def download_into_unmapped_pages():
    """Returns slices of two huge host pages to which no physical memory is mapped yet."""
    size = 2 * MIB + 8
    out = cuda.device_array(size // 8, np.float64)
    out.fill(3)
    room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    assert (out.copy_to_host(np.frombuffer(room, np.float64)) == 3).all()


OPERATIONS = [
    stage_large_operands, stage_two_operands, stage_operands_and_output, stage_strided_operand, copy_operands_in_shared_block, add_on_stream, write_result_to_device_array, copy_kernel_arguments,
    launch_with_small_arguments, launch_with_small_and_large_arguments, launch_with_many_arrays, launch_with_page_locked_arguments, stage_with_new_ring, download_into_unmapped_pages,
]  # fmt: skip


@pytest.mark.parametrize("status", [OUT_OF_MEMORY, LAUNCH_FAILED])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_staged_copies_survive_failing_driver_calls(operation, status, fail_each_step):
    before = LARGE.sum(), MIDDLE.sum(), STRIDED.sum()
    assert fail_each_step(operation, lambda n: _core.fail_call_at(n, status)) >= 3
    assert before == (LARGE.sum(), MIDDLE.sum(), STRIDED.sum())


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_staged_copies_survive_failing_allocations(operation, fail_each_step):
    fail_each_step(operation, _core.fail_alloc_at)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_staged_copies_survive_permanent_driver_failure(operation, capfd):
    """After the failure no thread waits forever for a slot."""
    operation()
    for step in (1, 2, 3, 5, 8, 13, 21, 34):
        _core.fail_call_at(step, LAUNCH_FAILED, True)
        try:
            operation()
        except Exception as error:
            assert str(error)
        finally:
            _core.fail_call_at(0)
        operation()
    assert "Traceback" not in capfd.readouterr().err
