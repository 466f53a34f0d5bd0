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
# Loops in which a thread waits for a flag; below, operations that order the thread's later reads.
READS = {
    "atomic": "while (atomicAdd(&out[1], 0) == 0) {}",
    "volatile": "while (*(volatile int*)&out[1] == 0) {}",
    "relaxed": "while (cuda::atomic_ref<int>(out[1]).load(cuda::memory_order_relaxed) == 0) {}",
    "compare": "while (atomicCAS(&out[1], 1, 2) != 1) {}",
    "asm": 'for (int seen = 0; !seen;) asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(&out[1]));',
}
AFTER = {
    "": False,
    "__threadfence();": True,
    "cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);": True,
    "__threadfence_block();": False,
    "__syncwarp();": True,
    "__syncthreads();": True,
}
ACQUIRES = {
    "load": "while (cuda::atomic_ref<int>(out[1]).load(cuda::memory_order_acquire) == 0) {}",
    "asm_acquire": 'for (int seen = 0; !seen;) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(&out[1]) : "memory");',
}
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
def fence_module():
    text = FLAG
    for name, fence in {**NARROW, **WIDE}.items():
        text += f"__device__ void f_{name}() {{ {fence} }}\n"
        text += f"__global__ void {name}(int* out) {{ tell<0>(out, f_{name}, none); }}\n"
    for name, read in (("before", 0), ("after", 3)):
        second = "f_threadfence, f_threadfence_block"
        text += f"__global__ void {name}(int* out) {{ tell<{read}>(out, {second}); }}\n"
    text += "__global__ void unfenced(int* out) { tell<0>(out, none, none); }\n"
    return cuda.module(text, name="lesson.cu")


def run_with_race_check(module, name, grid):
    out = np.zeros(8, np.int32)
    with cuda.checks("race"):
        getattr(module, name)[grid, 64](out)
    return out[2]


@pytest.fixture(scope="module")
def reader_module():
    text, right = "#include <cuda/atomic>\n", {}
    for read, loop in {**READS, **ACQUIRES}.items():
        for n, (fence, orders) in enumerate(AFTER.items()):
            right[f"{read}{n}"] = orders or read in ACQUIRES
            text += f"""__global__ void {read}{n}(int* out) {{
                if (blockIdx.x == 0) {{ out[0] = 5; __threadfence(); atomicExch(&out[1], 1); return; }}
                {loop} {fence} out[2 + threadIdx.x] = out[0];
            }}\n"""
    return cuda.module(text, opt=1), right


def test_reader_without_a_fence_races(reader_module):
    module, right = reader_module
    for name, orders in right.items():
        out, error = np.zeros(8, np.int32), None
        checks = cuda.checks("race", exact=True, budget=0)
        try:
            with checks:
                module[name][2, 1](out)
        except KernelError as problem:
            error = problem
        assert (error is None) == orders, (name, error)
        assert checks.verdict.kind == ("depends on atomics" if orders else "races")
        if error:
            assert "reads out[0]" in str(error) and "__threadfence()" in str(error)
        else:
            assert out[2] == 5
        with cuda.checks(
            "race"
        ):  # no report without exact=True, because most GPUs order a load after a flag
            module[name][2, 1](out)


@pytest.mark.parametrize("name", NARROW)
def test_a_fence_of_block_scope_does_not_order_blocks(fence_module, name):
    assert run_with_race_check(fence_module, name, 1) == 5
    remedy = r"a fence of block scope is for the threads of one block, __threadfence\(\) for all"
    with pytest.raises(KernelError, match=remedy) as caught:
        run_with_race_check(fence_module, name, 2)
    assert (caught.value.kind, caught.value.array) == ("race", "out")


@pytest.mark.parametrize("exact", [False, True])
def test_a_flag_without_fences_is_named_in_the_remedy(fence_module, exact):
    remedy = r"a flag does with __threadfence\(\) before it is set and after it is read"
    out = np.zeros(8, np.int32)
    with pytest.raises(KernelError, match=remedy), cuda.checks("race", exact=exact):
        fence_module.unfenced[2, 64](out)


@pytest.mark.parametrize("name", WIDE)
def test_a_fence_of_device_scope_orders_blocks(fence_module, name):
    assert run_with_race_check(fence_module, name, 2) == 5


def test_a_wide_fence_covers_what_was_written_before_it(fence_module):
    assert run_with_race_check(fence_module, "before", 2) == 5
    with pytest.raises(KernelError, match=r"out\[3\]"):
        run_with_race_check(fence_module, "after", 2)
    assert run_with_race_check(fence_module, "after", 1) == 7
