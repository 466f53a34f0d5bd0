"""Defines pairs with barriers and warp collectives that some expected threads do not reach."""

import numpy as np
from pairs.form import random_floats, random_ints, register_pair, zero_counts, zeros_of_shape

N = 64

# --- barriers of the block -------------------------------------------------------------------------------


@register_pair("sync", grid=2, block=N, expect=lambda x: x[np.r_[63:-1:-1, 99:63:-1]])
def return_before_a_barrier(x: random_floats(100), out: zeros_of_shape(100)):
    """
    __shared__ float s[N];
    int i = grid<1>(), t = threadIdx.x, first = blockIdx.x * N;
    int here = min(N, (int)x.size() - first);
    if (i >= x.size()) return;                        //-
    s[t] = x[i];                                      //-
    __syncthreads();                                  //-!
    out[i] = s[here - 1 - t];                         //-
    if (i < x.size()) s[t] = x[i];                    //+
    __syncthreads();                                  //+
    if (i < x.size()) out[i] = s[here - 1 - t];       //+
    """


@register_pair("sync", grid=1, block=N, expect=lambda x: x[::-1])
def barrier_in_a_branch(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < N / 2) {
        __syncthreads();                              //-!
        s[t] += 0;                                    //+
    }
    __syncthreads();                                  //!
    out[t] = s[N - 1 - t];
    """


@register_pair("sync", grid=1, block=N, expect=lambda x: x.sum())
def barrier_inside_the_guard_of_a_reduction(x: random_floats(N), out: zeros_of_shape(1)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int w = N / 2; w > 0; w /= 2) {
        if (t < w) {
            s[t] += s[t + w];
            __syncthreads();                          //-!
        }
        __syncthreads();                              //+
    }
    if (t == 0) out[0] = s[0];
    """


@register_pair("sync", grid=1, block=N, expect=lambda x: np.where(np.arange(N) % 2, x, 2 * x)[::-1])
def barriers_in_both_branches(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    if (t % 2) {
        s[t] = x[t];
        __syncthreads();                              //-!
    } else {
        s[t] = 2 * x[t];
        __syncthreads();                              //-!
    }
    __syncthreads();                                  //+
    out[t] = s[N - 1 - t];
    """


@register_pair("sync", grid=1, block=N, expect=lambda n: {"out": [n.sum()]})
def barrier_in_a_loop_of_different_lengths(n: random_ints(N, below=9, low=1), out: zero_counts(1)):
    """
    int t = threadIdx.x;
    for (int k = 0; k < n[t]; ++k) {                  //-
    for (int k = 0; k < 9; ++k) {                     //+
        if (k < n[t]) atomicAdd(&out[0], 1);
        __syncthreads();                              //!
    }
    """


@register_pair("sync", grid=1, block=N, expect=lambda x: np.cumsum(x > 5)[-1])
def syncthreads_count_in_branch(x: random_ints(N, below=10), out: zero_counts(1)):
    """
    int t = threadIdx.x;
    int many = 0;
    if (x[t] > 2)                                     //-
        many = __syncthreads_count(x[t] > 5);         //!
    if (x[t] > 5) out[0] = many;                      //-
    if (t == 0) out[0] = many;                        //+
    """


@register_pair("sync", grid=1, block=N, expect=lambda: {"rounds": 4})
def loop_left_by_one_thread_before_barrier(rounds: zero_counts(1), x: random_ints(N, below=9)):
    """
    int t = threadIdx.x;
    for (int round = 0; round < 5; ++round) {
        if (t == 7 && round == 3) break;              //-
        bool done = t == 7 && round == 3;
        if (__syncthreads_or(done)) break;            //!
        if (t == 0) ++rounds[0];
    }
    if (t == 0) ++rounds[0];                          //+
    """


@register_pair(
    "sync", grid=2, block=32, cooperative=True, expect=lambda x: x.reshape(2, 32)[::-1].ravel()
)
def grid_barrier_in_some_blocks_only(
    x: random_floats(64), y: zeros_of_shape(64), out: zeros_of_shape(64)
):
    """
    #include "numbalite/groups.cuh"
    __global__ void exchange(const float* x, float* y, float* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i];
        if (blockIdx.x == 0)                          //-
            cg::this_grid().sync();                   //!
        if (blockIdx.x == 0) out[i] = y[i + 32];      //-
        out[i] = y[(i + 32) % 64];                    //+
    }
    """


@register_pair("sync", grid=1, block=2 * N, expect=lambda x: np.repeat(x.reshape(2, N).max(1), N))
def tile_reduction_called_by_one_of_two_warps(
    x: random_ints(2 * N, below=1000), out: zeros_of_shape(2 * N, dtype=np.int32)
):
    """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void largest(const int *x, int *out) {
        auto tile = cg::tiled_partition<64>(cg::this_thread_block());
        int v = x[threadIdx.x];
        if (tile.thread_rank() < 32)                  //-
            v = cg::reduce(tile, v, cg::greater<int>());  //!
        out[threadIdx.x] = v;
    }
    """


# --- collectives of a warp -------------------------------------------------------------------------------


@register_pair("sync", grid=1, block=32, expect=lambda x: np.sum(x[:20]))
def shuffle_whose_mask_names_absent_lanes(x: random_ints(32, below=9), out: zero_counts(1)):
    """
    int lane = threadIdx.x;
    int sum = 0;
    if (lane < 20) {                                  //-
        sum = x[lane];                                //-
    sum = lane < 20 ? x[lane] : 0;                    //+
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, d);  //!
    }                                                 //-
    if (lane == 0) out[0] = sum;
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: (x % 2 == 1).sum())
def ballot_in_a_branch(x: random_ints(32, below=10), out: zero_counts(1)):
    """
    int lane = threadIdx.x;
    unsigned int odd = 0;
    if (x[lane] > 4) odd = __ballot_sync(0xffffffff, x[lane] % 2);  //-!
    odd = __ballot_sync(0xffffffff, x[lane] % 2);     //+
    if (lane == 0) out[0] = __popc(odd);
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: x[16])
def shuffle_mask_without_calling_lane(x: random_floats(32), out: zeros_of_shape(32)):
    """
    int lane = threadIdx.x;
    float v = 0;
    v = __shfl_sync(0xffff0000, x[lane], 16);         //-!
    v = __shfl_sync(0xffffffff, x[lane], 16);         //+
    out[lane] = v;
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: x[::-1])
def warp_barrier_in_a_branch(x: random_floats(32), out: zeros_of_shape(32)):
    """
    __shared__ float s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    if (lane < 16) {
        __syncwarp();                                 //-!
        s[lane] += 0;                                 //+
    }
    __syncwarp(0xffffffff);                           //!
    out[lane] = s[31 - lane];
    """


@register_pair("sync", grid=1, block=48, expect=lambda x: [x[:32].sum(), x[32:].sum()])
def full_shuffle_mask_in_partial_warp(x: random_ints(48, below=9), out: zero_counts(2)):
    """
    int t = threadIdx.x;
    int sum = x[t];
    for (int d = 16; d > 0; d /= 2) {
        int other = __shfl_down_sync(0xffffffff, sum, d);  //-!
        unsigned int mask = t < 32 ? 0xffffffff : 0xffff;  //+
        int other = __shfl_down_sync(mask, sum, d);   //+
        if (t % 32 + d < min(32, 48 - t / 32 * 32)) sum += other;
    }
    if (t % 32 == 0) out[t / 32] = sum;
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: [x[::2].sum(), x[1::2].sum()])
def different_masks_for_one_collective(x: random_ints(32, below=9), out: zero_counts(2)):
    """
    int lane = threadIdx.x;
    unsigned int mask = lane % 2 ? 0xffffffff : 0x55555555;  //-
    unsigned int mask = lane % 2 ? 0xaaaaaaaa : 0x55555555;  //+
    int sum = __reduce_add_sync(mask, x[lane]);       //!
    if (lane < 2) out[lane] = sum;
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: x[:20].max())
def return_before_a_shuffle(x: random_ints(32, below=99), out: zero_counts(1)):
    """
    int lane = threadIdx.x, most = 0;
    if (lane >= 20) return;                           //-
    most = lane < 20 ? x[lane] : 0;
    for (int d = 16; d > 0; d /= 2)
        most = max(most, __shfl_xor_sync(0xffffffff, most, d));  //!
    if (lane == 0) out[0] = most;
    """


# --- shuffles from lanes that the mask does not name -----------------------------------------------------


@register_pair("sync", grid=1, block=32, expect=lambda x: x[:16].sum())
def shuffle_xor_distance_exceeds_mask(x: random_ints(32, below=9), out: zero_counts(1)):
    """
    int lane = threadIdx.x;
    if (lane < 16) {
        int sum = x[lane];
        for (int d = 16; d > 0; d /= 2)               //-
        for (int d = 8; d > 0; d /= 2)                //+
            sum += __shfl_xor_sync(0xffff, sum, d);   //!
        if (lane == 0) out[0] = sum;
    }
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: np.where(np.arange(32) % 2, x[1], 0))
def broadcast_from_lane_outside_mask(x: random_ints(32, below=9), out: zero_counts(32)):
    """
    int lane = threadIdx.x;
    if (lane % 2) {
        unsigned int mask = 0xaaaaaaaa;
        out[lane] = __shfl_sync(mask, x[lane], 0);    //-!
        out[lane] = __shfl_sync(mask, x[lane], __ffs(mask) - 1);  //+
    }
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: x[:20].sum())
def warp_reduction_of_20_lanes_reads_ended_lanes(
    x: random_ints(32, below=9, low=1), out: zero_counts(1)
):
    """
    int lane = threadIdx.x;
    unsigned int mask = __ballot_sync(0xffffffff, lane < 20);
    if (lane < 20) {
        int sum = x[lane];
        for (int d = 16; d > 0; d /= 2) {
            int other = __shfl_down_sync(mask, sum, d);  //!
            if (lane + d < 20)                        //+
                sum += other;
        }
        if (lane == 0) out[0] = sum;
    }
    """


@register_pair("sync", grid=1, block=32, expect=lambda x: x[:8].sum())
def warp_reduction_with_extra_step(x: random_ints(32, below=9, low=1), out: zero_counts(1)):
    """
    int lane = threadIdx.x;
    if (lane < 8) {
        int sum = x[lane];
        for (int d = 8; d > 0; d /= 2)                //-
        for (int d = 4; d > 0; d /= 2)                //+
            sum += __shfl_down_sync(0xff, sum, d);    //!
        if (lane == 0) out[0] = sum;
    }
    """
