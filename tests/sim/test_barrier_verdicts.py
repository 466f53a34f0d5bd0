"""Tests verdicts on kernels that are ordered by barriers, clusters, copies and scopes: each kernel
has a race, and a twin without the race."""

import functools

import numpy as np
import pytest
from kit.sample import draw_cases

from numbalite import cuda
from numbalite.compilers import cccl
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
RACES, NONE, ATOMICS = "races", "no schedule races", "depends on atomics"
HEAD = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
namespace cg = cooperative_groups;
typedef cuda::barrier<cuda::thread_scope_block> block_barrier;
typedef cuda::latch<cuda::thread_scope_block> block_latch;
typedef cuda::binary_semaphore<cuda::thread_scope_block> block_semaphore;
typedef unsigned long long word;
__device__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void make(word* b, unsigned n) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n));
}
__device__ word arrive(word* b) {
    word state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at(b)) : "memory");
    return state;
}
__device__ void arrive_expecting(word* b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory");
}
__device__ bool try_parity(word* b, unsigned parity) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over) : "r"(at(b)), "r"(parity) : "memory");
    return over;
}
__device__ void wait_parity(word* b, unsigned parity) { while (!try_parity(b, parity)) {} }
__device__ void copy_bulk(void* to, const void* from, unsigned bytes, word* b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");
}
"""
# name -> (verdict, body of a kernel with parameters x and out, (grid, block), options)
KERNELS = {}


def register_kernel(verdict, body, grid=1, block=64, name=None, **options):
    KERNELS[name] = (verdict, body, (grid, block), options)


def right_and_wrong_kernels(name, right, text, changes, grid=1, block=64, wrong=RACES, **options):
    """`text` is the correct kernel, and `changes` is {mistake: (part of the text, replacement)}."""
    register_kernel(right, text, grid, block, name, **options)
    for what, (old, new) in changes.items():
        assert text.count(old) == 1, (name, what)
        register_kernel(wrong, text.replace(old, new), grid, block, f"{name}_{what}", **options)


MAKE = "__shared__ block_barrier b; if (t == 0) init(&b, blockDim.x); __syncthreads();\n"
right_and_wrong_kernels(
    "barrier",
    NONE,
    "__shared__ int s[64];"
    + MAKE
    + """
    s[t] = x[t];
    auto token = b.arrive();
    b.wait(cuda::std::move(token));
    out[t] = s[63 - t];""",
    {
        "not_waited_for": ("b.wait(cuda::std::move(token));", ""),
        "read_before_the_wait": (
            "b.wait(cuda::std::move(token));",
            "out[t] = s[(t + 7) % 64]; b.wait(cuda::std::move(token));",
        ),
        "written_after_the_arrival": (
            "auto token = b.arrive();",
            "auto token = b.arrive(); s[t] = 2;",
        ),
        "initialized_without_a_barrier": ("__syncthreads();", ""),
    },
)
right_and_wrong_kernels(
    "barrier_of_two_phases",
    NONE,
    "__shared__ int s[64];"
    + MAKE
    + """
    for (int i = 0; i < 5; ++i) {
        s[t] = i;
        b.arrive_and_wait();
        out[t] += s[63 - t];
        b.arrive_and_wait();
    }""",
    {"one_phase": ("out[t] += s[63 - t];\n        b.arrive_and_wait();", "out[t] += s[63 - t];")},
)
right_and_wrong_kernels(
    "barrier_of_producers",
    NONE,
    """
    __shared__ int s[32]; __shared__ block_barrier full, empty;
    if (t == 0) { init(&full, 64); init(&empty, 64); }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < 4; ++i) {
            empty.arrive_and_wait();
            s[t] = i;
            (void)full.arrive();
        }
    } else {
        (void)empty.arrive();
        for (int i = 0; i < 4; ++i) {
            full.arrive_and_wait();
            out[t] += s[63 - t];
            (void)empty.arrive();
        }
    }""",
    {
        "emptied_early": (
            "out[t] += s[63 - t];\n            (void)empty.arrive();",
            "(void)empty.arrive(); out[t] += s[63 - t];",
        )
    },
)
right_and_wrong_kernels(
    "barrier_of_one_warp",
    NONE,
    """
    __shared__ int s[64]; __shared__ block_barrier b;
    if (t == 0) init(&b, 32);
    __syncthreads();
    s[t] = 1;
    if (t < 32) { b.arrive_and_wait(); out[t] = s[31 - t]; }""",
    {"reads_the_other": ("s[31 - t]", "s[63 - t]")},
)
right_and_wrong_kernels(
    "barrier_dropped",
    NONE,
    "__shared__ int s[64];"
    + MAKE
    + """
    s[t] = 1;
    if (t < 16) b.arrive_and_drop();
    else { b.arrive_and_wait(); out[t] = s[63 - t]; b.arrive_and_wait(); }
    """,
    {
        "read_by_the_dropped": (
            "b.arrive_and_drop();",
            "{ b.arrive_and_drop(); out[t] = s[63 - t]; }",
        )
    },
)
right_and_wrong_kernels(
    "barrier_of_the_device",
    NONE,
    """
    typedef cuda::barrier<cuda::thread_scope_device> barrier;
    barrier* b = (barrier*)(x + 256);
    if (blockIdx.x == 0 && t == 0) init(b, gridDim.x * blockDim.x);
    cg::this_grid().sync();
    int i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
    x[i] = i;
    b->arrive_and_wait();
    out[i] = x[n - 1 - i];""",
    {"not_waited_for": ("b->arrive_and_wait();", "(void)b->arrive();")},
    grid=3,
    cooperative=True,
)
right_and_wrong_kernels(
    "barrier_with_a_completion",
    NONE,
    """
    struct sum { int* of; __device__ void operator()() { of[64] = of[0] + of[63]; } };
    __shared__ int s[65];
    typedef cuda::barrier<cuda::thread_scope_block, sum> barrier;
    __shared__ alignas(barrier) char place[sizeof(barrier)];
    barrier* b = (barrier*)place;
    if (t == 0) init(b, blockDim.x, sum{s});
    __syncthreads();
    s[t] = x[t];
    b->arrive_and_wait();
    out[t] = s[64];""",
    {
        "written_early": (
            "s[t] = x[t];",
            "s[t] = x[t]; if (t == 3) s[64] = 1; auto k = b->arrive(); if (t == 4) s[64] = 2; b->wait(cuda::std::move(k)); return;",
        )
    },
)
right_and_wrong_kernels(
    "mbarrier",
    NONE,
    """
    __shared__ int s[64]; __shared__ word b;
    if (t == 0) make(&b, 64);
    __syncthreads();
    for (unsigned i = 0; i < 3; ++i) {
        s[t] = i;
        arrive(&b);
        wait_parity(&b, 0);
        out[t] += s[63 - t];
        arrive(&b);
        wait_parity(&b, 1);
    }""",
    {
        "initialized_without_a_barrier": ("__syncthreads();", ""),
        "wrong_parity": ("wait_parity(&b, 0);", "wait_parity(&b, 1);"),
    },
)
right_and_wrong_kernels(
    "bulk_copy",
    NONE,
    """
    __shared__ alignas(16) int s[64]; __shared__ word b;
    if (t == 0) make(&b, 1);
    __syncthreads();
    if (t == 0) { arrive_expecting(&b, 256); copy_bulk(s, x, 256, &b); }
    wait_parity(&b, 0);
    out[t] = s[t];""",
    {
        "not_waited_for": ("wait_parity(&b, 0);", "if (t < 32) wait_parity(&b, 0);"),
        "read_by_the_copier": (
            "copy_bulk(s, x, 256, &b); }",
            "copy_bulk(s, x, 256, &b); out[0] = s[0]; }",
        ),
        "source_written": ("copy_bulk(s, x, 256, &b); }", "copy_bulk(s, x, 256, &b); x[0] = 1; }"),
    },
)
right_and_wrong_kernels(
    "pipeline_of_bulk_copies",
    NONE,
    """
    __shared__ alignas(16) int s[2][64]; __shared__ word full[2], empty[2];
    if (t == 0) for (int i = 0; i < 2; ++i) { make(&full[i], 1); make(&empty[i], 32); }
    __syncthreads();
    if (t == 0)
        for (int i = 0; i < 6; ++i) {
            wait_parity(&empty[i % 2], i / 2 % 2 ^ 1);
            arrive_expecting(&full[i % 2], 256);
            copy_bulk(s[i % 2], x + 64 * i, 256, &full[i % 2]);
        }
    if (t >= 32)
        for (int i = 0; i < 6; ++i) {
            wait_parity(&full[i % 2], i / 2 % 2);
            out[t] += s[i % 2][t];
            arrive(&empty[i % 2]);
        }""",
    {
        "not_emptied": ("wait_parity(&empty[i % 2], i / 2 % 2 ^ 1);", ""),
        "emptied_early": (
            "out[t] += s[i % 2][t];\n            arrive(&empty[i % 2]);",
            "arrive(&empty[i % 2]); out[t] += s[i % 2][t];",
        ),
    },
)
right_and_wrong_kernels(
    "named_barrier",
    NONE,
    """
    __shared__ int s[128];
    s[t] = x[t];
    asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory");
    out[t] = s[t ^ 63];""",
    {
        "reads_the_other": ("s[t ^ 63]", "s[127 - t]"),
        "of_a_warp": (
            '"bar.sync %0, 64;" :: "r"(1 + t / 64)',
            '"bar.sync %0, 32;" :: "r"(1 + t / 32)',
        ),
    },
    block=128,
)
right_and_wrong_kernels(
    "named_barriers_of_producers",
    NONE,
    """
    __shared__ int s[32];
    if (t < 32)
        for (int i = 0; i < 4; ++i) {
            s[t] = i;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        }
    else
        for (int i = 0; i < 4; ++i) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[t] += s[63 - t];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }""",
    {
        "read_after": (
            'out[t] += s[63 - t];\n            asm volatile("bar.arrive 2, 64;" ::: "memory");',
            'asm volatile("bar.arrive 2, 64;" ::: "memory"); out[t] += s[63 - t];',
        )
    },
)
right_and_wrong_kernels(
    "tiles_of_two_warps",
    NONE,
    """
    __shared__ int s[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    s[t] = x[t];
    tile.sync();
    out[t] = s[t ^ 63];""",
    {"reads_the_other": ("s[t ^ 63]", "s[127 - t]")},
    block=128,
)
right_and_wrong_kernels(
    "lanes",
    NONE,
    """
    __shared__ int s[64];
    auto half = cg::binary_partition(cg::tiled_partition<32>(cg::this_thread_block()), t % 2 == 0);
    s[t] = x[t];
    half.sync();
    out[t] = s[t / 4 * 4 + (t + 2) % 4];""",
    {"reads_the_other": ("s[t / 4 * 4 + (t + 2) % 4]", "s[t / 4 * 4 + (t + 1) % 4]")},
)
right_and_wrong_kernels(
    "cluster",
    NONE,
    """
    __shared__ int s[64];
    auto cluster = cg::this_cluster();
    s[t] = x[t];
    cluster.sync();
    out[blockIdx.x * 64 + t] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[63 - t];
    cluster.sync();""",
    {"of_the_block": ("s[t] = x[t];\n    cluster.sync();", "s[t] = x[t];\n    __syncthreads();")},
    grid=4,
    cluster=2,
)
right_and_wrong_kernels(
    "cluster_arrive",
    NONE,
    """
    __shared__ int s[64];
    auto cluster = cg::this_cluster();
    s[t] = x[t];
    auto token = cluster.barrier_arrive();
    out[blockIdx.x * 64 + t] = 1;
    cluster.barrier_wait(cuda::std::move(token));
    out[blockIdx.x * 64 + t] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[63 - t];
    cluster.sync();""",
    {
        "written_after_it": ("out[blockIdx.x * 64 + t] = 1;", "s[t] = 1;"),
        "read_before_the_wait": (
            "out[blockIdx.x * 64 + t] = 1;",
            "out[blockIdx.x * 64 + t] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[t];",
        ),
    },
    grid=4,
    cluster=2,
)
right_and_wrong_kernels(
    "barrier_of_a_cluster",
    NONE,
    """
    __shared__ int s[64]; __shared__ block_barrier b;
    auto cluster = cg::this_cluster();
    if (t == 0) init(&b, 64);
    cluster.sync();
    auto* other = cluster.map_shared_rank(&b, cluster.block_rank() ^ 1);
    cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[t] = t;
    asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1;"
                 " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }"
                 :: "r"(at(&b)), "r"(cluster.block_rank() ^ 1) : "memory");
    b.wait_parity(false);
    out[blockIdx.x * 64 + t] = s[63 - t];
    cluster.sync();""",
    {
        "not_waited_for": ("b.wait_parity(false);", ""),
        "initialized_for_the_block": ("cluster.sync();\n    auto*", "__syncthreads();\n    auto*"),
    },
    grid=4,
    cluster=2,
)
right_and_wrong_kernels(
    "cluster_of_each",
    NONE,
    """
    auto cluster = cg::this_cluster();
    if (t == 0 && cluster.block_rank() == 0) out[blockIdx.x / 2] = 1;
    cluster.sync();
    if (t == 0 && cluster.block_rank() == 1) out[blockIdx.x / 2] = 2;
    """,
    {"of_all": ("out[blockIdx.x / 2] = 2;", "out[0] = 2;")},
    grid=4,
    cluster=2,
)
right_and_wrong_kernels(
    "async_copy",
    NONE,
    """
    __shared__ int s[64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, x, sizeof s);
    cg::wait(block);
    out[t] = s[63 - t];""",
    {"not_waited_for": ("cg::wait(block);", "__syncthreads();")},
)
right_and_wrong_kernels(
    "copy_of_a_barrier",
    NONE,
    "__shared__ int s[64];"
    + MAKE
    + """
    cuda::memcpy_async(&s[t], &x[t], 4, b);
    b.arrive_and_wait();
    out[t] = s[63 - t];""",
    {"not_waited_for": ("b.arrive_and_wait();", "(void)b.arrive(); __syncthreads();")},
)
right_and_wrong_kernels(
    "pipeline",
    NONE,
    """
    __shared__ int s[2][64];
    auto pipe = cuda::make_pipeline();
    for (int i = 0; i < 5; ++i) {
        pipe.producer_acquire();
        cuda::memcpy_async(&s[i % 2][t], &x[64 * i + t], 4, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        out[t] += s[i % 2][t];
        pipe.consumer_release();
    }""",
    {
        "reads_another": ("out[t] += s[i % 2][t];", "out[t] += s[i % 2][63 - t];"),
        "read_before": (
            "pipe.consumer_wait();\n        out[t] += s[i % 2][t];",
            "out[t] += s[i % 2][t]; pipe.consumer_wait();",
        ),
    },
)
right_and_wrong_kernels(
    "pipeline_of_the_block",
    NONE,
    """
    __shared__ int s[64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < 5; ++i) {
        pipe.producer_acquire();
        cuda::memcpy_async(&s[t], &x[64 * i + t], 4, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        out[t] += s[63 - t];
        pipe.consumer_release();
    }""",
    {
        "released_early": (
            "out[t] += s[63 - t];\n        pipe.consumer_release();",
            "pipe.consumer_release(); out[t] += s[63 - t];",
        )
    },
)
LATCH = """__shared__ alignas(8) char storage[sizeof(block_latch)]; auto& l = *reinterpret_cast<block_latch*>(storage);
    if (t == 0) new (storage) block_latch(32); __syncthreads();"""
right_and_wrong_kernels(
    "latch",
    NONE,
    LATCH
    + """
    if (t < 32) { x[t] = t; l.count_down(); }
    else { l.wait(); out[t] = x[63 - t]; }""",
    {
        "counted_early": ("x[t] = t; l.count_down();", "l.count_down(); x[t] = t;"),
        "not_waited_for": ("l.wait();", ""),
        "initialized_without_a_barrier": ("__syncthreads();", ""),
        "asked_once": ("l.wait();", "(void)l.try_wait();"),
    },
)
right_and_wrong_kernels(
    "latch_of_all",
    NONE,
    LATCH.replace("32", "blockDim.x") + "x[t] = t; l.arrive_and_wait(); out[t] = x[63 - t];",
    {"written_again": ("out[t] = x[63 - t];", "out[t] = x[63 - t]; x[t] = 0;")},
)
right_and_wrong_kernels(
    "latch_in_a_loop",
    NONE,
    LATCH.replace("32", "1")
    + """
    if (t == 40) { x[0] = t; l.count_down(); }
    if (t == 3) { while (!l.try_wait()) {} out[t] = x[0]; }""",
    {"counted_early": ("x[0] = t; l.count_down();", "l.count_down(); x[0] = t;")},
)
right_and_wrong_kernels(
    "latch_asked_once",
    ATOMICS,
    LATCH.replace("32", "1")
    + """
    if (t == 40) { x[0] = t; l.count_down(); }
    if (t == 3 && l.try_wait()) out[t] = x[0];""",
    {"ignored": ("t == 3 && l.try_wait()", "t == 3 && (l.try_wait() || true)")},
)
SEMAPHORE = """__shared__ alignas(8) char storage[sizeof(block_semaphore)];
    auto& s = *reinterpret_cast<block_semaphore*>(storage);
    if (t == 0) new (storage) block_semaphore(0); __syncthreads();"""
right_and_wrong_kernels(
    "semaphore",
    ATOMICS,
    SEMAPHORE
    + """
    if (t == 3) { x[0] = 5; s.release(); }
    if (t == 40) { s.acquire(); out[t] = x[0]; }""",
    {
        "not_acquired": ("s.acquire();", ""),
        "released_early": ("x[0] = 5; s.release();", "s.release(); x[0] = 5;"),
        "that_has_one": ("block_semaphore(0)", "block_semaphore(1)"),
    },
)
right_and_wrong_kernels(
    "semaphore_as_a_lock",
    ATOMICS,
    SEMAPHORE.replace("(0)", "(1)") + "if (t % 32 == 0) { s.acquire(); x[0] += 5; s.release(); }",
    {"released_early": ("x[0] += 5; s.release();", "s.release(); x[0] += 5;")},
)
right_and_wrong_kernels(
    "flag",
    ATOMICS,
    """
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(x[100]);
    if (blockIdx.x == 0 && t == 0) { out[0] = 5; flag.store(1, cuda::memory_order_release); }
    if (blockIdx.x == 1 && t == 0) { while (flag.load(cuda::memory_order_acquire) == 0) {} out[1] = out[0]; }
    """,
    {
        "of_block_scope": (
            "cuda::atomic_ref<int, cuda::thread_scope_device>",
            "cuda::atomic_ref<int, cuda::thread_scope_block>",
        ),
        "relaxed": ("memory_order_release", "memory_order_relaxed"),
        "reset": ("out[1] = out[0];", "out[1] = out[0]; x[100] = 0;"),
    },
    grid=2,
)
right_and_wrong_kernels(
    "flag_of_the_block",
    ATOMICS,
    """
    cuda::atomic_ref<int, cuda::thread_scope_block> flag(x[100]);
    if (t == 0) { out[0] = 5; flag.store(1, cuda::memory_order_release); }
    if (t == 40) { while (flag.load(cuda::memory_order_acquire) == 0) {} out[1] = out[0]; }
    """,
    {"relaxed": ("memory_order_release", "memory_order_relaxed")},
)
right_and_wrong_kernels(
    "flag_in_ptx",
    ATOMICS,
    """
    if (blockIdx.x == 0 && t == 0) {
        out[0] = 5;
        asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(&x[100]), "r"(1) : "memory");
    }
    if (blockIdx.x == 1 && t == 0) {
        int set = 0;
        while (!set) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(set) : "l"(&x[100]) : "memory");
        out[1] = out[0];
    }""",
    {
        "of_block_scope": ("st.release.gpu", "st.release.cta"),
        "relaxed": ("st.release.gpu", "st.relaxed.gpu"),
    },
    grid=2,
)
right_and_wrong_kernels(
    "count",
    NONE,
    "atomicAdd(&out[0], 1);",
    {"of_block_scope": ("atomicAdd(", "atomicAdd_block(")},
    grid=2,
)
right_and_wrong_kernels(
    "fence",
    ATOMICS,
    """
    if (blockIdx.x == 0 && t == 0) { out[0] = 5; __threadfence(); atomicExch(&x[100], 1); }
    if (blockIdx.x == 1 && t == 0) { while (atomicAdd(&x[100], 0) == 0) {} __threadfence(); out[1] = out[0]; }
    """,
    {
        "of_block_scope": ("5; __threadfence", "5; __threadfence_block"),
        "missing": ("5; __threadfence();", "5;"),
        "of_block_scope_at_the_reader": ("{} __threadfence", "{} __threadfence_block"),
        "missing_at_the_reader": ("{} __threadfence();", "{}"),
    },
    grid=2,
)
right_and_wrong_kernels(
    "arrival_is_no_fence",
    ATOMICS,
    MAKE
    + """
    if (t == 0) { out[0] = 5; __threadfence(); (void)b.arrive(); atomicExch(&x[100], 1); }
    if (t == 40) { while (atomicAdd(&x[100], 0) == 0) {} __threadfence(); out[1] = out[0]; }
    """,
    {"alone": ("5; __threadfence();", "5;")},
)
right_and_wrong_kernels(
    "each_block_by_itself",
    NONE,
    """
    __shared__ int s; __shared__ block_barrier b;
    if (t == 0) { s = 0; init(&b, 64); }
    __syncthreads();
    b.arrive_and_wait();
    if (t == 0) out[blockIdx.x] = 1;""",
    {"of_all": ("out[blockIdx.x]", "out[0]")},
    grid=12,
)
right_and_wrong_kernels(
    "lock_of_each_block",
    ATOMICS,
    """
    __shared__ int lock;
    if (t == 0) lock = 0;
    __syncthreads();
    if (t % 32 == 0) {
        while (atomicCAS(&lock, 0, 1)) {}
        __threadfence_block();
        out[blockIdx.x] += 1;
        __threadfence_block();
        atomicExch(&lock, 0);
    }""",
    {"of_all": ("out[blockIdx.x]", "out[0]")},
    grid=12,
)
register_kernel(
    ATOMICS,
    """
    __shared__ int s; __shared__ word b;
    if (t == 0) make(&b, 1);
    __syncthreads();
    if (t == 0) arrive(&b);
    if (t == 40) { if (try_parity(&b, 0)) out[0] = 1; else out[0] = 2; }""",
    name="polled_once",
)
register_kernel(
    ATOMICS,
    """
    __shared__ word b;
    if (t == 0) make(&b, 1);
    __syncthreads();
    if (t < 2) arrive(&b);
    if (t == 40) { while (try_parity(&b, 0)) {} }""",
    name="two_phases_of_any_two",
)
register_kernel(
    RACES,
    """
    __shared__ int s; __shared__ word b;
    if (t == 0) make(&b, 1);
    __syncthreads();
    if (t == 0) { s = 1; arrive(&b); }
    if (t == 40) { for (int i = 0; i < 3 && !try_parity(&b, 0); ++i) {} out[0] = s; }""",
    name="polled_three_times",
)


DRAWN = draw_cases(24, KERNELS)


@functools.cache
def verdict_module():
    text = [HEAD]
    for name in DRAWN:
        _, body, _, options = KERNELS[name]
        cluster = f"__cluster_dims__({options['cluster']}) " if "cluster" in options else ""
        text.append(
            f"__global__ void {cluster}{name}(int* x, int* out) {{ int t = threadIdx.x;\n{body}\n}}"
        )
    return cuda.module("\n".join(text), opt=1)


def launch_checked(unit, name):
    x, out = (cuda.to_device(np.zeros(512, np.int32)) for _ in range(2))
    checks = cuda.checks("race", "hang", exact=True, budget=0.5, limit=10)
    error = None
    try:
        with checks:
            unit[name][KERNELS[name][2]](x, out)
    except KernelError as problem:
        error = problem
    return checks, error


@pytest.mark.parametrize("name", DRAWN)
def test_each_barrier_kernel_has_the_expected_verdict(name):
    checks, error = launch_checked(verdict_module(), name)
    assert checks.verdict.kind == KERNELS[name][0], error or checks.verdict


@pytest.mark.skipif(cccl.root_of_toolkit() is None, reason="CUB is not installed")
def test_toolkit_barriers_have_the_same_race_verdicts():
    """A source that includes CUB uses the toolkit's libcu++ instead of the simulator's."""
    names = [n for n in KERNELS if n.startswith(("barrier", "latch", "semaphore"))]
    names = [n for n in names if not KERNELS[n][3]]
    assert {"barrier", "latch", "semaphore"} <= set(names)
    texts = [
        f"__global__ void {n}(int* x, int* out) {{ int t = threadIdx.x;\n{KERNELS[n][1]}\n}}"
        for n in names
    ]
    unit = cuda.module("\n".join(["#include <cub/block/block_reduce.cuh>", HEAD, *texts]), opt=1)
    for name in names:
        checks, error = launch_checked(unit, name)
        assert checks.verdict.kind == KERNELS[name][0], (name, error or checks.verdict)


def test_race_report_suggests_a_remedy_for_phased_barriers():
    name = "barrier_read_before_the_wait"
    _, body, shape, _ = KERNELS[name]
    x, out = (cuda.to_device(np.zeros(512, np.int32)) for _ in range(2))
    kernel = cuda.jit(
        source=f"{HEAD}__global__ void k(int* x, int* out) {{ int t = threadIdx.x;\n{body}\n}}"
    )
    with pytest.raises(
        KernelError, match=r"__syncthreads\(\), or a wait for the phase of a barrier"
    ):
        with cuda.checks("race"):
            kernel[shape](x, out)
