"""Local arrays that a GPU accepts fit on the stack; overflows are reported for any size of the frame."""

import numpy as np
import pytest
from kit.needs import x86_only

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim


@x86_only("clang++ checks the size of a stack frame")
@pytest.mark.parametrize("is_checked", [False, True])
@pytest.mark.parametrize("size", [700_000, 1_600_000, 100_000_000])
def test_a_frame_larger_than_the_guard_is_a_stack_overflow(size, is_checked):
    kernel = cuda.jit(
        source="""
        __global__ void large(char *x) {
            volatile char part[SIZE];
            part[x[0]] = 1;
            x[threadIdx.x] = part[x[0]];
        }
        """.replace("SIZE", str(size)),
        name="large",
    )
    x = cuda.to_device(np.zeros(32, np.int8))
    with cuda.checks("memory" if is_checked else "none"):
        with pytest.raises(KernelError, match="stack overflow: the thread uses more than"):
            kernel[1, 32](x)
            cuda.synchronize()


LARGE = """
    __global__ void large(int *x) {
        volatile int part[SIZE / 4];
        for (int i = 0; i < SIZE / 4; i += 1000) part[i] = i + threadIdx.x;
        __syncthreads();
        int sum = 0;
        for (int i = 0; i < SIZE / 4; i += 1000) sum += part[i] - i;
        x[threadIdx.x] = sum;
    }
"""


@pytest.mark.parametrize("is_checked", [False, True])
@pytest.mark.parametrize("size", [150_000, 512 * 1024])
def test_a_thread_has_the_local_memory_of_a_gpu(size, is_checked):
    x = cuda.to_device(np.zeros(100, np.int32))
    with cuda.checks("memory" if is_checked else "none"):
        cuda.jit(source=LARGE.replace("SIZE", str(size)), name="large")[1, 100](x)
    count = len(range(0, size // 4, 1000))
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(100) * count)


def test_memory_of_large_local_arrays_is_returned(run_python):
    """128 threads write 512 KiB each, and all threads wait at a barrier."""
    run_python(f"""
import numpy as np
from numbalite import cuda
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
large = cuda.jit(source={LARGE.replace("SIZE", "(512 * 1024)").replace("i += 1000", "i++")!r}, name="large")
x = cuda.to_device(np.zeros(128, np.int32))
large[1, 1](x)
cuda.synchronize()
before = resident()
large[1, 128](x)
assert x.copy_to_host()[127] == 127 * 512 * 1024 // 4
assert resident() < before + (32 << 20), (before, resident())
""")
