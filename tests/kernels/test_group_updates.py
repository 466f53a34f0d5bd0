"""Tests reductions and scans of cooperative groups that update an atomic variable."""

import contextlib

import numpy as np

from numbalite import cuda

SOURCE = """
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
using shared_int = cuda::atomic<int, cuda::thread_scope_block>;
__global__ void k(int *sums, int *inclusive, int *exclusive) {
    __shared__ shared_int total, greatest, before, after;
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    if (t == 0) {
        total.store(1000);
        greatest.store(7);
        before.store(100);
        after.store(50);
    }
    block.sync();
    auto tile = cg::tiled_partition<32>(block);
    cg::reduce_update_async(tile, total, t, cg::plus<int>());
    if (t < 32)
        cg::reduce_store_async(tile, greatest, t, cg::greater<int>());
    if (t < 32) {
        inclusive[t] = cg::inclusive_scan_update(tile, before, t, cg::plus<int>());
        exclusive[t] = cg::exclusive_scan_update(tile, after, t, cg::plus<int>());
    }
    block.sync();
    if (t == 0) {
        sums[0] = total.load();
        sums[1] = greatest.load();
        sums[2] = before.load();
        sums[3] = after.load();
    }
}
"""


def test_group_updates_match_serial_sums():
    sums, inclusive, exclusive = np.zeros(4, np.int32), *np.zeros((2, 32), np.int32)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        cuda.module(SOURCE).k[1, 64](sums, inclusive, exclusive)
    assert sums.tolist() == [1000 + 63 * 32, 31, 100 + 31 * 16, 50 + 31 * 16]
    assert (inclusive == 100 + np.cumsum(np.arange(32))).all()
    assert (exclusive == 50 + np.cumsum(np.arange(32)) - np.arange(32)).all()
