"""The check for races respects the scope of fences: a fence of block scope orders no accesses of
other blocks."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim

FLAG = """#include <cuda/atomic>
template <int read> __device__ void tell(int* out, void (*fence)(), void (*second)()) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        out[0] = 5;
        fence();
        out[3] = 7;
        second();
        atomicExch(&out[1], 1);
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 40) {
        while (atomicAdd(&out[1], 0) == 0) {}
        fence();
        out[2] = out[read];
    }
}
__device__ void none() {}
"""
NARROW = {
    "threadfence_block": "__threadfence_block();",
    "membar_cta": 'asm volatile("membar.cta;" ::: "memory");',
    "fence_cta": 'asm volatile("fence.acq_rel.cta;" ::: "memory");',
    "scope_block": "cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_block);",
}
WIDE = {
    "threadfence": "__threadfence();",
    "threadfence_system": "__threadfence_system();",
    "membar_gl": 'asm volatile("membar.gl;" ::: "memory");',
    "fence_gpu": 'asm volatile("fence.acq_rel.gpu;" ::: "memory");',
    "scope_device": "cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);",
}


@pytest.fixture(scope="module")
def module():
    text = FLAG
    for name, fence in {**NARROW, **WIDE}.items():
        text += f"__device__ void f_{name}() {{ {fence} }}\n"
        text += f"__global__ void {name}(int* out) {{ tell<0>(out, f_{name}, none); }}\n"
    for name, read in (("before", 0), ("after", 3)):
        second = "f_threadfence, f_threadfence_block"
        text += f"__global__ void {name}(int* out) {{ tell<{read}>(out, {second}); }}\n"
    text += "__global__ void unfenced(int* out) { tell<0>(out, none, none); }\n"
    return cuda.module(text, name="lesson.cu")


def run(module, name, grid):
    out = np.zeros(8, np.int32)
    with cuda.checks("race"):
        getattr(module, name)[grid, 64](out)
    return out[2]


@pytest.mark.parametrize("name", NARROW)
def test_a_fence_of_block_scope_does_not_order_blocks(module, name):
    assert run(module, name, 1) == 5
    remedy = r"a fence of block scope is for the threads of one block, __threadfence\(\) for all"
    with pytest.raises(KernelError, match=remedy) as caught:
        run(module, name, 2)
    assert (caught.value.kind, caught.value.array) == ("race", "out")


@pytest.mark.parametrize("exact", [False, True])
def test_a_flag_without_fences_is_named_in_the_remedy(module, exact):
    remedy = r"a flag does with __threadfence\(\) before it is set and after it is read"
    out = np.zeros(8, np.int32)
    with pytest.raises(KernelError, match=remedy), cuda.checks("race", exact=exact):
        module.unfenced[2, 64](out)


@pytest.mark.parametrize("name", WIDE)
def test_a_fence_of_device_scope_orders_blocks(module, name):
    assert run(module, name, 2) == 5


def test_a_wide_fence_covers_what_was_written_before_it(module):
    assert run(module, "before", 2) == 5
    with pytest.raises(KernelError, match=r"out\[3\]"):
        run(module, "after", 2)
    assert run(module, "after", 1) == 7
