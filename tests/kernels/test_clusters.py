"""Tests thread block clusters: blocks that run concurrently, with a barrier of their own and shared
memory that all of them can access."""

import contextlib

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

SOURCE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) neighbours(const int *x, int *out) {
    __shared__ int unused[3], s[64];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
    if (cluster.block_rank() == 1) unused[t % 3] = 0;
    s[t] = x[blockIdx.x * 64 + t];
    cluster.sync();
    int *other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
    out[blockIdx.x * 64 + t] = other[63 - t] * 10 + cluster.query_shared_rank(other);
    cluster.sync();
}
__global__ void total(int *out, int *places) {
    extern __shared__ int s[];
    auto c = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x + gridDim.x * blockIdx.y;
    s[t] = i * 1000 + t;
    auto token = c.barrier_arrive();
    places[i * blockDim.x + t] = c.block_index().x * 1000 + c.block_index().y * 100 + c.dim_blocks().x * 10 +
                                 c.dim_blocks().y + c.thread_rank() * 10000 + c.num_threads() * 1000000;
    c.barrier_wait(static_cast<decltype(token) &&>(token));
    int sum = 0;
    for (unsigned k = 0; k < c.num_blocks(); k++)
        sum += c.map_shared_rank(s, k)[t];
    c.sync();
    out[i * blockDim.x + t] = sum;
}
/* Threads that end have arrived; so have blocks. */
__global__ void __cluster_dims__(4) some_leave(int *out) {
    __shared__ int s;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) s = 0;
    c.sync();
    atomicAdd(c.map_shared_rank(&s, 0), 1);
    if (c.block_rank() == 3) return;
    if (c.block_rank() > 0 && threadIdx.x % 2) return;
    c.sync();
    if (c.block_rank() == 1 && threadIdx.x == 0) out[blockIdx.x / 4] = *c.map_shared_rank(&s, 0);
    c.sync();
}
__global__ void ptx(int *out) {
    __shared__ int s[32];
    unsigned rank, blocks, at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]), remote, whose, id;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(at), "r"((rank + 1) % blocks));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(whose) : "r"(remote));
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(remote), "r"(rank * 100 + threadIdx.x + id * 1000) : "memory");
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
    out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x] + 10000 * whose;
}
"""


@pytest.fixture(scope="module")
def make_cluster_kernel():
    """Returns make_cluster_kernel(name, **options), which returns a kernel."""
    if not cuda.is_simulated() and cuda.get_current_device().compute_capability < (9, 0):
        pytest.skip("needs compute capability 9.0")
    return lambda name, **options: cuda.jit(source=SOURCE, name=name, **options)


def check_contexts():
    """Yields contexts without checks and, on the simulator, with all checks, in the default block
    order and in a random one."""
    yield contextlib.nullcontext()
    if cuda.is_simulated():
        yield cuda.checks()
        yield cuda.checks(seed=5)


def test_cluster_size_of_the_source_is_used(make_cluster_kernel):
    x = np.arange(256, dtype=np.int32)
    want = x.reshape(4, 64)[[1, 0, 3, 2], ::-1] * 10 + np.array([[1], [0], [1], [0]])
    kernel, leaves = make_cluster_kernel("neighbours"), make_cluster_kernel("some_leave")
    for looks in check_contexts():
        with looks:
            out, sums = np.zeros_like(x), np.zeros(3, np.int32)
            kernel[4, 64](x, out)
            np.testing.assert_array_equal(out, want.ravel())
            leaves[12, 40](sums)
            np.testing.assert_array_equal(sums, 160)
    with pytest.raises(
        ValueError, match="dimension x is 3, which is not a multiple of the cluster's 2"
    ):
        kernel[3, 64](x, out)
    with pytest.raises(
        ValueError, match=r"cluster= is \(4, 1, 1\).*__cluster_dims__ are \(2, 1, 1\)"
    ):
        make_cluster_kernel("neighbours", cluster=4)[4, 64](x, out)


@pytest.mark.parametrize("size, grid", [((8, 1), (8, 1)), ((2, 2), (4, 6)), ((1, 2), (3, 2)), ((1, 1), (3, 1)),
                                        ((16, 1), (32, 1))])  # fmt: skip
def test_cluster_size_of_the_launch_is_used(make_cluster_kernel, size, grid):
    kernel = make_cluster_kernel("total", cluster=size)
    y, x, t = np.meshgrid(np.arange(grid[1]), np.arange(grid[0]), np.arange(32), indexing="ij")
    at = x % size[0] + size[0] * (y % size[1])
    blocks = size[0] * size[1]
    shape = (grid[1] // size[1], size[1], grid[0] // size[0], size[0], 32)
    want = ((y * grid[0] + x) * 1000 + t).reshape(shape).sum((1, 3), keepdims=True)
    want = np.broadcast_to(want, shape).reshape(x.shape)
    places = x % size[0] * 1000 + y % size[1] * 100 + size[0] * 10 + size[1]
    places += (at * 32 + t) * 10000 + blocks * 32 * 1000000
    for looks in check_contexts():
        with looks:
            out, where = np.zeros(x.shape, np.int32), np.zeros(x.shape, np.int32)
            kernel[grid, 32, 0, 128](out, where)
            np.testing.assert_array_equal(out, want)
            np.testing.assert_array_equal(where, places.astype(np.int32))


def test_too_large_clusters_raise(make_cluster_kernel):
    with pytest.raises(
        ValueError, match=r"a cluster of \(17, 1, 1\) has 17 blocks, more than the limit of 16"
    ):
        make_cluster_kernel("total", cluster=17)[17, 32, 0, 128](
            np.zeros(544, np.int32), np.zeros(544, np.int32)
        )


def test_cluster_ptx_reads_other_blocks_shared_memory(make_cluster_kernel):
    kernel = make_cluster_kernel("ptx", cluster=4)
    block, t = np.indices((8, 32))
    want = (block - 1) % 4 * 100 + t + block // 4 * 1000 + (block + 1) % 4 * 10000
    for looks in check_contexts():
        with looks:
            out = np.zeros((8, 32), np.int32)
            kernel[8, 32](out)
            np.testing.assert_array_equal(out, want)


MISTAKES = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *out) {
    __shared__ int s[32];
    cg::cluster_group c = cg::this_cluster();
    int t = threadIdx.x;
    s[t] = blockIdx.x * 1000 + t;
    if (MISTAKE != 1) c.sync();
    int *other = c.map_shared_rank(s, c.block_rank() ^ (MISTAKE == 2 ? 2 : 1));
    int v = other[MISTAKE == 3 ? t + 1 : 31 - t];
    if (MISTAKE == 4 && c.block_rank() == 0 && t < 16) __syncthreads();
    if (MISTAKE != 5) c.sync();
    if (MISTAKE == 6) v += other[t];
    if (MISTAKE == 7) c.barrier_wait();
    if (MISTAKE == 8) c.barrier_arrive(), c.barrier_arrive();
    if (MISTAKE == 9) v = *c.map_shared_rank(out, 0);
    out[blockIdx.x * 32 + t] = v;
}
"""


@pytest.mark.sim
@pytest.mark.parametrize("mistake, kind, text", [
    (1, "race", r"writes s\[\d+\].* of block \(1,0,0\) reads it .*cluster.sync\(\)"),
    (2, "memory", "the rank 2 is outside of the cluster, which has 2"),
    (3, "memory", r"reads s\[32\] of block \(1,0,0\), but s has 32 elements"),
    (4, "sync", "threads 0-15 .* in __syncthreads; threads 16-31 .* in the barrier of the cluster"),
    (5, None, r"reads s\[\d+\] of block \(0,0,0\), (but that block has|which may have) ended"),
    (6, None, r"reads s\[\d+\] of block \(\d,0,0\), (but that block has|which may have) ended"),
    (7, "sync", "waits at the barrier of its cluster without having arrived"),
    (8, "sync", "arrives at the barrier of its cluster again before it has waited"),
    (9, "memory", "an address that is not in shared memory has no counterpart"),
])  # fmt: skip
def test_cluster_mistakes_are_reported(mistake, kind, text):
    kernel = cuda.jit(source=MISTAKES, name="k", options=[f"-DMISTAKE={mistake}"], cluster=2)
    for seed in (None, 3) if kind is None else (None,):
        with pytest.raises(KernelError, match=text) as caught, cuda.checks(seed=seed):
            kernel[2, 32](np.zeros(64, np.int32))
        assert caught.value.kind == (kind or caught.value.kind)


def test_cluster_size_may_be_a_template_parameter(make_cluster_kernel):
    m = cuda.module(
        """#include <cooperative_groups.h>
        template <int n, typename T> __global__ void __cluster_dims__(n, 1, 1) sizes(T *out) {
            out[blockIdx.x] = cooperative_groups::this_cluster().num_blocks();
        }""",
        names=["sizes<2, int>", "sizes<4, float>"],
    )
    for name, dtype, size in (("sizes<2, int>", "i4", 2), ("sizes<4, float>", "f4", 4)):
        out = np.zeros(4, dtype)
        m[name][4, 1](out)
        assert (out == size).all()
