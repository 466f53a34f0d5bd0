"""Defines pairs with out-of-bounds indices in shared memory: arrays of fixed size, and dynamic
shared memory."""

import numpy as np
from pairs.form import random_floats, random_ints, register_pair, zero_counts, zeros_of_shape

TPB = 64
BINS = 16
TILE = 8

# --- of fixed size ---------------------------------------------------------------------------------------


@register_pair("memory", array="s", grid=1, block=TPB, expect=lambda x: np.append(x[1:], 0))
def shared_read_past_last_element(x: random_floats(TPB), out: zeros_of_shape(TPB)):
    """
    __shared__ float s[TPB];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[t + 1];                                //-!
    out[t] = t + 1 < TPB ? s[t + 1] : 0;              //+
    """


@register_pair("memory", array="s", grid=1, block=TPB, expect=lambda x: x + np.append(0, x[:-1]))
def shared_read_before_first_element(x: random_floats(TPB), out: zeros_of_shape(TPB)):
    """
    __shared__ float s[TPB];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[t] + s[t - 1];                         //-!
    out[t] = s[t] + (t > 0 ? s[t - 1] : 0);           //+
    """


@register_pair(
    "memory",
    array="s",
    grid=2,
    block=TPB,
    expect=lambda x: np.convolve(np.pad(x, 1), [1, 1, 1], "valid"),
)
def shared_array_too_small_for_halo(x: random_floats(2 * TPB), out: zeros_of_shape(2 * TPB)):
    """
    __shared__ float s[TPB + 1];                      //-
    __shared__ float s[TPB + 2];                      //+
    int i = grid<1>(), t = threadIdx.x;
    s[t + 1] = x[i];
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;
    if (t == TPB - 1) s[t + 2] = i + 1 < x.size() ? x[i + 1] : 0;  //!
    __syncthreads();
    out[i] = s[t] + s[t + 1] + s[t + 2];              //!
    """  # fmt: skip


@register_pair(
    "memory", array="s", grid=1, block=96, right={"block": TPB}, expect=lambda x: x.sum()
)
def block_larger_than_its_shared_array(x: random_floats(96), out: zeros_of_shape(1)):
    """
    __shared__ float s[TPB];
    int t = threadIdx.x;
    s[t] = 0;                                         //!
    for (int i = t; i < x.size(); i += blockDim.x) s[t] += x[i];  //!
    for (int w = TPB / 2; w > 0; w /= 2) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];
    }
    if (t == 0) out[0] = s[0];
    """


@register_pair("memory", array="s", grid=1, block=48, expect=lambda x: x.sum())
def shared_reduction_of_48_threads_reads_past_end(x: random_floats(48), out: zeros_of_shape(1)):
    """
    __shared__ float s[48];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int w = 32; w > 0; w /= 2) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];                  //-!
        if (t < w && t + w < 48) s[t] += s[t + w];    //+
    }
    if (t == 0) out[0] = s[0];
    """


@register_pair(
    "memory",
    array="bins",
    grid=1,
    block=TPB,
    expect=lambda x: np.bincount(np.minimum(x, BINS - 1), minlength=BINS),
)
def shared_bin_index_of_largest_value_past_end(
    x: np.append(random_ints(TPB - 1, below=BINS), BINS).astype(np.int32), out: zero_counts(BINS)
):
    """
    __shared__ int bins[BINS];
    int t = threadIdx.x;
    if (t < BINS) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t]], 1);                        //-!
    atomicAdd(&bins[min(x[t], BINS - 1)], 1);         //+
    __syncthreads();
    if (t < BINS) out[t] = bins[t];
    """  # fmt: skip


@register_pair("memory", array="partial", grid=1, block=96, expect=lambda x: x.sum())
def shared_array_too_small_for_warp_sums(x: random_floats(96), out: zeros_of_shape(1)):
    """
    __shared__ float partial[2];                      //-
    __shared__ float partial[3];                      //+
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) partial[warp] = sum;               //!
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int i = 0; i < 3; ++i) sum += partial[i];  //!
        out[0] = sum;
    }
    """


@register_pair("memory", array="tile", grid=1, block=(16, 4), expect=lambda x: x.T)
def rows_and_columns_of_a_tile_swapped(x: random_floats(4, 16), out: zeros_of_shape(16, 4)):
    """
    __shared__ float tile[4][16];
    int i = threadIdx.y, j = threadIdx.x;
    tile[j][i] = x(i, j);                             //-!
    __syncthreads();                                  //-
    out(j, i) = tile[j][i];                           //-
    tile[i][j] = x(i, j);                             //+
    __syncthreads();                                  //+
    out(j, i) = tile[i][j];                           //+
    """


@register_pair("memory", array="first", grid=1, block=TPB, expect=lambda x: {"out": x[::-1]})
def index_into_next_shared_variable(
    x: random_floats(TPB), out: zeros_of_shape(TPB), sums: zeros_of_shape(TPB)
):
    """
    __shared__ float first[TPB], second[TPB];
    int t = threadIdx.x;
    second[t] = 0;
    if (t == 0) first[0] = 0;
    __syncthreads();
    first[t + 1] = x[t];                              //-!
    first[t] = x[t];                                  //+
    __syncthreads();
    out[t] = first[TPB - 1 - t];
    sums[t] = first[t] + second[t];
    """


# --- dynamic shared memory -------------------------------------------------------------------


@register_pair(
    "memory",
    array="s",
    grid=1,
    block=TPB,
    shared=TPB,
    right={"shared": 4 * TPB},
    expect=lambda x: x[::-1],
)
def dynamic_memory_size_in_elements_instead_of_bytes(
    x: random_floats(TPB), out: zeros_of_shape(TPB)
):
    """
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];                                      //!
    __syncthreads();
    out[t] = s[TPB - 1 - t];
    """  # fmt: skip


@register_pair(
    "memory", array="s", grid=1, block=TPB, right={"shared": 4 * TPB}, expect=lambda x: x[::-1]
)
def dynamic_memory_size_not_passed(x: random_floats(TPB), out: zeros_of_shape(TPB)):
    """
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];                                      //!
    __syncthreads();
    out[t] = s[TPB - 1 - t];
    """


@register_pair(
    "memory",
    array="memory",
    grid=1,
    block=TPB,
    shared=8 * TPB,
    expect=lambda x, k: {"out": x[::-1], "keys": k[::-1]},
)
def second_array_past_end_of_dynamic_memory(
    x: random_floats(TPB),
    k: random_ints(TPB, below=99),
    out: zeros_of_shape(TPB),
    keys: zero_counts(TPB),
):
    """
    extern __shared__ float memory[];
    float* values = memory;
    int* numbers = (int*)(memory + sizeof(float) * TPB);  //-
    int* numbers = (int*)(memory + TPB);              //+
    int t = threadIdx.x;
    values[t] = x[t];
    numbers[t] = k[t];                                //!
    __syncthreads();
    out[t] = values[TPB - 1 - t];
    keys[t] = numbers[TPB - 1 - t];
    """  # fmt: skip


@register_pair(
    "memory",
    array="tile",
    grid=1,
    block=(TILE, TILE),
    shared=4 * TILE * TILE,
    right={"shared": 4 * TILE * (TILE + 1)},
    expect=lambda x: x.T,
)
def dynamic_memory_size_without_padding(
    x: random_floats(TILE, TILE), out: zeros_of_shape(TILE, TILE)
):
    """
    extern __shared__ float tile[];
    int i = threadIdx.y, j = threadIdx.x;
    tile[i * (TILE + 1) + j] = x(i, j);               //!
    __syncthreads();
    out(i, j) = tile[j * (TILE + 1) + i];             //!
    """  # fmt: skip


@register_pair(
    "memory", grid=1, block=TPB, shared=12 * TPB, expect=lambda x: x[::-1].astype(np.float64)
)
def misaligned_double_in_dynamic_memory(
    x: random_floats(TPB), out: zeros_of_shape(TPB, dtype=np.float64)
):
    """
    extern __shared__ float memory[];
    double* large = (double*)(memory + TPB + 1);      //-
    double* large = (double*)(memory + TPB);          //+
    int t = threadIdx.x;
    if (t < TPB - 1) large[t] = x[t];                 //-!
    large[t] = x[t];                                  //+
    __syncthreads();
    out[t] = large[TPB - 1 - t];
    """  # fmt: skip
