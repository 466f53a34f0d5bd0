"""Tests functions of the toolkit's headers that few kernels call, by CUDA's manual."""

import math
import operator
import re
from fractions import Fraction

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import nvrtc
from numbalite.compilers.source import Source

MODES = {"Nearest": 0, "Zero": 1, "PosInf": 2, "MinInf": 3}
INTEGERS = (np.int32, np.uint32, np.int64, np.uint64)
ROUNDED = """
__global__ void arithmetic(const double *x, const double *y, double *o, int n, cudaRoundMode mode) {
    int i = threadIdx.x;
    o[i] = dadd(x[i], y[i], mode);
    o[n + i] = dsub(x[i], y[i], mode);
    o[2 * n + i] = dmul(x[i], y[i], mode);
    o[3 * n + i] = fma(x[i], y[i], -x[i], mode);
}
__global__ void to_integers(const double *x, int *a, unsigned *b, long long *c, unsigned long long *d,
                            cudaRoundMode mode) {
    int i = threadIdx.x;
    a[i] = double2int(x[i], mode);
    b[i] = double2uint(x[i], mode);
    c[i] = double2ll(x[i], mode);
    d[i] = double2ull(x[i], mode);
}
__global__ void from_integers(const long long *x, double *o, int n, cudaRoundMode mode) {
    int i = threadIdx.x;
    o[i] = ll2double(x[i], mode);
    o[n + i] = ull2double(x[i], mode);
}
__global__ void without_a_mode(double *o) {
    o[0] = dadd(1.5, 2) + dsub(1, 0.25) + dmul(3, 0.5) + double2int(2.75) + double2uint(2.75) + double2ll(-2.75);
    o[1] = ll2double(-7) + ull2double(9) + int2double(-3) + uint2double(4u) + float2double(0.5f);
    o[2] = fdivide(1.0, 3.0);
    o[3] = copysign(2.0, -1.0f) + copysign(3.0f, -1.0);
    o[4] = (__isnan(o[2]) != 0) + 2 * (__isinf(1 / o[5]) != 0) + 4 * (__finite(o[2]) != 0);
}
"""
# Source that calls the functions of both 16-bit types: T is one of the two half types, P its pair type,
# OTHER the
# other half type.
SIXTEEN = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef %s T;
typedef %s_raw T_raw;
typedef %s2 P;
typedef %s OTHER;
typedef %s_raw OTHER_raw;
typedef unsigned short word;
__device__ T number(word bits) {
    T_raw raw = {bits};
    return T(raw);
}
__device__ word bits(T number) { return T_raw(number).x; }
__global__ void pairs(const word *x, const word *y, const word *z, unsigned *masks, word *sums, word *steps, word *other) {
    int i = threadIdx.x, n = blockDim.x, j = 2 * i, k = j + 1;
    P a(number(x[j]), number(x[k])), b(number(y[j]), number(y[k])), c(number(z[j]), number(z[k]));
    masks[i] = __hequ2_mask(a, b);
    masks[n + i] = __hneu2_mask(a, b);
    masks[2 * n + i] = __hltu2_mask(a, b);
    masks[3 * n + i] = __hleu2_mask(a, b);
    masks[4 * n + i] = __hgtu2_mask(a, b);
    masks[5 * n + i] = __hgeu2_mask(a, b);
    P sum = __hcmadd(a, b, c);
    sums[j] = bits(sum.x);
    sums[k] = bits(sum.y);
    if (i)
        return;
    T one = 2.0f, back;
    P two(T(3.0f), T(-1.0f));
    steps[0] = bits(one++);
    steps[1] = bits(one--);
    steps[2] = bits(--one);
    steps[3] = bits((two++).x);
    steps[4] = bits((++two).y);
    steps[5] = bits((two--).x);
    steps[6] = bits((--two).y);
    volatile __shared__ T kept;
    kept = one;
    back = kept;
    steps[7] = bits(back);
    OTHER of_number(T(0.1f)), of_raw(T_raw{0x3c00});
    other[0] = OTHER_raw(of_number).x;
    other[1] = OTHER_raw(of_raw).x;
}
"""
TYPES = {"half": "__half", "bfloat16": "__nv_bfloat16"}
DIGITS = {"half": 11, "bfloat16": 8}
BARRIERS = """
#include <cuda_awbarrier.h>
#include <cuda_awbarrier_primitives.h>
using nvcuda::experimental::awbarrier;
__global__ void primitives(unsigned *o) {
    __shared__ __mbarrier_t b;
    if (threadIdx.x == 0)
        __mbarrier_init(&b, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0)
        o[0] = __mbarrier_test_wait_parity(&b, false) + 2 * __mbarrier_test_wait_parity(&b, true);
    __syncthreads();
    __mbarrier_token_t token = __mbarrier_arrive(&b);
    while (!__mbarrier_try_wait_parity(&b, false, 1000)) {}
    o[1 + threadIdx.x] = __mbarrier_token_pending_count(token);
    if (threadIdx.x == 0)
        o[1 + blockDim.x] = __mbarrier_test_wait_parity(&b, false) + 2 * __mbarrier_test_wait_parity(&b, true);
}
__global__ void objects(unsigned *o) {
    __shared__ awbarrier b;
    if (threadIdx.x == 0)
        init(&b, blockDim.x);
    __syncthreads();
    awbarrier::arrival_token token = b.arrive();
    o[threadIdx.x] = token.pending_count();
    while (!b.timed_wait_parity(false, 1000)) {}
    token = b.arrive();
    while (!b.try_wait(token, 1000)) {}
    while (!b.try_wait_parity(true, 1000)) {}
    __syncthreads();
    if (threadIdx.x == 0)
        inval(&b);
}
"""
PLACES = """
extern __shared__ int dynamic[];
__global__ void spaces(int *o) {
    __shared__ int own[2];
    const void *places[] = {own, own + 1, dynamic, dynamic + 7, o};
    o += 5 * blockIdx.x;
    for (int i = 0; i < 5; ++i) {
        o[i] = (__isShared(places[i]) != 0) + 2 * (__isGlobal(places[i]) != 0);
#if __CUDA_ARCH__ >= 900
        o[i] += 4 * (__isCtaShared(places[i]) != 0) + 8 * (__isClusterShared(places[i]) != 0);
#endif
    }
}
__global__ void older_names(const __grid_constant__ int v, int *o) {
    o[0] = syncthreads_count(threadIdx.x < 3);
    o[1] = syncthreads_and(threadIdx.x < 3);
    o[2] = syncthreads_or(threadIdx.x < 3);
    o[3] = *static_cast<int *>(__cvta_grid_constant_to_generic(__cvta_generic_to_grid_constant(&v)));
}
"""
# If a source declares `int warpSize`, its declaration replaces the builtin.
WARP_SIZE = """
struct device { int warpSize; };
template <int warpSize> __device__ int constant() { return warpSize; }
__device__ int parameter(const int warpSize) { return warpSize; }
__global__ void sizes(int *o) {
    o[0] = warpSize;
    o[1] = max(warpSize, 3) + threadIdx.x % warpSize;
    auto copy = warpSize;
    o[2] = ++copy + [=] { return warpSize; }();
    const int warpSize = 16;
    int inner[warpSize] = {};
    device d = {warpSize};
    o[3] = d.warpSize + constant<8>() + parameter(4) + inner[3];
    for (int warpSize = 0; warpSize < 3; ++warpSize)
        o[4] += warpSize;
}
"""


def half_type_source(name):
    this, other = TYPES[name], TYPES[_other_type(name)]
    return SIXTEEN % (this, this, this, other, other)


def _other_type(name):
    return "bfloat16" if name == "half" else "half"


def round_to_double(exact, mode):
    """Returns a fraction as a double."""
    near = float(exact)
    if Fraction(near) == exact or mode == "Nearest":
        return near
    down = math.nextafter(near, -math.inf) if Fraction(near) > exact else near
    up = math.nextafter(near, math.inf) if Fraction(near) < exact else near
    is_up = mode == "PosInf" or (mode == "Zero" and exact < 0)
    return up if is_up else down


@pytest.mark.parametrize("mode", MODES)
def test_arithmetic_with_rounding_mode_matches_ieee(mode):
    kernels = cuda.module(ROUNDED)
    x = np.array([0.1, -0.1, 1.0, -1.0, 1e300, 3.0, 1 + 2.0**-52, -7.25])
    y = np.array([0.2, -0.2, 1e-30, 1e-30, 7.0, 1 / 3, 1 - 2.0**-53, 0.3])
    out = np.zeros((4, x.size))
    kernels.arithmetic[1, x.size](x, y, out, x.size, np.int32(MODES[mode]))
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    exact = [
        [meant(a, b) for a, b in pairs] for meant in (operator.add, operator.sub, operator.mul)
    ]
    exact.append([a * b - a for a, b in pairs])
    assert out.tolist() == [[round_to_double(value, mode) for value in row] for row in exact]


@pytest.mark.parametrize("mode", MODES)
def test_integer_conversion_follows_the_rounding_mode(mode):
    kernels = cuda.module(ROUNDED)
    x = np.array([2.5, 3.5, -2.5, 0.7, -0.7, 1e10, -1e10, 1e20, -1e20, -math.inf])
    outs = [np.zeros(x.size, dtype) for dtype in INTEGERS]
    kernels.to_integers[1, x.size](x, *outs, np.int32(MODES[mode]))
    whole = {"Nearest": np.rint, "Zero": np.trunc, "PosInf": np.ceil, "MinInf": np.floor}[mode](x)
    for out in outs:
        limits = np.iinfo(out.dtype)
        expected = [
            limits.min if v < limits.min else limits.max if v > limits.max else int(v)
            for v in whole.tolist()
        ]
        assert out.tolist() == expected
    n = np.array([2**53 + 1, -(2**53) - 1, 2**63 - 1, -1, 7], np.int64)
    out = np.zeros((2, n.size))
    kernels.from_integers[1, n.size](n, out, n.size, np.int32(MODES[mode]))
    for row, values in zip(out, (n, n.view(np.uint64)), strict=True):
        assert row.tolist() == [round_to_double(Fraction(v), mode) for v in values.tolist()]


def test_functions_without_a_rounding_mode_round_to_nearest():
    out = np.zeros(6)
    cuda.module(ROUNDED).without_a_mode[1, 1](out)
    assert out.tolist() == [3.5 + 0.75 + 1.5 + 2 + 2 - 2, 3.5, 1 / 3, -5, 6, 0]


def _half_words_as_numbers(words, name):
    """Words of 16 bits as float64."""
    if name == "half":
        return words.view(np.float16).astype(np.float64)
    return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def _to_16_bits(x, name):
    """Returns the nearest number of the type, for normal numbers."""
    fraction, exponent = np.frexp(x)
    digits = DIGITS[name]
    return np.ldexp(np.rint(np.ldexp(fraction, digits)), exponent - digits)


@pytest.mark.parametrize("name", TYPES)
def test_half2_and_bfloat162_functions_match_numpy(name):
    rng = np.random.default_rng(2)
    one, nan, minus = 0x3C00 if name == "half" else 0x3F80, 0x7FFF, 0x8000
    x, y, z = (one + rng.integers(-300, 300, (3, 64))).astype(np.uint16)
    x[:6], y[:6] = [nan, 0, nan, minus, 1 + one, 0], [0, nan, nan, 0, 1 + one, minus]
    masks, sums = np.zeros((6, 32), np.uint32), np.zeros(64, np.uint16)
    steps, other = np.zeros(8, np.uint16), np.zeros(2, np.uint16)
    cuda.module(half_type_source(name)).pairs[1, 32](x, y, z, masks, sums, steps, other)
    a, b, c = (_half_words_as_numbers(words, name) for words in (x, y, z))
    unordered = np.isnan(a) | np.isnan(b)
    relations = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
    for mask, relation in zip(masks.view(np.uint16), relations, strict=True):
        expected = np.where(relation(a, b) | unordered, 0xFFFF, 0)
        assert mask.tolist() == expected.tolist(), relation
    expected = np.empty(64)
    (re_a, im_a), (re_b, im_b), (re_c, im_c) = ((v[::2], v[1::2]) for v in (a, b, c))
    expected[::2] = _to_16_bits(-im_a * im_b + _to_16_bits(re_a * re_b + re_c, name), name)
    expected[1::2] = _to_16_bits(im_a * re_b + _to_16_bits(re_a * im_b + im_c, name), name)
    np.testing.assert_array_equal(_half_words_as_numbers(sums, name), expected)
    assert _half_words_as_numbers(steps, name).tolist() == [2, 3, 1, 3, 1, 5, -1, 1]
    tenth = _to_16_bits(_to_16_bits(0.1, name), _other_type(name))
    assert _half_words_as_numbers(other, _other_type(name)).tolist() == [
        tenth,
        *_half_words_as_numbers(np.array([0x3C00], np.uint16), name),
    ]


def test_barrier_parities_and_tokens_are_returned():
    kernels = cuda.module(BARRIERS)
    out = np.zeros(66, np.uint32)
    kernels.primitives[1, 64](out)
    assert (out[0], out[65]) == (2, 1)
    counts = out[1:65].copy()
    kernels.objects[1, 64](out)
    if cuda.is_simulated():  # CUDA does not define the arrival count that a token contains
        for found in counts, out[:64]:
            assert sorted(found.tolist()) == list(range(1, 65))


def test_address_space_predicates_classify_pointers():
    kernels, out = cuda.module(PLACES), np.zeros((2, 5), np.int32)
    kernels.spaces[2, 1, 0, 32](out)
    of_hopper = cuda.get_current_device().compute_capability >= (9, 0)
    shared = 1 + 4 + 8 if of_hopper else 1
    assert out.tolist() == [[shared, shared, shared, shared, 2]] * 2


def test_older_names_of_thread_indices_compile():
    out = np.zeros(4, np.int32)
    cuda.module(PLACES).older_names[1, 32](8, out)
    assert out.tolist() == [3, 0, 1, 8]


def test_sources_may_define_their_own_warp_size():
    out = np.zeros(5, np.int32)
    cuda.module(WARP_SIZE).sizes[1, 1](out)
    assert out.tolist() == [32, 32, 65, 28, 3]


@needs_nvrtc
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_nvrtc_compiles_the_functions_source(capability):
    for source in (ROUNDED, *map(half_type_source, TYPES), BARRIERS, PLACES, WARP_SIZE):
        kernels = tuple(re.findall(r"__global__ void (\w+)", source))
        assert nvrtc.compile(Source(source, "k.cu", kernels, describe=False), capability).data
