"""Tests cuda_fp8.h, cuda_fp6.h and cuda_fp4.h: numbers of 8, 6 and 4 bits, and PTX's conversions of pairs."""

import numpy as np
import pytest

from numbalite import cuda

SOURCE = r"""
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
__global__ void narrows(const float *x, const double *y, unsigned char *o, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n)
        return;
    o[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
    o[n + i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E5M2);
    o[2 * n + i] = __nv_cvt_double_to_fp6(y[i], __NV_E2M3, cudaRoundNearest);
    o[3 * n + i] = __nv_cvt_float_to_fp6(x[i], __NV_E3M2, cudaRoundNearest);
    o[4 * n + i] = __nv_cvt_float_to_fp4(x[i], __NV_E2M1, cudaRoundNearest);
}
__global__ void widens(float *o) {
    int i = threadIdx.x;
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = i;
    o[i] = float(a);
    o[256 + i] = float(b);
    o[512 + i] = __half2float(__half(__nv_cvt_fp6_to_halfraw(i, __NV_E2M3)));
    o[768 + i] = __half2float(__half(__nv_cvt_fp6_to_halfraw(i, __NV_E3M2)));
    o[1024 + i] = __half2float(__half(__nv_cvt_fp4_to_halfraw(i, __NV_E2M1)));
}
__global__ void scales(const float *x, const double *y, unsigned char *o, float *v, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n)
        return;
    __nv_fp8_e8m0 scale(x[i]);
    o[i] = scale.__x;
    v[i] = float(scale);
    o[n + i] = __nv_cvt_double_to_e8m0(y[i], __NV_NOSAT, cudaRoundPosInf);
    o[2 * n + i] = __nv_cvt_float_to_e8m0(x[i], __NV_NOSAT, cudaRoundZero);
}
__global__ void types(int *o) {
    __nv_fp8x4_e4m3 four(make_float4(1, 2, 3, 1000));
    float4 v = float4(four);
    o[0] = four.__x;
    o[1] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
    o[2] = __nv_fp8x2_e5m2(make_float2(-1, 0.5f)).__x;
    o[3] = int(__nv_fp8_e4m3(7.9f)) + 100 * short(__nv_fp8_e5m2(57344.0f)) + (signed char)__nv_fp8_e4m3(-300);
    o[4] = bool(__nv_fp8_e4m3(-0.0f)) + 2 * bool(__nv_fp8_e4m3(1.0));
    o[5] = __nv_fp4x2_e2m1(make_float2(6, -1)).__x;
    o[6] = __nv_fp8_e4m3(__float2half(3.0f)).__x;
    __nv_fp8x2_e8m0 scales(make_float2(-3, 0.25f));
    o[10] = scales.__x;
    o[11] = __nv_fp8x4_e8m0(make_float4(1, 2, 3, 1e-40f)).__x;
    o[12] = __nv_fp8_e8m0(-(1ll << 62) - 1).__x + 256 * __nv_fp8_e8m0(short(-3)).__x + 65536 * __nv_fp8_e8m0(0ull).__x;
    o[13] = float(__nv_bfloat162(scales).x) + 10 * int(__nv_fp8_e8m0(2.0)) + 100 * bool(__nv_fp8_e8m0(0.0f));
#if __CUDA_ARCH__ >= 890
    unsigned short pair;
    unsigned halves;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(2.0f), "f"(1.0f));
    o[7] = pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    o[8] = halves;
    asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(pair) : "r"(halves));
    o[9] = pair;
#endif
}
"""
FORMATS = {  # bits of the exponent and the fraction, number of finite codes, code of out-of-range numbers
    "e4m3": (4, 3, 127, 126),
    "e5m2": (5, 2, 124, 124),
    "e2m3": (2, 3, 32, 31),
    "e3m2": (3, 2, 32, 31),
    "e2m1": (2, 1, 8, 7),
}


def finite_values(exponent, fraction, count):
    """Returns the numbers of a format, in the order of their codes."""
    code = np.arange(count + 1)
    e, part = code >> fraction, code & (2**fraction - 1)
    bias = 2 ** (exponent - 1) - 1
    return (
        np.where(e > 0, (part + 2**fraction) * 2.0 ** (e - bias), part * 2.0 ** (1 - bias))
        / 2**fraction
    )


def nearest_code(x, exponent, fraction, count, beyond):
    """Returns the code of the nearest number by search; of two nearest numbers, the even one."""
    finite = finite_values(exponent, fraction, count)  # and the next value
    size = np.abs(x.astype(np.float64))
    above = np.clip(np.searchsorted(finite, size), 1, count)
    middle = (finite[above - 1] + finite[above]) / 2
    odd = (above - 1) % 2 == 1
    code = np.where((size > middle) | ((size == middle) & odd), above, above - 1)
    return np.where(code >= count, beyond, code) | np.signbit(x).astype(int) << (
        exponent + fraction
    )


@pytest.fixture(scope="module")
def narrow_float_module():
    return cuda.module(SOURCE)


def test_conversions_to_fp8_fp6_and_fp4_round(narrow_float_module):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(20000).astype("f4") * 2.0 ** rng.integers(-20, 17, 20000).astype("f4")
    ends = [finite_values(*of[:3]) for of in FORMATS.values()]
    ties = np.concatenate([(one[1:] + one[:-1]) / 2 for one in ends] + ends)
    x = np.concatenate([x, ties, -ties, np.nextafter(ties, 0), [0, -0.0, np.inf, -np.inf]]).astype(
        "f4"
    )
    y = x.astype("f8")
    out = np.zeros((5, len(x)), "u1")
    narrow_float_module.narrows[(len(x) + 255) // 256, 256](x, y, out.reshape(-1), len(x))
    for got, of in zip(out, FORMATS.values(), strict=True):
        np.testing.assert_array_equal(got, nearest_code(x, *of))


def test_every_narrow_value_widens_exactly(narrow_float_module):
    out = np.zeros((5, 256), "f4")
    narrow_float_module.widens[1, 256](out.reshape(-1))
    for got, (exponent, fraction, count, _) in zip(out, FORMATS.values(), strict=True):
        half = 2 ** (exponent + fraction)
        expected = np.append(
            finite_values(exponent, fraction, count)[:count], [np.nan] * (half - count)
        )
        if count == 124:
            expected[124] = np.inf
        np.testing.assert_array_equal(got[: 2 * half], np.append(expected, -expected))


def test_nan_converts_to_nan_or_the_largest_value(narrow_float_module):
    out = np.zeros((5, 1), "u1")
    narrow_float_module.narrows[1, 32](
        np.array([np.nan], "f4"), np.array([np.nan]), out.reshape(-1), 1
    )
    assert out.reshape(-1).tolist() == [0x7F, 0x7F, 31, 31, 7]


def test_e8m0_conversion_rounds_to_powers_of_two(narrow_float_module):
    """Returns an e8m0 code: the exponent of the next larger or the next smaller power of two."""
    exponent = np.arange(-140, 128)
    x = np.outer([1, -1, 1.25, 1 + 2.0**-20], 2.0**exponent).astype("f4").reshape(-1)
    x = np.concatenate([x, np.array([0, np.inf, np.nan], "f4")])
    out, values = np.zeros((3, len(x)), "u1"), np.zeros(len(x), "f4")
    narrow_float_module.scales[(len(x) + 255) // 256, 256](
        x, x.astype("f8"), out.reshape(-1), values, len(x)
    )
    fraction, exponent = np.frexp(np.abs(x[:-3].astype("f8")))
    biased = exponent - 1 + np.array([[1], [1], [0]]) * (fraction > 0.5) + 127
    biased = np.clip(biased, 0, [[254], [255], [255]])
    ends = [[0, 254, 255], [0, 255, 255], [0, 255, 255]]
    np.testing.assert_array_equal(out, np.append(biased, ends, axis=1))
    np.testing.assert_array_equal(
        values, np.append(2.0 ** (biased[0] - 127.0), [2.0**-127, 2.0**127, np.nan])
    )


def test_narrow_vector_types_convert(narrow_float_module):
    out = np.zeros(14, "i4")
    narrow_float_module.types[1, 1](out)
    assert out.tolist()[:7] == [0x7E444038, 448321, 0x38BC, 8 + 3276700 - 128, 2, 0xA7, 0x44]
    assert out.tolist()[10:] == [0x7D81, 0x0081807F, 0x81BE, 124]
    if cuda.is_simulated() or cuda.get_current_device().compute_capability >= (8, 9):
        assert out.tolist()[7:10] == [0x4038, 0x40003C00, 0x403C]
