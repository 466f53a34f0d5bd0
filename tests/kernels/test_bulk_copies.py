"""Tests barriers of PTX (mbarrier) and bulk copies, by PTX and by libcu++."""

import re

import numpy as np
import pytest
from kernels import test_clusters
from kernels.test_async_copies import check_contexts
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import nvrtc
from numbalite.compilers.source import Source
from numbalite.errors import CompileError

SOURCE = r"""
#include <cuda/barrier>
#define AT(x) ((unsigned)__cvta_generic_to_shared(x))

__device__ void wait_for(unsigned long long *b, unsigned parity) {
    asm volatile("{\n .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\n bra again;\n over:\n}" :: "r"(AT(b)), "r"(parity) : "memory");
}
/* Two tiles come in, are turned round, added to what is there, and one is stored. */
__global__ void tiles(const int *x, int *sums, int *out) {
    __shared__ alignas(16) int s[2][64];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(&full)), "r"(1));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(AT(&full)), "r"(256));
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         :: "r"(AT(s[k])), "l"(x + 64 * k), "r"(256), "r"(AT(&full)) : "memory");
        }
        wait_for(&full, k);
        __syncthreads(); // no thread still waits for this phase when the phase after the next ends
    }
    int v = s[0][63 - t] + s[1][t];
    __syncthreads();
    s[0][t] = v;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(out), "r"(AT(s[0])), "r"(256) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
                     :: "l"(sums), "r"(AT(s[0])), "r"(256) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
/* What states tell. */
__global__ void states(unsigned *out) {
    __shared__ unsigned long long b;
    if (threadIdx.x) return;
    unsigned long long state;
    unsigned n[6], at = AT(&b);
    asm volatile("mbarrier.init.shared.b64 [%0], 3;" :: "r"(at));
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at));
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n[0]) : "l"(state));
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(n[1]) : "r"(at), "l"(state));
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(at));
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 32;" :: "r"(at));
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at));
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(n[2]) : "r"(at), "l"(state));
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 32;" :: "r"(at));
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(n[3]) : "r"(at), "l"(state));
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 2;" : "=l"(state) : "r"(at));
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n[4]) : "l"(state));
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 1; selp.u32 %0, 1, 0, p;}" : "=r"(n[5]) : "r"(at));
    asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at));
    for (int i = 0; i < 6; i++) out[i] = n[i];
}
__global__ void by_barrier(const int *x, int *out) {
    __shared__ alignas(16) int s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, 64);
    __syncthreads();
    auto token = threadIdx.x ? b.arrive() : cuda::device::barrier_arrive_tx(b, 1, sizeof s);
    if (threadIdx.x == 0)
        cuda::device::memcpy_async_tx(s, x, cuda::aligned_size_t<16>(sizeof s), b);
    b.wait(static_cast<decltype(token) &&>(token));
    out[threadIdx.x] = s[63 - threadIdx.x];
}
/* The first block brings a tile for both. */
__global__ void __cluster_dims__(2) everywhere(const int *x, int *out) {
    __shared__ alignas(16) int s[32];
    __shared__ unsigned long long full;
    unsigned rank, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(AT(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(AT(&full)));
    }
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    if (t == 0 && rank == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 128, [%2], %3;"
                     :: "r"(AT(s)), "l"(x), "r"(AT(&full)), "h"((unsigned short)3) : "memory");
    wait_for(&full, 0);
    out[blockIdx.x * 32 + t] = s[31 - t];
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
/* Each block stores into the other one. */
__global__ void __cluster_dims__(2) from_afar(int *out) {
    __shared__ int s[32];
    __shared__ unsigned long long full;
    unsigned rank, t = threadIdx.x, to, at;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(AT(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(AT(&full)));
    }
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(AT(s + t)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(AT(&full)), "r"(rank ^ 1));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];"
                 :: "r"(to), "r"(rank * 100 + t), "r"(at) : "memory");
    wait_for(&full, 0);
    out[blockIdx.x * 32 + t] = s[t];
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
"""


@pytest.fixture(scope="module")
def bulk_copy_module():
    if not cuda.is_simulated() and cuda.get_current_device().compute_capability < (9, 0):
        pytest.skip("needs compute capability 9.0")
    return cuda.module(SOURCE)


def test_bulk_copies_transfer_global_and_shared_memory(bulk_copy_module):
    x = np.random.default_rng(0).integers(-999, 999, 128).astype(np.int32)
    want = x[63::-1] + x[64:]
    for looks in check_contexts():
        with looks:
            given, sums = cuda.to_device(x), cuda.to_device(x[:64])
            out = cuda.device_array(64, np.int32)
            bulk_copy_module.tiles[1, 64](given, sums, out)
            np.testing.assert_array_equal(out.copy_to_host(), want)
            np.testing.assert_array_equal(sums.copy_to_host(), want + x[:64])
            bulk_copy_module.by_barrier[1, 64](given, out)
            np.testing.assert_array_equal(out.copy_to_host(), x[63::-1])
            bulk_copy_module.everywhere[2, 32](given, out)
            np.testing.assert_array_equal(out.copy_to_host(), np.tile(x[31::-1], 2))
            bulk_copy_module.from_afar[2, 32](out)
            np.testing.assert_array_equal(out.copy_to_host(), [*range(100, 132), *range(32)])


def test_barrier_state_follows_arrivals(bulk_copy_module):
    for looks in check_contexts():
        with looks:
            out = cuda.device_array(6, np.uint32)
            bulk_copy_module.states[1, 32](out)
            assert out.copy_to_host().tolist() == [3, 0, 0, 1, 2, 1]


@pytest.mark.sim
def test_unsupported_tensor_maps_are_named_in_the_error():
    """Kernels with a tensor map as parameter compile; copies by it do not."""
    source = """#include <cuda.h>
    __global__ void k(const __grid_constant__ CUtensorMap m, unsigned *s) {
        s[0] = sizeof m + alignof(CUtensorMap);
        asm("%s" :: "r"(0), "l"(&m), "r"(0), "r"(0));
    }"""
    out = np.zeros(1, np.uint32)
    cuda.module(source % "").k[1, 1](np.zeros((), "V128")[()], out)
    assert out[0] == 128 + 64
    what = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
    with pytest.raises(CompileError, match=f"inline PTX .*{what} cannot run on the CPU simulator"):
        _ = cuda.module(source % f"{what} [%0], [%1, {{%2}}], [%3];").k


@needs_nvrtc
@pytest.mark.parametrize("source", [SOURCE, test_clusters.SOURCE], ids=["bulk", "clusters"])
def test_nvrtc_compiles_the_bulk_copy_source(source):
    kernels = tuple(re.findall(r"__global__ void (?:__\w+\(.*?\) )?(\w+)", source))
    assert nvrtc.compile(Source(source, "k.cu", kernels, describe=False), (9, 0)).data
