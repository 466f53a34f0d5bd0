"""Defines pairs with races in global memory: threads of one or several blocks that access the same
element without synchronization."""

import numpy as np
from pairs.form import (
    ascending,
    random_floats,
    random_ints,
    register_pair,
    zero_counts,
    zeros_of_shape,
)

N = 256
BINS = 16
KEYS = random_ints(N, below=BINS)

# --- updates that are not atomic -------------------------------------------------------------------------


@register_pair(
    "race", array="bins", grid=4, block=64, expect=lambda x: np.bincount(x, minlength=BINS)
)
def histogram_without_atomics(x: KEYS, bins: zero_counts(BINS)):
    """
    int i = grid<1>();
    if (i < x.size()) ++bins[x[i]];                   //-!
    if (i < x.size()) atomicAdd(&bins[x[i]], 1);      //+
    """


@register_pair("race", array="sum", grid=4, block=64, expect=lambda x: x.sum())
def sum_by_plain_additions(x: random_floats(N), sum: zeros_of_shape(1)):
    """
    int i = grid<1>();
    sum[0] += x[i];                                   //-!
    atomicAdd(&sum[0], x[i]);                         //+
    """


@register_pair("race", array="largest", grid=4, block=64, expect=lambda x: x.max())
def maximum_without_atomic(x: ascending(N, np.int32), largest: zero_counts(1)):
    """
    int i = grid<1>();
    if (x[i] > largest[0]) largest[0] = x[i];         //-!
    atomicMax(&largest[0], x[i]);                     //+
    """


@register_pair("race", array="sums", grid=(2, 4), block=(16, 16), expect=lambda a: a.sum(0))
def column_sums_without_atomics(a: random_floats(64, 32), sums: zeros_of_shape(32)):
    """
    auto [j, i] = grid<2>();
    sums[j] += a(i, j);                               //-!
    atomicAdd(&sums[j], a(i, j));                     //+
    """


@register_pair("race", array="y", grid=1, block=8, expect=lambda col, val, x: product(col, val, x))
def sparse_transposed_product_without_atomics(
    col: random_ints(8, 3, below=6),
    val: random_floats(8, 3),
    x: random_floats(8),
    y: zeros_of_shape(6),
):
    """
    int row = grid<1>();
    for (int k = 0; k < 3; ++k)
        y[col(row, k)] += val(row, k) * x[row];       //-!
        atomicAdd(&y[col(row, k)], val(row, k) * x[row]);  //+
    """


def product(col, val, x):
    y = np.zeros(6)
    np.add.at(y, col, val * x[:, None])
    return y


@register_pair(
    "race", array="distance", grid=1, block=64, expect=lambda to, w: expected_distances(to, w)
)
def relaxation_without_atomic_min(
    to: random_ints(64, below=8),
    w: random_ints(64, below=100, seed=2),
    distance: np.full(8, 1000, np.int32),
):
    """
    int e = grid<1>();
    if (w[e] < distance[to[e]]) distance[to[e]] = w[e];  //-!
    atomicMin(&distance[to[e]], w[e]);                //+
    """


def expected_distances(to, w):
    distance = np.full(8, 1000)
    np.minimum.at(distance, to, w)
    return distance


@register_pair("race", array="force", grid=1, block=32, expect=lambda x: (x[:, None] - x).sum(1))
def pair_forces_added_without_atomics(x: random_floats(32), force: zeros_of_shape(32)):
    """
    int i = grid<1>();
    for (int j = i + 1; j < 32; ++j) {
        float f = x[i] - x[j];
        force[i] += f;                                //-!
        force[j] -= f;                                //-!
        atomicAdd(&force[i], f);                      //+
        atomicAdd(&force[j], -f);                     //+
    }
    """


@register_pair("race", array="count", grid=2, block=64, expect=lambda x: (x > 0.5).sum())
def module_variable_incremented_without_atomic(x: random_floats(128), out: zero_counts(1)):
    """
    __device__ int count = 0;
    __device__ unsigned int arrived = 0;

    __global__ void count_large(const float* x, int* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (x[i] > 0.5f) ++count;                     //-!
        if (x[i] > 0.5f) atomicAdd(&count, 1);        //+
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1) out[0] = atomicExch(&count, 0);
        }
    }
    """


@register_pair("race", array="state", grid=1, block=32, expect=lambda: last_states(32))
def random_state_shared_by_threads(
    state: np.arange(1, 33, dtype=np.uint32), out: zeros_of_shape(32, dtype=np.uint32)
):
    """
    int i = grid<1>();
    uint32& s = state[0];                             //-
    uint32& s = state[i];                             //+
    for (int k = 0; k < 3; ++k) {
        s = s * 1664525u + 1013904223u;               //!
        out[i] = s;                                   //!
    }
    """


def last_states(n):
    s = np.arange(1, n + 1, dtype=np.uint32)
    for _ in range(3):
        s = s * np.uint32(1664525) + np.uint32(1013904223)
    return s


# --- lists that threads append to ------------------------------------------------------------------------


@register_pair(
    "race",
    array="length",
    grid=2,
    block=64,
    key=np.sort,
    expect=lambda x: np.concatenate([np.flatnonzero(x > 7), np.full(128 - (x > 7).sum(), -1)]),
)
def list_index_read_separately_from_atomic(
    x: random_ints(128, below=10), length: zero_counts(1), list: np.full(128, -1, np.int32)
):
    """
    int i = grid<1>();
    if (x[i] > 7) {
        int at = length[0];                           //-!
        atomicAdd(&length[0], 1);                     //-!
        int at = atomicAdd(&length[0], 1);            //+
        list[at] = i;
    }
    """  # fmt: skip


@register_pair(
    "race",
    array="length",
    grid=2,
    block=64,
    key=np.sort,
    expect=lambda x: {"list": np.concatenate([x[x > 7], np.zeros(128 - (x > 7).sum())])},
)
def list_index_from_nonatomic_counter(
    x: random_ints(128, below=10), length: zero_counts(1), list: zero_counts(128)
):
    """
    int i = grid<1>();
    if (x[i] > 7) {
        int at = length[0]++;                         //-!
        int at = atomicAdd(&length[0], 1);            //+
        list[at] = x[i];
    }
    """  # fmt: skip


@register_pair("race", array="used", grid=1, block=64, expect=lambda x: (x > 0).sum() > 20)
def atomic_counter_read_without_atomic(
    x: random_ints(64, below=4), used: zero_counts(1), full: zero_counts(1)
):
    """
    int i = grid<1>();
    if (x[i] > 0) {
        atomicAdd(&used[0], 1);                       //-!
        if (used[0] == 21) full[0] = 1;               //-!
        if (atomicAdd(&used[0], 1) == 20) full[0] = 1;  //+
    }
    """


# --- elements that several threads own -------------------------------------------------------------------


@register_pair("race", array="x", grid=2, block=64, expect=lambda x: x[::-1])
def in_place_reversal_swaps_twice(x: ascending(128)):
    """
    int i = grid<1>(), n = x.size();
    if (i < n) {                                      //-
    if (i < n / 2) {                                  //+
        float v = x[i];                               //!
        x[i] = x[n - 1 - i];                          //!
        x[n - 1 - i] = v;                             //!
    }
    """


@register_pair("race", array="a", grid=(2, 2), block=(8, 8), expect=lambda a: a.T)
def in_place_transposition_swaps_twice(a: random_floats(16, 16)):
    """
    auto [j, i] = grid<2>();
    if (i < 16 && j < 16) {                           //-
    if (i < j && j < 16) {                            //+
        float v = a(i, j);                            //!
        a(i, j) = a(j, i);                            //!
        a(j, i) = v;                                  //!
    }
    """


@register_pair(
    "race",
    array="out",
    grid=2,
    block=64,
    right={"to": np.random.default_rng(3).permutation(128).astype(np.int32)},
    expect=lambda x, to: expected_scatter(x, to),
)
def scatter_with_duplicate_indices(
    x: random_floats(128), to: random_ints(128, below=128), out: zeros_of_shape(128)
):
    """
    int i = grid<1>();
    out[to[i]] = x[i];                                //!
    """  # fmt: skip


def expected_scatter(x, to):
    out = np.zeros(128, np.float32)
    out[to] = x
    return out


@register_pair(
    "race", array="y", grid=1, block=16, expect=lambda x: x.reshape(16, 4).cumsum(1).ravel()
)
def chunks_of_threads_overlap_by_one(x: random_floats(64), y: zeros_of_shape(64)):
    """
    int first = grid<1>() * 4;
    float sum = 0;
    for (int i = first; i <= first + 4 && i < 64; ++i)  //-
    for (int i = first; i < first + 4; ++i)           //+
        y[i] = sum += x[i];                           //!
    """


@register_pair("race", array="out", grid=2, block=64, expect=lambda x: x.reshape(4, 32).sum(1))
def result_written_by_every_lane(x: random_floats(128), out: zeros_of_shape(4)):
    """
    int i = grid<1>();
    float sum = x[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    out[i / 32] = sum;                                //-!
    if (i % 32 == 0) out[i / 32] = sum;               //+
    """


# --- stencils in place -----------------------------------------------------------------------------------


@register_pair(
    "race", array="x", grid=2, block=64, expect=lambda x: np.r_[x[0], (x[:-2] + x[2:]) / 2, x[-1]]
)
def stencil_in_place(x: random_floats(128), y: zeros_of_shape(128)):
    """
    int i = grid<1>();
    float v = x[i];
    if (i > 0 && i < 127) v = (x[i - 1] + x[i + 1]) / 2;  //!
    x[i] = v;                                         //-!
    y[i] = v;                                         //+
    """  # fmt: skip


@register_pair(
    "race", array="world", grid=(2, 2), block=(8, 8), expect=lambda world: next_generation(world)
)
def game_of_life_in_place(world: random_ints(16, 16, below=2), later: zero_counts(16, 16)):
    """
    auto [j, i] = grid<2>();
    int n = 0;
    for (int di = -1; di <= 1; ++di)
        for (int dj = -1; dj <= 1; ++dj)
            if (di || dj) n += world((i + di + 16) % 16, (j + dj + 16) % 16);  //!
    int alive = n == 3 || (n == 2 && world(i, j));    //!
    world(i, j) = alive;                              //-!
    later(i, j) = alive;                              //+
    """


def next_generation(world):
    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    n = sum(np.roll(world, move, (0, 1)) for move in moves)
    return (n == 3) | ((n == 2) & (world == 1))


@register_pair("race", array="x", grid=2, block=32, cooperative=True, expect=lambda x: jacobi(x, 4))
def jacobi_iterations_without_grid_barrier(x: random_floats(66), y: random_floats(66)):
    """
    #include "numbalite/groups.cuh"
    __global__ void iterate(float* x, float* y) {
        int i = 1 + blockIdx.x * blockDim.x + threadIdx.x;
        for (int step = 0; step < 4; ++step) {
            float* from = step % 2 ? y : x;
            float* to = step % 2 ? x : y;
            to[i] = 0.5f * (from[i - 1] + from[i + 1]);  //!
            __syncthreads();                          //-
            cg::this_grid().sync();                   //+
        }
    }
    """


def jacobi(x, count):
    for _ in range(count):
        x = np.r_[x[0], (x[:-2] + x[2:]) / 2, x[-1]]
    return {"x": x}


# --- blocks that hand something over ---------------------------------------------------------------------


@register_pair(
    "race", array="sums", grid=4, block=64, expect=lambda x: x.reshape(4, 64).sum(1).cumsum()
)
def result_of_other_block_read_without_synchronization(
    x: random_ints(256, below=9), sums: zero_counts(4), out: zero_counts(4)
):
    """
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[grid<1>()]);
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;                       //-!
        int before = 0;                               //-
        for (int b = 0; b < blockIdx.x; ++b) before += sums[b];  //-!
        out[blockIdx.x] = before + sum;               //-
        for (int b = blockIdx.x; b < gridDim.x; ++b) atomicAdd(&out[b], sum);  //+
    }
    """


@register_pair("race", array="out", grid=4, block=64, expect=lambda x: x.sum())
def block_scope_atomic_ref_across_blocks(x: random_ints(256, below=9), out: zero_counts(1)):
    """
    #include <cuda/atomic>
    __global__ void count(const int *x, int *out) {
        __shared__ int sum;
        if (threadIdx.x == 0) sum = 0;
        __syncthreads();
        cuda::atomic_ref<int, cuda::thread_scope_block> of_block(sum);
        of_block.fetch_add(x[blockIdx.x * blockDim.x + threadIdx.x], cuda::memory_order_relaxed);
        __syncthreads();
        cuda::atomic_ref<int, cuda::thread_scope_block> total(out[0]);     //-
        cuda::atomic_ref<int, cuda::thread_scope_device> total(out[0]);    //+
        if (threadIdx.x == 0) total.fetch_add(sum, cuda::memory_order_relaxed);  //!
    }
    """


@register_pair("race", array="partial", grid=4, block=64, expect=lambda x: {"out": x.sum()})
def last_block_reduction_without_fence(
    x: random_ints(256, below=9), partial: zero_counts(4), done: zero_counts(1), out: zero_counts(1)
):
    """
    __shared__ int sum, last;
    int t = threadIdx.x;
    if (t == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[grid<1>()]);
    __syncthreads();
    if (t == 0) {
        partial[blockIdx.x] = sum;                    //!
        __threadfence();                              //+
        last = atomicAdd(&done[0], 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();                              //+
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += partial[b];  //!
        out[0] = total;
    }
    """


@register_pair(
    "race", array="data", grid=2, block=32, expect=lambda data: {"out": ascending(32) * 2}
)
def producer_and_consumer_without_a_fence(
    data: zeros_of_shape(32), flag: zero_counts(1), out: zeros_of_shape(32)
):
    """
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = 2 * t;                              //!
        __threadfence();                              //+
        __syncthreads();
        if (t == 0) atomicExch(&flag[0], 1);
    } else {
        if (t == 0) while (atomicAdd(&flag[0], 0) == 0) {}
        __syncthreads();
        __threadfence();                              //+
        out[t] = data[t];                             //!
    }
    """


@register_pair("race", array="flag", grid=2, block=1, expect=lambda: {"out": np.full(4, 7.0)})
def flag_without_atomic_access(
    data: zeros_of_shape(4), flag: zero_counts(1), out: zeros_of_shape(4)
):
    """
    if (blockIdx.x == 0) {
        for (int i = 0; i < 4; ++i) data[i] = 7;
        __threadfence();
        flag[0] = 1;                                  //-!
        atomicExch(&flag[0], 1);                      //+
    } else {
        bool ready = false;
        for (int tries = 0; tries < 100000 && !ready; ++tries) {
            ready = flag[0];                          //-!
            ready = atomicAdd(&flag[0], 0);           //+
            __nanosleep(100);
        }
        __threadfence();
        for (int i = 0; ready && i < 4; ++i) out[i] = data[i];
    }
    """


@register_pair("race", array="data", grid=2, block=32, expect=lambda: {"out": ascending(32) + 1})
def flag_set_before_the_data(
    data: zeros_of_shape(32), flag: zero_counts(1), out: zeros_of_shape(32)
):
    """
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t == 0) atomicExch(&flag[0], 1);          //-
        data[t] = t + 1;                              //!
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(&flag[0], 1);          //+
    } else {
        if (t == 0) while (atomicAdd(&flag[0], 0) == 0) {}
        __syncthreads();
        __threadfence();
        out[t] = data[t];                             //!
    }
    """


# --- locks -----------------------------------------------------------------------------------------------

LOCKED = 8


@register_pair("race", array="balance", grid=LOCKED, block=1, expect=lambda: LOCKED * 5)
def lock_released_before_the_write(lock: zero_counts(1), balance: zero_counts(1)):
    """
    while (atomicCAS(&lock[0], 0, 1) != 0) {}
    __threadfence();
    int old = balance[0];                             //!
    atomicExch(&lock[0], 0);                          //-
    balance[0] = old + 5;                             //!
    __threadfence();                                  //+
    atomicExch(&lock[0], 0);                          //+
    """


@register_pair("race", array="balance", grid=LOCKED, block=1, expect=lambda: LOCKED * 100)
def lock_tested_and_set_separately(lock: zero_counts(1), balance: zero_counts(1)):
    """
    for (int k = 0; k < 20; ++k) {
        while (atomicAdd(&lock[0], 0) != 0) {}        //-
        atomicExch(&lock[0], 1);                      //-
        while (atomicCAS(&lock[0], 0, 1) != 0) {}     //+
        __threadfence();
        balance[0] += 5;                              //!
        __threadfence();
        atomicExch(&lock[0], 0);
    }
    """


@register_pair("race", array="balance", grid=LOCKED, block=1, expect=lambda: [LOCKED // 2 * 5] * 2)
def lock_chosen_by_wrong_index(lock: zero_counts(2), balance: zeros_of_shape(2)):
    """
    int account = blockIdx.x % 2;
    int key = blockIdx.x / 2 % 2;                     //-
    int key = account;                                //+
    while (atomicCAS(&lock[key], 0, 1) != 0) {}
    __threadfence();
    balance[account] += 5;                            //!
    __threadfence();
    atomicExch(&lock[key], 0);
    """


@register_pair("race", array="total", grid=8, block=32, expect=lambda x: x.sum())
def block_scope_atomic_add_across_blocks(x: random_ints(256, below=9), total: zero_counts(1)):
    """
    atomicAdd_block(&total[0], x[grid<1>()]);         //-!
    atomicAdd(&total[0], x[grid<1>()]);               //+
    """
