"""Defines pairs with races in shared memory: threads of one block that access the same element with no
barrier between the accesses."""

import numpy as np
from pairs.form import (
    ascending,
    random_floats,
    random_ints,
    register_pair,
    zero_counts,
    zeros_of_shape,
)

N = 128  # threads of a block, and elements
BINS = 16
TILE = 8

# --- reductions ------------------------------------------------------------------------------------------


@register_pair("race", array="s", grid=2, block=N, expect=lambda x: x.reshape(2, N).sum(1))
def reduction_without_barrier(x: random_floats(2 * N), out: zeros_of_shape(2)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[grid<1>()];
    __syncthreads();
    for (int w = N / 2; w > 0; w /= 2) {
        if (t < w) s[t] += s[t + w];              //!
        __syncthreads();                          //+
    }
    if (t == 0) out[blockIdx.x] = s[0];
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x.sum())
def reduction_of_unfinished_loads(x: random_floats(N), out: zeros_of_shape(1)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];                                  //!
    for (int w = N / 2; w > 0; w /= 2) {
        if (w < N / 2) __syncthreads();           //-
        __syncthreads();                          //+
        if (t < w) s[t] += s[t + w];              //!
    }
    if (t == 0) out[0] = s[0];
    """


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x.sum())
def reduction_with_the_last_warp_unsynchronised(x: random_floats(N), out: zeros_of_shape(1)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int w = N / 2; w > 32; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t < 32) {
        volatile float* v = s;
        float sum = v[t];
        for (int w = 32; w > 0; w /= 2) {
            sum += v[t + w];                      //!
            __syncwarp();                         //+
            v[t] = sum;                           //!
            __syncwarp();                         //+
        }
        if (t == 0) out[0] = sum;
    }
    """


@register_pair("race", array="partial", grid=1, block=N, expect=lambda x: x.sum())
def partial_warp_sums_without_barrier(x: random_floats(N), out: zeros_of_shape(1)):
    """
    __shared__ float partial[N / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) partial[warp] = sum;           //!
    __syncthreads();                              //+
    if (warp == 0) {
        sum = lane < N / 32 ? partial[lane] : 0;  //!
        for (int d = 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (lane == 0) out[0] = sum;
    }
    """


# The missing barrier affects both arrays; the compiler determines which array is reported first.
@register_pair("race", grid=1, block=N, expect=lambda x: x.argmax())
def argmax_steps_without_barrier(x: random_floats(N), out: zero_counts(1)):
    """
    __shared__ float best[N];
    __shared__ int where[N];
    int t = threadIdx.x;
    best[t] = x[t];
    where[t] = t;
    __syncthreads();
    for (int w = N / 2; w > 0; w /= 2) {
        if (t < w && best[t + w] > best[t]) {     //!
            best[t] = best[t + w];                //!
            where[t] = where[t + w];              //!
        }
        __syncthreads();                          //+
    }
    if (t == 0) out[0] = where[0];
    """


@register_pair("race", array="mean", grid=1, block=N, expect=lambda x: x - x.mean())
def mean_read_without_barrier(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float mean;
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t == 0) {
        float sum = 0;
        for (int i = 0; i < N; ++i) sum += s[i];
        mean = sum / N;                           //!
    }
    __syncthreads();                              //+
    out[t] = x[t] - mean;                         //!
    """


@register_pair(
    "race", array="total", grid=1, block=N, expect=lambda x: np.repeat(x.sum(1), N).reshape(3, N)
)
def total_reset_without_barrier(x: random_ints(3, N, below=9), out: zero_counts(3, N)):
    """
    __shared__ int total;
    int t = threadIdx.x;
    for (int row = 0; row < 3; ++row) {
        if (t == 0) total = 0;                    //!
        __syncthreads();
        atomicAdd(&total, x(row, t));
        __syncthreads();
        out(row, t) = total;                      //!
        __syncthreads();                          //+
    }
    """


@register_pair(
    "race",
    array="s",
    grid=1,
    block=N,
    expect=lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
)
def softmax_scratch_reused_without_barrier(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int w = N / 2; w > 0; w /= 2) {
        if (t < w) s[t] = max(s[t], s[t + w]);
        __syncthreads();
    }
    float e = exp(x[t] - s[0]);                   //!
    __syncthreads();                              //+
    s[t] = e;                                     //!
    __syncthreads();
    for (int w = N / 2; w > 0; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    out[t] = e / s[0];
    """  # fmt: skip


# --- histograms and counters -----------------------------------------------------------------------------


@register_pair(
    "race", array="bins", grid=1, block=N, expect=lambda x: np.bincount(x, minlength=BINS)
)
def shared_histogram_without_atomics(x: random_ints(N, below=BINS), out: zero_counts(BINS)):
    """
    __shared__ int bins[BINS];
    int t = threadIdx.x;
    if (t < BINS) bins[t] = 0;
    __syncthreads();
    ++bins[x[t]];                                 //-!
    atomicAdd(&bins[x[t]], 1);                    //+
    __syncthreads();
    if (t < BINS) out[t] = bins[t];
    """


@register_pair(
    "race", array="bins", grid=1, block=N, expect=lambda x: np.bincount(x, minlength=BINS)
)
def shared_histogram_cleared_without_barrier(x: random_ints(N, below=BINS), out: zero_counts(BINS)):
    """
    __shared__ int bins[BINS];
    int t = threadIdx.x;
    if (t < BINS) bins[t] = 0;                    //!
    __syncthreads();                              //+
    atomicAdd(&bins[x[t]], 1);                    //!
    __syncthreads();
    if (t < BINS) out[t] = bins[t];
    """


@register_pair(
    "race",
    array="found",
    grid=1,
    block=N,
    key=np.sort,
    expect=lambda x: np.concatenate([x[x > 7], np.zeros(N - (x > 7).sum())]),
)
def compaction_counter_without_atomic(x: random_ints(N, below=10), out: zero_counts(N)):
    """
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0) found = 0;
    __syncthreads();
    if (x[t] > 7) {
        int at = found++;                         //-!
        int at = atomicAdd(&found, 1);            //+
        out[at] = x[t];
    }
    """  # fmt: skip


@register_pair(
    "race",
    array="queue",
    grid=1,
    block=64,
    key=np.sort,
    expect=lambda x: np.concatenate([x[x % 2 == 1] * 10, np.zeros(64 - (x % 2 == 1).sum())]),
)
def queue_read_without_barrier_after_push(x: random_ints(64, below=100), out: zero_counts(64)):
    """
    __shared__ int queue[64];
    __shared__ int length;
    int t = threadIdx.x;
    if (t == 0) length = 0;
    __syncthreads();
    if (x[t] % 2) queue[atomicAdd(&length, 1)] = x[t];  //!
    __syncthreads();                              //+
    if (t < atomicAdd(&length, 0)) out[t] = queue[t] * 10;  //!
    """  # fmt: skip


# --- stencils and tiles ----------------------------------------------------------------------------------


@register_pair(
    "race",
    array="s",
    grid=1,
    block=N,
    expect=lambda x: np.convolve(np.pad(x, 1), [0.25, 0.5, 0.25], "valid"),
)
def stencil_in_place_in_shared_memory(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N + 2];
    int t = threadIdx.x;
    s[t + 1] = x[t];
    if (t == 0) s[0] = s[N + 1] = 0;
    __syncthreads();
    float v = (s[t] + 2 * s[t + 1] + s[t + 2]) / 4;  //!
    __syncthreads();                              //+
    s[t + 1] = v;                                 //!
    __syncthreads();
    out[t] = s[t + 1];
    """  # fmt: skip


@register_pair(
    "race",
    array="s",
    grid=2,
    block=64,
    expect=lambda x: np.convolve(np.pad(x, 1), [1, 1, 1], "valid"),
)
def convolution_halo_without_barrier(x: random_floats(128), out: zeros_of_shape(128)):
    """
    __shared__ float s[64 + 2];
    int i = grid<1>(), t = threadIdx.x;
    s[t + 1] = x[i];                              //!
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;      //!
    if (t == 63) s[65] = i + 1 < x.size() ? x[i + 1] : 0;  //!
    __syncthreads();                              //+
    out[i] = s[t] + s[t + 1] + s[t + 2];          //!
    """  # fmt: skip


@register_pair("race", array="tile", grid=(2, 3), block=(TILE, TILE), expect=lambda x: x.T)
def transposition_without_barrier(
    x: random_floats(3 * TILE, 2 * TILE), out: zeros_of_shape(2 * TILE, 3 * TILE)
):
    """
    __shared__ float tile[TILE][TILE + 1];
    int i = blockIdx.y * TILE, j = blockIdx.x * TILE;
    tile[threadIdx.y][threadIdx.x] = x(i + threadIdx.y, j + threadIdx.x);    //!
    __syncthreads();                                                         //+
    out(j + threadIdx.y, i + threadIdx.x) = tile[threadIdx.x][threadIdx.y];  //!
    """


@register_pair("race", array="a_tile", grid=(2, 2), block=(TILE, TILE), expect=lambda a, b: a @ b)
def matmul_tile_used_before_it_is_loaded(
    a: random_floats(16, 16), b: random_floats(16, 16, seed=2), c: zeros_of_shape(16, 16)
):
    """
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    auto [j, i] = grid<2>();
    float sum = 0;
    for (int k = 0; k < a.shape[1]; k += TILE) {
        a_tile[y][x] = a(i, k + x);               //!
        b_tile[y][x] = b(k + y, j);               //!
        __syncthreads();                          //+
        for (int m = 0; m < TILE; ++m)
            sum += a_tile[y][m] * b_tile[m][x];   //!
        __syncthreads();
    }
    c(i, j) = sum;
    """


@register_pair("race", array="a_tile", grid=(2, 2), block=(TILE, TILE), expect=lambda a, b: a @ b)
def matmul_tile_reloaded_while_it_is_used(
    a: random_floats(16, 16), b: random_floats(16, 16, seed=2), c: zeros_of_shape(16, 16)
):
    """
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    auto [j, i] = grid<2>();
    float sum = 0;
    for (int k = 0; k < a.shape[1]; k += TILE) {
        a_tile[y][x] = a(i, k + x);               //!
        b_tile[y][x] = b(k + y, j);               //!
        __syncthreads();
        for (int m = 0; m < TILE; ++m)
            sum += a_tile[y][m] * b_tile[m][x];   //!
        __syncthreads();                          //+
    }
    c(i, j) = sum;
    """


@register_pair("race", array="s", grid=1, block=64, expect=lambda x: expected_diffusion(x, 5))
def double_buffering_without_the_second_barrier(x: random_floats(66), out: zeros_of_shape(66)):
    """
    __shared__ float s[2][66];
    int t = threadIdx.x + 1;
    s[0][t] = x[t];
    s[1][t] = x[t];
    if (t == 1) s[0][0] = s[1][0] = x[0];
    if (t == 64) s[0][65] = s[1][65] = x[65];
    __syncthreads();
    for (int step = 0; step < 5; ++step) {
        float* from = s[step % 2];
        float* to = s[1 - step % 2];
        to[t] = from[t] + 0.25f * (from[t - 1] - 2 * from[t] + from[t + 1]);  //!
        __syncthreads();                          //+
    }
    out[t] = s[1][t];
    if (t == 1) out[0] = x[0];
    if (t == 64) out[65] = x[65];
    """


def expected_diffusion(x, steps):
    for _ in range(steps):
        x = np.concatenate([x[:1], x[1:-1] + 0.25 * np.diff(x, 2), x[-1:]])
    return x


@register_pair("race", array="next", grid=1, block=64, expect=lambda x: x.reshape(4, 64).sum(0))
def prefetch_into_the_buffer_in_use(x: random_floats(256), out: zeros_of_shape(64)):
    """
    __shared__ float next[64];
    int t = threadIdx.x;
    float sum = 0;
    next[t] = x[t];                               //!
    for (int k = 1; k <= 4; ++k) {
        __syncthreads();
        sum += next[63 - t];                      //!
        __syncthreads();                          //+
        if (k < 4) next[t] = x[k * 64 + t];       //!
    }
    out[63 - t] = sum;
    """


# --- scans, sorts, solvers -------------------------------------------------------------------------------


@register_pair("race", array="s", grid=1, block=N, expect=lambda x: x.cumsum())
def hillis_steele_scan_without_barrier(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < N; d *= 2) {
        float v = s[t];
        if (t >= d) v += s[t - d];                //!
        __syncthreads();                          //+
        s[t] = v;                                 //!
        __syncthreads();
    }
    out[t] = s[t];
    """


@register_pair("race", array="s", grid=1, block=N // 2, expect=lambda x: x.cumsum() - x)
def blelloch_scan_without_barrier(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    int d = 1;
    for (int n = N / 2; n > 0; n /= 2, d *= 2) {
        __syncthreads();
        if (t < n) s[d * (2 * t + 2) - 1] += s[d * (2 * t + 1) - 1];  //!
    }
    if (t == 0) s[N - 1] = 0;                     //!
    for (int n = 1; n < N; n *= 2) {
        d /= 2;
        __syncthreads();                          //+
        if (t < n) {
            int left = d * (2 * t + 1) - 1, right = d * (2 * t + 2) - 1;
            float v = s[left];                    //!
            s[left] = s[right];                   //!
            s[right] += v;                        //!
        }
    }
    __syncthreads();
    out[2 * t] = s[2 * t];
    out[2 * t + 1] = s[2 * t + 1];
    """


@register_pair("race", array="s", grid=1, block=32, expect=lambda x: np.sort(x))
def odd_even_sort_without_barrier(x: random_ints(64, below=1000), out: zero_counts(64)):
    """
    __shared__ int s[64];
    int t = threadIdx.x;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    __syncthreads();
    for (int phase = 0; phase < 64; ++phase) {
        int i = 2 * t + phase % 2;
        if (i + 1 < 64 && s[i] > s[i + 1]) {      //!
            int v = s[i];
            s[i] = s[i + 1];                      //!
            s[i + 1] = v;                         //!
        }
        __syncthreads();                          //+
    }
    __syncthreads();                              //-
    out[2 * t] = s[2 * t];
    out[2 * t + 1] = s[2 * t + 1];
    """


@register_pair("race", array="s", grid=1, block=64, expect=lambda x: np.sort(x))
def bitonic_sort_without_barrier(x: random_ints(64, below=1000), out: zero_counts(64)):
    """
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int k = 2; k <= 64; k *= 2) {
        __syncthreads();
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t && (s[t] > s[other]) == ((t & k) == 0)) {  //!
                int v = s[t];
                s[t] = s[other];                  //!
                s[other] = v;                     //!
            }
            __syncthreads();                      //+
        }
    }
    __syncthreads();
    out[t] = s[t];
    """


@register_pair("race", array="m", grid=1, block=(8, 8), expect=lambda a: expected_elimination(a))
def elimination_overwrites_pivot_row_in_use(
    a: random_floats(8, 8, low=1, high=2), out: zeros_of_shape(8, 8)
):
    """
    __shared__ float m[8][8];
    int i = threadIdx.y, j = threadIdx.x;
    m[i][j] = a(i, j) + (i == j ? 8 : 0);
    __syncthreads();
    for (int k = 0; k < 7; ++k) {
        float f = m[i][k] / m[k][k];              //!
        __syncthreads();                          //+
        if (i > k) m[i][j] -= f * m[k][j];        //!
        __syncthreads();
    }
    out(i, j) = m[i][j];
    """


def expected_elimination(a):
    m = a.astype(np.float64) + 8 * np.eye(8)
    for k in range(7):
        m[k + 1 :] -= np.outer(m[k + 1 :, k] / m[k, k], m[k])
    return m


@register_pair("race", array="s", grid=1, block=32, expect=lambda x: np.fft.fft(x))
def fft_butterflies_without_barrier(
    x: random_floats(64), out: zeros_of_shape(64, dtype=np.complex64)
):
    """
    __shared__ complex64 s[64];
    int t = threadIdx.x;
    for (int i = t; i < 64; i += 32) s[__brev(i) >> 26] = x[i];
    __syncthreads();
    for (int half = 1; half < 64; half *= 2) {
        int k = t % half, i = 2 * (t - k) + k;
        float angle = -3.14159265f * k / half;
        complex64 w(cos(angle), sin(angle));
        complex64 u = s[i], v = w * s[i + half];  //!
        s[i] = u + v;                             //!
        s[i + half] = u - v;                      //!
        __syncthreads();                          //+
    }
    __syncthreads();                              //-
    for (int i = t; i < 64; i += 32) out[i] = s[i];
    """


# --- the wrong kind of synchronisation -------------------------------------------------------------------


@register_pair("race", array="s", grid=1, block=64, expect=lambda x: x[::-1])
def syncwarp_instead_of_syncthreads(x: random_floats(64), out: zeros_of_shape(64)):
    """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];                                  //!
    __syncwarp();                                 //-
    __syncthreads();                              //+
    out[t] = s[63 - t];                           //!
    """


@register_pair("race", array="s", grid=1, block=64, expect=lambda x: x[::-1])
def fence_instead_of_barrier(x: random_floats(64), out: zeros_of_shape(64)):
    """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];                                  //!
    __threadfence_block();                        //-
    __syncthreads();                              //+
    out[t] = s[63 - t];                           //!
    """


@register_pair("race", array="s", grid=1, block=32, expect=lambda x: np.roll(x, -1))
def shared_exchange_in_warp_without_syncwarp(x: random_floats(32), out: zeros_of_shape(32)):
    """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];                                  //!
    __syncwarp();                                 //+
    out[t] = s[(t + 1) % 32];                     //!
    """


@register_pair(
    "race", array="s", grid=1, block=64, expect=lambda x: x.reshape(2, 32).cumsum(1).ravel()
)
def warp_scan_without_syncwarp(x: random_floats(64), out: zeros_of_shape(64)):
    """
    __shared__ float s[64];
    int t = threadIdx.x, lane = t % 32;
    s[t] = x[t];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        float v = lane >= d ? s[t - d] : 0;       //!
        __syncwarp();                             //+
        s[t] += v;                                //!
        __syncwarp();
    }
    out[t] = s[t];
    """


@register_pair("race", array="s", grid=1, block=64, expect=lambda x: np.repeat(x[::8], 8))
def tile_barrier_of_too_few_lanes(x: random_floats(64), out: zeros_of_shape(64)):
    """
    __shared__ float s[8];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());  //-
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());  //+
    int t = threadIdx.x;
    if (t % 8 == 0) s[t / 8] = x[t];              //!
    tile.sync();
    out[t] = s[t / 8];                            //!
    """


# --- dynamic shared memory -------------------------------------------------------------------------------


@register_pair(
    "race", grid=1, block=64, shared=64 * 8, expect=lambda x, k: {"out": x[::-1], "keys": k[::-1]}
)
def arrays_in_dynamic_memory_overlap(
    x: random_floats(64),
    k: random_ints(64, below=99),
    out: zeros_of_shape(64),
    keys: zero_counts(64),
):
    """
    extern __shared__ float memory[];
    float* values = memory;
    int* numbers = (int*)(memory + 32);           //-
    int* numbers = (int*)(memory + 64);           //+
    int t = threadIdx.x;
    values[t] = x[t];                             //!
    numbers[t] = k[t];                            //!
    __syncthreads();
    out[t] = values[63 - t];
    keys[t] = numbers[63 - t];
    """  # fmt: skip


@register_pair("race", array="s", grid=1, block=64, shared=64 * 4, expect=lambda x: x[::-1])
def dynamic_tile_without_barrier(x: ascending(64), out: zeros_of_shape(64)):
    """
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];                                  //!
    __syncthreads();                              //+
    out[t] = s[63 - t];                           //!
    """
