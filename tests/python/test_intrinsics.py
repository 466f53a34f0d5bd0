"""Tests numba.cuda's features for kernels: grid groups, float16, vectors, libdevice, cache
hints."""

import math

import numpy as np
import pytest

from numbalite import cuda, float32, int32, types
from numbalite.cuda import libdevice
from numbalite.errors import TranslationError


@cuda.jit(device=True)
def wait_for_group(group):
    group.sync()


@cuda.jit
def copy_previous_rows(m):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    for row in range(1, m.shape[0]):
        m[row, i] = m[row - 1, m.shape[1] - i - 1] + 1
        wait_for_group(g)


def test_grid_sync_in_python_is_cooperative():
    m = np.zeros((5, 64))
    copy_previous_rows[2, 32](m)
    assert (m == np.arange(5)[:, None]).all()
    assert copy_previous_rows.overloads[copy_previous_rows.signatures[0]].cooperative


@cuda.jit
def half_arithmetic(a, b, r, t):
    f = cuda.fp16
    r[0] = f.hadd(a, b)
    r[1] = f.hsub(a, b)
    r[2] = f.hmul(a, 2.5)
    r[3] = f.hdiv(a, b)
    r[4] = f.hfma(a, b, 1.5)
    r[5] = f.habs(f.hneg(a))
    r[6] = f.hmax(a, b) + f.hmin(a, b)
    r[7] = f.hsin(a)
    r[8] = f.hexp10(a)
    r[9] = f.htrunc(a) + f.hfloor(a) + f.hceil(a)
    r[10] = f.hsqrt(b)
    r[11] = f.hlog2(b)
    r[12] = f.hrcp(b)
    t[0] = f.hlt(a, b) and f.heq(b, b)
    t[1] = f.hge(a, b)


@cuda.jit
def add_halves_and_integers(a, small, short, wide, out):
    out[0] = a + small
    out[1] = a + short
    out[2] = a + wide


def test_float16_with_integers_promotes_as_numpy():
    out = np.zeros(3)
    add_halves_and_integers[1, 1](
        np.float16(1.5), np.int8(100), np.int16(4097), np.int32(2**24 + 1), out
    )
    assert out.tolist() == [101.5, 4098.5, 2**24 + 2.5]


def test_float16_functions_match_numpy():
    a, b = np.float16(1.25), np.float16(2.5)
    r, t = np.zeros(13, np.float16), np.zeros(2, bool)
    half_arithmetic[1, 1](a, b, r, t)
    expected = [
        a + b,
        a - b,
        a * b,
        a / b,
        4.625,
        a,
        a + b,
        np.sin(a),
        10**1.25,
        4,
        np.sqrt(b),
        np.log2(b),
        0.4,
    ]
    np.testing.assert_allclose(r, np.array(expected, np.float16), rtol=1e-3)
    assert t.tolist() == [True, False]


@cuda.jit
def vector_arithmetic(r):
    shared = cuda.shared.array(2, cuda.float32x4)
    v = cuda.float4(1, 2, cuda.float2(3, 4))
    shared[0] = v
    w = cuda.float64x4(v.x, cuda.double3(v.y, v.z, v.w))
    k = 0
    for u in (v, shared[0]):
        r[k] = u.x + 10 * u.y
        k += 1
    q = cuda.short2(10, 11.7)
    z = cuda.long4(q, w.z, w.w)
    r[2] = z.x + z.y
    r[3] = z.w


@cuda.jit
def operate_on_halves(a, b, r, z):
    r[0], r[1] = a[0] % b[0], a[1] // b[1]
    r[2] = True % b[0]
    z[0], z[1], z[2] = a[0] + z[3], z[3] * a[0], z[3] / a[1]
    np.sin(a[0], z[4:5])
    z[5:6] = a[1]
    r[3] = np.isfinite(a[0]) + 2 * math.isinf(a[0])


def test_float16_operands_match_numpy():
    a, b, three = np.array([-7.5, 3.25], "f2"), np.array([2, -1.5], "f2"), np.complex64(3 + 1j)
    r, z = np.zeros(4, "f2"), np.full(6, three)
    operate_on_halves[1, 1](a, b, r, z)
    assert r.tolist() == [a[0] % b[0], a[1] // b[1], True % b[0], 1]
    sums = [a[0] + three, three * a[0], three / a[1]]
    np.testing.assert_allclose(z, [*sums, three, np.sin(a[0]), a[1]], rtol=1e-3)


def test_bfloat16_arithmetic_matches_float32():
    bf16 = cuda.bf16

    @cuda.jit(device=True)
    def add(a, b):
        return a + b

    @cuda.jit
    def bfloat16_arithmetic(x, n):
        a, b = cuda.bfloat16(3.5), bf16.bfloat16(n)
        x[0] = float32(add(a, b) * b)
        x[1] = a >= b
        x[2] = -a
        x[3] = math.exp(a)
        x[4] = float(bf16.hsqrt(b))
        x[5] = bf16.bfloat16_to_int16_ru(a)
        x[6] = isinstance(a, bf16.bfloat16) and not isinstance(n, bf16.bfloat16)
        x[7] = int32(a)
        x[8] = bf16.hisinf(bf16.bfloat16(float("inf"))) != 0
        x[9] = bf16.hmax(a, float("nan"))
        if n > 1:
            a /= b
        x[10] = a - bf16.uint64_to_bfloat16_rd(789)

    x = np.zeros(11)
    bfloat16_arithmetic[1, 1](x, 2)
    assert x.tolist() == [11, 1, -3.5, 33, 1.4140625, 4, 1, 3, 1, 3.5, -788]

    @cuda.jit
    def add_float_to_bfloat(x):
        x[0] = bf16.bfloat16(1) + 1.5

    with pytest.raises(TranslationError, match=r"__nv_bfloat16 \+ float64 has no meaning"):
        add_float_to_bfloat[1, 1](x)


def test_vector_types_have_numbas_aliases():
    assert types.NAMES["float4"] is cuda.float32x4 is cuda.float4 and cuda.int64x2.aliases == [
        "longlong2",
        "long2",
    ]
    r = np.zeros(4)
    vector_arithmetic[1, 1](r)
    assert r.tolist() == [21, 21, 21, 4]
    assert cuda.float32x4 == cuda.float4
    assert (cuda.float3.align, cuda.double4.align, cuda.float4.size) == (4, 16, 16)

    with pytest.raises(TypeError, match="in kernels only"):
        cuda.float2(1, 2)

    def assign_component(r):
        v = cuda.float2(1, 2)
        v.x = r[0]

    def too_few_components(r):
        r[0] = cuda.float3(cuda.float2(1, 2)).x

    for wrong, message in (
        (assign_component, "Make another one"),
        (too_few_components, "takes 3 numbers, not 2"),
    ):
        with pytest.raises(TranslationError, match=message):
            cuda.jit("void(float64[:])")(wrong)


@cuda.jit
def reverse_bits(i, small, wide, out):
    out[0] = cuda.brev(i)
    out[1] = cuda.brev(i) >> (32 - 3)
    out[2] = cuda.brev(np.int32(1)) > 0
    out[3] = cuda.brev(small)
    out[4] = cuda.brev(wide) >> np.uint64(32)


def test_bit_reversal_uses_32_bits_as_in_numba_cuda():
    """Bit operations that fast Fourier transforms need, on an int64 such as cuda.grid(1)."""
    out = np.zeros(5, np.int64)
    reverse_bits[1, 1](3, np.int8(-1), np.uint64(1), out)
    assert out.tolist() == [3 << 30, 6, 1, (1 << 32) - 1, 1 << 31]


@cuda.jit
def libdevice_calls(x, f, y, r, i):
    r[0], r[1] = libdevice.sincos(x)
    r[2], i[0] = math.frexp(x)
    r[3], r[4] = math.modf(x)
    r[5] = math.ldexp(x, 3)
    r[6] = libdevice.fast_fdividef(f, f)
    r[7] = libdevice.powi(x, 3)
    r[8] = round(x, 300) + round(x, 1)
    r[9] = libdevice.dadd_ru(x, 1e-30)
    r[10], i[1] = libdevice.remquof(f, 1)
    r[11] = cuda.ldcs(y, 1) + cuda.ldcv(y, (2,))
    cuda.stcg(y, 0, 5)
    i[2] = libdevice.brev(7)
    i[3] = libdevice.usad(3, 9, 1)
    i[4] = i[3].bit_count()
    i[5] = libdevice.isnand(x)
    i[6] = libdevice.float2half_rn(f)
    i[7] = isinstance(x, float) + isinstance((x, 1), tuple) + isinstance(x, (int, np.int64))


def test_libdevice_functions_match_math():
    x, f, y, r, i = 2.75, np.float32(0.75), np.arange(3.0), np.zeros(12), np.zeros(8, np.int32)
    libdevice_calls[1, 1](x, f, y, r, i)
    expected = [
        math.sin(x),
        math.cos(x),
        0.6875,
        0.75,
        2,
        22,
        1,
        x**3,
        x + 2.8,
        np.nextafter(x, 3),
        -0.25,
        3,
    ]
    np.testing.assert_allclose(r, expected, rtol=1e-15)
    assert r[9] > x and y[0] == 5
    assert i.tolist() == [2, 1, -536870912, 7, 3, 0, np.float16(f).view(np.int16), 2]
    assert len(libdevice.SIGNATURES) == 317 and types.float32 in libdevice.SIGNATURES["sinf"].args

    def wrong_libdevice_arguments(x):
        x[0] = cuda.ldcs(x, 1.0)

    with pytest.raises(TranslationError, match="float64 is not a valid index"):
        cuda.jit("void(float32[:])")(wrong_libdevice_arguments)
