"""Defines pairs with other mistakes from the exercises of a course: device functions, templates,
structs, rows, bytes, tables, cooperative groups."""

import numpy as np
from pairs.form import (
    ascending,
    random_ints,
    register_pair,
    uninitialized_array,
    zero_counts,
    zeros_of_shape,
)

N = 64  # threads of a block

BODIES = np.zeros(N, [("x", "f4"), ("v", "f4"), ("m", "f4")])
BODIES["x"] = np.arange(N) ** 2
BODIES["m"] = 1
BINS = np.zeros(4, [("n", "i4"), ("sum", "f4")])


@register_pair("race", array="x", grid=1, block=N, expect=lambda x: np.append(x[1:], x[-1]))
def in_place_shift_without_barrier(x: ascending(N)):
    """
    int i = grid<1>();
    float next = i + 1 < x.size() ? x[i + 1] : x[i];
    __syncthreads();                                  //+
    x[i] = next;                                      //!
    """


@register_pair("race", array="x", grid=4, block=N // 2, expect=lambda x: x + 1)
def grid_stride_loop_with_stride_of_one_block(x: ascending(2 * N)):
    """
    int step = blockDim.x;                            //-
    int step = gridDim.x * blockDim.x;                //+
    for (int i = threadIdx.x; i < x.size(); i += step)              //-
    for (int i = grid<1>(); i < x.size(); i += step)  //+
        x[i] += 1;                                    //!
    """


def expected_forces(bodies):
    return [np.sum(bodies["m"] * (bodies["x"] - x)) for x in bodies["x"]]


@register_pair("race", array="b", grid=1, block=N, expect=lambda b: {"v": expected_forces(b)})
def body_positions_updated_while_read(b: BODIES, v: zeros_of_shape(N)):
    """
    struct body { float x, v, m; };
    __global__ void pull(body *b, float *v) {
        int i = threadIdx.x;
        float force = 0;
        for (int k = 0; k < blockDim.x; ++k)
            force += b[k].m * (b[k].x - b[i].x);      //!
        __syncthreads();                              //+
        b[i].x += force;                              //!
        v[i] = force;
    }
    """


@register_pair(
    "race", array="bins", grid=2, block=N, expect=lambda keys: {"n": np.bincount(keys, minlength=4)}
)
def struct_counter_incremented_without_atomic(
    keys: random_ints(2 * N, below=4), bins: BINS, n: zero_counts(4)
):
    """
    struct bin { int n; float sum; };
    __global__ void count(const int *keys, bin *bins, int *n) {
        bin &mine = bins[keys[blockIdx.x * blockDim.x + threadIdx.x]];
        mine.n += 1;                                  //-!
        atomicAdd(&mine.n, 1);                        //+
        __threadfence();
        atomicAdd(&n[3], 1);                          //-
        atomicAdd(&n[keys[blockIdx.x * blockDim.x + threadIdx.x]], 1);   //+
    }
    """


@register_pair("race", array="n", grid=2, block=N, expect=lambda x: (x.reshape(2, N) > 30).sum(1))
def counter_cleared_without_barrier(x: ascending(2 * N), out: zero_counts(2)):
    """
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;                      //!
    __syncthreads();                                  //+
    if (x[grid<1>()] > 30) atomicAdd(&n, 1);          //!
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = n;
    """


@register_pair(
    "race", array="tile", grid=2, block=N, expect=lambda x: x.reshape(2, N)[:, ::-1].ravel()
)
def reversal_by_template_without_barrier(x: ascending(2 * N)):
    """
    template <class T, int SIZE> __device__ void reverse(T *x) {
        __shared__ T tile[SIZE];
        tile[threadIdx.x] = x[threadIdx.x];           //!
        __syncthreads();                              //+
        x[threadIdx.x] = tile[SIZE - 1 - threadIdx.x];   //!
    }
    __global__ void blocks(float *x) { reverse<float, 64>(x + blockIdx.x * blockDim.x); }
    """


@register_pair("race", array="part", grid=1, block=N, expect=lambda x: x.sum())
def tile_barrier_instead_of_block_barrier(x: ascending(N), out: zeros_of_shape(1)):
    """
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void sum(const float *x, float *out) {
        auto block = cg::this_thread_block();
        auto tile = cg::tiled_partition<16>(block);
        __shared__ float part[4];
        float v = x[block.thread_rank()];
        for (int k = 8; k; k /= 2) v += tile.shfl_down(v, k);
        if (tile.thread_rank() == 0) part[block.thread_rank() / 16] = v;   //!
        tile.sync();                                  //-
        block.sync();                                 //+
        if (block.thread_rank() == 0) out[0] = part[0] + part[1] + part[2] + part[3];   //!
    }
    """


@register_pair("race", array="s", grid=1, block=2 * N, expect=lambda x: x[::-1])
def two_warp_tile_barrier_instead_of_block_barrier(x: ascending(2 * N), out: zeros_of_shape(2 * N)):
    """
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void reversed(const float *x, float *out) {
        auto block = cg::this_thread_block();
        auto tile = cg::tiled_partition<64>(block);
        __shared__ float s[2 * N];
        int me = block.thread_rank(), rank = tile.thread_rank(), other = 1 - tile.meta_group_rank();
        s[me] = x[me];
        tile.sync();
        float mirrored = s[me - rank + 63 - rank];
        tile.sync();
        s[me] = mirrored;                             //!
        tile.sync();                                  //-
        block.sync();                                 //+
        out[me] = s[64 * other + rank];               //!
    }
    """


@register_pair("race", array="b", grid=1, block=N, expect=lambda b: {"b": np.arange(N // 2) * 2})
def two_threads_write_each_byte(b: zeros_of_shape(N // 2, dtype=np.uint8)):
    """
    int i = grid<1>();
    if (i % 2 == 0)                                   //+
        b[i / 2] = i;                                 //!
    """


@register_pair("race", array="z", grid=1, block=N, expect=lambda z: z * np.roll(z, -1))
def in_place_complex_product_without_barrier(z: np.exp(1j * np.arange(N)).astype(np.complex64)):
    """
    int i = grid<1>();
    auto next = z[(i + 1) % z.size()];                //+
    __syncthreads();                                  //+
    z[i] = z[i] * z[(i + 1) % z.size()];              //-!
    z[i] = z[i] * next;                               //+
    """


@register_pair(
    "memory", array="u", grid=(2, 2), block=(8, 8), expect=lambda u: u[:-2, :] + u[2:, :]
)
def device_function_reads_before_first_row(
    u: ascending(256).reshape(16, 16), v: zeros_of_shape(14, 16)
):
    """
    __device__ float at(array<const float, 2> u, int i, int j) {
        return u(i, j);                               //!
    }
    __global__ void rows(array<const float, 2> u, array<float, 2> v) {
        auto [j, i] = grid<2>();
        if (i < v.shape[0] && j < v.shape[1])
            v(i, j) = at(u, i - 1, j) + at(u, i + 1, j);   //-
            v(i, j) = at(u, i, j) + at(u, i + 2, j);  //+
    }
    """


@register_pair("memory", array="a", grid=1, block=N, expect=lambda a: {"s": a.sum(1)})
def row_loop_reads_past_row_end(a: ascending(5 * 7).reshape(5, 7), s: zeros_of_shape(5)):
    """
    int i = grid<1>();
    if (i >= a.shape[0]) return;
    auto row = a[i];
    float sum = 0;
    for (int j = 0; j <= row.size(); ++j)             //-
    for (int j = 0; j < row.size(); ++j)              //+
        sum += row[j];                                //!
    s[i] = sum;
    """


@register_pair("memory", grid=1, block=N, expect=lambda x: np.convolve(x, [1, 2, 3, 2, 1], "same"))
def filter_index_past_constant_table(x: ascending(N), y: zeros_of_shape(N)):
    """
    __constant__ float weights[5] = {1, 2, 3, 2, 1};
    __global__ void blur(const float *x, float *y) {
        int i = threadIdx.x, n = blockDim.x;
        float sum = 0;
        int reach = 3;                                //-
        int reach = 2;                                //+
        for (int k = -reach; k <= reach; ++k)
            if (i + k >= 0 && i + k < n)
                sum += weights[k + 2] * x[i + k];     //!
        y[i] = sum;
    }
    """


@register_pair("memory", array="x", grid=1, block=N // 2 - 1, expect=lambda x: x[2::2] + x[3::2])
def misaligned_float2_load(x: ascending(N), y: zeros_of_shape(N // 2 - 1)):
    """
    __global__ void add(const float *x, float *y) {
        float2 v = reinterpret_cast<const float2 *>(x + 1)[threadIdx.x];   //-!
        float2 v = reinterpret_cast<const float2 *>(x + 2)[threadIdx.x];   //+
        y[threadIdx.x] = v.x + v.y;
    }
    """


@register_pair("memory", grid=1, block=2, expect=lambda: [28, 28])
def kernel_heap_write_past_end(x: zero_counts(2)):
    """
    __global__ void heap(int *x) {
        int n = 8, sum = 0;
        int *p = (int *)malloc(n * sizeof(int));
        for (int i = 0; i <= n; ++i) p[i] = i;        //-!
        for (int i = 0; i < n; ++i) p[i] = i;         //+
        for (int i = 0; i < n; ++i) sum += p[i];
        x[threadIdx.x] = sum;
        free(p);
    }
    """


@register_pair("unwritten", array="s", grid=2, block=N, expect=lambda x: {
    "y": np.append(0, x[:-1]) + np.append(x[1:], 0)})  # fmt: skip
def halo_unwritten_at_array_ends(x: ascending(2 * N), y: zeros_of_shape(2 * N)):
    """
    __shared__ float s[N + 2];
    int t = threadIdx.x + 1, i = grid<1>();
    s[t] = x[i];
    if (t == 1 && i > 0) s[0] = x[i - 1];             //-
    if (t == N && i + 1 < x.size()) s[N + 1] = x[i + 1];   //-
    if (t == 1) s[0] = i > 0 ? x[i - 1] : 0;          //+
    if (t == N) s[N + 1] = i + 1 < x.size() ? x[i + 1] : 0;   //+
    __syncthreads();
    y[i] = s[t - 1] + s[t + 1];                       //!
    """


@register_pair("unwritten", array="sums", grid=1, block=N, expect=lambda a: {"sums": a.sum(0)})
def sums_added_to_uninitialized_array(
    a: ascending(4 * N).reshape(4, N), sums: uninitialized_array(N)
):
    """
    int j = grid<1>();
    sums[j] = 0;                                      //+
    for (int i = 0; i < a.shape[0]; ++i)
        sums[j] += a(i, j);                           //!
    """


@register_pair("sync", grid=1, block=N, expect=lambda x: {"out": x[:50].sum()})
def shuffle_after_return_of_excess_threads(x: ascending(50), out: zeros_of_shape(1)):
    """
    int i = grid<1>();
    if (i >= x.size()) return;                        //-
    float v = x[i];                                   //-
    float v = i < x.size() ? x[i] : 0;                //+
    for (int k = 16; k; k /= 2)
        v += __shfl_down_sync(0xffffffff, v, k);      //!
    if (threadIdx.x % 32 == 0) atomicAdd(&out[0], v);
    """


@register_pair(
    "sync", grid=1, block=N, expect=lambda x: x / 2 ** np.ceil(np.log2(np.maximum(x, 1)))
)
def barrier_in_loop_with_divergent_condition(x: ascending(N)):
    """
    __shared__ float s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    while (s[t] > 1) {                                //-
        s[t] *= 0.5f;                                 //-
        __syncthreads();                              //-!
    }                                                 //-
    while (__syncthreads_or(s[t] > 1))                //+
        if (s[t] > 1) s[t] *= 0.5f;                   //+
    x[t] = s[t];
    """


@register_pair("hang", grid=1, block=N, expect=lambda: 1)
def spin_on_plain_variable_that_no_thread_sets(x: zeros_of_shape(1)):
    """
    __shared__ int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) ready = 1;                  //+
    __syncthreads();                                  //+
    while (ready == 0) {}                             //!
    if (threadIdx.x == 0) x[0] = 1;
    """
