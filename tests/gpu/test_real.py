"""Behaviour that only a real GPU has. All other tests of kernels are in tests/kernels, which runs
on a GPU and on the simulator."""

import re

import numpy as np
import pytest

from numbalite import cuda

pytestmark = pytest.mark.gpu


def test_driver_is_not_the_simulator():
    device = cuda.get_current_device()
    assert cuda.is_available() and not cuda.is_simulated()
    assert device.compute_capability >= (7, 5)
    assert device.MULTIPROCESSOR_COUNT > 1
    assert re.match(r"GPU-[0-9a-f-]{36}$", device.uuid)


def test_illegal_address_error_contains_the_remedy(run_python):
    """The call after a faulting kernel raises an exception with the fault and the remedy, and the process
    does not crash at exit."""
    code = """
import numpy as np
from numbalite import cuda, errors
bad = cuda.jit("__global__ void bad(float* x, long long where) { x[where] = 1; }")
x = cuda.to_device(np.zeros(4, np.float32))
bad[1, 1](x, 1 << 42)
try:
    cuda.synchronize()
except (errors.CudaAPIError, errors.KernelError) as error:
    print(error)
else:
    raise SystemExit("no error")
try:
    x.copy_to_host()
except (errors.CudaAPIError, errors.KernelError) as error:
    print(error)
else:
    raise SystemExit("no second error")
"""
    result = run_python(code)
    assert result.stdout.lower().count("illegal") >= 2
    assert "Traceback" not in result.stderr


def test_arrays_print_a_lost_context(run_python):
    """The text of a device array reports a lost context, without an exception. The next call still raises."""
    code = """
import numpy as np
from numbalite import cuda, errors
bad = cuda.jit("__global__ void bad(float* x, long long where) { x[where] = 1; }")
x = cuda.to_device(np.zeros(4, np.float32))
print(repr(x))
bad[1, 1](x, 1 << 42)
print(repr(x))
print(str(x))
print(x._repr_html_())
try:
    x.copy_to_host()
except errors.CudaAPIError:
    print("raised")
"""
    lines = run_python(code).stdout.splitlines()
    assert lines[0] == "DeviceNDArray([0., 0., 0., 0.], dtype=float32, device=0)"
    assert lines[1].startswith("DeviceNDArray(<[700] ") and "shape=(4,)" in lines[1]
    assert lines[2].startswith("<[700] ") and "[700] " in lines[3] and lines[-1] == "raised"


def test_failed_device_assert_is_reported(run_python):
    code = """
import numpy as np
from numbalite import cuda, errors
k = cuda.jit("__global__ void k(int n) { assert(n > 5); }")
k[1, 1](3)
try:
    cuda.synchronize()
except (errors.CudaAPIError, errors.KernelError) as error:
    print(type(error).__name__, error)
"""
    assert "assert" in run_python(code).stdout.lower()


def test_kernels_use_100_kib_of_dynamic_shared_memory():
    """Shared memory above 48 KiB is enabled automatically."""
    size = 100 * 1024
    if cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN < size:
        pytest.skip("this GPU has less shared memory")
    reverse = cuda.jit(
        r"""
        __global__ void reverse(const int* x, int* y, int n) {
            extern __shared__ int buffer[];
            for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = x[i];
            __syncthreads();
            for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = buffer[n - 1 - i];
        }"""
    )
    x = np.arange(size // 4, dtype="i4")
    y = np.zeros_like(x)
    reverse[1, 256, 0, size](x, y, x.size)
    np.testing.assert_array_equal(y, x[::-1])


def test_too_much_shared_memory_raises():
    k = cuda.jit("__global__ void k(int* x) { extern __shared__ int s[]; s[0] = 1; x[0] = s[0]; }")
    limit = cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    with pytest.raises(ValueError, match=str(limit)):
        k[1, 1, 0, limit + 1](np.zeros(1, "i4"))


def test_kernel_printf_reaches_stdout(run_python):
    code = """
from numbalite import cuda
hello = cuda.jit('__global__ void hello() { printf("hello from %d\\\\n", threadIdx.x); }')
hello[1, 4]()
cuda.synchronize()
"""
    assert run_python(code).stdout.split("\n")[:4] == [f"hello from {i}" for i in range(4)]


def test_inspect_asm_returns_ptx():
    k = cuda.jit("__global__ void k(float* x) { x[0] = 1.5f; }")
    k[1, 1](np.zeros(1, "f4"))
    (text,) = k.inspect_asm().values()
    major, minor = cuda.get_current_device().compute_capability
    assert ".visible .entry" in text and f"sm_{major}{minor}" in text


def test_ptx_is_loaded_as_a_module():
    """The driver compiles PTX (as on a GPU newer than the compiler)."""
    k = cuda.jit('extern "C" __global__ void k(int* x) { x[threadIdx.x] = threadIdx.x; }')
    k[1, 1](np.zeros(1, "i4"))
    (text,) = k.inspect_asm().values()
    from numbalite import _core

    module = _core.Module(text.encode() + b"\0")
    assert module is not None


def test_register_and_shared_memory_usage_is_reported():
    k = cuda.jit(
        "__global__ void k(float* x) { __shared__ float s[128]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[127 - threadIdx.x]; }"
    )
    x = np.arange(128, dtype="f4")
    k[1, 128](x)
    assert k.get_shared_mem_per_block() == 512
    assert k.get_regs_per_thread() > 0
    assert k.occupancy(128) >= 1


def test_kernels_on_two_streams_overlap():
    """Two long kernels on two streams take less than twice as long as one kernel."""
    spin = cuda.jit(
        "__global__ void spin(long long cycles) { long long t = clock64(); while (clock64() - t < cycles) ; }"
    )
    spin[1, 1](1)
    one, two = cuda.stream(), cuda.stream()
    start, end = cuda.event(), cuda.event()
    cycles = 20_000_000

    def elapsed_time(*streams):
        cuda.synchronize()
        start.record()
        for stream in streams:
            spin[1, 1, stream](cycles)
        end.record()  # the default stream waits for both kernels
        end.synchronize()
        return start.elapsed_time(end)

    elapsed_time(one)
    alone = elapsed_time(one)
    assert elapsed_time(one, two) < 1.5 * alone


def test_launch_returns_before_the_kernel_ends():
    import time

    spin = cuda.jit(
        "__global__ void spin(long long cycles) { long long t = clock64(); while (clock64() - t < cycles) ; }"
    )
    spin[1, 1](1)
    cuda.synchronize()
    start = time.perf_counter()
    spin[1, 1](200_000_000)
    launched = time.perf_counter() - start
    cuda.synchronize()
    assert time.perf_counter() - start > 5 * launched
