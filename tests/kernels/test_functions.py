"""Functions of the toolkit's headers that few kernels call, against what CUDA's manual says of them."""

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


def rounded(exact, mode):
    """A fraction as a double."""
    near = float(exact)
    if Fraction(near) == exact or mode == "Nearest":
        return near
    down = math.nextafter(near, -math.inf) if Fraction(near) > exact else near
    up = math.nextafter(near, math.inf) if Fraction(near) < exact else near
    is_up = mode == "PosInf" or (mode == "Zero" and exact < 0)
    return up if is_up else down


@pytest.mark.parametrize("mode", MODES)
def test_rounding_as_an_argument(mode):
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
    assert out.tolist() == [[rounded(value, mode) for value in row] for row in exact]


@pytest.mark.parametrize("mode", MODES)
def test_integers_rounded_as_an_argument_says(mode):
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
        assert row.tolist() == [rounded(Fraction(v), mode) for v in values.tolist()]


def test_roundings_that_are_not_said():
    out = np.zeros(6)
    cuda.module(ROUNDED).without_a_mode[1, 1](out)
    assert out.tolist() == [3.5 + 0.75 + 1.5 + 2 + 2 - 2, 3.5, 1 / 3, -5, 6, 0]


@needs_nvrtc
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_nvrtc_takes_the_same(capability):
    for source in (ROUNDED,):
        kernels = tuple(re.findall(r"__global__ void (\w+)", source))
        assert nvrtc.compile(Source(source, "k.cu", kernels, describe=False), capability).data
