"""Tests <cmath>: every function of the C++ standard that a GPU has, under std::, with floats, doubles and
integers."""

import math

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda

ONE = {
    "acos": math.acos, "asin": math.asin, "atan": math.atan, "cos": math.cos, "sin": math.sin, "tan": math.tan,
    "acosh": None, "asinh": math.asinh, "atanh": None, "cosh": math.cosh, "sinh": math.sinh, "tanh": math.tanh,
    "exp": math.exp, "exp2": np.exp2, "expm1": math.expm1, "log": math.log, "log10": math.log10, "log1p": math.log1p,
    "log2": math.log2, "logb": lambda x: math.frexp(x)[1] - 1, "cbrt": np.cbrt, "fabs": abs, "sqrt": math.sqrt,
    "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "tgamma": math.gamma, "ceil": math.ceil,
    "floor": math.floor, "nearbyint": round, "rint": round, "round": round, "trunc": math.trunc,
    "ilogb": lambda x: math.frexp(x)[1] - 1, "lrint": round, "llrint": round, "lround": round, "llround": round,
}  # fmt: skip
TWO = {
    "atan2": math.atan2, "hypot": math.hypot, "pow": math.pow, "fmod": math.fmod, "remainder": math.remainder,
    "copysign": math.copysign, "nextafter": None, "fdim": lambda x, y: max(x - y, 0), "fmax": max, "fmin": min,
}  # fmt: skip
OTHERS = {
    "std::fma(a, b, c)": lambda a, b, c: a * b + c, "std::fmaf(a, b, c)": lambda a, b, c: a * b + c,
    "std::ldexp(a, 2)": lambda a, b, c: 4 * a, "std::ldexpf(a, 2)": lambda a, b, c: 4 * a,
    "std::scalbn(a, 2)": lambda a, b, c: 4 * a, "std::scalbnf(a, 2)": lambda a, b, c: 4 * a,
    "std::scalbln(a, 2l)": lambda a, b, c: 4 * a, "std::scalblnf(a, 2l)": lambda a, b, c: 4 * a,
    "std::frexp(a, &i)": lambda a, b, c: math.frexp(a)[0], "std::frexpf(a, &i)": lambda a, b, c: math.frexp(a)[0],
    "std::modf(a, &f)": lambda a, b, c: math.modf(a)[0], "std::modff(a, &f)": lambda a, b, c: math.modf(a)[0],
    "std::remquo(b, a, &i)": lambda a, b, c: math.remainder(b, a),
    "std::remquof(b, a, &i)": lambda a, b, c: math.remainder(b, a),
    "std::hypot(a, b, c)": math.hypot, "std::hypot(double(a), double(b), double(c))": math.hypot,
    "std::isnan(std::nan(\"\"))": lambda a, b, c: 1, "std::isnan(std::nanf(\"\"))": lambda a, b, c: 1,
    "std::isfinite(a)": lambda a, b, c: 1, "std::isinf(a / 0.0)": lambda a, b, c: 1, "std::signbit(-a)": lambda a, b, c: 1,
    "std::isnormal(a)": lambda a, b, c: 1, "std::isnormal(0 * a)": lambda a, b, c: 0, "std::isnormal(1)": lambda a, b, c: 1,
    "std::fpclassify(a) == FP_NORMAL": lambda a, b, c: 1, "std::fpclassify(a * 0) == FP_ZERO": lambda a, b, c: 1,
    "std::fpclassify(a / 0.0) == FP_INFINITE": lambda a, b, c: 1, "std::fpclassify(0.0 / (a - a)) == FP_NAN": lambda a, b, c: 1,
    "std::fpclassify(a * 1e-310) == FP_SUBNORMAL": lambda a, b, c: 1,
    "std::isgreater(a, b)": lambda a, b, c: a > b, "std::isgreaterequal(a, 1)": lambda a, b, c: a >= 1,
    "std::isless(a, b)": lambda a, b, c: a < b, "std::islessequal(a, b)": lambda a, b, c: a <= b,
    "std::islessgreater(a, b)": lambda a, b, c: a != b, "std::isunordered(a, std::nanf(\"\"))": lambda a, b, c: 1,
    "std::float_t(a)": lambda a, b, c: a, "std::double_t(a)": lambda a, b, c: a, "std::abs(-i - 1)": None,
}  # fmt: skip


def cmath_expressions():
    """Returns a dict from C++ expressions of the floats a, b and c to Python functions with the same
    result; the value is None if Python has no such function."""
    found = {}
    for name, f in ONE.items():
        one = f and (lambda a, b, c, f=f: f(a))
        found[f"std::{name}(a)"] = found[f"std::{name}f(a)"] = found[f"std::{name}(double(a))"] = (
            one
        )
        found[f"std::{name}(1)"] = None if f is None else lambda a, b, c, f=f: f(1)
    for name, f in TWO.items():
        two = f and (lambda a, b, c, f=f: f(a, b))
        found[f"std::{name}(a, b)"] = found[f"std::{name}f(a, b)"] = two
        found[f"std::{name}(double(a), b)"] = found[f"std::{name}(a, double(b))"] = two
        found[f"std::{name}(a, 2)"] = f and (lambda a, b, c, f=f: f(a, 2))
        found[f"std::{name}(3, 2)"] = f and (lambda a, b, c, f=f: f(3, 2))
    return {**found, **OTHERS}


def cmath_source():
    lines = [f"out[{i}] = {text};" for i, text in enumerate(cmath_expressions())]
    return "\n".join([
        "#include <cmath>",
        "__global__ void k(const float* x, double* out) {",
        "float a = x[0], b = x[1], c = x[2], f; int i = 0;",
        *lines,
        "}",
    ])  # fmt: skip


def test_cmath_functions_match_python():
    kernel = cuda.module(cmath_source())["k"]
    numbers = np.array([0.3125, 1.75, -2.5], np.float32)
    out = np.zeros(len(cmath_expressions()))
    kernel[1, 1](numbers, out)
    for found, (text, f) in zip(out, cmath_expressions().items(), strict=True):
        if f:
            assert found == pytest.approx(float(f(*numbers.tolist())), rel=1e-6, abs=1e-6), text


@needs_nvrtc
@pytest.mark.parametrize("cc", [(7, 5), (9, 0)])
def test_cmath_functions_compile_for_a_gpu(cc):
    assert cuda.compile(cmath_source(), cc=cc)


def test_std_functions_require_their_header():
    with pytest.raises(Exception, match=r"#include <cmath>"):
        cuda.module("__global__ void k(float* x) { x[0] = std::tan(x[0]); }")["k"]


TOWARD = """
#include <cmath>
__global__ void k(const double* x, double* out) {
    float a = x[0]; double b = x[0];
    out[0] = std::nexttoward(a, x[1]); out[1] = std::nexttoward(a, x[2]); out[2] = std::nexttoward(a, b);
    out[3] = std::nexttoward(b, x[1]); out[4] = std::nexttoward(b, x[2]); out[5] = std::nexttoward(2, x[2]);
    out[6] = std::nexttowardf(a, a + 1e-12); out[7] = std::isnan(std::nexttoward(a, std::nan("")));
}
"""
LERP = """
#include <cmath>
__global__ void k(const double* x, double* out) {
    float a = x[0], b = x[1], t = x[2];
    out[0] = std::lerp(a, b, t); out[1] = std::lerp(x[0], x[1], x[2]); out[2] = std::lerp(a, x[1], 0.25);
    out[3] = std::lerp(1, 3, 0.5); out[4] = std::lerp(x[0], x[1], 1.0); out[5] = std::lerp(x[0], x[1], 0.0);
    out[6] = std::lerp(-1e308, 1e308, 0.5); out[7] = std::lerp(2.0, 2.0, 7.0);
}
"""


def test_nexttoward_matches_numpy():
    numbers, out = np.array([1.5, 1e30, -7.0]), np.zeros(8)
    cuda.module(TOWARD)["k"][1, 1](numbers, out)
    one = np.float32(1.5)
    expected = [
        np.nextafter(one, np.float32(2)), np.nextafter(one, np.float32(0)), 1.5,
        np.nextafter(1.5, 2), np.nextafter(1.5, 0), np.nextafter(2, 0), np.nextafter(one, np.float32(2)), 1,
    ]  # fmt: skip
    assert out.tolist() == list(map(float, expected))


def test_lerp_matches_cpp20():
    numbers, out = np.array([0.1, 7.3, 0.625]), np.zeros(8)
    cuda.module(LERP, std="c++20")["k"][1, 1](numbers, out)
    expected = [4.6, 4.6, 1.9, 2, 7.3, 0.1, 0, 2]
    assert out == pytest.approx(expected, rel=1e-6)
    assert out[4:6].tolist() == [7.3, 0.1]


@needs_nvrtc
@pytest.mark.parametrize("cc", [(7, 5), (9, 0)])
def test_nexttoward_and_lerp_compile_for_a_gpu(cc):
    assert cuda.compile(TOWARD, cc=cc)
    assert cuda.compile(LERP, cc=cc, std="c++20")
