"""Defines pairs with arithmetic mistakes: integer overflow, integer division by zero, and NaN or
infinity from finite numbers."""

import numpy as np
from pairs.form import (
    ascending,
    random_floats,
    random_ints,
    register_pair,
    zero_counts,
    zeros_of_shape,
)

N = 32

# --- indices ---------------------------------------------------------------------------------------------


@register_pair("overflow", grid=1, block=N, expect=lambda n: np.arange(N) < 1)
def index_product_wraps_to_valid_element(n: 65536, out: zero_counts(N)):
    """
    __global__ void mark(int n, int* out) {
        int row = threadIdx.x * n;
        int at = row * n;                             //-!
        long long at = (long long)row * n;            //+
        if (at < N) out[at] = 1;
    }
    """


@register_pair("overflow", grid=1, block=N, expect=lambda n: np.arange(N) == 0)
def index_function_overflows_int(n: 65536, out: zero_counts(N)):
    """
    __device__ int at(int i, int j, int n) { return i * n + j; }         //-!
    __device__ long long at(long long i, int j, int n) { return i * n + j; }  //+
    __global__ void mark(int n, int* out) {
        auto i = at(threadIdx.x * n, 0, n);
        if (i < N) out[i] = 1;
    }
    """


@register_pair("overflow", grid=1, block=N, expect=lambda start: [1] + [0] * (N - 1))
def sum_of_offset_and_length_overflows_int(start: 2**31 - 16, out: zero_counts(N)):
    """
    __device__ void put(int* out, int i) {
        if (i >= 0 && i < N) out[i] = 1;
    }
    __global__ void mark(int start, int* out) {
        int i = threadIdx.x;
        int to = start + i + 16;                      //-!
        int to = i ? -1 : start - (2147483647 - 15);  //+
        put(out, to);
    }
    """


@register_pair("overflow", grid=1, block=N, expect=lambda h: np.zeros(N, int) + 1)
def hash_may_wrap_but_index_must_not(h: 2**31 - 1, out: zero_counts(N)):
    """
    __global__ void mark(int h, int* out) {
        int hash = h, t = threadIdx.x;
        for (int i = 0; i < 4; ++i) hash = hash * 31 + i;
        int n = hash & 0;
        int at = t + h + 1 - h - 1 + n;               //-!
        int at = t + n;                               //+
        if (at >= 0 && at < N) out[at] = 1;
    }
    """


# --- integers --------------------------------------------------------------------------------------------


@register_pair("divide", grid=1, block=N, expect=lambda s, n: s // np.maximum(n, 1))
def mean_of_empty_group_divides_by_zero(
    s: random_ints(N, below=99), n: random_ints(N, below=4), mean: zero_counts(N)
):
    """
    int i = grid<1>();
    mean[i] = s[i] / n[i];                            //-!
    mean[i] = s[i] / max(n[i], 1);                    //+
    """


@register_pair("divide", grid=1, block=N, right={"groups": 4}, expect=lambda: np.arange(N) % 4)
def remainder_by_zero_parameter(groups: 0, out: zero_counts(N)):
    """
    __global__ void group(int groups, int* out) {
        out[threadIdx.x] = threadIdx.x % groups;      //!
    }
    """


@register_pair("divide", grid=1, block=N, expect=lambda: 100 // (1 + np.arange(N) // 8))
def division_by_quotient_rounded_to_zero(out: zero_counts(N)):
    """
    int i = grid<1>();
    out[i] = 100 / (i / 8);                           //-!
    out[i] = 100 / (1 + i / 8);                       //+
    """


@register_pair("divide", grid=1, block=1, expect=lambda a, b: np.gcd(a, b))
def gcd_loop_divides_by_zero(
    a: random_ints(4, low=1, below=99),
    b: random_ints(4, low=1, below=99, seed=2),
    out: zero_counts(4),
):
    """
    for (int i = 0; i < 4; ++i) {
        unsigned long long x = a[i], y = b[i];
        while (x) {                                   //-
        while (y) {                                   //+
            unsigned long long rest = x % y;          //!
            x = y;
            y = rest;
        }
        out[i] = x;
    }
    """  # fmt: skip


# --- floating point --------------------------------------------------------------------------------------


@register_pair("nan", grid=1, block=N, expect=lambda x: np.sqrt(np.maximum(x, 0)))
def root_of_a_negative_number(x: random_floats(N, low=-1), out: zeros_of_shape(N)):
    """
    int i = grid<1>();
    out[i] = sqrt(x[i]);                              //-!
    out[i] = sqrt(max(x[i], 0.0f));                   //+
    """


@register_pair("nan", grid=1, block=4, expect=lambda v: unit_vectors(v))
def normalization_of_zero_vector(
    v: np.array([[3, 4], [0, 0], [0, 1], [1, 0]], np.float32), out: zeros_of_shape(4, 2)
):
    """
    int i = threadIdx.x;
    float length = sqrt(v(i, 0) * v(i, 0) + v(i, 1) * v(i, 1));
    for (int k = 0; k < 2; ++k)
        out(i, k) = v(i, k) / length;                 //-!
        out(i, k) = length > 0 ? v(i, k) / length : 0;  //+
    """  # fmt: skip


def unit_vectors(v):
    length = np.hypot(*v.T)[:, None]
    return v / np.where(length > 0, length, 1)


@register_pair(
    "nan", grid=1, block=N, expect=lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum()
)
def softmax_that_overflows(x: random_floats(N, high=100), out: zeros_of_shape(N)):
    """
    int i = threadIdx.x;
    float most = 0, sum = 0;
    for (int k = 0; k < N; ++k) most = max(most, x[k]);  //+
    for (int k = 0; k < N; ++k) sum += exp(x[k] - most);  //!
    out[i] = exp(x[i] - most) / sum;                  //!
    """


@register_pair("nan", grid=1, block=N, expect=lambda p: -(p * np.log(np.where(p > 0, p, 1))))
def logarithm_of_zero(
    p: np.append(random_floats(N - 1), np.float32(0)), entropy: zeros_of_shape(N)
):
    """
    int i = grid<1>();
    entropy[i] = -p[i] * log(p[i]);                   //-!
    entropy[i] = p[i] > 0 ? -p[i] * log(p[i]) : 0;    //+
    """


@register_pair(
    "nan", grid=1, block=N, expect=lambda x: [(1 / (x[x != x[i]] - x[i])).sum() for i in range(N)]
)
def division_by_zero_distance_to_itself(x: ascending(N), force: zeros_of_shape(N)):
    """
    int i = grid<1>();
    float sum = 0;
    for (int j = 0; j < N; ++j)
        sum += 1 / (x[j] - x[i]);                     //-!
        if (j != i) sum += 1 / (x[j] - x[i]);         //+
    force[i] = sum;                                   //!
    """


@register_pair("nan", grid=1, block=N, expect=lambda a: np.arccos(np.clip(a, -1, 1)))
def acos_of_values_beyond_one(
    a: np.linspace(-1.001, 1.001, N).astype(np.float32), out: zeros_of_shape(N)
):
    """
    int i = grid<1>();
    out[i] = acos(a[i]);                              //-!
    out[i] = acos(min(max(a[i], -1.0f), 1.0f));       //+
    """


@register_pair("nan", grid=1, block=N, expect=lambda x: x.astype(np.float32) ** 2 / 64)
def float16_energy_overflows(
    x: random_floats(N, low=200, high=400, dtype=np.float16), e: zeros_of_shape(N)
):
    """
    int i = grid<1>();
    e[i] = float(x[i] * x[i]) / 64;                   //-!
    e[i] = float(x[i]) * float(x[i]) / 64;            //+
    """
