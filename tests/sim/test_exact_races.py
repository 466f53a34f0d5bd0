"""Tests verdicts of cuda.checks("race", exact=True), which cover all schedules of a launch whose threads are
ordered only by barriers."""

import functools
import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
KERNELS = r"""
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
__global__ void reversal(const int* x, int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void without_barrier(const int* x, int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void flag_of_all(const int* x, int* out) { if (x[threadIdx.x] >= 0) out[0] = 1; }
__global__ void guarded_maximum(const int* x, int* out) {
    if (out[0] < x[threadIdx.x]) atomicMax(&out[0], x[threadIdx.x]);
}
__global__ void histogram(const int* x, int* out) { atomicAdd(&out[x[threadIdx.x] % 4], 1); }
__global__ void read_by_one_after_atomics(const int* x, int* out) {
    atomicAdd(&out[0], 1);
    if (threadIdx.x == 40) out[1] = out[0];
}
__global__ void read_after_a_barrier(const int* x, int* out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = sum;
}
__global__ void reductions(const int* x, int* out) {
    atomicMin(&out[0], x[threadIdx.x]); atomicMax(&out[1], x[threadIdx.x]);
    atomicMin((unsigned*)&out[2], 5u); atomicMax((long long*)&out[4], 7ll);
    atomicAnd(&out[6], 5); atomicOr(&out[7], 6); atomicXor(&out[8], 7);
    atomicAdd(&out[9], 2); atomicSub(&out[9], 1); atomicAdd((unsigned long long*)&out[10], 3ull);
    __nv_atomic_add(&out[12], 4, __NV_ATOMIC_RELAXED);
    cuda::atomic_ref<int, cuda::thread_scope_device> r(out[13]), s(out[14]);
    r.fetch_add(1); r += 3; ++r; s.fetch_max(x[threadIdx.x], cuda::memory_order_relaxed);
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&out[15]) : "memory");
}
__global__ void sums_that_are_not_read(const int* x, int* out) {
    float* sums = reinterpret_cast<float*>(out);
    atomicAdd(&sums[0], 0.1f); atomicAdd((double*)&sums[2], 0.1);
    atomicInc((unsigned*)&out[4], 9u); atomicExch(&out[5], threadIdx.x);
}
__global__ void sum_of_reals_that_is_read(const int* x, int* out) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, 0.1f);
    __syncthreads();
    out[threadIdx.x] = (int)sum;
}
__global__ void two_operations(const int* x, int* out) {
    atomicAdd(&out[0], 1); atomicMax(&out[0], x[threadIdx.x]);
}
__global__ void two_sizes(const int* x, int* out) {
    if (threadIdx.x % 2) atomicAdd(&out[0], 1);
    else atomicAdd((unsigned long long*)&out[0], 1ull);
}
__global__ void old_value_in_an_index(const int* x, int* out) {
    out[1 + atomicAdd(&out[0], 1)] = x[threadIdx.x];
}
__global__ void old_value_in_a_branch(const int* x, int* out) {
    cuda::atomic_ref<int> r(out[0]);
    if (r.fetch_add(1) == 5) out[1] = 1;
}
__global__ void load_during_a_reduction(const int* x, int* out) {
    atomicAdd(&out[0], 1);
    if (threadIdx.x == 40) out[1] = cuda::atomic_ref<int>(out[0]).load();
}
__device__ int user(int* x, int v) { int old = atomicAdd(x, v); if (old == 7) x[1] = 1; return old; }
__global__ void old_value_in_a_function(const int* x, int* out) { user(out, 1); }
__global__ void reduction_that_releases_nothing(const int* x, int* out) {
    if (threadIdx.x == 0) { out[1] = 5; __threadfence(); }
    atomicAdd(&out[0], 1);
    __threadfence();
    if (threadIdx.x == 40) out[2] = out[1];
}
__global__ void third_reader(const int* x, int* out) {
    __shared__ int s;
    int t = threadIdx.x;
    if (t == 0) s = 5;
    __syncthreads();
    if (t < 3) out[t] = s;
    if (t == 0 || t == 1) __syncwarp(3);
    if (t == 0) s = 6;
}
__global__ void ordered_readers(const int* x, int* out) {
    __shared__ int s;
    int t = threadIdx.x;
    if (t == 0) s = 5;
    __syncthreads();
    if (t < 3) out[t] = s;
    if (t < 3) __syncwarp(7);
    if (t == 0) s = 6;
}
__global__ void active_lanes(const int* x, int* out) { out[threadIdx.x] = __activemask(); }
__global__ void reader_of_each_block(const int* x, int* out) {
    out[1 + blockIdx.x * blockDim.x + threadIdx.x] = out[0];
    if (blockIdx.x == 3 && threadIdx.x == 0) out[0] = 7;
}
__global__ void tiles(const int* x, int* out) {
    __shared__ int s[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    int t = threadIdx.x, k = t ^ 63;
    s[t] = x[t];
    tile.sync();
    out[t] = s[k];
}
__global__ void half_a_tile(const int* x, int* out) {
    __shared__ int s[128];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x, k = t ^ 63;
    s[t] = x[t];
    tile.sync();
    out[t] = s[k];
}
__global__ void whole_grid(int* x, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = i;
    cg::this_grid().sync();
    out[i] = x[n - 1 - i];
    cg::this_grid().sync();
    x[i] = 0;
}
__global__ void grid_before_the_last_step(int* x, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = i;
    cg::this_grid().sync();
    out[i] = x[n - 1 - i];
    x[i] = 0;
}
__global__ void bytes(const int* x, int* out) { reinterpret_cast<char*>(out)[threadIdx.x] = 1; }
__global__ void overlapping_bytes(const int* x, int* out) {
    reinterpret_cast<char*>(out)[threadIdx.x / 2] = 1;
}
__global__ void past_the_end(const int* x, int* out) { out[4096 + 64 * threadIdx.x] = 1; }
"""
NAMES = [line.partition("(")[0].split()[-1] for line in KERNELS.split("\n") if "__global__" in line]
GRIDS = {"reader_of_each_block": (4, 32), "tiles": (1, 128), "half_a_tile": (1, 128)}
GRIDS.update(dict.fromkeys(["whole_grid", "grid_before_the_last_step"], (3, 32)))
RACY = {
    "without_barrier": "no barrier",
    "flag_of_all": "writes out.0.",
    "guarded_maximum": "with an atomic",
    "read_by_one_after_atomics": "out.0.",
    "third_reader": "__syncwarp",
    "reader_of_each_block": "nothing that orders the blocks",
    "half_a_tile": "no barrier",
    "grid_before_the_last_step": "x.",
    "overlapping_bytes": "out",
    "reduction_that_releases_nothing": "out.1.",
}
ATOMIC = {
    "sum_of_reals_that_is_read",
    "two_operations",
    "two_sizes",
    "active_lanes",
    "load_during_a_reduction",
}
ATOMIC |= {"old_value_in_an_index", "old_value_in_a_branch", "old_value_in_a_function"}


@functools.cache
def race_module():
    return cuda.module(KERNELS, opt=1)


def launch_checked(name, **options):
    """Returns the checks after a launch of this kernel, and its KernelError."""
    grid, block = GRIDS.get(name, (1, 64))
    checks = cuda.checks("race", "hang", exact=True, **options)
    x, out = (
        cuda.to_device(np.arange(4096, dtype=np.int32)),
        cuda.to_device(np.zeros(4096, np.int32)),
    )
    error = None
    try:
        with checks:
            race_module()[name][grid, block](x, out)
    except KernelError as problem:
        error = problem
    return checks, error


@pytest.mark.parametrize("name", RACY)
def test_unordered_access_pairs_are_races(name):
    checks, error = launch_checked(name)
    assert checks.verdict.kind == "races" and str(checks.verdict) == "races"
    assert error.kind == "race" and error.verdict == "races"
    assert error.other_thread is not None
    assert re.search(RACY[name], str(error)), error


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {*RACY, *ATOMIC, "past_the_end"}])
def test_barriers_alone_decide_every_schedule(name):
    checks, error = launch_checked(name)
    assert error is None
    assert checks.verdict == (name, "no schedule races", 1, 1)
    assert str(checks.verdict) == "no schedule of this launch races"


@pytest.mark.parametrize("name", sorted(ATOMIC))
def test_used_atomic_results_leave_the_verdict_undecided(name):
    checks, error = launch_checked(name)
    assert error is None
    assert checks.verdict.kind == "depends on atomics"
    assert str(checks.verdict).startswith("depends on atomics: ")


@cuda.jit
def python_reductions(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, x[i] % 4, 1)
    cuda.atomic.max(out, 5, x[i])
    cuda.atomic.min(out, 6, x[i])


@cuda.jit
def python_ticket(x, out):
    out[1 + cuda.atomic.add(out, 0, 1)] = x[cuda.grid(1)]


@pytest.mark.parametrize(
    "kernel, verdict",
    [(python_reductions, "no schedule races"), (python_ticket, "depends on atomics")],
)
def test_python_reductions_have_an_exact_verdict(kernel, verdict):
    x, out = (cuda.to_device(a) for a in (np.arange(64, dtype=np.int32), np.zeros(80, np.int32)))
    with cuda.checks("race", exact=True, budget=0) as checks:
        kernel[2, 32](x, out)
    assert checks.verdict.kind == verdict
    if kernel is python_reductions:
        assert out.copy_to_host()[:7].tolist() == [16, 16, 16, 16, 0, 63, 0]


def test_exact_checks_keep_reduction_results():
    x, out = (cuda.to_device(a) for a in (np.arange(64, dtype=np.int32), np.zeros(64, np.int32)))
    for checks in (cuda.checks("race", exact=True), cuda.checks("race"), cuda.checks()):
        out.copy_to_device(np.zeros(64, np.int32))
        with checks:
            race_module()["reductions"][1, 64](x, out)
        assert out.copy_to_host()[:16].tolist() == [
            0,
            63,
            0,
            0,
            7,
            0,
            0,
            6,
            0,
            64,
            192,
            0,
            256,
            320,
            63,
            64,
        ]


def test_default_race_check_accepts_harmless_races():
    for name in ("flag_of_all", "guarded_maximum"):
        with cuda.checks("race"):
            x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
            race_module()[name][1, 64](x, out)


def test_a_launch_that_fails_for_another_reason_is_undecided():
    checks, error = launch_checked("past_the_end")
    assert error.kind == "memory" and error.verdict is None
    assert checks.verdict.kind == "undecided"


def test_verdict_of_each_kernel_is_reported():
    x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
    with cuda.checks("race", exact=True) as checks:
        for name in ("reversal", "bytes", "reversal", "two_operations"):
            race_module()[name][1, 64](x, out)
        with pytest.raises(RuntimeError, match="after its block"):
            _ = checks.verdict
    by_name = {one.kernel: one for one in checks.verdicts}
    assert by_name["reversal"].launches == 2
    assert str(by_name["reversal"]) == "no schedule of these launches races"
    assert checks.verdict.kind == "depends on atomics" and checks.verdict.launches == 4
    with cuda.checks("race", exact=True) as checks:
        pass
    assert checks.verdict is None and checks.verdicts == ()


def test_exact_option_requires_the_race_check():
    with pytest.raises(ValueError, match="race"):
        cuda.checks("memory", exact=True)
    with cuda.checks("race") as checks:
        pass
    with pytest.raises(AttributeError, match="exact=True"):
        _ = checks.verdict
