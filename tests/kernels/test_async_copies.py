"""Tests asynchronous copies and barriers of groups of threads, on the driver of the session:
cuda_pipeline.h, <cuda/barrier>, <cuda/pipeline>, <cuda/latch>, <cuda/semaphore> and
cooperative_groups/memcpy_async.h."""

import contextlib

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

PIPELINES = """
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

__global__ void primitives(const float4 *x, float4 *out) {
    __shared__ float4 s[2][64];
    int t = threadIdx.x;
    for (int k = 0; k < 5; ++k) {
        if (k < 4) {
            __pipeline_memcpy_async(&s[k % 2][t], &x[k * 64 + t], 16, t == 3 ? 4 : 0);
            __pipeline_commit();
        }
        if (k > 0) {
            __pipeline_wait_prior(k < 4);
            out[(k - 1) * 64 + t] = s[(k - 1) % 2][t];
        }
    }
}
__global__ void groups(const int *x, int *out, int n) {
    namespace cg = cooperative_groups;
    __shared__ int s[256];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, s, x, sizeof(int) * n);
    cg::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = s[n - 1 - i];
}
"""
BARRIERS = """
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cooperative_groups.h>

typedef cuda::barrier<cuda::thread_scope_block> barrier;

/* One warp brings numbers, the other adds them up. */
__global__ void handed_over(const int *x, int *out, int rounds) {
    __shared__ barrier full, empty;
    __shared__ int s[32];
    if (threadIdx.x == 0) {
        init(&full, 64);
        init(&empty, 64);
    }
    __syncthreads();
    int lane = threadIdx.x % 32, sum = 0;
    for (int k = 0; k < rounds; ++k) {
        if (threadIdx.x < 32) {
            empty.arrive_and_wait();
            s[lane] = x[k * 32 + lane];
            (void)full.arrive();
        } else {
            (void)empty.arrive();
            full.arrive_and_wait();
            sum += s[31 - lane];
        }
    }
    if (threadIdx.x >= 32)
        out[lane] = sum;
}
__global__ void by_barrier(const int *x, int *out) {
    __shared__ barrier b;
    __shared__ int s[96];
    if (threadIdx.x == 0)
        init(&b, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(cooperative_groups::this_thread_block(), s, x, sizeof s, b);
    b.arrive_and_wait();
    if (threadIdx.x >= 8) {
        b.arrive_and_drop();
        return;
    }
    barrier::arrival_token token = b.arrive();
    b.wait(static_cast<barrier::arrival_token &&>(token));
    for (int i = threadIdx.x; i < 96; i += 8)
        out[i] = s[95 - i];
}
__global__ void staged(const int *x, int *out, int batches) {
    __shared__ int s[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int next = 0, k = 0; k < batches; ++k) {
        for (; next < batches && next < k + 2; ++next) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[next % 2], x + 32 * next, sizeof s[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[k % 2][31 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}
__global__ void counted(int *out) {
    typedef cuda::latch<cuda::thread_scope_block> latch;
    typedef cuda::binary_semaphore<cuda::thread_scope_block> semaphore;
    __shared__ alignas(latch) char room[sizeof(latch)];
    __shared__ alignas(semaphore) char place[sizeof(semaphore)];
    latch &all = *reinterpret_cast<latch *>(room);
    semaphore &one = *reinterpret_cast<semaphore *>(place);
    __shared__ int n;
    if (threadIdx.x == 0) {
        n = 0;
        new (room) latch(blockDim.x);
        new (place) semaphore(1);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        one.acquire();
        n += 32;
        one.release();
    }
    __syncwarp();
    all.arrive_and_wait();
    out[threadIdx.x] = n;
}
"""
TOO_MANY = """
#include <cuda/barrier>
__global__ void too_many() {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0)
        init(&b, 1);
    __syncthreads();
    (void)b.arrive(2);
}
"""


def check_contexts():
    """Returns contexts without checks and, on the simulator, with all checks."""
    return [contextlib.nullcontext(), *([cuda.checks()] if cuda.is_simulated() else [])]


def test_async_copies_with_pipelines_are_ordered():
    module = cuda.module(PIPELINES)
    x = np.random.default_rng(0).random((256, 4), dtype=np.float32)
    want = x.copy()
    want[3::64, 3] = 0
    numbers = np.arange(200, dtype=np.int32)
    for looks in check_contexts():
        with looks:
            out, back = cuda.device_array_like(x), cuda.device_array_like(numbers)
            module.primitives[1, 64](cuda.to_device(x), out)
            module.groups[1, 64](cuda.to_device(numbers), back, 200)
            np.testing.assert_array_equal(out.copy_to_host(), want)
            np.testing.assert_array_equal(back.copy_to_host(), numbers[::-1])


def test_async_copies_with_barriers_are_ordered():
    module = cuda.module(BARRIERS)
    x = np.random.default_rng(0).integers(0, 100, (7, 32)).astype(np.int32)
    for looks in check_contexts():
        with looks:
            d, out = cuda.to_device(x), cuda.device_array(96, np.int32)
            for kernel, threads in ((module.handed_over, 64), (module.staged, 32)):
                kernel[1, threads](d, out, 7)
                np.testing.assert_array_equal(out[:32].copy_to_host(), x.sum(0)[::-1])
            module.by_barrier[1, 32](d, out)
            np.testing.assert_array_equal(out.copy_to_host(), x.ravel()[95::-1])
            module.counted[1, 96](out)
            np.testing.assert_array_equal(out.copy_to_host(), 96)


def test_checkers_track_two_barriers_of_one_declaration():
    """The checkers support each of these barriers: accesses that a barrier orders are not a
    race."""
    m = cuda.module("""
    #include <cuda/barrier>
    __global__ void k(int *x) {
        __shared__ cuda::barrier<cuda::thread_scope_block> a, b;
        __shared__ int s[64];
        int t = threadIdx.x;
        if (t == 0) {
            init(&a, 64);
            init(&b, 64);
        }
        __syncthreads();
        s[t] = t;
        a.arrive_and_wait();
        int v = s[63 - t];
        b.arrive_and_wait();
        s[t] = 2 * v;
        a.arrive_and_wait();
        x[t] = s[(t + 1) % 64];
    }""")
    x = np.zeros(64, np.int32)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        m.k[1, 64](x)
    assert (x == 2 * (63 - (np.arange(64) + 1) % 64)).all()


@pytest.mark.sim
def test_too_many_barrier_arrivals_raise():
    with pytest.raises(
        KernelError,
        match="more threads arrive at a barrier .* than its expected number of arrivals",
    ):
        cuda.module(TOO_MANY).too_many[1, 1]()
        cuda.synchronize()
