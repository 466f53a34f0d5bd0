"""Tests kernels that launch kernels: their order, and the messages for mistakes in nested
kernels."""

import linecache

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import CompileError, CudaAPIError, CudaSupportError, KernelError

SOURCE = """
namespace deep {
template <class T, int more> __global__ void fill(T *x, T v, size_t n) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = v + more;
}
}
template <class T> __global__ void add(T *x, T v) { x[threadIdx.x] += v; }
struct Pair { float a, b; };
__global__ void scale(float *out, Pair p) {
    extern __shared__ float s[];
    s[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] * p.a * p.b;
}
__device__ void launch(float *x, int n, Pair p) {
    scale<<<1, n, n * sizeof(float), cudaStreamTailLaunch>>>(x, p);
}
__global__ void parent(float *x, int n) {
    if (threadIdx.x == 0) {
        launch(x, n, Pair{2, 5});
        deep::fill<float, 2><<<dim3(2), dim3(n / 2)>>>(x, 1.0f, n);
        add<<<1, n>>>(x, 0.5f);
        if (cudaGetLastError() != cudaSuccess) x[0] = -1;
    }
}
__global__ void tree(int *count, int depth) {
    atomicAdd(count + depth, 1);
    if (depth < 5) tree<<<2, 1>>>(count, depth + 1);
}
__global__ void again(int *n) {
    if (--n[0] > 0) again<<<1, 1, 0, cudaStreamTailLaunch>>>(n);
    n[1]++;
}
__global__ void fill(int *x, int *own) {
    own[threadIdx.x] = threadIdx.x + 1;
    x[threadIdx.x] = own[threadIdx.x];
}
__global__ void discard(int *own) { cudaFree(own); }
__global__ void with_memory(int *x) {
    int *own;
    if (cudaMalloc((void **)&own, 32 * sizeof(int)) != cudaSuccess) return;
    fill<<<1, 32>>>(x, own);
    discard<<<1, 1>>>(own);
}
__global__ void order(int *at, int *log, int name, int levels) {
    log[at[0]++] = name;
    if (levels == 0) return;
    order<<<1, 1, 0, cudaStreamTailLaunch>>>(at, log, 10 * name + 9, 0);
    order<<<1, 1>>>(at, log, 10 * name + 1, levels - 1);
    order<<<1, 1>>>(at, log, 10 * name + 2, 0);
}
"""
WRONG = """
__global__ void child(float *out, int n) { out[threadIdx.x] = n; }
__global__ void many(float *x) {
    child<<<1, 2000>>>(x, 1);
}
__global__ void beyond(float *x) {
    if (threadIdx.x == 1)
        child<<<1, 64>>>(x, 1);
}
__global__ void endless(int *n) {
    endless<<<1, 1>>>(n);
}
__global__ void for_ever(int *n) {
    for_ever<<<1, 1, 0, cudaStreamTailLaunch>>>(n);
}
__global__ void racing(float *x) {
    child<<<2, 32>>>(x, 1);
    child<<<1, 32>>>(x, 2);
}
__global__ void sums(float *x) { x[0] += threadIdx.x; }
__global__ void adds(float *x) { sums<<<1, 32>>>(x); }
"""


@pytest.fixture(scope="module")
def nested_launch_module():
    try:
        return cuda.module(SOURCE)
    except CudaSupportError as problem:  # a GPU without the toolkit's device runtime
        pytest.skip(str(problem))


def test_child_kernels_run_before_tail_launches(nested_launch_module):
    x = np.zeros(50, np.float32)
    nested_launch_module.parent[1, 64](x, 50)
    assert (x == 35).all()


def test_child_kernels_launch_kernels(nested_launch_module):
    count = np.zeros(6, np.int32)
    nested_launch_module.tree[1, 1](count, 0)
    assert count.tolist() == [1, 2, 4, 8, 16, 32]


def test_tail_launches_may_launch_kernels(nested_launch_module):
    """The depth of these launches is unlimited, because such a grid is not nested deeper than its
    parent."""
    n = np.array([300, 0], np.int32)
    nested_launch_module.again[1, 1](n)
    assert n.tolist() == [0, 300]


def test_parent_grid_ends_after_its_child_kernels(nested_launch_module):
    at, log = np.zeros(1, np.int32), np.zeros(9, np.int32)
    nested_launch_module.order[1, 1](at, log, 1, 2)
    assert log[: at[0]].tolist() == [1, 11, 111, 112, 119, 12, 19]


def test_child_kernels_access_the_parents_memory(nested_launch_module):
    x = np.zeros(32, np.int32)
    nested_launch_module.with_memory[1, 1](x)
    assert x.tolist() == list(range(1, 33))


@pytest.fixture(scope="module")
def module_of_wrong_kernels(driver_kind):
    if driver_kind != "sim":
        pytest.skip("a GPU says nothing of launches that it does not make")
    return cuda.module(WRONG)


def error_line_of(problem):
    return linecache.getline(problem.file, problem.line)


@pytest.mark.parametrize("checks", [(), ("all",)], ids=["plain", "checked"])
def test_invalid_child_launches_are_reported(module_of_wrong_kernels, checks):
    with pytest.raises(
        (KernelError, CudaAPIError), match=r"child with blocks of \(2000,1,1\) threads"
    ) as found:
        with cuda.checks(*checks or ("none",)):
            module_of_wrong_kernels.many[1, 1](np.zeros(4, np.float32))
    assert found.value.kernel == "many" and "<<<1, 2000>>>" in error_line_of(found.value)
    with pytest.raises((KernelError, CudaAPIError), match="one level deeper than the 24"):
        with cuda.checks(*checks or ("none",)):
            module_of_wrong_kernels.endless[1, 1](np.zeros(1, np.int32))


def test_findings_in_child_kernels_are_reported(module_of_wrong_kernels):
    said = r"child \(.*\): .* writes out\[50\], but out points to 50 elements; beyond launched it at .*, line \d+"
    with pytest.raises(KernelError, match=said) as found, cuda.checks():
        module_of_wrong_kernels.beyond[1, 64](np.zeros(50, np.float32))
    assert (found.value.kernel, found.value.kind) == ("child", "memory")
    assert "out[threadIdx.x] = n" in error_line_of(found.value)
    with pytest.raises(KernelError, match=r"sums .*; adds launched it at") as found, cuda.checks():
        module_of_wrong_kernels.adds[1, 1](np.zeros(1, np.float32))
    assert found.value.kind == "race"
    x = np.zeros(32, np.float32)
    with cuda.checks():  # several blocks write the same value before the launched grid runs
        module_of_wrong_kernels.racing[1, 1](x)
    assert (x == 2).all()


def test_endless_child_kernels_are_reported(module_of_wrong_kernels):
    with pytest.raises(
        (KernelError, CudaAPIError), match="after 0.3 s, the limit: for_ever launches for_ever"
    ):
        with cuda.checks("hang", limit=0.3):
            module_of_wrong_kernels.for_ever[1, 1](np.zeros(1, np.int32))


def test_device_synchronize_in_a_kernel_does_not_compile():
    with pytest.raises(CompileError, match="cudaDeviceSynchronize"):
        cuda.module("__global__ void k() {\n    cudaDeviceSynchronize();\n}")
