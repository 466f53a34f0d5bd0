"""Defines pairs with invalid indices and addresses in global memory: past an array, before it, in
freed memory, misaligned."""

import numpy as np
from pairs.form import (
    addresses_of,
    ascending,
    part_of,
    random_floats,
    random_ints,
    register_pair,
    zero_counts,
    zeros_of_shape,
)

N = 100
TPB = 32
TILE = 8
TABLE = np.arange(1, 6, dtype=np.float32)
GRID = -(-N // TPB)  # Number of blocks that N elements need: 128 threads

# --- the edges -------------------------------------------------------------------------------------------


@register_pair("memory", array="c", grid=GRID, block=TPB, expect=lambda: 1)
def missing_bounds_check(c: zeros_of_shape(N)):
    """
    int i = grid<1>();
    c[i] = 1;                                         //-!
    if (i < c.size()) c[i] = 1;                       //+
    """


@register_pair("memory", array="x", grid=GRID, block=TPB, expect=lambda x: 2 * x)
def bounds_check_off_by_one(x: random_floats(N)):
    """
    int i = grid<1>();
    if (i <= x.size()) x[i] *= 2;                     //-!
    if (i < x.size()) x[i] *= 2;                      //+
    """


@register_pair("memory", grid=GRID, block=TPB, expect=lambda x, y: 2 * x + y)
def bounds_check_of_pointer_off_by_one(
    a: 2.0, x: random_floats(N), y: random_floats(N, seed=2), n: N
):
    """
    __global__ void saxpy(float a, const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i > n) return;                            //-
        if (i >= n) return;                           //+
        y[i] = a * x[i] + y[i];                       //!
    }
    """


@register_pair("memory", array="x", grid=GRID, block=TPB, right={"n": N}, expect=lambda x: x + 1)
def length_passed_in_bytes(x: random_floats(N), n: 4 * N):
    """
    __global__ void increment(float* x, int n) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            x[i] += 1;                                //!
    }
    """


@register_pair("memory", array="x", grid=GRID, block=TPB, expect=lambda x: np.diff(x, prepend=0))
def read_before_first_element(x: random_floats(N), out: zeros_of_shape(N)):
    """
    int i = grid<1>();
    if (i >= out.size()) return;
    out[i] = x[i] - x[i - 1];                         //-!
    out[i] = x[i] - (i > 0 ? x[i - 1] : 0);           //+
    """


@register_pair("memory", array="x", grid=GRID, block=TPB, expect=lambda x: np.diff(x, append=x[-1]))
def read_past_last_element(x: random_floats(N), out: zeros_of_shape(N), n: N):
    """
    __global__ void difference(const float* x, float* out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = x[i + 1] - x[i];          //-!
        if (i < n) out[i] = x[i + 1 < n ? i + 1 : i] - x[i];  //+
    }
    """


@register_pair("memory", array="x", grid=GRID, block=TPB, expect=lambda x: x[::-1])
def reversal_index_past_end(x: random_floats(N), out: zeros_of_shape(N)):
    """
    int i = grid<1>(), n = x.size();
    if (i < n) out[i] = x[n - i];                     //-!
    if (i < n) out[i] = x[n - 1 - i];                 //+
    """


@register_pair(
    "memory", array="x", grid=1, block=TPB, expect=lambda x: np.append(x[:-1] + x[1:], x[-1])
)
def unsigned_index_wraps_below_zero(x: random_floats(TPB), out: zeros_of_shape(TPB)):
    """
    unsigned int i = threadIdx.x;
    out[TPB - 1 - i] = x[TPB - 1 - i] + x[TPB - i];   //-!
    out[TPB - 1 - i] = x[TPB - 1 - i] + (i ? x[TPB - i] : 0);  //+
    """


@register_pair("memory", grid=1, block=1, expect=lambda x: x[::-1].cumsum()[::-1])
def unsigned_countdown_wraps_below_zero(x: random_floats(8), out: zeros_of_shape(8)):
    """
    float sum = 0;
    for (unsigned int i = 7; i >= 0; --i)             //-
    for (int i = 7; i >= 0; --i)                      //+
        out[i] = sum += x[i];                         //!
    """


@register_pair(
    "memory",
    array="history",
    grid=1,
    block=8,
    expect=lambda history: history[[5, 6, 7, 0, 1, 2, 3, 4]],
)
def ring_buffer_with_a_negative_remainder(history: random_floats(8), out: zeros_of_shape(8)):
    """
    int i = threadIdx.x;
    out[i] = history[(i - 3) % 8];                    //-!
    out[i] = history[(i - 3 + 8) % 8];                //+
    """


@register_pair(
    "memory", array="edges", grid=1, block=64, expect=lambda x: np.minimum(1 + 10 * x // 1, 10)
)
def bin_index_of_largest_value_past_end(
    x: np.append(random_floats(63), np.float32(1)),
    edges: ascending(11)[1:],
    out: zeros_of_shape(64),
):
    """
    int i = grid<1>();
    int bin = (int)(x[i] * 10);                       //-
    int bin = min((int)(x[i] * 10), 9);               //+
    out[i] = edges[bin];                              //!
    """


@register_pair(
    "memory", array="x", grid=GRID, block=TPB, expect=lambda x, find: np.searchsorted(x, find)
)
def binary_search_reads_past_end(
    x: ascending(10), find: random_floats(N, high=12), out: zero_counts(N)
):
    """
    int i = grid<1>();
    if (i >= find.size()) return;
    int low = 0, high = x.size();
    while (low < high) {
        int middle = (low + high + 1) / 2;            //-
        int middle = (low + high) / 2;                //+
        if (x[middle] < find[i]) low = middle;        //-!
        else high = middle - 1;                       //-
        if (x[middle] < find[i]) low = middle + 1;    //+
        else high = middle;                           //+
    }
    out[i] = low;
    """


# --- several dimensions ----------------------------------------------------------------------------------


@register_pair("memory", array="a", grid=(2, 3), block=(8, 8), expect=lambda a: 2 * a)
def rows_and_columns_swapped(a: random_floats(24, 16)):
    """
    auto [j, i] = grid<2>();
    a(j, i) *= 2;                                     //-!
    a(i, j) *= 2;                                     //+
    """


@register_pair("memory", array="v", grid=(2, 1, 1), block=(4, 4, 2), expect=lambda v: v + 1)
def axes_of_a_volume_in_the_wrong_order(v: random_floats(2, 4, 8)):
    """
    auto [x, y, z] = grid<3>();
    v(x, y, z) += 1;                                  //-!
    v(z, y, x) += 1;                                  //+
    """


@register_pair("memory", array="image", grid=(3, 2), block=(8, 8), expect=lambda image: 1 - image)
def bounds_check_of_one_axis_only(image: random_floats(12, 20)):
    """
    auto [x, y] = grid<2>();
    if (x < image.shape[1])                           //-
    if (x < image.shape[1] && y < image.shape[0])     //+
        image(y, x) = 1 - image(y, x);                //!
    """


@register_pair(
    "memory", array="a", grid=(3, 1), block=(8, 8), right={"width": 20}, expect=lambda a: -a
)
def wrong_row_length(a: random_floats(8, 20), width: 24):
    """
    __global__ void negate(float* a, int width) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
        if (x < 20) a[y * width + x] = -a[y * width + x];  //!
    }
    """


@register_pair("memory", array="out", grid=(3, 1), block=(8, 8), expect=lambda x: x.T)
def transposition_with_the_wrong_row_length(x: random_floats(8, 20), out: zeros_of_shape(20, 8)):
    """
    __global__ void transpose(const float* x, float* out) {
        int j = blockIdx.x * blockDim.x + threadIdx.x, i = threadIdx.y;
        if (j < 20) out[j * 20 + i] = x[i * 20 + j];  //-!
        if (j < 20) out[j * 8 + i] = x[i * 20 + j];   //+
    }
    """


@register_pair("memory", array="x", grid=(3, 3), block=(TILE, TILE), expect=lambda x: x.T)
def transposition_of_edge_tile_without_bounds_check(
    x: random_floats(20, 20), out: zeros_of_shape(20, 20)
):
    """
    __shared__ float tile[TILE][TILE + 1];
    int n = x.shape[0], i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = x(i, j);         //-!
    if (i < n && j < n) tile[threadIdx.y][threadIdx.x] = x(i, j);  //+
    __syncthreads();
    i = blockIdx.x * TILE + threadIdx.y, j = blockIdx.y * TILE + threadIdx.x;
    if (i < n && j < n) out(i, j) = tile[threadIdx.x][threadIdx.y];
    """


@register_pair(
    "memory",
    array="x",
    grid=2,
    block=TPB,
    expect=lambda x, weights: np.convolve(x, weights[::-1], "same"),
)
def convolution_reads_past_edge(
    x: random_floats(64), weights: random_floats(5, seed=2), out: zeros_of_shape(64)
):
    """
    int i = grid<1>(), n = x.size();
    float sum = 0;
    for (int k = -2; k <= 2; ++k) {
        if (i + k >= 0)                               //-
        if (i + k >= 0 && i + k < n)                  //+
            sum += weights[k + 2] * x[i + k];         //!
    }
    out[i] = sum;
    """  # fmt: skip


# --- indices that are data -------------------------------------------------------------------------------


@register_pair(
    "memory",
    array="x",
    grid=1,
    block=TPB,
    right={"index": random_ints(TPB, below=10)},
    expect=lambda x, index: x[index],
)
def index_read_from_data_too_large(
    x: random_floats(10), index: random_ints(TPB, below=11), out: zeros_of_shape(TPB)
):
    """
    int i = grid<1>();
    out[i] = x[index[i]];                             //!
    """  # fmt: skip


@register_pair(
    "memory", array="first", grid=1, block=TPB, expect=lambda val: val.reshape(10, 3).sum(1)
)
def sparse_row_past_last_row(
    first: np.arange(0, 33, 3, dtype=np.int32), val: random_floats(30), y: zeros_of_shape(10)
):
    """
    int row = grid<1>();
    if (row <= y.size()) {                            //-
    if (row < y.size()) {                             //+
        float sum = 0;
        for (int k = first[row]; k < first[row + 1]; ++k) sum += val[k];  //!
        y[row] = sum;
    }
    """


@register_pair(
    "memory",
    array="first",
    grid=1,
    block=TPB,
    right={"first": np.arange(0, 33, 3, dtype=np.int32)},
    expect=lambda val: val.reshape(10, 3).sum(1),
)
def sparse_row_pointers_without_last_entry(
    first: np.arange(0, 30, 3, dtype=np.int32), val: random_floats(30), y: zeros_of_shape(10)
):
    """
    __global__ void sum_rows(const int* first, const float* val, float* y) {
        int row = threadIdx.x;
        if (row >= 10) return;
        float sum = 0;
        int end = first[row + 1];                     //!
        for (int k = first[row]; k < end && k < 30; ++k) sum += val[k];
        y[row] = sum;
    }
    """  # fmt: skip


@register_pair("memory", array="value", grid=1, block=4, expect=lambda: [6, 5, 3, 0])
def linked_list_followed_past_end(next: np.array([1, 2, 3, -1], np.int32), value: ascending(4)):
    """
    int i = threadIdx.x;
    float sum = 0;
    int at = i;
    do {                                              //-
        at = next[at];                                //-
        sum += value[at];                             //-!
    } while (at >= 0);                                //-
    while ((at = next[at]) >= 0) sum += value[at];    //+
    __syncthreads();
    value[i] = sum;
    """


@register_pair(
    "memory", array="x", grid=2, block=64, expect=lambda x: x[np.arange(128) * 40503 * 65537 % 97]
)
def index_overflows_int(x: random_floats(97), out: zeros_of_shape(128)):
    """
    int i = grid<1>();
    int hash = i * 40503 * 65537;                     //-
    long long hash = (long long)i * 40503 * 65537;    //+
    out[i] = x[hash % 97];                            //!
    """


@register_pair(
    "memory",
    array="text",
    grid=1,
    block=1,
    right={"text": np.frombuffer(b"kernel\0", np.int8)},
    expect=lambda text: len(text) - 1,
)
def text_without_terminating_zero(text: np.frombuffer(b"kernel", np.int8), length: zero_counts(1)):
    """
    __global__ void measure(const char* text, int* length) {
        int n = 0;
        while (text[n]) ++n;                          //!
        *length = n;
    }
    """  # fmt: skip


@register_pair("memory", array="TABLE", grid=1, block=TPB, expect=lambda: TABLE[np.arange(TPB) % 5])
def index_past_constant_table(out: zeros_of_shape(TPB)):
    """
    int i = grid<1>();
    out[i] = TABLE[i % 6];                            //-!
    out[i] = TABLE[i % 5];                            //+
    """


@register_pair("memory", array="x", grid=1, block=TPB, expect=lambda: 1)
def index_past_end_of_view(x: part_of(zeros_of_shape(64), slice(10, 30))):
    """
    int i = grid<1>();
    if (i < 21) x[i] = 1;                             //-!
    if (i < x.size()) x[i] = 1;                       //+
    """


# --- addresses -------------------------------------------------------------------------------------------


@register_pair("memory", array="x", grid=1, block=TPB, expect=lambda x: 2 * x)
def last_float4_access_past_end(x: random_floats(102)):
    """
    __global__ void twice(float* x) {
        int i = threadIdx.x, n = 102;
        if (4 * i < n) {                              //-
        if (4 * i + 3 < n) {                          //+
            float4 v = ((float4*)x)[i];               //!
            ((float4*)x)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);  //!
        } else {                                      //+
            for (int k = 4 * i; k < n; ++k) x[k] *= 2;  //+
        }
    }
    """


@register_pair("memory", array="x", grid=1, block=TPB, expect=lambda x: x[1:].reshape(16, 4).sum(1))
def misaligned_float4_load(x: random_floats(65), out: zeros_of_shape(16)):
    """
    __global__ void sums(const float* x, float* out) {
        int i = threadIdx.x;
        if (i >= 16) return;
        float4 v = *(const float4*)(x + 1 + 4 * i);   //-!
        const float* p = x + 1 + 4 * i;               //+
        float4 v = make_float4(p[0], p[1], p[2], p[3]);  //+
        out[i] = v.x + v.y + v.z + v.w;
    }
    """


@register_pair(
    "memory",
    array="bytes",
    grid=1,
    block=4,
    right={"at": 8},
    expect=lambda bytes: bytes[8:40].view(np.float64),
)
def misaligned_8_byte_load_after_header(
    bytes: np.frombuffer(bytes(range(44)), np.uint8),
    at: 4,
    out: zeros_of_shape(4, dtype=np.float64),
):
    """
    __global__ void read(const unsigned char* bytes, int at, double* out) {
        const double* values = (const double*)(bytes + at);
        out[threadIdx.x] = values[threadIdx.x];       //!
    }
    """  # fmt: skip


@register_pair("memory", array="x", grid=1, block=TPB, expect=lambda x: x)
def floats_read_through_double_pointer(x: random_floats(TPB), out: zeros_of_shape(TPB)):
    """
    __global__ void copy(const void* x, float* out) {
        const double* from = (const double*)x;        //-
        const float* from = (const float*)x;          //+
        out[threadIdx.x] = from[threadIdx.x];         //!
    }
    """


@register_pair("memory", array="x", grid=1, block=TPB, expect=lambda x: x + 1)
def pointer_moved_before_array_start(x: random_floats(TPB)):
    """
    __global__ void increment(float* x) {
        float* from_one = x - 1;
        from_one[threadIdx.x] += 1;                   //-!
        from_one[threadIdx.x + 1] += 1;               //+
    }
    """


@register_pair(
    "memory",
    grid=1,
    block=TPB,
    right={"table": addresses_of(TPB)},
    expect=lambda: ascending(TPB) + 1,
)
def access_to_freed_memory(table: addresses_of(TPB, freed=True), out: zeros_of_shape(TPB)):
    """
    int i = grid<1>();
    const float* x = (const float*)table[0];
    out[i] = x[i];                                    //!
    """  # fmt: skip


@register_pair("memory", grid=1, block=1, right={"table": addresses_of(1)}, expect=lambda: 3)
def result_written_through_a_null_pointer(
    table: zeros_of_shape(1, dtype=np.uint64), out: zeros_of_shape(1)
):
    """
    float* x = (float*)table[0];
    *x = 3;                                           //!
    out[0] = *x;
    """
