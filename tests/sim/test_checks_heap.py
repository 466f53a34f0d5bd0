"""Tests checked kernels on the simulator: memory that kernels allocate by malloc and new."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

if not cuda.is_simulated():
    pytest.skip("only the simulator looks for mistakes", allow_module_level=True)

SOURCE = """
__global__ void heap(int *out, int k, int late) {
    int *p = (int *)malloc(40);
    for (int i = 0; i < 10; i++) p[i] = i;
    if (late) free(p);
    out[0] = p[k];
    if (!late) free(p);
}
__global__ void fresh(int *out, int *kept, int how) {
    int *p = how & 4 ? (int *)*(unsigned long long *)kept : new int[10];
    if (how & 1) p[3] = 1;
    if (how & 2) memset(p, 0, 40);
    out[0] = p[3];
    if (how & 8) *(unsigned long long *)kept = (unsigned long long)p;
    else delete[] p;
}
"""


@pytest.fixture(scope="module")
def heap_kernels():
    return cuda.module(SOURCE)


@pytest.fixture(autouse=True)
def enable_checks():
    with cuda.checks("memory", "unwritten"):
        yield


def report_of(launch, *args):
    """Returns the report of a launch that fails."""
    with pytest.raises(KernelError) as caught:
        launch(*args)
        cuda.synchronize()
    return caught.value


def launch_without_report(launch, *args):
    launch(*args)
    cuda.synchronize()


def device_zeros(size):
    return cuda.to_device(np.zeros(size, np.int32))


def test_kernel_heap_accesses_are_checked(heap_kernels):
    out = device_zeros(1)
    launch_without_report(heap_kernels.heap[1, 1], out, 9, 0)
    assert "after the end of 40 bytes of malloc()" in str(
        report_of(heap_kernels.heap[1, 1], out, 10, 0)
    )
    assert "have been freed" in str(report_of(heap_kernels.heap[1, 1], out, 3, 1))


def test_new_memory_of_the_heap_is_unwritten(heap_kernels):
    out, kept = device_zeros(1), device_zeros(2)
    for how in (1, 2, 3):
        launch_without_report(heap_kernels.fresh[1, 1], out, kept, how)
    error = report_of(heap_kernels.fresh[1, 1], out, kept, 0)
    assert "reads byte 12 of 40 bytes of malloc(), which nothing has written" in str(error)
    assert error.kind == "unwritten"
    report_of(heap_kernels.fresh[1, 1], out, kept, 8)
    report_of(
        heap_kernels.fresh[1, 1], out, kept, 4 + 8
    )  # memory that the previous launch allocated
    with cuda.checks("none"):
        heap_kernels.fresh[1, 1](out, kept, 4 + 1 + 8)  # its result is not read
    launch_without_report(heap_kernels.fresh[1, 1], out, kept, 4)
    with cuda.checks("none"):
        heap_kernels.fresh[1, 1](out, kept, 8)
    launch_without_report(heap_kernels.fresh[1, 1], out, kept, 4)
