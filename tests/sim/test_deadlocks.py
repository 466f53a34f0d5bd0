"""cuda.checks("race", exact=True) immediately reports waits that no thread can end, and no wait
that a thread ends."""

import functools

import numpy as np
import pytest

from numbalite import config, cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
KERNELS = r"""
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
typedef cuda::barrier<cuda::thread_scope_block> barrier;
__device__ void lock(int* x) { while (atomicCAS(x, 0, 1)) {} __threadfence(); }
__device__ void unlock(int* x) { __threadfence(); atomicExch(x, 0); }
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
__global__ void waits_and_stores_one_value(int* x, int* out) {
    if (threadIdx.x == 0) while (atomicAdd(&x[0], 0) == 0) { out[1] = 5; atomicExch(&x[2], 1); }
}
__global__ void flag_of_another_block(int* x, int* out) {
    if (blockIdx.x == 0) while (atomicAdd(&x[0], 0) == 0) {}
    else if (threadIdx.x == 3) while (atomicAdd(&x[1], 0) == 0) {}
    __syncthreads();
}
__global__ void more_blocks_than_are_listed(int* x, int* out) {
    while (atomicAdd(&x[blockIdx.x], 0) == 0) {}
}
__global__ void barrier_for_one_more(int* x, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, blockDim.x + 1);
    __syncthreads();
    b.arrive_and_wait();
}
__global__ void arrival_that_is_missing(int* x, int* out) {
    __shared__ barrier b;
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 33) return;
    b.arrive_and_wait();
}
__global__ void waits_for_its_own_arrival(int* x, int* out) {
    __shared__ barrier b;
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 33) b.wait_parity(false);
    (void)b.arrive();
    out[threadIdx.x] = 1;
}
__global__ void both_roles_wait(int* x, int* out) {
    __shared__ barrier full, empty;
    if (threadIdx.x == 0) { init(&full, 32); init(&empty, 32); }
    __syncthreads();
    if (threadIdx.x < 32) { empty.wait_parity(false); (void)full.arrive(); }
    else { full.wait_parity(false); (void)empty.arrive(); }
}
__global__ void barrier_of_too_many(int* x, int* out) {
    asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = 1;
}
__global__ void more_bytes_than_the_copy_has(int* x, int* out) {
    __shared__ alignas(16) int s[32];
    __shared__ barrier b;
    if (threadIdx.x == 0) init(&b, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        (void)cuda::device::barrier_arrive_tx(b, 1, 256);
        cuda::device::memcpy_async_tx(s, x, cuda::aligned_size_t<16>(128), b);
    }
    b.wait_parity(false);
    out[threadIdx.x] = s[0];
}
__global__ void __cluster_dims__(2) flag_after_the_cluster_barrier(int* x, int* out) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    if (cluster.block_rank() == 0) {
        cluster.sync();
        atomicExch(cluster.map_shared_rank(&flag, 1), 1);
    } else {
        while (atomicAdd(&flag, 0) == 0) {}
        cluster.sync();
    }
    cluster.sync();
}
__global__ void flag_after_the_grid_barrier(int* x, int* out) {
    if (blockIdx.x == 0) {
        cg::this_grid().sync();
        atomicExch(&x[0], 1);
    } else {
        while (atomicAdd(&x[0], 0) == 0) {}
        cg::this_grid().sync();
    }
}
__global__ void lanes_wait_for_each_other(int* x, int* out) {
    if (threadIdx.x == 3) while (atomicAdd(&x[0], 0) == 0) {}
    __syncwarp();
    if (threadIdx.x == 4) atomicExch(&x[0], 1);
}
__global__ void locks_in_two_orders(int* x, int* out) {
    if (threadIdx.x % 32) return;
    int first = threadIdx.x / 32;
    lock(&x[first]);
    lock(&x[1 - first]);
    out[0] += 1;
    unlock(&x[1 - first]);
    unlock(&x[first]);
}
__global__ void locks_of_blocks_in_two_orders(int* x, int* out) {
    if (threadIdx.x) return;
    lock(&x[blockIdx.x]);
    lock(&x[1 - blockIdx.x]);
    out[0] += 1;
    unlock(&x[1 - blockIdx.x]);
    unlock(&x[blockIdx.x]);
}
__global__ void flag_that_is_reset_too_early(int* x, int* out) {
    /* the flag is seen only by a thread that looks between the two steps */
    if (threadIdx.x == 0) { atomicExch(&x[0], 1); atomicExch(&x[0], 0); }
    if (threadIdx.x == 32) { atomicAdd(&x[1], 0); if (atomicAdd(&x[0], 0)) while (atomicAdd(&x[2], 0) == 0) {} }
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
SHAPES = {
    "flag_after_the_cluster_barrier": (2, 4),
    "flag_after_the_grid_barrier": (2, 4),
    "locks_of_blocks_in_two_orders": (2, 4),
}
SHAPES |= {"flag_of_another_block": (2, 8), "more_blocks_than_are_listed": (7, 8)}
SHAPES |= {"lock_of_another_block": (3, 32), "set_by_the_last_block": (4, 1), "gives_up": (1, 2)}
STUCK = {
    "flag_that_is_never_set": ("thread 0 ", "__syncthreads"),
    "volatile_flag": ("thread 32 ", "x"),
    "lock_that_is_never_released": ("thread 32 ", "x"),
    "lock_of_another_block": ("thread 0 spinning", "; block (2,0,0): thread 0 spinning"),
    "flag_of_another_block": (
        "threads 0-7 ",
        "after an access of x[0]",
        "thread 3 ",
        "x[1]",
        "threads 0-2, 4-7 ",
        "__syncthreads",
    ),
    "more_blocks_than_are_listed": ("; and threads of 2 more blocks",),
    "waits_and_stores_one_value": ("thread 0 ",),
    "barrier_for_one_more": ("threads 0-63 ", "spinning"),
    "arrival_that_is_missing": ("threads 0-32, 34-63 ", "b"),
    "waits_for_its_own_arrival": ("thread 33 ", "b"),
    "both_roles_wait": ("threads 0-31 ", "empty", "threads 32-63 ", "full"),
    "barrier_of_too_many": ("threads 0-63 ", "the barriers with numbers"),
    "more_bytes_than_the_copy_has": ("threads 0-63 ", "b"),
    "flag_after_the_cluster_barrier": ("threads 0-3", "flag"),
    "flag_after_the_grid_barrier": ("threads 0-3", "x", "the barrier over the grid"),
    "lanes_wait_for_each_other": ("thread 3 ", "__syncwarp"),
}
# Only in some schedules.
STUCK_LATER = [
    "locks_in_two_orders",
    "locks_of_blocks_in_two_orders",
    "flag_that_is_reset_too_early",
]
RIGHT = ["gives_up", "set_by_the_last_thread", "set_by_the_last_block", "set_after_many_barriers"]


@functools.cache
def deadlock_module():
    return cuda.module(KERNELS, opt=1)


def launch_checked(name, budget=0):
    x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
    checks = cuda.checks("race", "hang", exact=True, budget=budget, limit=600)
    with checks:
        deadlock_module()[name][SHAPES.get(name, (1, 64))](x, out)
    return checks, out.copy_to_host()


@pytest.mark.parametrize("name", STUCK)
def test_a_wait_that_no_thread_can_end_is_reported(name):
    with pytest.raises(KernelError, match="deadlock, no thread can end") as caught:
        launch_checked(name)
    assert caught.value.kind == "hang" and caught.value.line
    for words in STUCK[name]:
        assert words in str(caught.value), caught.value


@pytest.mark.parametrize("name", RIGHT)
def test_a_wait_that_ends_is_not_reported(name):
    checks, out = launch_checked(name)
    assert checks.verdict.kind == "depends on atomics"
    assert out[0] == (100000 if name == "gives_up" else 1)


@pytest.mark.parametrize("name", STUCK_LATER)
def test_a_deadlock_in_another_schedule_is_found_and_replayed(name, monkeypatch):
    checks, _ = launch_checked(name)
    assert checks.verdict.kind == "depends on atomics"
    with pytest.raises(KernelError, match="deadlock, no thread can end") as caught:
        launch_checked(name, budget=20.0)
    assert caught.value.kind == "hang" and caught.value.schedule.startswith(f"{name}@")
    monkeypatch.setattr(config, "SIM_SCHEDULE", caught.value.schedule)
    with pytest.raises(KernelError, match="deadlock, no thread can end"):
        launch_checked(name)
