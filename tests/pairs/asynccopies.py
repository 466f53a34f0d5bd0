"""Defines pairs with asynchronous copies that no thread waits for, and with clusters of blocks."""

import numpy as np
from pairs.form import ascending, random_floats, register_pair, zeros_of_shape

N = 64
TILES = 4

# --- copies of a thread ----------------------------------------------------------------------------------


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: 2 * x)
def tile_read_before_its_copy_is_waited_for(x: random_floats(N), out: zeros_of_shape(N)):
    """
    #include <cuda_pipeline.h>
    __global__ void twice(const float *x, float *out) {
        __shared__ float s[N];
        int t = threadIdx.x;
        __pipeline_memcpy_async(&s[t], &x[t], 4);     //!
        __pipeline_commit();
        __pipeline_wait_prior(0);                     //+
        out[t] = 2 * s[t];                            //-!
        out[t] = 2 * s[t];                            //+
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x.reshape(TILES, N).sum(0))
def last_tile_read_before_its_copy_completes(x: random_floats(TILES * N), out: zeros_of_shape(N)):
    """
    __global__ void add_tiles(const float *x, float *out) {
        __shared__ float s[2][N];
        int t = threadIdx.x;
        float sum = 0;
        for (int k = 0; k <= TILES; ++k) {
            if (k < TILES)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                             :: "r"((unsigned)__cvta_generic_to_shared(&s[k % 2][t])), "l"(x + k * N + t));  //!
            if (k < TILES)                                                //-
                asm volatile("cp.async.commit_group;");
            if (k > 0) {
                asm volatile("cp.async.wait_group 1;" ::: "memory");
                sum += s[(k - 1) % 2][t];                                 //!
            }
        }
        out[t] = sum;
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x[::-1])
def copies_of_other_threads_read_without_barrier(x: random_floats(N), out: zeros_of_shape(N)):
    """
    #include <cuda_pipeline.h>
    __global__ void reversed(const float *x, float *out) {
        __shared__ float s[N];
        int t = threadIdx.x;
        __pipeline_memcpy_async(&s[t], &x[t], 4);     //!
        __pipeline_commit();
        __syncthreads();                              //-
        __pipeline_wait_prior(0);
        __syncthreads();                              //+
        out[t] = s[N - 1 - t];                        //!
    }
    """


@register_pair("race", array="x", grid=1, block=N, expect=lambda x: {"x": 0 * x, "out": x})
def source_cleared_before_it_is_copied(x: random_floats(N), out: zeros_of_shape(N)):
    """
    #include <cuda_pipeline.h>
    __global__ void move(float *x, float *out) {
        __shared__ float s[N];
        int t = threadIdx.x;
        __pipeline_memcpy_async(&s[t], &x[t], 4);     //!
        __pipeline_commit();
        x[t] = 0;                                     //-!
        __pipeline_wait_prior(0);
        x[t] = 0;                                     //+
        out[t] = s[t];
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x)
def wait_for_copies_without_commit(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __global__ void copy(const float *x, float *out) {
        __shared__ float s[N];
        int t = threadIdx.x;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"((unsigned)__cvta_generic_to_shared(&s[t])), "l"(x + t));  //!
        asm volatile("cp.async.commit_group;");                            //+
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        out[t] = s[t];                                                     //!
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x.reshape(TILES, N).sum(0))
def stage_released_but_never_waited_for(x: random_floats(TILES * N), out: zeros_of_shape(N)):
    """
    #include <cuda/pipeline>
    __global__ void add_tiles(const float *x, float *out) {
        __shared__ float s[2][N];
        int t = threadIdx.x;
        float sum = 0;
        auto pipe = cuda::make_pipeline();
        for (int k = 0; k <= TILES; ++k) {
            if (k < TILES) {
                pipe.producer_acquire();
                cuda::memcpy_async(&s[k % 2][t], x + k * N + t, sizeof(float), pipe);  //!
                pipe.producer_commit();
            }
            if (k > 0) {
                pipe.consumer_wait();                 //+
                sum += s[(k - 1) % 2][t];             //!
                pipe.consumer_release();
            }
        }
        out[t] = sum;
    }
    """


# --- copies by a group of threads, or by the copy engine
# ------------------------------------------------------------


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x[::-1])
def barrier_instead_of_wait_for_copy(x: random_floats(N), out: zeros_of_shape(N)):
    """
    #include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    __global__ void reversed(const float *x, float *out) {
        __shared__ float s[N];
        auto block = cooperative_groups::this_thread_block();
        cooperative_groups::memcpy_async(block, s, x, sizeof s);  //!
        block.sync();                                 //-
        cooperative_groups::wait(block);              //+
        out[threadIdx.x] = s[N - 1 - threadIdx.x];    //!
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x[::-1])
def barrier_arrival_without_wait(x: random_floats(N), out: zeros_of_shape(N)):
    """
    #include <cuda/barrier>
    #include <cooperative_groups.h>
    __global__ void reversed(const float *x, float *out) {
        __shared__ float s[N];
        __shared__ cuda::barrier<cuda::thread_scope_block> b;
        auto block = cooperative_groups::this_thread_block();
        if (threadIdx.x == 0) init(&b, N);
        __syncthreads();
        cuda::memcpy_async(block, s, x, sizeof s, b);  //!
        auto token = b.arrive();
        b.wait(static_cast<decltype(token) &&>(token));  //+
        out[threadIdx.x] = s[N - 1 - threadIdx.x];    //!
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x.reshape(TILES, N).sum(0))
def wait_for_previous_phase(x: random_floats(TILES * N), out: zeros_of_shape(N)):
    """
    __device__ void wait_for(unsigned barrier, unsigned parity) {
        asm volatile("{.reg .pred done;\\n"
                     "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n"
                     "@!done bra again;}" :: "r"(barrier), "r"(parity) : "memory");
    }
    __global__ void add_tiles(const float *x, float *out) {
        __shared__ alignas(16) float s[N];
        __shared__ unsigned long long full;
        unsigned at = (unsigned)__cvta_generic_to_shared(&full), to = (unsigned)__cvta_generic_to_shared(s);
        int t = threadIdx.x;
        float sum = 0;
        if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at));
        if (t == 0) asm volatile("fence.mbarrier_init.release.cluster;");
        __syncthreads();
        for (int k = 0; k < TILES; ++k) {
            if (t == 0) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(at));
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "  //!
                             "[%0], [%1], 256, [%2];" :: "r"(to), "l"(x + k * N), "r"(at) : "memory");
            }
            wait_for(at, k % 2 ^ 1);                  //-
            wait_for(at, k % 2);                      //+
            sum += s[t];                              //!
            __syncthreads();
        }
        out[t] = sum;
    }
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x)
def tile_overwritten_during_bulk_store(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __global__ void store(const float *x, float *out) {
        __shared__ alignas(16) float s[N];
        int t = threadIdx.x;
        s[t] = x[t];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                         :: "l"(out), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");  //!
            asm volatile("cp.async.bulk.commit_group;");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");       //+
        }
        __syncthreads();
        s[t] = 0;                                     //!
    }
    """


# --- clusters --------------------------------------------------------------------------------------------


@register_pair("race", array="s", grid=2, block=N, expect=lambda x: np.roll(x, N))
def shared_memory_of_other_block_read_before_cluster_barrier(
    x: ascending(2 * N), out: zeros_of_shape(2 * N)
):
    """
    #include <cooperative_groups.h>
    __cluster_dims__(2) __global__ void exchange(const float *x, float *out) {
        __shared__ float s[N];
        auto cluster = cooperative_groups::this_cluster();
        int i = blockIdx.x * N + threadIdx.x;
        s[threadIdx.x] = x[i];                        //!
        __syncthreads();                              //-
        cluster.sync();                               //+
        out[i] = *cluster.map_shared_rank(s + threadIdx.x, cluster.block_rank() ^ 1);  //!
        cluster.sync();
    }
    """
