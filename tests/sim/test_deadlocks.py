"""cuda.checks("race", exact=True) reports waits that no thread can end at once, and none that a thread ends."""

import functools

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
KERNELS = r"""
#include <cuda/barrier>
__global__ void flag_that_is_never_set(int* x, int* out) {
    if (threadIdx.x == 0) while (atomicAdd(&x[0], 0) == 0) {}
    __syncthreads();
    if (threadIdx.x == 1) atomicExch(&x[0], 1);
}
__global__ void volatile_flag(int* x, int* out) {
    volatile int* flag = x;
    if (threadIdx.x == 32) while (flag[0] == 0) {}
    out[threadIdx.x] = 1;
}
__global__ void lock_that_is_never_released(int* x, int* out) {
    if (threadIdx.x % 32) return;
    while (atomicCAS(&x[0], 0, 1)) {}
    out[threadIdx.x] = 1;
}
__global__ void lock_of_another_block(int* x, int* out) {
    if (threadIdx.x) return;
    while (atomicExch(&x[0], 1)) {}
    out[blockIdx.x] = 1;
}
__global__ void barrier_for_one_more(int* x, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, blockDim.x + 1);
    __syncthreads();
    b.arrive_and_wait();
}
__global__ void gives_up(int* x, int* out) {
    int tries = 0;
    while (atomicAdd(&x[0], 0) == 0 && ++tries < 100000) {}
    out[threadIdx.x] = tries;
}
__global__ void set_by_the_last_thread(int* x, int* out) {
    if (threadIdx.x == blockDim.x - 1) atomicExch(&x[0], 1);
    else while (atomicAdd(&x[0], 0) == 0) {}
    out[threadIdx.x] = 1;
}
__global__ void set_by_the_last_block(int* x, int* out) {
    if (blockIdx.x == gridDim.x - 1) atomicExch(&x[0], 1);
    else while (atomicAdd(&x[0], 0) == 0) {}
    out[blockIdx.x] = 1;
}
__global__ void set_after_many_barriers(int* x, int* out) {
    for (int i = 0; i < 3000; ++i) {
        __syncthreads();
        if (atomicAdd(&x[0], 0)) break;
        __syncthreads();
        if (i == 2900 && threadIdx.x == 0) atomicExch(&x[0], 1);
        __syncthreads();
    }
    out[threadIdx.x] = 1;
}
"""
SHAPES = {"lock_of_another_block": (3, 32), "set_by_the_last_block": (4, 1), "gives_up": (1, 2)}
STUCK = {
    "flag_that_is_never_set": ("thread 0 ", "__syncthreads"),
    "volatile_flag": ("thread 32 ", "x"),
    "lock_that_is_never_released": ("thread 32 ", "x"),
    "lock_of_another_block": ("thread 0 ", "the other blocks have ended or wait"),
    "barrier_for_one_more": ("threads 0-63 ", "spinning"),
}
RIGHT = ["gives_up", "set_by_the_last_thread", "set_by_the_last_block", "set_after_many_barriers"]


@functools.cache
def module():
    return cuda.module(KERNELS, opt=1)


def launch(name):
    x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
    checks = cuda.checks("race", "hang", exact=True, budget=0, limit=600)
    with checks:
        module()[name][SHAPES.get(name, (1, 64))](x, out)
    return checks, out.copy_to_host()


@pytest.mark.parametrize("name", STUCK)
def test_a_wait_that_no_thread_can_end_is_reported(name):
    with pytest.raises(KernelError, match="deadlock, no thread can end") as caught:
        launch(name)
    assert caught.value.kind == "hang" and caught.value.line
    for words in STUCK[name]:
        assert words in str(caught.value), caught.value


@pytest.mark.parametrize("name", RIGHT)
def test_a_wait_that_ends_is_not_reported(name):
    checks, out = launch(name)
    assert checks.verdict.kind == "depends on atomics"
    assert out[0] == (100000 if name == "gives_up" else 1)
