"""Tests undefined behaviour of C++ that kernels rely on: programs continue as on a GPU."""

import numpy as np
import pytest

from numbalite.errors import CompileError, KernelWarning

SOURCE = """
__global__ void told_by_a_lane(int *counter, int *x) {
    int base;
    if (threadIdx.x % 32 == 0)
        base = atomicAdd(counter, 32);
    base = __shfl_sync(0xffffffff, base, 0);
    x[threadIdx.x] = base + threadIdx.x % 32;
}
__global__ void largest(const int *from, int *x, int n) {
    int v, i = threadIdx.x;
    if (i < n)
        v = from[i];
    int r = max(v, 0);
    x[i] = i < n ? r : -1;
}
"""
RETURNS_NOTHING = """
__device__ int put(int *x, int i, int n) {
    if (i < n)
        x[i] = 1;
}
__global__ void returns_nothing(int *x, int n) { put(x, threadIdx.x, n); }
"""


def test_uninitialized_variables_may_be_passed(make_sim_module):
    kernels = make_sim_module(SOURCE)
    counter, x = np.zeros(1, "i4"), np.zeros(64, "i4")
    kernels.told_by_a_lane[1, 64](counter, x)
    assert counter[0] == 64
    np.testing.assert_array_equal(np.sort(x), np.arange(64))
    x = np.zeros(8, "i4")
    kernels.largest[1, 8](np.arange(-2, 6, dtype="i4"), x, 5)
    assert x.tolist() == [0, 0, 0, 1, 2, -1, -1, -1]


def test_functions_may_end_without_a_value(make_sim_module, compiler_name):
    if compiler_name.startswith("g++"):  # the compiler assumes that the end is unreachable
        with pytest.raises(
            CompileError, match="no return statement in function returning non-void"
        ):
            make_sim_module(RETURNS_NOTHING)
        return
    x = np.zeros(8, "i4")
    with pytest.warns(KernelWarning, match="put ends here without a return"):
        make_sim_module(RETURNS_NOTHING).returns_nothing[1, 8](x, 3)
    assert x.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
