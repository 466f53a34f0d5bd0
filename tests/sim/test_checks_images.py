"""Tests images of checked kernels: a unit is compiled for the checks that are enabled at its first
use, and again for other checks."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.compilers import compile_count
from numbalite.errors import CompileError, KernelError

pytestmark = pytest.mark.sim


COUNT = """
__device__ int later, calls = 3;
__global__ void count(int *x, int k) { x[threadIdx.x + k] = atomicAdd(&calls, 1) + later; }
// %s
"""
ORDERS = [(["memory"], ["none"], ["divide"]), (["none"], ["memory"], ["divide"])]


@pytest.mark.parametrize("orders", ORDERS, ids=["checked first", "unchecked first"])
def test_check_kinds_compile_once_and_share_variables(orders):
    x, count = cuda.to_device(np.zeros(4, np.int32)), compile_count()
    for compiled, names in enumerate(orders):
        with cuda.checks(*names):
            if not compiled:
                module = cuda.module(COUNT % (orders,))
            module.get_global("later").copy_to_device(np.array(100 * compiled, np.int32))
            module.count[1, 4](x, 0)
        assert compile_count() == count + compiled + 1
        begin = 3 + (4 + 100) * compiled
        assert sorted(x.copy_to_host()) == list(range(begin, begin + 4))
    assert int(module.get_global("calls").copy_to_host()) == 15
    with pytest.raises(KernelError, match=r"writes x\[4\], but x points to 4"), cuda.checks():
        module.count[1, 4](x, 1)


ADDRESSES = """
struct Shape { __device__ virtual int corners() const = 0; };
struct Triangle : Shape { __device__ int corners() const override { return 3; } };
struct Square : Shape { __device__ int corners() const override { return 4; } };
__device__ int twice(int x) { return 2 * x; }
__device__ int half(int x) { return x / 2; }
__device__ int (*chosen)(int) = twice;
__device__ int (*const fixed[])(int) = {half, twice};
__global__ void k(int *x) {
    Triangle t;
    Square s;
    const Shape *shapes[] = {&t, &s};
    int i = threadIdx.x;
    x[i] = shapes[i % 2]->corners() + 100 * chosen(i) + 10000 * fixed[i % 2](8);
}
"""


@pytest.mark.parametrize("first", ["all", "none"])
def test_function_addresses_belong_to_the_current_image(first):
    """The loader writes the memory of virtual function tables."""
    module, x = cuda.module(f"{ADDRESSES}// {first}"), np.zeros(2, np.int32)
    for names in ((first,), ("none",), ("memory",), ("none",), ("all",)):
        with cuda.checks(*names):
            module.k[1, 2](x)
        assert x.tolist() == [40003, 160204]


def test_debug_kernels_are_compiled_once():
    count = compile_count()

    @cuda.jit("(float32[:])", debug=True)
    def fill(x):
        "x[threadIdx.x] = 1;"

    fill[1, 4](np.zeros(4, np.float32))
    assert compile_count() == count + 1


def test_compile_errors_are_the_same_under_checks():
    def undefined_name(x):
        """
        x[0] = missing;
        """

    told = []
    for names in ["none"], ["memory", "race"]:
        with cuda.checks(*names), pytest.raises(CompileError) as caught:
            cuda.jit("(int32[:])")(undefined_name)
        told.append(str(caught.value))
    assert told[0] == told[1] and "missing" in told[0]
