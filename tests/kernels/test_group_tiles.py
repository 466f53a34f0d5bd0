"""Tests tiles of cooperative groups, also of several warps, and parts of tiles, on the driver of the
session."""

import contextlib

import numpy as np
import pytest

from numbalite import cuda, errors

THREADS = 1024
SIZES = 64, 128, 256, 512, 1024
SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
struct wide { short a, b, c; };
template <unsigned N> __global__ void tiles(const int *x, int *out) {
    __shared__ cg::block_tile_memory<1024> memory;
    __shared__ int s[1024];
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<N>(block);
    cg::thread_block_tile<N> same = tile;
    int me = block.thread_rank(), rank = tile.thread_rank(), v = x[me], row = 0;
    auto put = [&](int value) { out[row++ * block.size() + me] = value; };
    s[me] = v;
    tile.sync();
    put(s[me - rank + N - 1 - rank]);
    put(cg::reduce(tile, v, cg::plus<int>()));
    put(cg::reduce(same, v, [](int a, int b) { return a < b ? b : a; }));
    put(cg::inclusive_scan(tile, v));
    put(cg::exclusive_scan(tile, v, cg::plus<int>()));
    put(cg::inclusive_scan(tile, v, cg::greater<int>()));
    put(tile.shfl(v, N - 3) + tile.shfl(wide{1, 2, (short)v}, N / 2 + 1).c);
    put(2 * tile.any(v == 77) + tile.all(v != 77));
    put(100 * same.meta_group_rank() + same.meta_group_size());
    auto part = cg::tiled_partition<N / 4>(tile);
    put(100 * part.meta_group_rank() + cg::reduce(part, 1, cg::plus<int>()));
    put(cg::invoke_one_broadcast(tile, [&] { return s[me] + 1; }));
}
__global__ void sums(const float *x, float *out) {
    auto tile = cg::tiled_partition<128>(cg::this_thread_block());
    out[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<float>());
    out[128 + threadIdx.x] = cg::inclusive_scan(tile, x[threadIdx.x], cg::plus<float>());
}
__global__ void parts(int *out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int me = block.thread_rank(), row = 0;
    auto put = [&](int value) { out[row++ * block.size() + me] = value; };
    auto token = block.barrier_arrive();
    block.barrier_wait(static_cast<decltype(token) &&>(token));
    auto small = cg::tiled_partition<4>(tile);
    put(10 * small.meta_group_size() + small.meta_group_rank());
    auto yes = cg::binary_partition(tile, me % 3 == 0);
    put(1000 * yes.meta_group_size() + 100 * yes.meta_group_rank() + yes.thread_rank());
    auto label = cg::labeled_partition(tile, (me + 1) % 3);
    put(1000 * label.meta_group_size() + 100 * label.meta_group_rank() + label.thread_rank());
    auto half = cg::tiled_partition(label, 8);
    put(1000 * half.meta_group_size() + 100 * half.meta_group_rank() + half.thread_rank());
    cg::thread_group eight = cg::tiled_partition(block, 8), two = cg::tiled_partition(eight, 2);
    put(100 * eight.size() + 10 * two.size() + two.thread_rank());
    cg::thread_group any[] = {block, tile, cg::this_thread()};
    int sum = 0;
    for (auto &g : any)
        sum = 10 * sum + (int)(g.size() / 8) + (int)g.get_type();
    put(sum);
}
"""


@pytest.fixture(scope="module")
def tile_kernels():
    return cuda.module(SOURCE, names=[f"tiles<{n}>" for n in SIZES])


def with_checks():
    return cuda.checks() if cuda.is_simulated() else contextlib.nullcontext()


@pytest.mark.parametrize("size", SIZES)
def test_tiles_larger_than_a_warp_match_numpy(tile_kernels, size):
    x = np.random.default_rng(size).integers(0, 200, THREADS).astype(np.int32)
    out = np.zeros((11, THREADS), np.int32)
    with with_checks():
        tile_kernels[f"tiles<{size}>"][1, (32, 32)](x, out)
    tiles, rank = x.reshape(-1, size), np.arange(size)
    is_there = (tiles == 77).any(1, keepdims=True)
    numbers = np.arange(THREADS // size)[:, None]
    expected = [
        tiles[:, ::-1],
        tiles.sum(1, keepdims=True),
        tiles.max(1, keepdims=True),
        tiles.cumsum(1),
        tiles.cumsum(1) - tiles,
        np.maximum.accumulate(tiles, 1),
        tiles[:, [-3]] + tiles[:, [size // 2 + 1]],
        2 * is_there + ~is_there,
        100 * numbers + len(tiles),
        rank // (size // 4) * 100 + size // 4,
        tiles[:, [0]] + 1,
    ]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(
            out[row].reshape(tiles.shape), np.broadcast_to(wanted, tiles.shape), err_msg=str(row)
        )


def test_tile_sums_have_a_fixed_order(tile_kernels):
    """Reduces the 32 lanes of each warp as a butterfly, then the warps; the order determines the
    last bits of the result."""
    x = np.random.default_rng(3).normal(size=128).astype(np.float32)
    out = np.zeros((2, 128), np.float32)
    tile_kernels.sums[1, 128](x, out)

    def butterfly_sum(values):
        while len(values) > 1:
            values = values[: len(values) // 2] + values[len(values) // 2 :]
        return values[0]

    def scan(values):
        step = 1
        while step < len(values):
            values = np.r_[values[:step], values[step:] + values[:-step]]
            step *= 2
        return values

    warps = x.reshape(4, 32)
    assert (out[0] == butterfly_sum(np.array([butterfly_sum(warp) for warp in warps]))).all()
    scans = [scan(warp) for warp in warps]
    before = scan(np.array([one[-1] for one in scans]))
    scans[1:] = [one + sum_ for one, sum_ in zip(scans[1:], before, strict=False)]
    assert (out[1] == np.concatenate(scans)).all()


def test_tile_partitions_have_a_rank(tile_kernels):
    out = np.zeros((6, 64), np.int32)
    tile_kernels.parts[1, 64](out)
    for me in range(64):
        lane, first = me % 32, me // 32 * 32
        same = [i for i in range(first, me) if (i % 3 == 0) == (me % 3 == 0)]
        alike = [i for i in range(first, me) if i % 3 == me % 3]
        label = (me - first) % 3 if not alike else (alike[0] - first) % 3
        count = len([i for i in range(first, first + 32) if i % 3 == me % 3])
        assert out[0, me] == 80 + lane // 4
        assert out[1, me] == 2000 + 100 * (me % 3 == 0) + len(same)
        assert out[2, me] == 3000 + 100 * label + len(alike)
        assert out[3, me] == 1000 * -(-count // 8) + 100 * (len(alike) // 8) + len(alike) % 8
        assert out[4, me] == 820 + me % 2
    assert (out[5] == 10 * (10 * (8 + 4) + (4 + 1)) + 1).all()


@pytest.mark.sim
def test_incomplete_tiles_are_reported(tile_kernels):
    with pytest.raises(errors.KernelError, match="tile of 128 threads .* only 96 from thread 0 on"):
        tile_kernels.sums[1, 96](np.zeros(128, np.float32), np.zeros(256, np.float32))


@pytest.mark.sim
def test_shuffle_sources_that_differ_are_reported():
    """On a GPU, all threads would use the value of one thread."""
    kernel = cuda.jit(
        source="""
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void k(int *out) {
        auto tile = cg::tiled_partition<64>(cg::this_thread_block());
        out[threadIdx.x] = tile.shfl((int)threadIdx.x, threadIdx.x / 40);
    }"""
    )
    with pytest.raises(
        errors.KernelError, match="the value of thread 1, and its thread 0 reads that of 0"
    ) as told:
        kernel[1, 64](np.zeros(64, np.int32))
    assert told.value.line and told.value.thread == (40, 0, 0)
