"""Defines pairs with reads of uninitialized local variables, which no option of g++ detects."""

import numpy as np
from pairs.form import random_floats, random_ints, register_pair, zero_counts, zeros_of_shape

N = 64


@register_pair("unwritten", array="sum", grid=1, block=8, expect=lambda a: a.sum(1))
def local_sum_uninitialized(a: random_floats(8, 16), out: zeros_of_shape(8)):
    """
    int i = threadIdx.x;
    float sum;                                        //-
    float sum = 0;                                    //+
    for (int j = 0; j < a.shape[1]; ++j) sum += a(i, j);  //!
    out[i] = sum;
    """


@register_pair("unwritten", array="most", grid=1, block=8, expect=lambda a: a.max(1))
def local_maximum_uninitialized(a: random_floats(8, 16), out: zeros_of_shape(8)):
    """
    int i = threadIdx.x;
    float most;                                       //-
    float most = a(i, 0);                             //+
    for (int j = 1; j < a.shape[1]; ++j) most = max(most, a(i, j));  //!
    out[i] = most;
    """


@register_pair("unwritten", array="y", grid=1, block=N, expect=lambda x: np.maximum(x - 0.5, 0))
def variable_set_in_one_branch_only(x: random_floats(N), out: zeros_of_shape(N)):
    """
    int i = threadIdx.x;
    float y;
    if (x[i] > 0.5f) y = x[i] - 0.5f;
    else y = 0;                                       //+
    out[i] = y;                                       //!
    """


@register_pair(
    "unwritten", array="weight", grid=1, block=N, expect=lambda k: np.array([1, 2, 4, 0])[k]
)
def variable_unset_by_switch_without_default(k: random_ints(N, below=4), out: zeros_of_shape(N)):
    """
    int i = threadIdx.x;
    float weight;
    switch (k[i]) {
        case 0: weight = 1; break;
        case 1: weight = 2; break;
        case 2: weight = 4; break;
        default: weight = 0;                          //+
    }
    out[i] = weight;                                  //!
    """


@register_pair("unwritten", array="found", grid=1, block=N, expect=lambda x: (x > 0.9).any(1))
def local_flag_uninitialized(x: random_floats(N, 4), out: zero_counts(N)):
    """
    int i = threadIdx.x;
    bool found;                                       //-
    bool found = false;                               //+
    for (int j = 0; j < 4; ++j) if (x(i, j) > 0.9f) found = true;
    if (found) out[i] = 1;                            //!
    """


@register_pair("unwritten", array="at", grid=1, block=N, expect=lambda x: x.argmin(1))
def index_of_minimum_uninitialized(x: random_floats(N, 4), out: zero_counts(N)):
    """
    int i = threadIdx.x;
    int at;                                           //-
    int at = 0;                                       //+
    float least = x(i, 0);
    for (int j = 1; j < 4; ++j) if (x(i, j) < least) { least = x(i, j); at = j; }
    out[i] = at;                                      //!
    """


@register_pair(
    "unwritten",
    array="bins",
    grid=1,
    block=8,
    expect=lambda x: np.apply_along_axis(np.bincount, 1, x, minlength=4),
)
def local_histogram_uninitialized(x: random_ints(8, 16, below=4), out: zero_counts(8, 4)):
    """
    int i = threadIdx.x;
    int bins[4];                                      //-
    int bins[4] = {};                                 //+
    for (int j = 0; j < 16; ++j) ++bins[x(i, j)];     //!
    for (int b = 0; b < 4; ++b) out(i, b) = bins[b];
    """  # fmt: skip


@register_pair(
    "unwritten", array="w", grid=1, block=N, expect=lambda x: np.convolve(x, np.ones(5), "same")
)
def last_element_of_local_window_uninitialized(x: random_floats(N), out: zeros_of_shape(N)):
    """
    int i = threadIdx.x, n = x.shape[0];
    float w[5], sum = 0;
    for (int k = 0; k < 4; ++k)                       //-
    for (int k = 0; k < 5; ++k)                       //+
        w[k] = i + k >= 2 && i + k - 2 < n ? x[i + k - 2] : 0;
    for (int k = 0; k < 5; ++k) sum += w[k];          //!
    out[i] = sum;
    """


@register_pair(
    "unwritten", array="r", grid=1, block=N, expect=lambda a: np.einsum("ijk,ik->ij", a, a[:, 0])
)
def local_product_row_uninitialized(a: random_floats(N, 2, 2), out: zeros_of_shape(N, 2)):
    """
    int i = threadIdx.x;
    float m[2][2], r[2];
    for (int j = 0; j < 2; ++j) for (int k = 0; k < 2; ++k) m[j][k] = a(i, j, k);
    for (int j = 0; j < 2; ++j) {
        r[j] = 0;                                     //+
        for (int k = 0; k < 2; ++k) r[j] += m[j][k] * m[0][k];  //!
    }
    for (int j = 0; j < 2; ++j) out(i, j) = r[j];
    """


@register_pair("unwritten", array="p", grid=1, block=N, expect=lambda x: x)
def point_member_uninitialized(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __global__ void lengths(const float* x, float* out) {
        float3 p;
        p.x = x[threadIdx.x], p.y = 0;
        p.z = 0;                                      //+
        out[threadIdx.x] = sqrtf(p.x * p.x + p.y * p.y + p.z * p.z);  //!
    }
    """


@register_pair("unwritten", array="hits", grid=1, block=N, expect=lambda t: t)
def copied_field_uninitialized(
    t: random_floats(N), hits: zeros_of_shape(2 * N + 1), out: zeros_of_shape(N)
):
    """
    struct Hit { float t, u; };
    __global__ void trace(const float* t, float* hits, float* out) {
        __shared__ Hit all[N];
        int i = threadIdx.x;
        Hit hit;
        hit.t = t[i];
        hit.u = 0;                                    //+
        all[i] = hit;
        Hit* found = reinterpret_cast<Hit*>(hits);
        found[i] = all[i];
        out[i] = found[i].t + found[i].u;             //!
    }
    """


@register_pair("unwritten", array="rays", grid=1, block=N, expect=lambda t: 2 * t)
def field_read_from_memory_uninitialized(t: random_floats(N), out: zeros_of_shape(N)):
    """
    struct Ray { float at, length; int bounces; };
    __global__ void bounce(const float* t, float* out) {
        __shared__ Ray rays[N];
        int i = threadIdx.x;
        rays[i].at = rays[i].length = t[i];
        rays[i].bounces = 0;                          //+
        Ray ray = rays[i];                            //!
        if (ray.bounces < 4) out[i] = ray.at + ray.length;  //!
    }
    """


# --- fragments of a warp's matrices ----------------------------------------------------------------------

A, B = (random_floats(16, 16, seed=s, dtype=np.float16) for s in (1, 2))


def product(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


@register_pair("unwritten", array="acc", grid=1, block=32, expect=product)
def wmma_accumulator_uninitialized(a: A, b: B, out: zeros_of_shape(16, 16)):
    """
    #include <mma.h>
    __global__ void multiply(const half *a, const half *b, float *out) {
        using namespace nvcuda::wmma;
        fragment<matrix_a, 16, 16, 16, half, row_major> of_a;
        fragment<matrix_b, 16, 16, 16, half, row_major> of_b;
        fragment<accumulator, 16, 16, 16, float> acc;
        fill_fragment(acc, 0.0f);                     //+
        load_matrix_sync(of_a, a, 16);
        load_matrix_sync(of_b, b, 16);
        mma_sync(acc, of_a, of_b, acc);               //!
        store_matrix_sync(out, acc, 16, mem_row_major);
    }
    """


@register_pair("unwritten", array="of_b", grid=1, block=32, expect=product)
def wmma_fragment_uninitialized(a: A, b: B, out: zeros_of_shape(16, 16)):
    """
    #include <mma.h>
    __global__ void multiply(const half *a, const half *b, float *out) {
        using namespace nvcuda::wmma;
        fragment<matrix_a, 16, 16, 16, half, row_major> of_a;
        fragment<matrix_b, 16, 16, 16, half, row_major> of_b;
        fragment<accumulator, 16, 16, 16, float> acc, result;
        for (int i = 0; i < acc.num_elements; ++i) acc.x[i] = 0;
        load_matrix_sync(of_a, a, 16);
        load_matrix_sync(of_b, b, 16);                //+
        mma_sync(result, of_a, of_b, acc);            //!
        store_matrix_sync(out, result, 16, mem_row_major);
    }
    """


@register_pair(
    "unwritten", array="acc", grid=1, block=32, expect=lambda a, b: np.tile(product(a, b), (2, 1))
)
def wmma_accumulators_stored_uninitialized(a: A, b: B, out: zeros_of_shape(32, 16)):
    """
    #include <mma.h>
    __global__ void multiply(const half *a, const half *b, float *out) {
        using namespace nvcuda::wmma;
        fragment<matrix_a, 16, 16, 16, half, row_major> of_a;
        fragment<matrix_b, 16, 16, 16, half, row_major> of_b;
        fragment<accumulator, 16, 16, 16, float> acc[2];
        load_matrix_sync(of_a, a, 16);
        load_matrix_sync(of_b, b, 16);
        for (int i = 0; i < 2; ++i) {
            fill_fragment(acc[i], 0.0f);              //+
            mma_sync(acc[i], of_a, of_b, acc[i]);     //+
            store_matrix_sync(out + 256 * i, acc[i], 16, mem_row_major);  //!
        }
    }
    """
