"""cuda.checks("race", exact=True): verdicts, which decide each schedule of a launch whose threads only barriers order."""

import functools
import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
KERNELS = r"""
#include <cooperative_groups.h>
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
}
ATOMIC = {"histogram", "read_after_a_barrier", "active_lanes"}


@functools.cache
def module():
    return cuda.module(KERNELS, opt=1)


def launch(name, **options):
    """The checks after a launch of this kernel, and its KernelError."""
    grid, block = GRIDS.get(name, (1, 64))
    checks = cuda.checks("race", "hang", exact=True, **options)
    x, out = (
        cuda.to_device(np.arange(4096, dtype=np.int32)),
        cuda.to_device(np.zeros(4096, np.int32)),
    )
    error = None
    try:
        with checks:
            module()[name][grid, block](x, out)
    except KernelError as problem:
        error = problem
    return checks, error


@pytest.mark.parametrize("name", RACY)
def test_each_pair_that_nothing_orders_is_a_race(name):
    checks, error = launch(name)
    assert checks.verdict.kind == "races" and str(checks.verdict) == "races"
    assert error.kind == "race" and error.verdict == "races"
    assert error.other_thread is not None
    assert re.search(RACY[name], str(error)), error


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {*RACY, *ATOMIC, "past_the_end"}])
def test_barriers_alone_decide_every_schedule(name):
    checks, error = launch(name)
    assert error is None
    assert checks.verdict == (name, "no schedule races", 1, 1)
    assert str(checks.verdict) == "no schedule of this launch races"


@pytest.mark.parametrize("name", sorted(ATOMIC))
def test_atomics_of_several_threads_are_not_decided_by_one_schedule(name):
    checks, error = launch(name)
    assert error is None
    assert checks.verdict.kind == "depends on atomics"
    assert str(checks.verdict).startswith("depends on atomics: ")


def test_the_default_accepts_what_is_harmless_in_most_programs():
    for name in ("flag_of_all", "guarded_maximum"):
        with cuda.checks("race"):
            x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
            module()[name][1, 64](x, out)


def test_a_launch_that_fails_for_another_reason_is_undecided():
    checks, error = launch("past_the_end")
    assert error.kind == "memory" and error.verdict is None
    assert checks.verdict.kind == "undecided"


def test_there_is_a_verdict_for_each_kernel():
    x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
    with cuda.checks("race", exact=True) as checks:
        for name in ("reversal", "bytes", "reversal", "histogram"):
            module()[name][1, 64](x, out)
        with pytest.raises(RuntimeError, match="when its block has ended"):
            _ = checks.verdict
    by_name = {one.kernel: one for one in checks.verdicts}
    assert by_name["reversal"].launches == 2
    assert str(by_name["reversal"]) == "no schedule of these launches races"
    assert checks.verdict.kind == "depends on atomics" and checks.verdict.launches == 4
    with cuda.checks("race", exact=True) as checks:
        pass
    assert checks.verdict is None and checks.verdicts == ()


def test_exact_is_for_races():
    with pytest.raises(ValueError, match="race"):
        cuda.checks("memory", exact=True)
    with cuda.checks("race") as checks:
        pass
    with pytest.raises(AttributeError, match="exact=True"):
        _ = checks.verdict
