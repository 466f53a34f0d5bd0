"""Defines pairs with reads of uninitialized shared memory and device memory."""

import numpy as np
from pairs.form import (
    random_floats,
    random_ints,
    register_pair,
    uninitialized_array,
    zero_counts,
    zeros_of_shape,
)

N = 64
BINS = 16
TILE = 8

# --- shared memory ---------------------------------------------------------------------------------------


@register_pair("unwritten", array="sum", grid=2, block=N, expect=lambda x: x.sum())
def shared_sum_without_initial_value(x: random_ints(2 * N, below=9), out: zero_counts(1)):
    """
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;                    //+
    __syncthreads();
    atomicAdd(&sum, x[grid<1>()]);                    //!
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&out[0], sum);    //!
    """


@register_pair(
    "unwritten", array="bins", grid=1, block=N, expect=lambda x: np.bincount(x, minlength=BINS)
)
def half_of_shared_histogram_uninitialized(x: random_ints(N, below=BINS), out: zero_counts(BINS)):
    """
    __shared__ int bins[BINS];
    int t = threadIdx.x;
    if (t < BINS / 2) bins[t] = 0;                    //-
    if (t < BINS) bins[t] = 0;                        //+
    __syncthreads();
    atomicAdd(&bins[x[t]], 1);                        //!
    __syncthreads();
    if (t < BINS) out[t] = bins[t];                   //!
    """


@register_pair("unwritten", array="s", grid=2, block=N, expect=lambda x: [x[:N].sum(), x[N:].sum()])
def reduction_of_partial_block_reads_unwritten(
    x: random_floats(2 * N - 20), out: zeros_of_shape(2)
):
    """
    __shared__ float s[N];
    int i = grid<1>(), t = threadIdx.x;
    if (i < x.size()) s[t] = x[i];                    //-
    s[t] = i < x.size() ? x[i] : 0;                   //+
    for (int w = N / 2; w > 0; w /= 2) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];                  //!
    }
    if (t == 0) out[blockIdx.x] = s[0];
    """


@register_pair(
    "unwritten", array="b_tile", grid=(2, 2), block=(TILE, TILE), expect=lambda a, b: a @ b
)
def matmul_edge_tile_partly_unwritten(
    a: random_floats(12, 12), b: random_floats(12, 12, seed=2), c: zeros_of_shape(12, 12)
):
    """
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, n = a.shape[0];
    auto [j, i] = grid<2>();
    a_tile[y][x] = 0;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        a_tile[y][x] = i < n && k + x < n ? a(i, k + x) : 0;
        if (k + y < n && j < n) b_tile[y][x] = b(k + y, j);  //-
        b_tile[y][x] = k + y < n && j < n ? b(k + y, j) : 0;  //+
        __syncthreads();
        for (int m = 0; m < TILE; ++m) sum += a_tile[y][m] * b_tile[m][x];  //!
        __syncthreads();
    }
    if (i < n && j < n) c(i, j) = sum;
    """


@register_pair(
    "unwritten",
    array="s",
    grid=1,
    block=N,
    expect=lambda x: np.convolve(np.pad(x, 1), [1, 1, 1], "valid"),
)
def halo_element_never_loaded(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float s[N + 2];
    int t = threadIdx.x;
    s[t + 1] = x[t];
    if (t == 0) s[0] = 0;                             //-
    if (t == 0) s[0] = s[N + 1] = 0;                  //+
    __syncthreads();
    out[t] = s[t] + s[t + 1] + s[t + 2];              //!
    """  # fmt: skip


@register_pair("unwritten", array="partial", grid=1, block=N, expect=lambda x: x.sum())
def unwritten_sums_of_nonexistent_warps(x: random_floats(N), out: zeros_of_shape(1)):
    """
    __shared__ float partial[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = partial[lane];                          //-!
        sum = lane < N / 32 ? partial[lane] : 0;      //+
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (lane == 0) out[0] = sum;
    }
    """


@register_pair(
    "unwritten", array="s", grid=1, block=N, shared=8 * N, expect=lambda x: expected_diffusion(x)
)
def unwritten_buffer_read_first(x: random_floats(N), out: zeros_of_shape(N)):
    """
    extern __shared__ float s[];
    float* from = s + N;                              //-
    float* to = s;                                    //-
    float* from = s;                                  //+
    float* to = s + N;                                //+
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    to[t] = (from[t] + from[(t + 1) % N]) / 2;        //!
    __syncthreads();
    out[t] = (to[t] + to[(t + 1) % N]) / 2;
    """


def expected_diffusion(x):
    for _ in range(2):
        x = (x + np.roll(x, -1)) / 2
    return x


@register_pair("unwritten", array="s", grid=2, block=N, expect=lambda x: np.repeat(x[:4], N // 2))
def shared_table_written_in_first_block_only(x: random_floats(4), out: zeros_of_shape(2 * N)):
    """
    __shared__ float s[4];
    int i = grid<1>();
    if (i < 4) s[i] = x[i];                           //-
    if (threadIdx.x < 4) s[threadIdx.x] = x[threadIdx.x];  //+
    __syncthreads();
    out[i] = s[i / (N / 2)];                          //!
    """


# --- device memory ---------------------------------------------------------------------------------------


@register_pair(
    "unwritten", array="out", grid=1, block=N, expect=lambda x: x, right={"out": zeros_of_shape(N)}
)
def addition_to_uninitialized_array(x: random_floats(N), out: uninitialized_array(N)):
    """
    int i = grid<1>();
    out[i] += x[i];                                   //!
    """


@register_pair(
    "unwritten",
    array="bins",
    grid=1,
    block=N,
    right={"bins": zero_counts(BINS)},
    expect=lambda x: np.bincount(x, minlength=BINS),
)
def histogram_in_uninitialized_array(
    x: random_ints(N, below=BINS), bins: uninitialized_array(BINS, dtype=np.int32)
):
    """
    __global__ void histogram(const int* x, int* bins) {
        atomicAdd(&bins[x[threadIdx.x]], 1);          //!
    }
    """  # fmt: skip


@register_pair("unwritten", array="y", grid=1, block=N, expect=lambda x: x[::-1])
def half_of_array_unwritten(x: random_floats(N), y: uninitialized_array(N), out: zeros_of_shape(N)):
    """
    int i = grid<1>();
    if (i < N / 2)                                    //-
        y[i] = x[i];
    __syncthreads();
    out[i] = y[N - 1 - i];                            //!
    """


@register_pair("unwritten", array="first", grid=1, block=8, expect=lambda n: n.cumsum() - n)
def first_offset_unwritten(
    n: random_ints(8, below=9), first: uninitialized_array(8, dtype=np.int32), out: zero_counts(8)
):
    """
    int i = grid<1>();
    if (i == 0) {
        first[0] = 0;                                 //+
        for (int k = 1; k < 8; ++k) first[k] = first[k - 1] + n[k - 1];  //!
    }
    __syncthreads();
    out[i] = first[i];
    """  # fmt: skip


@register_pair("unwritten", array="a", grid=(2, 2), block=(8, 8), expect=lambda: np.tri(16))
def unwritten_triangle_of_matrix_read(a: uninitialized_array(16, 16), out: zeros_of_shape(16, 16)):
    """
    #include "numbalite.cuh"
    __global__ void unit(float* a, float* out) {
        int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
        if (j <= i) a[i * 16 + j] = 1;                //-
        a[i * 16 + j] = j <= i;                       //+
        out[i * 16 + j] = a[i * 16 + j];              //!
    }
    """
